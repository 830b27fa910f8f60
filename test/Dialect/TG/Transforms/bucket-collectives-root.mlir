// RUN: regather-opt %s --tg-bucket-collectives='plan=[.]' | FileCheck %s --check-prefixes=CHECK,ROOT
// RUN: regather-opt %s --tg-bucket-collectives='plan="[.,norm]"' | FileCheck %s --check-prefixes=CHECK,BOTH
// RUN: regather-opt %s --tg-bucket-collectives='plan="[.,norm] each"' | FileCheck %s --check-prefixes=CHECK,EACH
// RUN: regather-opt %s --tg-bucket-collectives='plan="/n.*/"' | FileCheck %s --check-prefixes=CHECK,NONE
// RUN: not regather-opt %s --mlir-print-op-on-diagnostic=false --tg-bucket-collectives='plan=[nrom]' 2>&1 | FileCheck %s --check-prefix=LIST
// RUN: not regather-opt %s --mlir-print-op-on-diagnostic=false --tg-bucket-collectives='plan=[.],[.]' 2>&1 | FileCheck %s --check-prefix=TWICE

// The parameters of the root module itself are named by a dot, which stands for
// nothing that is in it.

// LIST:  error: pattern "nrom" of option 'plan' matches no module of a parameter that is gathered or reduced; there are ., norm
// LIST:  note: did you mean one of ".", "norm"?
// TWICE: error: "." is claimed by two patterns of option 'plan': "." and "."

tg.mesh @mesh [dp = 2]

// CHECK-LABEL: @step
// CHECK-SAME:  (%[[SCALE:[a-z0-9]+]]: {{.*}}, %[[SHIFT:[a-z0-9]+]]: {{.*}}, %[[NORM:[a-z0-9]+]]: tensor
// ROOT:        tg.all_gather %[[SCALE]], %[[SHIFT]] on @mesh [dp] dim 0 phase forward {tg.bucket = "."}
// ROOT:        tg.all_gather %[[NORM]] on
// BOTH:        tg.all_gather %[[SCALE]], %[[SHIFT]], %[[NORM]] on @mesh [dp] dim 0 phase forward {tg.bucket = ".,norm"}
// EACH:        tg.all_gather %[[SCALE]], %[[SHIFT]] on @mesh [dp] dim 0 phase forward {tg.bucket = "."}
// EACH:        tg.all_gather %[[NORM]] on
// NONE:        tg.all_gather %[[SCALE]] on
// NONE:        tg.all_gather %[[SHIFT]] on
// NONE:        tg.all_gather %[[NORM]] on
func.func @step(
    %scale: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.module = "", tg.name = "scale", tg.registration = 0 : i64},
    %shift: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.name = "shift", tg.registration = 1 : i64},
    %norm: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.module = "norm", tg.name = "norm.weight", tg.registration = 2 : i64})
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = tg.all_gather %scale on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  %1 = tg.wait %0 : !tg.future<tensor<4xf32>>
  %2 = tg.all_gather %shift on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  %3 = tg.wait %2 : !tg.future<tensor<4xf32>>
  %4 = tg.all_gather %norm on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  %5 = tg.wait %4 : !tg.future<tensor<4xf32>>
  return %1, %3, %5 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
