// RUN: regather-opt %s -split-input-file --tg-partition="mode=min-cut split=false" | FileCheck %s

// Of the chain, the narrowest value is saved, and the cast to f32 behind it
// computed again. The product is not, though %x costs nothing.
// CHECK-LABEL: @narrowest
// CHECK:         tg.node "aten.mm.default"
// CHECK-NOT:     saved_results
// CHECK:         "aten._to_copy.default"{{.*}}bf16{{.*}}tg.saved_results = array<i64: 0>
// CHECK-NOT:     saved_results
// CHECK:         "aten._to_copy.default"{{.*}}f32{{.*}}backward
func.func @narrowest(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %y = tg.node "aten.mm.default"(%x, %x) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %a = tg.node "aten._to_copy.default"(%y) kwargs {dtype = bf16} {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<4x4xbf16>
  %b = tg.node "aten._to_copy.default"(%a) kwargs {dtype = f32} {tg.phase = #tg.phase<forward>} : (tensor<4x4xbf16>) -> tensor<4x4xf32>
  %g = tg.node "aten.mul.Tensor"(%b, %b) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %g : tensor<4x4xf32>
}

// -----

// Two values that are computed from one are that one.
// CHECK-LABEL: @shared
// CHECK:         tg.node "aten.mm.default"{{.*}}saved_results
// CHECK-NOT:     saved_results
func.func @shared(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %y = tg.node "aten.mm.default"(%x, %x) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %a = tg.node "aten.exp.default"(%y) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = tg.node "aten.cos.default"(%y) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %g = tg.node "aten.mul.Tensor"(%a, %b) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %g : tensor<4x4xf32>
}

// -----

// What an argument gives at no cost is not saved; of equal cuts, the one that
// recomputes least.
// CHECK-LABEL: @cheapest
// CHECK-NOT:     saved_results
// CHECK:         tg.node "aten.sum.default"{{.*}}saved_results
// CHECK-NOT:     saved_results
func.func @cheapest(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = tg.node "aten.exp.default"(%x) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %sum = tg.node "aten.sum.default"(%a) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<f32>
  %g = tg.node "aten.mul.Tensor"(%a, %sum) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  return %g : tensor<4x4xf32>
}

// -----

// Marks: the first product must be recomputed, and so %x is what is needed. The
// second one is saved though a copy of it would cost nothing. A preference
// tips the scales, and lets a product be recomputed.
// CHECK-LABEL: @marks
// CHECK:         tg.node "aten.mm.default"(%arg0, %arg0){{.*}}must_recompute
// CHECK-SAME:    >} :
// CHECK:         tg.node "aten.exp.default"(%arg0){{.*}}saved_results
// CHECK:         tg.node "aten.mm.default"(%arg0, %arg0){{.*}}prefer_recompute>} :
// CHECK:         tg.node "aten.mm.default"(%arg0, %arg0) {tg.phase = #tg.phase<backward>}
func.func @marks(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %a = tg.node "aten.mm.default"(%x, %x) {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_recompute>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = tg.node "aten.exp.default"(%x) {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_save>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = tg.node "aten.mm.default"(%x, %x) {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<prefer_recompute>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %g = tg.node "aten.addcmul.default"(%a, %b, %c) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %g, %a, %c : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// A released parameter is gathered again rather than saved; the other one is
// saved, as is an activation that has been communicated.
// CHECK-LABEL: @parameters
// CHECK:         tg.wait %{{.*}} {tg.saved_results = array<i64: 1>}
// CHECK:         tg.wait %{{.*}} {tg.saved_results = array<i64: 0>}
// CHECK:         tg.all_gather %arg0 {{.*}} phase backward generation 1
// CHECK-NOT:     generation
tg.mesh @mesh [dp = 2]

func.func @parameters(%w: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.reshard = #tg.reshard<always>},
                      %v: tensor<2xf32> {tg.role = #tg.role<parameter>}) -> tensor<4xf32> {
  %0 = tg.all_gather %w, %v on @mesh [dp] dim 0 phase forward : (tensor<2xf32>, tensor<2xf32>) -> !tg.future<tensor<4xf32>, tensor<4xf32>>
  %a, %b = tg.wait %0 : !tg.future<tensor<4xf32>, tensor<4xf32>>
  %y = tg.node "aten.mul.Tensor"(%a, %b) {tg.phase = #tg.phase<forward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = tg.all_reduce sum %y on @mesh [dp] phase forward : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %c = tg.wait %1 : !tg.future<tensor<4xf32>>
  %g = tg.node "aten.addcmul.default"(%a, %b, %c) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %g : tensor<4xf32>
}

// -----

// The part that backward gathers in a small group is saved: to cut it once more,
// backward would have to gather over all ranks. The recomputed product reads
// what the small group has gathered.
// CHECK-LABEL: @group
// CHECK:         tg.all_gather %arg0 {{.*}} phase forward
// CHECK:         %[[PART:.*]] = tensor.extract_slice {{.*}}tg.saved_results = array<i64: 0>
// CHECK-NOT:     tg.all_gather %arg0
// CHECK:         tg.all_gather %[[PART]] on @mesh_groups [dp_inner] dim 0 phase backward generation 1
// CHECK:         %[[WHOLE:.*]] = tg.wait
// CHECK:         %[[AGAIN:.*]] = tg.node "aten.mm.default"(%[[WHOLE]], %arg1) {{.*}}backward
// CHECK:         tg.node "aten.mul.Tensor"(%[[AGAIN]], %[[WHOLE]])
// CHECK-NOT:     tg.all_gather
tg.mesh @mesh [dp = 4]
tg.mesh @mesh_groups [dp_outer = 2, dp_inner = 2]

func.func @group(%w: tensor<1x4xf32> {tg.role = #tg.role<parameter>, tg.reshard = #tg.reshard<group of 2>}, %x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %index = tg.axis_index on @mesh_groups [dp_inner] {tg.phase = #tg.phase<forward>}
  %size = arith.constant {tg.phase = #tg.phase<forward>} 2 : index
  %offset = arith.muli %index, %size {tg.phase = #tg.phase<forward>} : index
  %0 = tg.all_gather %w on @mesh [dp] dim 0 phase forward : (tensor<1x4xf32>) -> !tg.future<tensor<4x4xf32>>
  %whole = tg.wait %0 : !tg.future<tensor<4x4xf32>>
  %part = tensor.extract_slice %whole[%offset, 0] [2, 4] [1, 1] {tg.phase = #tg.phase<forward>} : tensor<4x4xf32> to tensor<2x4xf32>
  %y = tg.node "aten.mm.default"(%whole, %x) {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_recompute>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = tg.all_gather %part on @mesh_groups [dp_inner] dim 0 phase backward generation 1 : (tensor<2x4xf32>) -> !tg.future<tensor<4x4xf32>>
  %again = tg.wait %1 : !tg.future<tensor<4x4xf32>>
  %g = tg.node "aten.mul.Tensor"(%y, %again) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y, %g : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// Backward gathers %v anyway, so what is cheap to make of it is computed again.
// It does not gather %w: what is made of it is saved, however cheap, unless a
// mark asks for it.
// CHECK-LABEL: @gathers
// CHECK-NOT:     saved_results
// CHECK:         tg.node "aten.mul.Tensor"{{.*}}tg.id = "of_w"{{.*}}saved_results
// CHECK-NOT:     saved_results
// CHECK:         tg.all_gather %arg1, %arg2 on @mesh [dp] dim 0 phase backward
// CHECK:         tg.id = "of_u", tg.phase = #tg.phase<backward>
// CHECK:         tg.id = "of_v", tg.phase = #tg.phase<backward>
// CHECK-NOT:     tg.all_gather
tg.mesh @mesh [dp = 2]

func.func @gathers(%w: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.reshard = #tg.reshard<always>},
                   %v: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.reshard = #tg.reshard<always>},
                   %u: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.reshard = #tg.reshard<always>},
                   %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tg.all_gather %w, %v, %u on @mesh [dp] dim 0 phase forward : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> !tg.future<tensor<4xf32>, tensor<4xf32>, tensor<4xf32>>
  %a, %b, %c = tg.wait %0 : !tg.future<tensor<4xf32>, tensor<4xf32>, tensor<4xf32>>
  %of_w = tg.node "aten.mul.Tensor"(%a, %x) {tg.phase = #tg.phase<forward>, tg.id = "of_w"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %of_v = tg.node "aten.mul.Tensor"(%b, %x) {tg.phase = #tg.phase<forward>, tg.id = "of_v"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %of_u = tg.node "aten.mul.Tensor"(%c, %x) {tg.phase = #tg.phase<forward>, tg.id = "of_u", tg.policy = #tg.policy<must_recompute>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %g = tg.node "aten.addcmul.default"(%of_u, %of_w, %of_v) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %h = tg.node "aten.mul.Tensor"(%g, %b) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %h : tensor<4xf32>
}
