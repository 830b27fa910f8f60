// RUN: regather compile %s --target=nvptx:sm_90a --emit=ptx -o %t.ptx --quiet
// RUN: FileCheck %s --input-file=%t.ptx
// RUN: FileCheck %s --input-file=%t.ptx.json --check-prefix=JSON

// The read-only path in 16 bytes; products and sums are rounded one by one.
// CHECK: .target sm_90a
// CHECK: .visible .entry kernel_
// CHECK-NOT: .local
// CHECK: ld.global.nc.v4
// CHECK: mul.rn.f32
// CHECK: add.rn.f32
// CHECK-NOT: fma
// CHECK: st.global.v4
// CHECK-NOT: .extern

// JSON: "architecture": "sm_90a"
// JSON: "kernel": "scaled_sum"
// JSON: "launches": [
// JSON: "blocks": 256
// JSON: "dynamic_shared_bytes": 0
// JSON: "symbol": "kernel_
// JSON: "threads": 256
// JSON: "scratch_bytes": 0
// JSON: "routines": []
tg.kernel @scaled_sum(%x: tensor<128x4096xf32>, %y: tensor<128x4096xf32>) -> tensor<128x4096xf32> {
  %z = tg.node "aten.mul.Tensor"(%x, %y) : (tensor<128x4096xf32>, tensor<128x4096xf32>) -> tensor<128x4096xf32>
  %s = tg.node "aten.add.Tensor"(%z, %y) : (tensor<128x4096xf32>, tensor<128x4096xf32>) -> tensor<128x4096xf32>
  tg.return %s : tensor<128x4096xf32>
}
