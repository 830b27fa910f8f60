// RUN: not regather-opt %s "--tg-shard-step=mesh=tp:2 elastic-axes=tp:x" 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: not regather-opt %s "--tg-shard-step=mesh=tp:2 elastic-axes=dp:4" 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not regather-opt %s "--tg-shard-step=mesh=cp:2,tp:2 elastic-axes=tp:4,cp:4" 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: not regather-opt %s "--tg-shard-step=mesh=cp:2,tp:2 elastic-axes=cp:4" 2>&1 | FileCheck %s --check-prefix=LAST
// RUN: not regather-opt %s "--tg-shard-step=mesh=tp:3 elastic-axes=tp:6" 2>&1 | FileCheck %s --check-prefix=RANKS
// RUN: not regather-opt %s "--tg-shard-step=mesh=tp:2 elastic-axes=tp:4 shard={odd=[tp] shard 0}" 2>&1 | FileCheck %s --check-prefix=SEGMENTS
// RUN: not regather-opt %s "--tg-shard-step=mesh=tp:2 elastic-axes=tp:4 shard={x=[tp] shard 0}" 2>&1 | FileCheck %s --check-prefix=BATCH
// RUN: not regather-opt %s "--tg-shard-step=mesh=tp:2 elastic-axes=tp:4 shard={output(m)=[tp] shard 0}" 2>&1 | FileCheck %s --check-prefix=OUTPUT
// RUN: not regather-opt %s "--tg-shard-step=mesh=ep:2 elastic-axes=ep:4" 2>&1 | FileCheck %s --check-prefix=EXPERTS

// TEXT: option 'elastic-axes' expects an axis and a number of segments, such as tp:4, got "tp:x"
// AXIS: option 'elastic-axes' names axis "dp", over which the step is not cut
// TWO: option 'elastic-axes' expects one axis, because what is cut behind it is decided by the sizes that it leaves, got 2
// LAST: option 'elastic-axes' names axis "cp", but axis "tp" is cut behind it, by the sizes that its ranks leave; option 'axes' gives the order
// RANKS: option 'elastic-axes' cuts what lies over axis "tp" into 6 segments, of which 3 ranks cannot hold equal subtrees: their number has to be a power of two that divides the segments, or that of the segments
// SEGMENTS: option 'shard' asks for "odd=[tp] shard 0", but the 4 segments of axis "tp" do not divide the 6 elements of dimension 0 of parameter "odd"
// BATCH: option 'shard' asks for "x=[tp] shard 0", but axis "tp" is one of option 'elastic-axes', which may not cut the batch, dimension 0 of "x"
// OUTPUT: option 'shard' asks for "output(m)=[tp] shard 0", but axis "tp" is one of option 'elastic-axes', which may not cut the batch, dimension 0 of an output of module "m"
// EXPERTS: [[@LINE+13]]:8: error: option 'elastic-axes' names axis "ep", which cuts the experts of 'aten._grouped_mm.default': what they give a token is added up by the ranks that hold them
func.func @step(
    %up: tensor<8x8xf32> {tg.role = #tg.role<parameter>, tg.name = "up"},
    %odd: tensor<6x8xf32> {tg.role = #tg.role<parameter>, tg.name = "odd"},
    %w: tensor<4x8x8xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<8x8xf32> {tg.role = #tg.role<input>, tg.name = "x"},
    %ends: tensor<4xi32>) -> (tensor<8x8xf32>, tensor<6x8xf32>) {
  // Rows of the batch.
  %y = tg.node "aten.mm.default"(%x, %up) {tg.module = "m"}
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>

  // Rows that a sort has put in the order of experts.

  %g = tg.node "aten._grouped_mm.default"(%y, %w, %ends) : (tensor<8x8xf32>, tensor<4x8x8xf32>, tensor<4xi32>) -> tensor<8x8xf32>
  %o = tg.node "aten.mul.Tensor"(%odd, %odd) : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  return %g, %o : tensor<8x8xf32>, tensor<6x8xf32>
}
