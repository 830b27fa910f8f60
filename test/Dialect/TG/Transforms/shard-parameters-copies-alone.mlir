// RUN: regather-opt %s "--tg-shard-parameters=mesh=ep:2,tp:2 model-axes=ep,tp copy-axes=ep" --tg-verify-step | FileCheck %s

// Where no axis splits the batch, the ranks of ep share a parameter alone, and
// what has no summands of its gradient there stays whole.
// CHECK-LABEL: func.func @rounded(
// CHECK-SAME:    tensor<32xbf16> {{.*}}tg.placement = #tg.placement<@mesh {{\[\[}}ep] = shard 0]>
// CHECK-SAME:    tensor<8x4xf32> {tg.role = #tg.role<input>}
// CHECK-SAME:    tensor<4xf32> {tg.name = "kept", tg.role = #tg.role<parameter>}
// CHECK:         tg.all_gather %{{.*}} on @mesh [ep] dim 0
// CHECK:         tg.reduce_scatter sum %{{.*}} on @mesh [ep] dim 0
tg.mesh @mesh [ep = 2, tp = 2]
func.func @rounded(
    %w: tensor<4xbf16> {tg.role = #tg.role<parameter>, tg.name = "rounded.w"},
    %x: tensor<8x4xf32> {tg.role = #tg.role<input>},
    %kept: tensor<4xf32> {tg.role = #tg.role<parameter>, tg.name = "kept"})
    -> (tensor<8x4xf32>, tensor<4xbf16> {tg.role = #tg.role<gradient of 0>}, tensor<4xf32> {tg.role = #tg.role<gradient of 2>}) {
  %wide = tg.node "aten._to_copy.default"(%w) kwargs {dtype = f32} : (tensor<4xbf16>) -> tensor<4xf32>
  %y = tg.node "aten.mul.Tensor"(%x, %wide) : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %d = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [0]] {tg.phase = #tg.phase<backward>} : (tensor<8x4xf32>) -> tensor<4xf32>
  %future = tg.all_reduce sum %d on @mesh [ep] phase backward : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %reduced = tg.wait %future {tg.phase = #tg.phase<backward>} : !tg.future<tensor<4xf32>>
  %future1 = tg.all_reduce sum %reduced on @mesh [tp] phase backward : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %all = tg.wait %future1 {tg.phase = #tg.phase<backward>} : !tg.future<tensor<4xf32>>
  %narrow = tg.node "aten._to_copy.default"(%all) kwargs {dtype = bf16} {tg.phase = #tg.phase<backward>} : (tensor<4xf32>) -> tensor<4xbf16>
  %dkept = tg.node "aten.neg.default"(%kept) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>) -> tensor<4xf32>
  return %y, %narrow, %dkept : tensor<8x4xf32>, tensor<4xbf16>, tensor<4xf32>
}
