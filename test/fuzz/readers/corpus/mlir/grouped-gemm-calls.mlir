
tg.kernel @forward(%x: tensor<7x4xbf16>, %w: tensor<3x5x4xbf16>, %ends: tensor<3xi32>) -> tensor<7x5xf32>
    attributes {library_call = #tg.grouped_gemm<groups = 3, rows = 7, inner = 4, outer = 5, fills_zeros = false,
        x = <0 strides[4, 1]>, w = <1 strides[20, 1, 4]>, ends = <2 strides[1]>, to_y = <3 strides[5, 1]>>} {
  %y = tensor.empty() : tensor<7x5xf32>
  tg.return %y : tensor<7x5xf32>
}

tg.kernel @gradients(%x: tensor<7x4xf32>, %w: tensor<3x4x5xf32>, %ends: tensor<3xi64>, %y: tensor<7x5xf32>) -> (tensor<7x4xf32>, tensor<3x4x5xf32>)
    attributes {library_call = #tg.grouped_gemm<groups = 3, rows = 7, inner = 4, outer = 5, fills_zeros = true,
        x = <0 strides[4, 1]>, w = <1 strides[20, 5, 1]>, y = <3 strides[5, 1]>, ends = <2 strides[1]>, to_x = <4 strides[4, 1]>, to_w = <5 strides[20, 5, 1]>>} {
  %a = tensor.empty() : tensor<7x4xf32>
  %b = tensor.empty() : tensor<3x4x5xf32>
  tg.return %a, %b : tensor<7x4xf32>, tensor<3x4x5xf32>
}
