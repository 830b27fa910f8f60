// RUN: regather-opt %s "--tg-partition=mode=replay split=false" --tg-verify-step | FileCheck %s
// RUN: regather-opt %s "--tg-partition=mode=min-cut split=false" --tg-verify-step | FileCheck %s
// RUN: regather-opt %s "--tg-partition=mode=budget budget=1000 split=false" --tg-verify-step | FileCheck %s

// What tg-offload has moved to the host is moved once, whatever is computed again.
// CHECK-LABEL: func.func @moved(
// CHECK:         tg.offload
// CHECK-NOT:     tg.offload
// CHECK:         tg.fetch
// CHECK-NOT:     tg.fetch
// CHECK:         return
func.func @moved(%w: tensor<8x1xf32> {tg.role = #tg.role<parameter>},
    %x: tensor<4x8xf32> {tg.role = #tg.role<input>})
    -> (tensor<f32> {tg.role = #tg.role<loss>}, tensor<8x1xf32> {tg.role = #tg.role<gradient of 0>}) {
  %y = tg.node "aten.mm.default"(%x, %w) {tg.phase = #tg.phase<forward>} : (tensor<4x8xf32>, tensor<8x1xf32>) -> tensor<4x1xf32>
  %start = tg.offload %y {tg.phase = #tg.phase<forward>} : (tensor<4x1xf32>) -> !tg.future<tensor<4x1xf32, #tg.host>>
  %away = tg.wait %start : !tg.future<tensor<4x1xf32, #tg.host>>
  %loss = tg.node "aten.sum.default"(%y) {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<prefer_save>} : (tensor<4x1xf32>) -> tensor<f32>
  %back = tg.fetch %away {tg.phase = #tg.phase<backward>} : (tensor<4x1xf32, #tg.host>) -> !tg.future<tensor<4x1xf32>>
  %again = tg.wait %back : !tg.future<tensor<4x1xf32>>
  %t = tg.node "aten.t.default"(%x) {tg.phase = #tg.phase<backward>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %dw = tg.node "aten.mm.default"(%t, %again) {tg.phase = #tg.phase<backward>} : (tensor<8x4xf32>, tensor<4x1xf32>) -> tensor<8x1xf32>
  return %loss, %dw : tensor<f32>, tensor<8x1xf32>
}
