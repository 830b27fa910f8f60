
tg.kernel @gemm(%x: tensor<3x4xf32>, %y: tensor<4x5xf32>) -> tensor<3x5xf32>
    attributes {library_call = #tg.gemm<m = 3, n = 5, k = 4, a = <0 strides[4, 1]>, b = <1 strides[5, 1]>, c = <2 strides[5, 1]>>} {
  %mm = tg.node "aten.mm.default"(%x, %y) : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  tg.return %mm : tensor<3x5xf32>
}

tg.kernel @epilogue(%x: tensor<176xbf16>, %y: tensor<5x4xbf16>, %bias: tensor<5xf32>, %r: tensor<2x7x3x5xbf16>) -> tensor<2x7x5x3xf16>
    attributes {library_call = #tg.gemm<
        k = 4, n = 5, m = 3, alpha = 0.125 : f32, batch = [2, 7], relu = true,
        a = <0 at 8 strides[84, 12, 4, 1]>, b = <1 at 0 strides[0, 0, 1, 4]>, c = <4 strides[105, 15, 1, 3]>,
        addends = [<2 strides[0, 0, 0, 1]>, <3 strides[105, 15, 5, 1]>]>} {
  %result = tensor.empty() : tensor<2x7x5x3xf16>
  tg.return %result : tensor<2x7x5x3xf16>
}

tg.kernel @empty(%x: tensor<0xf32>) -> tensor<3xf32>
    attributes {library_call = #tg.gemm<m = 3, n = 1, k = 0, a = <0 strides[0, 99]>, b = <0 strides[1, 99]>, c = <1 strides[1, 99]>, alpha = 0.1 : f32>} {
  %result = tensor.empty() : tensor<3xf32>
  tg.return %result : tensor<3xf32>
}

tg.kernel @attention(%q: tensor<1x16x4x8xbf16>, %k: tensor<1x2x24x8xbf16>, %v: tensor<1x2x24x6xbf16>, %mask: tensor<16x24xi1>)
    -> (tensor<1x4x16x6xbf16>, tensor<1x4x16xf32>)
    attributes {library_call = #tg.attention<
        batch = 1, heads = 4, groups = 2, rows = 16, columns = 24, width = 8, value_width = 6, scale = 0.5 : f32, causal = true,
        q = <0 strides[512, 8, 32, 1]>, k = <1 strides[384, 192, 8, 1]>, v = <2 strides[288, 144, 6, 1]>,
        mask = <3 strides[0, 0, 24, 1]>, o = <4 strides[384, 96, 6, 1]>, l = <5 strides[64, 16, 1]>>} {
  %o = tensor.empty() : tensor<1x4x16x6xbf16>
  %l = tensor.empty() : tensor<1x4x16xf32>
  tg.return %o, %l : tensor<1x4x16x6xbf16>, tensor<1x4x16xf32>
}

tg.kernel @gradients(%x: tensor<1x1x2x8xf16>, %l: tensor<1x1x2xf32>) -> (tensor<1x1x2x8xf16>, tensor<1x1x2x8xf16>, tensor<16xf16>)
    attributes {library_call = #tg.attention<
        batch = 1, heads = 1, groups = 1, rows = 2, columns = 2, width = 8, value_width = 8, scale = 0.5 : f32, causal = false,
        q = <0 strides[16, 16, 8, 1]>, k = <0 strides[16, 16, 8, 1]>, v = <0 strides[16, 16, 8, 1]>,
        o = <0 strides[16, 16, 8, 1]>, l = <1 strides[2, 2, 1]>, grad_o = <0 strides[16, 16, 8, 1]>,
        grad_q = <2 strides[16, 16, 8, 1]>, grad_k = <4 strides[16, 16, 8, 1]>, grad_v = <3 strides[16, 16, 8, 1]>>} {
  %g = tensor.empty() : tensor<1x1x2x8xf16>
  %f = tensor.empty() : tensor<16xf16>
  tg.return %g, %g, %f : tensor<1x1x2x8xf16>, tensor<1x1x2x8xf16>, tensor<16xf16>
}

module attributes {test.view = #tg.buffer_view<1 at 128 strides[256, 1]>} {}
