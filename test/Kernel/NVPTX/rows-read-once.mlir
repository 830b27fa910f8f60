// RUN: regather compile %s --target=nvptx:sm_90a --emit=ptx -o %t.ptx --quiet
// RUN: FileCheck %s --input-file=%t.ptx

// Each thread sums 16 elements of each operand, and uses the sum of the row on
// the same 16: they are kept in registers across the barriers.
// CHECK: .visible .entry
// CHECK-COUNT-8: ld.global.nc.v4
// CHECK: bar.sync
// CHECK-NOT: ld.global
// CHECK-COUNT-4: st.global.v4
// CHECK-NOT: ld.global
// CHECK: ret;
tg.kernel @backward(%g: tensor<64x4096xf32>, %y: tensor<64x4096xf32>) -> tensor<64x4096xf32> {
  %d = tg.node "aten._softmax_backward_data.default"(%g, %y) args [#tg.operand<0>, #tg.operand<1>, -1, 6]
      : (tensor<64x4096xf32>, tensor<64x4096xf32>) -> tensor<64x4096xf32>
  tg.return %d : tensor<64x4096xf32>
}

// A longer row is read again, and summed in vectors of eight.
// CHECK: .visible .entry
// CHECK: ld.global.nc.v4.b32 {{.*}}, [%rd{{[0-9]+}}];
// CHECK-NEXT: ld.global.nc.v4.b32 {{.*}}+16];
// CHECK: bar.sync
// CHECK: ld.global.nc.v4
tg.kernel @long(%g: tensor<64x32768xf32>, %y: tensor<64x32768xf32>) -> tensor<64x32768xf32> {
  %d = tg.node "aten._softmax_backward_data.default"(%g, %y) args [#tg.operand<0>, #tg.operand<1>, -1, 6]
      : (tensor<64x32768xf32>, tensor<64x32768xf32>) -> tensor<64x32768xf32>
  tg.return %d : tensor<64x32768xf32>
}
