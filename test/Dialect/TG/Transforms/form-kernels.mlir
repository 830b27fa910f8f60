// RUN: regather-opt %s -split-input-file --tg-form-kernels | FileCheck %s
// RUN: regather-opt %s -split-input-file --tg-form-kernels --remark-format=emitRemark --remarks-filter=tg-form-kernels -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// A pointwise operation, a reduction over the columns and what reads both are
// one kernel with rows in dimension 0; the GEMM, which is too small for
// a library, stays alone.
// CHECK-LABEL: tg.kernel @exp_sum_div_0
// CHECK-SAME:    (%[[X:.*]]: tensor<8x16xf32> {tg.rows = 0 : i64})
// CHECK-SAME:    -> (tensor<8x16xf32> {tg.rows = 0 : i64})
// CHECK:         %[[EXP:.*]] = tg.node "aten.exp.default"(%[[X]]) :
// CHECK:         %[[SUM:.*]] = tg.node "aten.sum.dim_IntList"(%[[EXP]])
// CHECK:         %[[Y:.*]] = tg.node "aten.div.Tensor"(%[[EXP]], %[[SUM]])
// CHECK:         tg.return %[[Y]]
// CHECK:       func.func @step
// CHECK-NEXT:    %[[Y:.*]] = tg.launch @exp_sum_div_0(%arg0) {tg.module = "layers.0", tg.phase = #tg.phase<forward>}
// CHECK-NEXT:    tg.launch @mm_1(%[[Y]], %arg1)
// REMARK: no library computes 'mm': the GEMM is small
// REMARK: 'mm' is not fused with 'div', which it reads: one of them stays alone
// EXAMPLE tg-form-kernels
func.func @step(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>) -> tensor<8x4xf32> {
  %exp = tg.node "aten.exp.default"(%x) {tg.phase = #tg.phase<forward>, tg.module = "layers.0.up"}
      : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %sum = tg.node "aten.sum.dim_IntList"(%exp) args [#tg.operand<0>, [1], true]
      {tg.phase = #tg.phase<forward>, tg.module = "layers.0.down"} : (tensor<8x16xf32>) -> tensor<8x1xf32>
  %y = tg.node "aten.div.Tensor"(%exp, %sum) {tg.phase = #tg.phase<forward>, tg.module = "layers.0.down"}
      : (tensor<8x16xf32>, tensor<8x1xf32>) -> tensor<8x16xf32>
  %z = tg.node "aten.mm.default"(%y, %w) {tg.phase = #tg.phase<forward>, tg.module = "layers.0.down"}
      : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  return %z : tensor<8x4xf32>
}
// END

// -----

// Two layers share a kernel, whatever their modules, names and phases; the one
// with another number does not.
// CHECK:       tg.kernel @mul_0(
// CHECK:         args [#tg.operand<0>, 2.0
// CHECK:       tg.kernel @mul_1(
// CHECK:         args [#tg.operand<0>, 3.0
// CHECK-NOT:   tg.kernel
// CHECK:       func.func @equal_layers
// CHECK-NEXT:    tg.launch @mul_0(%arg0) {tg.id = "mul", tg.module = "layers.0", tg.phase = #tg.phase<forward>}
// CHECK-NEXT:    tg.launch @mul_0(%arg1) {tg.id = "mul_1", tg.module = "layers.1", tg.phase = #tg.phase<backward>}
// CHECK-NEXT:    tg.launch @mul_1(%arg1)
func.func @equal_layers(%x: tensor<8xf32>, %y: tensor<8xf32>)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %a = tg.node "aten.mul.Tensor"(%x) args [#tg.operand<0>, 2.0]
      {tg.id = "mul", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<8xf32>) -> tensor<8xf32>
  %b = tg.node "aten.mul.Tensor"(%y) args [#tg.operand<0>, 2.0]
      {tg.id = "mul_1", tg.module = "layers.1", tg.phase = #tg.phase<backward>} : (tensor<8xf32>) -> tensor<8xf32>
  %c = tg.node "aten.mul.Tensor"(%y) args [#tg.operand<0>, 3.0] : (tensor<8xf32>) -> tensor<8xf32>
  return %a, %b, %c : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// A sum over the rows comes after all of them: it is a kernel of its own, whose
// rows are the columns.
// CHECK:       tg.kernel @exp_0(%{{.*}}: tensor<8x16xf32> {tg.rows = 0 : i64}) -> (tensor<8x16xf32> {tg.rows = 0 : i64})
// CHECK:       tg.kernel @sum_1(%{{.*}}: tensor<8x16xf32> {tg.rows = 1 : i64}) -> (tensor<16xf32> {tg.rows = 0 : i64})
// CHECK-LABEL: func.func @sum_over_rows
// REMARK: 'sum' is not fused with 'exp', which it reads: their rows differ
func.func @sum_over_rows(%x: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<16xf32>) {
  %exp = tg.node "aten.exp.default"(%x) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %sum = tg.node "aten.sum.dim_IntList"(%exp) args [#tg.operand<0>, [0]] : (tensor<8x16xf32>) -> tensor<16xf32>
  return %exp, %sum : tensor<8x16xf32>, tensor<16xf32>
}

// -----

// A sum of everything has no rows; small values behind it join it.
// CHECK:       tg.kernel @sum_log_0(%{{.*}}: tensor<8x16xf32>) -> tensor<f32>
// CHECK-LABEL: func.func @scalars
func.func @scalars(%x: tensor<8x16xf32>) -> tensor<f32> {
  %sum = tg.node "aten.sum.default"(%x) : (tensor<8x16xf32>) -> tensor<f32>
  %log = tg.node "aten.log.default"(%sum) : (tensor<f32>) -> tensor<f32>
  return %log : tensor<f32>
}

// -----

// A scalar joins the one kernel that reads it. One that two kernels read is
// computed once.
// CHECK:       tg.kernel @exp_mul_0(%{{.*}}: tensor<f32>, %{{.*}}: tensor<8xf32> {tg.rows = 0 : i64})
// CHECK:       tg.kernel @log_1(%{{.*}}: tensor<f32>) -> tensor<f32>
// CHECK:       tg.kernel @mul_2(
// CHECK-LABEL: func.func @scalar_producers
// CHECK-COUNT-2: tg.launch @mul_2(
func.func @scalar_producers(%s: tensor<f32>, %x: tensor<8xf32>, %y: tensor<8xf32>)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %exp = tg.node "aten.exp.default"(%s) : (tensor<f32>) -> tensor<f32>
  %a = tg.node "aten.mul.Tensor"(%x, %exp) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %log = tg.node "aten.log.default"(%s) : (tensor<f32>) -> tensor<f32>
  %b = tg.node "aten.mul.Tensor"(%x, %log) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %c = tg.node "aten.mul.Tensor"(%y, %log) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %a, %b, %c : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// Phases, and values that must be recomputed, stay apart. Policies that agree
// do not matter.
// CHECK-LABEL: func.func @borders
// CHECK-NEXT:    %[[A:.*]] = tg.launch @exp_0(%arg0) {{.*}}forward
// CHECK-NEXT:    %[[B:.*]] = tg.launch @log_1(%[[A]]) {{.*}}backward
// CHECK-NEXT:    %[[C:.*]] = tg.launch @exp_0(%[[B]]) {{.*}}backward>, tg.policy = #tg.policy<must_recompute>}
// CHECK-NEXT:    tg.launch @tanh_sigmoid_2(%[[C]]) {{.*}}backward
// REMARK: 'log' is not fused with 'exp', which it reads: they belong to different phases
// REMARK: 'exp' is not fused with 'log', which it reads: only one of them must be recomputed
// REMARK: 'tanh' is not fused with 'exp', which it reads: only one of them must be recomputed
func.func @borders(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = tg.node "aten.exp.default"(%x) {tg.phase = #tg.phase<forward>} : (tensor<8xf32>) -> tensor<8xf32>
  %b = tg.node "aten.log.default"(%a) {tg.phase = #tg.phase<backward>} : (tensor<8xf32>) -> tensor<8xf32>
  %c = tg.node "aten.exp.default"(%b) {tg.phase = #tg.phase<backward>, tg.policy = #tg.policy<must_recompute>}
      : (tensor<8xf32>) -> tensor<8xf32>
  %d = tg.node "aten.tanh.default"(%c) {tg.phase = #tg.phase<backward>} : (tensor<8xf32>) -> tensor<8xf32>
  %e = tg.node "aten.sigmoid.default"(%d) {tg.phase = #tg.phase<backward>, tg.policy = #tg.policy<must_save>}
      : (tensor<8xf32>) -> tensor<8xf32>
  return %e : tensor<8xf32>
}

// -----

// The sum of two micro-batches belongs to the second. If the first one's part
// waited for it, so would all else that reads it.
// CHECK-LABEL: func.func @micro_batches
// CHECK-NEXT:    %[[FIRST:.*]] = tg.launch @exp_
// CHECK-NEXT:    tg.launch @log_add_{{.*}}(%arg1, %[[FIRST]])
// CHECK-NEXT:    return
// REMARK: 'add' is not fused with 'exp', which it reads: they belong to different micro-batches
func.func @micro_batches(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %a = tg.node "aten.exp.default"(%x) {tg.micro_batch = 0 : i64} : (tensor<8xf32>) -> tensor<8xf32>
  %b = tg.node "aten.log.default"(%y) {tg.micro_batch = 1 : i64} : (tensor<8xf32>) -> tensor<8xf32>
  %c = tg.node "aten.add.Tensor"(%a, %b) {tg.micro_batch = 1 : i64} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %c : tensor<8xf32>
}

// -----

// The addition needs the GEMM, and the GEMM the exponential: one kernel
// for both would wait for itself.
// CHECK-LABEL: func.func @cycle
// CHECK-NEXT:    %[[EXP:.*]] = tg.launch @exp_0(%arg0)
// CHECK-NEXT:    %[[MM:.*]] = tg.launch @mm_1(%[[EXP]], %arg0)
// CHECK-NEXT:    tg.launch @add_2(%[[EXP]], %[[MM]])
// REMARK: 'add' is not fused with 'exp', which it reads: an operation outside may depend on one and be needed by the other
func.func @cycle(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %exp = tg.node "aten.exp.default"(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %mm = tg.node "aten.mm.default"(%exp, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %add = tg.node "aten.add.Tensor"(%exp, %mm) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %add : tensor<8x8xf32>
}

// -----

// A cycle through other groups: the group of %exp and %log would need that of
// %tanh and %sub, which needs %exp.
// CHECK-LABEL: func.func @cycle_through_groups
// CHECK-NEXT:    %[[EXP:.*]] = tg.launch @exp_0(%arg0)
// CHECK-NEXT:    %[[MM0:.*]] = tg.launch @mm_1(%[[EXP]], %arg0)
// CHECK-NEXT:    %[[SUB:.*]]:2 = tg.launch @tanh_sub_2(%arg0, %[[MM0]])
// CHECK-NEXT:    %[[MM1:.*]] = tg.launch @mm_1(%[[SUB]]#0, %arg0)
// CHECK-NEXT:    %[[ADD:.*]] = tg.launch @add_3(%[[EXP]], %[[MM1]])
// CHECK-NEXT:    return %[[SUB]]#1, %[[ADD]]
func.func @cycle_through_groups(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %tanh = tg.node "aten.tanh.default"(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %mm1 = tg.node "aten.mm.default"(%tanh, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %exp = tg.node "aten.exp.default"(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %mm0 = tg.node "aten.mm.default"(%exp, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %sub = tg.node "aten.sub.Tensor"(%tanh, %mm0) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %add = tg.node "aten.add.Tensor"(%exp, %mm1) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %sub, %add : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// The second collective sends %exp and starts before the first wait, which %add
// reads: as collectives and waits keep their order, %exp and %add stay apart.
// %mul moves nothing across a wait.
// CHECK-LABEL: func.func @collectives_keep_their_order
// CHECK-NEXT:    %[[FIRST:.*]] = tg.all_reduce sum %arg0
// CHECK-NEXT:    %[[EXP:.*]] = tg.launch @exp_0(%arg1)
// CHECK-NEXT:    %[[SECOND:.*]] = tg.all_reduce sum %[[EXP]]
// CHECK-NEXT:    %[[X:.*]] = tg.wait %[[FIRST]]
// CHECK-NEXT:    %[[Y:.*]] = tg.wait %[[SECOND]]
// CHECK-NEXT:    tg.launch @add_mul_1(%[[EXP]], %[[X]], %[[Y]])
tg.mesh @mesh [dp = 2]
func.func @collectives_keep_their_order(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %f = tg.all_reduce sum %x on @mesh [dp] phase forward : (tensor<8xf32>) -> !tg.future<tensor<8xf32>>
  %exp = tg.node "aten.exp.default"(%y) : (tensor<8xf32>) -> tensor<8xf32>
  %g = tg.all_reduce sum %exp on @mesh [dp] phase forward : (tensor<8xf32>) -> !tg.future<tensor<8xf32>>
  %a = tg.wait %f : !tg.future<tensor<8xf32>>
  %add = tg.node "aten.add.Tensor"(%exp, %a) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b = tg.wait %g : !tg.future<tensor<8xf32>>
  %mul = tg.node "aten.mul.Tensor"(%add, %b) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %mul : tensor<8xf32>
}

// -----

// A transposed view moves the rows of what is behind it. What is read both by
// rows and whole is passed twice.
// CHECK:       tg.kernel @mul_0(
// CHECK-SAME:    %[[COLUMNS:.*]]: tensor<8x8xf32> {tg.rows = 1 : i64}, %[[ROWS:.*]]: tensor<8x8xf32> {tg.rows = 0 : i64}
// CHECK:         %[[T:.*]] = tg.node "aten.t.default"(%[[COLUMNS]])
// CHECK:         tg.node "aten.mul.Tensor"(%[[ROWS]], %[[T]])
// CHECK-LABEL: func.func @transposed
// CHECK-NEXT:    tg.launch @mul_0(%arg0, %arg0)
func.func @transposed(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %t = tg.node "aten.t.default"(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %mul = tg.node "aten.mul.Tensor"(%x, %t) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %mul : tensor<8x8xf32>
}

// -----

// Views alone are no kernel. Of two shapes in which a value leaves the group,
// one view is left outside; a constant is repeated inside.
// CHECK:       tg.kernel @add_0(
// CHECK:         tg.node "aten.full.default"()
// CHECK:         tg.return %{{.*}} : tensor<8x4xf32>
// CHECK-NOT:   tg.kernel
// CHECK-LABEL: func.func @views
// CHECK-NOT:     aten.full
// CHECK:         %[[T:.*]] = tg.node "aten.t.default"(%arg1)
// CHECK:         %[[Y:.*]] = tg.launch @add_0(%arg0)
// CHECK:         %[[V:.*]] = tg.node "aten.view.default"(%[[Y]])
// CHECK:         return %[[T]], %[[Y]], %[[V]]
func.func @views(%x: tensor<8x4xf32>, %w: tensor<4x6xf32>)
    -> (tensor<6x4xf32>, tensor<8x4xf32>, tensor<2x4x4xf32>) {
  %t = tg.node "aten.t.default"(%w) : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %one = tg.node "aten.full.default"() args [[8, 4], 1.0] : () -> tensor<8x4xf32>
  %y = tg.node "aten.add.Tensor"(%x, %one) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %v = tg.node "aten.view.default"(%y) args [#tg.operand<0>, [2, 4, 4]] : (tensor<8x4xf32>) -> tensor<2x4x4xf32>
  return %t, %y, %v : tensor<6x4xf32>, tensor<8x4xf32>, tensor<2x4x4xf32>
}

// -----

// Structured operations are grouped as nodes are; the constant that starts the
// product goes with it.
// CHECK:       tg.kernel @generic_0(
// CHECK:         linalg.generic
// CHECK:       tg.kernel @matmul_1(
// CHECK:         linalg.fill
// CHECK:         linalg.matmul
// CHECK-LABEL: func.func @structured
// CHECK-NEXT:    %[[Y:.*]] = tg.launch @generic_0(%arg0)
// CHECK-NEXT:    tg.launch @matmul_1(%[[Y]], %arg0)
#id = affine_map<(i, j) -> (i, j)>
func.func @structured(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x8xf32>) outs(%empty : tensor<8x8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %zero : f32
    linalg.yield %s : f32
  } -> tensor<8x8xf32>
  %z = linalg.matmul ins(%y, %x : tensor<8x8xf32>, tensor<8x8xf32>) outs(%init : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %z : tensor<8x8xf32>
}

// -----

// What a kernel cannot take stays: values of complex numbers, and what asks for
// the rank.
// CHECK-NOT:   tg.kernel
// CHECK-LABEL: func.func @left_alone
// CHECK-NEXT:    tg.node "aten.abs.default"
// CHECK-NEXT:    tg.axis_index
tg.mesh @mesh [dp = 2]
func.func @left_alone(%x: tensor<8xcomplex<f32>>) -> (tensor<8xf32>, index) {
  %a = tg.node "aten.abs.default"(%x) : (tensor<8xcomplex<f32>>) -> tensor<8xf32>
  %i = tg.axis_index on @mesh [dp]
  return %a, %i : tensor<8xf32>, index
}

// -----

// Nor does it take values whose shape is not known.
// CHECK-LABEL: func.func @dynamic
// CHECK-NEXT:    tensor.extract_slice
// CHECK-NEXT:    tensor.insert_slice
func.func @dynamic(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %a = tensor.extract_slice %x[0] [%n] [1] : tensor<4xf32> to tensor<?xf32>
  %b = tensor.insert_slice %a into %x[0] [%n] [1] : tensor<?xf32> into tensor<4xf32>
  return %b : tensor<4xf32>
}

// -----

// The record of what is saved goes by the results that are left.
// CHECK-LABEL: func.func @saved
// CHECK:         tg.launch {{.*}}tg.saved_results = array<i64: 1>
func.func @saved(%x: tensor<4x8xf32>, %w: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x1xf32>) {
  %y:3 = tg.node "aten.native_layer_norm.default"(%x, %w, %w) args [#tg.operand<0>, [8], #tg.operand<1>, #tg.operand<2>, 1.0e-5] {tg.saved_results = array<i64: 2>, tg.phase = #tg.phase<forward>} : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x1xf32>, tensor<4x1xf32>)
  return %y#0, %y#2 : tensor<4x8xf32>, tensor<4x1xf32>
}
