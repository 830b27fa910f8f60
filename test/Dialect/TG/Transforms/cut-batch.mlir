// RUN: regather-opt %s -split-input-file "--tg-cut-batch=parts=2" --tg-verify-step | FileCheck %s

// The number of rows that count is decided by inputs alone: it is added up
// before the first product. The gradients of both micro-batches are added as
// soon as they are there, and the loss is their sum. The signature stays. What
// reads a gradient is carried out once.
// CHECK-LABEL: func.func @sums(
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<8x4xf32>
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK:         %[[X0:.*]] = tensor.extract_slice %[[X]][0, 0] [2, 8] [1, 1] {tg.micro_batch = 0 : i64
// CHECK:         %[[X1:.*]] = tensor.extract_slice %[[X]][2, 0] [2, 8] [1, 1] {tg.micro_batch = 1 : i64
// CHECK:         %[[COUNT0:.*]] = tg.node "aten.sum.default"
// CHECK:         %[[COUNT1:.*]] = tg.node "aten.sum.default"
// CHECK:         %[[COUNT:.*]] = tg.node "aten.add.Tensor"(%[[COUNT0]], %[[COUNT1]])
// CHECK:         tg.node "aten.mm.default"(%[[X0]], %[[W]])
// CHECK:         tg.node "aten.div.Tensor"(%{{.*}}, %[[COUNT]]) {tg.micro_batch = 0
// CHECK:         %[[D0:.*]] = tg.node "aten.mm.default"{{.*}} {test.gradient
// CHECK:         tg.node "aten.mm.default"(%[[X1]], %[[W]])
// CHECK:         tg.node "aten.div.Tensor"(%{{.*}}, %[[COUNT]]) {tg.micro_batch = 1
// CHECK:         tg.node "aten.add.Tensor"
// CHECK:         %[[D1:.*]] = tg.node "aten.mm.default"{{.*}} {test.gradient
// CHECK:         %[[D:.*]] = tg.node "aten.add.Tensor"(%[[D0]], %[[D1]]) {tg.micro_batch = 1
// CHECK:         tg.node "aten.relu.default"(%[[D]])
// CHECK-NOT:     tg.node "aten.relu.default"
// CHECK-NOT:     tg.all_reduce
// CHECK-NOT:     tg.mesh
// CHECK:         return
// EXAMPLE tg-cut-batch
func.func @sums(
    %w: tensor<8x4xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<4x8xf32> {tg.role = #tg.role<input>})
    -> (tensor<f32> {tg.role = #tg.role<loss>},
        tensor<8x4xf32> {tg.role = #tg.role<gradient of 0>}) {
  %y = tg.node "aten.mm.default"(%x, %w) {tg.phase = #tg.phase<forward>}
      : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %sum = tg.node "aten.sum.default"(%y) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<f32>
  %count = tg.node "aten.sum.default"(%x) {tg.phase = #tg.phase<forward>} : (tensor<4x8xf32>) -> tensor<f32>
  %loss = tg.node "aten.div.Tensor"(%sum, %count) {tg.phase = #tg.phase<forward>}
      : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %xt = tg.node "aten.t.default"(%x) {tg.phase = #tg.phase<backward>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %dw = tg.node "aten.mm.default"(%xt, %y) {test.gradient, tg.phase = #tg.phase<backward>}
      : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %rectified = tg.node "aten.relu.default"(%dw) {tg.phase = #tg.phase<backward>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %loss, %rectified : tensor<f32>, tensor<8x4xf32>
}
// END

// -----

// A mean is divided once, at the end. What no micro-batch decides or reads, such
// as the update, is there once. Rows are put together again.
// CHECK-LABEL: func.func @means(
// CHECK-SAME:    %[[SCALE:[a-z0-9]+]]: tensor<f32>
// CHECK-NOT:     tg.node "aten.mul.Tensor"(%[[SCALE]]
// CHECK:         %[[MEAN0:.*]] = tg.node "aten.mean.default"
// CHECK:         %[[MEAN1:.*]] = tg.node "aten.mean.default"
// CHECK:         %[[SUM:.*]] = tg.node "aten.add.Tensor"(%[[MEAN0]], %[[MEAN1]])
// CHECK:         %[[NEXT:.*]] = tg.node "aten.mul.Tensor"(%[[SCALE]], %[[SCALE]]) {tg.phase
// CHECK:         %[[MEAN:.*]] = tg.node "aten.div.Scalar"(%[[SUM]]) args [#tg.operand<0>, 2]
// CHECK:         %[[ROWS:.*]] = tg.node "aten.cat.default"
// CHECK:         return %[[MEAN]], %[[NEXT]], %[[ROWS]]
func.func @means(
    %scale: tensor<f32> {tg.role = #tg.role<buffer>, tg.name = "scale"},
    %w: tensor<8xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<4x8xf32> {tg.role = #tg.role<input>})
    -> (tensor<f32> {tg.role = #tg.role<loss>},
        tensor<f32> {tg.role = #tg.role<update of 0>}, tensor<4x8xf32>) {
  %y = tg.node "aten.mul.Tensor"(%x, %w) {tg.phase = #tg.phase<forward>}
      : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %loss = tg.node "aten.mean.default"(%y) {tg.phase = #tg.phase<forward>} : (tensor<4x8xf32>) -> tensor<f32>
  %next = tg.node "aten.mul.Tensor"(%scale, %scale) {tg.phase = #tg.phase<forward>}
      : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %loss, %next, %y : tensor<f32>, tensor<f32>, tensor<4x8xf32>
}

// -----

// Random numbers of a row are those of the whole batch.
// CHECK-LABEL: func.func @random(
// CHECK:         arith.constant {{.*}} 16 : index
// CHECK-NEXT:    arith.constant {{.*}} 16 : index
// CHECK-NEXT:    %[[FIRST:.*]] = arith.constant {{.*}} 0 : index
// CHECK-NEXT:    %[[SECOND:.*]] = arith.constant {{.*}} 16 : index
// CHECK-NEXT:    tg.random %{{.*}}, %{{.*}} first %[[FIRST]] stream 0 {{.*}}: tensor<2x8xi32>
// CHECK-NEXT:    tg.random %{{.*}}, %{{.*}} first %[[SECOND]] stream 0 {{.*}}: tensor<2x8xi32>
func.func @random(%w: tensor<8xi32> {tg.role = #tg.role<parameter>},
    %seed: tensor<i64>, %offset: tensor<i64>,
    %x: tensor<4x8xi32> {tg.role = #tg.role<input>}) -> tensor<4x8xi32> {
  %bits = tg.random %seed, %offset stream 0 {tg.phase = #tg.phase<forward>} : tensor<4x8xi32>
  %y = tg.node "aten.add.Tensor"(%x, %bits) {tg.phase = #tg.phase<forward>}
      : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
  return %y : tensor<4x8xi32>
}

// -----

// What inputs and a buffer decide together is known before the first product,
// as what inputs decide alone: here, the weights of all classes that count. The
// negative parameter is there for each micro-batch, which read it.
// CHECK-LABEL: func.func @weights(
// CHECK-SAME:    %[[CLASSES:[a-z0-9]+]]: tensor<8xf32>
// CHECK:         %[[OWN0:.*]] = tg.node "aten.mul.Tensor"(%{{.*}}, %[[CLASSES]]) {tg.micro_batch = 0
// CHECK:         %[[OWN1:.*]] = tg.node "aten.mul.Tensor"(%{{.*}}, %[[CLASSES]]) {tg.micro_batch = 1
// CHECK:         %[[SUM0:.*]] = tg.node "aten.sum.default"(%[[OWN0]])
// CHECK:         %[[SUM1:.*]] = tg.node "aten.sum.default"(%[[OWN1]])
// CHECK:         %[[SUM:.*]] = tg.node "aten.add.Tensor"(%[[SUM0]], %[[SUM1]])
// CHECK:         tg.node "aten.neg.default"
// CHECK:         tg.node "aten.div.Tensor"(%{{.*}}, %[[SUM]]) {tg.micro_batch = 0
// CHECK:         tg.node "aten.neg.default"
// CHECK:         tg.node "aten.div.Tensor"(%{{.*}}, %[[SUM]]) {tg.micro_batch = 1
func.func @weights(
    %classes: tensor<8xf32> {tg.role = #tg.role<buffer>, tg.name = "classes"},
    %w: tensor<8xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<4x8xf32> {tg.role = #tg.role<input>}) -> tensor<4x8xf32> {
  %own = tg.node "aten.mul.Tensor"(%x, %classes) {tg.phase = #tg.phase<forward>}
      : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %sum = tg.node "aten.sum.default"(%own) {tg.phase = #tg.phase<forward>} : (tensor<4x8xf32>) -> tensor<f32>
  %negative = tg.node "aten.neg.default"(%w) {tg.phase = #tg.phase<forward>} : (tensor<8xf32>) -> tensor<8xf32>
  %y = tg.node "aten.mul.Tensor"(%own, %negative) {tg.phase = #tg.phase<forward>}
      : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %z = tg.node "aten.div.Tensor"(%y, %sum) {tg.phase = #tg.phase<forward>} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return %z : tensor<4x8xf32>
}
