// Rows that a mask hides as a whole by a finite number have exact gradients on
// CPUs alone, so that attention that was products is refused on GPUs with a mask
// that is added; the products are not.
// RUN: not regather compile %s --quiet --target=nvptx:sm_80 --fuse-attention=all -o %t.rgb 2>&1 | FileCheck %s
// RUN: regather compile %s --quiet --target=nvptx:sm_80 -o %t.rgb
// RUN: regather compile %s --quiet --fuse-attention=all -o %t.rgb

// CHECK: error: option 'fuse-attention' made attention with a mask that is added, whose gradients on GPUs are not exact for rows that it hides as a whole; compile it for cpu, or without the option
func.func @step(%query: tensor<1x2x4x8xf32>, %key: tensor<1x2x6x8xf32>, %value: tensor<1x2x6x8xf32>, %mask: tensor<4x6xf32>, %grad: tensor<1x2x4x8xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>) {
  %q = tg.node "aten.view.default"(%query) args [#tg.operand<0>, [2, 4, 8]] {tg.phase = #tg.phase<forward>} : (tensor<1x2x4x8xf32>) -> tensor<2x4x8xf32>
  %kt = tg.node "aten.permute.default"(%key) args [#tg.operand<0>, [0, 1, 3, 2]] {tg.phase = #tg.phase<forward>} : (tensor<1x2x6x8xf32>) -> tensor<1x2x8x6xf32>
  %k = tg.node "aten.view.default"(%kt) args [#tg.operand<0>, [2, 8, 6]] {tg.phase = #tg.phase<forward>} : (tensor<1x2x8x6xf32>) -> tensor<2x8x6xf32>
  %v = tg.node "aten.view.default"(%value) args [#tg.operand<0>, [2, 6, 8]] {tg.phase = #tg.phase<forward>} : (tensor<1x2x6x8xf32>) -> tensor<2x6x8xf32>
  %product = tg.node "aten.bmm.default"(%q, %k) {tg.phase = #tg.phase<forward>} : (tensor<2x4x8xf32>, tensor<2x8x6xf32>) -> tensor<2x4x6xf32>
  %scores = tg.node "aten.view.default"(%product) args [#tg.operand<0>, [1, 2, 4, 6]] {tg.phase = #tg.phase<forward>} : (tensor<2x4x6xf32>) -> tensor<1x2x4x6xf32>
  %scaled = tg.node "aten.mul.Tensor"(%scores) args [#tg.operand<0>, 5.000000e-01] {tg.phase = #tg.phase<forward>} : (tensor<1x2x4x6xf32>) -> tensor<1x2x4x6xf32>
  %masked = tg.node "aten.add.Tensor"(%scaled, %mask) {tg.phase = #tg.phase<forward>} : (tensor<1x2x4x6xf32>, tensor<4x6xf32>) -> tensor<1x2x4x6xf32>
  %p = tg.node "aten._softmax.default"(%masked) args [#tg.operand<0>, -1, false] {tg.phase = #tg.phase<forward>} : (tensor<1x2x4x6xf32>) -> tensor<1x2x4x6xf32>
  %weights = tg.node "aten.view.default"(%p) args [#tg.operand<0>, [2, 4, 6]] {tg.phase = #tg.phase<forward>} : (tensor<1x2x4x6xf32>) -> tensor<2x4x6xf32>
  %o = tg.node "aten.bmm.default"(%weights, %v) {tg.id = "out", tg.phase = #tg.phase<forward>} : (tensor<2x4x6xf32>, tensor<2x6x8xf32>) -> tensor<2x4x8xf32>
  %output = tg.node "aten.view.default"(%o) args [#tg.operand<0>, [1, 2, 4, 8]] {tg.phase = #tg.phase<forward>} : (tensor<2x4x8xf32>) -> tensor<1x2x4x8xf32>
  %g = tg.node "aten.view.default"(%grad) args [#tg.operand<0>, [2, 4, 8]] {tg.phase = #tg.phase<backward>} : (tensor<1x2x4x8xf32>) -> tensor<2x4x8xf32>
  %weights_t = tg.node "aten.permute.default"(%weights) args [#tg.operand<0>, [0, 2, 1]] {tg.phase = #tg.phase<backward>} : (tensor<2x4x6xf32>) -> tensor<2x6x4xf32>
  %gv = tg.node "aten.bmm.default"(%weights_t, %g) {tg.phase = #tg.phase<backward>} : (tensor<2x6x4xf32>, tensor<2x4x8xf32>) -> tensor<2x6x8xf32>
  %v_t = tg.node "aten.permute.default"(%v) args [#tg.operand<0>, [0, 2, 1]] {tg.phase = #tg.phase<backward>} : (tensor<2x6x8xf32>) -> tensor<2x8x6xf32>
  %gp = tg.node "aten.bmm.default"(%g, %v_t) {tg.phase = #tg.phase<backward>} : (tensor<2x4x8xf32>, tensor<2x8x6xf32>) -> tensor<2x4x6xf32>
  %gp4 = tg.node "aten.view.default"(%gp) args [#tg.operand<0>, [1, 2, 4, 6]] {tg.phase = #tg.phase<backward>} : (tensor<2x4x6xf32>) -> tensor<1x2x4x6xf32>
  %grad_value = tg.node "aten.view.default"(%gv) args [#tg.operand<0>, [1, 2, 6, 8]] {tg.phase = #tg.phase<backward>} : (tensor<2x6x8xf32>) -> tensor<1x2x6x8xf32>
  %gs = tg.node "aten._softmax_backward_data.default"(%gp4, %p) args [#tg.operand<0>, #tg.operand<1>, -1, f32] {tg.id = "softmax_grad", tg.phase = #tg.phase<backward>} : (tensor<1x2x4x6xf32>, tensor<1x2x4x6xf32>) -> tensor<1x2x4x6xf32>
  %gss = tg.node "aten.mul.Tensor"(%gs) args [#tg.operand<0>, 5.000000e-01] {tg.phase = #tg.phase<backward>} : (tensor<1x2x4x6xf32>) -> tensor<1x2x4x6xf32>
  %gs3 = tg.node "aten.view.default"(%gss) args [#tg.operand<0>, [2, 4, 6]] {tg.phase = #tg.phase<backward>} : (tensor<1x2x4x6xf32>) -> tensor<2x4x6xf32>
  %q_t = tg.node "aten.permute.default"(%q) args [#tg.operand<0>, [0, 2, 1]] {tg.phase = #tg.phase<backward>} : (tensor<2x4x8xf32>) -> tensor<2x8x4xf32>
  %gk = tg.node "aten.bmm.default"(%q_t, %gs3) {tg.phase = #tg.phase<backward>} : (tensor<2x8x4xf32>, tensor<2x4x6xf32>) -> tensor<2x8x6xf32>
  %k_t = tg.node "aten.permute.default"(%k) args [#tg.operand<0>, [0, 2, 1]] {tg.phase = #tg.phase<backward>} : (tensor<2x8x6xf32>) -> tensor<2x6x8xf32>
  %gq = tg.node "aten.bmm.default"(%gs3, %k_t) {tg.phase = #tg.phase<backward>} : (tensor<2x4x6xf32>, tensor<2x6x8xf32>) -> tensor<2x4x8xf32>
  %gk4 = tg.node "aten.view.default"(%gk) args [#tg.operand<0>, [1, 2, 8, 6]] {tg.phase = #tg.phase<backward>} : (tensor<2x8x6xf32>) -> tensor<1x2x8x6xf32>
  %grad_query = tg.node "aten.view.default"(%gq) args [#tg.operand<0>, [1, 2, 4, 8]] {tg.phase = #tg.phase<backward>} : (tensor<2x4x8xf32>) -> tensor<1x2x4x8xf32>
  %grad_key = tg.node "aten.permute.default"(%gk4) args [#tg.operand<0>, [0, 1, 3, 2]] {tg.phase = #tg.phase<backward>} : (tensor<1x2x8x6xf32>) -> tensor<1x2x6x8xf32>
  return %output, %grad_query, %grad_key, %grad_value : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>
}
