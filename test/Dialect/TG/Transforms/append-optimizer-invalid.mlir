// RUN: split-file %s %t
// RUN: regather-opt %t/steps.mlir -split-input-file --tg-append-optimizer='groups=*:weight-decay=0' -verify-diagnostics
//
// Options, each with what is wrong about it.
// RUN: not regather-opt %t/step.mlir --tg-append-optimizer='groups=w:weight-decay=0|x*:weight-decay=0' 2>&1 | FileCheck %s --check-prefix=NO_MATCH
// RUN: not regather-opt %t/step.mlir --tg-append-optimizer='groups=w*:weight-decay=0|w:weight-decay=1' 2>&1 | FileCheck %s --check-prefix=SHADOWED
// RUN: not regather-opt %t/step.mlir --tg-append-optimizer='groups=w' 2>&1 | FileCheck %s --check-prefix=NO_SETTING
// RUN: not regather-opt %t/step.mlir --tg-append-optimizer='groups=w:lr=1' 2>&1 | FileCheck %s --check-prefix=SETTING
// RUN: not regather-opt %t/step.mlir --tg-append-optimizer='optimizer=sgd groups=w:eps=1' 2>&1 | FileCheck %s --check-prefix=SGD_SETTING
// RUN: not regather-opt %t/step.mlir --tg-append-optimizer='groups=w:weight-decay=-1' 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not regather-opt %t/step.mlir --tg-append-optimizer='groups=[:weight-decay=1' 2>&1 | FileCheck %s --check-prefix=PATTERN
// RUN: not regather-opt %t/step.mlir --tg-append-optimizer='betas=0.9' 2>&1 | FileCheck %s --check-prefix=BETAS
// RUN: not regather-opt %t/step.mlir --tg-append-optimizer='betas=0.9,1' 2>&1 | FileCheck %s --check-prefix=BETA
// RUN: not regather-opt %t/step.mlir --tg-append-optimizer='max-norm=-1' 2>&1 | FileCheck %s --check-prefix=MAX_NORM
// RUN: not regather-opt %t/step.mlir --tg-append-optimizer='weight-decay=-2' 2>&1 | FileCheck %s --check-prefix=DECAY
// RUN: not regather-opt %t/step.mlir --tg-append-optimizer='momentum=0.9' 2>&1 | FileCheck %s --check-prefix=MOMENTUM
// RUN: not regather-opt %t/step.mlir --tg-append-optimizer='optimizer=sgd betas=0.9,0.9' 2>&1 | FileCheck %s --check-prefix=SGD_BETAS
// RUN: not regather-opt %t/step.mlir --tg-append-optimizer='optimizer=sgd state-dtype=bf16' 2>&1 | FileCheck %s --check-prefix=STATES
// RUN: not regather-opt %t/step.mlir --tg-append-optimizer='optimizer=sgd dampening=0.5' 2>&1 | FileCheck %s --check-prefix=DAMPENING
// RUN: not regather-opt %t/step.mlir --tg-append-optimizer='optimizer=sgd momentum=0.9 dampening=0.5 nesterov' 2>&1 | FileCheck %s --check-prefix=NESTEROV
//
// NO_MATCH: error: group "x*" matches none of 1 parameters to update
// SHADOWED: error: group "w" has no effect: the parameters that it matches belong to the earlier group "w*"
// NO_SETTING: error: a group must be a pattern and settings, as in "*norm*:weight-decay=0", got "w"
// SETTING: error: group "w" expects learning-rate-scale or weight-decay, or eps, got "lr"
// SGD_SETTING: error: group "w" expects learning-rate-scale or weight-decay, got "eps"
// NUMBER: error: group "w" expects a finite number of at least 0 as weight-decay, got "-1"
// PATTERN: error: group "[" is no pattern:
// BETAS: error: option 'betas' must be two numbers, got 1
// BETA: error: option 'betas' must be at least 0 and less than 1, got 1.0
// MAX_NORM: error: option 'max-norm' must be a finite number of at least 0, got -1.0
// DECAY: error: option 'weight-decay' must be a finite number of at least 0, got -2.0
// MOMENTUM: error: option 'momentum' belongs to optimizer sgd, rmsprop, but the optimizer is adamw
// SGD_BETAS: error: option 'betas' belongs to optimizer adamw, adam, adamax, radam, but the optimizer is sgd
// STATES: error: option 'state-dtype' has no effect without momentum: there are no states
// DAMPENING: error: option 'dampening' has no effect without momentum
// NESTEROV: error: option 'nesterov' needs momentum and no dampening, got momentum 9.000000e-01 and dampening 5.000000e-01

