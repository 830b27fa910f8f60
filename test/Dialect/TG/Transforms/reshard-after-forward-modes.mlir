// Which parameters tg-reshard-after-forward releases.

// RUN: regather-opt %s --tg-reshard-after-forward | FileCheck %s --check-prefix=DEFAULT
// RUN: regather-opt %s --tg-reshard-after-forward=mode=never | FileCheck %s --check-prefix=NEVER
// RUN: regather-opt %s --tg-reshard-after-forward="mode=never modules=layers.*:always" | FileCheck %s --check-prefix=MODULES
// RUN: regather-opt %s --tg-reshard-after-forward="mode=always group=2" | FileCheck %s --check-prefix=GROUP
// RUN: regather-opt %s --tg-reshard-after-forward="mode=always group=4" | FileCheck %s --check-prefix=AXES
// RUN: regather-opt %s --tg-reshard-after-forward="mode=always group=2" --tg-reshard-after-forward=mode=always | FileCheck %s --check-prefix=GROUP
// RUN: regather-opt %s --tg-reshard-after-forward --remark-format=emitRemark --remarks-filter=tg-reshard-after-forward -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// The head is the last unit of forward, and what backward begins with. What is
// marked stays as it is marked.
// DEFAULT: "embed", tg.reshard = #tg.reshard<never>
// DEFAULT: "layers.0.w", tg.reshard = #tg.reshard<always>
// DEFAULT: "layers.1.w", tg.reshard = #tg.reshard<always>
// DEFAULT: "head.w", tg.reshard = #tg.reshard<never>
// DEFAULT: tg.all_gather %arg2 {{.*}} phase backward generation 1
// DEFAULT: tg.all_gather %arg1 {{.*}} phase backward generation 1
// DEFAULT-NOT: generation

// NEVER: "layers.0.w", tg.reshard = #tg.reshard<never>
// NEVER-NOT: generation

// MODULES: "layers.1.w", tg.reshard = #tg.reshard<always>
// MODULES: "head.w", tg.reshard = #tg.reshard<never>
// MODULES-COUNT-2: generation
// MODULES-NOT: generation

// Forward keeps rows of the weight over two of the ranks along the axis, and
// backward gathers between these. Seven rows are padded to eight.
// GROUP: tg.mesh @mesh [node = 2, local = 4]
// GROUP: tg.mesh @mesh_groups [node = 2, local_outer = 2, local_inner = 2]
// GROUP: "layers.0.w", tg.reshard = #tg.reshard<group of 2>
// GROUP: %[[RANK:.*]] = tg.axis_index on @mesh_groups [local_inner]
// GROUP: %[[SIZE:.*]] = arith.constant {{.*}} 4 : index
// GROUP: %[[OFFSET:.*]] = arith.muli %[[RANK]], %[[SIZE]]
// GROUP: %[[WHOLE:.*]] = tg.wait {{.*}} : !tg.future<tensor<7x7xf32>>
// GROUP: %[[PADDED:.*]] = tensor.pad
// GROUP: tensor<7x7xf32> to tensor<8x7xf32>
// GROUP: %[[PART:.*]] = tensor.extract_slice %[[PADDED]][%[[OFFSET]], 0] [4, 7] [1, 1] {{.*}}forward
// GROUP: tg.all_gather %{{.*}} on @mesh_groups [local_inner] dim 0 phase backward generation 1 {{.*}}(tensor<4x7xf32>) -> !tg.future<tensor<7x7xf32>>
// GROUP-COUNT-2: @mesh_groups {{.*}} phase backward
// GROUP-NOT: phase backward gen

// A whole axis needs no other mesh.
// AXES-NOT: @mesh_groups
// AXES: tg.axis_index on @mesh [local]
// AXES: on @mesh [local] dim 0 phase backward generation 1

// REMARK: "embed" is kept after forward: it is marked so
// REMARK: "layers.0.w" is released after forward: backward gathers it again
// REMARK: "head.w" is kept after forward: backward begins with its unit
// REMARK-SAME: kept_bytes=196
// REMARK: total {{.*}} kept=2, kept_bytes=392, released=2, released_bytes=392
tg.mesh @mesh [node = 2, local = 4]

func.func @step(
    %e: tensor<1x7xf32> {tg.role = #tg.role<parameter>, tg.name = "embed", tg.module = "embed", tg.reshard = #tg.reshard<never>},
    %w0: tensor<1x7xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.0.w", tg.module = "layers.0"},
    %w1: tensor<1x7xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.1.w", tg.module = "layers.1"},
    %wh: tensor<1x7xf32> {tg.role = #tg.role<parameter>, tg.name = "head.w", tg.module = "head"}) -> tensor<7x7xf32> {
  %0 = tg.all_gather %e on @mesh [node, local] dim 0 phase forward : (tensor<1x7xf32>) -> !tg.future<tensor<7x7xf32>>
  %embed = tg.wait %0 : !tg.future<tensor<7x7xf32>>
  %1 = tg.all_gather %w0 on @mesh [node, local] dim 0 phase forward : (tensor<1x7xf32>) -> !tg.future<tensor<7x7xf32>>
  %first = tg.wait %1 : !tg.future<tensor<7x7xf32>>
  %a = tg.node "aten.mm.default"(%embed, %first) {tg.phase = #tg.phase<forward>} : (tensor<7x7xf32>, tensor<7x7xf32>) -> tensor<7x7xf32>
  %2 = tg.all_gather %w1 on @mesh [node, local] dim 0 phase forward : (tensor<1x7xf32>) -> !tg.future<tensor<7x7xf32>>
  %second = tg.wait %2 : !tg.future<tensor<7x7xf32>>
  %b = tg.node "aten.mm.default"(%a, %second) {tg.phase = #tg.phase<forward>} : (tensor<7x7xf32>, tensor<7x7xf32>) -> tensor<7x7xf32>
  %3 = tg.all_gather %wh on @mesh [node, local] dim 0 phase forward : (tensor<1x7xf32>) -> !tg.future<tensor<7x7xf32>>
  %head = tg.wait %3 : !tg.future<tensor<7x7xf32>>
  %c = tg.node "aten.mm.default"(%b, %head) {tg.phase = #tg.phase<forward>} : (tensor<7x7xf32>, tensor<7x7xf32>) -> tensor<7x7xf32>
  %g = tg.node "aten.mm.default"(%c, %head) {tg.phase = #tg.phase<backward>} : (tensor<7x7xf32>, tensor<7x7xf32>) -> tensor<7x7xf32>
  %h = tg.node "aten.mm.default"(%g, %second) {tg.phase = #tg.phase<backward>} : (tensor<7x7xf32>, tensor<7x7xf32>) -> tensor<7x7xf32>
  %i = tg.node "aten.mm.default"(%h, %first) {tg.phase = #tg.phase<backward>} : (tensor<7x7xf32>, tensor<7x7xf32>) -> tensor<7x7xf32>
  %j = tg.node "aten.mm.default"(%i, %embed) {tg.phase = #tg.phase<backward>} : (tensor<7x7xf32>, tensor<7x7xf32>) -> tensor<7x7xf32>
  return %j : tensor<7x7xf32>
}
