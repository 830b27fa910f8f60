// RUN: regather-opt %s -split-input-file --tg-shard-step=mesh=tp:2 --remark-format=emitRemark --remarks-filter=tg-shard-step -o %t 2>&1 | FileCheck %s
// RUN: regather-opt %s -split-input-file "--tg-shard-step=mesh=tp:2 cluster=h100-8" --remark-format=emitRemark --remarks-filter=tg-shard-step -o %t 2>&1 | FileCheck %s --check-prefix=TIMES
// RUN: not regather-opt %s -split-input-file "--tg-shard-step=mesh=tp:2 cluster=nothing" -o %t 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not regather-opt %s -split-input-file "--tg-shard-step=mesh=tp:16 cluster=h100-8" -o %t 2>&1 | FileCheck %s --check-prefix=LARGE

// UNKNOWN: error: {{.*}}nothing
// LARGE: error: cluster "h100-8" connects 8 ranks, but the mesh has 16

// Of five layers, the second, third and fourth are equal, and one is carried out
// for them. What all five cost is counted: 4 * 8 * 32 * 2 operations of matrices and
// 64 of the function for each, half of that on a rank.
// CHECK:     remark: {{.*}}placed{{.*}}layers.*.up.weight=[tp] shard 1
// CHECK:     placement-cost{{.*}}flops=5.280000e+03, flops_whole=1.056000e+04{{.*}}tied_layers=3
// CHECK-NEXT: func.func @equal(
// On links with a latency no cut of so little takes less time: then bytes decide.
// TIMES:     remark: {{.*}}placed{{.*}}layers.*.up.weight=[tp] shard 1
// TIMES:     placement-cost{{.*}}seconds=0.000000e+00
func.func @equal(
    %u0: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.0.up.weight", tg.module = "layers.0.up"},
    %d0: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.0.down.weight", tg.module = "layers.0.down"},
    %u1: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.1.up.weight", tg.module = "layers.1.up"},
    %d1: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.1.down.weight", tg.module = "layers.1.down"},
    %u2: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.2.up.weight", tg.module = "layers.2.up"},
    %d2: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.2.down.weight", tg.module = "layers.2.down"},
    %u3: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.3.up.weight", tg.module = "layers.3.up"},
    %d3: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.3.down.weight", tg.module = "layers.3.down"},
    %u4: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.4.up.weight", tg.module = "layers.4.up"},
    %d4: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.4.down.weight", tg.module = "layers.4.down"},
    %x: tensor<2x8xf32> {tg.role = #tg.role<input>, tg.name = "x"}) -> tensor<2x8xf32> {
  %a0 = tg.node "aten.mm.default"(%x, %u0) {tg.id = "mm_0", tg.module = "layers.0.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b0 = tg.node "aten.relu.default"(%a0) {tg.id = "f_0", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c0 = tg.node "aten.mm.default"(%b0, %d0) {tg.id = "mm_1", tg.module = "layers.0.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %a1 = tg.node "aten.mm.default"(%c0, %u1) {tg.id = "mm_2", tg.module = "layers.1.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b1 = tg.node "aten.relu.default"(%a1) {tg.id = "f_1", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c1 = tg.node "aten.mm.default"(%b1, %d1) {tg.id = "mm_3", tg.module = "layers.1.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %a2 = tg.node "aten.mm.default"(%c1, %u2) {tg.id = "mm_4", tg.module = "layers.2.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b2 = tg.node "aten.relu.default"(%a2) {tg.id = "f_2", tg.module = "layers.2", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c2 = tg.node "aten.mm.default"(%b2, %d2) {tg.id = "mm_5", tg.module = "layers.2.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %a3 = tg.node "aten.mm.default"(%c2, %u3) {tg.id = "mm_6", tg.module = "layers.3.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b3 = tg.node "aten.relu.default"(%a3) {tg.id = "f_3", tg.module = "layers.3", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c3 = tg.node "aten.mm.default"(%b3, %d3) {tg.id = "mm_7", tg.module = "layers.3.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %a4 = tg.node "aten.mm.default"(%c3, %u4) {tg.id = "mm_8", tg.module = "layers.4.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b4 = tg.node "aten.relu.default"(%a4) {tg.id = "f_4", tg.module = "layers.4", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c4 = tg.node "aten.mm.default"(%b4, %d4) {tg.id = "mm_9", tg.module = "layers.4.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  return %c4 : tensor<2x8xf32>
}

// -----

// One of them is another: all are carried out. The cost of this function is the same.
// CHECK:     remark: {{.*}}placed{{.*}}layers.*.up.weight=[tp] shard 1
// CHECK:     placement-cost{{.*}}flops=5.280000e+03, flops_whole=1.056000e+04{{.*}}tied_layers=0
// CHECK-NEXT: func.func @other_function(
func.func @other_function(
    %u0: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.0.up.weight", tg.module = "layers.0.up"},
    %d0: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.0.down.weight", tg.module = "layers.0.down"},
    %u1: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.1.up.weight", tg.module = "layers.1.up"},
    %d1: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.1.down.weight", tg.module = "layers.1.down"},
    %u2: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.2.up.weight", tg.module = "layers.2.up"},
    %d2: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.2.down.weight", tg.module = "layers.2.down"},
    %u3: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.3.up.weight", tg.module = "layers.3.up"},
    %d3: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.3.down.weight", tg.module = "layers.3.down"},
    %u4: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.4.up.weight", tg.module = "layers.4.up"},
    %d4: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.4.down.weight", tg.module = "layers.4.down"},
    %x: tensor<2x8xf32> {tg.role = #tg.role<input>, tg.name = "x"}) -> tensor<2x8xf32> {
  %a0 = tg.node "aten.mm.default"(%x, %u0) {tg.id = "mm_0", tg.module = "layers.0.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b0 = tg.node "aten.relu.default"(%a0) {tg.id = "f_0", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c0 = tg.node "aten.mm.default"(%b0, %d0) {tg.id = "mm_1", tg.module = "layers.0.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %a1 = tg.node "aten.mm.default"(%c0, %u1) {tg.id = "mm_2", tg.module = "layers.1.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b1 = tg.node "aten.relu.default"(%a1) {tg.id = "f_1", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c1 = tg.node "aten.mm.default"(%b1, %d1) {tg.id = "mm_3", tg.module = "layers.1.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %a2 = tg.node "aten.mm.default"(%c1, %u2) {tg.id = "mm_4", tg.module = "layers.2.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b2 = tg.node "aten.sigmoid.default"(%a2) {tg.id = "f_2", tg.module = "layers.2", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c2 = tg.node "aten.mm.default"(%b2, %d2) {tg.id = "mm_5", tg.module = "layers.2.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %a3 = tg.node "aten.mm.default"(%c2, %u3) {tg.id = "mm_6", tg.module = "layers.3.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b3 = tg.node "aten.relu.default"(%a3) {tg.id = "f_3", tg.module = "layers.3", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c3 = tg.node "aten.mm.default"(%b3, %d3) {tg.id = "mm_7", tg.module = "layers.3.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %a4 = tg.node "aten.mm.default"(%c3, %u4) {tg.id = "mm_8", tg.module = "layers.4.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b4 = tg.node "aten.relu.default"(%a4) {tg.id = "f_4", tg.module = "layers.4", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c4 = tg.node "aten.mm.default"(%b4, %d4) {tg.id = "mm_9", tg.module = "layers.4.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  return %c4 : tensor<2x8xf32>
}

// -----

// One reads what others do not, in the same order of operations.
// CHECK:     placement-cost{{.*}}tied_layers=0
// CHECK-NEXT: func.func @other_operand(
func.func @other_operand(
    %u0: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.0.up.weight", tg.module = "layers.0.up"},
    %d0: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.0.down.weight", tg.module = "layers.0.down"},
    %u1: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.1.up.weight", tg.module = "layers.1.up"},
    %d1: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.1.down.weight", tg.module = "layers.1.down"},
    %u2: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.2.up.weight", tg.module = "layers.2.up"},
    %d2: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.2.down.weight", tg.module = "layers.2.down"},
    %u3: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.3.up.weight", tg.module = "layers.3.up"},
    %d3: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.3.down.weight", tg.module = "layers.3.down"},
    %u4: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.4.up.weight", tg.module = "layers.4.up"},
    %d4: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.4.down.weight", tg.module = "layers.4.down"},
    %x: tensor<2x8xf32> {tg.role = #tg.role<input>, tg.name = "x"}) -> tensor<2x8xf32> {
  %a0 = tg.node "aten.mm.default"(%x, %u0) {tg.id = "mm_0", tg.module = "layers.0.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b0 = tg.node "aten.relu.default"(%a0) {tg.id = "f_0", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c0 = tg.node "aten.mm.default"(%b0, %d0) {tg.id = "mm_1", tg.module = "layers.0.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %a1 = tg.node "aten.mm.default"(%c0, %u1) {tg.id = "mm_2", tg.module = "layers.1.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b1 = tg.node "aten.relu.default"(%a1) {tg.id = "f_1", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c1 = tg.node "aten.mm.default"(%b1, %d1) {tg.id = "mm_3", tg.module = "layers.1.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %a2 = tg.node "aten.mm.default"(%c0, %u2) {tg.id = "mm_4", tg.module = "layers.2.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b2 = tg.node "aten.relu.default"(%a2) {tg.id = "f_2", tg.module = "layers.2", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c2 = tg.node "aten.mm.default"(%b2, %d2) {tg.id = "mm_5", tg.module = "layers.2.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %a3 = tg.node "aten.mm.default"(%c2, %u3) {tg.id = "mm_6", tg.module = "layers.3.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b3 = tg.node "aten.relu.default"(%a3) {tg.id = "f_3", tg.module = "layers.3", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c3 = tg.node "aten.mm.default"(%b3, %d3) {tg.id = "mm_7", tg.module = "layers.3.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %a4 = tg.node "aten.mm.default"(%c3, %u4) {tg.id = "mm_8", tg.module = "layers.4.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b4 = tg.node "aten.relu.default"(%a4) {tg.id = "f_4", tg.module = "layers.4", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c4 = tg.node "aten.mm.default"(%b4, %d4) {tg.id = "mm_9", tg.module = "layers.4.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  return %c4 : tensor<2x8xf32>
}

// -----

// What the third one computes leaves the step: without that layer, nothing would.
// CHECK:     placement-cost{{.*}}tied_layers=0
// CHECK-NEXT: func.func @other_result(
func.func @other_result(
    %u0: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.0.up.weight", tg.module = "layers.0.up"},
    %d0: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.0.down.weight", tg.module = "layers.0.down"},
    %u1: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.1.up.weight", tg.module = "layers.1.up"},
    %d1: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.1.down.weight", tg.module = "layers.1.down"},
    %u2: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.2.up.weight", tg.module = "layers.2.up"},
    %d2: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.2.down.weight", tg.module = "layers.2.down"},
    %u3: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.3.up.weight", tg.module = "layers.3.up"},
    %d3: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.3.down.weight", tg.module = "layers.3.down"},
    %u4: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.4.up.weight", tg.module = "layers.4.up"},
    %d4: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.4.down.weight", tg.module = "layers.4.down"},
    %x: tensor<2x8xf32> {tg.role = #tg.role<input>, tg.name = "x"}) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  %a0 = tg.node "aten.mm.default"(%x, %u0) {tg.id = "mm_0", tg.module = "layers.0.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b0 = tg.node "aten.relu.default"(%a0) {tg.id = "f_0", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c0 = tg.node "aten.mm.default"(%b0, %d0) {tg.id = "mm_1", tg.module = "layers.0.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %a1 = tg.node "aten.mm.default"(%c0, %u1) {tg.id = "mm_2", tg.module = "layers.1.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b1 = tg.node "aten.relu.default"(%a1) {tg.id = "f_1", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c1 = tg.node "aten.mm.default"(%b1, %d1) {tg.id = "mm_3", tg.module = "layers.1.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %a2 = tg.node "aten.mm.default"(%c1, %u2) {tg.id = "mm_4", tg.module = "layers.2.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b2 = tg.node "aten.relu.default"(%a2) {tg.id = "f_2", tg.module = "layers.2", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c2 = tg.node "aten.mm.default"(%b2, %d2) {tg.id = "mm_5", tg.module = "layers.2.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %a3 = tg.node "aten.mm.default"(%c2, %u3) {tg.id = "mm_6", tg.module = "layers.3.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b3 = tg.node "aten.relu.default"(%a3) {tg.id = "f_3", tg.module = "layers.3", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c3 = tg.node "aten.mm.default"(%b3, %d3) {tg.id = "mm_7", tg.module = "layers.3.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %a4 = tg.node "aten.mm.default"(%c3, %u4) {tg.id = "mm_8", tg.module = "layers.4.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b4 = tg.node "aten.relu.default"(%a4) {tg.id = "f_4", tg.module = "layers.4", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c4 = tg.node "aten.mm.default"(%b4, %d4) {tg.id = "mm_9", tg.module = "layers.4.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  return %c4, %c2 : tensor<2x8xf32>, tensor<2x8xf32>
}

// -----

// What a table of each layer gives is a choice of its own: none of them can be left
// out.
// CHECK:     remark: {{.*}}placed{{.*}}layers.*.table.weight=[tp] shard 1
// CHECK:     placement-cost{{.*}}flops=4.800000e+02, flops_whole=9.600000e+02{{.*}}tied_layers=0
// CHECK-NEXT: func.func @table_in_each_layer(
func.func @table_in_each_layer(
    %t0: tensor<16x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.0.table.weight", tg.module = "layers.0.table"},
    %t1: tensor<16x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.1.table.weight", tg.module = "layers.1.table"},
    %t2: tensor<16x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.2.table.weight", tg.module = "layers.2.table"},
    %t3: tensor<16x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.3.table.weight", tg.module = "layers.3.table"},
    %t4: tensor<16x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.4.table.weight", tg.module = "layers.4.table"},
    %ids: tensor<2x4xi64> {tg.role = #tg.role<input>, tg.name = "ids"},
    %x: tensor<2x4x8xf32> {tg.role = #tg.role<input>, tg.name = "x"}) -> tensor<2x4x8xf32> {
  %e0 = tg.node "aten.embedding.default"(%t0, %ids) {tg.id = "e_0", tg.module = "layers.0.table", tg.phase = #tg.phase<forward>} : (tensor<16x8xf32>, tensor<2x4xi64>) -> tensor<2x4x8xf32>
  %a0 = tg.node "aten.add.Tensor"(%x, %e0) {tg.id = "a_0", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %e1 = tg.node "aten.embedding.default"(%t1, %ids) {tg.id = "e_1", tg.module = "layers.1.table", tg.phase = #tg.phase<forward>} : (tensor<16x8xf32>, tensor<2x4xi64>) -> tensor<2x4x8xf32>
  %a1 = tg.node "aten.add.Tensor"(%a0, %e1) {tg.id = "a_1", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %e2 = tg.node "aten.embedding.default"(%t2, %ids) {tg.id = "e_2", tg.module = "layers.2.table", tg.phase = #tg.phase<forward>} : (tensor<16x8xf32>, tensor<2x4xi64>) -> tensor<2x4x8xf32>
  %a2 = tg.node "aten.add.Tensor"(%a1, %e2) {tg.id = "a_2", tg.module = "layers.2", tg.phase = #tg.phase<forward>} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %e3 = tg.node "aten.embedding.default"(%t3, %ids) {tg.id = "e_3", tg.module = "layers.3.table", tg.phase = #tg.phase<forward>} : (tensor<16x8xf32>, tensor<2x4xi64>) -> tensor<2x4x8xf32>
  %a3 = tg.node "aten.add.Tensor"(%a2, %e3) {tg.id = "a_3", tg.module = "layers.3", tg.phase = #tg.phase<forward>} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %e4 = tg.node "aten.embedding.default"(%t4, %ids) {tg.id = "e_4", tg.module = "layers.4.table", tg.phase = #tg.phase<forward>} : (tensor<16x8xf32>, tensor<2x4xi64>) -> tensor<2x4x8xf32>
  %a4 = tg.node "aten.add.Tensor"(%a3, %e4) {tg.id = "a_4", tg.module = "layers.4", tg.phase = #tg.phase<forward>} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %a4 : tensor<2x4x8xf32>
}

// -----

// Each layer reads the next one, which is computed ahead of it: what the last one
// reads comes too late for the second.
// CHECK:     remark: {{.*}}placed{{.*}}layers.*.w=[tp] shard 1
// CHECK:     placement-cost{{.*}}flops=1.616000e+03, flops_whole=3.232000e+03{{.*}}tied_layers=0
// CHECK-NEXT: func.func @reads_ahead(
func.func @reads_ahead(
    %w0: tensor<8x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.0.w", tg.module = "layers.0"},
    %w1: tensor<8x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.1.w", tg.module = "layers.1"},
    %w2: tensor<8x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.2.w", tg.module = "layers.2"},
    %w3: tensor<8x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.3.w", tg.module = "layers.3"},
    %w4: tensor<8x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.4.w", tg.module = "layers.4"},
    %w5: tensor<8x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.5.w", tg.module = "layers.5"},
    %x: tensor<4x8xf32> {tg.role = #tg.role<input>, tg.name = "x"}) -> tensor<4x8xf32> {
  %a0 = tg.node "aten.mm.default"(%x, %w0) {tg.id = "a_0", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %a1 = tg.node "aten.mm.default"(%x, %w1) {tg.id = "a_1", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %b0 = tg.node "aten.add.Tensor"(%a0, %a1) {tg.id = "b_0", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %a2 = tg.node "aten.mm.default"(%x, %w2) {tg.id = "a_2", tg.module = "layers.2", tg.phase = #tg.phase<forward>} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %b1 = tg.node "aten.add.Tensor"(%b0, %a2) {tg.id = "b_1", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %a3 = tg.node "aten.mm.default"(%x, %w3) {tg.id = "a_3", tg.module = "layers.3", tg.phase = #tg.phase<forward>} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %b2 = tg.node "aten.add.Tensor"(%b1, %a3) {tg.id = "b_2", tg.module = "layers.2", tg.phase = #tg.phase<forward>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %a4 = tg.node "aten.mm.default"(%x, %w4) {tg.id = "a_4", tg.module = "layers.4", tg.phase = #tg.phase<forward>} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %b3 = tg.node "aten.add.Tensor"(%b2, %a4) {tg.id = "b_3", tg.module = "layers.3", tg.phase = #tg.phase<forward>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %a5 = tg.node "aten.mm.default"(%x, %w5) {tg.id = "a_5", tg.module = "layers.5", tg.phase = #tg.phase<forward>} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %b4 = tg.node "aten.add.Tensor"(%b3, %a5) {tg.id = "b_4", tg.module = "layers.4", tg.phase = #tg.phase<forward>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %b4 : tensor<4x8xf32>
}

// -----

// This is enough to compute: the columns of one matrix and the rows of the other.
// TIMES:     remark: {{.*}}placed{{.*}}up=[tp] shard 1
// TIMES:     placement-cost{{.*}}seconds={{[1-9]}}
func.func @large(
    %u: tensor<8192x8192xbf16> {tg.role = #tg.role<parameter>, tg.name = "up"},
    %d: tensor<8192x8192xbf16> {tg.role = #tg.role<parameter>, tg.name = "down"},
    %x: tensor<4096x8192xbf16> {tg.role = #tg.role<input>, tg.name = "x"}) -> tensor<4096x8192xbf16> {
  %a = tg.node "aten.mm.default"(%x, %u) {tg.phase = #tg.phase<forward>} : (tensor<4096x8192xbf16>, tensor<8192x8192xbf16>) -> tensor<4096x8192xbf16>
  %b = tg.node "aten.relu.default"(%a) {tg.phase = #tg.phase<forward>} : (tensor<4096x8192xbf16>) -> tensor<4096x8192xbf16>
  %c = tg.node "aten.mm.default"(%b, %d) {tg.phase = #tg.phase<forward>} : (tensor<4096x8192xbf16>, tensor<8192x8192xbf16>) -> tensor<4096x8192xbf16>
  return %c : tensor<4096x8192xbf16>
}

// -----

// Autograd leaves operations without a module. They belong to the layer that reads
// them, and count as often as it does.
// CHECK:     placement-cost{{.*}}flops=6.336000e+03, flops_whole=1.267200e+04{{.*}}tied_layers=4
// CHECK-NEXT: func.func @no_module(
func.func @no_module(
    %u0: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.0.up.weight", tg.module = "layers.0.up"},
    %d0: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.0.down.weight", tg.module = "layers.0.down"},
    %u1: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.1.up.weight", tg.module = "layers.1.up"},
    %d1: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.1.down.weight", tg.module = "layers.1.down"},
    %u2: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.2.up.weight", tg.module = "layers.2.up"},
    %d2: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.2.down.weight", tg.module = "layers.2.down"},
    %u3: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.3.up.weight", tg.module = "layers.3.up"},
    %d3: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.3.down.weight", tg.module = "layers.3.down"},
    %u4: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.4.up.weight", tg.module = "layers.4.up"},
    %d4: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.4.down.weight", tg.module = "layers.4.down"},
    %u5: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.5.up.weight", tg.module = "layers.5.up"},
    %d5: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.5.down.weight", tg.module = "layers.5.down"},
    %x: tensor<2x8xf32> {tg.role = #tg.role<input>, tg.name = "x"}) -> tensor<2x8xf32> {
  %a0 = tg.node "aten.mm.default"(%x, %u0) {tg.id = "mm_0", tg.module = "layers.0.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b0 = tg.node "aten.relu.default"(%a0) {tg.id = "f_0", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c0 = tg.node "aten.mm.default"(%b0, %d0) {tg.id = "mm_1", tg.module = "layers.0.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %a1 = tg.node "aten.mm.default"(%c0, %u1) {tg.id = "mm_2", tg.module = "layers.1.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b1 = tg.node "aten.relu.default"(%a1) {tg.id = "f_1", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c1 = tg.node "aten.mm.default"(%b1, %d1) {tg.id = "mm_3", tg.module = "layers.1.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %a2 = tg.node "aten.mm.default"(%c1, %u2) {tg.id = "mm_4", tg.module = "layers.2.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b2 = tg.node "aten.relu.default"(%a2) {tg.id = "f_2", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c2 = tg.node "aten.mm.default"(%b2, %d2) {tg.id = "mm_5", tg.module = "layers.2.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %a3 = tg.node "aten.mm.default"(%c2, %u3) {tg.id = "mm_6", tg.module = "layers.3.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b3 = tg.node "aten.relu.default"(%a3) {tg.id = "f_3", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c3 = tg.node "aten.mm.default"(%b3, %d3) {tg.id = "mm_7", tg.module = "layers.3.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %a4 = tg.node "aten.mm.default"(%c3, %u4) {tg.id = "mm_8", tg.module = "layers.4.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b4 = tg.node "aten.relu.default"(%a4) {tg.id = "f_4", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c4 = tg.node "aten.mm.default"(%b4, %d4) {tg.id = "mm_9", tg.module = "layers.4.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %a5 = tg.node "aten.mm.default"(%c4, %u5) {tg.id = "mm_10", tg.module = "layers.5.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b5 = tg.node "aten.relu.default"(%a5) {tg.id = "f_5", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c5 = tg.node "aten.mm.default"(%b5, %d5) {tg.id = "mm_11", tg.module = "layers.5.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  return %c5 : tensor<2x8xf32>
}

// -----

// Of layers of two kinds that take turns, two in a row are a unit: three of these lie
// between the first layer and the last.
// CHECK:     placement-cost{{.*}}tied_layers=6
// CHECK-NEXT: func.func @in_turns(
func.func @in_turns(
    %u0: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.0.up.weight", tg.module = "layers.0.up"},
    %d0: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.0.down.weight", tg.module = "layers.0.down"},
    %u1: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.1.up.weight", tg.module = "layers.1.up"},
    %d1: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.1.down.weight", tg.module = "layers.1.down"},
    %u2: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.2.up.weight", tg.module = "layers.2.up"},
    %d2: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.2.down.weight", tg.module = "layers.2.down"},
    %u3: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.3.up.weight", tg.module = "layers.3.up"},
    %d3: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.3.down.weight", tg.module = "layers.3.down"},
    %u4: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.4.up.weight", tg.module = "layers.4.up"},
    %d4: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.4.down.weight", tg.module = "layers.4.down"},
    %u5: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.5.up.weight", tg.module = "layers.5.up"},
    %d5: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.5.down.weight", tg.module = "layers.5.down"},
    %u6: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.6.up.weight", tg.module = "layers.6.up"},
    %d6: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.6.down.weight", tg.module = "layers.6.down"},
    %u7: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.7.up.weight", tg.module = "layers.7.up"},
    %d7: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.7.down.weight", tg.module = "layers.7.down"},
    %x: tensor<2x8xf32> {tg.role = #tg.role<input>, tg.name = "x"}) -> tensor<2x8xf32> {
  %a0 = tg.node "aten.mm.default"(%x, %u0) {tg.id = "mm_0", tg.module = "layers.0.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b0 = tg.node "aten.relu.default"(%a0) {tg.id = "f_0", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c0 = tg.node "aten.mm.default"(%b0, %d0) {tg.id = "mm_1", tg.module = "layers.0.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %a1 = tg.node "aten.mm.default"(%c0, %u1) {tg.id = "mm_2", tg.module = "layers.1.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b1 = tg.node "aten.sigmoid.default"(%a1) {tg.id = "f_1", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c1 = tg.node "aten.mm.default"(%b1, %d1) {tg.id = "mm_3", tg.module = "layers.1.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %a2 = tg.node "aten.mm.default"(%c1, %u2) {tg.id = "mm_4", tg.module = "layers.2.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b2 = tg.node "aten.relu.default"(%a2) {tg.id = "f_2", tg.module = "layers.2", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c2 = tg.node "aten.mm.default"(%b2, %d2) {tg.id = "mm_5", tg.module = "layers.2.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %a3 = tg.node "aten.mm.default"(%c2, %u3) {tg.id = "mm_6", tg.module = "layers.3.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b3 = tg.node "aten.sigmoid.default"(%a3) {tg.id = "f_3", tg.module = "layers.3", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c3 = tg.node "aten.mm.default"(%b3, %d3) {tg.id = "mm_7", tg.module = "layers.3.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %a4 = tg.node "aten.mm.default"(%c3, %u4) {tg.id = "mm_8", tg.module = "layers.4.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b4 = tg.node "aten.relu.default"(%a4) {tg.id = "f_4", tg.module = "layers.4", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c4 = tg.node "aten.mm.default"(%b4, %d4) {tg.id = "mm_9", tg.module = "layers.4.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %a5 = tg.node "aten.mm.default"(%c4, %u5) {tg.id = "mm_10", tg.module = "layers.5.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b5 = tg.node "aten.sigmoid.default"(%a5) {tg.id = "f_5", tg.module = "layers.5", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c5 = tg.node "aten.mm.default"(%b5, %d5) {tg.id = "mm_11", tg.module = "layers.5.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %a6 = tg.node "aten.mm.default"(%c5, %u6) {tg.id = "mm_12", tg.module = "layers.6.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b6 = tg.node "aten.relu.default"(%a6) {tg.id = "f_6", tg.module = "layers.6", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c6 = tg.node "aten.mm.default"(%b6, %d6) {tg.id = "mm_13", tg.module = "layers.6.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %a7 = tg.node "aten.mm.default"(%c6, %u7) {tg.id = "mm_14", tg.module = "layers.7.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b7 = tg.node "aten.sigmoid.default"(%a7) {tg.id = "f_7", tg.module = "layers.7", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c7 = tg.node "aten.mm.default"(%b7, %d7) {tg.id = "mm_15", tg.module = "layers.7.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  return %c7 : tensor<2x8xf32>
}

// -----

// The first two are others, as layers without experts are.
// CHECK:     placement-cost{{.*}}tied_layers=4
// CHECK-NEXT: func.func @others_first(
func.func @others_first(
    %u0: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.0.up.weight", tg.module = "layers.0.up"},
    %d0: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.0.down.weight", tg.module = "layers.0.down"},
    %u1: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.1.up.weight", tg.module = "layers.1.up"},
    %d1: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.1.down.weight", tg.module = "layers.1.down"},
    %u2: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.2.up.weight", tg.module = "layers.2.up"},
    %d2: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.2.down.weight", tg.module = "layers.2.down"},
    %u3: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.3.up.weight", tg.module = "layers.3.up"},
    %d3: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.3.down.weight", tg.module = "layers.3.down"},
    %u4: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.4.up.weight", tg.module = "layers.4.up"},
    %d4: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.4.down.weight", tg.module = "layers.4.down"},
    %u5: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.5.up.weight", tg.module = "layers.5.up"},
    %d5: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.5.down.weight", tg.module = "layers.5.down"},
    %u6: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.6.up.weight", tg.module = "layers.6.up"},
    %d6: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.6.down.weight", tg.module = "layers.6.down"},
    %x: tensor<2x8xf32> {tg.role = #tg.role<input>, tg.name = "x"}) -> tensor<2x8xf32> {
  %a0 = tg.node "aten.mm.default"(%x, %u0) {tg.id = "mm_0", tg.module = "layers.0.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b0 = tg.node "aten.sigmoid.default"(%a0) {tg.id = "f_0", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c0 = tg.node "aten.mm.default"(%b0, %d0) {tg.id = "mm_1", tg.module = "layers.0.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %a1 = tg.node "aten.mm.default"(%c0, %u1) {tg.id = "mm_2", tg.module = "layers.1.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b1 = tg.node "aten.sigmoid.default"(%a1) {tg.id = "f_1", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c1 = tg.node "aten.mm.default"(%b1, %d1) {tg.id = "mm_3", tg.module = "layers.1.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %a2 = tg.node "aten.mm.default"(%c1, %u2) {tg.id = "mm_4", tg.module = "layers.2.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b2 = tg.node "aten.relu.default"(%a2) {tg.id = "f_2", tg.module = "layers.2", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c2 = tg.node "aten.mm.default"(%b2, %d2) {tg.id = "mm_5", tg.module = "layers.2.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %a3 = tg.node "aten.mm.default"(%c2, %u3) {tg.id = "mm_6", tg.module = "layers.3.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b3 = tg.node "aten.relu.default"(%a3) {tg.id = "f_3", tg.module = "layers.3", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c3 = tg.node "aten.mm.default"(%b3, %d3) {tg.id = "mm_7", tg.module = "layers.3.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %a4 = tg.node "aten.mm.default"(%c3, %u4) {tg.id = "mm_8", tg.module = "layers.4.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b4 = tg.node "aten.relu.default"(%a4) {tg.id = "f_4", tg.module = "layers.4", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c4 = tg.node "aten.mm.default"(%b4, %d4) {tg.id = "mm_9", tg.module = "layers.4.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %a5 = tg.node "aten.mm.default"(%c4, %u5) {tg.id = "mm_10", tg.module = "layers.5.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b5 = tg.node "aten.relu.default"(%a5) {tg.id = "f_5", tg.module = "layers.5", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c5 = tg.node "aten.mm.default"(%b5, %d5) {tg.id = "mm_11", tg.module = "layers.5.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %a6 = tg.node "aten.mm.default"(%c5, %u6) {tg.id = "mm_12", tg.module = "layers.6.up", tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %b6 = tg.node "aten.relu.default"(%a6) {tg.id = "f_6", tg.module = "layers.6", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %c6 = tg.node "aten.mm.default"(%b6, %d6) {tg.id = "mm_13", tg.module = "layers.6.down", tg.phase = #tg.phase<forward>} : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  return %c6 : tensor<2x8xf32>
}
