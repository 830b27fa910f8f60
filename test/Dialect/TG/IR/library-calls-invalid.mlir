// Descriptions that are wrong by themselves, and such that do not fit a kernel.
// RUN: regather-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{expects the number of a buffer, got -1}}
module attributes {test.call = #tg.buffer_view<-1 strides[1]>} {}

// -----

// expected-error @+1 {{expects a non-negative offset, got -8}}
module attributes {test.call = #tg.buffer_view<0 at -8 strides[1]>} {}

// -----

// expected-error @+1 {{expects non-negative strides, got -2}}
module attributes {test.call = #tg.buffer_view<0 strides[1, -2]>} {}

// -----

// expected-error @+1 {{expects non-negative sizes, got -3}}
module attributes {test.call = #tg.gemm<m = -3, n = 5, k = 4, a = <0 strides[4, 1]>, b = <1 strides[5, 1]>, c = <2 strides[5, 1]>>} {}

// -----

// expected-error @+1 {{expects 2 strides of 'a', got 3}}
module attributes {test.call = #tg.gemm<m = 3, n = 5, k = 4, a = <0 strides[4, 4, 1]>, b = <1 strides[5, 1]>, c = <2 strides[5, 1]>>} {}

// -----

// expected-error @+1 {{expects 3 strides of 'c', got 2}}
module attributes {test.call = #tg.gemm<m = 3, n = 5, k = 4, a = <0 strides[4, 4, 1]>, b = <1 strides[0, 5, 1]>, c = <2 strides[5, 1]>, batch = [1]>} {}

// -----

// expected-error @+1 {{expects 2 strides of 'addends', got 1}}
module attributes {test.call = #tg.gemm<m = 3, n = 5, k = 4, a = <0 strides[4, 1]>, b = <1 strides[5, 1]>, c = <2 strides[5, 1]>, addends = [<1 strides[1]>]>} {}

// -----

// expected-error @+1 {{expects at most 2 addends, got 3}}
module attributes {test.call = #tg.gemm<m = 3, n = 5, k = 4, a = <0 strides[4, 1]>, b = <1 strides[5, 1]>, c = <2 strides[5, 1]>, addends = [<1 strides[0, 1]>, <1 strides[0, 1]>, <1 strides[0, 1]>]>} {}

// -----

// expected-error @+1 {{expects a batch of at most 6 dimensions, got 7}}
module attributes {test.call = #tg.gemm<m = 1, n = 1, k = 1, batch = [1, 1, 1, 1, 1, 1, 1], a = <0 strides[1]>, b = <0 strides[1]>, c = <0 strides[1]>>} {}

// -----

// expected-error @+1 {{expects 'alpha' to be an f32, got 5.000000e-01 : f64}}
module attributes {test.call = #tg.gemm<m = 3, n = 5, k = 4, a = <0 strides[4, 1]>, b = <1 strides[5, 1]>, c = <2 strides[5, 1]>, alpha = 0.5>} {}

// -----

// expected-error @+1 {{expects 1 to 65536 segments that divide 'k', which is 4, got 3}}
module attributes {test.call = #tg.gemm<m = 3, n = 5, k = 4, a = <0 strides[4, 1]>, b = <1 strides[5, 1]>, c = <2 strides[5, 1]>, segments = 3>} {}

// -----

// expected-error @+1 {{expects 1 to 65536 segments that divide 'k', which is 4, got 0}}
module attributes {test.call = #tg.gemm<m = 3, n = 5, k = 4, a = <0 strides[4, 1]>, b = <1 strides[5, 1]>, c = <2 strides[5, 1]>, segments = 0>} {}

// -----

// expected-error @+1 {{expects 'segment_type' to be bf16 or f16 beside several segments, got 'f64' beside 2}}
module attributes {test.call = #tg.gemm<m = 3, n = 5, k = 4, a = <0 strides[4, 1]>, b = <1 strides[5, 1]>, c = <2 strides[5, 1]>, segments = 2, segment_type = f64>} {}

// -----

// expected-error @+1 {{expects 'segment_type' to be bf16 or f16 beside several segments, got 'bf16' beside 1}}
module attributes {test.call = #tg.gemm<m = 3, n = 5, k = 4, a = <0 strides[4, 1]>, b = <1 strides[5, 1]>, c = <2 strides[5, 1]>, segment_type = bf16>} {}

// -----

// expected-error @+1 {{struct is missing required parameter: c}}
module attributes {test.call = #tg.gemm<m = 3, n = 5, k = 4, a = <0 strides[4, 1]>, b = <1 strides[5, 1]>>} {}

// -----

// expected-error @+1 {{expects groups that divide 2 heads, got 3}}
module attributes {test.call = #tg.attention<batch = 1, heads = 2, groups = 3, rows = 2, columns = 2, width = 4, value_width = 4, scale = 0.5 : f32, q = <0 strides[16, 8, 4, 1]>, k = <0 strides[16, 8, 4, 1]>, v = <0 strides[16, 8, 4, 1]>, o = <1 strides[16, 8, 4, 1]>>} {}

// -----

// expected-error @+1 {{expects groups that divide 2 heads, got 0}}
module attributes {test.call = #tg.attention<batch = 1, heads = 2, groups = 0, rows = 2, columns = 2, width = 4, value_width = 4, scale = 0.5 : f32, q = <0 strides[16, 8, 4, 1]>, k = <0 strides[16, 8, 4, 1]>, v = <0 strides[16, 8, 4, 1]>, o = <1 strides[16, 8, 4, 1]>>} {}

// -----

// expected-error @+1 {{expects 'scale' to be an f32, got 5.000000e-01 : f64}}
module attributes {test.call = #tg.attention<batch = 1, heads = 2, groups = 1, rows = 2, columns = 2, width = 4, value_width = 4, scale = 0.5, q = <0 strides[16, 8, 4, 1]>, k = <0 strides[16, 8, 4, 1]>, v = <0 strides[16, 8, 4, 1]>, o = <1 strides[16, 8, 4, 1]>>} {}

// -----

// expected-error @+1 {{expects 4 strides of 'q', got 2}}
module attributes {test.call = #tg.attention<batch = 1, heads = 2, groups = 1, rows = 2, columns = 2, width = 4, value_width = 4, scale = 0.5 : f32, q = <0 strides[4, 1]>, k = <0 strides[16, 8, 4, 1]>, v = <0 strides[16, 8, 4, 1]>, o = <1 strides[16, 8, 4, 1]>>} {}

// -----

// expected-error @+1 {{expects 3 strides of 'l', got 4}}
module attributes {test.call = #tg.attention<batch = 1, heads = 2, groups = 1, rows = 2, columns = 2, width = 4, value_width = 4, scale = 0.5 : f32, q = <0 strides[16, 8, 4, 1]>, k = <0 strides[16, 8, 4, 1]>, v = <0 strides[16, 8, 4, 1]>, o = <1 strides[16, 8, 4, 1]>, l = <0 strides[4, 2, 1, 1]>>} {}

// -----

// expected-error @+1 {{expects 'grad_k' beside 'grad_o'}}
module attributes {test.call = #tg.attention<batch = 1, heads = 2, groups = 1, rows = 2, columns = 2, width = 4, value_width = 4, scale = 0.5 : f32, q = <0 strides[16, 8, 4, 1]>, k = <0 strides[16, 8, 4, 1]>, v = <0 strides[16, 8, 4, 1]>, o = <1 strides[16, 8, 4, 1]>, l = <0 strides[4, 2, 1]>, grad_o = <0 strides[16, 8, 4, 1]>, grad_q = <0 strides[16, 8, 4, 1]>, grad_v = <0 strides[16, 8, 4, 1]>>} {}

// -----

// expected-error @+1 {{expects no 'grad_q' without 'grad_o'}}
module attributes {test.call = #tg.attention<batch = 1, heads = 2, groups = 1, rows = 2, columns = 2, width = 4, value_width = 4, scale = 0.5 : f32, q = <0 strides[16, 8, 4, 1]>, k = <0 strides[16, 8, 4, 1]>, v = <0 strides[16, 8, 4, 1]>, o = <1 strides[16, 8, 4, 1]>, grad_q = <0 strides[16, 8, 4, 1]>>} {}

// -----

// expected-error @+1 {{expects 'l' beside 'grad_o'}}
module attributes {test.call = #tg.attention<batch = 1, heads = 2, groups = 1, rows = 2, columns = 2, width = 4, value_width = 4, scale = 0.5 : f32, q = <0 strides[16, 8, 4, 1]>, k = <0 strides[16, 8, 4, 1]>, v = <0 strides[16, 8, 4, 1]>, o = <1 strides[16, 8, 4, 1]>, grad_o = <0 strides[16, 8, 4, 1]>, grad_q = <0 strides[16, 8, 4, 1]>, grad_k = <0 strides[16, 8, 4, 1]>, grad_v = <0 strides[16, 8, 4, 1]>>} {}

// -----

// expected-error @+1 {{expects 'mask' and 'grad_o' beside 'grad_mask'}}
module attributes {test.call = #tg.attention<batch = 1, heads = 2, groups = 1, rows = 2, columns = 2, width = 4, value_width = 4, scale = 0.5 : f32, q = <0 strides[16, 8, 4, 1]>, k = <0 strides[16, 8, 4, 1]>, v = <0 strides[16, 8, 4, 1]>, o = <1 strides[16, 8, 4, 1]>, grad_mask = <0 strides[8, 4, 2, 1]>>} {}

// -----

// expected-error @+1 {{expects a finite, positive 'softcap', got -2.0}}
module attributes {test.call = #tg.attention<batch = 1, heads = 2, groups = 1, rows = 2, columns = 2, width = 4, value_width = 4, scale = 0.5 : f32, softcap = -2.0 : f32, q = <0 strides[16, 8, 4, 1]>, k = <0 strides[16, 8, 4, 1]>, v = <0 strides[16, 8, 4, 1]>, o = <1 strides[16, 8, 4, 1]>>} {}

// -----

// expected-error @+1 {{expects 'softcap' to be an f32, got 2.0}}
module attributes {test.call = #tg.attention<batch = 1, heads = 2, groups = 1, rows = 2, columns = 2, width = 4, value_width = 4, scale = 0.5 : f32, softcap = 2.0, q = <0 strides[16, 8, 4, 1]>, k = <0 strides[16, 8, 4, 1]>, v = <0 strides[16, 8, 4, 1]>, o = <1 strides[16, 8, 4, 1]>>} {}

// -----

// expected-error @+1 {{attribute 'library_call' failed to satisfy constraint: a library call, such as #tg.gemm or #tg.attention}}
tg.kernel @kernel(%x: tensor<3x4xf32>, %y: tensor<4x5xf32>) -> tensor<3x5xf32> attributes {library_call = "gemm"} {
  %0 = tensor.empty() : tensor<3x5xf32>
  tg.return %0 : tensor<3x5xf32>
}

// -----

// One element too far.
// expected-error @+1 {{library call expects 'a' within buffer 0, which has 12 elements, got element 12}}
tg.kernel @kernel(%x: tensor<3x4xf32>, %y: tensor<4x5xf32>) -> tensor<3x5xf32> attributes {library_call = #tg.gemm<m = 3, n = 5, k = 4, a = <0 at 1 strides[4, 1]>, b = <1 strides[5, 1]>, c = <2 strides[5, 1]>>} {
  %0 = tensor.empty() : tensor<3x5xf32>
  tg.return %0 : tensor<3x5xf32>
}

// -----

// expected-error @+1 {{library call expects 'b' within buffer 1, which has 20 elements, got element 22}}
tg.kernel @kernel(%x: tensor<3x4xf32>, %y: tensor<4x5xf32>) -> tensor<3x5xf32> attributes {library_call = #tg.gemm<m = 3, n = 5, k = 4, a = <0 strides[4, 1]>, b = <1 strides[6, 1]>, c = <2 strides[5, 1]>>} {
  %0 = tensor.empty() : tensor<3x5xf32>
  tg.return %0 : tensor<3x5xf32>
}

// -----

// So far that 64 bits do not hold it.
// expected-error @+1 {{library call expects 'a' within buffer 0, which has 12 elements}}
tg.kernel @kernel(%x: tensor<3x4xf32>, %y: tensor<4x5xf32>) -> tensor<3x5xf32> attributes {library_call = #tg.gemm<m = 3, n = 5, k = 4, a = <0 strides[9223372036854775807, 1]>, b = <1 strides[5, 1]>, c = <2 strides[5, 1]>>} {
  %0 = tensor.empty() : tensor<3x5xf32>
  tg.return %0 : tensor<3x5xf32>
}

// -----

// A call does not read what it writes.
// expected-error @+1 {{library call expects 'a' to be a view of one of 2 arguments, got buffer 2}}
tg.kernel @kernel(%x: tensor<3x4xf32>, %y: tensor<4x5xf32>) -> tensor<3x5xf32> attributes {library_call = #tg.gemm<m = 3, n = 5, k = 4, a = <2 strides[4, 1]>, b = <1 strides[5, 1]>, c = <2 strides[5, 1]>>} {
  %0 = tensor.empty() : tensor<3x5xf32>
  tg.return %0 : tensor<3x5xf32>
}

// -----

// expected-error @+1 {{library call expects 'addends' to be a view of one of 2 arguments, got buffer 3}}
tg.kernel @kernel(%x: tensor<3x4xf32>, %y: tensor<4x5xf32>) -> tensor<3x5xf32> attributes {library_call = #tg.gemm<m = 3, n = 5, k = 4, a = <0 strides[4, 1]>, b = <1 strides[5, 1]>, c = <2 strides[5, 1]>, addends = [<3 strides[0, 1]>]>} {
  %0 = tensor.empty() : tensor<3x5xf32>
  tg.return %0 : tensor<3x5xf32>
}

// -----

// expected-error @+1 {{library call expects 'c' to be a view of one of 1 results, got buffer 0 of 3}}
tg.kernel @kernel(%x: tensor<3x4xf32>, %y: tensor<4x5xf32>) -> tensor<3x5xf32> attributes {library_call = #tg.gemm<m = 3, n = 5, k = 4, a = <0 strides[4, 1]>, b = <1 strides[5, 1]>, c = <0 strides[5, 1]>>} {
  %0 = tensor.empty() : tensor<3x5xf32>
  tg.return %0 : tensor<3x5xf32>
}

// -----

// expected-error @+1 {{library call expects 'c' to be a view of one of 1 results, got buffer 3 of 3}}
tg.kernel @kernel(%x: tensor<3x4xf32>, %y: tensor<4x5xf32>) -> tensor<3x5xf32> attributes {library_call = #tg.gemm<m = 3, n = 5, k = 4, a = <0 strides[4, 1]>, b = <1 strides[5, 1]>, c = <3 strides[5, 1]>>} {
  %0 = tensor.empty() : tensor<3x5xf32>
  tg.return %0 : tensor<3x5xf32>
}

// -----

// expected-error @+1 {{library call expects one element type of 'a' and 'b', got 'f32' and 'bf16'}}
tg.kernel @kernel(%x: tensor<3x4xf32>, %y: tensor<4x5xbf16>) -> tensor<3x5xf32> attributes {library_call = #tg.gemm<m = 3, n = 5, k = 4, a = <0 strides[4, 1]>, b = <1 strides[5, 1]>, c = <2 strides[5, 1]>>} {
  %0 = tensor.empty() : tensor<3x5xf32>
  tg.return %0 : tensor<3x5xf32>
}

// -----

// expected-error @+1 {{library call expects 'a' to hold f32, bf16 or f16, got 'f64'}}
tg.kernel @kernel(%x: tensor<3x4xf64>, %y: tensor<4x5xf64>) -> tensor<3x5xf32> attributes {library_call = #tg.gemm<m = 3, n = 5, k = 4, a = <0 strides[4, 1]>, b = <1 strides[5, 1]>, c = <2 strides[5, 1]>>} {
  %0 = tensor.empty() : tensor<3x5xf32>
  tg.return %0 : tensor<3x5xf32>
}

// -----

// The last columns are not written.
// expected-error @+1 {{library call expects 'c' to be all of result 0, each element once}}
tg.kernel @kernel(%x: tensor<3x4xf32>, %y: tensor<4x5xf32>) -> tensor<3x6xf32> attributes {library_call = #tg.gemm<m = 3, n = 5, k = 4, a = <0 strides[4, 1]>, b = <1 strides[5, 1]>, c = <2 strides[5, 1]>>} {
  %0 = tensor.empty() : tensor<3x6xf32>
  tg.return %0 : tensor<3x6xf32>
}

// -----

// Rows overlap.
// expected-error @+1 {{library call expects 'c' to be all of result 0, each element once}}
tg.kernel @kernel(%x: tensor<3x4xf32>, %y: tensor<4x5xf32>) -> tensor<3x5xf32> attributes {library_call = #tg.gemm<m = 3, n = 5, k = 4, a = <0 strides[4, 1]>, b = <1 strides[5, 1]>, c = <2 strides[4, 1]>>} {
  %0 = tensor.empty() : tensor<3x5xf32>
  tg.return %0 : tensor<3x5xf32>
}

// -----

// expected-error @+1 {{library call does not write result 1}}
tg.kernel @kernel(%x: tensor<3x4xf32>, %y: tensor<4x5xf32>) -> (tensor<3x5xf32>, tensor<1xf32>) attributes {library_call = #tg.gemm<m = 3, n = 5, k = 4, a = <0 strides[4, 1]>, b = <1 strides[5, 1]>, c = <2 strides[5, 1]>>} {
  %0 = tensor.empty() : tensor<3x5xf32>
  %1 = tensor.empty() : tensor<1xf32>
  tg.return %0, %1 : tensor<3x5xf32>, tensor<1xf32>
}

// -----

// expected-error @+1 {{library call writes result 0 twice}}
tg.kernel @kernel(%q: tensor<1x2x2x4xf32>) -> tensor<4xf32> attributes {library_call = #tg.attention<batch = 1, heads = 2, groups = 1, rows = 2, columns = 2, width = 4, value_width = 1, scale = 0.5 : f32, q = <0 strides[16, 8, 4, 1]>, k = <0 strides[16, 8, 4, 1]>, v = <0 strides[8, 4, 2, 1]>, o = <1 strides[4, 2, 1, 1]>, l = <1 strides[4, 2, 1]>>} {
  %0 = tensor.empty() : tensor<4xf32>
  tg.return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{library call expects 'l' to hold f32, got 'bf16'}}
tg.kernel @kernel(%q: tensor<1x2x2x4xf32>) -> (tensor<1x2x2x4xf32>, tensor<1x2x2xbf16>) attributes {library_call = #tg.attention<batch = 1, heads = 2, groups = 1, rows = 2, columns = 2, width = 4, value_width = 4, scale = 0.5 : f32, q = <0 strides[16, 8, 4, 1]>, k = <0 strides[16, 8, 4, 1]>, v = <0 strides[16, 8, 4, 1]>, o = <1 strides[16, 8, 4, 1]>, l = <2 strides[4, 2, 1]>>} {
  %0 = tensor.empty() : tensor<1x2x2x4xf32>
  %1 = tensor.empty() : tensor<1x2x2xbf16>
  tg.return %0, %1 : tensor<1x2x2x4xf32>, tensor<1x2x2xbf16>
}

// -----

// expected-error @+1 {{library call expects 'mask' to hold f32, bf16 or f16, got 'i8'}}
tg.kernel @kernel(%q: tensor<1x2x2x4xf32>, %mask: tensor<2x2xi8>) -> tensor<1x2x2x4xf32> attributes {library_call = #tg.attention<batch = 1, heads = 2, groups = 1, rows = 2, columns = 2, width = 4, value_width = 4, scale = 0.5 : f32, q = <0 strides[16, 8, 4, 1]>, k = <0 strides[16, 8, 4, 1]>, v = <0 strides[16, 8, 4, 1]>, o = <2 strides[16, 8, 4, 1]>, mask = <1 strides[0, 0, 2, 1]>>} {
  %0 = tensor.empty() : tensor<1x2x2x4xf32>
  tg.return %0 : tensor<1x2x2x4xf32>
}

// -----

// Only a mask is logical.
// expected-error @+1 {{library call expects 'q' to hold f32, bf16 or f16, got 'i1'}}
tg.kernel @kernel(%q: tensor<1x2x2x4xi1>) -> tensor<1x2x2x4xf32> attributes {library_call = #tg.attention<batch = 1, heads = 2, groups = 1, rows = 2, columns = 2, width = 4, value_width = 4, scale = 0.5 : f32, q = <0 strides[16, 8, 4, 1]>, k = <0 strides[16, 8, 4, 1]>, v = <0 strides[16, 8, 4, 1]>, o = <1 strides[16, 8, 4, 1]>>} {
  %0 = tensor.empty() : tensor<1x2x2x4xf32>
  tg.return %0 : tensor<1x2x2x4xf32>
}

// -----

// Logarithms that nobody asked for.
// expected-error @+1 {{library call does not write result 1}}
tg.kernel @kernel(%q: tensor<1x2x2x4xf32>) -> (tensor<1x2x2x4xf32>, tensor<1x2x2xf32>) attributes {library_call = #tg.attention<batch = 1, heads = 2, groups = 1, rows = 2, columns = 2, width = 4, value_width = 4, scale = 0.5 : f32, q = <0 strides[16, 8, 4, 1]>, k = <0 strides[16, 8, 4, 1]>, v = <0 strides[16, 8, 4, 1]>, o = <1 strides[16, 8, 4, 1]>>} {
  %0 = tensor.empty() : tensor<1x2x2x4xf32>
  %1 = tensor.empty() : tensor<1x2x2xf32>
  tg.return %0, %1 : tensor<1x2x2x4xf32>, tensor<1x2x2xf32>
}

// -----

// A sum over the batch is narrower than the result.
// expected-error @+1 {{library call expects 'grad_mask' to be all of result 3, each element once}}
tg.kernel @kernel(%q: tensor<2x2x2x4xf32>, %l: tensor<2x2x2xf32>) -> (tensor<2x2x2x4xf32>, tensor<2x2x2x4xf32>, tensor<2x2x2x4xf32>, tensor<2x2x2x2xf32>) attributes {library_call = #tg.attention<batch = 2, heads = 2, groups = 1, rows = 2, columns = 2, width = 4, value_width = 4, scale = 0.5 : f32, q = <0 strides[16, 8, 4, 1]>, k = <0 strides[16, 8, 4, 1]>, v = <0 strides[16, 8, 4, 1]>, mask = <0 strides[0, 0, 2, 1]>, o = <0 strides[16, 8, 4, 1]>, l = <1 strides[4, 2, 1]>, grad_o = <0 strides[16, 8, 4, 1]>, grad_q = <2 strides[16, 8, 4, 1]>, grad_k = <3 strides[16, 8, 4, 1]>, grad_v = <4 strides[16, 8, 4, 1]>, grad_mask = <5 strides[0, 4, 2, 1]>>} {
  %0 = tensor.empty() : tensor<2x2x2x4xf32>
  %1 = tensor.empty() : tensor<2x2x2x2xf32>
  tg.return %0, %0, %0, %1 : tensor<2x2x2x4xf32>, tensor<2x2x2x4xf32>, tensor<2x2x2x4xf32>, tensor<2x2x2x2xf32>
}
