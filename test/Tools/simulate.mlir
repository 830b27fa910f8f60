// The timeline of a step on a cluster on which a megabyte takes a millisecond,
// in memory and on the wire.

// RUN: split-file %s %t
// RUN: regather simulate %t/step.mlir --cluster=%S/Inputs/round-numbers.json --ranks=4 --plan=as-captured --trace=%t/trace.json --json=%t/numbers.json --timeline=%t/page.html | FileCheck %s --check-prefixes=TEXT,GIVEN
// RUN: FileCheck %s --check-prefix=TRACE --input-file=%t/trace.json
// RUN: %python -m json.tool %t/trace.json %t/trace.pretty
// RUN: FileCheck %s --check-prefix=JSON --input-file=%t/numbers.json
// RUN: FileCheck %s --check-prefix=PAGE --input-file=%t/page.html

// Both gathers take 3 ms and nothing hides them.
// TEXT:       step            30.0 ms on 4 ranks of round-numbers (dp:4)
// GIVEN-NEXT: computation     24.0 ms
// GIVEN-NEXT: communication   6.00 ms, of which 6.00 ms exposed: 0.0 % hidden
// GIVEN-NEXT: peak memory     18.0 MB on each rank
// GIVEN-NEXT: lower bounds    computation 24.0 ms, wire 6.00 ms, dependencies 27.0 ms, together 27.0 ms
// GIVEN-NEXT:                 the step is 11.1 % above the largest
// GIVEN-NEXT: exposed waits   2
// GIVEN-NEXT:   3.00 ms  all_gather layers.0, 3.00 ms long, issued just before
// GIVEN-NEXT:   3.00 ms  all_gather layers.1, 3.00 ms long, issued just before

// TRACE-DAG: {"ph":"M","name":"process_name","pid":0,"tid":0,"args":{"name":"Rank 0 and 3 more that do the same"}}
// TRACE-DAG: {"ph":"M","name":"thread_name","pid":0,"tid":0,"args":{"name":"compute"}}
// TRACE-DAG: {"ph":"M","name":"thread_name","pid":0,"tid":1,"args":{"name":"dp · wire"}}
// TRACE-DAG: {"ph":"X","name":"gather1","pid":0,"tid":1,"ts":15000.000,"dur":3000.000,"cat":"all_gather","args":{"op":"tg.all_gather","module":"layers.1","received_bytes":3000000,"critical":true}}
// TRACE-DAG: {"ph":"X","name":"wait1","pid":0,"tid":0,"ts":15000.000,"dur":3000.000,"cat":"exposed wait"
// TRACE-DAG: {"ph":"s","name":"exposed","pid":0,"tid":1,"ts":18000.000,"cat":"exposed","id":2}
// TRACE-DAG: {"ph":"f","name":"exposed","pid":0,"tid":0,"ts":18000.000,"cat":"exposed","id":2,"bp":"e"}
// TRACE-DAG: {"ph":"C","name":"memory","pid":0,"tid":0,"ts":0.000,"args":{"bytes":10000000}}

// JSON:      "cluster": "round-numbers",
// JSON:      "mesh": "dp:4",
// JSON-NEXT: "batch": "",
// JSON-NEXT: "ranks": 4,
// JSON:      "peak_bytes": 18000000,
// JSON-NEXT: "resident_bytes": 6000000,
// JSON:      "rank_classes": [
// JSON-NEXT:  {
// JSON-NEXT:   "first_rank": 0,
// JSON-NEXT:   "ranks": 4,
// JSON:      "critical_path": [
// JSON-NEXT:  "gather0",
// JSON-NEXT:  "add0",
// JSON-NEXT:  "gather1",
// JSON-NEXT:  "add1"
// JSON:      "name": "wait0",
// JSON-NEXT: "kind": "wait",
// JSON:      "collective": "gather0",

// One mark for each operation, and the waits in the colour of their own.
// PAGE:     <!doctype html>
// PAGE:     <h1>Simulated step</h1>
// PAGE:     <rect class="k7 w" {{.*}} data-i="0" data-t="3000.0"/>
// PAGE:     <script type="application/json" class="marks">{{\[\[}}"wait0","layers.0","tg.wait"]
// PAGE:     </html>

// Another order for the same operations: the second gather hides, and the step
// meets its bound.
// RUN: regather simulate %t/step.mlir --cluster=%S/Inputs/round-numbers.json --order=%t/order.txt | FileCheck %s --check-prefix=ORDER
// RUN: regather simulate %t/step.mlir --cluster=%S/Inputs/round-numbers.json --order=%t/order.json | FileCheck %s --check-prefix=ORDER
// ORDER:      step            27.0 ms
// ORDER-NEXT: computation     24.0 ms
// ORDER-NEXT: communication   6.00 ms, of which 3.00 ms exposed: 50.0 % hidden
// ORDER-NEXT: peak memory     18.0 MB on each rank
// ORDER-NEXT: lower bounds
// ORDER-NEXT:                 the step is 0.0 % above the largest
// ORDER-NEXT: exposed waits   1

