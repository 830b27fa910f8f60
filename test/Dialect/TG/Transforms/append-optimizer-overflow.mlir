// RUN: regather-opt %s --tg-append-optimizer=optimizer=sgd | FileCheck %s
// RUN: regather-opt %s --tg-append-optimizer='optimizer=sgd skip-nonfinite' | FileCheck %s --check-prefix=SKIP

// A step with too little room for its rows updates nothing, and says so.
// CHECK-LABEL: func.func @step(
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME:    %[[G:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME:    %[[MISSING:[a-z0-9]+]]: tensor<i64>
// CHECK-SAME:    -> (tensor<f32> {tg.role = #tg.role<loss>}, tensor<i64> {tg.role = #tg.role<overflow>}, tensor<4xf32> {tg.role = #tg.role<update of 0>})
// CHECK:         %[[FITS:.*]] = linalg.generic {{.*}} ins(%[[MISSING]] : tensor<i64>) outs(%{{.*}} : tensor<i1>)
// CHECK:         %[[IS:.*]] = arith.cmpi sle, %{{.*}}, %{{.*}} : i64
// CHECK-NEXT:    linalg.yield %[[IS]]
// CHECK:         linalg.generic {{.*}} ins(%[[W]], %[[G]], %{{.*}}, %[[FITS]] :
// CHECK:         arith.select

// A loss that is no number keeps it from doing so as well.
// SKIP-LABEL: func.func @step(
// SKIP-SAME:    %[[MISSING:[a-z0-9]+]]: tensor<i64>
// SKIP:         %[[LOSS:.*]] = arith.constant {{.*}} : tensor<f32>
// SKIP:         linalg.generic {{.*}} ins(%[[LOSS]], %[[MISSING]] : tensor<f32>, tensor<i64>) outs(%{{.*}} : tensor<i1>)
// SKIP:         %[[FINITE:.*]] = math.isfinite
// SKIP:         %[[IS:.*]] = arith.cmpi sle
// SKIP:         %[[BOTH:.*]] = arith.andi %[[FINITE]], %[[IS]]
// SKIP-NEXT:    linalg.yield %[[BOTH]]
func.func @step(
    %w: tensor<4xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %g: tensor<4xf32> {tg.role = #tg.role<input>, tg.name = "g"},
    %missing: tensor<i64> {tg.role = #tg.role<input>, tg.name = "missing"})
    -> (tensor<f32> {tg.role = #tg.role<loss>},
        tensor<i64> {tg.role = #tg.role<overflow>},
        tensor<4xf32> {tg.role = #tg.role<gradient of 0>}) {
  %loss = arith.constant {tg.phase = #tg.phase<forward>} dense<1.0> : tensor<f32>
  return %loss, %missing, %g : tensor<f32>, tensor<i64>, tensor<4xf32>
}
