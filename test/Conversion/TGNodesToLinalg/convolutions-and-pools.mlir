// RUN: regather-opt %s --convert-tg-nodes-to-linalg | FileCheck %s

// Channels are seen in groups; the input is read at strided positions.
// CHECK-DAG: #[[READ:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d4, d3 * 2 + d5 * 3)>
// CHECK-DAG: #[[KERNEL:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d2, d4, d5)>
// CHECK-DAG: #[[WRITTEN:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>
// CHECK-LABEL: func.func @convolves_in_groups
// CHECK: %[[PADDED:.*]] = tensor.insert_slice %{{.*}} into %{{.*}}[0, 0, 0, 1] [1, 2, 2, 9] [1, 1, 1, 1]
// CHECK: linalg.generic {indexing_maps = [#[[READ]], #[[KERNEL]], #[[WRITTEN]]], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
// CHECK-SAME: ins(%[[PADDED]]
func.func @convolves_in_groups(%x: tensor<1x4x9xf32>, %w: tensor<6x2x2xf32>) -> tensor<1x6x4xf32> {
  %0 = tg.node "aten.convolution.default"(%x, %w)
      args [#tg.operand<0>, #tg.operand<1>, unit, [2], [1], [3], false, [0], 2]
      : (tensor<1x4x9xf32>, tensor<6x2x2xf32>) -> tensor<1x6x4xf32>
  return %0 : tensor<1x6x4xf32>
}

// The last positions that no window reaches are cut off.
// CHECK-LABEL: func.func @cuts_off_what_is_not_read
// CHECK: tensor.extract_slice %{{.*}}[0, 0, 0, 0] [1, 1, 1, 4] [1, 1, 1, 1]
// CHECK: linalg.generic
func.func @cuts_off_what_is_not_read(%x: tensor<1x1x5xf32>, %w: tensor<1x1x2xf32>) -> tensor<1x1x2xf32> {
  %0 = tg.node "aten.convolution.default"(%x, %w)
      args [#tg.operand<0>, #tg.operand<1>, unit, [2], [0], [1], false, [0], 1]
      : (tensor<1x1x5xf32>, tensor<1x1x2xf32>) -> tensor<1x1x2xf32>
  return %0 : tensor<1x1x2xf32>
}

// Zeros between the elements of the gradient stand for the stride.
// CHECK-LABEL: func.func @gradient_of_input_only
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 0, 0, 0] [1, 1, 1, 2] [1, 1, 1, 2]
// CHECK: linalg.generic {{.*}}"reduction", "reduction"]
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @gradient_of_input_only(%g: tensor<1x1x2xf32>, %x: tensor<1x1x5xf32>, %w: tensor<1x1x2xf32>) -> tensor<1x1x5xf32> {
  %0:3 = tg.node "aten.convolution_backward.default"(%g, %x, %w)
      args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, [0], [2], [0], [1], false, [0], 1, [true, false, false]]
      : (tensor<1x1x2xf32>, tensor<1x1x5xf32>, tensor<1x1x2xf32>) -> (tensor<1x1x5xf32>, !tg.opaque<"none">, !tg.opaque<"none">)
  return %0#0 : tensor<1x1x5xf32>
}

// Padding never wins, and is never a place.
// CHECK-LABEL: func.func @pads_maxima_with_the_lowest_number
// CHECK: arith.constant 0xFF800000 : f32
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<2x6x6xf32>, tensor<3x3xf32>) outs(%{{.*}}, %{{.*}} : tensor<2x2x2xf32>, tensor<2x2x2xi64>)
// CHECK: arith.cmpi ult
func.func @pads_maxima_with_the_lowest_number(%x: tensor<1x2x5x5xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x2x2xi64>) {
  %0:2 = tg.node "aten.max_pool2d_with_indices.default"(%x)
      args [#tg.operand<0>, [3, 3], [3, 3], [1, 1]]
      : (tensor<1x2x5x5xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x2x2xi64>)
  return %0#0, %0#1 : tensor<1x2x2x2xf32>, tensor<1x2x2x2xi64>
}

// CHECK-LABEL: func.func @divides_by_the_given_number
// CHECK: arith.constant 5.000000e+00 : f32
// CHECK-NOT: linalg.index
// CHECK-LABEL: func.func @counts_what_is_not_padding
// CHECK: linalg.index 1
// CHECK: arith.maxsi
func.func @divides_by_the_given_number(%x: tensor<1x4x4xf32>) -> tensor<1x2x2xf32> {
  %0 = tg.node "aten.avg_pool2d.default"(%x) args [#tg.operand<0>, [2, 2], [], [0, 0], false, true, 5]
      : (tensor<1x4x4xf32>) -> tensor<1x2x2xf32>
  return %0 : tensor<1x2x2xf32>
}
func.func @counts_what_is_not_padding(%x: tensor<1x4x4xf32>) -> tensor<1x3x3xf32> {
  %0 = tg.node "aten.avg_pool2d.default"(%x) args [#tg.operand<0>, [2, 2], [], [1, 1], false, false]
      : (tensor<1x4x4xf32>) -> tensor<1x3x3xf32>
  return %0 : tensor<1x3x3xf32>
}

// CHECK-LABEL: func.func @leaves_a_size_that_fits
// CHECK-NEXT: return %arg0
func.func @leaves_a_size_that_fits(%x: tensor<1x4x4xf32>) -> tensor<1x4x4xf32> {
  %0 = tg.node "aten._adaptive_avg_pool2d.default"(%x) args [#tg.operand<0>, [4, 4]]
      : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
  return %0 : tensor<1x4x4xf32>
}
