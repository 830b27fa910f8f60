// RUN: regather-opt %s -split-input-file --convert-tg-nodes-to-linalg -verify-diagnostics

// One error for each target, at its first node.
func.func @unknown_targets(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = tg.node "aten.neg.default"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  // expected-error@+1 {{cannot convert target "my.op" (2 nodes, first in module "layers.0")}}
  %1 = tg.node "my.op"(%0) {tg.module = "layers.0"} : (tensor<2xf32>) -> tensor<2xf32>
  %2 = tg.node "my.op"(%1) {tg.module = "layers.1"} : (tensor<2xf32>) -> tensor<2xf32>
  // expected-error@+1 {{cannot convert target "my.other" (1 node)}}
  %3 = tg.node "my.other"(%2) : (tensor<2xf32>) -> tensor<2xf32>
  return %3 : tensor<2xf32>
}

// -----

func.func @missing_argument(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{"aten.add.Tensor": argument "other" is missing}}
  %0 = tg.node "aten.add.Tensor"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @unknown_keyword(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{"aten.exp.default": argument "base" is not one that the target has}}
  %0 = tg.node "aten.exp.default"(%x) kwargs {base = 2 : i64} : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @given_twice(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{"aten.exp.default": argument "self" is given twice}}
  %0 = tg.node "aten.exp.default"(%x) kwargs {self = #tg.operand<0>} : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @too_many(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{"aten.exp.default": expects at most 1 positional arguments, got 2}}
  %0 = tg.node "aten.exp.default"(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @wrong_kind(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{"aten.unsqueeze.default": argument "dim" must be an integer}}
  %0 = tg.node "aten.unsqueeze.default"(%x) args [#tg.operand<0>, "one"] : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @number_for_tensor(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{"aten.embedding.default": argument "weight" must be a tensor}}
  %0 = tg.node "aten.embedding.default"(%x) args [1, #tg.operand<0>] : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @dimension_out_of_range(%x: tensor<2xf32>) -> tensor<f32> {
  // expected-error@+1 {{"aten.sum.dim_IntList": argument "dim" names dimension 1 of a tensor with 1}}
  %0 = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [1]] : (tensor<2xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @dimension_twice(%x: tensor<2x2xf32>) -> tensor<f32> {
  // expected-error@+1 {{"aten.sum.dim_IntList": argument "dim" names dimension 1 twice}}
  %0 = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [1, -1]] : (tensor<2x2xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @cannot_broadcast(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error@+1 {{"aten.add.Tensor": shape [2] cannot be broadcast to [3]}}
  %0 = tg.node "aten.add.Tensor"(%x, %y) : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

func.func @inner_sizes_differ(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error@+1 {{"aten.mm.default": argument "mat2" must have shape [3, 3], got [2, 3]}}
  %0 = tg.node "aten.mm.default"(%x, %y) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

func.func @wrong_rank(%x: tensor<2xf32>, %y: tensor<2x3xf32>) -> tensor<3xf32> {
  // expected-error@+1 {{"aten.mm.default": argument "self" must have 2 dimensions, got shape [2]}}
  %0 = tg.node "aten.mm.default"(%x, %y) : (tensor<2xf32>, tensor<2x3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

func.func @wrong_result_type(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error@+1 {{"aten.t.default": result 0 is tensor<3x2xf32>, but the node says tensor<2x3xf32>}}
  %0 = tg.node "aten.t.default"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

func.func @wrong_number_of_results(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error@+1 {{"aten.t.default": gives 1 results, but the node has 2}}
  %0:2 = tg.node "aten.t.default"(%x) : (tensor<2x3xf32>) -> (tensor<3x2xf32>, tensor<2x3xf32>)
  return %0#1 : tensor<2x3xf32>
}

// -----

func.func @unsupported_elements(%x: tensor<2xf8E5M2>) -> tensor<2xf32> {
  // expected-error@+1 {{"aten.abs.default": argument "self" has elements of type f8E5M2, which the conversion does not support}}
  %0 = tg.node "aten.abs.default"(%x) : (tensor<2xf8E5M2>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @unsupported_result(%x: tensor<2xf32>) -> tensor<2xf8E5M2> {
  // expected-error@+1 {{"aten._to_copy.default": result 0 of type tensor<2xf8E5M2> is not supported}}
  %0 = tg.node "aten._to_copy.default"(%x) : (tensor<2xf32>) -> tensor<2xf8E5M2>
  return %0 : tensor<2xf8E5M2>
}

// -----

func.func @float_indices(%w: tensor<5x3xf32>, %x: tensor<2xf32>) -> tensor<2x3xf32> {
  // expected-error@+1 {{"aten.embedding.default": argument "indices" must hold integers}}
  %0 = tg.node "aten.embedding.default"(%w, %x) : (tensor<5x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

func.func @dropout(%q: tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32> {
  // expected-error@+1 {{"aten.scaled_dot_product_attention.default": argument "dropout_p" must be 0}}
  %0 = tg.node "aten.scaled_dot_product_attention.default"(%q, %q, %q)
      args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, unit, 0.1]
      : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  return %0 : tensor<1x1x2x2xf32>
}

// -----

func.func @effects(%g: tensor<2x3xf32>) -> tensor<3xf32> {
  // expected-error@+1 {{"aten.exp.default": is called for its effects, which would be lost}}
  %0 = tg.node "aten.exp.default"(%g) effects : (tensor<2x3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

func.func @integer_exponential(%x: tensor<2xi64>) -> tensor<2xi64> {
  // expected-error@+1 {{"aten.exp.default": expects a result that is a float}}
  %0 = tg.node "aten.exp.default"(%x) : (tensor<2xi64>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}

// -----

func.func @boolean_mask(%x: tensor<2xf32>, %mask: tensor<3xi1>, %v: tensor<f32>) -> tensor<2xf32> {
  // expected-error@+1 {{"aten.index_put.default": argument "indices" must hold a mask of the shape of "self"}}
  %0 = tg.node "aten.index_put.default"(%x, %mask, %v) args [#tg.operand<0>, [#tg.operand<1>], #tg.operand<2>]
      : (tensor<2xf32>, tensor<3xi1>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @complex_target(%x: tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>> {
  // expected-error@+1 {{cannot convert target "aten.tanh.default" of complex numbers}}
  %0 = tg.node "aten.tanh.default"(%x) : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  return %0 : tensor<2xcomplex<f32>>
}

// -----

func.func @complex_elsewhere(%x: tensor<2xcomplex<f32>>) -> tensor<1x2xcomplex<f32>> {
  %0 = tg.node "aten.neg.default"(%x) : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  // expected-error@+1 {{uses complex numbers, which only nodes may}}
  %1 = tensor.expand_shape %0 [[0, 1]] output_shape [1, 2] : tensor<2xcomplex<f32>> into tensor<1x2xcomplex<f32>>
  return %1 : tensor<1x2xcomplex<f32>>
}

// -----

func.func @bytes_elsewhere(%x: tensor<2xui8>) -> tensor<?xui8> {
  // expected-error@+1 {{uses unsigned bytes, which only nodes may, and what moves elements}}
  %0 = tensor.cast %x : tensor<2xui8> to tensor<?xui8>
  return %0 : tensor<?xui8>
}

// -----

func.func @convolutions(%x: tensor<1x4x5xf32>, %w: tensor<6x2x3xf32>) -> tensor<1x6x3xf32> {
  // expected-error@+1 {{"aten.convolution.default": argument "groups" is 3, which does not divide channels 4 and 6}}
  %0 = tg.node "aten.convolution.default"(%x, %w) args [#tg.operand<0>, #tg.operand<1>, unit, [1], [0], [1], false, [0], 3]
      : (tensor<1x4x5xf32>, tensor<6x2x3xf32>) -> tensor<1x6x3xf32>
  // expected-error@+1 {{"aten.convolution.default": argument "weight" must start with sizes 6 and 4, got 6 and 2}}
  %1 = tg.node "aten.convolution.default"(%x, %w) args [#tg.operand<0>, #tg.operand<1>, unit, [1], [0], [1], false, [0], 1]
      : (tensor<1x4x5xf32>, tensor<6x2x3xf32>) -> tensor<1x6x3xf32>
  // expected-error@+1 {{"aten.convolution.default": moves windows over 5 positions, which gives 5, got 3}}
  %2 = tg.node "aten.convolution.default"(%x, %w) args [#tg.operand<0>, #tg.operand<1>, unit, [1], [1], [1], false, [0], 2]
      : (tensor<1x4x5xf32>, tensor<6x2x3xf32>) -> tensor<1x6x3xf32>
  // expected-error@+1 {{"aten.convolution.default": expects a window of positive size, stride and dilation, and no negative padding, got 3, 0, 1 and 0}}
  %3 = tg.node "aten.convolution.default"(%x, %w) args [#tg.operand<0>, #tg.operand<1>, unit, [0], [0], [1], false, [0], 2]
      : (tensor<1x4x5xf32>, tensor<6x2x3xf32>) -> tensor<1x6x3xf32>
  // expected-error@+1 {{"aten.convolution.default": argument "stride" must hold 1 integers, got 2}}
  %4 = tg.node "aten.convolution.default"(%x, %w) args [#tg.operand<0>, #tg.operand<1>, unit, [1, 1], [0], [1], false, [0], 2]
      : (tensor<1x4x5xf32>, tensor<6x2x3xf32>) -> tensor<1x6x3xf32>
  return %0 : tensor<1x6x3xf32>
}

// -----

func.func @pools(%x: tensor<1x4x4xf32>) -> tensor<1x2x2xf32> {
  // expected-error@+1 {{"aten.avg_pool2d.default": argument "divisor_override" must not be 0}}
  %0 = tg.node "aten.avg_pool2d.default"(%x) args [#tg.operand<0>, [2, 2], [], [0, 0], false, true, 0] : (tensor<1x4x4xf32>) -> tensor<1x2x2xf32>
  // expected-error@+1 {{"aten.avg_pool2d.default": pools the last 2 dimensions, of which all before must stay as they are}}
  %1 = tg.node "aten.avg_pool2d.default"(%x) args [#tg.operand<0>, [2, 2]] : (tensor<1x4x4xf32>) -> tensor<2x2x2xf32>
  return %0 : tensor<1x2x2xf32>
}

// -----

func.func @places(%x: tensor<2x3xf32>, %m: tensor<3xi1>) -> tensor<2x3xf32> {
  // expected-error@+1 {{"aten.topk.default": argument "k" is 4 in a dimension of size 3}}
  %0:2 = tg.node "aten.topk.default"(%x) args [#tg.operand<0>, 4] : (tensor<2x3xf32>) -> (tensor<2x4xf32>, tensor<2x4xi64>)
  // expected-error@+1 {{"aten.as_strided.default": reads places from 0 to 6 of a tensor with 6 elements}}
  %1 = tg.node "aten.as_strided.default"(%x) args [#tg.operand<0>, [3], [3]] : (tensor<2x3xf32>) -> tensor<3xf32>
  // expected-error@+1 {{"aten.scatter_reduce.two": argument "reduce" must be "sum", "mean", "prod", "amax" or "amin", got "median"}}
  %2 = tg.node "aten.scatter_reduce.two"(%x, %x, %x) args [#tg.operand<0>, 0, #tg.operand<1>, #tg.operand<2>, "median"] : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{"aten.index_put.default": argument "values" must be one value, where a mask says which elements are replaced}}
  %3 = tg.node "aten.index_put.default"(%x, %m, %x) args [#tg.operand<0>, [#tg.operand<1>], #tg.operand<2>] : (tensor<2x3xf32>, tensor<3xi1>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{"aten.div.Tensor_mode": argument "rounding_mode" must be "floor" or "trunc", got "up"}}
  %4 = tg.node "aten.div.Tensor_mode"(%x, %x) kwargs {rounding_mode = "up"} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %3 : tensor<2x3xf32>
}

// -----

func.func @group_norm(%x: tensor<2x6x5xf32>) -> tensor<2x6x5xf32> {
  // expected-error@+1 {{"aten.native_group_norm.default": argument "group" is 4, which does not divide 6 channels}}
  %0:3 = tg.node "aten.native_group_norm.default"(%x) args [#tg.operand<0>, unit, unit, 2, 6, 5, 4, 1.0e-5]
      : (tensor<2x6x5xf32>) -> (tensor<2x6x5xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  return %0#0 : tensor<2x6x5xf32>
}

// -----

// Every node with wrong arguments is reported.
func.func @all_errors(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{"aten.select.int": argument "index" is 2 in a dimension of size 2}}
  %0 = tg.node "aten.select.int"(%x) args [#tg.operand<0>, 0, 2] : (tensor<2xf32>) -> tensor<f32>
  // expected-error@+1 {{"aten.slice.Tensor": argument "step" must be positive, got 0}}
  %1 = tg.node "aten.slice.Tensor"(%x) args [#tg.operand<0>, 0, 0, 2, 0] : (tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// -----

func.func @pads(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{"aten.constant_pad_nd.default": argument "pad" must hold two amounts for each of at most 1 dimensions, got 3}}
  %0 = tg.node "aten.constant_pad_nd.default"(%x) args [#tg.operand<0>, [0, 0, 1]] : (tensor<2xf32>) -> tensor<3xf32>
  // expected-error@+1 {{"aten.constant_pad_nd.default": argument "pad" cuts off more than there is along dimension 0}}
  %1 = tg.node "aten.constant_pad_nd.default"(%x) args [#tg.operand<0>, [-2, -1]] : (tensor<2xf32>) -> tensor<0xf32>
  return %x : tensor<2xf32>
}

// -----

func.func @grouped_ends(%x: tensor<8x4xf32>, %w: tensor<3x4x5xf32>, %ends: tensor<2xi32>) -> tensor<8x5xf32> {
  // expected-error@+1 {{"aten._grouped_mm.default": argument "mat2" must have shape [2, 4, 5], got [3, 4, 5]}}
  %0 = tg.node "aten._grouped_mm.default"(%x, %w, %ends) : (tensor<8x4xf32>, tensor<3x4x5xf32>, tensor<2xi32>) -> tensor<8x5xf32>
  return %0 : tensor<8x5xf32>
}

// -----

func.func @grouped_without_ends(%x: tensor<8x4xf32>, %w: tensor<3x4x5xf32>) -> tensor<8x5xf32> {
  // expected-error@+1 {{"aten._grouped_mm.default": argument "offs" is missing}}
  %0 = tg.node "aten._grouped_mm.default"(%x, %w) : (tensor<8x4xf32>, tensor<3x4x5xf32>) -> tensor<8x5xf32>
  return %0 : tensor<8x5xf32>
}

// -----

func.func @grouped_bias(%x: tensor<8x4xf32>, %w: tensor<3x4x5xf32>, %ends: tensor<3xi32>, %b: tensor<3x5xf32>) -> tensor<8x5xf32> {
  // expected-error@+1 {{"aten._grouped_mm.default": argument "bias" is not supported}}
  %0 = tg.node "aten._grouped_mm.default"(%x, %w, %ends, %b) : (tensor<8x4xf32>, tensor<3x4x5xf32>, tensor<3xi32>, tensor<3x5xf32>) -> tensor<8x5xf32>
  return %0 : tensor<8x5xf32>
}

// -----

func.func @grouped_result(%x: tensor<4x8xf32>, %y: tensor<8x5xf32>, %ends: tensor<3xi32>) -> tensor<4x5xf32> {
  // expected-error@+1 {{"aten._grouped_mm.default": gives a tensor of shape [3, 4, 5] as result 0}}
  %0 = tg.node "aten._grouped_mm.default"(%x, %y, %ends) : (tensor<4x8xf32>, tensor<8x5xf32>, tensor<3xi32>) -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

// -----

func.func @histogram_of_data(%x: tensor<8xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{"aten.histc.default": argument "min" must be below "max": limits that the elements decide are not supported}}
  %0 = tg.node "aten.histc.default"(%x) args [#tg.operand<0>, 4 : i64] : (tensor<8xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @keys_of_another_type(%k: tensor<8xf64>, %x: tensor<3xf32>) -> tensor<3xi64> {
  // expected-error@+1 {{"aten.searchsorted.Tensor": argument "sorted_sequence" must hold elements of the type of "self"}}
  %0 = tg.node "aten.searchsorted.Tensor"(%k, %x) : (tensor<8xf64>, tensor<3xf32>) -> tensor<3xi64>
  return %0 : tensor<3xi64>
}

// -----

func.func @keys_of_other_rows(%k: tensor<4x8xf32>, %x: tensor<3x5xf32>) -> tensor<3x5xi64> {
  // expected-error@+1 {{"aten.searchsorted.Tensor": argument "sorted_sequence" must have one dimension, or those of "self" but for the last}}
  %0 = tg.node "aten.searchsorted.Tensor"(%k, %x) : (tensor<4x8xf32>, tensor<3x5xf32>) -> tensor<3x5xi64>
  return %0 : tensor<3x5xi64>
}

// -----

func.func @both_sides(%k: tensor<8xf32>, %x: tensor<3xf32>) -> tensor<3xi64> {
  // expected-error@+1 {{"aten.searchsorted.Tensor": argument "side" is "left", but "right" is true}}
  %0 = tg.node "aten.searchsorted.Tensor"(%k, %x) kwargs {right = true, side = "left"} : (tensor<8xf32>, tensor<3xf32>) -> tensor<3xi64>
  return %0 : tensor<3xi64>
}

// -----

func.func @repeats_of_another_size(%n: tensor<3xi64>) -> tensor<5xi64> {
  // expected-error@+1 {{"aten.repeat_interleave.Tensor": argument "output_size" is 6, but the result has 5 elements}}
  %0 = tg.node "aten.repeat_interleave.Tensor"(%n) kwargs {output_size = 6} : (tensor<3xi64>) -> tensor<5xi64>
  return %0 : tensor<5xi64>
}

// -----

func.func @system_that_is_not_square(%a: tensor<3x4xf32>, %b: tensor<3x2xf32>) -> tensor<3x2xf32> {
  // expected-error@+1 {{"aten.linalg_solve_triangular.default": argument "self" must hold square matrices}}
  %0 = tg.node "aten.linalg_solve_triangular.default"(%a, %b) kwargs {upper = true} : (tensor<3x4xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// -----

func.func @cholesky_that_is_not_square(%a: tensor<3x4xf32>) -> tensor<3x4xf32> {
  // expected-error@+1 {{"aten.linalg_cholesky_ex.default": argument "self" must hold square matrices}}
  %0:2 = tg.node "aten.linalg_cholesky_ex.default"(%a) : (tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<i32>)
  return %0#0 : tensor<3x4xf32>
}

// -----

func.func @lu_of_narrow_floats(%a: tensor<3x3xbf16>) -> tensor<3x3xbf16> {
  // expected-error@+1 {{"aten.linalg_lu_factor_ex.default": argument "A" must hold f32 or f64}}
  %0:3 = tg.node "aten.linalg_lu_factor_ex.default"(%a) : (tensor<3x3xbf16>) -> (tensor<3x3xbf16>, tensor<3xi32>, tensor<i32>)
  return %0#0 : tensor<3x3xbf16>
}

// -----

func.func @lu_without_pivots(%a: tensor<3x3xf32>) -> tensor<3x3xf32> {
  // expected-error@+1 {{"aten.linalg_lu_factor_ex.default": argument "pivot" must be true: no engine leaves pivots out}}
  %0:3 = tg.node "aten.linalg_lu_factor_ex.default"(%a) kwargs {pivot = false} : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3xi32>, tensor<i32>)
  return %0#0 : tensor<3x3xf32>
}

// -----

func.func @too_few_pivots(%a: tensor<3x3xf32>, %p: tensor<2xi32>) -> tensor<3x3xf32> {
  // expected-error@+1 {{"aten.lu_unpack.default": argument "LU_pivots" must be i32, one for each column of L}}
  %0:3 = tg.node "aten.lu_unpack.default"(%a, %p) : (tensor<3x3xf32>, tensor<2xi32>) -> (tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>)
  return %0#0 : tensor<3x3xf32>
}

// -----

func.func @qr_of_a_vector(%a: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error@+1 {{"aten.linalg_qr.default": argument "A" must hold matrices}}
  %0:2 = tg.node "aten.linalg_qr.default"(%a) : (tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  return %0#0 : tensor<3xf32>
}

// -----

func.func @qr_of_an_unknown_mode(%a: tensor<3x3xf32>) -> tensor<3x3xf32> {
  // expected-error@+1 {{"aten.linalg_qr.default": argument "mode" must be "reduced", "complete" or "r"}}
  %0:2 = tg.node "aten.linalg_qr.default"(%a) kwargs {mode = "economic"} : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3x3xf32>)
  return %0#0 : tensor<3x3xf32>
}

// -----

func.func @system_from_the_right(%a: tensor<3x3xf32>, %b: tensor<3x2xf32>) -> tensor<3x2xf32> {
  // expected-error@+1 {{"aten.linalg_solve_triangular.default": argument "B" must have as many columns as "self"}}
  %0 = tg.node "aten.linalg_solve_triangular.default"(%a, %b) kwargs {upper = true, left = false} : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// -----

func.func @softcap(%q: tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32> {
  // expected-error@+1 {{"regather.attention.default": argument "softcap" must be a positive number}}
  %0:2 = tg.node "regather.attention.default"(%q, %q, %q)
      args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>]
      kwargs {softcap = -1.000000e+00}
      : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> (tensor<1x1x2x2xf32>, tensor<1x1x2xf32>)
  return %0#0 : tensor<1x1x2x2xf32>
}

// -----

func.func @gradient_of_no_mask(%q: tensor<1x1x2x2xf32>, %l: tensor<1x1x2xf32>) -> tensor<1x1x2x2xf32> {
  // expected-error@+1 {{"regather.biased_attention_backward.default": argument "attn_mask" must be a tensor of floats, of which there is a gradient}}
  %0:4 = tg.node "regather.biased_attention_backward.default"(%q, %q, %q, %q, %q, %l)
      args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, #tg.operand<3>, #tg.operand<4>, #tg.operand<5>, 0.0, false]
      : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>, tensor<1x1x2xf32>)
      -> (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>)
  return %0#3 : tensor<1x1x2x2xf32>
}
