// RUN: regather-opt %s -split-input-file --tg-form-kernels | FileCheck %s
// RUN: regather-opt %s -split-input-file --tg-form-kernels --remark-format=emitRemark --remarks-filter=tg-form-kernels -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// A GEMM takes over the views that it reads, and behind it views, an
// addition and a relu: all of these are strides, or round as they do alone.
// CHECK-LABEL: tg.kernel @addmm_add_relu_0
// CHECK-SAME:    (%[[W:.*]]: tensor<96x128xf32>, %[[X:.*]]: tensor<2x64x128xf32>, %[[B:.*]]: tensor<96xf32>, %[[R:.*]]: tensor<2x64x96xf32>)
// CHECK-SAME:    attributes {library_call = #tg.gemm<m = 128, n = 96, k = 128, a = <1 strides[128, 1]>, b = <0 strides[1, 128]>, c = <4 strides[96, 1]>, addends = [<2 strides[0, 1]>, <3 strides[96, 1]>], relu = true>}
// CHECK:         %[[T:.*]] = tg.node "aten.t.default"(%[[W]])
// CHECK:         %[[V:.*]] = tg.node "aten.view.default"(%[[X]])
// CHECK:         %[[MM:.*]] = tg.node "aten.addmm.default"(%[[B]], %[[V]], %[[T]])
// CHECK:         %[[U:.*]] = tg.node "aten.view.default"(%[[MM]])
// CHECK:         %[[A:.*]] = tg.node "aten.add.Tensor"(%[[U]], %[[R]])
// CHECK:         %[[Y:.*]] = tg.node "aten.relu.default"(%[[A]])
// CHECK:         tg.return %[[Y]]
// CHECK-LABEL: func.func @folds
// CHECK-NEXT:    %[[Y:.*]] = tg.launch @addmm_add_relu_0(%arg1, %arg0, %arg2, %arg3) {tg.module = "layers.0", tg.phase = #tg.phase<forward>}
// CHECK-NEXT:    tg.launch @exp_1(%[[Y]])
// REMARK: 'exp' is not folded into 'addmm': the library has no such operation
func.func @folds(%x: tensor<2x64x128xf32>, %w: tensor<96x128xf32>, %b: tensor<96xf32>, %r: tensor<2x64x96xf32>) -> tensor<2x64x96xf32> {
  %v = tg.node "aten.view.default"(%x) args [#tg.operand<0>, [128, 128]] : (tensor<2x64x128xf32>) -> tensor<128x128xf32>
  %t = tg.node "aten.t.default"(%w) : (tensor<96x128xf32>) -> tensor<128x96xf32>
  %mm = tg.node "aten.addmm.default"(%b, %v, %t) {tg.phase = #tg.phase<forward>, tg.module = "layers.0", tg.id = "mm"}
      : (tensor<96xf32>, tensor<128x128xf32>, tensor<128x96xf32>) -> tensor<128x96xf32>
  %u = tg.node "aten.view.default"(%mm) args [#tg.operand<0>, [2, 64, 96]] {tg.phase = #tg.phase<forward>} : (tensor<128x96xf32>) -> tensor<2x64x96xf32>
  %a = tg.node "aten.add.Tensor"(%u, %r) {tg.phase = #tg.phase<forward>} : (tensor<2x64x96xf32>, tensor<2x64x96xf32>) -> tensor<2x64x96xf32>
  %relu = tg.node "aten.relu.default"(%a) {tg.phase = #tg.phase<forward>} : (tensor<2x64x96xf32>) -> tensor<2x64x96xf32>
  %e = tg.node "aten.exp.default"(%relu) {tg.phase = #tg.phase<forward>} : (tensor<2x64x96xf32>) -> tensor<2x64x96xf32>
  return %e : tensor<2x64x96xf32>
}

// -----

// Two layers share the kernel. A view that several products read is copied into
// each; the launch of a product alone keeps what is known of its result.
// CHECK:       tg.kernel @mm_0(%{{.*}}: tensor<64x64xf32>, %{{.*}}: tensor<64x64xf32>) {{.*}}#tg.gemm<
// CHECK-NEXT:    tg.node "aten.t.default"
// CHECK-NOT:   tg.kernel
// CHECK-LABEL: func.func @shared_view
// CHECK-NEXT:    tg.launch @mm_0(%arg1, %arg0) {tg.id = "first", tg.policy = #tg.policy<must_save>}
// CHECK-NEXT:    tg.launch @mm_0(%arg1, %arg2) {tg.id = "second"}
// CHECK-NEXT:    return
func.func @shared_view(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %t = tg.node "aten.t.default"(%w) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %a = tg.node "aten.mm.default"(%x, %t) {tg.id = "first", tg.policy = #tg.policy<must_save>} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %b = tg.node "aten.mm.default"(%y, %t) {tg.id = "second"} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %a, %b : tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

// The gradient of a weight is written transposed.
// CHECK:       tg.kernel @mm_0({{.*}} attributes {library_call = #tg.gemm<m = 32, n = 48, k = 64, a = <0 strides[1, 32]>, b = <1 strides[48, 1]>, c = <2 strides[1, 32]>>}
// CHECK:         %[[MM:.*]] = tg.node "aten.mm.default"
// CHECK:         tg.node "aten.t.default"(%[[MM]])
// CHECK-LABEL: func.func @transposed_result
// CHECK-NEXT:    tg.launch @mm_0
// CHECK-NEXT:    return
func.func @transposed_result(%x: tensor<64x32xf32>, %y: tensor<64x48xf32>) -> tensor<48x32xf32> {
  %t = tg.node "aten.t.default"(%x) : (tensor<64x32xf32>) -> tensor<32x64xf32>
  %mm = tg.node "aten.mm.default"(%t, %y) : (tensor<32x64xf32>, tensor<64x48xf32>) -> tensor<32x48xf32>
  %r = tg.node "aten.t.default"(%mm) : (tensor<32x48xf32>) -> tensor<48x32xf32>
  return %r : tensor<48x32xf32>
}

// -----

// In bf16 the GEMM rounds before the addition does: together they would
// round less often. The sum in f32 and one rounding are one call.
// CHECK:       tg.kernel @mm_0(
// CHECK-NEXT:    tg.node "aten.mm.default"
// CHECK-NEXT:    tg.return
// CHECK:       tg.kernel @mm_add_to_copy_1(
// CHECK:         tg.node "aten.mm.default"
// CHECK-NEXT:    tg.node "aten.add.Tensor"
// CHECK-NEXT:    tg.node "aten._to_copy.default"
// CHECK-NEXT:    tg.return
// CHECK-LABEL: func.func @rounding
// CHECK-NEXT:    tg.launch @mm_0
// CHECK-NEXT:    tg.launch @add_2
// CHECK-NEXT:    tg.launch @mm_add_to_copy_1
// REMARK: 'add' is not folded into 'mm': it would round less often
func.func @rounding(%x: tensor<64x64xbf16>, %y: tensor<64x64xf32>) -> (tensor<64x64xbf16>, tensor<64x64xbf16>) {
  %a = tg.node "aten.mm.default"(%x, %x) : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %b = tg.node "aten.add.Tensor"(%a, %x) : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %c = tg.node "aten.mm.default"(%y, %y) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %d = tg.node "aten.add.Tensor"(%c, %y) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %e = tg.node "aten._to_copy.default"(%d) : (tensor<64x64xf32>) -> tensor<64x64xbf16>
  return %b, %e : tensor<64x64xbf16>, tensor<64x64xbf16>
}

// -----

// What others read stays in memory, and nothing crosses the border of a phase.
// CHECK-LABEL: func.func @borders
// CHECK-NEXT:    %[[MM:.*]] = tg.launch @mm_0(%arg0, %arg1) {tg.phase = #tg.phase<forward>}
// CHECK-NEXT:    %[[RELU:.*]] = tg.launch @relu_
// CHECK-NEXT:    %[[SECOND:.*]] = tg.launch @mm_0
// CHECK-NEXT:    %[[BACK:.*]] = tg.launch @relu_{{.*}}backward
// CHECK-NEXT:    return %[[MM]], %[[RELU]], %[[BACK]]
// REMARK: 'relu' is not folded into 'mm': others read the result, too
// REMARK: 'relu' is not folded into 'mm': they belong to different phases
// REMARK: 'add' is not folded into 'mm': they belong to different micro-batches
func.func @borders(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) {
  %a = tg.node "aten.mm.default"(%x, %y) {tg.phase = #tg.phase<forward>} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %b = tg.node "aten.relu.default"(%a) {tg.phase = #tg.phase<forward>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %c = tg.node "aten.mm.default"(%b, %x) {tg.phase = #tg.phase<forward>} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %d = tg.node "aten.relu.default"(%c) {tg.phase = #tg.phase<backward>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %a, %b, %d : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

// The operands of a product of the first micro-batch are not kept until the
// second has what is added.
// CHECK-LABEL: func.func @micro_batches
// CHECK-NEXT:    %[[MM:.*]] = tg.launch @mm_0
// CHECK-NEXT:    tg.launch @add_{{.*}}(%[[MM]], %arg1)
func.func @micro_batches(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %a = tg.node "aten.mm.default"(%x, %y) {tg.micro_batch = 0 : i64} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %b = tg.node "aten.add.Tensor"(%a, %y) {tg.micro_batch = 1 : i64} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %b : tensor<64x64xf32>
}

// -----

// Left to generated code: a factor of the addend, and numbers of other types.
// CHECK-NOT:   library_call
// CHECK-LABEL: func.func @near_misses
// REMARK: no library computes 'addmm': what is added has a factor
// REMARK: no library computes 'mm': the library does not multiply numbers of this type
func.func @near_misses(%x: tensor<64x64xf32>, %y: tensor<64x64xf64>) -> (tensor<64x64xf32>, tensor<64x64xf64>) {
  %a = tg.node "aten.addmm.default"(%x, %x, %x) kwargs {beta = 2.0} : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %b = tg.node "aten.mm.default"(%y, %y) : (tensor<64x64xf64>, tensor<64x64xf64>) -> tensor<64x64xf64>
  return %a, %b : tensor<64x64xf32>, tensor<64x64xf64>
}

// -----

// Structured operations: the zeros that the sum starts from go with it.
// CHECK:       tg.kernel @transpose_matmul_0(%[[X:.*]]: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {library_call = #tg.gemm<m = 64, n = 64, k = 64, a = <0 strides[64, 1]>, b = <0 strides[1, 64]>, c = <1 strides[64, 1]>>}
// CHECK:         %[[T:.*]] = linalg.transpose ins(%[[X]]
// CHECK:         %[[ZERO:.*]] = linalg.fill
// CHECK:         linalg.matmul ins(%[[X]], %[[T]] {{.*}} outs(%[[ZERO]]
// CHECK-LABEL: func.func @structured
// CHECK-NEXT:    tg.launch @transpose_matmul_0(%arg0)
// CHECK-NEXT:    return
func.func @structured(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>
  %transposed = linalg.transpose ins(%x : tensor<64x64xf32>) outs(%empty : tensor<64x64xf32>) permutation = [1, 0]
  %y = linalg.matmul ins(%x, %transposed : tensor<64x64xf32>, tensor<64x64xf32>) outs(%init : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// Attention reads and writes heads where they lie, of one tensor for all three.
// Nobody reads the logarithms here.
// CHECK:       tg.kernel @scaled_dot_product_flash_attention_for_cpu_0
// CHECK-SAME:    (%{{.*}}: tensor<2x16x3x4x8xf32>) -> tensor<2x16x32xf32> attributes {library_call = #tg.attention<batch = 2, heads = 4, rows = 16, columns = 16, width = 8, value_width = 8, scale = 0.353553385 : f32, causal = true, q = <0 strides[1536, 8, 96, 1]>, k = <0 at 32 strides[1536, 8, 96, 1]>, v = <0 at 64 strides[1536, 8, 96, 1]>, o = <1 strides[512, 8, 32, 1]>>}
// CHECK-COUNT-3: tg.node "aten.select.int"
// CHECK:         tg.node "aten._scaled_dot_product_flash_attention_for_cpu.default"
// CHECK:         tg.node "aten.transpose.int"
// CHECK:         tg.node "aten.view.default"
// CHECK-LABEL: func.func @attention
// CHECK-NEXT:    tg.launch @scaled_dot_product_flash_attention_for_cpu_0(%arg0)
// CHECK-NEXT:    return
func.func @attention(%x: tensor<2x16x3x4x8xf32>) -> tensor<2x16x32xf32> {
  %q0 = tg.node "aten.select.int"(%x) args [#tg.operand<0>, 2, 0] : (tensor<2x16x3x4x8xf32>) -> tensor<2x16x4x8xf32>
  %k0 = tg.node "aten.select.int"(%x) args [#tg.operand<0>, 2, 1] : (tensor<2x16x3x4x8xf32>) -> tensor<2x16x4x8xf32>
  %v0 = tg.node "aten.select.int"(%x) args [#tg.operand<0>, 2, 2] : (tensor<2x16x3x4x8xf32>) -> tensor<2x16x4x8xf32>
  %q = tg.node "aten.transpose.int"(%q0) args [#tg.operand<0>, 1, 2] : (tensor<2x16x4x8xf32>) -> tensor<2x4x16x8xf32>
  %k = tg.node "aten.transpose.int"(%k0) args [#tg.operand<0>, 1, 2] : (tensor<2x16x4x8xf32>) -> tensor<2x4x16x8xf32>
  %v = tg.node "aten.transpose.int"(%v0) args [#tg.operand<0>, 1, 2] : (tensor<2x16x4x8xf32>) -> tensor<2x4x16x8xf32>
  %o, %l = tg.node "aten._scaled_dot_product_flash_attention_for_cpu.default"(%q, %k, %v) args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, 0.0, true]
      : (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>) -> (tensor<2x4x16x8xf32>, tensor<2x4x16xf32>)
  %t = tg.node "aten.transpose.int"(%o) args [#tg.operand<0>, 1, 2] : (tensor<2x4x16x8xf32>) -> tensor<2x16x4x8xf32>
  %r = tg.node "aten.view.default"(%t) args [#tg.operand<0>, [2, 16, 32]] : (tensor<2x16x4x8xf32>) -> tensor<2x16x32xf32>
  return %r : tensor<2x16x32xf32>
}

// -----

// Views of one gradient may come behind what reads another: the sum needs the
// launch, and is not fused with what the launch needs.
// CHECK: tg.kernel @scaled_dot_product_flash_attention_for_cpu_backward_0
// CHECK-SAME: attributes {library_call = #tg.attention<{{.*}}, causal = true, q = <0 strides[512, 128, 8, 1]>, k = <0 {{.*}}, v = <0 {{.*}}, o = <0 {{.*}}, l = <1 strides[64, 16, 1]>, grad_o = <0 {{.*}}, grad_q = <2 strides[512, 8, 32, 1]>, grad_k = <3 strides[512, 128, 8, 1]>, grad_v = <4 strides[512, 128, 8, 1]>>}
// CHECK-LABEL: func.func @gradients
// CHECK-NEXT:    %[[NEG:.*]] = tg.launch @neg_{{[0-9]+}}(%arg0)
// CHECK-NEXT:    %[[G:.*]]:3 = tg.launch @scaled_dot_product_flash_attention_for_cpu_backward_0(%[[NEG]], %arg1)
// CHECK-NEXT:    %[[ADD:.*]] = tg.launch @add_{{[0-9]+}}(%[[G]]#2, %[[NEG]])
// CHECK-NEXT:    return %[[G]]#0, %[[G]]#1, %[[ADD]]
func.func @gradients(%x: tensor<2x4x16x8xf32>, %l: tensor<2x4x16xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>) {
  %n = tg.node "aten.neg.default"(%x) : (tensor<2x4x16x8xf32>) -> tensor<2x4x16x8xf32>
  %g:3 = tg.node "aten._scaled_dot_product_flash_attention_for_cpu_backward.default"(%n, %n, %n, %n, %n, %l) args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, #tg.operand<3>, #tg.operand<4>, #tg.operand<5>, 0.0, true]
      : (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16xf32>) -> (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>)
  %s = tg.node "aten.add.Tensor"(%g#2, %n) : (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>) -> tensor<2x4x16x8xf32>
  %q = tg.node "aten.transpose.int"(%g#0) args [#tg.operand<0>, 1, 2] : (tensor<2x4x16x8xf32>) -> tensor<2x16x4x8xf32>
  return %q, %g#1, %s : tensor<2x16x4x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>
}

// -----

// The gradient of a mask that is the same for the batch is a sum over it, and
// scores have a bound.
// CHECK:       tg.kernel @biased_attention_backward_0
// CHECK-SAME:    softcap = 5.000000e+01 : f32
// CHECK-SAME:    mask = <2 strides[0, 256, 16, 1]>
// CHECK-SAME:    grad_mask = <6 strides[0, 256, 16, 1]>>}
// CHECK-LABEL: func.func @biased
func.func @biased(%x: tensor<2x4x16x8xf32>, %l: tensor<2x4x16xf32>, %m: tensor<1x4x16x16xf32>) -> (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<1x4x16x16xf32>) {
  %g:4 = tg.node "regather.biased_attention_backward.default"(%x, %x, %x, %x, %x, %l, %m) args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, #tg.operand<3>, #tg.operand<4>, #tg.operand<5>, 0.0, false] kwargs {attn_mask = #tg.operand<6>, softcap = 5.000000e+01}
      : (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16xf32>, tensor<1x4x16x16xf32>) -> (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<1x4x16x16xf32>)
  return %g#0, %g#1, %g#2, %g#3 : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<1x4x16x16xf32>
}

// -----

// Dropout is left to generated code.
// CHECK-NOT:   library_call
// CHECK-LABEL: func.func @dropout
// REMARK: no library computes 'scaled_dot_product_flash_attention_for_cpu': the library has no dropout
func.func @dropout(%q: tensor<2x4x16x8xf32>) -> tensor<2x4x16x8xf32> {
  %o, %l = tg.node "aten._scaled_dot_product_flash_attention_for_cpu.default"(%q, %q, %q) args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, 0.5, true]
      : (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>) -> (tensor<2x4x16x8xf32>, tensor<2x4x16xf32>)
  return %o : tensor<2x4x16x8xf32>
}

// -----

// A batch that neither rows nor columns can take up, a sum that is scaled and
// added to, and what lies in a part of a larger tensor.
// CHECK:       tg.kernel @baddbmm_0
// CHECK-SAME:    attributes {library_call = #tg.gemm<m = 32, n = 48, k = 64, batch = [4], a = <0 at 16384 strides[2048, 64, 1]>, b = <2 strides[3072, 48, 1]>, c = <3 strides[1536, 48, 1]>, addends = [<1 strides[0, 0, 1]>], alpha = 2.500000e-01 : f32>}
// CHECK-LABEL: func.func @batch
func.func @batch(%b: tensor<48xf32>, %x: tensor<12x32x64xf32>, %y: tensor<4x64x48xf32>) -> tensor<4x32x48xf32> {
  %part = tg.node "aten.slice.Tensor"(%x) args [#tg.operand<0>, 0, 8, 12] : (tensor<12x32x64xf32>) -> tensor<4x32x64xf32>
  %r = tg.node "aten.baddbmm.default"(%b, %part, %y) kwargs {alpha = 0.25} : (tensor<48xf32>, tensor<4x32x64xf32>, tensor<4x64x48xf32>) -> tensor<4x32x48xf32>
  return %r : tensor<4x32x48xf32>
}

// -----

// Near miss: loops compute a GEMM of 32 x 32 x 32.
// CHECK-NOT:   library_call
// CHECK-LABEL: func.func @small
// REMARK: no library computes 'mm': the GEMM is small
func.func @small(%x: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %y = tg.node "aten.mm.default"(%x, %x) : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  return %y : tensor<32x32xf32>
}
