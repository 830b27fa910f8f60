// RUN: regather-opt %s -split-input-file --convert-tg-to-exec | FileCheck %s
// RUN: regather-opt %s -split-input-file --convert-tg-to-exec --exec-plan-memory --tg-verify-step | FileCheck %s --check-prefix=PLANNED

// A state of the host comes in two pieces, and each new piece goes to its place:
// in a buffer of the host and, once that is planned, in the memory of the state
// itself. So does the parameter, whose pieces nothing reads any more when new
// ones are written there.
// CHECK-LABEL: exec.program @step(
// CHECK-SAME:    %[[P:[^:]*]]: memref<512xf32> {{.*}}, %[[M:[^:]*]]: memref<512xf32, #tg.host>
// CHECK-SAME:    -> (memref<512xf32> {{.*}}, memref<512xf32, #tg.host>
// CHECK:         %[[M0:.*]] = exec.view %[[M]][0] : memref<512xf32, #tg.host> to memref<256xf32, #tg.host>
// CHECK:         %[[M1:.*]] = exec.view %[[M]][1024] : memref<512xf32, #tg.host> to memref<256xf32, #tg.host>
// CHECK:         exec.transfer %[[M0]] to %{{.*}} stream 2
// CHECK:         %[[NEW:.*]] = exec.slice : memref<512xf32>
// CHECK:         exec.launch @update
// CHECK:         %[[HOST:.*]] = exec.host_slice : memref<512xf32, #tg.host>
// CHECK:         %[[H0:.*]] = exec.view %[[HOST]][0]
// CHECK:         exec.transfer %{{.*}} to %[[H0]] stream 1
// CHECK:         exec.transfer %[[M1]] to %{{.*}} stream 2
// CHECK:         %[[H1:.*]] = exec.view %[[HOST]][1024]
// CHECK:         exec.transfer %{{.*}} to %[[H1]] stream 1
// CHECK:         exec.return %[[NEW]], %[[HOST]]
// PLANNED-LABEL: exec.program @step(
// PLANNED-SAME:    %[[P:[^:]*]]: memref<512xf32> {{.*}}, %[[M:[^:]*]]: memref<512xf32, #tg.host>
// PLANNED-SAME:    arena = 2048 : i64, lower_bound = 2048 : i64
// PLANNED-NOT:     exec.host_slice
// PLANNED-NOT:     exec.copy
// PLANNED:         exec.return %[[P]], %[[M]]
#map = affine_map<(d0) -> (d0)>
tg.kernel @update(%p: tensor<256xf32>, %m: tensor<256xf32>) -> (tensor<256xf32>, tensor<256xf32>) {
  %new:2 = linalg.generic {indexing_maps = [#map, #map, #map, #map], iterator_types = ["parallel"]}
      ins(%p, %m : tensor<256xf32>, tensor<256xf32>) outs(%p, %m : tensor<256xf32>, tensor<256xf32>) {
  ^bb0(%pe: f32, %me: f32, %po: f32, %mo: f32):
    %sum = arith.addf %me, %pe : f32
    %next = arith.subf %pe, %sum : f32
    linalg.yield %next, %sum : f32, f32
  } -> (tensor<256xf32>, tensor<256xf32>)
  tg.return %new#0, %new#1 : tensor<256xf32>, tensor<256xf32>
}
func.func @step(%p: tensor<512xf32> {tg.donated, tg.role = #tg.role<parameter>},
                %m: tensor<512xf32, #tg.host> {tg.donated, tg.role = #tg.role<optimizer_state>})
    -> (tensor<512xf32> {tg.role = #tg.role<update of 0>},
        tensor<512xf32, #tg.host> {tg.role = #tg.role<update of 1>}) {
  %p0, %p1 = tg.unflatten %p offsets [0, 256] : (tensor<512xf32>) -> (tensor<256xf32>, tensor<256xf32>)
  %m0, %m1 = tg.unflatten %m offsets [0, 256] : (tensor<512xf32, #tg.host>) -> (tensor<256xf32, #tg.host>, tensor<256xf32, #tg.host>)
  %f0 = tg.fetch %m0 : (tensor<256xf32, #tg.host>) -> !tg.future<tensor<256xf32>>
  %old0 = tg.wait %f0 : !tg.future<tensor<256xf32>>
  %new0:2 = tg.launch @update(%p0, %old0) : (tensor<256xf32>, tensor<256xf32>) -> (tensor<256xf32>, tensor<256xf32>)
  %a0 = tg.offload %new0#1 : (tensor<256xf32>) -> !tg.future<tensor<256xf32, #tg.host>>
  %f1 = tg.fetch %m1 : (tensor<256xf32, #tg.host>) -> !tg.future<tensor<256xf32>>
  %old1 = tg.wait %f1 : !tg.future<tensor<256xf32>>
  %new1:2 = tg.launch @update(%p1, %old1) : (tensor<256xf32>, tensor<256xf32>) -> (tensor<256xf32>, tensor<256xf32>)
  %h0 = tg.wait %a0 : !tg.future<tensor<256xf32, #tg.host>>
  %a1 = tg.offload %new1#1 : (tensor<256xf32>) -> !tg.future<tensor<256xf32, #tg.host>>
  %h1 = tg.wait %a1 : !tg.future<tensor<256xf32, #tg.host>>
  %newp = tg.flatten %new0#0, %new1#0 offsets [0, 256] : (tensor<256xf32>, tensor<256xf32>) -> tensor<512xf32>
  %newm = tg.flatten %h0, %h1 offsets [0, 256] : (tensor<256xf32, #tg.host>, tensor<256xf32, #tg.host>) -> tensor<512xf32, #tg.host>
  return %newp, %newm : tensor<512xf32>, tensor<512xf32, #tg.host>
}

// -----

// The second piece is read after a new one was written in its place: the update
// has memory of its own, and is copied at the end.
// PLANNED-LABEL: exec.program @read_later(
// PLANNED-SAME:    %[[P:[^:]*]]: memref<512xf32>
// PLANNED:         exec.copy %{{.*}} to %[[P]]
tg.kernel @negate(%p: tensor<256xf32>) -> tensor<256xf32> {
  %new = arith.negf %p : tensor<256xf32>
  tg.return %new : tensor<256xf32>
}
func.func @read_later(%p: tensor<512xf32> {tg.donated, tg.role = #tg.role<parameter>})
    -> (tensor<512xf32> {tg.role = #tg.role<update of 0>}) {
  %p0, %p1 = tg.unflatten %p offsets [0, 256] : (tensor<512xf32>) -> (tensor<256xf32>, tensor<256xf32>)
  %new0 = tg.launch @negate(%p1) : (tensor<256xf32>) -> tensor<256xf32>
  %new1 = tg.launch @negate(%p0) : (tensor<256xf32>) -> tensor<256xf32>
  %newp = tg.flatten %new0, %new1 offsets [0, 256] : (tensor<256xf32>, tensor<256xf32>) -> tensor<512xf32>
  return %newp : tensor<512xf32>
}

// -----

// A part of the host that nothing copied there has no buffer to lie in.
// PLANNED-LABEL: exec.program @handed_on(
// PLANNED-SAME:    %[[M:[^:]*]]: memref<8xf32, #tg.host>
// PLANNED:         exec.return %[[M]]
func.func @handed_on(%m: tensor<8xf32, #tg.host> {tg.donated, tg.role = #tg.role<optimizer_state>})
    -> (tensor<8xf32, #tg.host> {tg.role = #tg.role<update of 0>}) {
  return %m : tensor<8xf32, #tg.host>
}
