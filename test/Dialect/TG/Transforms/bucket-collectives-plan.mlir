// RUN: split-file %s %t
// RUN: regather-opt %t/step.mlir --tg-bucket-collectives='plan="/layers\.[0-1]/ each, norm"' | FileCheck %s --check-prefixes=CHECK,EACH
// RUN: regather-opt %t/step.mlir --tg-bucket-collectives=plan=@%t/plan.txt | FileCheck %s --check-prefixes=CHECK,FILE
// RUN: regather-opt %t/step.mlir --tg-bucket-collectives='plan="layers.*.up, [layers.*.down] each"' | FileCheck %s --check-prefixes=CHECK,APART
// RUN: regather-opt %t/step.mlir --tg-bucket-collectives='plan="[layers.[0-1]]each"' | FileCheck %s --check-prefixes=CHECK,EACH
// RUN: regather-opt %t/step.mlir --tg-bucket-collectives | FileCheck %s --check-prefixes=CHECK,NONE

//--- plan.txt
# Both layers together,
[ layers.0, [layers.1.up, layers.1.down] ],
norm  # and the norm by itself.

//--- step.mlir
tg.mesh @mesh [dp = 2, tp = 2]

// Communication of activations, and of modules that the plan does not name, is
// left alone. The mark on the last gather counts, whatever the plan says.
// CHECK-LABEL: @step
// CHECK-SAME:  (%[[UP0:[a-z0-9]+]]: {{.*}}, %[[DOWN0:[a-z0-9]+]]: {{.*}}, %[[UP1:[a-z0-9]+]]: {{.*}}, %[[DOWN1:[a-z0-9]+]]: {{.*}}, %[[NORM:[a-z0-9]+]]: {{.*}}, %[[HEAD:[a-z0-9]+]]: {{.*}}, %[[MARKED:[a-z0-9]+]]: tensor
// EACH:        tg.all_gather %[[UP0]], %[[DOWN0]] on @mesh [dp] dim 0 phase forward : (
// EACH:        tg.all_gather %[[UP1]], %[[DOWN1]] on @mesh [dp] dim 0 phase forward {tg.bucket = "layers.1"}
// FILE:        tg.all_gather %[[UP0]], %[[DOWN0]], %[[UP1]], %[[DOWN1]] on @mesh [dp] dim 0 phase forward {tg.bucket = "layers.0,layers.1.up,layers.1.down"}
// The gather of two parameters is taken apart.
// APART:       tg.all_gather %[[UP0]], %[[UP1]] on @mesh [dp] dim 0 phase forward {tg.bucket = "layers.*.up"}
// APART:       tg.all_gather %[[DOWN0]] on @mesh
// APART:       tg.all_gather %[[DOWN1]] on @mesh
// NONE:        tg.all_gather %[[UP0]], %[[DOWN0]] on
// NONE:        tg.all_gather %[[DOWN1]] on
// NONE:        tg.all_gather %[[UP1]] on
// CHECK:       tg.all_gather %[[NORM]] on
// CHECK:       tg.all_reduce sum %{{[a-z0-9]+}} on @mesh [tp]
// CHECK:       tg.all_gather %[[HEAD]] on
// CHECK:       tg.all_gather %[[MARKED]], %{{[0-9]+}} on @mesh [dp] dim 0 phase forward {tg.bucket = "mine"}
// CHECK-NOT:   tg.all_
func.func @step(
    %up0: tensor<1xf32> {tg.role = #tg.role<parameter>, tg.module = "layers.0.up", tg.registration = 0 : i64},
    %down0: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.module = "layers.0.down", tg.registration = 1 : i64},
    %up1: tensor<1xf32> {tg.role = #tg.role<parameter>, tg.module = "layers.1.up", tg.registration = 2 : i64},
    %down1: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.module = "layers.1.down", tg.registration = 3 : i64},
    %norm: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.module = "norm", tg.registration = 4 : i64},
    %head: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.module = "head", tg.registration = 5 : i64},
    %marked: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.module = "norm", tg.registration = 6 : i64})
    -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = tg.all_gather %up0, %down0 on @mesh [dp] dim 0 phase forward : (tensor<1xf32>, tensor<2xf32>) -> !tg.future<tensor<2xf32>, tensor<4xf32>>
  %1:2 = tg.wait %0 : !tg.future<tensor<2xf32>, tensor<4xf32>>
  %2 = tg.node "layer"(%1#0, %1#1) : (tensor<2xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = tg.all_gather %down1 on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  %4 = tg.wait %3 : !tg.future<tensor<4xf32>>
  %5 = tg.all_gather %up1 on @mesh [dp] dim 0 phase forward : (tensor<1xf32>) -> !tg.future<tensor<2xf32>>
  %6 = tg.wait %5 : !tg.future<tensor<2xf32>>
  %7 = tg.node "layer"(%2, %6, %4) : (tensor<4xf32>, tensor<2xf32>, tensor<4xf32>) -> tensor<4xf32>
  %8 = tg.all_gather %norm on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  %9 = tg.wait %8 : !tg.future<tensor<4xf32>>
  %10 = tg.node "norm"(%7, %9) : (tensor<4xf32>, tensor<4xf32>) -> tensor<2xf32>
  %11 = tg.all_reduce sum %10 on @mesh [tp] phase forward {tg.module = "layers.1"} : (tensor<2xf32>) -> !tg.future<tensor<2xf32>>
  %12 = tg.wait %11 : !tg.future<tensor<2xf32>>
  %13 = tg.all_gather %head on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  %14 = tg.wait %13 : !tg.future<tensor<4xf32>>
  %15 = tg.node "head"(%12, %14) : (tensor<2xf32>, tensor<4xf32>) -> tensor<2xf32>
  %16 = tg.all_gather %15 on @mesh [dp] dim 0 phase forward {tg.bucket = "mine"} : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  %17 = tg.wait %16 : !tg.future<tensor<4xf32>>
  %18 = tg.all_gather %marked on @mesh [dp] dim 0 phase forward {tg.bucket = "mine"} : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  %19 = tg.wait %18 : !tg.future<tensor<4xf32>>
  return %17, %19 : tensor<4xf32>, tensor<4xf32>
}
