// RUN: split-file %s %t
// RUN: not regather-opt %t/step.mlir --tg-offload-states='states=some' 2>&1 | FileCheck %s --check-prefix=STATES
// RUN: not regather-opt %t/step.mlir --tg-offload-states='states=all piece=0' 2>&1 | FileCheck %s --check-prefix=PIECE
// RUN: not regather-opt %t/step.mlir --tg-offload-states='states=all cluster=%t/none.json' 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not regather-opt %t/step.mlir --tg-offload-states='states=all cluster=%t/small.json' 2>&1 | FileCheck %s --check-prefix=FULL
// RUN: regather-opt %t/step.mlir --tg-offload-states='states=all min-states=8MB' -o %t.out 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: not regather-opt %t/parameter.mlir --tg-verify-step 2>&1 | FileCheck %s --check-prefix=PARAMETER
// RUN: not regather-opt %t/result.mlir --tg-verify-step 2>&1 | FileCheck %s --check-prefix=RESULT
// RUN: not regather-opt %t/parts.mlir --tg-verify-step 2>&1 | FileCheck %s --check-prefix=PARTS

// STATES: error: 'states' must be none, all or a number of bytes, such as 10GB, got "some"
// PIECE: error: 'piece' must be at least one byte, got 0
// NONE: step.mlir:1:1: error: cluster "none" says nothing of a host ('device.host'), on which states of the optimizer are to lie
// FULL: step.mlir:1:1: error: keeps 4000064 bytes of states on the host, but a device of cluster "small" has 1000000 bytes of its host
// LARGE: step.mlir:1:1: warning: no state of an optimizer is kept on the host: the step updates none of at least 8000000 bytes element by element
// PARAMETER: error: {{.*}}argument 0 lies on the host, where only states of an optimizer may enter a function
// RESULT: error: {{.*}}result 0 lies on the host, where only updates of what lies there may leave a function
// PARTS: parts.mlir:4:{{[0-9]+}}: error: {{.*}}expects parts without gaps, each copied to the host for this alone

//--- step.mlir
func.func @step(%m: tensor<1000016xf32> {tg.donated, tg.role = #tg.role<optimizer_state>})
    -> (tensor<1000016xf32> {tg.role = #tg.role<update of 0>}) {
  %new = tg.node "aten.neg.default"(%m) {tg.phase = #tg.phase<optimizer>} : (tensor<1000016xf32>) -> tensor<1000016xf32>
  return %new : tensor<1000016xf32>
}

//--- parameter.mlir
func.func @step(%p: tensor<16xf32, #tg.host> {tg.role = #tg.role<parameter>}) {
  return
}

//--- result.mlir
func.func @step(%m: tensor<16xf32, #tg.host> {tg.role = #tg.role<optimizer_state>})
    -> tensor<16xf32, #tg.host> {
  return %m : tensor<16xf32, #tg.host>
}

//--- parts.mlir
func.func @step(%m: tensor<16xf32, #tg.host> {tg.donated, tg.role = #tg.role<optimizer_state>})
    -> (tensor<16xf32, #tg.host> {tg.role = #tg.role<update of 0>}) {
  %a, %b = tg.unflatten %m offsets [0, 8] : (tensor<16xf32, #tg.host>) -> (tensor<8xf32, #tg.host>, tensor<8xf32, #tg.host>)
  %c = tg.flatten %b, %a offsets [0, 8] : (tensor<8xf32, #tg.host>, tensor<8xf32, #tg.host>) -> tensor<16xf32, #tg.host>
  return %c : tensor<16xf32, #tg.host>
}

//--- none.json
{"name": "none",
 "device": {"name": "d", "peak_flops_per_second": {"f32": 1e12}, "vector_flops_per_second": 1e12,
  "matmul_efficiency": 1, "attention_efficiency": 1, "memory_bandwidth_bytes_per_second": 1e12,
  "memory_efficiency": 1, "memory_bytes": 1e9, "launch_seconds": 1e-6},
 "links": [{"name": "l", "protocols": [{"name": "p", "latency_seconds": 1e-6, "hop_seconds": 1e-6, "bandwidth_bytes_per_second": 1e9}]}],
 "algorithms": ["ring"]}

//--- small.json
{"name": "small",
 "device": {"name": "d", "peak_flops_per_second": {"f32": 1e12}, "vector_flops_per_second": 1e12,
  "matmul_efficiency": 1, "attention_efficiency": 1, "memory_bandwidth_bytes_per_second": 1e12,
  "memory_efficiency": 1, "memory_bytes": 1e9, "launch_seconds": 1e-6,
  "host": {"memory_bytes": 1e6, "bandwidth_bytes_per_second": 1e9, "latency_seconds": 1e-6}},
 "links": [{"name": "l", "protocols": [{"name": "p", "latency_seconds": 1e-6, "hop_seconds": 1e-6, "bandwidth_bytes_per_second": 1e9}]}],
 "algorithms": ["ring"]}
