
tg.kernel @forward(%x: tensor<2x4x5xf32>, %w: tensor<6x2x3xf32>, %b: tensor<6xbf16>) -> tensor<2x6x2xf16>
    attributes {library_call = #tg.convolution<batch = 2, groups = 2, inner = 2, outer = 3, extents = [5], counts = [2], sizes = [3], strides = [2], padding = [0], dilation = [1],
        x = <0 strides[20, 10, 5, 1]>, w = <1 strides[18, 6, 3, 1]>, bias = <2 strides[3, 1]>, to_y = <3 strides[12, 6, 2, 1]>>} {
  %y = tensor.empty() : tensor<2x6x2xf16>
  tg.return %y : tensor<2x6x2xf16>
}

tg.kernel @gradients(%x: tensor<1x1x4x4xf32>, %w: tensor<1x1x1x1xf32>) -> (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>, tensor<1xf32>)
    attributes {library_call = #tg.convolution<batch = 1, groups = 1, inner = 1, outer = 1, extents = [4, 4], counts = [4, 4], sizes = [1, 1], strides = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false,
        x = <0 strides[16, 16, 16, 4, 1]>, w = <1 strides[1, 1, 1, 1, 1]>, y = <0 strides[16, 16, 16, 4, 1]>, to_x = <2 strides[16, 16, 16, 4, 1]>, to_w = <3 strides[1, 1, 1, 1, 1]>, to_bias = <4 strides[1, 1]>>} {
  %a = tensor.empty() : tensor<1x1x4x4xf32>
  %b = tensor.empty() : tensor<1x1x1x1xf32>
  %c = tensor.empty() : tensor<1xf32>
  tg.return %a, %b, %c : tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>, tensor<1xf32>
}

tg.kernel @transposed(%y: tensor<1x1x2xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x4xf32>
    attributes {library_call = #tg.convolution<batch = 1, inner = 1, outer = 1, extents = [4], counts = [2], sizes = [3], strides = [1], padding = [0], dilation = [1], transposed = true,
        w = <1 strides[3, 3, 3, 1]>, y = <0 strides[2, 2, 2, 1]>, to_x = <2 strides[4, 4, 4, 1]>>} {
  %x = tensor.empty() : tensor<1x1x4xf32>
  tg.return %x : tensor<1x1x4xf32>
}
