// RUN: regather-opt %s -split-input-file --tg-partition="mode=min-cut match-pytorch=true split=false" | FileCheck %s
// RUN: regather-opt %s -split-input-file --tg-partition="mode=min-cut match-pytorch=true" --remark-format=emitRemark --remarks-filter=tg-partition -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// Rules of PyTorch's partitioner, one by one. A 4x4 tensor that is one step from
// backward weighs int(64 * 1.1) = 70, and twice that if all its readers fuse.

// The list of what may be computed again has no transpose, but `t`. The gradient
// of the loss does not take the loss.
// CHECK-LABEL: @allowed
// CHECK:         "aten.transpose.int"{{.*}}forward{{.*}}tg.saved_results
// CHECK-NOT:     saved_results
// CHECK:         "aten.full.default"() args {{\[\[\]}}, 1]{{.*}}backward
// CHECK:         "aten.t.default"(%{{.*}}) {tg.phase = #tg.phase<backward>}
// REMARK:        minimum-cut {{.*}} weighted_bytes=70{{$}}
// REMARK:        saved {{.*}} bytes=64
// REMARK:        total {{.*}} recomputed=0, recomputed_flops=0.0{{.*}}, saved=1, saved_bytes=64
func.func @allowed(%x: tensor<4x4xf32>, %w: tensor<4x4xf32> {tg.role = #tg.role<parameter>}) -> (tensor<f32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %a = tg.node "aten.transpose.int"(%x) args [#tg.operand<0>, 0, 1] {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = tg.node "aten.t.default"(%w) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = tg.node "aten.mm.default"(%a, %b) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %loss = tg.node "aten.sum.default"(%y) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<f32>
  %one = tg.node "aten.full_like.default"(%loss) args [#tg.operand<0>, 1] {tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<f32>
  %g = tg.node "aten.expand.default"(%one) args [#tg.operand<0>, [4, 4]] {tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<4x4xf32>
  %p = tg.node "aten.mm.default"(%a, %g) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %q = tg.node "aten.mm.default"(%g, %b) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %loss, %p, %q : tensor<f32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// What backward reads otherwise than by fusing it is saved, though the matmul in
// front of it would be cheaper.
// CHECK-LABEL: @materialized
// CHECK:         "aten.mm.default"
// CHECK-NOT:     saved_results
// CHECK:         "aten.sin.default"{{.*}}saved_results
// CHECK-NOT:     saved_results
func.func @materialized(%x: tensor<4x4xf32>) -> (tensor<f32>, tensor<4x4xf32>) {
  %a = tg.node "aten.mm.default"(%x, %x) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = tg.node "aten.sin.default"(%a) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %loss = tg.node "aten.sum.default"(%b) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<f32>
  %one = tg.node "aten.full_like.default"(%loss) args [#tg.operand<0>, 1] {tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<f32>
  %g = tg.node "aten.expand.default"(%one) args [#tg.operand<0>, [4, 4]] {tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<4x4xf32>
  %p = tg.node "aten.mm.default"(%b, %g) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %loss, %p : tensor<f32>, tensor<4x4xf32>
}

// -----

// What fuses with its reader is computed again.
// CHECK-LABEL: @fused
// CHECK:         "aten.mm.default"{{.*}}saved_results
// CHECK-NOT:     saved_results
// CHECK:         "aten.sin.default"{{.*}}backward
// REMARK:        minimum-cut {{.*}} weighted_bytes=77{{$}}
// REMARK:        total {{.*}} recomputed=1, recomputed_flops=1.6{{.*}}, saved=1, saved_bytes=64
func.func @fused(%x: tensor<4x4xf32>) -> (tensor<f32>, tensor<4x4xf32>) {
  %a = tg.node "aten.mm.default"(%x, %x) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = tg.node "aten.sin.default"(%a) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %loss = tg.node "aten.sum.default"(%b) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<f32>
  %one = tg.node "aten.full_like.default"(%loss) args [#tg.operand<0>, 1] {tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<f32>
  %g = tg.node "aten.expand.default"(%one) args [#tg.operand<0>, [4, 4]] {tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<4x4xf32>
  %p = tg.node "aten.mul.Tensor"(%b, %g) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %loss, %p : tensor<f32>, tensor<4x4xf32>
}

// -----

// A result of less than a quarter is saved, even if all it takes is saved.
// CHECK-LABEL: @reduction
// CHECK:         "aten.mean.dim"{{.*}}saved_results
func.func @reduction(%x: tensor<4x5xf32>) -> (tensor<f32>, tensor<4x5xf32>) {
  %a = tg.node "aten.cumsum.default"(%x) args [#tg.operand<0>, 0] {tg.phase = #tg.phase<forward>} : (tensor<4x5xf32>) -> tensor<4x5xf32>
  %v = tg.node "aten.mean.dim"(%a) args [#tg.operand<0>, [1], true] {tg.phase = #tg.phase<forward>} : (tensor<4x5xf32>) -> tensor<4x1xf32>
  %y = tg.node "aten.sub.Tensor"(%a, %v) {tg.phase = #tg.phase<forward>} : (tensor<4x5xf32>, tensor<4x1xf32>) -> tensor<4x5xf32>
  %loss = tg.node "aten.sum.default"(%y) {tg.phase = #tg.phase<forward>} : (tensor<4x5xf32>) -> tensor<f32>
  %one = tg.node "aten.full_like.default"(%loss) args [#tg.operand<0>, 1] {tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<f32>
  %g = tg.node "aten.expand.default"(%one) args [#tg.operand<0>, [4, 5]] {tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<4x5xf32>
  %p = tg.node "aten.cumsum.default"(%a) args [#tg.operand<0>, 0] {tg.phase = #tg.phase<backward>} : (tensor<4x5xf32>) -> tensor<4x5xf32>
  %q = tg.node "aten.addcmul.default"(%g, %p, %v) {tg.phase = #tg.phase<backward>} : (tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x1xf32>) -> tensor<4x5xf32>
  return %loss, %q : tensor<f32>, tensor<4x5xf32>
}

// -----

// A quarter is computed again.
// CHECK-LABEL: @quarter
// CHECK-NOT:     "aten.mean.dim"{{.*}}saved_results
// CHECK:         "aten.mean.dim"{{.*}}backward
func.func @quarter(%x: tensor<4x4xf32>) -> (tensor<f32>, tensor<4x4xf32>) {
  %a = tg.node "aten.cumsum.default"(%x) args [#tg.operand<0>, 0] {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %v = tg.node "aten.mean.dim"(%a) args [#tg.operand<0>, [1], true] {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %y = tg.node "aten.sub.Tensor"(%a, %v) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %loss = tg.node "aten.sum.default"(%y) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<f32>
  %one = tg.node "aten.full_like.default"(%loss) args [#tg.operand<0>, 1] {tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<f32>
  %g = tg.node "aten.expand.default"(%one) args [#tg.operand<0>, [4, 4]] {tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<4x4xf32>
  %p = tg.node "aten.cumsum.default"(%a) args [#tg.operand<0>, 0] {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %q = tg.node "aten.addcmul.default"(%g, %p, %v) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  return %loss, %q : tensor<f32>, tensor<4x4xf32>
}

// -----

// Between the two readers of the sine, fusion ends at a product: the later reader
// is saved, although all that it takes is saved, too.
// CHECK-LABEL: @far_apart
// CHECK:         "aten.mul.Tensor"{{.*}}forward{{.*}}saved_results
func.func @far_apart(%x: tensor<4x4xf32>) -> (tensor<f32>, tensor<4x4xf32>) {
  %a = tg.node "aten.mm.default"(%x, %x) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = tg.node "aten.sin.default"(%a) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = tg.node "aten.cos.default"(%b) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %d = tg.node "aten.mm.default"(%c, %c) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %e = tg.node "aten.mul.Tensor"(%b, %d) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %loss = tg.node "aten.sum.default"(%e) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<f32>
  %one = tg.node "aten.full_like.default"(%loss) args [#tg.operand<0>, 1] {tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<f32>
  %g = tg.node "aten.expand.default"(%one) args [#tg.operand<0>, [4, 4]] {tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<4x4xf32>
  %p = tg.node "aten.mm.default"(%a, %g) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %q = tg.node "aten.mm.default"(%d, %g) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = tg.node "aten.addcmul.default"(%p, %q, %e) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %loss, %r : tensor<f32>, tensor<4x4xf32>
}

// -----

// Nothing ends between the two.
// CHECK-LABEL: @near
// CHECK-NOT:     "aten.mul.Tensor"{{.*}}saved_results
// CHECK:         "aten.mul.Tensor"{{.*}}backward
func.func @near(%x: tensor<4x4xf32>) -> (tensor<f32>, tensor<4x4xf32>) {
  %a = tg.node "aten.mm.default"(%x, %x) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = tg.node "aten.sin.default"(%a) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = tg.node "aten.cos.default"(%b) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %d = tg.node "aten.sub.Tensor"(%c, %c) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %e = tg.node "aten.mul.Tensor"(%b, %d) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %loss = tg.node "aten.sum.default"(%e) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<f32>
  %one = tg.node "aten.full_like.default"(%loss) args [#tg.operand<0>, 1] {tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<f32>
  %g = tg.node "aten.expand.default"(%one) args [#tg.operand<0>, [4, 4]] {tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<4x4xf32>
  %p = tg.node "aten.mm.default"(%a, %g) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %q = tg.node "aten.mm.default"(%d, %g) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = tg.node "aten.addcmul.default"(%p, %q, %e) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %loss, %r : tensor<f32>, tensor<4x4xf32>
}

// -----

// Preferences to recompute are orders, those to save mean nothing.
// CHECK-LABEL: @marks
// CHECK:         "aten.mm.default"{{.*}}forward
// CHECK-NOT:     saved_results
// CHECK:         "aten.sin.default"{{.*}}must_save{{.*}}saved_results
// CHECK-NOT:     saved_results
// CHECK-DAG:     "aten.cos.default"(%arg0) {tg.phase = #tg.phase<backward>}
// CHECK-DAG:     "aten.mm.default"(%arg0, %arg0) {tg.phase = #tg.phase<backward>}
func.func @marks(%x: tensor<4x4xf32>) -> (tensor<f32>, tensor<4x4xf32>) {
  %a = tg.node "aten.mm.default"(%x, %x) {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<prefer_recompute>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = tg.node "aten.sin.default"(%x) {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_save>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = tg.node "aten.cos.default"(%x) {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<prefer_save>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = tg.node "aten.addcmul.default"(%a, %b, %c) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %loss = tg.node "aten.sum.default"(%y) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<f32>
  %one = tg.node "aten.full_like.default"(%loss) args [#tg.operand<0>, 1] {tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<f32>
  %g = tg.node "aten.expand.default"(%one) args [#tg.operand<0>, [4, 4]] {tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<4x4xf32>
  %p = tg.node "aten.addcmul.default"(%g, %b, %c) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %q = tg.node "aten.mul.Tensor"(%p, %a) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %loss, %q : tensor<f32>, tensor<4x4xf32>
}

// -----

// What backward computes without a gradient can be saved as well, and is then
// computed in forward; the cosine weighs more than the matmul and stays.
// CHECK-LABEL: @unclaimed
// CHECK:         "aten.mm.default"
// CHECK-NOT:     saved_results
// CHECK:         "aten.mm.default"{{.*}}saved_results
// CHECK:         "aten.cos.default"{{.*}}backward
// CHECK:         "aten.mean.dim"{{.*}}forward{{.*}}saved_results
func.func @unclaimed(%x: tensor<4x4xf32>) -> (tensor<f32>, tensor<4x4xf32>) {
  %a = tg.node "aten.mm.default"(%x, %x) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = tg.node "aten.mm.default"(%a, %x) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %loss = tg.node "aten.sum.default"(%b) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<f32>
  %one = tg.node "aten.full_like.default"(%loss) args [#tg.operand<0>, 1] {tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<f32>
  %g = tg.node "aten.expand.default"(%one) args [#tg.operand<0>, [4, 4]] {tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<4x4xf32>
  %c = tg.node "aten.cos.default"(%b) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %v = tg.node "aten.mean.dim"(%a) args [#tg.operand<0>, [1], true] {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %p = tg.node "aten.addcmul.default"(%g, %c, %v) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  return %loss, %p : tensor<f32>, tensor<4x4xf32>
}

// -----

// A duplicate goes, with its mark; the sine of something else stays.
// CHECK-LABEL: @duplicates
// CHECK:         "aten.sin.default"{{.*}}"first"{{.*}}saved_results
// CHECK-NOT:     must_save
// CHECK-NOT:     "again"
// CHECK:         "aten.sin.default"
func.func @duplicates(%x: tensor<4x4xf32>) -> (tensor<f32>, tensor<4x4xf32>) {
  %a = tg.node "aten.sin.default"(%x) {tg.phase = #tg.phase<forward>, tg.id = "first"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = tg.node "aten.sin.default"(%x) {tg.phase = #tg.phase<forward>, tg.id = "again", tg.policy = #tg.policy<must_save>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = tg.node "aten.sin.default"(%a) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = tg.node "aten.mm.default"(%b, %c) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %loss = tg.node "aten.sum.default"(%y) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<f32>
  %one = tg.node "aten.full_like.default"(%loss) args [#tg.operand<0>, 1] {tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<f32>
  %g = tg.node "aten.expand.default"(%one) args [#tg.operand<0>, [4, 4]] {tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<4x4xf32>
  %p = tg.node "aten.mm.default"(%a, %g) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %q = tg.node "aten.mm.default"(%b, %p) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %loss, %q : tensor<f32>, tensor<4x4xf32>
}

// -----

// Half of the batch is cheaper to save than all of it.
// CHECK-LABEL: @batch
// CHECK:         "aten.slice.Tensor"{{.*}}saved_results
func.func @batch(%x: tensor<8x4xf32> {tg.role = #tg.role<input>}) -> (tensor<f32>, tensor<4x4xf32>) {
  %a = tg.node "aten.slice.Tensor"(%x) args [#tg.operand<0>, 0, 0, 4] {tg.phase = #tg.phase<forward>} : (tensor<8x4xf32>) -> tensor<4x4xf32>
  %b = tg.node "aten.sin.default"(%a) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %loss = tg.node "aten.sum.default"(%b) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<f32>
  %one = tg.node "aten.full_like.default"(%loss) args [#tg.operand<0>, 1] {tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<f32>
  %g = tg.node "aten.expand.default"(%one) args [#tg.operand<0>, [4, 4]] {tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<4x4xf32>
  %p = tg.node "aten.mul.Tensor"(%a, %g) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %loss, %p : tensor<f32>, tensor<4x4xf32>
}

// -----

// A parameter is free.
// CHECK-LABEL: @parameter
// CHECK-NOT:     saved_results
func.func @parameter(%x: tensor<8x4xf32> {tg.role = #tg.role<parameter>}) -> (tensor<f32>, tensor<4x4xf32>) {
  %a = tg.node "aten.slice.Tensor"(%x) args [#tg.operand<0>, 0, 0, 4] {tg.phase = #tg.phase<forward>} : (tensor<8x4xf32>) -> tensor<4x4xf32>
  %b = tg.node "aten.sin.default"(%a) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %loss = tg.node "aten.sum.default"(%b) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<f32>
  %one = tg.node "aten.full_like.default"(%loss) args [#tg.operand<0>, 1] {tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<f32>
  %g = tg.node "aten.expand.default"(%one) args [#tg.operand<0>, [4, 4]] {tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<4x4xf32>
  %p = tg.node "aten.mul.Tensor"(%a, %g) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %loss, %p : tensor<f32>, tensor<4x4xf32>
}

// -----

// One result of several is saved as one, and the call as a whole is not.
// CHECK-LABEL: @several
// CHECK:         "aten.max.dim"{{.*}}forward{{.*}}tg.saved_results = array<i64: 1>
func.func @several(%x: tensor<4x4xf32>) -> (tensor<f32>, tensor<4x4xf32>) {
  %a:2 = tg.node "aten.max.dim"(%x) args [#tg.operand<0>, 1] {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> (tensor<4xf32>, tensor<4xi64>)
  %e = tg.node "aten.expand.default"(%a#0) args [#tg.operand<0>, [4, 4]] {tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<4x4xf32>
  %loss = tg.node "aten.sum.default"(%e) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<f32>
  %one = tg.node "aten.full_like.default"(%loss) args [#tg.operand<0>, 1] {tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<f32>
  %g = tg.node "aten.expand.default"(%one) args [#tg.operand<0>, [4, 4]] {tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<4x4xf32>
  %p = tg.node "aten.gather.default"(%g, %a#1) args [#tg.operand<0>, 1, #tg.operand<1>] {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4xi64>) -> tensor<4x4xf32>
  return %loss, %p : tensor<f32>, tensor<4x4xf32>
}

// -----

// A collective is saved, unless it is marked: then it is carried out again.
// CHECK-LABEL: @collectives
// CHECK:         tg.all_gather %arg0
// CHECK-NEXT:    tg.wait {{.*}}saved_results
// CHECK-NOT:     saved_results
// CHECK:         tg.all_gather %arg1 {{.*}} phase backward generation 1
tg.mesh @mesh [dp = 2]

func.func @collectives(%v: tensor<2x4xf32> {tg.role = #tg.role<parameter>}, %w: tensor<2x4xf32> {tg.role = #tg.role<parameter>}) -> (tensor<f32>, tensor<4x4xf32>) {
  %0 = tg.all_gather %v on @mesh [dp] dim 0 phase forward : (tensor<2x4xf32>) -> !tg.future<tensor<4x4xf32>>
  %a = tg.wait %0 : !tg.future<tensor<4x4xf32>>
  %1 = tg.all_gather %w on @mesh [dp] dim 0 phase forward {tg.policy = #tg.policy<prefer_recompute>} : (tensor<2x4xf32>) -> !tg.future<tensor<4x4xf32>>
  %b = tg.wait %1 : !tg.future<tensor<4x4xf32>>
  %y = tg.node "aten.mm.default"(%a, %b) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %loss = tg.node "aten.sum.default"(%y) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<f32>
  %one = tg.node "aten.full_like.default"(%loss) args [#tg.operand<0>, 1] {tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<f32>
  %g = tg.node "aten.expand.default"(%one) args [#tg.operand<0>, [4, 4]] {tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<4x4xf32>
  %p = tg.node "aten.mm.default"(%a, %g) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %q = tg.node "aten.mm.default"(%p, %b) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %loss, %q : tensor<f32>, tensor<4x4xf32>
}
