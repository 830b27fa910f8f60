// RUN: not regather-opt %s "--tg-shard-step=mesh=tp:2 shard={up=[tq] shard 0}" 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not regather-opt %s "--tg-shard-step=mesh=tp:2 shard={up=[tp] cut 0}" 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: not regather-opt %s "--tg-shard-step=mesh=tp:2 shard={down=[tp] shard 0}" 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not regather-opt %s "--tg-shard-step=mesh=tp:2 shard={up=[tp] shard 0,*=[tp] shard 1}" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not regather-opt %s "--tg-shard-step=mesh=tp:2 shard={output(down)=[tp] shard 0}" 2>&1 | FileCheck %s --check-prefix=MODULE
// RUN: not regather-opt %s "--tg-shard-step=mesh=tp:2,cp:2 axes=cp shard={up=[tp] shard 0}" 2>&1 | FileCheck %s --check-prefix=AXES
// RUN: not regather-opt %s "--tg-shard-step=mesh=tp:2,cp:2 axes=tp,tp shard={up=[tp] shard 0}" 2>&1 | FileCheck %s --check-prefix=SAME
// RUN: not regather-opt %s "--tg-shard-step=shard={up=[tp] shard 0}" 2>&1 | FileCheck %s --check-prefix=MESH
// RUN: regather-opt %s "--tg-shard-step=mesh=tp:3" 2>&1 | FileCheck %s --check-prefix=IDLE
// RUN: not regather-opt %s "--tg-shard-parameters=mesh=dp:2,tp:2 model-axes=tp shard-axis=tp" 2>&1 | FileCheck %s --check-prefix=BOTH

// AXIS: option 'shard' names axis "tq", which is not in option 'mesh': "tp"
// TEXT: option 'shard' expects a placement over one axis, such as 'layers.*.wq=[tp] shard 0' or 'output(layers.*.wo)=[tp] shard 1', got "up=[tp] cut 0"
// NOTHING: pattern "down" of option 'shard' matches no parameter or input; there are up, x
// TWICE: "up" is claimed by two patterns of option 'shard': "up" and "*"
// MODULE: pattern "down" of option 'shard' matches no module; there are up
// AXES: option 'shard' asks for "up=[tp] shard 0", but option 'axes' does not list axis "tp"
// SAME: option 'axes' lists axis "tp" twice
// MESH: option 'mesh' is missing
// IDLE: warning: axis "tp" of option 'mesh' splits nothing: its 3 ranks do the same work, because no cut costs less; say with option 'shard' what lies over it
// BOTH: options 'model-axes' and 'shard-axis' both name axis "tp"
func.func @step(
    %up: tensor<8x8xf32> {tg.role = #tg.role<parameter>, tg.name = "up"},
    %x: tensor<8x8xf32> {tg.role = #tg.role<input>, tg.name = "x"}) -> tensor<8x8xf32> {
  %y = tg.node "aten.mm.default"(%x, %up) {tg.phase = #tg.phase<forward>, tg.module = "up"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}
