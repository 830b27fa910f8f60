// RUN: regather-opt %s -split-input-file --tg-form-kernels | FileCheck %s
// RUN: regather-opt %s -split-input-file --tg-form-kernels --convert-tg-nodes-to-linalg | FileCheck %s --check-prefix=LOWERED
// RUN: regather-opt %s -split-input-file --convert-tg-nodes-to-linalg --tg-form-kernels | FileCheck %s --check-prefix=LOWERED
// RUN: regather-opt %s -split-input-file --tg-form-kernels --remark-format=emitRemark --remarks-filter=tg-form-kernels -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// The gradient of a weight over four segments of the batch is one call, with the
// views in front of the slices and behind the last addition. Lowered to
// structured operations, before or after, it stays one.
// CHECK:       tg.kernel @mm_mm_add_0(%{{.*}}: tensor<64x32xf32>, %{{.*}}: tensor<64x48xf32>) -> tensor<48x32xf32>
// CHECK-SAME:    library_call = #tg.gemm<m = 32, n = 48, k = 64, a = <0 strides[1, 32]>, b = <1 strides[48, 1]>, c = <2 strides[1, 32]>, segments = 4>
// CHECK-COUNT-4: "aten.mm.default"
// CHECK-LABEL: func.func @tree
// CHECK-NEXT:    tg.launch @mm_mm_add_0(%arg0, %arg1)
// CHECK-NEXT:    return
// LOWERED:     tg.kernel {{.*}}a = <0 strides[1, 32]>, b = <1 strides[48, 1]>, c = <2 strides[1, 32]>, segments = 4>
// LOWERED-LABEL: func.func @tree
func.func @tree(%x: tensor<64x32xf32>, %y: tensor<64x48xf32>) -> tensor<48x32xf32> attributes {tg.elastic = 4 : i64} {
  %t = tg.node "aten.t.default"(%x) : (tensor<64x32xf32>) -> tensor<32x64xf32>
  %x0 = tensor.extract_slice %t[0, 0] [32, 16] [1, 1] : tensor<32x64xf32> to tensor<32x16xf32>
  %y0 = tensor.extract_slice %y[0, 0] [16, 48] [1, 1] : tensor<64x48xf32> to tensor<16x48xf32>
  %0 = tg.node "aten.mm.default"(%x0, %y0) : (tensor<32x16xf32>, tensor<16x48xf32>) -> tensor<32x48xf32>
  %x1 = tensor.extract_slice %t[0, 16] [32, 16] [1, 1] : tensor<32x64xf32> to tensor<32x16xf32>
  %y1 = tensor.extract_slice %y[16, 0] [16, 48] [1, 1] : tensor<64x48xf32> to tensor<16x48xf32>
  %1 = tg.node "aten.mm.default"(%x1, %y1) : (tensor<32x16xf32>, tensor<16x48xf32>) -> tensor<32x48xf32>
  %01 = tg.node "aten.add.Tensor"(%0, %1) : (tensor<32x48xf32>, tensor<32x48xf32>) -> tensor<32x48xf32>
  %x2 = tensor.extract_slice %t[0, 32] [32, 16] [1, 1] : tensor<32x64xf32> to tensor<32x16xf32>
  %y2 = tensor.extract_slice %y[32, 0] [16, 48] [1, 1] : tensor<64x48xf32> to tensor<16x48xf32>
  %2 = tg.node "aten.mm.default"(%x2, %y2) : (tensor<32x16xf32>, tensor<16x48xf32>) -> tensor<32x48xf32>
  %x3 = tensor.extract_slice %t[0, 48] [32, 16] [1, 1] : tensor<32x64xf32> to tensor<32x16xf32>
  %y3 = tensor.extract_slice %y[48, 0] [16, 48] [1, 1] : tensor<64x48xf32> to tensor<16x48xf32>
  %3 = tg.node "aten.mm.default"(%x3, %y3) : (tensor<32x16xf32>, tensor<16x48xf32>) -> tensor<32x48xf32>
  %23 = tg.node "aten.add.Tensor"(%2, %3) : (tensor<32x48xf32>, tensor<32x48xf32>) -> tensor<32x48xf32>
  %sum = tg.node "aten.add.Tensor"(%01, %23) : (tensor<32x48xf32>, tensor<32x48xf32>) -> tensor<32x48xf32>
  %r = tg.node "aten.t.default"(%sum) : (tensor<32x48xf32>) -> tensor<48x32xf32>
  return %r : tensor<48x32xf32>
}

// -----

