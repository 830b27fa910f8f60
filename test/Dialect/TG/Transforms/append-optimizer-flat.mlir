// RUN: regather-opt %s --tg-append-optimizer="max-norm=1.0 groups=*norm*:weight-decay=0" --tg-verify-step | FileCheck %s
// RUN: not regather-opt %s --tg-append-optimizer="groups=a.norm:weight-decay=0" 2>&1 | FileCheck %s --check-prefix=SPLIT
// RUN: not regather-opt %s --tg-append-optimizer="groups=b.*:weight-decay=0|a.norm:weight-decay=1" 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: not regather-opt %s --tg-append-optimizer="groups=c.*:weight-decay=0" 2>&1 | FileCheck %s --check-prefix=NO-MATCH

// A flat parameter has one update. The members of its states lie where those
// of the parameter do. All of the buffer counts for the norm: what lies between
// gradients is zero.
// CHECK:      func.func @step(
// CHECK-SAME:   %[[P:[a-z0-9]+]]: tensor<8xf32> {tg.members
// CHECK-SAME:   %[[G:[a-z0-9]+]]: tensor<8xf32> {tg.name = "g"
// CHECK-SAME:   %[[M:[a-z0-9]+]]: tensor<8xf32> {tg.donated, tg.members = #tg.members<["a.norm.exp_avg" at 0 of [3] registration 0, "b.norm.exp_avg" at 4 of [2, 5] registration 1 aliases ["b.tied.exp_avg"]]>, tg.module = "m", tg.name = "norms.exp_avg", tg.placement = #tg.placement<@mesh {{\[\[}}dp] = shard 0]>, tg.role = #tg.role<optimizer_state>}
// CHECK-SAME:   %{{[a-z0-9]+}}: tensor<8xf32> {{.*}}["a.norm.exp_avg_sq" at 0 of [3] registration 0, {{.*}}tg.name = "norms.exp_avg_sq"
// CHECK-SAME:   -> (tensor<8xf32> {tg.role = #tg.role<update of 0>}, tensor<8xf32> {tg.role = #tg.role<update of 2>}, tensor<8xf32> {tg.role = #tg.role<update of 3>})
// CHECK-NOT:    tg.axis_index
// CHECK:        linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%[[G]] : tensor<8xf32>)
// CHECK:        tg.all_reduce sum
// CHECK:        linalg.generic {{.*}}iterator_types = ["parallel"]} ins(%[[P]], %[[M]], %{{.*}}, %[[G]],
//
// SPLIT: error: parameters "a.norm" and "b.norm" lie in one flat buffer, "norms", but group "a.norm" is for the first, and not for the second; shard them with optimizer-groups=a.norm
// TWO: error: parameters "a.norm" and "b.norm" lie in one flat buffer, "norms", but group "a.norm" is for the first, and group "b.*" for the second; shard them with optimizer-groups=a.norm,b.*
// NO-MATCH: error: group "c.*" matches none of 2 parameters to update

tg.mesh @mesh [dp = 2]

func.func @step(
    %p: tensor<8xf32> {
      tg.role = #tg.role<parameter>, tg.name = "norms", tg.module = "m",
      tg.placement = #tg.placement<@mesh [[dp] = shard 0]>,
      tg.members = #tg.members<["a.norm" at 0 of [3] registration 0,
                                "b.norm" at 4 of [2, 5] registration 1 aliases ["b.tied"]]>},
    %g: tensor<8xf32> {tg.role = #tg.role<input>, tg.name = "g",
                       tg.placement = #tg.placement<@mesh [[dp] = shard 0]>})
    -> (tensor<8xf32> {tg.role = #tg.role<gradient of 0>}) {
  return %g : tensor<8xf32>
}
