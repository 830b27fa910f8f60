// RUN: regather-opt %s --tg-append-optimizer='optimizer=sgd gradient-sums' | FileCheck %s
// RUN: regather-opt %s --tg-append-optimizer='optimizer=sgd gradient-sums max-norm=1.0' | FileCheck %s --check-prefix=CLIP
// RUN: regather-opt %s --tg-append-optimizer='optimizer=sgd momentum=0.9 skip-nonfinite' | FileCheck %s --check-prefix=SKIP

// Earlier batches come in as a sum, which stays as it is, and a count. The
// update reads the mean, in the type of the gradient.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<4xbf16>
// CHECK-SAME: %[[SUM:[a-z0-9]+]]: tensor<4xf32> {tg.module = "norm", tg.name = "norm.weight.gradient_sum", tg.role = #tg.role<optimizer_state>}
// CHECK-SAME: %[[BATCHES:[a-z0-9]+]]: tensor<f32> {tg.name = "batches", tg.role = #tg.role<buffer>}
// CHECK-SAME: -> (tensor<f32> {tg.role = #tg.role<loss>}, tensor<4xbf16> {tg.role = #tg.role<update of 0>})
// CHECK: %[[G:.*]] = arith.mulf %[[W]]
// CHECK: %[[MEAN:.*]] = linalg.generic
// CHECK-SAME: ins(%[[G]], %[[SUM]], %[[BATCHES]] :
// CHECK-SAME: tg.module = "norm", tg.phase = #tg.phase<optimizer>
// CHECK: %[[WIDE:.*]] = arith.extf
// CHECK-NEXT: %[[TOTAL:.*]] = arith.addf %{{.*}}, %[[WIDE]] : f32
// CHECK-NEXT: %[[QUOTIENT:.*]] = arith.divf %[[TOTAL]], %{{.*}} : f32
// CHECK-NEXT: arith.truncf %[[QUOTIENT]]
// CHECK: %[[NEW:.*]] = linalg.generic
// CHECK-SAME: ins(%[[W]], %[[MEAN]],
// CHECK-NOT: arith.select
// CHECK: return %{{.*}}, %[[NEW]]

// Means are what is clipped.
// CLIP-LABEL: func.func @step(
// CLIP: arith.mulf %{{.*}}phase<backward>
// CLIP: %[[MEAN:.*]] = linalg.generic
// CLIP: arith.divf
// CLIP: linalg.generic
// CLIP-SAME: iterator_types = ["reduction"]
// CLIP-SAME: ins(%[[MEAN]] : tensor<4xbf16>)

// The loss decides whether the parameter and its state change, and comes first.
// SKIP-LABEL: func.func @step(
// SKIP-SAME: %[[W:[a-z0-9]+]]: tensor<4xbf16>
// SKIP: %[[LOSS:.*]] = arith.constant {{.*}} : tensor<f32>
// SKIP: %[[FINITE:.*]] = linalg.generic
// SKIP-SAME: ins(%[[LOSS]] : tensor<f32>) outs(%{{.*}} : tensor<i1>)
// SKIP-SAME: tg.phase = #tg.phase<optimizer>
// SKIP: math.isfinite
// SKIP: linalg.generic
// SKIP-SAME: %[[FINITE]] :
// SKIP: ^bb0(%[[OLD:.*]]: bf16, %[[BUFFER:.*]]: f32, %{{.*}}: bf16, %{{.*}}: f32, %[[IS:.*]]: i1, %{{.*}}: bf16, %{{.*}}: f32):
// SKIP: %[[NARROW:.*]] = arith.truncf
// SKIP: arith.select %[[IS]], %[[NARROW]], %[[OLD]] : bf16
// SKIP: arith.select %[[IS]], %{{.*}}, %[[BUFFER]] : f32
func.func @step(
    %w: tensor<4xbf16> {tg.role = #tg.role<parameter>, tg.name = "norm.weight",
                        tg.module = "norm", tg.donated})
    -> (tensor<f32> {tg.role = #tg.role<loss>},
        tensor<4xbf16> {tg.role = #tg.role<gradient of 0>}) {
  %g = arith.mulf %w, %w {tg.phase = #tg.phase<backward>} : tensor<4xbf16>
  %loss = arith.constant {tg.phase = #tg.phase<forward>} dense<0.0> : tensor<f32>
  return %loss, %g : tensor<f32>, tensor<4xbf16>
}
