// RUN: not regather-opt %s -split-input-file --tg-dispatch-rows=capacity=0 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not regather-opt %s -split-input-file --tg-dispatch-rows=capacity=-1.5 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not regather-opt %s -split-input-file --tg-dispatch-rows=capacity=nan 2>&1 | FileCheck %s --check-prefix=NAN
// RUN: not regather-opt %s -split-input-file --tg-dispatch-rows=capacity=much 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not regather-opt %s -split-input-file --tg-dispatch-rows=chunks=0 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not regather-opt %s -split-input-file --tg-dispatch-rows=chunks=-2 2>&1 | FileCheck %s --check-prefix=LESS
// RUN: not regather-opt %s -split-input-file --tg-dispatch-rows=chunks=half 2>&1 | FileCheck %s --check-prefix=HALF
// RUN: not regather-opt %S/dispatch-rows-chunks.mlir --tg-dispatch-rows=chunks=5 -split-input-file --mlir-print-op-on-diagnostic=false 2>&1 | FileCheck %s --check-prefix=FIVE
// RUN: not regather-opt %S/dispatch-rows-chunks.mlir --tg-dispatch-rows=chunks=48 -split-input-file --mlir-print-op-on-diagnostic=false 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: regather-opt %s -split-input-file --tg-dispatch-rows -verify-diagnostics
// ZERO: option 'capacity' must be above 0, got 0
// NEGATIVE: option 'capacity' must be above 0, got -1.5
// NAN: option 'capacity' must be above 0, got nan
// WORD: 'much' value invalid
// NONE: option 'chunks' must be at least 1, got 0
// LESS: option 'chunks' must be at least 1, got -2
// HALF: 'half' value invalid
// FIVE: error: option 'chunks' must divide the 24 rows that each rank sorts here, got 5
// MANY: error: option 'chunks' must divide the 24 rows that each rank sorts here, got 48

