// RUN: regather-opt %s -split-input-file --tg-reshard-after-forward=mode=always | FileCheck %s
// RUN: regather-opt %s -split-input-file --tg-reshard-after-forward=mode=always --tg-reshard-after-forward=mode=always | FileCheck %s
// RUN: regather-opt %s -split-input-file --tg-reshard-after-forward=mode=always --remark-format=emitRemark --remarks-filter=tg-reshard-after-forward -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// The cast before the gather and the transpose behind the wait are copied with
// it, in front of what reads them in backward.
// CHECK-LABEL: @step
// CHECK-SAME:    (%[[W:.*]]: tensor<2x8xf32> {tg.name = "w", tg.reshard = #tg.reshard<always>
// CHECK:         tg.all_gather {{.*}} phase forward :
// CHECK:         %[[Y:.*]] = tg.node "aten.mm.default"{{.*}}forward
// CHECK-NEXT:    %[[G:.*]] = tg.node "aten.relu.default"(%[[Y]])
// CHECK-NEXT:    %[[CAST:.*]] = tg.node "aten._to_copy.default"(%[[W]]) {{.*}}backward
// CHECK-NEXT:    %[[FUTURE:.*]] = tg.all_gather %[[CAST]] on @mesh [dp] dim 0 phase backward generation 1
// CHECK-NEXT:    %[[WHOLE:.*]] = tg.wait %[[FUTURE]] {tg.phase = #tg.phase<backward>}
// CHECK-NEXT:    %[[T:.*]] = tg.node "aten.t.default"(%[[WHOLE]]) {{.*}}backward
// CHECK-NEXT:    tg.node "aten.mm.default"(%[[G]], %[[T]])
// REMARK: "w" is released after forward: backward gathers it again
// REMARK-SAME: kept_bytes=0
// REMARK-SAME: released_bytes=128
// REMARK: total {{.*}} kept=0, kept_bytes=0, released=1, released_bytes=128
// EXAMPLE tg-reshard-after-forward{mode=always}
tg.mesh @mesh [dp = 4]

