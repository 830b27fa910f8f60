// RUN: regather-opt %s -split-input-file --tg-shard-parameters=mesh=dp:4 --tg-verify-step | FileCheck %s
// RUN: regather-opt %s -split-input-file --tg-shard-parameters=mesh=dp:4 --remark-format=emitRemark --remarks-filter=tg-shard-parameters -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// Matrices of a unit lie in one buffer, vectors in another, in registration
// order and at multiples of 64 bytes. A rank holds a slice of each, padded to
// such a multiple. All buffers of the unit travel together. What has a number
// in place of a name keeps it.
// CHECK-LABEL: func.func @step(
// CHECK-SAME:    %[[M:[a-z0-9]+]]: tensor<32xf32> {tg.donated, tg.members = #tg.members<["up.weight" at 0 of [8, 5] registration 0, "up.gate" at 48 of [8, 5] registration 2 aliases ["tied"]]>, tg.module = "up", tg.name = "up.matrices", tg.placement = #tg.placement<@mesh {{\[\[}}dp] = shard 0]>, tg.registration = 0 : i64, tg.role = #tg.role<parameter>}
// CHECK-SAME:    %[[V:[a-z0-9]+]]: tensor<16xf32> {tg.donated, tg.members = #tg.members<["up.bias" at 0 of [5] registration 1]>, {{.*}}tg.name = "up.vectors"
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x8xf32>
// CHECK-SAME:    %[[COUNT:[a-z0-9]+]]: tensor<f32> {tg.name = "arg4", tg.role = #tg.role<buffer>}
// CHECK-SAME:    -> (tensor<f32> {tg.role = #tg.role<loss>}, tensor<f32> {tg.role = #tg.role<update of 3>},
// CHECK-SAME:    tensor<32xf32> {tg.role = #tg.role<gradient of 0>}, tensor<16xf32> {tg.role = #tg.role<gradient of 1>})
// CHECK:         %[[GATHER:.*]] = tg.all_gather %[[M]], %[[V]] on @mesh [dp] dim 0 phase forward {tg.module = "up"} : (tensor<32xf32>, tensor<16xf32>) -> !tg.future<tensor<128xf32>, tensor<64xf32>>
// CHECK:         %[[WHOLE:.*]]:2 = tg.wait %[[GATHER]]
// CHECK:         %[[MATRICES:.*]]:2 = tg.unflatten %[[WHOLE]]#0 offsets [0, 48] {tg.module = "up", tg.phase = #tg.phase<forward>}
// CHECK:         %[[BIAS:.*]] = tg.unflatten %[[WHOLE]]#1 offsets [0]
// CHECK:         %[[Y0:.*]] = tg.node "aten.mm.default"(%[[X]], %[[MATRICES]]#0)
// CHECK:         %[[Y1:.*]] = tg.node "aten.mm.default"(%[[X]], %[[MATRICES]]#1)
// CHECK:         %[[Y2:.*]] = tg.node "aten.add.Tensor"(%[[Y0]], %[[BIAS]])
// CHECK:         %[[DUP:.*]] = tg.node "aten.mm.default"(%{{.*}}, %[[Y1]])
// CHECK:         %[[DGATE:.*]] = tg.node "aten.mm.default"(%{{.*}}, %[[Y2]])
// CHECK:         %[[DBIAS:.*]] = tg.node "aten.sum.dim_IntList"
// CHECK:         %[[DM:.*]] = tg.flatten %[[DUP]], %[[DGATE]] offsets [0, 48] {tg.module = "up", tg.phase = #tg.phase<backward>} : {{.*}} -> tensor<128xf32>
// CHECK:         %[[DV:.*]] = tg.flatten %[[DBIAS]] offsets [0]
// CHECK:         %[[SCATTER:.*]] = tg.reduce_scatter sum %[[DM]], %[[DV]] on @mesh [dp] dim 0 phase backward
// CHECK:         %[[SHARD:.*]]:2 = tg.wait %[[SCATTER]]
// CHECK:         return %{{.*}}, %[[COUNT]], %[[SHARD]]#0, %[[SHARD]]#1
func.func @step(
    %up: tensor<8x5xf32> {tg.role = #tg.role<parameter>, tg.name = "up.weight", tg.module = "up", tg.registration = 0 : i64, tg.donated},
    %bias: tensor<5xf32> {tg.role = #tg.role<parameter>, tg.name = "up.bias", tg.module = "up", tg.registration = 1 : i64, tg.donated},
    %x: tensor<8x8xf32> {tg.role = #tg.role<input>, tg.name = "x"},
    %gate: tensor<8x5xf32> {tg.role = #tg.role<parameter>, tg.name = "up.gate", tg.module = "up", tg.registration = 2 : i64, tg.donated, tg.aliases = ["tied"]},
    %count: tensor<f32> {tg.role = #tg.role<buffer>})
    -> (tensor<f32> {tg.role = #tg.role<loss>},
        tensor<f32> {tg.role = #tg.role<update of 4>},
        tensor<8x5xf32> {tg.role = #tg.role<gradient of 3>},
        tensor<8x5xf32> {tg.role = #tg.role<gradient of 0>},
        tensor<5xf32> {tg.role = #tg.role<gradient of 1>}) {
  %y0 = tg.node "aten.mm.default"(%x, %up) {tg.phase = #tg.phase<forward>, tg.module = "up"}
      : (tensor<8x8xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
  %y1 = tg.node "aten.mm.default"(%x, %gate) {tg.phase = #tg.phase<forward>, tg.module = "up"}
      : (tensor<8x8xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
  %y2 = tg.node "aten.add.Tensor"(%y0, %bias) {tg.phase = #tg.phase<forward>, tg.module = "up"}
      : (tensor<8x5xf32>, tensor<5xf32>) -> tensor<8x5xf32>
  %y = tg.node "aten.mul.Tensor"(%y2, %y1) {tg.phase = #tg.phase<forward>, tg.module = "up"}
      : (tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
  %loss = tg.node "aten.sum.default"(%y) {tg.phase = #tg.phase<forward>} : (tensor<8x5xf32>) -> tensor<f32>
  %xt = tg.node "aten.t.default"(%x) {tg.phase = #tg.phase<backward>, tg.module = "up"}
      : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %dup = tg.node "aten.mm.default"(%xt, %y1) {tg.phase = #tg.phase<backward>, tg.module = "up"}
      : (tensor<8x8xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
  %dgate = tg.node "aten.mm.default"(%xt, %y2) {tg.phase = #tg.phase<backward>, tg.module = "up"}
      : (tensor<8x8xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
  %dbias = tg.node "aten.sum.dim_IntList"(%y1) args [#tg.operand<0>, [0]] {tg.phase = #tg.phase<backward>, tg.module = "up"}
      : (tensor<8x5xf32>) -> tensor<5xf32>
  return %loss, %count, %dgate, %dup, %dbias : tensor<f32>, tensor<f32>, tensor<8x5xf32>, tensor<8x5xf32>, tensor<5xf32>
}

// -----

// Frozen parameters lie apart; those that nothing uses are not gathered. Not
// all of the frozen ones are donated, so the buffer is not.
// CHECK-LABEL: func.func @frozen(
// CHECK-SAME:    tensor<16xf32> {tg.donated, tg.members = #tg.members<["trained" at 0 of [4]]>, tg.name = "vectors"
// CHECK-SAME:    %[[FROZEN:[a-z0-9]+]]: tensor<16xf32> {tg.members = #tg.members<["fixed" at 0 of [4], "unused" at 16 of []]>, tg.name = "frozen_vectors"
// CHECK-SAME:    tensor<16xf32> {tg.members = #tg.members<["unused.matrix" at 0 of [2, 2]]>, tg.module = "unused", tg.name = "unused.frozen_matrices"
// CHECK:         tg.all_gather %{{[a-z0-9]+}}, %[[FROZEN]] on
// CHECK:         tg.unflatten %{{.*}} offsets [0] {{.*}} : (tensor<64xf32>) -> tensor<4xf32>
// CHECK:         tg.unflatten %{{.*}} offsets [0] {{.*}} : (tensor<64xf32>) -> tensor<4xf32>
// CHECK-NOT:     tg.all_gather
// CHECK-NOT:     tg.unflatten
func.func @frozen(
    %trained: tensor<4xf32> {tg.role = #tg.role<parameter>, tg.name = "trained", tg.donated},
    %fixed: tensor<4xf32> {tg.role = #tg.role<parameter>, tg.name = "fixed", tg.donated},
    %unused: tensor<f32> {tg.role = #tg.role<parameter>, tg.name = "unused"},
    %matrix: tensor<2x2xf32> {tg.role = #tg.role<parameter>, tg.name = "unused.matrix"},
    %x: tensor<8x4xf32> {tg.role = #tg.role<input>})
    -> (tensor<8x4xf32>, tensor<4xf32> {tg.role = #tg.role<gradient of 0>}) {
  %y = tg.node "aten.mul.Tensor"(%x, %trained) : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %z = tg.node "aten.mul.Tensor"(%y, %fixed) : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %d = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [0]] {tg.phase = #tg.phase<backward>}
      : (tensor<8x4xf32>) -> tensor<4xf32>
  return %z, %d : tensor<8x4xf32>, tensor<4xf32>
}

// -----

// Near misses: the step updates one parameter and returns another one.
// CHECK-LABEL: func.func @own_arguments(
// CHECK-SAME:    tensor<1xf32> {tg.name = "updated"
// CHECK-SAME:    tensor<1xf32> {tg.name = "returned"
// CHECK-SAME:    tensor<16xf32> {tg.members = #tg.members<["plain" at 0 of [4]]>
// REMARK-DAG: own-argument{{.*}}parameter "updated" does not join a flat buffer: the step updates it
// REMARK-DAG: own-argument{{.*}}parameter "returned" does not join a flat buffer: the step returns it
func.func @own_arguments(
    %updated: tensor<4xf32> {tg.role = #tg.role<parameter>, tg.name = "updated"},
    %returned: tensor<4xf32> {tg.role = #tg.role<parameter>, tg.name = "returned"},
    %plain: tensor<4xf32> {tg.role = #tg.role<parameter>, tg.name = "plain"},
    %x: tensor<8x4xf32> {tg.role = #tg.role<input>})
    -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32> {tg.role = #tg.role<update of 0>}) {
  %a = tg.node "aten.mul.Tensor"(%x, %updated) : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %b = tg.node "aten.mul.Tensor"(%a, %returned) : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %c = tg.node "aten.mul.Tensor"(%b, %plain) : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %new = tg.node "aten.neg.default"(%updated) {tg.phase = #tg.phase<optimizer>} : (tensor<4xf32>) -> tensor<4xf32>
  return %c, %returned, %new : tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// A gradient that is equal on all ranks is no sum over them. The other one is
// reduced by itself, and each rank takes its slice of both.
// CHECK-LABEL: func.func @mixed_gradients(
// CHECK-SAME:    %[[FLAT:[a-z0-9]+]]: tensor<16xf32>
// CHECK:         %[[SUM:.*]] = tg.node "aten.sum.dim_IntList"
// CHECK:         %[[FUTURE:.*]] = tg.all_reduce sum %[[SUM]] on @mesh [dp]
// CHECK:         %[[REDUCED:.*]] = tg.wait %[[FUTURE]]
// CHECK:         %[[BOTH:.*]] = tg.flatten %[[REDUCED]], %{{.*}} offsets [0, 16] {{.*}} -> tensor<64xf32>
// CHECK:         %[[SLICE:.*]] = tensor.extract_slice %[[BOTH]][%{{.*}}] [16] [1]
// CHECK:         return %{{.*}}, %[[SLICE]]
// CHECK-NOT:     tg.reduce_scatter
func.func @mixed_gradients(
    %a: tensor<4xf32> {tg.role = #tg.role<parameter>, tg.name = "a"},
    %b: tensor<4xf32> {tg.role = #tg.role<parameter>, tg.name = "b"},
    %x: tensor<8x4xf32> {tg.role = #tg.role<input>})
    -> (tensor<8x4xf32>, tensor<4xf32> {tg.role = #tg.role<gradient of 0>}, tensor<4xf32> {tg.role = #tg.role<gradient of 1>}) {
  %y = tg.node "aten.mul.Tensor"(%x, %a) : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %z = tg.node "aten.mul.Tensor"(%y, %b) : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %da = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [0]] {tg.phase = #tg.phase<backward>}
      : (tensor<8x4xf32>) -> tensor<4xf32>
  %db = tg.node "aten.neg.default"(%b) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>) -> tensor<4xf32>
  return %z, %da, %db : tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// A gradient that was rounded is reduced before, and rounded after.
// CHECK-LABEL: func.func @rounded(
// CHECK-SAME:    tensor<32xbf16>
// CHECK:         %[[FLAT:.*]] = tg.flatten %{{.*}} offsets [0] {{.*}} -> tensor<128xf32>
// CHECK:         %[[FUTURE:.*]] = tg.reduce_scatter sum %[[FLAT]]
// CHECK-NEXT:    %[[SUM:.*]] = tg.wait %[[FUTURE]]
// CHECK-NEXT:    %[[ROUNDED:.*]] = tg.node "aten._to_copy.default"(%[[SUM]]) kwargs {dtype = bf16} {{.*}} : (tensor<32xf32>) -> tensor<32xbf16>
// CHECK-NEXT:    return %{{.*}}, %[[ROUNDED]]
func.func @rounded(
    %w: tensor<4xbf16> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<8x4xf32> {tg.role = #tg.role<input>})
    -> (tensor<8x4xf32>, tensor<4xbf16> {tg.role = #tg.role<gradient of 0>}) {
  %wide = tg.node "aten._to_copy.default"(%w) kwargs {dtype = f32} : (tensor<4xbf16>) -> tensor<4xf32>
  %y = tg.node "aten.mul.Tensor"(%x, %wide) : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %d = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [0]] {tg.phase = #tg.phase<backward>}
      : (tensor<8x4xf32>) -> tensor<4xf32>
  %rounded = tg.node "aten._to_copy.default"(%d) kwargs {dtype = bf16} {tg.phase = #tg.phase<backward>}
      : (tensor<4xf32>) -> tensor<4xbf16>
  return %y, %rounded : tensor<8x4xf32>, tensor<4xbf16>
}

// -----

// Near miss: another elementwise operation would change what lies between
// parameters. It sees the whole sum.
// CHECK-LABEL: func.func @clamped(
// CHECK:         tg.all_reduce sum
// CHECK:         %[[CLAMPED:.*]] = tg.node "aten.clamp.default"
// CHECK:         tg.flatten %[[CLAMPED]]
// CHECK:         tensor.extract_slice
func.func @clamped(
    %w: tensor<4xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<8x4xf32> {tg.role = #tg.role<input>})
    -> (tensor<8x4xf32>, tensor<4xf32> {tg.role = #tg.role<gradient of 0>}) {
  %y = tg.node "aten.mul.Tensor"(%x, %w) : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %d = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [0]] {tg.phase = #tg.phase<backward>}
      : (tensor<8x4xf32>) -> tensor<4xf32>
  %clamped = tg.node "aten.clamp.default"(%d) args [#tg.operand<0>, 1.0] {tg.phase = #tg.phase<backward>}
      : (tensor<4xf32>) -> tensor<4xf32>
  return %y, %clamped : tensor<8x4xf32>, tensor<4xf32>
}

// -----

// A gradient that the step is given is reduced like one that it computes; a
// name that a buffer would have may be taken.
// CHECK-LABEL: func.func @given_gradient(
// CHECK-SAME:    tg.name = "vectors_1"
// CHECK-SAME:    %[[GIVEN:[a-z0-9]+]]: tensor<4xf32>
// CHECK:         tg.flatten %[[GIVEN]] offsets [0] {tg.phase = #tg.phase<backward>}
func.func @given_gradient(
    %w: tensor<4xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %given: tensor<4xf32> {tg.role = #tg.role<buffer>, tg.name = "vectors"},
    %x: tensor<8x4xf32> {tg.role = #tg.role<input>})
    -> (tensor<8x4xf32>, tensor<4xf32> {tg.role = #tg.role<gradient of 0>}) {
  %y = tg.node "aten.mul.Tensor"(%x, %w) : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  return %y, %given : tensor<8x4xf32>, tensor<4xf32>
}
