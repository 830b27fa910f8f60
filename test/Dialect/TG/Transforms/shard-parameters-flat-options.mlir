// RUN: regather-opt %s "--tg-shard-parameters=mesh=rep:2,dp:4 replicate-axis=rep compute-dtype=bf16 reduce-dtype=f32" --tg-verify-step | FileCheck %s --check-prefix=HYBRID
// RUN: regather-opt %s "--tg-shard-parameters=mesh=dp:4 optimizer-groups=tied,*.weight,*" --tg-verify-step | FileCheck %s --check-prefix=GROUPS
// RUN: regather-opt %s "--tg-shard-parameters=mesh=dp:3,tp:2 shard-axis=tp alignment=4" --tg-verify-step | FileCheck %s --check-prefix=PACKED
// RUN: regather-opt %s "--tg-shard-parameters=mesh=dp:2 micro-batches=2" --tg-verify-step | FileCheck %s --check-prefix=MICRO
// RUN: regather-opt %s "--tg-shard-parameters=mesh=dp:4 ignore=up.gate" --tg-verify-step | FileCheck %s --check-prefix=IGNORE
// RUN: regather-opt %s "--tg-shard-parameters=mesh=dp:4 replicate-axis=dp" --tg-verify-step | FileCheck %s --check-prefix=DDP
// RUN: regather-opt %s "--tg-shard-parameters=mesh=dp:1 alignment=1" --tg-verify-step --canonicalize | FileCheck %s --check-prefix=ONE
//
// RUN: not regather-opt %s "--tg-shard-parameters=mesh=dp:4 alignment=48" 2>&1 | FileCheck %s --check-prefix=ALIGNMENT
// RUN: not regather-opt %s "--tg-shard-parameters=mesh=dp:8 alignment=4611686018427387904" 2>&1 | FileCheck %s --check-prefix=TOO-LARGE
// RUN: not regather-opt %s "--tg-shard-parameters=mesh=dp:4 layout=rows" 2>&1 | FileCheck %s --check-prefix=LAYOUT
// RUN: not regather-opt %s "--tg-shard-parameters=mesh=dp:4 optimizer-groups=down.*" 2>&1 | FileCheck %s --check-prefix=NO-MATCH
// RUN: not regather-opt %s "--tg-shard-parameters=mesh=dp:4 optimizer-groups=[" 2>&1 | FileCheck %s --check-prefix=MALFORMED
// RUN: not regather-opt %s "--tg-shard-parameters=mesh=dp:4 layout=per-parameter optimizer-groups=up.*" 2>&1 | FileCheck %s --check-prefix=NOT-FLAT

// Buffers are aligned in the narrowest of the element types that they pass
// through: in bf16, 64 bytes are 32 elements.
// HYBRID:        %[[M:[a-z0-9]+]]: tensor<32xf32> {{.*}}["up.weight" at 0 of [8, 5] registration 0, "up.gate" at 64 of [8, 5]
// HYBRID:        %[[CAST:.*]] = tg.node "aten._to_copy.default"(%[[M]]) kwargs {dtype = bf16}
// HYBRID:        tg.all_gather %[[CAST]], %{{.*}} on @mesh [dp] {{.*}} -> !tg.future<tensor<128xbf16>, tensor<128xbf16>>
// HYBRID:        tg.unflatten %{{.*}} offsets [0, 64] {{.*}} : (tensor<128xbf16>) -> (tensor<8x5xbf16>, tensor<8x5xbf16>)
// HYBRID:        tg.reduce_scatter sum %{{.*}}, %{{.*}} on @mesh [dp]
// HYBRID:        tg.all_reduce sum %{{.*}}, %{{.*}} on @mesh [rep] phase backward
// HYBRID-NOT:    tg.all_reduce

// The first pattern that matches one of a parameter's names counts.
// GROUPS:        ["up.weight" at 0 of [8, 5] registration 0]>, tg.module = "up", tg.name = "up.group2"
// GROUPS-SAME:   ["up.bias" at 0 of [5] registration 1]>, tg.module = "up", tg.name = "up.group3"
// GROUPS-SAME:   ["up.gate" at 0 of [8, 5] registration 2 aliases ["tied"]]>, tg.module = "up", tg.name = "up.group1"

// PACKED:        tensor<40xf32> {{.*}}["up.weight" at 0 of [8, 5] registration 0, "up.gate" at 40 of [8, 5]
// PACKED-SAME:   tensor<3xf32> {{.*}}["up.bias" at 0 of [5]

// Gathered once, reduced once.
// MICRO-COUNT-2: tg.unflatten
// MICRO-NOT:     tg.unflatten
// MICRO-COUNT-2: tg.flatten
// MICRO-NOT:     tg.flatten
// MICRO:         tg.reduce_scatter sum %{{.*}}, %{{.*}} on

// IGNORE:        ["up.weight" at 0 of [8, 5] registration 0]>
// IGNORE-SAME:   tensor<8x5xf32> {tg.aliases = ["tied"], tg.donated, tg.module = "up", tg.name = "up.gate", tg.registration = 2 : i64, tg.role = #tg.role<parameter>}
// IGNORE:        tg.all_reduce sum %{{.*}} on @mesh [dp] phase backward

// Parameters that are not sharded are not put together either.
// DDP:           func.func @step(
// DDP-NOT:       tg.members
// DDP-NOT:       tg.unflatten

// On one rank, the buffers are taken apart and put together.
// ONE:           tensor<80xf32>
// ONE-NOT:       tg.all_gather
// ONE:           tg.unflatten %{{.*}} offsets [0, 40]
// ONE:           tg.flatten %{{.*}}, %{{.*}} offsets [0, 40]
// ONE-NOT:       tg.reduce_scatter

// ALIGNMENT: error: option 'alignment' must be a power of two, got 48
// TOO-LARGE: error: flat buffer "up.matrices" has more elements than 64 bits can count
// LAYOUT:    Cannot find option named 'rows'
// NO-MATCH:  error: pattern "down.*" of option 'optimizer-groups' matches no parameter
// MALFORMED: error: pattern "[" of option 'optimizer-groups' is malformed:
// NOT-FLAT:  error: option 'optimizer-groups' is for layout=flat, but the layout is per-parameter
func.func @step(
    %up: tensor<8x5xf32> {tg.role = #tg.role<parameter>, tg.name = "up.weight", tg.module = "up", tg.registration = 0 : i64, tg.donated},
    %bias: tensor<5xf32> {tg.role = #tg.role<parameter>, tg.name = "up.bias", tg.module = "up", tg.registration = 1 : i64, tg.donated},
    %x: tensor<8x8xf32> {tg.role = #tg.role<input>, tg.name = "x"},
    %gate: tensor<8x5xf32> {tg.role = #tg.role<parameter>, tg.name = "up.gate", tg.module = "up", tg.registration = 2 : i64, tg.donated, tg.aliases = ["tied"]})
    -> (tensor<f32> {tg.role = #tg.role<loss>},
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
  return %loss, %dgate, %dup, %dbias : tensor<f32>, tensor<8x5xf32>, tensor<8x5xf32>, tensor<5xf32>
}
