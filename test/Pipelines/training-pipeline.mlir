// The pipeline lowers unless told otherwise, and checks what its options need.

// RUN: regather-opt %s --regather-training-pipeline | FileCheck %s --check-prefix=LOWERED
// RUN: regather-opt %s --pass-pipeline='builtin.module(regather-training-pipeline{lower=false})' | FileCheck %s --check-prefix=KEPT
// RUN: regather-opt %s --pass-pipeline='builtin.module(regather-training-pipeline{mesh=dp:2 reshard=always policy={full modules=up:none} lower=false})' | FileCheck %s --check-prefix=RELEASED
// RUN: not regather-opt %s --pass-pipeline='builtin.module(regather-training-pipeline{mesh=dp:2 bucket="[up],[down] each"})' --mlir-print-op-on-diagnostic=false 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: not regather-opt %s --pass-pipeline='builtin.module(regather-training-pipeline{mesh=dp:2 bucket={auto max-bytes=-1}})' --mlir-print-op-on-diagnostic=false 2>&1 | FileCheck %s --check-prefix=AUTO
// RUN: not regather-opt %s --regather-training-pipeline='replicate-axis=rep' 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not regather-opt %s --regather-training-pipeline='layout=flat' 2>&1 | FileCheck %s --check-prefix=LAYOUT
// RUN: regather-opt %s --pass-pipeline='builtin.module(regather-training-pipeline{mesh=tp:2 layout=flat shard={up=[tp] shard 0} lower=false})' | FileCheck %s --check-prefix=CUT
// RUN: not regather-opt %s --regather-training-pipeline='meshes=dp:4' 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not regather-opt %s --regather-training-pipeline='mesh=ep:2 expert-chunks=2' 2>&1 | FileCheck %s --check-prefix=CHUNKS
// RUN: not regather-opt %s --regather-training-pipeline='mesh=ep:2 expert-capacity=1.25 expert-chunks=auto' 2>&1 | FileCheck %s --check-prefix=TRIES

// LOWERED-LABEL: @step
// LOWERED: linalg.matmul
// LOWERED-NOT: tg.node
// KEPT-LABEL: @step
// KEPT: tg.node "aten.mm.default"
// RELEASED: tg.reshard = #tg.reshard<always>
// RELEASED: tg.all_gather {{.*}} phase backward generation 1
// PLAN: pattern "down" of option 'plan' matches no module
// AUTO: 'max-bytes' must not be negative, got -1
// AXIS: replicate-axis "rep" needs a mesh that has it
// LAYOUT: layout "flat" needs a mesh to shard parameters over
// CUT: tensor<4x2xf32> {{[^%]*}}tg.name = "up.w", tg.placement = #tg.placement<@mesh {{\[\[}}tp] = shard 0]>
// OPTION: no such option meshes
// CHUNKS: expert-chunks "2" needs a capacity for rows that are sent, expert-capacity
// TRIES: option 'expert-chunks' expects a number of chunks, got "auto": a pipeline simulates no steps

func.func @step(%x: tensor<4x8xf32> {tg.role = #tg.role<input>},
                %y: tensor<8x2xf32> {tg.role = #tg.role<parameter>, tg.name = "up.w", tg.module = "up"})
    -> (tensor<4x2xf32>, tensor<4x2xf32>) {
  %z = tg.node "aten.mm.default"(%x, %y) {tg.phase = #tg.phase<forward>, tg.module = "up"}
      : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  %g = tg.node "aten.mm.default"(%x, %y) {tg.phase = #tg.phase<backward>, tg.module = "up"}
      : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  return %z, %g : tensor<4x2xf32>, tensor<4x2xf32>
}
