// RUN: regather-opt %s --convert-tg-to-exec=entry=b | FileCheck %s
// RUN: not regather-opt %s --convert-tg-to-exec=entry=c 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not regather-opt %s --convert-tg-to-exec='entry=b comm-streams=0' 2>&1 | FileCheck %s --check-prefix=STREAMS

// CHECK: func.func @a
// CHECK: exec.program @b
// MISSING: error: there is no function "c" with a body
// STREAMS: error: 'comm-streams' must be at least 1, got 0
func.func @a() {
  return
}
func.func @b() {
  return
}