func.func @step(%w: tensor<2x8xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
                %x: tensor<8x8xbf16>) -> tensor<8x8xbf16> {
  %cast = tg.node "aten._to_copy.default"(%w) kwargs {dtype = bf16}
      {tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>) -> tensor<2x8xbf16>
  %future = tg.all_gather %cast on @mesh [dp] dim 0 phase forward
      : (tensor<2x8xbf16>) -> !tg.future<tensor<8x8xbf16>>
  %whole = tg.wait %future : !tg.future<tensor<8x8xbf16>>
  %t = tg.node "aten.t.default"(%whole) {tg.phase = #tg.phase<forward>} : (tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %y = tg.node "aten.mm.default"(%x, %t) {tg.phase = #tg.phase<forward>}
      : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %g = tg.node "aten.relu.default"(%y) {tg.phase = #tg.phase<backward>} : (tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %gx = tg.node "aten.mm.default"(%g, %t) {tg.phase = #tg.phase<backward>}
      : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  return %gx : tensor<8x8xbf16>
}
// END

// -----

// Of a chain that splits, concatenates and branches, backward gets what it
// reads: not the transpose, which forward alone reads. The two readers share
// one copy.
// CHECK-LABEL: @branches
// CHECK:         tg.node "aten.neg.default"
// CHECK-NEXT:    %[[FUTURE:.*]] = tg.all_gather %arg0 {{.*}} phase backward generation 1
// CHECK-NEXT:    %[[WHOLE:.*]] = tg.wait %[[FUTURE]]
// CHECK-NEXT:    %[[HALVES:.*]]:2 = tg.node "aten.split_with_sizes.default"(%[[WHOLE]])
// CHECK-NEXT:    %[[CAT:.*]] = tg.node "aten.cat.default"(%[[HALVES]]#0, %[[HALVES]]#1)
// CHECK-NEXT:    %[[A:.*]] = tg.node "aten.mm.default"(%{{.*}}, %[[CAT]])
// CHECK-NEXT:    tg.node "aten.mm.default"(%[[A]], %[[CAT]])
// CHECK-NOT:     tg.node
tg.mesh @mesh [dp = 2]

func.func @branches(%w: tensor<4x4xf32> {tg.role = #tg.role<parameter>}, %x: tensor<8x4xf32>) -> tensor<4x8xf32> {
  %future = tg.all_gather %w on @mesh [dp] dim 0 phase forward : (tensor<4x4xf32>) -> !tg.future<tensor<8x4xf32>>
  %whole = tg.wait %future : !tg.future<tensor<8x4xf32>>
  %a, %b = tg.node "aten.split_with_sizes.default"(%whole) args [#tg.operand<0>, [4, 4]]
      : (tensor<8x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  %cat = tg.node "aten.cat.default"(%a, %b) args [[#tg.operand<0>, #tg.operand<1>], 1]
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  %t = tg.node "aten.t.default"(%cat) : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %y = tg.node "aten.mm.default"(%x, %cat) {tg.phase = #tg.phase<forward>} : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %z = tg.node "aten.mm.default"(%y, %t) {tg.phase = #tg.phase<forward>} : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %g = tg.node "aten.neg.default"(%z) {tg.phase = #tg.phase<backward>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %g0 = tg.node "aten.mm.default"(%g, %cat) {tg.phase = #tg.phase<backward>} : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %g1 = tg.node "aten.mm.default"(%g0, %cat) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %g1 : tensor<4x8xf32>
}

// -----

// A unit travels together. %a is read by forward alone, %b by both, %c by
// backward alone: each phase gathers what it needs.
// CHECK-LABEL: @unit
// CHECK:         tg.all_gather %arg0, %arg1 on @mesh [dp] dim 0 phase forward
// CHECK:         %[[G:.*]] = tg.node "aten.neg.default"
// CHECK:         %[[FUTURE:.*]] = tg.all_gather %arg1, %arg2 on @mesh [dp] dim 0 phase backward generation 1 {tg.module = "layers.0"}
// CHECK:         %[[B:.*]]:2 = tg.wait %[[FUTURE]]
// CHECK:         tg.node "aten.add.Tensor"(%[[B]]#0, %[[B]]#1)
tg.mesh @mesh [dp = 2]

func.func @unit(%a: tensor<2xf32> {tg.role = #tg.role<parameter>}, %b: tensor<2xf32> {tg.role = #tg.role<parameter>},
                %c: tensor<2xf32> {tg.role = #tg.role<parameter>}) -> (tensor<4xf32>, tensor<4xf32>) {
  %future = tg.all_gather %a, %b, %c on @mesh [dp] dim 0 phase forward {tg.module = "layers.0"}
      : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> !tg.future<tensor<4xf32>, tensor<4xf32>, tensor<4xf32>>
  %aw, %bw, %cw = tg.wait %future : !tg.future<tensor<4xf32>, tensor<4xf32>, tensor<4xf32>>
  %y = tg.node "aten.mul.Tensor"(%aw, %bw) {tg.phase = #tg.phase<forward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %g = tg.node "aten.neg.default"(%y) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>) -> tensor<4xf32>
  %h = tg.node "aten.add.Tensor"(%bw, %cw) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %g, %h : tensor<4xf32>, tensor<4xf32>
}

// -----

// A value that the user wants saved is; backward makes its own view of it. The
// gathered parameter before it is released.
// CHECK-LABEL: @must_save
// CHECK:         %[[T:.*]] = tg.node "aten.t.default"{{.*}}must_save
// CHECK-NOT:     phase backward
// CHECK:         %[[VIEW:.*]] = tg.node "aten.view.default"(%[[T]]) {{.*}}backward
// CHECK:         tg.node "aten.mm.default"(%{{.*}}, %[[VIEW]])
tg.mesh @mesh [dp = 2]

func.func @must_save(%w: tensor<2x4xf32> {tg.role = #tg.role<parameter>}, %x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %future = tg.all_gather %w on @mesh [dp] dim 0 phase forward : (tensor<2x4xf32>) -> !tg.future<tensor<4x4xf32>>
  %whole = tg.wait %future : !tg.future<tensor<4x4xf32>>
  %t = tg.node "aten.t.default"(%whole) {tg.policy = #tg.policy<must_save>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %view = tg.node "aten.view.default"(%t) args [#tg.operand<0>, [4, 4]] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = tg.node "aten.mm.default"(%x, %view) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %g = tg.node "aten.mm.default"(%y, %view) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %g : tensor<4x4xf32>
}

// -----

// A preference is none of the reasons to keep a parameter. What forward has
// computed of it, here a sum, is no gathered parameter any more.
// CHECK-LABEL: @near_misses
// CHECK:         %[[SUM:.*]] = tg.node "aten.sum.default"
// CHECK:         tg.all_gather %arg0 {{.*}} phase backward generation 1
// CHECK-NEXT:    tg.wait
// CHECK-NOT:     aten.sum
// CHECK:         tg.node "aten.mul.Tensor"(%{{.*}}, %[[SUM]])
tg.mesh @mesh [dp = 2]

func.func @near_misses(%w: tensor<2x4xf32> {tg.role = #tg.role<parameter>}) -> tensor<4x4xf32> {
  %future = tg.all_gather %w on @mesh [dp] dim 0 phase forward : (tensor<2x4xf32>) -> !tg.future<tensor<4x4xf32>>
  %whole = tg.wait %future {tg.policy = #tg.policy<prefer_save>} : !tg.future<tensor<4x4xf32>>
  %sum = tg.node "aten.sum.default"(%whole) : (tensor<4x4xf32>) -> tensor<f32>
  %g = tg.node "aten.mul.Tensor"(%whole, %sum) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  return %g : tensor<4x4xf32>
}

// -----

// A gather of an activation is tensor parallelism's, whatever group it runs
// in; so is one of an input that is not a parameter.
// CHECK-LABEL: @tensor_parallel
// CHECK-SAME:    %{{.*}}: tensor<2x4xf32> {tg.role = #tg.role<input>}
// CHECK-COUNT-1: phase backward generation 1
// CHECK-NOT:     phase backward generation
tg.mesh @mesh [dp = 2]

func.func @tensor_parallel(%w: tensor<2x4xf32> {tg.role = #tg.role<parameter>},
                           %x: tensor<2x4xf32> {tg.role = #tg.role<input>}) -> tensor<4x4xf32> {
  %0 = tg.all_gather %w on @mesh [dp] dim 0 phase forward : (tensor<2x4xf32>) -> !tg.future<tensor<4x4xf32>>
  %whole = tg.wait %0 : !tg.future<tensor<4x4xf32>>
  %1 = tg.all_gather %x on @mesh [dp] dim 0 phase forward : (tensor<2x4xf32>) -> !tg.future<tensor<4x4xf32>>
  %input = tg.wait %1 : !tg.future<tensor<4x4xf32>>
  %y = tg.node "aten.mm.default"(%x, %whole) {tg.phase = #tg.phase<forward>} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %2 = tg.all_gather %y on @mesh [dp] dim 0 phase forward : (tensor<2x4xf32>) -> !tg.future<tensor<4x4xf32>>
  %activation = tg.wait %2 : !tg.future<tensor<4x4xf32>>
  %g = tg.node "aten.mm.default"(%activation, %input) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %h = tg.node "aten.mm.default"(%g, %whole) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %h : tensor<4x4xf32>
}

// -----

// Structured operations are in a chain like nodes, with the constants that
// they need. A step without a backward part keeps what it has.
// CHECK-LABEL: @linalg
// CHECK:         linalg.matmul
// CHECK-NEXT:    tg.all_gather %arg0 {{.*}} phase backward generation 1
// CHECK-NEXT:    %[[WHOLE:.*]] = tg.wait
// CHECK-NEXT:    %[[EMPTY:.*]] = tensor.empty()
// CHECK-NEXT:    %[[T:.*]] = linalg.transpose ins(%[[WHOLE]] : tensor<4x4xf32>) outs(%[[EMPTY]]
// CHECK-NEXT:    linalg.matmul {{.*}} ins(%{{.*}}, %[[T]]
// CHECK-LABEL: @no_backward
// CHECK-NOT:     phase backward
tg.mesh @mesh [dp = 2]

func.func @linalg(%w: tensor<2x4xf32> {tg.role = #tg.role<parameter>}, %x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %future = tg.all_gather %w on @mesh [dp] dim 0 phase forward : (tensor<2x4xf32>) -> !tg.future<tensor<4x4xf32>>
  %whole = tg.wait %future : !tg.future<tensor<4x4xf32>>
  %empty = tensor.empty() : tensor<4x4xf32>
  %t = linalg.transpose ins(%whole : tensor<4x4xf32>) outs(%empty : tensor<4x4xf32>) permutation = [1, 0]
  %y = linalg.matmul {tg.phase = #tg.phase<forward>} ins(%x, %t : tensor<4x4xf32>, tensor<4x4xf32>) outs(%x : tensor<4x4xf32>) -> tensor<4x4xf32>
  %g = linalg.matmul {tg.phase = #tg.phase<backward>} ins(%y, %t : tensor<4x4xf32>, tensor<4x4xf32>) outs(%x : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %g : tensor<4x4xf32>
}

func.func private @no_backward(%w: tensor<2x4xf32> {tg.role = #tg.role<parameter>}) -> tensor<4x4xf32> {
  %future = tg.all_gather %w on @mesh [dp] dim 0 phase forward : (tensor<2x4xf32>) -> !tg.future<tensor<4x4xf32>>
  %whole = tg.wait %future : !tg.future<tensor<4x4xf32>>
  return %whole : tensor<4x4xf32>
}

// -----

// Forward that reads a view of what backward gathers has no gather to release.
// CHECK-LABEL: @view_of_backward
// CHECK:         tg.all_gather {{.*}} phase backward :
// CHECK-NOT:     generation
// REMARK-NOT:  "w" is released
tg.mesh @mesh [dp = 2]

func.func @view_of_backward(%w: tensor<2x4xf32> {tg.role = #tg.role<parameter>, tg.name = "w"}, %x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %future = tg.all_gather %w on @mesh [dp] dim 0 phase backward : (tensor<2x4xf32>) -> !tg.future<tensor<4x4xf32>>
  %whole = tg.wait %future {tg.phase = #tg.phase<backward>} : !tg.future<tensor<4x4xf32>>
  %t = tg.node "aten.t.default"(%whole) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = tg.node "aten.mm.default"(%x, %t) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %g = tg.node "aten.mm.default"(%y, %t) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %g : tensor<4x4xf32>
}
