// RUN: regather-opt %s -split-input-file --exec-plan-memory --tg-verify-step | FileCheck %s
// RUN: regather-opt %s -split-input-file --exec-plan-memory --exec-plan-memory | FileCheck %s
// RUN: regather-opt %s -split-input-file --exec-plan-memory --remark-format=emitRemark --remarks-filter=exec-plan-memory -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// The second value is computed in the place of the first one once that has been
// copied away, and the first one comes back where the second was. Both are on
// the host at one time, each in a place of its own.
// CHECK-LABEL: exec.program @offloaded
// CHECK-SAME:    arena = 64 : i64, host_arena = 128 : i64, host_lower_bound = 128 : i64, lower_bound = 64 : i64
// CHECK:         exec.slice 0
// CHECK:         exec.slice 0
// CHECK:         exec.host_slice [[#PLACE:]] : memref<16xf32, #tg.host>
// CHECK:         exec.host_slice {{[0-9]+}} : memref<16xf32, #tg.host>
// REMARK: Category:exec-plan-memory | Reason="'offloaded' has 2 buffers in an arena of the host", arena_bytes=128, lower_bound_bytes=128
exec.program @offloaded(%x: memref<16xf32>, %y: memref<16xf32>, %z: memref<16xf32> {tg.donated})
    attributes {streams = 3} {
  %a = exec.slice : memref<16xf32>
  %b = exec.slice : memref<16xf32>
  %host = exec.host_slice : memref<16xf32, #tg.host>
  %other = exec.host_slice : memref<16xf32, #tg.host>
  %back = exec.slice : memref<16xf32>
  exec.copy %x to %a stream 0 : memref<16xf32>
  %ready = exec.record stream 0
  exec.wait %ready stream 1
  exec.transfer %a to %host stream 1 : memref<16xf32> to memref<16xf32, #tg.host>
  %away = exec.record stream 1
  exec.wait %away stream 0
  exec.copy %y to %b stream 0 : memref<16xf32>
  %ready2 = exec.record stream 0
  exec.wait %ready2 stream 1
  exec.transfer %b to %other stream 1 : memref<16xf32> to memref<16xf32, #tg.host>
  %away2 = exec.record stream 1
  exec.wait %away2 stream 0
  %free = exec.record stream 0
  exec.wait %free stream 2
  exec.transfer %host to %back stream 2 : memref<16xf32, #tg.host> to memref<16xf32>
  exec.transfer %other to %z stream 2 : memref<16xf32, #tg.host> to memref<16xf32>
  exec.return
}

// -----

// A value that is fetched before the next one is copied away leaves its place on
// the host to that; what is copied away and still read on the device is in both.
// CHECK-LABEL: exec.program @one_after_the_other
// CHECK-SAME:    arena = 128 : i64, host_arena = 64 : i64, host_lower_bound = 64 : i64
// REMARK: 'one_after_the_other' has 2 buffers in an arena of the host", arena_bytes=64
exec.program @one_after_the_other(%x: memref<16xf32>, %y: memref<16xf32> {tg.donated})
    -> memref<16xf32> attributes {streams = 3} {
  %a = exec.slice : memref<16xf32>
  %back = exec.slice : memref<16xf32>
  %host = exec.host_slice : memref<16xf32, #tg.host>
  %other = exec.host_slice : memref<16xf32, #tg.host>
  exec.copy %x to %a stream 0 : memref<16xf32>
  %ready = exec.record stream 0
  exec.wait %ready stream 1
  exec.transfer %a to %host stream 1 : memref<16xf32> to memref<16xf32, #tg.host>
  %away = exec.record stream 1
  exec.wait %away stream 2
  exec.transfer %host to %back stream 2 : memref<16xf32, #tg.host> to memref<16xf32>
  %there = exec.record stream 2
  exec.wait %there stream 0
  %read = exec.record stream 0
  exec.wait %read stream 1
  exec.transfer %a to %other stream 1 : memref<16xf32> to memref<16xf32, #tg.host>
  %away2 = exec.record stream 1
  exec.wait %away2 stream 2
  exec.transfer %other to %y stream 2 : memref<16xf32, #tg.host> to memref<16xf32>
  exec.return %back : memref<16xf32>
}
