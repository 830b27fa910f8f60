// RUN: regather-opt %s -split-input-file '--exec-form-graphs=mode=modules modules=*.attention' --exec-plan-memory --tg-verify-step | FileCheck %s
// RUN: regather-opt %s -split-input-file '--exec-form-graphs=mode=unit min-ops=100000' 2>&1 | FileCheck %s --check-prefix=FEW
// RUN: regather-opt %s -split-input-file '--exec-form-graphs=mode=modules modules=*.attention min-ops=1' --tg-verify-step | FileCheck %s --check-prefix=SINGLE
// RUN: regather-opt %s -split-input-file --exec-form-graphs=mode=full --exec-plan-memory --tg-verify-step | FileCheck %s --check-prefix=FULL
// RUN: regather-opt %s -split-input-file --exec-form-graphs -o - | FileCheck %s --check-prefix=NONE
// RUN: regather-opt %s -split-input-file --exec-plan-memory '--exec-form-graphs=mode=modules modules=*.attention' --tg-verify-step -o /dev/null
// FEW: warning: no graph is formed: no unit of the step has 100000 operations ('min-ops') that can be launched together
// FEW-NOT: exec.graph

// A gather for later starts before the graph, and what it is waited for is
// complete before the next one.
// CHECK-LABEL: exec.program @moves
// CHECK: exec.collective all_gather
// CHECK-NEXT: %[[GATHERED:.*]] = exec.record stream 1
// CHECK-NEXT: exec.graph "layers.0.attention.forward" {
// CHECK-NEXT: exec.launch @twice
// CHECK-NEXT: exec.launch @twice
// CHECK-NEXT: {{^ *}$}}
// CHECK-NEXT: exec.launch @twice
// CHECK-SAME: tg.module = "layers.0.mlp"
// CHECK-NEXT: exec.wait %[[GATHERED]] stream 0
// CHECK-NEXT: exec.graph "layers.1.attention.forward" {
// CHECK-NEXT: exec.launch @twice
// CHECK-NEXT: exec.launch @sum
// CHECK-NEXT: {{^ *}$}}
// CHECK-NEXT: exec.return
// FULL-LABEL: exec.program @moves
// FULL: exec.graph "moves" {
// FULL-NEXT: exec.launch
// FULL-NEXT: %[[COMPUTED:.*]] = exec.record stream 0
// FULL-NEXT: exec.wait %[[COMPUTED]] stream 1
// FULL-NEXT: exec.collective all_gather
// FULL-NEXT: %[[GATHERED:.*]] = exec.record stream 1
// FULL-COUNT-3: exec.launch
// FULL-NEXT: exec.wait %[[GATHERED]] stream 0
// FULL-NEXT: exec.launch
// FULL-NEXT: {{^ *}$}}
// FULL-NEXT: exec.return
// NONE-LABEL: exec.program @moves
// NONE-NOT: exec.graph
// EXAMPLE exec-form-graphs{mode=modules modules=*.attention}
tg.mesh @mesh [dp = 2]
tg.kernel @twice(%x: tensor<16xf32>) -> tensor<16xf32> {
  %y = tg.node "aten.add.Tensor"(%x, %x) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  tg.return %y : tensor<16xf32>
}
tg.kernel @sum(%x: tensor<16xf32>, %y: tensor<16xf32>) -> tensor<16xf32> {
  %z = tg.node "aten.add.Tensor"(%x, %y) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  tg.return %z : tensor<16xf32>
}

exec.program @moves(%x: memref<16xf32>, %shard: memref<8xf32>) -> memref<16xf32> attributes {streams = 2} {
  %dp = exec.communicator on @mesh [dp]
  %a = exec.slice : memref<16xf32>
  exec.launch @twice(%x) to (%a) stream 0 {tg.module = "layers.0.attention.wq"} : (memref<16xf32>) -> memref<16xf32>
  %w = exec.slice : memref<16xf32>
  %ready = exec.record stream 0
  exec.wait %ready stream 1
  exec.collective all_gather dim 0 (%shard) to (%w) over %dp stream 1 : (memref<8xf32>) -> memref<16xf32>
  %gathered = exec.record stream 1
  %b = exec.slice : memref<16xf32>
  exec.launch @twice(%a) to (%b) stream 0 {tg.module = "layers.0.attention.wo"} : (memref<16xf32>) -> memref<16xf32>
  %c = exec.slice : memref<16xf32>
  exec.launch @twice(%b) to (%c) stream 0 {tg.module = "layers.0.mlp"} : (memref<16xf32>) -> memref<16xf32>
  %d = exec.slice : memref<16xf32>
  exec.launch @twice(%c) to (%d) stream 0 {tg.module = "layers.1.attention"} : (memref<16xf32>) -> memref<16xf32>
  exec.wait %gathered stream 0
  %e = exec.slice : memref<16xf32>
  exec.launch @sum(%d, %w) to (%e) stream 0 {tg.module = "layers.1.attention"} : (memref<16xf32>, memref<16xf32>) -> memref<16xf32>
  exec.return %e : memref<16xf32>
}
// END

