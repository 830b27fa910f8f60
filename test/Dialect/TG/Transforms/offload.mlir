// RUN: regather-opt %s -split-input-file --tg-offload='mode=all min-bytes=64' --tg-verify-step | FileCheck %s
// RUN: regather-opt %s -split-input-file --tg-offload='mode=bytes bytes=64 min-bytes=64' --tg-verify-step | FileCheck %s --check-prefix=BYTES
// RUN: regather-opt %s -split-input-file --tg-offload=min-bytes=64 --tg-verify-step | FileCheck %s --check-prefix=MARKED
// RUN: regather-opt %s -split-input-file --tg-offload | FileCheck %s --check-prefix=SMALL
// RUN: regather-opt %s -split-input-file --tg-offload='mode=bytes bytes=64 min-bytes=64' --remark-format=emitRemark --remarks-filter=tg-offload -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// What backward reads is copied away once it is there, and back in front of its
// first reader. The view of it that backward reads is made again. What is read
// again at once, as %c2, stays.
// CHECK-LABEL: func.func @step
// CHECK:         %[[A:.*]] = tg.launch @f(%{{.*}})
// CHECK-NEXT:    %[[AWAY:.*]] = tg.offload %[[A]] {tg.id = "a", tg.module = "layers.0", tg.phase = #tg.phase<forward>}
// CHECK-NEXT:    %[[FLAT:.*]] = tg.node "aten.view.default"(%[[A]])
// CHECK-NEXT:    %[[B:.*]] = tg.launch @f(%[[A]])
// CHECK-NEXT:    %[[BAWAY:.*]] = tg.offload %[[B]]
// CHECK-NEXT:    %[[HOST:.*]] = tg.wait %[[AWAY]]
// CHECK-NEXT:    %[[C:.*]] = tg.launch @f(%[[B]])
// CHECK-NEXT:    %[[BHOST:.*]] = tg.wait %[[BAWAY]]
// CHECK-NEXT:    %[[C2:.*]] = tg.launch @f(%[[C]])
// CHECK-NEXT:    %[[BBACK:.*]] = tg.fetch %[[BHOST]]
// CHECK-NEXT:    %[[BCOPY:.*]] = tg.wait %[[BBACK]]
// CHECK-NEXT:    %[[D:.*]] = tg.launch @g(%[[C2]], %[[BCOPY]])
// CHECK-NEXT:    %[[BACK:.*]] = tg.fetch %[[HOST]] {tg.id = "a", tg.module = "layers.0", tg.phase = #tg.phase<backward>}
// CHECK-NEXT:    %[[COPY:.*]] = tg.wait %[[BACK]]
// CHECK-NEXT:    %[[VIEW:.*]] = tg.node "aten.view.default"(%[[COPY]]) {{.*}}tg.phase = #tg.phase<backward>
// CHECK-NEXT:    tg.launch @h(%[[D]], %[[VIEW]])
// CHECK-NEXT:    tg.launch @g(%{{.*}}, %[[COPY]])

// Of two values, the one that nobody reads for longer is enough for 64 bytes.
// BYTES-LABEL: func.func @step
// BYTES:         %[[A:.*]] = tg.launch @f(%{{.*}})
// BYTES-NEXT:    tg.offload %[[A]]
// BYTES-NOT:     tg.offload
// REMARK: remark: [Passed] offloaded | Category:tg-offload | Remark="'a' is kept on the host for backward", bytes=64
// REMARK: remark: [Analysis] total | Category:tg-offload | bytes=64, candidate_bytes=128, candidates=2, offloaded=1

// Nothing is marked, and nothing has 64 KiB.
// MARKED-LABEL: func.func @step
// MARKED-NOT:     tg.offload
// SMALL-LABEL: func.func @step
// SMALL-NOT:     tg.offload
// EXAMPLE tg-offload
tg.kernel @f(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %y = tg.node "aten.exp.default"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  tg.return %y : tensor<4x4xf32>
}
tg.kernel @g(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %z = tg.node "aten.mul.Tensor"(%x, %y) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  tg.return %z : tensor<4x4xf32>
}
tg.kernel @h(%x: tensor<4x4xf32>, %y: tensor<16xf32>) -> tensor<4x4xf32> {
  %z = tg.node "aten.view.default"(%y) args [#tg.operand<0>, [4, 4]] : (tensor<16xf32>) -> tensor<4x4xf32>
  %w = tg.node "aten.mul.Tensor"(%x, %z) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  tg.return %w : tensor<4x4xf32>
}
func.func @step(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = tg.launch @f(%x) {tg.id = "a", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %flat = tg.node "aten.view.default"(%a) args [#tg.operand<0>, [16]] {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<16xf32>
  %b = tg.launch @f(%a) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = tg.launch @f(%b) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %c2 = tg.launch @f(%c) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %d = tg.launch @g(%c2, %b) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %e = tg.launch @h(%d, %flat) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<16xf32>) -> tensor<4x4xf32>
  %g = tg.launch @g(%e, %a) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %g : tensor<4x4xf32>
}
// END

// -----

// Marks are followed: of two results of a kernel the second one. What is
// gathered can be gathered again, what is returned has to be there, and what
// only forward reads does not live on.
// MARKED-LABEL: func.func @marked
// MARKED:         %[[A:.*]]:2 = tg.launch @two(
// MARKED:         tg.offload %[[A]]#1 {
// MARKED-NOT:     tg.offload
// CHECK-LABEL: func.func @marked
// CHECK-COUNT-2:  tg.offload
// CHECK-NOT:      tg.offload
// BYTES-LABEL: func.func @marked
// BYTES-COUNT-1:  tg.offload
// BYTES-NOT:      tg.offload
tg.mesh @mesh [dp = 2]
tg.kernel @two(%x: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %y = tg.node "aten.exp.default"(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %z = tg.node "aten.neg.default"(%y) : (tensor<16xf32>) -> tensor<16xf32>
  tg.return %y, %z : tensor<16xf32>, tensor<16xf32>
}
tg.kernel @mul(%x: tensor<16xf32>, %y: tensor<16xf32>) -> tensor<16xf32> {
  %z = tg.node "aten.mul.Tensor"(%x, %y) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  tg.return %z : tensor<16xf32>
}
func.func @marked(%x: tensor<16xf32>, %w: tensor<8xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %future = tg.all_gather %w on @mesh [dp] dim 0 phase forward : (tensor<8xf32>) -> !tg.future<tensor<16xf32>>
  %full = tg.wait %future : !tg.future<tensor<16xf32>>
  %a:2 = tg.launch @two(%x) {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<offload>, tg.saved_results = array<i64: 1>}
      : (tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  %b = tg.launch @mul(%a#0, %full) {tg.phase = #tg.phase<forward>} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %c = tg.launch @mul(%b, %a#1) {tg.phase = #tg.phase<forward>} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %c2 = tg.launch @mul(%c, %a#0) {tg.phase = #tg.phase<forward>} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %d = tg.launch @mul(%c2, %a#1) {tg.phase = #tg.phase<backward>} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %e = tg.launch @mul(%d, %a#0) {tg.phase = #tg.phase<backward>} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %f = tg.launch @mul(%e, %full) {tg.phase = #tg.phase<backward>} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %g = tg.launch @mul(%f, %c) {tg.phase = #tg.phase<backward>} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %g, %c : tensor<16xf32>, tensor<16xf32>
}