// In bf16 each segment is rounded, and added in f32; one more rounding, and a
// sum of before, follow the tree.
// CHECK:       tg.kernel {{.*}}library_call = #tg.gemm<m = 32, n = 48, k = 64, {{.*}}, addends = [<2 strides[48, 1]>], segments = 2, segment_type = bf16>
// CHECK-LABEL: func.func @rounded
// CHECK-NEXT:    tg.launch
// CHECK-NEXT:    return
// LOWERED:     tg.kernel {{.*}}segments = 2, segment_type = bf16>
// LOWERED-LABEL: func.func @rounded
func.func @rounded(%x: tensor<32x64xbf16>, %y: tensor<64x48xbf16>, %old: tensor<32x48xf32>) -> tensor<32x48xbf16> attributes {tg.elastic = 8 : i64} {
  %x0 = tensor.extract_slice %x[0, 0] [32, 32] [1, 1] : tensor<32x64xbf16> to tensor<32x32xbf16>
  %y0 = tensor.extract_slice %y[0, 0] [32, 48] [1, 1] : tensor<64x48xbf16> to tensor<32x48xbf16>
  %0 = tg.node "aten.mm.default"(%x0, %y0) : (tensor<32x32xbf16>, tensor<32x48xbf16>) -> tensor<32x48xbf16>
  %c0 = tg.node "aten._to_copy.default"(%0) kwargs {dtype = f32} : (tensor<32x48xbf16>) -> tensor<32x48xf32>
  %x1 = tensor.extract_slice %x[0, 32] [32, 32] [1, 1] : tensor<32x64xbf16> to tensor<32x32xbf16>
  %y1 = tensor.extract_slice %y[32, 0] [32, 48] [1, 1] : tensor<64x48xbf16> to tensor<32x48xbf16>
  %1 = tg.node "aten.mm.default"(%x1, %y1) : (tensor<32x32xbf16>, tensor<32x48xbf16>) -> tensor<32x48xbf16>
  %c1 = tg.node "aten._to_copy.default"(%1) kwargs {dtype = f32} : (tensor<32x48xbf16>) -> tensor<32x48xf32>
  %sum = tg.node "aten.add.Tensor"(%c0, %c1) : (tensor<32x48xf32>, tensor<32x48xf32>) -> tensor<32x48xf32>
  %all = tg.node "aten.add.Tensor"(%old, %sum) : (tensor<32x48xf32>, tensor<32x48xf32>) -> tensor<32x48xf32>
  %r = tg.node "aten._to_copy.default"(%all) kwargs {dtype = bf16} : (tensor<32x48xf32>) -> tensor<32x48xbf16>
  return %r : tensor<32x48xbf16>
}

// -----

// Sums of bf16 that are added in bf16 round after each addition.
// CHECK-NOT:   segments
// CHECK-LABEL: func.func @rounds_each_sum
// REMARK: no library computes a tree of sums that ends in 'add': more is done to partial sums than adding them in f32
func.func @rounds_each_sum(%x: tensor<32x64xbf16>, %y: tensor<64x48xbf16>) -> tensor<32x48xbf16> attributes {tg.elastic = 8 : i64} {
  %x0 = tensor.extract_slice %x[0, 0] [32, 32] [1, 1] : tensor<32x64xbf16> to tensor<32x32xbf16>
  %y0 = tensor.extract_slice %y[0, 0] [32, 48] [1, 1] : tensor<64x48xbf16> to tensor<32x48xbf16>
  %0 = tg.node "aten.mm.default"(%x0, %y0) : (tensor<32x32xbf16>, tensor<32x48xbf16>) -> tensor<32x48xbf16>
  %x1 = tensor.extract_slice %x[0, 32] [32, 32] [1, 1] : tensor<32x64xbf16> to tensor<32x32xbf16>
  %y1 = tensor.extract_slice %y[32, 0] [32, 48] [1, 1] : tensor<64x48xbf16> to tensor<32x48xbf16>
  %1 = tg.node "aten.mm.default"(%x1, %y1) : (tensor<32x32xbf16>, tensor<32x48xbf16>) -> tensor<32x48xbf16>
  %sum = tg.node "aten.add.Tensor"(%0, %1) : (tensor<32x48xbf16>, tensor<32x48xbf16>) -> tensor<32x48xbf16>
  return %sum : tensor<32x48xbf16>
}

// -----

