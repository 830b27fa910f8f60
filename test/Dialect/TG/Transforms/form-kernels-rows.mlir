// RUN: regather-opt %s --tg-form-kernels --split-input-file | FileCheck %s

// A sum over channels leaves two rows of 4 MiB each, which nothing else divides:
// it stays apart from what can be computed channel by channel.

// CHECK-LABEL: func.func @long_rows
// CHECK-COUNT-2: tg.launch
// CHECK-NOT: tg.launch
func.func @long_rows(%x: tensor<2x512x2048xf32>) -> (tensor<2x512x2048xf32>, tensor<2x2048xf32>) {
  %y = tg.node "aten.exp.default"(%x) : (tensor<2x512x2048xf32>) -> tensor<2x512x2048xf32>
  %s = tg.node "aten.sum.dim_IntList"(%y) args [#tg.operand<0>, [1]] : (tensor<2x512x2048xf32>) -> tensor<2x2048xf32>
  return %y, %s : tensor<2x512x2048xf32>, tensor<2x2048xf32>
}

// -----

// Short rows fit the caches, and 16 rows are enough for threads.

// CHECK-LABEL: func.func @short_rows
// CHECK-COUNT-1: tg.launch
// CHECK-NOT: tg.launch
func.func @short_rows(%x: tensor<2x64x256xf32>) -> (tensor<2x64x256xf32>, tensor<2x256xf32>) {
  %y = tg.node "aten.exp.default"(%x) : (tensor<2x64x256xf32>) -> tensor<2x64x256xf32>
  %s = tg.node "aten.sum.dim_IntList"(%y) args [#tg.operand<0>, [1]] : (tensor<2x64x256xf32>) -> tensor<2x256xf32>
  return %y, %s : tensor<2x64x256xf32>, tensor<2x256xf32>
}

// -----

// CHECK-LABEL: func.func @many_rows
// CHECK-COUNT-1: tg.launch
// CHECK-NOT: tg.launch
func.func @many_rows(%x: tensor<16x512x2048xf32>) -> (tensor<16x512x2048xf32>, tensor<16x2048xf32>) {
  %y = tg.node "aten.exp.default"(%x) : (tensor<16x512x2048xf32>) -> tensor<16x512x2048xf32>
  %s = tg.node "aten.sum.dim_IntList"(%y) args [#tg.operand<0>, [1]] : (tensor<16x512x2048xf32>) -> tensor<16x2048xf32>
  return %y, %s : tensor<16x512x2048xf32>, tensor<16x2048xf32>
}

// -----

// The sum of the last dimension divides as what it reads does, and a sum of all
// that a row holds needs no memory for it.

// CHECK-LABEL: func.func @inner_sums
// CHECK-COUNT-1: tg.launch
// CHECK-NOT: tg.launch
func.func @inner_sums(%x: tensor<2x512x2048xf32>) -> (tensor<2x512x2048xf32>, tensor<2x512xf32>, tensor<2xf32>) {
  %y = tg.node "aten.exp.default"(%x) : (tensor<2x512x2048xf32>) -> tensor<2x512x2048xf32>
  %s = tg.node "aten.sum.dim_IntList"(%y) args [#tg.operand<0>, [2]] : (tensor<2x512x2048xf32>) -> tensor<2x512xf32>
  %t = tg.node "aten.sum.dim_IntList"(%y) args [#tg.operand<0>, [1, 2]] : (tensor<2x512x2048xf32>) -> tensor<2xf32>
  return %y, %s, %t : tensor<2x512x2048xf32>, tensor<2x512xf32>, tensor<2xf32>
}

// -----

// Labels that are shifted along the sequence do not hold up the loss, whose 256
// rows are the rows of two sequences.

// CHECK-LABEL: tg.kernel @constant_pad_nd
// CHECK-NOT: log_softmax
// CHECK: tg.kernel @tanh_log_softmax_gather
// CHECK-LABEL: func.func @labels
// CHECK-COUNT-2: tg.launch
// CHECK-NOT: tg.launch
func.func @labels(%x: tensor<2x128x8192xf32>, %l: tensor<2x128xi64>) -> tensor<256x1xf32> {
  %p = tg.node "aten.constant_pad_nd.default"(%l) args [#tg.operand<0>, [0, 1], -100] : (tensor<2x128xi64>) -> tensor<2x129xi64>
  %t = tg.node "aten.slice.Tensor"(%p) args [#tg.operand<0>, 1, 1, 9223372036854775807] : (tensor<2x129xi64>) -> tensor<2x128xi64>
  %c = tg.node "aten.clone.default"(%t) : (tensor<2x128xi64>) -> tensor<2x128xi64>
  %i = tg.node "aten.view.default"(%c) args [#tg.operand<0>, [256, 1]] : (tensor<2x128xi64>) -> tensor<256x1xi64>
  %e = tg.node "aten.tanh.default"(%x) : (tensor<2x128x8192xf32>) -> tensor<2x128x8192xf32>
  %v = tg.node "aten.view.default"(%e) args [#tg.operand<0>, [256, 8192]] : (tensor<2x128x8192xf32>) -> tensor<256x8192xf32>
  %s = tg.node "aten._log_softmax.default"(%v) args [#tg.operand<0>, 1, false] : (tensor<256x8192xf32>) -> tensor<256x8192xf32>
  %g = tg.node "aten.gather.default"(%s, %i) args [#tg.operand<0>, 1, #tg.operand<1>] : (tensor<256x8192xf32>, tensor<256x1xi64>) -> tensor<256x1xf32>
  return %g : tensor<256x1xf32>
}
