// Flat parameters are counted one by one; what a rank holds has padding.
// RUN: regather stats %s | FileCheck %s

tg.mesh @mesh [dp = 4]

// CHECK: 0 operations
// CHECK-NEXT: 2 parameters, 45 elements, 180 bytes, 64 on each rank
func.func @step(
    %flat: tensor<16xf32> {
      tg.role = #tg.role<parameter>, tg.placement = #tg.placement<@mesh [[dp] = shard 0]>,
      tg.members = #tg.members<["weight" at 0 of [8, 5], "bias" at 48 of [5]]>}) {
  return
}
