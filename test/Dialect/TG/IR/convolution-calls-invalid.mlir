// Descriptions that are wrong by themselves, and such that do not fit a kernel.
// RUN: regather-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{expects windows of 1 to 3 dimensions, got 0}}
tg.kernel @kernel(%x: tensor<1x1x4xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x2xf32> attributes {library_call = #tg.convolution<batch = 1, groups = 1, inner = 1, outer = 1, extents = [], counts = [], sizes = [], strides = [], padding = [], dilation = [], x = <0 strides[4, 4, 4, 1]>, w = <1 strides[3, 3, 3, 1]>, to_y = <2 strides[2, 2, 2, 1]>>} {
  %y = tensor.empty() : tensor<1x1x2xf32>
  tg.return %y : tensor<1x1x2xf32>
}

// -----

// expected-error @+1 {{expects 1 numbers of 'padding', got 2}}
tg.kernel @kernel(%x: tensor<1x1x4xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x2xf32> attributes {library_call = #tg.convolution<batch = 1, groups = 1, inner = 1, outer = 1, extents = [4], counts = [2], sizes = [3], strides = [1], padding = [0, 0], dilation = [1], x = <0 strides[4, 4, 4, 1]>, w = <1 strides[3, 3, 3, 1]>, to_y = <2 strides[2, 2, 2, 1]>>} {
  %y = tensor.empty() : tensor<1x1x2xf32>
  tg.return %y : tensor<1x1x2xf32>
}

// -----

// expected-error @+1 {{expects positive 'sizes', got 0}}
tg.kernel @kernel(%x: tensor<1x1x4xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x2xf32> attributes {library_call = #tg.convolution<batch = 1, groups = 1, inner = 1, outer = 1, extents = [4], counts = [2], sizes = [0], strides = [1], padding = [0], dilation = [1], x = <0 strides[4, 4, 4, 1]>, w = <1 strides[3, 3, 3, 1]>, to_y = <2 strides[2, 2, 2, 1]>>} {
  %y = tensor.empty() : tensor<1x1x2xf32>
  tg.return %y : tensor<1x1x2xf32>
}

// -----

// expected-error @+1 {{expects positive 'strides', got 0}}
tg.kernel @kernel(%x: tensor<1x1x4xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x2xf32> attributes {library_call = #tg.convolution<batch = 1, groups = 1, inner = 1, outer = 1, extents = [4], counts = [2], sizes = [3], strides = [0], padding = [0], dilation = [1], x = <0 strides[4, 4, 4, 1]>, w = <1 strides[3, 3, 3, 1]>, to_y = <2 strides[2, 2, 2, 1]>>} {
  %y = tensor.empty() : tensor<1x1x2xf32>
  tg.return %y : tensor<1x1x2xf32>
}

// -----

// expected-error @+1 {{expects positive 'dilation', got -1}}
tg.kernel @kernel(%x: tensor<1x1x4xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x2xf32> attributes {library_call = #tg.convolution<batch = 1, groups = 1, inner = 1, outer = 1, extents = [4], counts = [2], sizes = [3], strides = [1], padding = [0], dilation = [-1], x = <0 strides[4, 4, 4, 1]>, w = <1 strides[3, 3, 3, 1]>, to_y = <2 strides[2, 2, 2, 1]>>} {
  %y = tensor.empty() : tensor<1x1x2xf32>
  tg.return %y : tensor<1x1x2xf32>
}

// -----

// expected-error @+1 {{expects non-negative sizes, got -1}}
tg.kernel @kernel(%x: tensor<1x1x4xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x2xf32> attributes {library_call = #tg.convolution<batch = 1, groups = 1, inner = 1, outer = 1, extents = [4], counts = [2], sizes = [3], strides = [1], padding = [-1], dilation = [1], x = <0 strides[4, 4, 4, 1]>, w = <1 strides[3, 3, 3, 1]>, to_y = <2 strides[2, 2, 2, 1]>>} {
  %y = tensor.empty() : tensor<1x1x2xf32>
  tg.return %y : tensor<1x1x2xf32>
}

// -----

// expected-error @+1 {{expects at least one group, got 0}}
tg.kernel @kernel(%x: tensor<1x1x4xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x2xf32> attributes {library_call = #tg.convolution<batch = 1, groups = 0, inner = 1, outer = 1, extents = [4], counts = [2], sizes = [3], strides = [1], padding = [0], dilation = [1], x = <0 strides[4, 4, 4, 1]>, w = <1 strides[3, 3, 3, 1]>, to_y = <2 strides[2, 2, 2, 1]>>} {
  %y = tensor.empty() : tensor<1x1x2xf32>
  tg.return %y : tensor<1x1x2xf32>
}

// -----

// expected-error @+1 {{expects 'x' beside 'to_y'}}
tg.kernel @kernel(%x: tensor<1x1x4xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x2xf32> attributes {library_call = #tg.convolution<batch = 1, groups = 1, inner = 1, outer = 1, extents = [4], counts = [2], sizes = [3], strides = [1], padding = [0], dilation = [1], w = <1 strides[3, 3, 3, 1]>, to_y = <2 strides[2, 2, 2, 1]>>} {
  %y = tensor.empty() : tensor<1x1x2xf32>
  tg.return %y : tensor<1x1x2xf32>
}

// -----

// expected-error @+1 {{expects 'w' beside 'to_y'}}
tg.kernel @kernel(%x: tensor<1x1x4xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x2xf32> attributes {library_call = #tg.convolution<batch = 1, groups = 1, inner = 1, outer = 1, extents = [4], counts = [2], sizes = [3], strides = [1], padding = [0], dilation = [1], x = <0 strides[4, 4, 4, 1]>, to_y = <2 strides[2, 2, 2, 1]>>} {
  %y = tensor.empty() : tensor<1x1x2xf32>
  tg.return %y : tensor<1x1x2xf32>
}

// -----

// The gradient of weights needs that of the result.
// expected-error @+1 {{expects 'y' beside 'to_w'}}
tg.kernel @kernel(%x: tensor<1x1x4xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x2xf32> attributes {library_call = #tg.convolution<batch = 1, groups = 1, inner = 1, outer = 1, extents = [4], counts = [2], sizes = [3], strides = [1], padding = [0], dilation = [1], x = <0 strides[4, 4, 4, 1]>, w = <1 strides[3, 3, 3, 1]>, to_w = <2 strides[3, 3, 3, 1]>>} {
  %y = tensor.empty() : tensor<1x1x2xf32>
  tg.return %y : tensor<1x1x2xf32>
}

// -----

// What a transposed convolution gives is x.
// expected-error @+1 {{expects 'to_x' beside 'bias'}}
tg.kernel @kernel(%x: tensor<1x1x4xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x2xf32> attributes {library_call = #tg.convolution<batch = 1, groups = 1, inner = 1, outer = 1, extents = [4], counts = [2], sizes = [3], strides = [1], padding = [0], dilation = [1], transposed = true, x = <0 strides[4, 4, 4, 1]>, w = <1 strides[3, 3, 3, 1]>, bias = <1 strides[1, 1]>, to_y = <2 strides[2, 2, 2, 1]>>} {
  %y = tensor.empty() : tensor<1x1x2xf32>
  tg.return %y : tensor<1x1x2xf32>
}

// -----

// expected-error @+1 {{expects 4 strides of 'x', got 3}}
tg.kernel @kernel(%x: tensor<1x1x4xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x2xf32> attributes {library_call = #tg.convolution<batch = 1, groups = 1, inner = 1, outer = 1, extents = [4], counts = [2], sizes = [3], strides = [1], padding = [0], dilation = [1], x = <0 strides[4, 4, 1]>, w = <1 strides[3, 3, 3, 1]>, to_y = <2 strides[2, 2, 2, 1]>>} {
  %y = tensor.empty() : tensor<1x1x2xf32>
  tg.return %y : tensor<1x1x2xf32>
}

// -----

// expected-error @+1 {{expects 2 strides of 'bias', got 1}}
tg.kernel @kernel(%x: tensor<1x1x4xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x2xf32> attributes {library_call = #tg.convolution<batch = 1, groups = 1, inner = 1, outer = 1, extents = [4], counts = [2], sizes = [3], strides = [1], padding = [0], dilation = [1], x = <0 strides[4, 4, 4, 1]>, w = <1 strides[3, 3, 3, 1]>, bias = <1 strides[1]>, to_y = <2 strides[2, 2, 2, 1]>>} {
  %y = tensor.empty() : tensor<1x1x2xf32>
  tg.return %y : tensor<1x1x2xf32>
}

// -----

// expected-error @+1 {{library call expects 'x' within buffer 0, which has 4 elements, got element 4}}
tg.kernel @kernel(%x: tensor<1x1x4xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x2xf32> attributes {library_call = #tg.convolution<batch = 1, groups = 1, inner = 1, outer = 1, extents = [5], counts = [2], sizes = [3], strides = [1], padding = [0], dilation = [1], x = <0 strides[4, 4, 4, 1]>, w = <1 strides[3, 3, 3, 1]>, to_y = <2 strides[2, 2, 2, 1]>>} {
  %y = tensor.empty() : tensor<1x1x2xf32>
  tg.return %y : tensor<1x1x2xf32>
}

// -----

// expected-error @+1 {{library call expects 'to_y' to be all of result 0, each element once}}
tg.kernel @kernel(%x: tensor<1x1x4xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x3xf32> attributes {library_call = #tg.convolution<batch = 1, groups = 1, inner = 1, outer = 1, extents = [4], counts = [2], sizes = [3], strides = [1], padding = [0], dilation = [1], x = <0 strides[4, 4, 4, 1]>, w = <1 strides[3, 3, 3, 1]>, to_y = <2 strides[2, 2, 2, 1]>>} {
  %y = tensor.empty() : tensor<1x1x3xf32>
  tg.return %y : tensor<1x1x3xf32>
}

// -----

// expected-error @+1 {{library call expects 'x' to hold f32, bf16 or f16, got 'f64'}}
tg.kernel @kernel(%x: tensor<1x1x4xf64>, %w: tensor<1x1x3xf32>) -> tensor<1x1x2xf32> attributes {library_call = #tg.convolution<batch = 1, groups = 1, inner = 1, outer = 1, extents = [4], counts = [2], sizes = [3], strides = [1], padding = [0], dilation = [1], x = <0 strides[4, 4, 4, 1]>, w = <1 strides[3, 3, 3, 1]>, to_y = <2 strides[2, 2, 2, 1]>>} {
  %y = tensor.empty() : tensor<1x1x2xf32>
  tg.return %y : tensor<1x1x2xf32>
}
