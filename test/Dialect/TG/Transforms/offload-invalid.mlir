// RUN: split-file %s %t
// RUN: not regather-opt %t/step.mlir --tg-offload=mode=bytes 2>&1 | FileCheck %s --check-prefix=MODE
// RUN: not regather-opt %t/step.mlir --tg-offload=bytes=64 2>&1 | FileCheck %s --check-prefix=MODE
// RUN: not regather-opt %t/step.mlir --tg-offload='mode=all min-bytes=64 cluster=%t/none.json' 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not regather-opt %t/step.mlir --tg-offload='mode=all min-bytes=64 cluster=%t/small.json' 2>&1 | FileCheck %s --check-prefix=FULL
// RUN: not regather-opt %t/step.mlir --tg-offload='mode=all cluster=nowhere' 2>&1 | FileCheck %s --check-prefix=CLUSTER
// RUN: not regather-opt %t/host.mlir --tg-schedule=cluster=%t/none.json 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// RUN: not regather-opt %t/reads.mlir --tg-verify-step 2>&1 | FileCheck %s --check-prefix=READS
// RUN: not regather-opt %t/argument.mlir --tg-verify-step 2>&1 | FileCheck %s --check-prefix=ARGUMENT

// MODE: mode bytes and option 'bytes', a number of bytes, need each other
// NONE: step.mlir:1:1: error: cluster "none" says nothing of a host ('device.host'), to which values are to be offloaded
// FULL: step.mlir:1:1: error: offloads 4000064 bytes, but a device of cluster "small" has 1000000 bytes of its host
// CLUSTER: error: {{.*}}nowhere
// SCHEDULE: host.mlir:2:{{[0-9]+}}: error: {{.*}}copies between device and host, but cluster "none" says nothing of a host ('device.host')
// READS: reads.mlir:4:{{[0-9]+}}: error: {{.*}}reads a tensor that lies on the host, which only 'tg.fetch' can
// READS: note: copied there here
// ARGUMENT: error: {{.*}}argument 0 lies on the host, where only states of an optimizer may enter a function

//--- step.mlir
func.func @step(%x: tensor<1000016xf32>) -> tensor<1000016xf32> {
  %a = tg.node "aten.exp.default"(%x) {tg.phase = #tg.phase<forward>} : (tensor<1000016xf32>) -> tensor<1000016xf32>
  %m = tg.node "aten.exp.default"(%a) {tg.phase = #tg.phase<forward>} : (tensor<1000016xf32>) -> tensor<1000016xf32>
  %n = tg.node "aten.exp.default"(%m) {tg.phase = #tg.phase<forward>} : (tensor<1000016xf32>) -> tensor<1000016xf32>
  %b = tg.node "aten.mul.Tensor"(%a, %n) {tg.phase = #tg.phase<backward>} : (tensor<1000016xf32>, tensor<1000016xf32>) -> tensor<1000016xf32>
  return %b : tensor<1000016xf32>
}

//--- host.mlir
func.func @step(%x: tensor<16xf32>) -> tensor<16xf32> {
  %future = tg.offload %x : (tensor<16xf32>) -> !tg.future<tensor<16xf32, #tg.host>>
  %host = tg.wait %future : !tg.future<tensor<16xf32, #tg.host>>
  %back = tg.fetch %host : (tensor<16xf32, #tg.host>) -> !tg.future<tensor<16xf32>>
  %y = tg.wait %back : !tg.future<tensor<16xf32>>
  return %y : tensor<16xf32>
}

//--- reads.mlir
func.func @step(%x: tensor<16xf32>) {
  %future = tg.offload %x : (tensor<16xf32>) -> !tg.future<tensor<16xf32, #tg.host>>
  %host = tg.wait %future : !tg.future<tensor<16xf32, #tg.host>>
  %y = tensor.cast %host : tensor<16xf32, #tg.host> to tensor<16xf32>
  return
}

//--- argument.mlir
func.func @step(%x: tensor<16xf32, #tg.host>) {
  return
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