//--- step.mlir
func.func @step(%w: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.name = "w"})
    -> (tensor<2xf32> {tg.role = #tg.role<gradient of 0>}) {
  return %w : tensor<2xf32>
}

//--- steps.mlir
// expected-error@+1 {{gradient of parameter "w" (result 0) must have the parameter's type 'tensor<2xf32>', got 'tensor<2xbf16>'}}
func.func @other_type(%w: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.name = "w"}, %g: tensor<2xbf16>)
    -> (tensor<2xbf16> {tg.role = #tg.role<gradient of 0>}) {
  return %g : tensor<2xbf16>
}

// -----

// expected-error@+1 {{parameter "arg0" must be a tensor of f64, f32, bf16 or f16 with a static shape to be updated, got 'tensor<2xi32>'}}
func.func @integers(%w: tensor<2xi32> {tg.role = #tg.role<parameter>})
    -> (tensor<2xi32> {tg.role = #tg.role<gradient of 0>}) {
  return %w : tensor<2xi32>
}

// -----

tg.mesh @mesh [dp = 2]
// expected-error@+1 {{gradient of parameter "w" (result 0) lies as #tg.placement<@mesh [[dp] = partial sum]>, but the parameter as #tg.placement<@mesh []>}}
func.func @partial_gradient(%w: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.name = "w", tg.placement = #tg.placement<@mesh []>})
    -> (tensor<2xf32> {tg.role = #tg.role<gradient of 0>, tg.placement = #tg.placement<@mesh [[dp] = partial sum]>}) {
  return %w : tensor<2xf32>
}

// -----

tg.mesh @mesh [dp = 2]
// expected-error@+1 {{parameter "w" lies as #tg.placement<@mesh [[dp] = partial sum]>, and parts of a sum cannot be updated}}
func.func @partial_parameter(%w: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.name = "w", tg.placement = #tg.placement<@mesh [[dp] = partial sum]>})
    -> (tensor<2xf32> {tg.role = #tg.role<gradient of 0>}) {
  return %w : tensor<2xf32>
}

// -----

// expected-error@+1 {{results 0 and 1 are both the gradient of argument 0}}
func.func @two_gradients(%w: tensor<2xf32> {tg.role = #tg.role<parameter>})
    -> (tensor<2xf32> {tg.role = #tg.role<gradient of 0>}, tensor<2xf32> {tg.role = #tg.role<gradient of 0>}) {
  return %w, %w : tensor<2xf32>, tensor<2xf32>
}

// -----

// expected-error@+1 {{the optimizer needs an argument "step", but argument 1 has this name}}
func.func @taken(%w: tensor<2xf32> {tg.role = #tg.role<parameter>}, %x: tensor<2xf32> {tg.role = #tg.role<input>, tg.name = "step"})
    -> (tensor<2xf32> {tg.role = #tg.role<gradient of 0>}) {
  return %w : tensor<2xf32>
}

// -----

// expected-error@+1 {{a step must have one block, got 2}}
func.func @blocks(%w: tensor<2xf32> {tg.role = #tg.role<parameter>})
    -> (tensor<2xf32> {tg.role = #tg.role<gradient of 0>}) {
  cf.br ^end
^end:
  return %w : tensor<2xf32>
}

// -----

// expected-error@+1 {{a step that something refers to cannot get more arguments}}
func.func @called(%w: tensor<2xf32> {tg.role = #tg.role<parameter>})
    -> (tensor<2xf32> {tg.role = #tg.role<gradient of 0>}) {
  return %w : tensor<2xf32>
}
func.func @caller(%w: tensor<2xf32>) -> tensor<2xf32> {
  // expected-note@+1 {{used here}}
  %0 = func.call @called(%w) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// expected-error@+1 {{the step is partitioned already; an optimizer is appended before that}}
func.func @forward(%w: tensor<2xf32> {tg.role = #tg.role<parameter>}) -> (tensor<f32> {tg.role = #tg.role<loss>}) {
  %0 = tg.node "aten.sum.default"(%w) : (tensor<2xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}
// expected-note@+1 {{its other part is here}}
func.func @backward(%w: tensor<2xf32> {tg.role = #tg.role<parameter>})
    -> (tensor<2xf32> {tg.role = #tg.role<gradient of 0>}) {
  return %w : tensor<2xf32>
}
