// RUN: regather-opt %s --kernel-merge-elementwise | FileCheck %s
// RUN: regather-opt %s --kernel-merge-elementwise --convert-tg-to-exec --exec-plan-memory | FileCheck %s --check-prefix=MEMORY
// RUN: regather-opt %s --convert-tg-to-exec --exec-plan-memory | FileCheck %s --check-prefix=APART

// Two gradients are computed from the same three values. As one operation they
// are written where two of these were read.
// CHECK-LABEL: tg.kernel @gradients
// CHECK-SAME:    (%[[X:.*]]: tensor<4x1024xf32> {tg.rows = 0 : i64}, %[[Y:.*]]: tensor<4x1024xf32> {tg.rows = 0 : i64}, %[[SCALE:.*]]: tensor<1024xf32>)
// CHECK:         %[[BOTH:.*]]:2 = linalg.generic
// CHECK-SAME:      ins(%[[X]], %[[Y]], %[[SCALE]] :
// CHECK:         ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %[[C:.*]]: f32, %{{.*}}: f32, %{{.*}}: f32):
// CHECK:           %[[EXP:.*]] = math.exp %[[A]]
// CHECK:           %[[P:.*]] = arith.mulf %[[EXP]], %[[B]]
// CHECK:           %[[Q:.*]] = arith.mulf %[[A]], %[[B]]
// CHECK:           %[[S:.*]] = arith.addf %[[Q]], %[[C]]
// CHECK:           linalg.yield %[[P]], %[[S]]
// CHECK-NOT:     linalg.generic
// CHECK:         tg.return %[[BOTH]]#0, %[[BOTH]]#1
// EXAMPLE kernel-merge-elementwise
tg.kernel @gradients(%x: tensor<4x1024xf32> {tg.rows = 0 : i64}, %y: tensor<4x1024xf32> {tg.rows = 0 : i64},
                     %scale: tensor<1024xf32>)
    -> (tensor<4x1024xf32> {tg.rows = 0 : i64}, tensor<4x1024xf32> {tg.rows = 0 : i64}) {
  %exp = tg.node "aten.exp.default"(%x) : (tensor<4x1024xf32>) -> tensor<4x1024xf32>
  %p = tg.node "aten.mul.Tensor"(%exp, %y) : (tensor<4x1024xf32>, tensor<4x1024xf32>) -> tensor<4x1024xf32>
  %q = tg.node "aten.mul.Tensor"(%x, %y) : (tensor<4x1024xf32>, tensor<4x1024xf32>) -> tensor<4x1024xf32>
  %s = tg.node "aten.add.Tensor"(%q, %scale) : (tensor<4x1024xf32>, tensor<1024xf32>) -> tensor<4x1024xf32>
  tg.return %p, %s : tensor<4x1024xf32>, tensor<4x1024xf32>
}
// END

// A value that is returned and read on.
// CHECK-LABEL: tg.kernel @chain
// CHECK:         %[[BOTH:.*]]:2 = linalg.generic
// CHECK:           linalg.yield
// CHECK-NOT:     linalg.generic
// CHECK:         tg.return %[[BOTH]]#0, %[[BOTH]]#1, %[[BOTH]]#0
tg.kernel @chain(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %a = tg.node "aten.exp.default"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %b = tg.node "aten.neg.default"(%a) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  tg.return %a, %b, %a : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// A single operation reads each element once anyway.
// CHECK-LABEL: tg.kernel @single
// CHECK-NEXT:    tg.node "aten.exp.default"
tg.kernel @single(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = tg.node "aten.exp.default"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  tg.return %a : tensor<4x8xf32>
}

// A sum over a row needs all of it.
// CHECK-LABEL: tg.kernel @sum
// CHECK-NEXT:    tg.node "aten.exp.default"
// CHECK-NEXT:    tg.node "aten.sum.dim_IntList"
// CHECK-NEXT:    tg.node "aten.div.Tensor"
tg.kernel @sum(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = tg.node "aten.exp.default"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = tg.node "aten.sum.dim_IntList"(%a) args [#tg.operand<0>, [1], true] : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %b = tg.node "aten.div.Tensor"(%a, %s) : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  tg.return %b : tensor<4x8xf32>
}

// Shapes differ: of what is returned, and of what is computed between.
// CHECK-LABEL: tg.kernel @small_result
// CHECK-NEXT:    tg.node "aten.exp.default"
// CHECK-LABEL: tg.kernel @small_between
// CHECK-NEXT:    tg.node "aten.exp.default"
tg.kernel @small_result(%x: tensor<4x8xf32>, %y: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) {
  %b = tg.node "aten.exp.default"(%y) : (tensor<8xf32>) -> tensor<8xf32>
  %a = tg.node "aten.add.Tensor"(%x, %b) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  tg.return %a, %b : tensor<4x8xf32>, tensor<8xf32>
}
tg.kernel @small_between(%x: tensor<4x8xf32>, %y: tensor<8xf32>) -> tensor<4x8xf32> {
  %b = tg.node "aten.exp.default"(%y) : (tensor<8xf32>) -> tensor<8xf32>
  %a = tg.node "aten.add.Tensor"(%x, %b) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  tg.return %a : tensor<4x8xf32>
}

#id = affine_map<(d0, d1) -> (d0, d1)>

// Elements of any place of what the kernel computes: all of it has to be there
// first.
// CHECK-LABEL: tg.kernel @extracts_from_a_result
// CHECK-COUNT-2: linalg.generic
tg.kernel @extracts_from_a_result(%x: tensor<4x4xf32>, %at: tensor<4x4xindex>) -> tensor<4x4xf32> {
  %0 = tensor.empty() : tensor<4x4xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x4xf32>) outs(%0 : tensor<4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %3 = arith.negf %in : f32
    linalg.yield %3 : f32
  } -> tensor<4x4xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%at : tensor<4x4xindex>) outs(%0 : tensor<4x4xf32>) {
  ^bb0(%in: index, %out: f32):
    %i = linalg.index 0 : index
    %3 = tensor.extract %1[%i, %in] : tensor<4x4xf32>
    linalg.yield %3 : f32
  } -> tensor<4x4xf32>
  tg.return %2 : tensor<4x4xf32>
}

