// RUN: regather-opt %s --kernel-tile=tile-bytes=4096 | FileCheck %s

// A tile is what is computed of a few rows: those of both buffers begin where
// its number says.
// EXAMPLE kernel-tile{tile-bytes=4096}
// CHECK-LABEL: func.func @norms(
// CHECK-SAME: %[[X:.*]]: memref<1024x256xf32>, %[[S:.*]]: memref<1024xf32>, %[[BEGIN:.*]]: index, %[[END:.*]]: index) attributes {tg.num_tiles = 1024 : i64}
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK: memref.subview %[[X]][%{{.*}}, 0] [1, 256] [1, 1]
// CHECK: tg.node "aten.mul.Tensor"{{.*}} -> tensor<1x256xf32>
// CHECK: tg.node "aten.sum.dim_IntList"{{.*}} -> tensor<1xf32>
// CHECK: %[[PART:.*]] = memref.subview %[[S]]
// CHECK: bufferization.materialize_in_destination %{{.*}} in restrict writable %[[PART]]
// CHECK-NOT: tg.kernel
tg.kernel @norms(%x: tensor<1024x256xf32>) -> tensor<1024xf32> {
  %p = tg.node "aten.mul.Tensor"(%x, %x) : (tensor<1024x256xf32>, tensor<1024x256xf32>) -> tensor<1024x256xf32>
  %s = tg.node "aten.sum.dim_IntList"(%p) args [#tg.operand<0>, [1]] : (tensor<1024x256xf32>) -> tensor<1024xf32>
  tg.return %s : tensor<1024xf32>
}
// END

// A kernel may say how large its own tiles are to be.
// CHECK-LABEL: func.func @small_tiles(
// CHECK-SAME: attributes {tg.num_tiles = 64 : i64}
tg.kernel @small_tiles(%x: tensor<64x256xf32>) -> tensor<64x256xf32> attributes {tg.tile_bytes = 2048 : i64} {
  %p = tg.node "aten.mul.Tensor"(%x, %x) : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<64x256xf32>
  tg.return %p : tensor<64x256xf32>
}

// Tiles do not divide 67 rows: the last one has a body of its own.
// CHECK-LABEL: func.func @last_tile(
// CHECK-SAME: attributes {tg.num_tiles = 9 : i64}
// CHECK: scf.if
// CHECK: -> tensor<3x64xf32>
// CHECK: else
// CHECK: -> tensor<8x64xf32>
tg.kernel @last_tile(%x: tensor<67x64xf32>) -> tensor<67x64xf32> {
  %p = tg.node "aten.mul.Tensor"(%x, %x) : (tensor<67x64xf32>, tensor<67x64xf32>) -> tensor<67x64xf32>
  tg.return %p : tensor<67x64xf32>
}

// One row is too much: its elements are tiled as well, and the number of a tile
// is that of a row and of a part of it.
// CHECK-LABEL: func.func @long_rows(
// CHECK-SAME: attributes {tg.num_tiles = 24 : i64}
// CHECK: %[[PART:.*]] = arith.remui %{{.*}}, %c8
// CHECK: %[[ROW:.*]] = arith.divui %{{.*}}, %c8
// CHECK: memref.subview {{.*}} [1, 512] [1, 1]
tg.kernel @long_rows(%x: tensor<3x4096xf32>) -> tensor<3x4096xf32> {
  %p = tg.node "aten.mul.Tensor"(%x, %x) : (tensor<3x4096xf32>, tensor<3x4096xf32>) -> tensor<3x4096xf32>
  tg.return %p : tensor<3x4096xf32>
}

// All rows are in each sum of a column, and there are too few columns: one tile.
// CHECK-LABEL: func.func @columns(
// CHECK-SAME: attributes {tg.num_tiles = 1 : i64}
// CHECK-NOT: memref.subview
// CHECK: return
tg.kernel @columns(%x: tensor<1024x4xf32>) -> tensor<f32> {
  %s = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, []] : (tensor<1024x4xf32>) -> tensor<f32>
  tg.return %s : tensor<f32>
}

