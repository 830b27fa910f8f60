// RUN: regather-opt %s -split-input-file --tg-form-kernels | FileCheck %s

// Two units read %a and %b, which nothing needs any more behind them. The second
// joins the first, although nothing that it reads comes from there: one value
// that it computes lives longer, and two live shorter.
// CHECK-LABEL: func.func @last_readers
// CHECK:         %[[A:.*]] = tg.launch @mm_0(%arg0, %arg1)
// CHECK-NEXT:    %[[B:.*]] = tg.launch @mm_0(%arg1, %arg0)
// CHECK-NEXT:    %[[BOTH:.*]]:2 = tg.launch @mul_sub_1(%[[A]], %[[B]])
// CHECK-NEXT:    %[[P:.*]] = tg.launch @mm_0(%[[BOTH]]#0, %arg0)
// CHECK-NEXT:    %[[Q:.*]] = tg.launch @mm_0(%[[BOTH]]#1, %arg1)
// CHECK-NEXT:    return %[[P]], %[[Q]]
func.func @last_readers(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %a = tg.node "aten.mm.default"(%x, %y) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = tg.node "aten.mm.default"(%y, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %p = tg.node "aten.mul.Tensor"(%a, %b) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %pm = tg.node "aten.mm.default"(%p, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %q = tg.node "aten.sub.Tensor"(%a, %b) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %qm = tg.node "aten.mm.default"(%q, %y) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %pm, %qm : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// Both values are read again behind, so that joining would let nothing go.
// CHECK-LABEL: func.func @read_later
// CHECK:         tg.launch @mul_{{[0-9]+}}(
// CHECK:         tg.launch @sub_{{[0-9]+}}(
func.func @read_later(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %a = tg.node "aten.mm.default"(%x, %y) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = tg.node "aten.mm.default"(%y, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %p = tg.node "aten.mul.Tensor"(%a, %b) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %pm = tg.node "aten.mm.default"(%p, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %q = tg.node "aten.sub.Tensor"(%a, %b) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %qm = tg.node "aten.mm.default"(%q, %y) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %last = tg.node "aten.mm.default"(%a, %b) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %pm, %qm, %last : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// Arguments of the step live as long as it does.
// CHECK-LABEL: func.func @arguments
// CHECK:         tg.launch @mul_{{[0-9]+}}(
// CHECK:         tg.launch @sub_{{[0-9]+}}(
func.func @arguments(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %p = tg.node "aten.mul.Tensor"(%x, %y) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %pm = tg.node "aten.mm.default"(%p, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %q = tg.node "aten.sub.Tensor"(%x, %y) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %qm = tg.node "aten.mm.default"(%q, %y) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %pm, %qm : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// One value of 256 bytes goes, and two of as many come.
// CHECK-LABEL: func.func @more_come
// CHECK:         tg.launch @exp_{{[0-9]+}}(
// CHECK:         tg.launch @neg_sin_{{[0-9]+}}(
func.func @more_come(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %a = tg.node "aten.mm.default"(%x, %y) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %p = tg.node "aten.exp.default"(%a) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %pm = tg.node "aten.mm.default"(%p, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %q = tg.node "aten.neg.default"(%a) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = tg.node "aten.sin.default"(%q) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %qm = tg.node "aten.mm.default"(%q, %r) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %pm, %qm, %r : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// The second needs a product of what the first computes.
// CHECK-LABEL: func.func @through_a_gemm
// CHECK:         tg.launch @mul_{{[0-9]+}}(
// CHECK:         tg.launch @mm_
// CHECK:         tg.launch @sub_add_{{[0-9]+}}(
func.func @through_a_gemm(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %a = tg.node "aten.mm.default"(%x, %y) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = tg.node "aten.mm.default"(%y, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %p = tg.node "aten.mul.Tensor"(%a, %b) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %pm = tg.node "aten.mm.default"(%p, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %q = tg.node "aten.sub.Tensor"(%a, %b) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = tg.node "aten.add.Tensor"(%q, %pm) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
