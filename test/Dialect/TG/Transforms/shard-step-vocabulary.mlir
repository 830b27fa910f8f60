// RUN: regather-opt %s -split-input-file "--tg-shard-step=mesh=tp:2 shard={table=[tp] shard 0}" --tg-verify-step | FileCheck %s
// RUN: regather-opt %s -split-input-file "--tg-shard-step=mesh=tp:2 shard={table=[tp] shard 0}" --remark-format=emitRemark --remarks-filter=tg-shard-step -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// Each rank reads the tokens that its rows stand for; results are added up. A
// token that has no row stays one. Of the gradient a rank makes its rows, without
// that of the padding token.
// CHECK-LABEL: func.func @embedding(
// CHECK-SAME:    %[[TABLE:[a-z0-9]+]]: tensor<4x4xf32>
// CHECK-SAME:    %[[TOKENS:[a-z0-9]+]]: tensor<2x3xi32>
// CHECK:         %[[LONG:.*]] = tg.node "aten._to_copy.default"(%[[TOKENS]]) kwargs {dtype = i64}
// CHECK:         %[[BEGINS:.*]] = tg.node "aten.arange.start_step"() args [0, 8, 4]
// CHECK:         %[[OWN:.*]] = tensor.extract_slice %[[BEGINS]][%{{.*}}] [1] [1]
// CHECK:         %[[BEGIN:.*]] = tg.node "aten.view.default"(%[[OWN]])
// CHECK:         %[[RELATIVE:.*]] = tg.node "aten.sub.Tensor"(%[[LONG]], %[[BEGIN]])
// CHECK:         %[[GE:.*]] = tg.node "aten.ge.Scalar"(%[[LONG]]) args [#tg.operand<0>, 0]
// CHECK:         %[[LT:.*]] = tg.node "aten.lt.Scalar"(%[[LONG]]) args [#tg.operand<0>, 8]
// CHECK:         %[[EXISTS:.*]] = tg.node "aten.logical_and.default"(%[[GE]], %[[LT]])
// CHECK:         %[[GE4:.*]] = tg.node "aten.ge.Scalar"(%[[RELATIVE]]) args [#tg.operand<0>, 0]
// CHECK:         %[[LT4:.*]] = tg.node "aten.lt.Scalar"(%[[RELATIVE]]) args [#tg.operand<0>, 4]
// CHECK:         %[[HERE:.*]] = tg.node "aten.logical_and.default"(%[[GE4]], %[[LT4]])
// CHECK:         %[[INSIDE:.*]] = tg.node "aten.logical_and.default"(%[[EXISTS]], %[[HERE]])
// CHECK:         %[[ZERO:.*]] = tg.node "aten.scalar_tensor.default"() args [0]
// CHECK:         %[[OTHERS:.*]] = tg.node "aten.where.self"(%[[EXISTS]], %[[ZERO]], %[[LONG]])
// CHECK:         %[[INDICES:.*]] = tg.node "aten.where.self"(%[[INSIDE]], %[[RELATIVE]], %[[OTHERS]])
// CHECK:         %[[MASK:.*]] = tg.node "aten.view.default"(%[[INSIDE]]) args [#tg.operand<0>, [2, 3, 1]]
// CHECK:         %[[ROWS:.*]] = tg.node "aten.embedding.default"(%[[TABLE]], %[[INDICES]])
// CHECK:         %[[PARTIAL:.*]] = tg.node "aten.where.self"(%[[MASK]], %[[ROWS]], %{{.*}})
// CHECK:         %[[REDUCE:.*]] = tg.all_reduce sum %[[PARTIAL]] on @mesh [tp]
// CHECK:         %[[Y:.*]] = tg.wait %[[REDUCE]]
// CHECK-COUNT-2: tg.node "aten.logical_and.default"
// CHECK:         %[[INSIDE2:.*]] = tg.node "aten.logical_and.default"
// CHECK:         tg.node "aten.where.self"
// CHECK:         tg.node "aten.where.self"(%[[INSIDE2]],
// CHECK:         %[[NE:.*]] = tg.node "aten.ne.Scalar"(%[[TOKENS]]) args [#tg.operand<0>, 5]
// CHECK:         %[[COUNTS:.*]] = tg.node "aten.logical_and.default"(%[[INSIDE2]], %[[NE]])
// CHECK:         %[[MASK2:.*]] = tg.node "aten.view.default"(%[[COUNTS]])
// CHECK:         %[[G:.*]] = tg.node "aten.where.self"(%[[MASK2]], %[[Y]], %{{.*}})
// CHECK:         %[[DTABLE:.*]] = tg.node "aten.embedding_dense_backward.default"(%[[G]], %{{.*}}) args [#tg.operand<0>, #tg.operand<1>, 4, -1, false]
// CHECK-NOT:     tg.all
// CHECK:         return %[[Y]], %[[DTABLE]]
// REMARK: [Passed] divided | {{.*}}'aten.embedding.default' reads the rows that a rank has; results are added up
// REMARK: [Passed] divided | {{.*}}'aten.embedding_dense_backward.default' adds up the rows that a rank has
func.func @embedding(
    %table: tensor<8x4xf32> {tg.role = #tg.role<parameter>, tg.name = "table"},
    %tokens: tensor<2x3xi32> {tg.role = #tg.role<input>, tg.name = "tokens"})
    -> (tensor<2x3x4xf32>, tensor<8x4xf32> {tg.role = #tg.role<gradient of 0>}) {
  %y = tg.node "aten.embedding.default"(%table, %tokens) {tg.phase = #tg.phase<forward>} : (tensor<8x4xf32>, tensor<2x3xi32>) -> tensor<2x3x4xf32>
  %g = tg.node "aten.embedding_dense_backward.default"(%y, %tokens) args [#tg.operand<0>, #tg.operand<1>, 8, 5, false] {tg.phase = #tg.phase<backward>} : (tensor<2x3x4xf32>, tensor<2x3xi32>) -> tensor<8x4xf32>
  return %y, %g : tensor<2x3x4xf32>, tensor<8x4xf32>
}

// -----

// Of the logits each rank has its columns; what crosses the ranks is two numbers
// of each row, the loss, one number of each row in backward, and the gradient of
// what comes in.
// CHECK-LABEL: func.func @loss(
// CHECK-SAME:    %[[TABLE:[a-z0-9]+]]: tensor<4x4xf32>
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<3x4xf32>
// CHECK-SAME:    %[[LABELS:[a-z0-9]+]]: tensor<3x1xi64>
// CHECK:         %[[LOGITS:.*]] = tg.node "aten.mm.default"(%[[X]], %{{.*}}) {{.*}} -> tensor<3x4xf32>
// CHECK:         %[[AMAX:.*]] = tg.node "aten.amax.default"(%[[LOGITS]]) args [#tg.operand<0>, [1], true]
// CHECK:         %[[MAX:.*]] = tg.all_reduce max %[[AMAX]] on @mesh [tp] phase forward : (tensor<3x1xf32>)
// CHECK:         %[[M:.*]] = tg.wait %[[MAX]]
// CHECK:         %[[SHIFTED:.*]] = tg.node "aten.sub.Tensor"(%[[LOGITS]], %[[M]])
// CHECK:         %[[EXP:.*]] = tg.node "aten.exp.default"(%[[SHIFTED]])
// CHECK:         %[[OWNSUM:.*]] = tg.node "aten.sum.dim_IntList"(%[[EXP]]) args [#tg.operand<0>, [1], true]
// CHECK:         %[[SUM:.*]] = tg.all_reduce sum %[[OWNSUM]] on @mesh [tp] phase forward : (tensor<3x1xf32>)
// CHECK:         %[[S:.*]] = tg.wait %[[SUM]]
// CHECK:         %[[LOG:.*]] = tg.node "aten.log.default"(%[[S]])
// CHECK:         %[[Y:.*]] = tg.node "aten.sub.Tensor"(%[[SHIFTED]], %[[LOG]])
// CHECK:         %[[PICKED:.*]] = tg.node "aten.gather.default"(%[[Y]], %{{.*}}) args [#tg.operand<0>, 1, #tg.operand<1>] {{.*}} -> tensor<3x1xf32>
// CHECK:         %[[PARTIAL:.*]] = tg.node "aten.where.self"(%{{.*}}, %[[PICKED]], %{{.*}})
// CHECK:         %[[LOSS:.*]] = tg.node "aten.sum.default"(%[[PARTIAL]])
// CHECK:         tg.all_reduce sum %[[LOSS]] on @mesh [tp] phase forward : (tensor<f32>)
// CHECK:         %[[ZEROS:.*]] = tg.node "aten.full.default"() args {{.*}} -> tensor<3x4xf32>
// CHECK:         %[[MINUS:.*]] = tg.node "aten.scalar_tensor.default"() args [-1.000000e+00]
// CHECK:         %[[VALUES:.*]] = tg.node "aten.where.self"(%{{.*}}, %[[MINUS]], %{{.*}}) {{.*}} -> tensor<3x1xf32>
// CHECK:         %[[ONE:.*]] = tg.node "aten.scatter.src"(%[[ZEROS]], %{{.*}}, %[[VALUES]]) args [#tg.operand<0>, 1, #tg.operand<1>, #tg.operand<2>] {{.*}} -> tensor<3x4xf32>
// CHECK:         %[[OWNROWS:.*]] = tg.node "aten.sum.dim_IntList"(%[[ONE]]) args [#tg.operand<0>, [1], true]
// CHECK:         %[[ROWS:.*]] = tg.all_reduce sum %[[OWNROWS]] on @mesh [tp] phase backward : (tensor<3x1xf32>)
// CHECK:         %[[R:.*]] = tg.wait %[[ROWS]]
// CHECK:         %[[P:.*]] = tg.node "aten.exp.default"(%[[Y]])
// CHECK:         %[[SHARE:.*]] = tg.node "aten.mul.Tensor"(%[[P]], %[[R]])
// CHECK:         %[[G:.*]] = tg.node "aten.sub.Tensor"(%[[ONE]], %[[SHARE]])
// CHECK:         %[[DX:.*]] = tg.node "aten.mm.default"(%[[G]], %[[TABLE]])
// CHECK:         tg.all_reduce sum %[[DX]] on @mesh [tp] phase backward : (tensor<3x4xf32>)
// CHECK-NOT:     tg.all
// CHECK:         return
// REMARK: [Passed] divided | {{.*}}'aten._log_softmax.default' reduces what its rows share over the ranks
// REMARK: [Passed] divided | {{.*}}'aten.gather.default' reads the rows that a rank has
// REMARK: [Passed] divided | {{.*}}'aten.scatter.value' writes the elements that a rank has
// REMARK: [Passed] divided | {{.*}}'aten._log_softmax_backward_data.default' reduces
func.func @loss(
    %table: tensor<8x4xf32> {tg.role = #tg.role<parameter>, tg.name = "table"},
    %x: tensor<3x4xf32> {tg.role = #tg.role<input>, tg.name = "x"},
    %labels: tensor<3x1xi64> {tg.role = #tg.role<input>, tg.name = "labels"})
    -> (tensor<f32> {tg.role = #tg.role<loss>}, tensor<3x4xf32>) {
  %t = tg.node "aten.t.default"(%table) {tg.phase = #tg.phase<forward>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %logits = tg.node "aten.mm.default"(%x, %t) {tg.phase = #tg.phase<forward>} : (tensor<3x4xf32>, tensor<4x8xf32>) -> tensor<3x8xf32>
  %y = tg.node "aten._log_softmax.default"(%logits) args [#tg.operand<0>, 1, false] {tg.phase = #tg.phase<forward>} : (tensor<3x8xf32>) -> tensor<3x8xf32>
  %own = tg.node "aten.gather.default"(%y, %labels) args [#tg.operand<0>, 1, #tg.operand<1>] {tg.phase = #tg.phase<forward>} : (tensor<3x8xf32>, tensor<3x1xi64>) -> tensor<3x1xf32>
  %loss = tg.node "aten.sum.default"(%own) {tg.phase = #tg.phase<forward>} : (tensor<3x1xf32>) -> tensor<f32>
  %zeros = tg.node "aten.full_like.default"(%y) args [#tg.operand<0>, 0] {tg.phase = #tg.phase<backward>} : (tensor<3x8xf32>) -> tensor<3x8xf32>
  %s = tg.node "aten.scatter.value"(%zeros, %labels) args [#tg.operand<0>, 1, #tg.operand<1>, -1.0] {tg.phase = #tg.phase<backward>} : (tensor<3x8xf32>, tensor<3x1xi64>) -> tensor<3x8xf32>
  %g = tg.node "aten._log_softmax_backward_data.default"(%s, %y) args [#tg.operand<0>, #tg.operand<1>, 1, f32] {tg.phase = #tg.phase<backward>} : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %dx = tg.node "aten.mm.default"(%g, %table) {tg.phase = #tg.phase<backward>} : (tensor<3x8xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
  return %loss, %dx : tensor<f32>, tensor<3x4xf32>
}

// -----

// In f32, as the nodes compute; the gradient reduces products with the result.
// CHECK-LABEL: func.func @softmax_of_narrow_numbers(
// CHECK:         %[[X:.*]] = tg.node "aten._to_copy.default"(%{{.*}}) kwargs {dtype = f32} {{.*}} : (tensor<4x2xbf16>) -> tensor<4x2xf32>
// CHECK:         tg.all_reduce max %{{.*}} : (tensor<1x2xf32>)
// CHECK:         %[[EXP:.*]] = tg.node "aten.exp.default"
// CHECK:         %[[SUM:.*]] = tg.all_reduce sum %{{.*}} : (tensor<1x2xf32>)
// CHECK:         %[[S:.*]] = tg.wait %[[SUM]]
// CHECK:         %[[WIDE:.*]] = tg.node "aten.div.Tensor"(%[[EXP]], %[[S]])
// CHECK:         %[[Y:.*]] = tg.node "aten._to_copy.default"(%[[WIDE]]) kwargs {dtype = bf16}
// CHECK:         %[[G32:.*]] = tg.node "aten._to_copy.default"(%{{.*}}) kwargs {dtype = f32}
// CHECK:         %[[Y32:.*]] = tg.node "aten._to_copy.default"(%[[Y]]) kwargs {dtype = f32}
// CHECK:         %[[TERMS:.*]] = tg.node "aten.mul.Tensor"(%[[G32]], %[[Y32]])
// CHECK:         %[[OWN:.*]] = tg.node "aten.sum.dim_IntList"(%[[TERMS]]) args [#tg.operand<0>, [0], true]
// CHECK:         %[[T:.*]] = tg.all_reduce sum %[[OWN]]
// CHECK:         %[[TW:.*]] = tg.wait %[[T]]
// CHECK:         %[[D:.*]] = tg.node "aten.sub.Tensor"(%[[G32]], %[[TW]])
// CHECK:         %[[R:.*]] = tg.node "aten.mul.Tensor"(%[[Y32]], %[[D]])
// CHECK:         tg.node "aten._to_copy.default"(%[[R]]) kwargs {dtype = bf16}
func.func @softmax_of_narrow_numbers(
    %table: tensor<8x2xbf16> {tg.role = #tg.role<parameter>, tg.name = "table"})
    -> (tensor<8x2xbf16>, tensor<8x2xbf16>) {
  %y = tg.node "aten._softmax.default"(%table) args [#tg.operand<0>, -2, false] : (tensor<8x2xbf16>) -> tensor<8x2xbf16>
  %g = tg.node "aten._softmax_backward_data.default"(%table, %y) args [#tg.operand<0>, #tg.operand<1>, -2, bf16] : (tensor<8x2xbf16>, tensor<8x2xbf16>) -> tensor<8x2xbf16>
  return %y, %g : tensor<8x2xbf16>, tensor<8x2xbf16>
}

// -----

// Padding is no maximum, and adds nothing to a sum. It is zero in the softmax, but
// not in the logarithm: who adds that up clears it.
// CHECK-LABEL: func.func @uneven_softmax(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4x2xf32>
// CHECK:         %[[EXISTS:.*]] = tg.node "aten.lt.Scalar"(%{{.*}}) args [#tg.operand<0>, 7] {{.*}} -> tensor<4xi1>
// CHECK:         %[[MASK:.*]] = tg.node "aten.view.default"(%[[EXISTS]]) args [#tg.operand<0>, [4, 1]]
// CHECK:         %[[INF:.*]] = tg.node "aten.scalar_tensor.default"() args [0xFFF0000000000000 : f64]
// CHECK:         %[[LOWEST:.*]] = tg.node "aten.where.self"(%[[MASK]], %[[X]], %[[INF]])
// CHECK:         %[[AMAX:.*]] = tg.node "aten.amax.default"(%[[LOWEST]])
// CHECK:         tg.all_reduce max %[[AMAX]] on @mesh [tp]
// CHECK:         %[[SHIFTED:.*]] = tg.node "aten.sub.Tensor"(%[[X]], %{{.*}})
// CHECK:         %[[EXP:.*]] = tg.node "aten.exp.default"(%[[SHIFTED]])
// CHECK:         %[[POWERS:.*]] = tg.node "aten.where.self"(%[[MASK]], %[[EXP]], %{{.*}})
// CHECK:         %[[OWN:.*]] = tg.node "aten.sum.dim_IntList"(%[[POWERS]])
// CHECK:         tg.all_reduce sum %[[OWN]] on @mesh [tp]
// CHECK:         %[[LOG:.*]] = tg.node "aten.sub.Tensor"(%[[SHIFTED]], %{{.*}})
// CHECK:         %[[DIV:.*]] = tg.node "aten.div.Tensor"
// CHECK-NEXT:    tg.node "aten.sum.default"(%[[DIV]])
// CHECK:         %[[CLEARED:.*]] = tg.node "aten.where.self"(%{{.*}}, %[[LOG]], %{{.*}})
// CHECK-NEXT:    tg.node "aten.sum.default"(%[[CLEARED]])
// REMARK: [Passed] divided | {{.*}}'aten._log_softmax.default'
// REMARK: [Passed] divided | {{.*}}'aten._softmax.default'
func.func @uneven_softmax(
    %table: tensor<7x2xf32> {tg.role = #tg.role<parameter>, tg.name = "table"})
    -> (tensor<f32>, tensor<f32>) {
  %y = tg.node "aten._log_softmax.default"(%table) args [#tg.operand<0>, 0, false] : (tensor<7x2xf32>) -> tensor<7x2xf32>
  %p = tg.node "aten._softmax.default"(%table) args [#tg.operand<0>, 0, false] : (tensor<7x2xf32>) -> tensor<7x2xf32>
  %a = tg.node "aten.sum.default"(%p) : (tensor<7x2xf32>) -> tensor<f32>
  %b = tg.node "aten.sum.default"(%y) : (tensor<7x2xf32>) -> tensor<f32>
  return %a, %b : tensor<f32>, tensor<f32>
}

// -----

// The gradient of padding is zero: of the label, of the logits, and of the table.
// CHECK-LABEL: func.func @uneven_gradient(
// CHECK-SAME:    %[[TABLE:[a-z0-9]+]]: tensor<4x2xf32>
// CHECK-SAME:    %[[Y:[a-z0-9]+]]: tensor<3x7xf32>
// CHECK:         %[[ONE:.*]] = tg.node "aten.scatter.src"
// CHECK:         tg.node "aten.sum.dim_IntList"(%[[ONE]])
// CHECK:         %[[SHARE:.*]] = tg.node "aten.mul.Tensor"
// CHECK:         %[[OWN:.*]] = tg.node "aten.sub.Tensor"(%[[ONE]], %[[SHARE]])
// CHECK:         %[[G:.*]] = tg.node "aten.where.self"(%{{.*}}, %[[OWN]], %{{.*}}) {{.*}} -> tensor<3x4xf32>
// CHECK-NEXT:    %[[DX:.*]] = tg.node "aten.mm.default"(%[[G]], %[[TABLE]])
// CHECK:         %[[T:.*]] = tg.node "aten.t.default"(%[[G]])
// CHECK-NEXT:    %[[DTABLE:.*]] = tg.node "aten.mm.default"(%[[T]], %{{.*}}) {{.*}} -> tensor<4x2xf32>
// CHECK-NEXT:    tg.all_reduce sum %[[DX]]
// CHECK-NOT:     aten.where
// CHECK:         return %{{.*}}, %[[DTABLE]]
func.func @uneven_gradient(
    %table: tensor<7x2xf32> {tg.role = #tg.role<parameter>, tg.name = "table"},
    %y: tensor<3x7xf32> {tg.role = #tg.role<input>, tg.name = "y"},
    %x: tensor<3x2xf32> {tg.role = #tg.role<input>, tg.name = "x"},
    %labels: tensor<3x1xi64> {tg.role = #tg.role<input>, tg.name = "labels"})
    -> (tensor<3x2xf32>, tensor<7x2xf32> {tg.role = #tg.role<gradient of 0>}) {
  %t = tg.node "aten.t.default"(%table) : (tensor<7x2xf32>) -> tensor<2x7xf32>
  %logits = tg.node "aten.mm.default"(%x, %t) : (tensor<3x2xf32>, tensor<2x7xf32>) -> tensor<3x7xf32>
  %zeros = tg.node "aten.full_like.default"(%logits) args [#tg.operand<0>, 0] : (tensor<3x7xf32>) -> tensor<3x7xf32>
  %s = tg.node "aten.scatter.value"(%zeros, %labels) args [#tg.operand<0>, 1, #tg.operand<1>, -1.0] : (tensor<3x7xf32>, tensor<3x1xi64>) -> tensor<3x7xf32>
  %g = tg.node "aten._log_softmax_backward_data.default"(%s, %y) args [#tg.operand<0>, #tg.operand<1>, 1, f32] : (tensor<3x7xf32>, tensor<3x7xf32>) -> tensor<3x7xf32>
  %dx = tg.node "aten.mm.default"(%g, %table) : (tensor<3x7xf32>, tensor<7x2xf32>) -> tensor<3x2xf32>
  %gt = tg.node "aten.t.default"(%g) : (tensor<3x7xf32>) -> tensor<7x3xf32>
  %dtable = tg.node "aten.mm.default"(%gt, %x) : (tensor<7x3xf32>, tensor<3x2xf32>) -> tensor<7x2xf32>
  return %dx, %dtable : tensor<3x2xf32>, tensor<7x2xf32>
}

// -----

// No token lies in the padding. How often each occurs, ranks do not know of what
// lies elsewhere.
// CHECK-LABEL: func.func @uneven_embedding(
// CHECK:         tg.node "aten.arange.start_step"() args [0, 8, 4]
// CHECK:         tg.node "aten.embedding.default"(%{{.*}}, %{{.*}}) {{.*}} : (tensor<4x4xf32>, tensor<9xi64>)
// CHECK:         tg.node "aten.embedding_dense_backward.default"(%{{.*}}) args [#tg.operand<0>, #tg.operand<1>, 7, -1, true]
func.func @uneven_embedding(
    %table: tensor<7x4xf32> {tg.role = #tg.role<parameter>, tg.name = "table"},
    %tokens: tensor<9xi64> {tg.role = #tg.role<input>, tg.name = "tokens"})
    -> (tensor<9x4xf32>, tensor<7x4xf32> {tg.role = #tg.role<gradient of 0>}) {
  %y = tg.node "aten.embedding.default"(%table, %tokens) : (tensor<7x4xf32>, tensor<9xi64>) -> tensor<9x4xf32>
  %g = tg.node "aten.embedding_dense_backward.default"(%y, %tokens) args [#tg.operand<0>, #tg.operand<1>, 7, -1, true] : (tensor<9x4xf32>, tensor<9xi64>) -> tensor<7x4xf32>
  return %y, %g : tensor<9x4xf32>, tensor<7x4xf32>
}

// -----

// Neither what is written into other numbers than zeros, nor several elements of
// a row: both are gathered.
// CHECK-LABEL: func.func @other_scatters(
// CHECK:         tg.node "aten.scatter.value"(%{{.*}}) {{.*}} -> tensor<8x3xf32>
// CHECK:         tg.node "aten.scatter.value"(%{{.*}}) {{.*}} -> tensor<8x3xf32>
// REMARK: [Missed] kept-whole | {{.*}}'aten.scatter.value'
// REMARK: [Missed] kept-whole | {{.*}}'aten.scatter.value'
func.func @other_scatters(
    %table: tensor<8x3xf32> {tg.role = #tg.role<parameter>, tg.name = "table"},
    %labels: tensor<1x3xi64> {tg.role = #tg.role<input>, tg.name = "labels"},
    %pairs: tensor<2x3xi64> {tg.role = #tg.role<input>, tg.name = "pairs"})
    -> (tensor<8x3xf32>, tensor<8x3xf32>) {
  %a = tg.node "aten.scatter.value"(%table, %labels) args [#tg.operand<0>, 0, #tg.operand<1>, -1.0] : (tensor<8x3xf32>, tensor<1x3xi64>) -> tensor<8x3xf32>
  %e = tg.node "aten.exp.default"(%table) : (tensor<8x3xf32>) -> tensor<8x3xf32>
  %zeros = tg.node "aten.zeros_like.default"(%e) : (tensor<8x3xf32>) -> tensor<8x3xf32>
  %b = tg.node "aten.scatter.value"(%zeros, %pairs) args [#tg.operand<0>, 0, #tg.operand<1>, -1.0] : (tensor<8x3xf32>, tensor<2x3xi64>) -> tensor<8x3xf32>
  return %a, %b : tensor<8x3xf32>, tensor<8x3xf32>
}

// -----

// A small value is gathered: less than the sum that would be left to do.
// CHECK-LABEL: func.func @small_table(
// CHECK:         tg.all_gather
// CHECK:         tg.node "aten.gather.default"(%{{.*}}) {{.*}} : (tensor<8x1xf32>, tensor<50x1xi64>)
func.func @small_table(
    %table: tensor<8x1xf32> {tg.role = #tg.role<parameter>, tg.name = "table"},
    %bias: tensor<8x1xf32> {tg.role = #tg.role<input>, tg.name = "bias"},
    %indices: tensor<50x1xi64> {tg.role = #tg.role<input>, tg.name = "indices"})
    -> tensor<50x1xf32> {
  %e = tg.node "aten.add.Tensor"(%table, %bias) : (tensor<8x1xf32>, tensor<8x1xf32>) -> tensor<8x1xf32>
  %y = tg.node "aten.gather.default"(%e, %indices) args [#tg.operand<0>, 0, #tg.operand<1>] : (tensor<8x1xf32>, tensor<50x1xi64>) -> tensor<50x1xf32>
  return %y : tensor<50x1xf32>
}