// A transposition is tiled into pieces of a line, 16 numbers, of one of its
// tensors; along any dimension one of them is cut.
// CHECK-LABEL: func.func @transposition(
// CHECK-SAME: attributes {tg.num_tiles = 16 : i64}
// CHECK: memref.subview {{.*}} [512, 16] [1, 1]
// CHECK: memref.subview {{.*}} [16, 512] [1, 1]
tg.kernel @transposition(%x: tensor<512x256xf32>) -> tensor<256x512xf32> {
  %t = tg.node "aten.permute.default"(%x) args [#tg.operand<0>, [1, 0]] : (tensor<512x256xf32>) -> tensor<256x512xf32>
  %y = tg.node "aten.exp.default"(%t) : (tensor<256x512xf32>) -> tensor<256x512xf32>
  tg.return %y : tensor<256x512xf32>
}

// Sums of columns read nothing but short pieces: these are longer, 128 numbers.
// CHECK-LABEL: func.func @column_sums(
// CHECK-SAME: attributes {tg.num_tiles = 2 : i64}
// CHECK: memref.subview {{.*}} [512, 128] [1, 1]
tg.kernel @column_sums(%x: tensor<512x256xf32>) -> tensor<256xf32> {
  %s = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [0]] : (tensor<512x256xf32>) -> tensor<256xf32>
  tg.return %s : tensor<256xf32>
}

// A small tensor that lies the other way round does not make tiles larger.
// CHECK-LABEL: func.func @small_beside(
// CHECK-SAME: attributes {tg.num_tiles = 16 : i64}
// CHECK: memref.subview {{.*}} [16, 64, 64] [1, 1, 1]
// CHECK: memref.subview {{.*}} [64, 16] [1, 1]
tg.kernel @small_beside(%x: tensor<256x64x64xf32>, %y: tensor<64x256xf32>) -> tensor<256x64x64xf32> {
  %t = tg.node "aten.permute.default"(%y) args [#tg.operand<0>, [1, 0]] : (tensor<64x256xf32>) -> tensor<256x64xf32>
  %u = tg.node "aten.unsqueeze.default"(%t) args [#tg.operand<0>, 2] : (tensor<256x64xf32>) -> tensor<256x64x1xf32>
  %z = tg.node "aten.mul.Tensor"(%x, %u) : (tensor<256x64x64xf32>, tensor<256x64x1xf32>) -> tensor<256x64x64xf32>
  tg.return %z : tensor<256x64x64xf32>
}

// Gradients of a norm's weight and bias are tiled along columns, of which a part
// normalizes some; the gradient of its input along rows.
// CHECK-LABEL: func.func @norm_columns(
// CHECK-SAME: attributes {tg.num_tiles = 2 : i64}
// CHECK: "aten.native_layer_norm_backward.default"{{.*}} args [#tg.operand<0>, #tg.operand<1>, [128],
tg.kernel @norm_columns(%g: tensor<64x256xf32>, %x: tensor<64x256xf32>, %m: tensor<64x1xf32>, %r: tensor<64x1xf32>, %w: tensor<256xf32>, %b: tensor<256xf32>) -> (tensor<256xf32>, tensor<256xf32>) {
  %d:3 = tg.node "aten.native_layer_norm_backward.default"(%g, %x, %m, %r, %w, %b) args [#tg.operand<0>, #tg.operand<1>, [256], #tg.operand<2>, #tg.operand<3>, #tg.operand<4>, #tg.operand<5>, [false, true, true]] : (tensor<64x256xf32>, tensor<64x256xf32>, tensor<64x1xf32>, tensor<64x1xf32>, tensor<256xf32>, tensor<256xf32>) -> (!tg.opaque<"none">, tensor<256xf32>, tensor<256xf32>)
  tg.return %d#1, %d#2 : tensor<256xf32>, tensor<256xf32>
}

// CHECK-LABEL: func.func @norm_rows(
// CHECK-SAME: attributes {tg.num_tiles = 64 : i64}
// CHECK: "aten.native_layer_norm_backward.default"{{.*}} args [#tg.operand<0>, #tg.operand<1>, [256],
tg.kernel @norm_rows(%g: tensor<64x256xf32>, %x: tensor<64x256xf32>, %m: tensor<64x1xf32>, %r: tensor<64x1xf32>, %w: tensor<256xf32>, %b: tensor<256xf32>) -> tensor<64x256xf32> {
  %d:3 = tg.node "aten.native_layer_norm_backward.default"(%g, %x, %m, %r, %w, %b) args [#tg.operand<0>, #tg.operand<1>, [256], #tg.operand<2>, #tg.operand<3>, #tg.operand<4>, #tg.operand<5>, [true, false, false]] : (tensor<64x256xf32>, tensor<64x256xf32>, tensor<64x1xf32>, tensor<64x1xf32>, tensor<256xf32>, tensor<256xf32>) -> (tensor<64x256xf32>, !tg.opaque<"none">, !tg.opaque<"none">)
  tg.return %d#0 : tensor<64x256xf32>
}
