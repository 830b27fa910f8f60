// RUN: regather-opt %s --kernel-keep-loop-buffers | FileCheck %s

// What is computed anew is copied into what the loop carries.
// EXAMPLE kernel-keep-loop-buffers
// CHECK-LABEL: func.func @anew(
// CHECK: scf.for {{.*}} iter_args(%[[OLD:.*]] = %
// CHECK: %[[SUM:.*]] = linalg.add
// CHECK: %[[COPY:.*]] = linalg.copy ins(%[[SUM]] : tensor<4xf32>) outs(%[[OLD]] : tensor<4xf32>)
// CHECK: scf.yield %[[COPY]]
func.func @anew(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%old = %x) -> (tensor<4xf32>) {
    %e = tensor.empty() : tensor<4xf32>
    %s = linalg.add ins(%old, %old : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %s : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
// END

// Values that change places are kept in between.
// CHECK-LABEL: func.func @swap(
// CHECK: scf.for {{.*}} iter_args(%[[A:.*]] = %{{.*}}, %[[B:.*]] = %
// CHECK: %[[KEPT_A:.*]] = linalg.copy ins(%[[A]] :
// CHECK: %[[KEPT_B:.*]] = linalg.copy ins(%[[B]] :
// CHECK: linalg.copy ins(%[[KEPT_B]] : tensor<4xf32>) outs(%[[A]] :
// CHECK: linalg.copy ins(%[[KEPT_A]] : tensor<4xf32>) outs(%[[B]] :
func.func @swap(%x: tensor<4xf32>, %y: tensor<4xf32>, %n: index) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (tensor<4xf32>, tensor<4xf32>) {
    scf.yield %b, %a : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// An update is in place, and numbers have no buffer.
// CHECK-LABEL: func.func @updates(
// CHECK-NOT: linalg.copy
// CHECK: return
func.func @updates(%x: tensor<4xf32>, %y: f32, %n: index) -> (tensor<4xf32>, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (tensor<4xf32>, f32) {
    %t = tensor.insert %b into %a[%i] : tensor<4xf32>
    %s = arith.addf %b, %b : f32
    scf.yield %t, %s : tensor<4xf32>, f32
  }
  return %r#0, %r#1 : tensor<4xf32>, f32
}
