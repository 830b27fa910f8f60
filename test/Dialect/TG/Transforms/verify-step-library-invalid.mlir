// Library calls that say something else than the body of their kernel.
// RUN: regather-opt %s -split-input-file --tg-verify-step -verify-diagnostics

// The body does not transpose B.
// expected-error @+2 {{'tg.kernel' op has a library call that computes something else than its body}}
// expected-note @+1 {{the body computes #tg.gemm<m = 4, n = 4, k = 4, a = <0 strides[4, 1]>, b = <1 strides[4, 1]>, c = <2 strides[4, 1]>>}}
tg.kernel @kernel(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32>
    attributes {library_call = #tg.gemm<m = 4, n = 4, k = 4, a = <0 strides[4, 1]>, b = <1 strides[1, 4]>, c = <2 strides[4, 1]>>} {
  %mm = tg.node "aten.mm.default"(%x, %y) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  tg.return %mm : tensor<4x4xf32>
}

// -----

// Nor does it multiply.
// expected-error @+2 {{'tg.kernel' op has a library call that computes something else than its body}}
// expected-note @+1 {{no such call computes the body: the library has no such operation}}
tg.kernel @kernel(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32>
    attributes {library_call = #tg.gemm<m = 4, n = 4, k = 4, a = <0 strides[4, 1]>, b = <1 strides[4, 1]>, c = <2 strides[4, 1]>>} {
  %sum = arith.addf %x, %y : tensor<4x4xf32>
  tg.return %sum : tensor<4x4xf32>
}

// -----

// The scale is another one.
// expected-error @+2 {{'tg.kernel' op has a library call that computes something else than its body}}
// expected-note-re @+1 {{the body computes #tg.attention<{{.*}} scale = 1.000000e+00 : f32{{.*}}>}}
tg.kernel @kernel(%q: tensor<1x2x2x4xf32>) -> tensor<1x2x2x4xf32>
    attributes {library_call = #tg.attention<
        batch = 1, heads = 2, rows = 2, columns = 2, width = 4, value_width = 4, scale = 0.5 : f32,
        q = <0 strides[16, 8, 4, 1]>, k = <0 strides[16, 8, 4, 1]>, v = <0 strides[16, 8, 4, 1]>, o = <1 strides[16, 8, 4, 1]>>} {
  %o, %l = tg.node "aten._scaled_dot_product_flash_attention_for_cpu.default"(%q, %q, %q)
      args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, 0.0, false] kwargs {scale = 1.0}
      : (tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>) -> (tensor<1x2x2x4xf32>, tensor<1x2x2xf32>)
  tg.return %o : tensor<1x2x2x4xf32>
}

// -----

// A program calls it all the same.
// expected-error @+2 {{'tg.kernel' op has a library call that computes something else than its body}}
// expected-note @+1 {{no such call computes the body: there is no GEMM}}
tg.kernel @kernel(%x: tensor<16xf32>) -> tensor<16xf32>
    attributes {library_call = #tg.gemm<m = 16, n = 1, k = 1, a = <0 strides[1, 1]>, b = <0 strides[0, 0]>, c = <1 strides[1, 1]>>} {
  tg.return %x : tensor<16xf32>
}
exec.program @step(%x: memref<16xf32>) -> memref<16xf32> attributes {streams = 1, arena = 64} {
  %y = exec.slice 0 : memref<16xf32>
  exec.launch @kernel(%x) to (%y) stream 0 : (memref<16xf32>) -> memref<16xf32>
  exec.return %y : memref<16xf32>
}

// -----

// The stride is another one.
// expected-error @+2 {{'tg.kernel' op has a library call that computes something else than its body}}
// expected-note-re @+1 {{the body computes #tg.convolution<{{.*}} strides = [2]{{.*}}>}}
tg.kernel @kernel(%x: tensor<1x1x5xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x2xf32>
    attributes {library_call = #tg.convolution<batch = 1, inner = 1, outer = 1, extents = [5], counts = [2], sizes = [3], strides = [1], padding = [0], dilation = [1],
        x = <0 strides[0, 0, 0, 1]>, w = <1 strides[0, 0, 0, 1]>, to_y = <2 strides[0, 0, 0, 1]>>} {
  %y = tg.node "aten.convolution.default"(%x, %w) args [#tg.operand<0>, #tg.operand<1>, unit, [2], [0], [1], false, [0], 1]
      : (tensor<1x1x5xf32>, tensor<1x1x3xf32>) -> tensor<1x1x2xf32>
  tg.return %y : tensor<1x1x2xf32>
}

// -----

// Another number of segments is another order of sums.
// expected-error @+2 {{has a library call that computes something else than its body}}
// expected-note @+1 {{the body computes #tg.gemm<m = 4, n = 4, k = 4, a = <0 strides[4, 1]>, b = <1 strides[4, 1]>, c = <2 strides[4, 1]>, segments = 2>}}
tg.kernel @segments(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32>
    attributes {library_call = #tg.gemm<m = 4, n = 4, k = 4, a = <0 strides[4, 1]>, b = <1 strides[4, 1]>, c = <2 strides[4, 1]>, segments = 4>} {
  %x0 = tensor.extract_slice %x[0, 0] [4, 2] [1, 1] : tensor<4x4xf32> to tensor<4x2xf32>
  %y0 = tensor.extract_slice %y[0, 0] [2, 4] [1, 1] : tensor<4x4xf32> to tensor<2x4xf32>
  %x1 = tensor.extract_slice %x[0, 2] [4, 2] [1, 1] : tensor<4x4xf32> to tensor<4x2xf32>
  %y1 = tensor.extract_slice %y[2, 0] [2, 4] [1, 1] : tensor<4x4xf32> to tensor<2x4xf32>
  %0 = tg.node "aten.mm.default"(%x0, %y0) : (tensor<4x2xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  %1 = tg.node "aten.mm.default"(%x1, %y1) : (tensor<4x2xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  %2 = tg.node "aten.add.Tensor"(%0, %1) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  tg.return %2 : tensor<4x4xf32>
}
