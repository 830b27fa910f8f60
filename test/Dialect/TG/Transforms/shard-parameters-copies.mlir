// RUN: regather-opt %s -split-input-file "--tg-shard-parameters=mesh=dp:2,ep:2 model-axes=ep copy-axes=ep" --tg-verify-step | FileCheck %s
// RUN: regather-opt %s -split-input-file "--tg-shard-parameters=mesh=dp:2,ep:2 model-axes=ep copy-axes=ep batch=per-rank" --tg-verify-step | FileCheck %s --check-prefix=MEAN
// RUN: regather-opt %s -split-input-file "--tg-shard-parameters=mesh=dp:2,ep:2 model-axes=ep copy-axes=ep micro-batches=2" --tg-verify-step | FileCheck %s --check-prefix=BATCHES
// RUN: regather-opt %s -split-input-file "--tg-shard-parameters=mesh=dp:2,ep:2 model-axes=ep copy-axes=ep" --remark-format=emitRemark --remarks-filter=tg-shard-parameters -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// The ranks of ep have parts of the experts, and copies of all else, of whose
// gradients they have summands. Such parameters, and frozen ones, are shared by
// the ranks of dp and ep; the sum over ep is part of the reduction.
// CHECK-LABEL: func.func @step(
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<16xf32> {{{[^}]*}}"m.w" at 0 of [4, 4]{{.*}} tg.placement = #tg.placement<@mesh {{\[\[}}dp, ep] = shard 0]>
// CHECK-SAME:    %[[F:[a-z0-9]+]]: tensor<16xf32> {{{[^}]*}}"m.f" at 0 of [4, 4]{{.*}} tg.placement = #tg.placement<@mesh {{\[\[}}dp, ep] = shard 0]>
// CHECK-SAME:    %[[E:[a-z0-9]+]]: tensor<1x4xf32> {{.*}}tg.placement = #tg.placement<@mesh {{\[\[}}ep, dp] = shard 0]>
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4x4xf32> {{.*}}#tg.placement<@mesh {{\[\[}}ep, dp] = shard 0]>
// CHECK-DAG:     tg.all_gather %[[W]], %[[F]] on @mesh [dp, ep] dim 0 phase forward {{.*}} -> !tg.future<tensor<64xf32>, tensor<64xf32>>
// CHECK-DAG:     tg.all_gather %[[E]] on @mesh [dp] dim 0 phase forward
// CHECK:         %[[DW:.*]] = tg.node "aten.mm.default"{{.*}} {test.gradient
// CHECK-NOT:     tg.all_reduce
// CHECK:         %[[FLAT:.*]] = tg.flatten %[[DW]] offsets [0]
// CHECK:         tg.reduce_scatter sum %[[FLAT]] on @mesh [dp, ep] dim 0 phase backward {{.*}} -> !tg.future<tensor<16xf32>>
// CHECK-NOT:     tg.all_reduce

// With a batch for each rank of dp, the mean over both axes is multiplied by the
// ranks of ep.
// MEAN-LABEL: func.func @step(
// MEAN:         %[[FUTURE:.*]] = tg.reduce_scatter avg %{{.*}} on @mesh [dp, ep] dim 0
// MEAN-NEXT:    %[[PART:.*]] = tg.wait %[[FUTURE]]
// MEAN:         %[[COPIES:.*]] = tg.node "aten.scalar_tensor.default"() args [2.000000e+00]
// MEAN:         %[[SUM:.*]] = tg.node "aten.mul.Tensor"(%[[PART]], %[[COPIES]])
// MEAN:         return %{{.*}}, %[[SUM]]

