// RUN: regather-opt %s -split-input-file --tg-offload-states='states=all min-states=64' --tg-verify-step | FileCheck %s
// RUN: regather-opt %s -split-input-file --tg-offload-states='states=all min-states=64 piece=1KiB' --tg-verify-step | FileCheck %s --check-prefix=PIECES
// RUN: regather-opt %s -split-input-file --tg-offload-states='states=8192 min-states=64' --tg-verify-step | FileCheck %s --check-prefix=BYTES
// RUN: regather-opt %s -split-input-file --tg-offload-states | FileCheck %s --check-prefix=NONE
// RUN: regather-opt %s -split-input-file --tg-offload-states='states=all min-states=64 piece=1KiB' --remark-format=emitRemark --remarks-filter=tg-offload-states -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// A state comes from the host for its update and goes back. In pieces, the
// parameter and its gradient are read part by part where they are, and the parts
// of the new parameter, and of the new state on the host, are put together.
// CHECK-LABEL: func.func @step
// CHECK-SAME:    %[[P:[^:]*]]: tensor<600xf32> {tg.donated
// CHECK-SAME:    %[[M:[^:]*]]: tensor<600xf32, #tg.host> {tg.donated
// CHECK-SAME:    -> (tensor<600xf32> {tg.role = #tg.role<update of 0>}, tensor<600xf32, #tg.host> {tg.role = #tg.role<update of 1>})
// CHECK:         %[[FUTURE:.*]] = tg.fetch %[[M]] {tg.module = "layers.0", tg.phase = #tg.phase<optimizer>}
// CHECK-NEXT:    %[[OLD:.*]] = tg.wait %[[FUTURE]]
// CHECK-NEXT:    %[[NEW:.*]]:2 = linalg.generic
// CHECK-SAME:      ins(%[[P]], %[[OLD]], %{{.*}} : tensor<600xf32>, tensor<600xf32>, tensor<600xf32>) outs(%[[P]], %[[OLD]]
// CHECK:         %[[AWAY:.*]] = tg.offload %[[NEW]]#1 {tg.module = "layers.0", tg.phase = #tg.phase<optimizer>}
// CHECK-NEXT:    %[[HOST:.*]] = tg.wait %[[AWAY]]
// CHECK-NEXT:    return %[[NEW]]#0, %[[HOST]]
// PIECES-LABEL: func.func @step
// PIECES-SAME:    %[[P:[^:]*]]: tensor<600xf32> {{.*}}%[[M:[^:]*]]: tensor<600xf32, #tg.host>
// PIECES:         %[[PS:.*]]:3 = tg.unflatten %[[P]] offsets [0, 256, 512]
// PIECES:         %[[MS:.*]]:3 = tg.unflatten %[[M]] offsets [0, 256, 512] {{.*}} : (tensor<600xf32, #tg.host>) -> (tensor<256xf32, #tg.host>, tensor<256xf32, #tg.host>, tensor<88xf32, #tg.host>)
// PIECES:         %[[GS:.*]]:3 = tg.unflatten
// PIECES-NEXT:    %[[F0:.*]] = tg.fetch %[[MS]]#0
// PIECES-NEXT:    %[[M0:.*]] = tg.wait %[[F0]]
// PIECES-NEXT:    %[[N0:.*]]:2 = linalg.generic
// PIECES-SAME:      ins(%[[PS]]#0, %[[M0]], %[[GS]]#0 : tensor<256xf32>, tensor<256xf32>, tensor<256xf32>)
// PIECES:         %[[A0:.*]] = tg.offload %[[N0]]#1
// PIECES-NEXT:    %[[H0:.*]] = tg.wait %[[A0]]
// PIECES-NEXT:    %[[F1:.*]] = tg.fetch %[[MS]]#1
// PIECES:         %[[N1:.*]]:2 = linalg.generic
// PIECES:         tg.fetch %[[MS]]#2
// PIECES:         %[[N2:.*]]:2 = linalg.generic
// PIECES-SAME:      ins(%[[PS]]#2, %{{.*}}, %[[GS]]#2 : tensor<88xf32>, tensor<88xf32>, tensor<88xf32>)
// PIECES:         %[[NEWP:.*]] = tg.flatten %[[N0]]#0, %[[N1]]#0, %[[N2]]#0 offsets [0, 256, 512]
// PIECES-NEXT:    %[[NEWM:.*]] = tg.flatten %[[H0]], %{{.*}}, %{{.*}} offsets [0, 256, 512] {{.*}} -> tensor<600xf32, #tg.host>
// PIECES-NEXT:    return %[[NEWP]], %[[NEWM]]
// NONE-LABEL: func.func @step
// NONE-NOT:     #tg.host
// REMARK: remark: [Passed] total | Category:tg-offload-states | Reason="1 states of the optimizer are kept on the host", bytes=2400, pieces=3
// EXAMPLE tg-offload-states
#map = affine_map<(d0) -> (d0)>
func.func @step(%p: tensor<600xf32> {tg.donated, tg.role = #tg.role<parameter>},
                %m: tensor<600xf32> {tg.donated, tg.role = #tg.role<optimizer_state>},
                %x: tensor<600xf32>)
    -> (tensor<600xf32> {tg.role = #tg.role<update of 0>},
        tensor<600xf32> {tg.role = #tg.role<update of 1>}) {
  %g = tg.node "aten.mul.Tensor"(%p, %x) {tg.phase = #tg.phase<backward>} : (tensor<600xf32>, tensor<600xf32>) -> tensor<600xf32>
  %new:2 = linalg.generic {indexing_maps = [#map, #map, #map, #map, #map], iterator_types = ["parallel"]}
      ins(%p, %m, %g : tensor<600xf32>, tensor<600xf32>, tensor<600xf32>)
      outs(%p, %m : tensor<600xf32>, tensor<600xf32>)
      attrs = {tg.module = "layers.0", tg.phase = #tg.phase<optimizer>} {
  ^bb0(%pe: f32, %me: f32, %ge: f32, %po: f32, %mo: f32):
    %sum = arith.addf %me, %ge : f32
    %next = arith.subf %pe, %sum : f32
    linalg.yield %next, %sum : f32, f32
  } -> (tensor<600xf32>, tensor<600xf32>)
  return %new#0, %new#1 : tensor<600xf32>, tensor<600xf32>
}
// END

// -----

// Tensors of more dimensions are updated as one dimension, with the states of
// one update together; on the host they keep their shapes. A scalar is whole in
// each piece.
// PIECES-LABEL: func.func @shapes
// PIECES-SAME:    %[[P:[^:]*]]: tensor<20x30xf32> {{.*}}%[[M:[^:]*]]: tensor<20x30xf32, #tg.host> {{.*}}%[[V:[^:]*]]: tensor<20x30xbf16, #tg.host> {{.*}}%[[LR:[^:]*]]: tensor<f32>
// PIECES:         %[[FLAT:.*]] = tensor.collapse_shape %[[P]] {{\[}}[0, 1]] {tg.phase = #tg.phase<optimizer>} : tensor<20x30xf32> into tensor<600xf32>
// PIECES:         tg.unflatten %[[FLAT]] offsets [0, 256, 512]
// PIECES:         %[[MS:.*]]:3 = tg.unflatten %[[M]] offsets [0, 256, 512] {{.*}} : (tensor<20x30xf32, #tg.host>)
// PIECES:         %[[VS:.*]]:3 = tg.unflatten %[[V]] offsets [0, 256, 512] {{.*}} : (tensor<20x30xbf16, #tg.host>)
// PIECES:         tg.fetch %[[MS]]#0, %[[VS]]#0 {{.*}} -> !tg.future<tensor<256xf32>, tensor<256xbf16>>
// PIECES:         linalg.generic
// PIECES-SAME:      %[[LR]] : tensor<256xf32>, tensor<256xf32>, tensor<256xbf16>, tensor<f32>
// PIECES:         %[[NEW:.*]] = tg.flatten
// PIECES-NEXT:    %[[NEWP:.*]] = tensor.expand_shape %[[NEW]] {{\[}}[0, 1]] output_shape [20, 30]
// PIECES-NEXT:    tg.flatten {{.*}} -> tensor<20x30xf32, #tg.host>
// PIECES-NEXT:    tg.flatten {{.*}} -> tensor<20x30xbf16, #tg.host>
#map = affine_map<(d0, d1) -> (d0, d1)>
#scalar = affine_map<(d0, d1) -> ()>
func.func @shapes(%p: tensor<20x30xf32> {tg.donated, tg.role = #tg.role<parameter>},
                  %m: tensor<20x30xf32> {tg.donated, tg.role = #tg.role<optimizer_state>},
                  %v: tensor<20x30xbf16> {tg.donated, tg.role = #tg.role<optimizer_state>},
                  %lr: tensor<f32>)
    -> (tensor<20x30xf32> {tg.role = #tg.role<update of 0>},
        tensor<20x30xf32> {tg.role = #tg.role<update of 1>},
        tensor<20x30xbf16> {tg.role = #tg.role<update of 2>}) {
  %new:3 = linalg.generic {indexing_maps = [#map, #map, #map, #scalar, #map, #map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%p, %m, %v, %lr : tensor<20x30xf32>, tensor<20x30xf32>, tensor<20x30xbf16>, tensor<f32>)
      outs(%p, %m, %v : tensor<20x30xf32>, tensor<20x30xf32>, tensor<20x30xbf16>)
      attrs = {tg.phase = #tg.phase<optimizer>} {
  ^bb0(%pe: f32, %me: f32, %ve: bf16, %lre: f32, %po: f32, %mo: f32, %vo: bf16):
    %sum = arith.mulf %me, %lre : f32
    %next = arith.subf %pe, %sum : f32
    linalg.yield %next, %sum, %ve : f32, f32, bf16
  } -> (tensor<20x30xf32>, tensor<20x30xf32>, tensor<20x30xbf16>)
  return %new#0, %new#1, %new#2 : tensor<20x30xf32>, tensor<20x30xf32>, tensor<20x30xbf16>
}

// -----

// Positions are those of the whole. What is known by position along several
// dimensions is not cut, nor what is no update of each element by itself.
// PIECES-LABEL: func.func @positions
// PIECES:         linalg.index 0
// PIECES:         %[[SECOND:.*]] = linalg.index 0
// PIECES-NEXT:    %[[C:.*]] = arith.constant 256 : index
// PIECES-NEXT:    arith.addi %[[SECOND]], %[[C]]
// PIECES-LABEL: func.func @not_cut
// PIECES:         %[[FUTURE:.*]] = tg.fetch %{{.*}} -> !tg.future<tensor<20x30xf32>>
// PIECES-NEXT:    %[[OLD:.*]] = tg.wait %[[FUTURE]]
// PIECES-NEXT:    %[[NEW:.*]] = tg.node "aten.softmax.int"(%[[OLD]])
// PIECES-NEXT:    tg.offload %[[NEW]]
#map = affine_map<(d0) -> (d0)>
func.func @positions(%m: tensor<500xindex> {tg.donated, tg.role = #tg.role<optimizer_state>})
    -> (tensor<500xindex> {tg.role = #tg.role<update of 0>}) {
  %new = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%m : tensor<500xindex>) outs(%m : tensor<500xindex>)
      attrs = {tg.phase = #tg.phase<optimizer>} {
  ^bb0(%me: index, %mo: index):
    %position = linalg.index 0 : index
    %sum = arith.addi %me, %position : index
    linalg.yield %sum : index
  } -> tensor<500xindex>
  return %new : tensor<500xindex>
}
func.func @not_cut(%m: tensor<20x30xf32> {tg.donated, tg.role = #tg.role<optimizer_state>})
    -> (tensor<20x30xf32> {tg.role = #tg.role<update of 0>}) {
  %new = tg.node "aten.softmax.int"(%m) args [#tg.operand<0>, 1] {tg.phase = #tg.phase<optimizer>} : (tensor<20x30xf32>) -> tensor<20x30xf32>
  return %new : tensor<20x30xf32>
}

// -----

// What is not donated, is not updated, is returned as it was, or is small stays
// on the device; so does what is not a state.
// CHECK-LABEL: func.func @stays
// CHECK-NOT:     #tg.host
// REMARK: remark: [Missed] on-device | Category:tg-offload-states | Reason="state 0 stays on the device: it is not donated"
// REMARK: Reason="state 1 stays on the device: the step does not update it"
// REMARK: Reason="state 2 stays on the device: the step returns it as it was"
func.func @stays(%a: tensor<64xf32> {tg.role = #tg.role<optimizer_state>},
                 %b: tensor<64xf32> {tg.donated, tg.role = #tg.role<optimizer_state>},
                 %c: tensor<64xf32> {tg.donated, tg.role = #tg.role<optimizer_state>},
                 %d: tensor<8xf32> {tg.donated, tg.role = #tg.role<optimizer_state>},
                 %e: tensor<64xf32> {tg.donated, tg.role = #tg.role<parameter>})
    -> (tensor<64xf32> {tg.role = #tg.role<update of 0>},
        tensor<64xf32> {tg.role = #tg.role<update of 2>}, tensor<64xf32>,
        tensor<8xf32> {tg.role = #tg.role<update of 3>},
        tensor<64xf32> {tg.role = #tg.role<update of 4>}) {
  %0 = tg.node "aten.neg.default"(%a) {tg.phase = #tg.phase<optimizer>} : (tensor<64xf32>) -> tensor<64xf32>
  %2 = tg.node "aten.neg.default"(%c) {tg.phase = #tg.phase<optimizer>} : (tensor<64xf32>) -> tensor<64xf32>
  %3 = tg.node "aten.neg.default"(%d) {tg.phase = #tg.phase<optimizer>} : (tensor<8xf32>) -> tensor<8xf32>
  %4 = tg.node "aten.neg.default"(%e) {tg.phase = #tg.phase<optimizer>} : (tensor<64xf32>) -> tensor<64xf32>
  return %0, %2, %c, %3, %4 : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<8xf32>, tensor<64xf32>
}

// -----

// As many as have so many bytes: those that are updated first.
// CHECK-LABEL: func.func @first
// BYTES-LABEL: func.func @first
// BYTES-SAME:    %[[A:[^:]*]]: tensor<2048xf32> {tg.donated, {{[^}]*}}}, %[[B:[^:]*]]: tensor<2048xf32, #tg.host>
// BYTES:         tg.fetch %[[B]]
// BYTES-NOT:     tg.fetch
func.func @first(%a: tensor<2048xf32> {tg.donated, tg.role = #tg.role<optimizer_state>},
                 %b: tensor<2048xf32> {tg.donated, tg.role = #tg.role<optimizer_state>})
    -> (tensor<2048xf32> {tg.role = #tg.role<update of 0>},
        tensor<2048xf32> {tg.role = #tg.role<update of 1>}) {
  %1 = tg.node "aten.neg.default"(%b) {tg.phase = #tg.phase<optimizer>} : (tensor<2048xf32>) -> tensor<2048xf32>
  %0 = tg.node "aten.neg.default"(%a) {tg.phase = #tg.phase<optimizer>} : (tensor<2048xf32>) -> tensor<2048xf32>
  return %0, %1 : tensor<2048xf32>, tensor<2048xf32>
}
