// What a budget of bytes marks.

// RUN: regather-opt %s --tg-apply-policy=budget=32 | FileCheck %s
// RUN: regather-opt %s --tg-apply-policy=budget=32 --tg-partition | FileCheck %s --check-prefix=SPLIT

// The cast is of the argument alone, and still costs bytes. A mark that is
// there stays, and what nobody needs gets none. A mark on a collective speaks
// for its wait.
// CHECK-LABEL: @step
// CHECK:         "aten._to_copy.default"{{.*}}must_recompute
// CHECK:         "aten.sin.default"
// CHECK-NOT:     tg.policy
// CHECK:         tg.all_reduce {{.*}}must_save
// CHECK:         tg.wait
// CHECK-NOT:     tg.policy
// CHECK:         "aten.mm.default"{{.*}}must_save
// CHECK:         "aten.exp.default"{{.*}}must_recompute
// CHECK:         "aten.cos.default"{{.*}}prefer_save

// The partition follows the marks.
// SPLIT-LABEL: func.func @forward
// SPLIT:         -> ({{.*}}tensor<4xf32> {tg.name = "saved.0", {{.*}}tensor<4xf32> {tg.name = "saved.1", {{[^}]*}}})
// SPLIT-LABEL: func.func @backward
tg.mesh @mesh [dp = 2]

func.func @step(%w: tensor<4xf32> {tg.role = #tg.role<parameter>}, %large: tensor<4x1000000xf32>) -> (tensor<4xf64>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a = tg.node "aten._to_copy.default"(%w) {tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<4xf64>
  %sin = tg.node "aten.sin.default"(%w) {tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<4xf32>
  %0 = tg.all_reduce sum %sin on @mesh [dp] phase forward : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %b = tg.wait %0 : !tg.future<tensor<4xf32>>
  %c = tg.node "aten.mm.default"(%large, %large) {tg.phase = #tg.phase<forward>} : (tensor<4x1000000xf32>, tensor<4x1000000xf32>) -> tensor<4xf32>
  %d = tg.node "aten.exp.default"(%b) {tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<4xf32>
  %e = tg.node "aten.cos.default"(%d) {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<prefer_save>} : (tensor<4xf32>) -> tensor<4xf32>
  %g = tg.node "aten.some.default"(%a, %b, %c, %d) {tg.phase = #tg.phase<backward>} : (tensor<4xf64>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %a, %c, %e, %g : tensor<4xf64>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
