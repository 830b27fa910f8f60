// The interpreter says what programs mean; the seed decides the order in which
// collectives complete and never a result.

// RUN: regather run %s --engine=interpreter --ranks 4 --json --quiet | FileCheck %s
// RUN: regather run %s --engine=interpreter --ranks 4 --json --quiet --seed 17 | FileCheck %s

// CHECK: "engine":"interpreter"
// CHECK-SAME: "losses":[21.5]
// CHECK-SAME: "ranks":4

tg.mesh @mesh [dp = 2, tp = 2]

// Ranks 0..3 contribute 0..3 to the sum (6), 1 and 3 to the maximum along tp
// (3 on the last rank, broadcast to all), and the gather over the flattened
// axes in the order [tp, dp] is 0, 2, 1, 3: weighted with 1, 10, 100 and 1000
// it gives 3120, of which 3107.5 are taken away.
func.func @step() -> (tensor<f32> {tg.role = #tg.role<loss>}) {
  %index = tg.axis_index on @mesh [dp, tp]
  %integer = arith.index_cast %index : index to i32
  %x = arith.sitofp %integer : i32 to f32
  %own = tensor.from_elements %x : tensor<1xf32>

  %sumInFlight = tg.all_reduce sum %own on @mesh [dp, tp] phase forward
      : (tensor<1xf32>) -> !tg.future<tensor<1xf32>>
  %maxInFlight = tg.all_reduce max %own on @mesh [tp] phase forward
      : (tensor<1xf32>) -> !tg.future<tensor<1xf32>>
  %allInFlight = tg.all_gather %own on @mesh [tp, dp] dim 0 phase forward
      : (tensor<1xf32>) -> !tg.future<tensor<4xf32>>

  %max = tg.wait %maxInFlight : !tg.future<tensor<1xf32>>
  %lastInFlight = tg.broadcast %max on @mesh [dp, tp] root 3 phase forward
      : (tensor<1xf32>) -> !tg.future<tensor<1xf32>>
  %all = tg.wait %allInFlight : !tg.future<tensor<4xf32>>
  %sum = tg.wait %sumInFlight : !tg.future<tensor<1xf32>>
  %last = tg.wait %lastInFlight : !tg.future<tensor<1xf32>>

  %weights = arith.constant dense<[1.0, 10.0, 100.0, 1000.0]> : tensor<4xf32>
  %start = arith.constant dense<-3107.5> : tensor<f32>
  %counted = linalg.dot ins(%all, %weights : tensor<4xf32>, tensor<4xf32>)
                        outs(%start : tensor<f32>) -> tensor<f32>
  %sum0 = tensor.collapse_shape %sum [] : tensor<1xf32> into tensor<f32>
  %last0 = tensor.collapse_shape %last [] : tensor<1xf32> into tensor<f32>
  %partial = arith.addf %counted, %sum0 : tensor<f32>
  %loss = arith.addf %partial, %last0 : tensor<f32>
  return %loss : tensor<f32>
}