// Sums over ep of two batches are one.
// BATCHES-LABEL: func.func @step(
// BATCHES:         %[[D0:.*]] = tg.node "aten.mm.default"{{.*}} {test.gradient
// BATCHES:         %[[D1:.*]] = tg.node "aten.mm.default"{{.*}} {test.gradient
// BATCHES:         %[[BOTH:.*]] = tg.node "aten.add.Tensor"(%[[D0]], %[[D1]])
// BATCHES:         %[[MEAN:.*]] = tg.node "aten.div.Scalar"(%[[BOTH]])
// BATCHES:         %[[FLAT:.*]] = tg.flatten %[[MEAN]]
// BATCHES:         tg.reduce_scatter sum %[[FLAT]] on @mesh [dp, ep] dim 0
// BATCHES-NOT:     tg.all_reduce sum {{.*}} [ep]
tg.mesh @mesh [dp = 2, ep = 2]
func.func @step(
    %w: tensor<4x4xf32> {tg.role = #tg.role<parameter>, tg.name = "m.w", tg.module = "m"},
    %f: tensor<4x4xf32> {tg.role = #tg.role<parameter>, tg.name = "m.f", tg.module = "m"},
    %e: tensor<2x4xf32> {tg.role = #tg.role<parameter>, tg.name = "m.e", tg.module = "m", tg.placement = #tg.placement<@mesh [[ep] = shard 0]>},
    %x: tensor<8x4xf32> {tg.role = #tg.role<input>, tg.name = "x", tg.placement = #tg.placement<@mesh [[ep] = shard 0]>})
    -> (tensor<f32> {tg.role = #tg.role<loss>},
        tensor<4x4xf32> {tg.role = #tg.role<gradient of 0>},
        tensor<2x4xf32> {tg.role = #tg.role<gradient of 2>}) {
  %a = tg.node "aten.mm.default"(%x, %w) {tg.phase = #tg.phase<forward>} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %b = tg.node "aten.mm.default"(%a, %f) {tg.phase = #tg.phase<forward>} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %sum = tg.node "aten.sum.dim_IntList"(%e) args [#tg.operand<0>, [0]] {tg.phase = #tg.phase<forward>} : (tensor<2x4xf32>) -> tensor<4xf32>
  %c = tg.node "aten.mul.Tensor"(%b, %sum) {tg.phase = #tg.phase<forward>} : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %loss = tg.node "aten.sum.default"(%c) {tg.phase = #tg.phase<forward>} : (tensor<8x4xf32>) -> tensor<f32>
  %xt = tg.node "aten.t.default"(%x) {tg.phase = #tg.phase<backward>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %dw = tg.node "aten.mm.default"(%xt, %c) {test.gradient, tg.phase = #tg.phase<backward>} : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %future = tg.all_reduce sum %dw on @mesh [ep] phase backward : (tensor<4x4xf32>) -> !tg.future<tensor<4x4xf32>>
  %reduced = tg.wait %future : !tg.future<tensor<4x4xf32>>
  %row = tg.node "aten.sum.dim_IntList"(%c) args [#tg.operand<0>, [0]] {tg.phase = #tg.phase<backward>} : (tensor<8x4xf32>) -> tensor<4xf32>
  %de = tg.node "aten.expand.default"(%row) args [#tg.operand<0>, [2, 4]] {tg.phase = #tg.phase<backward>} : (tensor<4xf32>) -> tensor<2x4xf32>
  return %loss, %reduced, %de : tensor<f32>, tensor<4x4xf32>, tensor<2x4xf32>
}

// -----

// A gradient that is rounded behind the sum is rounded behind the reduction, and
// a sum over another axis in between stays.
// CHECK-LABEL: func.func @rounded(
// CHECK-SAME:    tensor<32xbf16> {{.*}}{{\[\[}}dp, ep] = shard 0]>
// CHECK:         %[[D:.*]] = tg.node "aten.sum.dim_IntList"
// CHECK:         %[[OTHER:.*]] = tg.all_reduce sum %[[D]] on @mesh [dp]
// CHECK-NOT:     [ep]
// REMARK-NOT: kept-copies{{.*}}"rounded.w"
tg.mesh @mesh [dp = 2, ep = 2]
func.func @rounded(
    %w: tensor<4xbf16> {tg.role = #tg.role<parameter>, tg.name = "rounded.w"},
    %x: tensor<8x4xf32> {tg.role = #tg.role<input>})
    -> (tensor<8x4xf32>, tensor<4xbf16> {tg.role = #tg.role<gradient of 0>}) {
  %wide = tg.node "aten._to_copy.default"(%w) kwargs {dtype = f32} : (tensor<4xbf16>) -> tensor<4xf32>
  %y = tg.node "aten.mul.Tensor"(%x, %wide) : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %d = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [0]] {tg.phase = #tg.phase<backward>} : (tensor<8x4xf32>) -> tensor<4xf32>
  %future = tg.all_reduce sum %d on @mesh [ep] phase backward : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %reduced = tg.wait %future : !tg.future<tensor<4xf32>>
  %narrow = tg.node "aten._to_copy.default"(%reduced) kwargs {dtype = bf16} {tg.phase = #tg.phase<backward>} : (tensor<4xf32>) -> tensor<4xbf16>
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
tg.mesh @mesh [dp = 2, ep = 2]
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
  %sum = tg.wait %future : !tg.future<tensor<4xf32>>
  %dc0 = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [0]] {tg.phase = #tg.phase<backward>} : (tensor<8x4xf32>) -> tensor<4xf32>
  %dc1 = tg.node "aten.sum.dim_IntList"(%2) args [#tg.operand<0>, [0]] {tg.phase = #tg.phase<backward>} : (tensor<8x4xf32>) -> tensor<4xf32>
  %future1 = tg.all_reduce sum %dc1 on @mesh [ep] phase backward : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %sum1 = tg.wait %future1 : !tg.future<tensor<4xf32>>
  %dc = tg.node "aten.add.Tensor"(%dc0, %sum1) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %read = tg.node "aten.neg.default"(%sum) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>) -> tensor<4xf32>
  return %2, %read, %da, %sum, %dc : tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