// -----

// A reduction of what the graph computes starts behind it. One that the module
// itself waits for ends it: the graph goes on as a second one.
// CHECK-LABEL: exec.program @ends
// CHECK: exec.graph "attention.0.attention.forward" {
// CHECK-NEXT: exec.launch
// CHECK-NEXT: exec.fill
// CHECK-NEXT: exec.launch
// CHECK-NEXT: {{^ *}$}}
// CHECK-NEXT: %[[COMPUTED:.*]] = exec.record stream 0
// CHECK-NEXT: exec.wait %[[COMPUTED]] stream 1
// CHECK-NEXT: exec.collective all_reduce
// CHECK-NEXT: %[[REDUCED:.*]] = exec.record stream 1
// CHECK-NEXT: exec.wait %[[REDUCED]] stream 0
// CHECK-NEXT: exec.graph "attention.0.attention.forward.2" {
// CHECK-NEXT: exec.launch
// CHECK-NEXT: exec.launch
// CHECK-NEXT: {{^ *}$}}
// Another phase, and alone: no graph, unless one operation is enough.
// CHECK-NEXT: exec.launch
// CHECK-SAME: #tg.phase<backward>
// CHECK-NEXT: exec.return
// SINGLE-LABEL: exec.program @ends
// SINGLE: exec.graph "attention.0.attention.forward.2"
// SINGLE: exec.graph "attention.0.attention.backward"
// SINGLE-NOT: .optimizer"
tg.mesh @mesh [tp = 2]
tg.kernel @twice(%x: tensor<16xf32>) -> tensor<16xf32> {
  %y = tg.node "aten.add.Tensor"(%x, %x) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  tg.return %y : tensor<16xf32>
}
exec.program @ends(%x: memref<16xf32>) -> (memref<16xf32>, memref<16xf32>, memref<16xf32>) attributes {streams = 2} {
  %tp = exec.communicator on @mesh [tp]
  %a = exec.slice : memref<16xf32>
  %r = exec.slice : memref<16xf32>
  %zero = exec.slice : memref<16xf32>
  %b = exec.slice : memref<16xf32>
  %c = exec.slice : memref<16xf32>
  %d = exec.slice : memref<16xf32>
  %e = exec.slice : memref<16xf32>
  exec.launch @twice(%x) to (%a) stream 0 {tg.module = "attention.0.attention"} : (memref<16xf32>) -> memref<16xf32>
  %ready = exec.record stream 0
  exec.wait %ready stream 1
  exec.collective all_reduce reduction <sum> (%a) to (%r) over %tp stream 1 : (memref<16xf32>) -> memref<16xf32>
  %reduced = exec.record stream 1
  exec.fill %zero with 0.0 : f32 stream 0 : memref<16xf32>
  exec.launch @twice(%zero) to (%b) stream 0 {tg.module = "attention.0.attention"} : (memref<16xf32>) -> memref<16xf32>
  exec.wait %reduced stream 0
  exec.launch @twice(%r) to (%c) stream 0 {tg.module = "attention.0.attention"} : (memref<16xf32>) -> memref<16xf32>
  exec.launch @twice(%c) to (%d) stream 0 {tg.module = "attention.0.attention"} : (memref<16xf32>) -> memref<16xf32>
  exec.launch @twice(%d) to (%e) stream 0 {tg.module = "attention.0.attention", tg.phase = #tg.phase<backward>} : (memref<16xf32>) -> memref<16xf32>
  exec.return %b, %e, %d : memref<16xf32>, memref<16xf32>, memref<16xf32>
}

// -----

// An update that has to be copied to its argument is copied within the graph.
// FULL-LABEL: exec.program @update
// FULL: exec.graph "update" {
// FULL: exec.launch
// FULL: exec.copy
// FULL-NEXT: {{^ *}$}}
// FULL-NEXT: exec.return
// CHECK-LABEL: exec.program @update
tg.kernel @reverse(%x: tensor<16xf32>) -> tensor<16xf32> {
  %y = tg.node "aten.flip.default"(%x) args [#tg.operand<0>, [0]] : (tensor<16xf32>) -> tensor<16xf32>
  tg.return %y : tensor<16xf32>
}
exec.program @update(%x: memref<16xf32> {tg.donated, tg.role = #tg.role<parameter>}) -> (memref<16xf32> {tg.role = #tg.role<update of 0>}) attributes {streams = 2} {
  %a = exec.slice : memref<16xf32>
  exec.launch @reverse(%x) to (%a) stream 0 {tg.module = "layers.0.attention", tg.phase = #tg.phase<optimizer>} : (memref<16xf32>) -> memref<16xf32>
  %b = exec.slice : memref<16xf32>
  exec.launch @reverse(%a) to (%b) stream 0 {tg.module = "layers.0.attention", tg.phase = #tg.phase<forward>} : (memref<16xf32>) -> memref<16xf32>
  exec.return %a : memref<16xf32>
}