// A step that is not elastic sums as its library does, and a GPU's has no
// segments.
// CHECK-NOT:   segments
// CHECK-LABEL: func.func @not_elastic
func.func @not_elastic(%x: tensor<32x64xf32>, %y: tensor<64x48xf32>) -> tensor<32x48xf32> {
  %x0 = tensor.extract_slice %x[0, 0] [32, 32] [1, 1] : tensor<32x64xf32> to tensor<32x32xf32>
  %y0 = tensor.extract_slice %y[0, 0] [32, 48] [1, 1] : tensor<64x48xf32> to tensor<32x48xf32>
  %0 = tg.node "aten.mm.default"(%x0, %y0) : (tensor<32x32xf32>, tensor<32x48xf32>) -> tensor<32x48xf32>
  %x1 = tensor.extract_slice %x[0, 32] [32, 32] [1, 1] : tensor<32x64xf32> to tensor<32x32xf32>
  %y1 = tensor.extract_slice %y[32, 0] [32, 48] [1, 1] : tensor<64x48xf32> to tensor<32x48xf32>
  %1 = tg.node "aten.mm.default"(%x1, %y1) : (tensor<32x32xf32>, tensor<32x48xf32>) -> tensor<32x48xf32>
  %sum = tg.node "aten.add.Tensor"(%0, %1) : (tensor<32x48xf32>, tensor<32x48xf32>) -> tensor<32x48xf32>
  return %sum : tensor<32x48xf32>
}

// -----

// Slices that do not follow each other in both operands are no segments.
// CHECK-NOT:   segments
// CHECK-LABEL: func.func @not_consecutive
// REMARK: no library computes a tree of sums that ends in 'add': its GEMMs are not of consecutive equal slices of two operands
func.func @not_consecutive(%x: tensor<32x64xf32>, %y: tensor<64x48xf32>) -> tensor<32x48xf32> attributes {tg.elastic = 8 : i64} {
  %x0 = tensor.extract_slice %x[0, 0] [32, 32] [1, 1] : tensor<32x64xf32> to tensor<32x32xf32>
  %y1 = tensor.extract_slice %y[32, 0] [32, 48] [1, 1] : tensor<64x48xf32> to tensor<32x48xf32>
  %0 = tg.node "aten.mm.default"(%x0, %y1) : (tensor<32x32xf32>, tensor<32x48xf32>) -> tensor<32x48xf32>
  %x1 = tensor.extract_slice %x[0, 32] [32, 32] [1, 1] : tensor<32x64xf32> to tensor<32x32xf32>
  %y0 = tensor.extract_slice %y[0, 0] [32, 48] [1, 1] : tensor<64x48xf32> to tensor<32x48xf32>
  %1 = tg.node "aten.mm.default"(%x1, %y0) : (tensor<32x32xf32>, tensor<32x48xf32>) -> tensor<32x48xf32>
  %sum = tg.node "aten.add.Tensor"(%0, %1) : (tensor<32x48xf32>, tensor<32x48xf32>) -> tensor<32x48xf32>
  return %sum : tensor<32x48xf32>
}

// -----

// One behind the other is another order than that of the tree.
// CHECK-NOT:   segments = 3
// CHECK-LABEL: func.func @chain
func.func @chain(%x: tensor<32x48xf32>, %y: tensor<48x48xf32>) -> tensor<32x48xf32> attributes {tg.elastic = 8 : i64} {
  %x0 = tensor.extract_slice %x[0, 0] [32, 16] [1, 1] : tensor<32x48xf32> to tensor<32x16xf32>
  %y0 = tensor.extract_slice %y[0, 0] [16, 48] [1, 1] : tensor<48x48xf32> to tensor<16x48xf32>
  %0 = tg.node "aten.mm.default"(%x0, %y0) : (tensor<32x16xf32>, tensor<16x48xf32>) -> tensor<32x48xf32>
  %x1 = tensor.extract_slice %x[0, 16] [32, 16] [1, 1] : tensor<32x48xf32> to tensor<32x16xf32>
  %y1 = tensor.extract_slice %y[16, 0] [16, 48] [1, 1] : tensor<48x48xf32> to tensor<16x48xf32>
  %1 = tg.node "aten.mm.default"(%x1, %y1) : (tensor<32x16xf32>, tensor<16x48xf32>) -> tensor<32x48xf32>
  %x2 = tensor.extract_slice %x[0, 32] [32, 16] [1, 1] : tensor<32x48xf32> to tensor<32x16xf32>
  %y2 = tensor.extract_slice %y[32, 0] [16, 48] [1, 1] : tensor<48x48xf32> to tensor<16x48xf32>
  %2 = tg.node "aten.mm.default"(%x2, %y2) : (tensor<32x16xf32>, tensor<16x48xf32>) -> tensor<32x48xf32>
  %01 = tg.node "aten.add.Tensor"(%0, %1) : (tensor<32x48xf32>, tensor<32x48xf32>) -> tensor<32x48xf32>
  %sum = tg.node "aten.add.Tensor"(%01, %2) : (tensor<32x48xf32>, tensor<32x48xf32>) -> tensor<32x48xf32>
  return %sum : tensor<32x48xf32>
}