tg.mesh @mesh [ep = 2]
// expected-error@+1 {{sums over rows that are sent are in the order of ranks, but the step is elastic}}
func.func @elastic(
    %w: tensor<2x8x6xf32> {tg.name = "w", tg.placement = #tg.placement<@mesh [[ep] = shard 0]>, tg.role = #tg.role<parameter>},
    %x: tensor<8x8xf32> {tg.name = "x", tg.placement = #tg.placement<@mesh [[ep] = shard 0]>, tg.role = #tg.role<input>},
    %chosen: tensor<8xi64> {tg.name = "chosen", tg.placement = #tg.placement<@mesh [[ep] = shard 0]>, tg.role = #tg.role<input>})
    -> (tensor<f32>) attributes {tg.elastic = 4 : i64} {
  %ids, %order = tg.node "aten.sort.default"(%chosen) {tg.phase = #tg.phase<forward>} : (tensor<8xi64>) -> (tensor<8xi64>, tensor<8xi64>)
  %rows = tg.node "aten.index.Tensor"(%x, %order) args [#tg.operand<0>, [#tg.operand<1>]] {tg.phase = #tg.phase<forward>} : (tensor<8x8xf32>, tensor<8xi64>) -> tensor<8x8xf32>
  %floats = tg.node "aten._to_copy.default"(%ids) kwargs {dtype = f32} {tg.phase = #tg.phase<forward>} : (tensor<8xi64>) -> tensor<8xf32>
  %counts = tg.node "aten.histc.default"(%floats) args [#tg.operand<0>, 4, 0, 3] {tg.phase = #tg.phase<forward>} : (tensor<8xf32>) -> tensor<4xf32>
  %ends = tg.node "aten.cumsum.default"(%counts) args [#tg.operand<0>, 0] kwargs {dtype = i32} {tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<4xi32>
  %start = tg.all_gather %w on @mesh [ep] dim 0 phase forward : (tensor<2x8x6xf32>) -> !tg.future<tensor<4x8x6xf32>>
  %all = tg.wait %start {tg.phase = #tg.phase<forward>} : !tg.future<tensor<4x8x6xf32>>
  %y = tg.node "aten._grouped_mm.default"(%rows, %all, %ends) {tg.phase = #tg.phase<forward>} : (tensor<8x8xf32>, tensor<4x8x6xf32>, tensor<4xi32>) -> tensor<8x6xf32>
  %sum = tg.node "aten.sum.default"(%y) {tg.phase = #tg.phase<forward>} : (tensor<8x6xf32>) -> tensor<f32>
  return %sum : tensor<f32>
}

// -----

tg.mesh @mesh [ep = 2]
// expected-error@+1 {{rows of this step are sent already: result 1 is its overflow}}
func.func @again(
    %w: tensor<2x8x6xf32> {tg.name = "w", tg.placement = #tg.placement<@mesh [[ep] = shard 0]>, tg.role = #tg.role<parameter>},
    %x: tensor<8x8xf32> {tg.name = "x", tg.placement = #tg.placement<@mesh [[ep] = shard 0]>, tg.role = #tg.role<input>},
    %chosen: tensor<8xi64> {tg.name = "chosen", tg.placement = #tg.placement<@mesh [[ep] = shard 0]>, tg.role = #tg.role<input>},
    %missing: tensor<i64> {tg.name = "missing", tg.role = #tg.role<input>})
    -> (tensor<f32>, tensor<i64> {tg.role = #tg.role<overflow>}) {
  %ids, %order = tg.node "aten.sort.default"(%chosen) {tg.phase = #tg.phase<forward>} : (tensor<8xi64>) -> (tensor<8xi64>, tensor<8xi64>)
  %rows = tg.node "aten.index.Tensor"(%x, %order) args [#tg.operand<0>, [#tg.operand<1>]] {tg.phase = #tg.phase<forward>} : (tensor<8x8xf32>, tensor<8xi64>) -> tensor<8x8xf32>
  %floats = tg.node "aten._to_copy.default"(%ids) kwargs {dtype = f32} {tg.phase = #tg.phase<forward>} : (tensor<8xi64>) -> tensor<8xf32>
  %counts = tg.node "aten.histc.default"(%floats) args [#tg.operand<0>, 4, 0, 3] {tg.phase = #tg.phase<forward>} : (tensor<8xf32>) -> tensor<4xf32>
  %ends = tg.node "aten.cumsum.default"(%counts) args [#tg.operand<0>, 0] kwargs {dtype = i32} {tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<4xi32>
  %start = tg.all_gather %w on @mesh [ep] dim 0 phase forward : (tensor<2x8x6xf32>) -> !tg.future<tensor<4x8x6xf32>>
  %all = tg.wait %start {tg.phase = #tg.phase<forward>} : !tg.future<tensor<4x8x6xf32>>
  %y = tg.node "aten._grouped_mm.default"(%rows, %all, %ends) {tg.phase = #tg.phase<forward>} : (tensor<8x8xf32>, tensor<4x8x6xf32>, tensor<4xi32>) -> tensor<8x6xf32>
  %sum = tg.node "aten.sum.default"(%y) {tg.phase = #tg.phase<forward>} : (tensor<8x6xf32>) -> tensor<f32>
  return %sum, %missing : tensor<f32>, tensor<i64>
}

// -----

tg.mesh @mesh [ep = 2]
// expected-error@+1 {{a step that may have too little room cannot keep result 1, an update of type 'i64'}}
func.func @scalar(
    %w: tensor<2x8x6xf32> {tg.name = "w", tg.placement = #tg.placement<@mesh [[ep] = shard 0]>, tg.role = #tg.role<parameter>},
    %x: tensor<8x8xf32> {tg.name = "x", tg.placement = #tg.placement<@mesh [[ep] = shard 0]>, tg.role = #tg.role<input>},
    %chosen: tensor<8xi64> {tg.name = "chosen", tg.placement = #tg.placement<@mesh [[ep] = shard 0]>, tg.role = #tg.role<input>},
    %count: i64 {tg.name = "count", tg.role = #tg.role<buffer>})
    -> (tensor<f32>, i64 {tg.role = #tg.role<update of 3>}) {
  %ids, %order = tg.node "aten.sort.default"(%chosen) {tg.phase = #tg.phase<forward>} : (tensor<8xi64>) -> (tensor<8xi64>, tensor<8xi64>)
  %rows = tg.node "aten.index.Tensor"(%x, %order) args [#tg.operand<0>, [#tg.operand<1>]] {tg.phase = #tg.phase<forward>} : (tensor<8x8xf32>, tensor<8xi64>) -> tensor<8x8xf32>
  %floats = tg.node "aten._to_copy.default"(%ids) kwargs {dtype = f32} {tg.phase = #tg.phase<forward>} : (tensor<8xi64>) -> tensor<8xf32>
  %counts = tg.node "aten.histc.default"(%floats) args [#tg.operand<0>, 4, 0, 3] {tg.phase = #tg.phase<forward>} : (tensor<8xf32>) -> tensor<4xf32>
  %ends = tg.node "aten.cumsum.default"(%counts) args [#tg.operand<0>, 0] kwargs {dtype = i32} {tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<4xi32>
  %start = tg.all_gather %w on @mesh [ep] dim 0 phase forward : (tensor<2x8x6xf32>) -> !tg.future<tensor<4x8x6xf32>>
  %all = tg.wait %start {tg.phase = #tg.phase<forward>} : !tg.future<tensor<4x8x6xf32>>
  %y = tg.node "aten._grouped_mm.default"(%rows, %all, %ends) {tg.phase = #tg.phase<forward>} : (tensor<8x8xf32>, tensor<4x8x6xf32>, tensor<4xi32>) -> tensor<8x6xf32>
  %sum = tg.node "aten.sum.default"(%y) {tg.phase = #tg.phase<forward>} : (tensor<8x6xf32>) -> tensor<f32>
  return %sum, %count : tensor<f32>, i64
}