// CHECK-LABEL: tg.kernel @extracts_from_an_argument(
// CHECK-SAME:    %[[X:[a-z0-9]+]]:
// CHECK-COUNT-1: linalg.generic
// CHECK:         tensor.extract %[[X]]
// CHECK-NOT:     linalg.generic
// CHECK:         tg.return
tg.kernel @extracts_from_an_argument(%x: tensor<4x4xf32>, %at: tensor<4x4xindex>) -> tensor<4x4xf32> {
  %0 = tensor.empty() : tensor<4x4xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%at : tensor<4x4xindex>) outs(%0 : tensor<4x4xf32>) {
  ^bb0(%in: index, %out: f32):
    %i = linalg.index 0 : index
    %3 = tensor.extract %x[%i, %in] : tensor<4x4xf32>
    linalg.yield %3 : f32
  } -> tensor<4x4xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%1 : tensor<4x4xf32>) outs(%0 : tensor<4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %3 = arith.negf %in : f32
    linalg.yield %3 : f32
  } -> tensor<4x4xf32>
  tg.return %2 : tensor<4x4xf32>
}

// An argument that is returned has to be copied.
// CHECK-LABEL: tg.kernel @returned_argument
// CHECK-NEXT:    tg.node "aten.exp.default"
tg.kernel @returned_argument(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %a = tg.node "aten.exp.default"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %b = tg.node "aten.neg.default"(%a) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  tg.return %b, %x : tensor<4x8xf32>, tensor<4x8xf32>
}

// Two buffers hold all four values, and without the pass four.
// MEMORY: exec.program @step
// MEMORY: arena = 32768
// APART: arena = 65536
func.func @step(%x: tensor<4x1024xf32>, %scale: tensor<1024xf32>) -> tensor<4x1024xf32> {
  %0 = tg.launch @single_row(%x) : (tensor<4x1024xf32>) -> tensor<4x1024xf32>
  %1 = tg.launch @single_row(%0) : (tensor<4x1024xf32>) -> tensor<4x1024xf32>
  %2:2 = tg.launch @gradients(%0, %1, %scale)
      : (tensor<4x1024xf32>, tensor<4x1024xf32>, tensor<1024xf32>) -> (tensor<4x1024xf32>, tensor<4x1024xf32>)
  %3:2 = tg.launch @gradients(%2#0, %2#1, %scale)
      : (tensor<4x1024xf32>, tensor<4x1024xf32>, tensor<1024xf32>) -> (tensor<4x1024xf32>, tensor<4x1024xf32>)
  %4:2 = tg.launch @gradients(%3#0, %3#1, %scale)
      : (tensor<4x1024xf32>, tensor<4x1024xf32>, tensor<1024xf32>) -> (tensor<4x1024xf32>, tensor<4x1024xf32>)
  %5 = tg.launch @single_row(%4#0) : (tensor<4x1024xf32>) -> tensor<4x1024xf32>
  return %5 : tensor<4x1024xf32>
}
tg.kernel @single_row(%x: tensor<4x1024xf32> {tg.rows = 0 : i64}) -> (tensor<4x1024xf32> {tg.rows = 0 : i64}) {
  %a = tg.node "aten.exp.default"(%x) : (tensor<4x1024xf32>) -> tensor<4x1024xf32>
  tg.return %a : tensor<4x1024xf32>
}