// A step without a mesh is sharded first; kernels take the place of operations.
// RUN: regather simulate %t/whole.mlir --cluster=%S/Inputs/round-numbers.json --mesh=dp:2 --kernels --json=%t/kernels.json | FileCheck %s --check-prefix=WHOLE
// RUN: FileCheck %s --check-prefix=KERNELS --input-file=%t/kernels.json
// WHOLE:   on 2 ranks of round-numbers (dp:2)
// KERNELS: "op": "@{{.*}}"

// Groups of three ranks on nodes of four: the second lies in two nodes.
// RUN: regather simulate %t/classes.mlir --cluster=%t/nodes.json | FileCheck %s --check-prefix=CLASSES
// CLASSES: ranks           2 classes that do the same

//--- step.mlir
tg.mesh @mesh [dp = 4]
func.func @step(%w0: tensor<250000xf32>, %w1: tensor<250000xf32>,
                %x: tensor<1000000xf32>) -> tensor<1000000xf32> {
  %0 = tg.all_gather %w0 on @mesh [dp] dim 0 phase forward
    {tg.id = "gather0", tg.module = "layers.0"}
    : (tensor<250000xf32>) -> !tg.future<tensor<1000000xf32>>
  %1 = tg.wait %0 {tg.id = "wait0", tg.module = "layers.0"}
    : !tg.future<tensor<1000000xf32>>
  %2 = tg.node "aten.add.Tensor"(%x, %1) {tg.id = "add0", tg.module = "layers.0"}
    : (tensor<1000000xf32>, tensor<1000000xf32>) -> tensor<1000000xf32>
  %3 = tg.all_gather %w1 on @mesh [dp] dim 0 phase forward
    {tg.id = "gather1", tg.module = "layers.1"}
    : (tensor<250000xf32>) -> !tg.future<tensor<1000000xf32>>
  %4 = tg.wait %3 {tg.id = "wait1", tg.module = "layers.1"}
    : !tg.future<tensor<1000000xf32>>
  %5 = tg.node "aten.add.Tensor"(%2, %4) {tg.id = "add1", tg.module = "layers.1"}
    : (tensor<1000000xf32>, tensor<1000000xf32>) -> tensor<1000000xf32>
  return %5 : tensor<1000000xf32>
}

//--- order.txt
// Both gathers first.
gather0
gather1

wait0  // held up
add0
wait1
add1

//--- order.json
["gather0", "gather1", "wait0", "add0", "wait1", "add1"]

//--- whole.mlir
func.func @step(%x: tensor<4x8xf32> {tg.role = #tg.role<input>, tg.name = "x"},
                %w: tensor<8x8xf32> {tg.role = #tg.role<parameter>, tg.name = "w"})
    -> (tensor<f32> {tg.role = #tg.role<loss>}) {
  %0 = tg.node "aten.mm.default"(%x, %w) {tg.phase = #tg.phase<forward>}
    : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = tg.node "aten.relu.default"(%0) {tg.phase = #tg.phase<forward>}
    : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = tg.node "aten.mean.default"(%1) {tg.phase = #tg.phase<forward>}
    : (tensor<4x8xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}

//--- classes.mlir
tg.mesh @mesh [dp = 2, tp = 3]
func.func @step(%x: tensor<1000xf32>) -> tensor<1000xf32> {
  %0 = tg.all_reduce sum %x on @mesh [tp] phase forward
    : (tensor<1000xf32>) -> !tg.future<tensor<1000xf32>>
  %1 = tg.wait %0 : !tg.future<tensor<1000xf32>>
  return %1 : tensor<1000xf32>
}

//--- nodes.json
{
  "name": "nodes",
  "device": {
    "name": "device",
    "peak_flops_per_second": {"f32": 1e12},
    "vector_flops_per_second": 1e12,
    "matmul_efficiency": 1,
    "attention_efficiency": 1,
    "memory_bandwidth_bytes_per_second": 1e9,
    "memory_efficiency": 1,
    "memory_bytes": 1e9,
    "launch_seconds": 0
  },
  "links": [
    {"name": "inside", "span_ranks": 4, "protocols": [
      {"name": "simple", "latency_seconds": 0, "hop_seconds": 0, "bandwidth_bytes_per_second": 1e9}]},
    {"name": "outside", "protocols": [
      {"name": "simple", "latency_seconds": 0, "hop_seconds": 0, "bandwidth_bytes_per_second": 1e8}]}
  ],
  "algorithms": ["ring"]
}