// -----

// Two products that are added are a tree of two each, and stay apart.
// CHECK-COUNT-2: segments = 2
// CHECK-NOT:     segments
// CHECK-LABEL:   func.func @two_products
func.func @two_products(%x: tensor<32x64xf32>, %y: tensor<64x48xf32>, %z: tensor<64x48xf32>) -> tensor<32x48xf32> attributes {tg.elastic = 2 : i64} {
  %x0 = tensor.extract_slice %x[0, 0] [32, 32] [1, 1] : tensor<32x64xf32> to tensor<32x32xf32>
  %x1 = tensor.extract_slice %x[0, 32] [32, 32] [1, 1] : tensor<32x64xf32> to tensor<32x32xf32>
  %y0 = tensor.extract_slice %y[0, 0] [32, 48] [1, 1] : tensor<64x48xf32> to tensor<32x48xf32>
  %y1 = tensor.extract_slice %y[32, 0] [32, 48] [1, 1] : tensor<64x48xf32> to tensor<32x48xf32>
  %z0 = tensor.extract_slice %z[0, 0] [32, 48] [1, 1] : tensor<64x48xf32> to tensor<32x48xf32>
  %z1 = tensor.extract_slice %z[32, 0] [32, 48] [1, 1] : tensor<64x48xf32> to tensor<32x48xf32>
  %0 = tg.node "aten.mm.default"(%x0, %y0) : (tensor<32x32xf32>, tensor<32x48xf32>) -> tensor<32x48xf32>
  %1 = tg.node "aten.mm.default"(%x1, %y1) : (tensor<32x32xf32>, tensor<32x48xf32>) -> tensor<32x48xf32>
  %01 = tg.node "aten.add.Tensor"(%0, %1) : (tensor<32x48xf32>, tensor<32x48xf32>) -> tensor<32x48xf32>
  %2 = tg.node "aten.mm.default"(%x0, %z0) : (tensor<32x32xf32>, tensor<32x48xf32>) -> tensor<32x48xf32>
  %3 = tg.node "aten.mm.default"(%x1, %z1) : (tensor<32x32xf32>, tensor<32x48xf32>) -> tensor<32x48xf32>
  %23 = tg.node "aten.add.Tensor"(%2, %3) : (tensor<32x48xf32>, tensor<32x48xf32>) -> tensor<32x48xf32>
  %sum = tg.node "aten.add.Tensor"(%01, %23) : (tensor<32x48xf32>, tensor<32x48xf32>) -> tensor<32x48xf32>
  return %sum : tensor<32x48xf32>
}

// -----

// Somebody else reads the sum of a segment.
// CHECK-NOT:   segments
// CHECK-LABEL: func.func @read_besides
func.func @read_besides(%x: tensor<32x64xf32>, %y: tensor<64x48xf32>) -> (tensor<32x48xf32>, tensor<32x48xf32>) attributes {tg.elastic = 2 : i64} {
  %x0 = tensor.extract_slice %x[0, 0] [32, 32] [1, 1] : tensor<32x64xf32> to tensor<32x32xf32>
  %y0 = tensor.extract_slice %y[0, 0] [32, 48] [1, 1] : tensor<64x48xf32> to tensor<32x48xf32>
  %0 = tg.node "aten.mm.default"(%x0, %y0) : (tensor<32x32xf32>, tensor<32x48xf32>) -> tensor<32x48xf32>
  %x1 = tensor.extract_slice %x[0, 32] [32, 32] [1, 1] : tensor<32x64xf32> to tensor<32x32xf32>
  %y1 = tensor.extract_slice %y[32, 0] [32, 48] [1, 1] : tensor<64x48xf32> to tensor<32x48xf32>
  %1 = tg.node "aten.mm.default"(%x1, %y1) : (tensor<32x32xf32>, tensor<32x48xf32>) -> tensor<32x48xf32>
  %sum = tg.node "aten.add.Tensor"(%0, %1) : (tensor<32x48xf32>, tensor<32x48xf32>) -> tensor<32x48xf32>
  return %sum, %0 : tensor<32x48xf32>, tensor<32x48xf32>
}
