// RUN: regather-opt %s -split-input-file "--tg-shard-parameters=mesh=dp:2,ep:2,tp:2 model-axes=ep,tp copy-axes=ep" --tg-verify-step | FileCheck %s
// RUN: regather-opt %s -split-input-file "--tg-shard-parameters=mesh=dp:2,ep:2,tp:2 model-axes=ep,tp copy-axes=ep" --remark-format=emitRemark --remarks-filter=tg-shard-parameters -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// A gradient that is rounded behind the sum is rounded behind the reduction, and
// a sum over another axis in between stays.
// CHECK-LABEL: func.func @rounded(
// CHECK-SAME:    tensor<32xbf16> {{.*}}{{\[\[}}dp, ep] = shard 0]>
// CHECK:         %[[D:.*]] = tg.node "aten.sum.dim_IntList"
// CHECK:         %[[OTHER:.*]] = tg.all_reduce sum %[[D]] on @mesh [tp]
// CHECK:         %[[SUM:.*]] = tg.wait %[[OTHER]]
// CHECK:         %[[FLAT:.*]] = tg.flatten %[[SUM]]
// CHECK:         %[[SCATTER:.*]] = tg.reduce_scatter sum %[[FLAT]] on @mesh [dp, ep] dim 0
// CHECK:         %[[PART:.*]] = tg.wait %[[SCATTER]]
// CHECK:         %[[ROUNDED:.*]] = tg.node "aten._to_copy.default"(%[[PART]])
// CHECK:         return %{{.*}}, %[[ROUNDED]]
tg.mesh @mesh [dp = 2, ep = 2, tp = 2]
func.func @rounded(
    %w: tensor<4xbf16> {tg.role = #tg.role<parameter>, tg.name = "rounded.w"},
    %x: tensor<8x4xf32> {tg.role = #tg.role<input>})
    -> (tensor<8x4xf32>, tensor<4xbf16> {tg.role = #tg.role<gradient of 0>}) {
  %wide = tg.node "aten._to_copy.default"(%w) kwargs {dtype = f32} : (tensor<4xbf16>) -> tensor<4xf32>
  %y = tg.node "aten.mul.Tensor"(%x, %wide) : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %d = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [0]] {tg.phase = #tg.phase<backward>} : (tensor<8x4xf32>) -> tensor<4xf32>
  %future = tg.all_reduce sum %d on @mesh [ep] phase backward : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %reduced = tg.wait %future {tg.phase = #tg.phase<backward>} : !tg.future<tensor<4xf32>>
  %future1 = tg.all_reduce sum %reduced on @mesh [tp] phase backward : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %all = tg.wait %future1 {tg.phase = #tg.phase<backward>} : !tg.future<tensor<4xf32>>
  %narrow = tg.node "aten._to_copy.default"(%all) kwargs {dtype = bf16} {tg.phase = #tg.phase<backward>} : (tensor<4xf32>) -> tensor<4xbf16>
  return %y, %narrow : tensor<8x4xf32>, tensor<4xbf16>
}

// -----

// Near misses: a gradient that is no sum over ep, one whose sum something else
// reads, and one of which a term is not summed. Ranks of ep keep copies.
// CHECK-LABEL: func.func @kept(
// CHECK-SAME:    tensor<32xf32> {{{[^}]*}}"kept.a" at 0{{.*}}"kept.b" at 16{{.*}}"kept.c" at 32{{.*}}#tg.placement<@mesh {{\[\[}}dp] = shard 0]>
// CHECK:         tg.reduce_scatter sum %{{.*}} on @mesh [dp] dim 0
// REMARK-DAG: kept-copies{{.*}}parameter "kept.a" lies whole on ranks that do not sum its gradient
// REMARK-DAG: kept-copies{{.*}}parameter "kept.b" lies whole
// REMARK-DAG: kept-copies{{.*}}parameter "kept.c" lies whole
tg.mesh @mesh [dp = 2, ep = 2, tp = 2]
func.func @kept(
    %a: tensor<4xf32> {tg.role = #tg.role<parameter>, tg.name = "kept.a", tg.module = ""},
    %b: tensor<4xf32> {tg.role = #tg.role<parameter>, tg.name = "kept.b", tg.module = ""},
    %c: tensor<4xf32> {tg.role = #tg.role<parameter>, tg.name = "kept.c", tg.module = ""},
    %x: tensor<8x4xf32> {tg.role = #tg.role<input>})
    -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32> {tg.role = #tg.role<gradient of 0>}, tensor<4xf32> {tg.role = #tg.role<gradient of 1>}, tensor<4xf32> {tg.role = #tg.role<gradient of 2>}) {
  %0 = tg.node "aten.mul.Tensor"(%x, %a) : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %1 = tg.node "aten.mul.Tensor"(%0, %b) : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %2 = tg.node "aten.mul.Tensor"(%1, %c) : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %da = tg.node "aten.sum.dim_IntList"(%0) args [#tg.operand<0>, [0]] {tg.phase = #tg.phase<backward>} : (tensor<8x4xf32>) -> tensor<4xf32>
  %db = tg.node "aten.sum.dim_IntList"(%1) args [#tg.operand<0>, [0]] {tg.phase = #tg.phase<backward>} : (tensor<8x4xf32>) -> tensor<4xf32>
  %future = tg.all_reduce sum %db on @mesh [ep] phase backward : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %sum = tg.wait %future {tg.phase = #tg.phase<backward>} : !tg.future<tensor<4xf32>>
  %dc0 = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [0]] {tg.phase = #tg.phase<backward>} : (tensor<8x4xf32>) -> tensor<4xf32>
  %dc1 = tg.node "aten.sum.dim_IntList"(%2) args [#tg.operand<0>, [0]] {tg.phase = #tg.phase<backward>} : (tensor<8x4xf32>) -> tensor<4xf32>
  %future1 = tg.all_reduce sum %dc1 on @mesh [ep] phase backward : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %sum1 = tg.wait %future1 {tg.phase = #tg.phase<backward>} : !tg.future<tensor<4xf32>>
  %dc = tg.node "aten.add.Tensor"(%dc0, %sum1) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %read = tg.node "aten.neg.default"(%sum) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>) -> tensor<4xf32>
  return %2, %read, %da, %sum, %dc : tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
