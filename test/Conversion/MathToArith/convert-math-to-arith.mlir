// RUN: regather-opt %s --convert-math-to-arith | FileCheck %s
// RUN: regather-opt %s --convert-math-to-arith -o %t.expanded.mlir
// RUN: regather run %t.expanded.mlir --entry=step --engine=interpreter --random-inputs=1 --outputs %t.interpreter --quiet
// RUN: regather run %s --entry=step --engine=cpu --random-inputs=1 --outputs %t.cpu --quiet
// RUN: cmp %t.interpreter %t.cpu

// Code for CPUs is made of the same arithmetic.

// EXAMPLE convert-math-to-arith
// CHECK-LABEL: func @exponential
// CHECK-NOT: math.exp
// CHECK: math.fma
// CHECK: arith.shli
// CHECK: return
func.func @exponential(%x: f32) -> f32 {
  %y = math.exp %x : f32
  return %y : f32
}
// END

// CHECK-LABEL: func @step
// CHECK-NOT: math.{{exp|expm1|log|log1p|erf|tanh|sin|cos}} 
// CHECK: return
func.func @step(%x: tensor<37xf32>, %h: tensor<5xbf16>)
    -> (tensor<37xf32>, tensor<37xf32>, tensor<37xf32>, tensor<37xf32>, tensor<5xbf16>,
        tensor<37xf32>, tensor<37xf32>, tensor<37xf32>, tensor<37xf32>) {
  %a = math.exp %x : tensor<37xf32>
  %b = math.log %x : tensor<37xf32>
  %c = math.erf %x : tensor<37xf32>
  %d = math.tanh %x : tensor<37xf32>
  %e = math.tanh %h : tensor<5xbf16>
  %f = math.expm1 %x : tensor<37xf32>
  %g = math.log1p %x : tensor<37xf32>
  %i = math.sin %x : tensor<37xf32>
  %j = math.cos %x : tensor<37xf32>
  return %a, %b, %c, %d, %e, %f, %g, %i, %j
      : tensor<37xf32>, tensor<37xf32>, tensor<37xf32>, tensor<37xf32>, tensor<5xbf16>,
        tensor<37xf32>, tensor<37xf32>, tensor<37xf32>, tensor<37xf32>
}

// Doubles and other functions are left to the library.
// CHECK-LABEL: func @others
// CHECK: math.exp %{{.*}} : f64
// CHECK: math.tan %{{.*}} : f32
func.func @others(%x: f64, %y: f32) -> (f64, f32) {
  %a = math.exp %x : f64
  %b = math.tan %y : f32
  return %a, %b : f64, f32
}
