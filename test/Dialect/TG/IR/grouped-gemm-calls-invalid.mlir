// Descriptions that are wrong by themselves, and such that do not fit a kernel.
// RUN: regather-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{expects at least one group, got 0}}
tg.kernel @kernel(%x: tensor<7x4xf32>, %w: tensor<3x4x5xf32>, %ends: tensor<3xi32>) -> tensor<7x5xf32> attributes {library_call = #tg.grouped_gemm<groups = 0, rows = 7, inner = 4, outer = 5, x = <0 strides[4, 1]>, w = <1 strides[20, 5, 1]>, ends = <2 strides[1]>, to_y = <3 strides[5, 1]>>} {
  %y = tensor.empty() : tensor<7x5xf32>
  tg.return %y : tensor<7x5xf32>
}

// -----

// expected-error @+1 {{expects non-negative sizes, got -7}}
tg.kernel @kernel(%x: tensor<7x4xf32>, %w: tensor<3x4x5xf32>, %ends: tensor<3xi32>) -> tensor<7x5xf32> attributes {library_call = #tg.grouped_gemm<groups = 3, rows = -7, inner = 4, outer = 5, x = <0 strides[4, 1]>, w = <1 strides[20, 5, 1]>, ends = <2 strides[1]>, to_y = <3 strides[5, 1]>>} {
  %y = tensor.empty() : tensor<7x5xf32>
  tg.return %y : tensor<7x5xf32>
}

// -----

// expected-error @+1 {{expects 'w' beside 'to_y'}}
tg.kernel @kernel(%x: tensor<7x4xf32>, %w: tensor<3x4x5xf32>, %ends: tensor<3xi32>) -> tensor<7x5xf32> attributes {library_call = #tg.grouped_gemm<groups = 3, rows = 7, inner = 4, outer = 5, x = <0 strides[4, 1]>, ends = <2 strides[1]>, to_y = <3 strides[5, 1]>>} {
  %y = tensor.empty() : tensor<7x5xf32>
  tg.return %y : tensor<7x5xf32>
}

// -----

// expected-error @+1 {{expects 3 strides of 'w', got 2}}
tg.kernel @kernel(%x: tensor<7x4xf32>, %w: tensor<3x4x5xf32>, %ends: tensor<3xi32>) -> tensor<7x5xf32> attributes {library_call = #tg.grouped_gemm<groups = 3, rows = 7, inner = 4, outer = 5, x = <0 strides[4, 1]>, w = <1 strides[5, 1]>, ends = <2 strides[1]>, to_y = <3 strides[5, 1]>>} {
  %y = tensor.empty() : tensor<7x5xf32>
  tg.return %y : tensor<7x5xf32>
}

// -----

// expected-error @+1 {{expects 'y' beside 'to_w'}}
tg.kernel @kernel(%x: tensor<7x4xf32>, %w: tensor<3x4x5xf32>, %ends: tensor<3xi32>) -> tensor<7x5xf32> attributes {library_call = #tg.grouped_gemm<groups = 3, rows = 7, inner = 4, outer = 5, x = <0 strides[4, 1]>, w = <1 strides[20, 5, 1]>, ends = <2 strides[1]>, to_w = <3 strides[20, 5, 1]>>} {
  %y = tensor.empty() : tensor<7x5xf32>
  tg.return %y : tensor<7x5xf32>
}

// -----

// expected-error @+1 {{expects 'ends' to hold i32 or i64, got 'f32'}}
tg.kernel @kernel(%x: tensor<7x4xf32>, %w: tensor<3x4x5xf32>, %ends: tensor<3xf32>) -> tensor<7x5xf32> attributes {library_call = #tg.grouped_gemm<groups = 3, rows = 7, inner = 4, outer = 5, x = <0 strides[4, 1]>, w = <1 strides[20, 5, 1]>, ends = <2 strides[1]>, to_y = <3 strides[5, 1]>>} {
  %y = tensor.empty() : tensor<7x5xf32>
  tg.return %y : tensor<7x5xf32>
}

// -----

// expected-error @+1 {{expects 'x' within buffer 0, which has 28 elements, got element 31}}
tg.kernel @kernel(%x: tensor<7x4xf32>, %w: tensor<3x4x5xf32>, %ends: tensor<3xi32>) -> tensor<7x5xf32> attributes {library_call = #tg.grouped_gemm<groups = 3, rows = 8, inner = 4, outer = 5, x = <0 strides[4, 1]>, w = <1 strides[20, 5, 1]>, ends = <2 strides[1]>, to_y = <3 strides[5, 1]>>} {
  %y = tensor.empty() : tensor<7x5xf32>
  tg.return %y : tensor<7x5xf32>
}

// -----

// expected-error @+1 {{expects 'to_y' to be all of result 0, each element once}}
tg.kernel @kernel(%x: tensor<7x4xf32>, %w: tensor<3x4x5xf32>, %ends: tensor<3xi32>) -> tensor<7x5xf32> attributes {library_call = #tg.grouped_gemm<groups = 3, rows = 7, inner = 4, outer = 5, x = <0 strides[4, 1]>, w = <1 strides[20, 5, 1]>, ends = <2 strides[1]>, to_y = <3 strides[1, 1]>>} {
  %y = tensor.empty() : tensor<7x5xf32>
  tg.return %y : tensor<7x5xf32>
}

// -----

// expected-error @+1 {{expects 'to_y' to be a view of one of 1 results, got buffer 0 of 4}}
tg.kernel @kernel(%x: tensor<7x4xf32>, %w: tensor<3x4x5xf32>, %ends: tensor<3xi32>) -> tensor<7x5xf32> attributes {library_call = #tg.grouped_gemm<groups = 3, rows = 7, inner = 4, outer = 5, x = <0 strides[4, 1]>, w = <1 strides[20, 5, 1]>, ends = <2 strides[1]>, to_y = <0 strides[5, 1]>>} {
  %y = tensor.empty() : tensor<7x5xf32>
  tg.return %y : tensor<7x5xf32>
}
