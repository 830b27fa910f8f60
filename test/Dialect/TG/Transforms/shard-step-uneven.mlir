// RUN: regather-opt %s -split-input-file "--tg-shard-step=mesh=tp:4 shard={up=[tp] shard 1}" --tg-verify-step | FileCheck %s

// Padding of arguments is zero, and stays so in products and in what is zero at
// zero. Half, which a sigmoid makes of it, is replaced; the sum over what is cut
// counts zeros alone.
// CHECK-LABEL: func.func @feed_forward(
// CHECK-SAME:    %[[UP:[a-z0-9]+]]: tensor<4x3xf32> {{[^%]*}}#tg.placement<@mesh {{\[\[}}tp] = shard 1] of [4, 10]>
// CHECK-SAME:    %[[DOWN:[a-z0-9]+]]: tensor<3x6xf32> {{[^%]*}}#tg.placement<@mesh {{\[\[}}tp] = shard 0] of [10, 6]>
// CHECK:         %[[H:.*]] = tg.node "aten.mm.default"(%{{.*}}, %[[UP]]) {{.*}} -> tensor<8x3xf32>
// CHECK-NEXT:    %[[R:.*]] = tg.node "aten.relu.default"(%[[H]])
// CHECK-NEXT:    %[[S:.*]] = tg.node "aten.sigmoid.default"(%[[R]])
// CHECK:         %[[BEGINS:.*]] = tg.node "aten.arange.start_step"() args [0, 12, 3]
// CHECK:         %[[BEGIN:.*]] = tensor.extract_slice %[[BEGINS]]
// CHECK:         %[[OWN:.*]] = tg.node "aten.arange.start_step"() args [0, 3, 1]
// CHECK:         %[[POSITIONS:.*]] = tg.node "aten.add.Tensor"(%[[OWN]], %[[BEGIN]])
// CHECK:         %[[EXISTS:.*]] = tg.node "aten.lt.Scalar"(%[[POSITIONS]]) args [#tg.operand<0>, 10]
// CHECK:         %[[MASK:.*]] = tg.node "aten.view.default"(%[[EXISTS]]) args [#tg.operand<0>, [1, 3]]
// CHECK:         %[[ZERO:.*]] = tg.node "aten.scalar_tensor.default"() args [0.000000e+00]
// CHECK:         %[[Z:.*]] = tg.node "aten.where.self"(%[[MASK]], %[[S]], %[[ZERO]])
// CHECK-NEXT:    %[[A:.*]] = tg.node "aten.mul.Tensor"(%[[R]], %[[Z]])
// CHECK-NEXT:    %[[Y:.*]] = tg.node "aten.mm.default"(%[[A]], %[[DOWN]]) {{.*}} -> tensor<8x6xf32>
// CHECK-NEXT:    tg.all_reduce sum %[[Y]] on @mesh [tp]
// CHECK-NOT:     tg.all
// CHECK:         return
func.func @feed_forward(
    %up: tensor<4x10xf32> {tg.role = #tg.role<parameter>, tg.name = "up"},
    %down: tensor<10x6xf32> {tg.role = #tg.role<parameter>, tg.name = "down"},
    %x: tensor<8x4xf32> {tg.role = #tg.role<input>, tg.name = "x"})
    -> tensor<8x6xf32> {
  %h = tg.node "aten.mm.default"(%x, %up) : (tensor<8x4xf32>, tensor<4x10xf32>) -> tensor<8x10xf32>
  %r = tg.node "aten.relu.default"(%h) : (tensor<8x10xf32>) -> tensor<8x10xf32>
  %s = tg.node "aten.sigmoid.default"(%r) : (tensor<8x10xf32>) -> tensor<8x10xf32>
  %a = tg.node "aten.mul.Tensor"(%r, %s) : (tensor<8x10xf32>, tensor<8x10xf32>) -> tensor<8x10xf32>
  %y = tg.node "aten.mm.default"(%a, %down) : (tensor<8x10xf32>, tensor<10x6xf32>) -> tensor<8x6xf32>
  return %y : tensor<8x6xf32>
}

// -----

// Zero by zero is not zero.
// CHECK-LABEL: func.func @quotient(
// CHECK:         %[[Q:.*]] = tg.node "aten.div.Tensor"
// CHECK:         %[[Z:.*]] = tg.node "aten.where.self"(%{{.*}}, %[[Q]], %{{.*}})
// CHECK-NEXT:    tg.node "aten.sum.default"(%[[Z]])
func.func @quotient(
    %up: tensor<4x10xf32> {tg.role = #tg.role<parameter>, tg.name = "up"})
    -> tensor<f32> {
  %q = tg.node "aten.div.Tensor"(%up, %up) : (tensor<4x10xf32>, tensor<4x10xf32>) -> tensor<4x10xf32>
  %y = tg.node "aten.sum.default"(%q) : (tensor<4x10xf32>) -> tensor<f32>
  return %y : tensor<f32>
}

// -----

// Padding is no maximum, unless there are no infinities. A mean of parts that are
// not equally large is none of their means.
// CHECK-LABEL: func.func @maxima_and_mean(
// CHECK-SAME:    %[[UP:[a-z0-9]+]]: tensor<4x3xf32>
// CHECK:         %[[INF:.*]] = tg.node "aten.scalar_tensor.default"() args [0xFFF0000000000000 : f64]
// CHECK:         %[[LOW:.*]] = tg.node "aten.where.self"(%{{.*}}, %[[UP]], %[[INF]])
// CHECK-NEXT:    %[[MAX:.*]] = tg.node "aten.amax.default"(%[[LOW]]) {{.*}} : (tensor<4x3xf32>) -> tensor<4xf32>
// CHECK:         %[[NUMBERS:.*]] = tg.node "aten._to_copy.default"(%[[UP]])
// CHECK:         tg.all_gather %[[NUMBERS]]
// CHECK:         tg.node "aten.amax.default"(%{{.*}}) {{.*}} : (tensor<4x10xi32>)
// CHECK:         tg.all_gather %[[UP]]
// CHECK:         tg.node "aten.mean.default"(%{{.*}}) : (tensor<4x10xf32>)
// CHECK:         tg.all_reduce max %[[MAX]]
func.func @maxima_and_mean(
    %up: tensor<4x10xf32> {tg.role = #tg.role<parameter>, tg.name = "up"})
    -> (tensor<4xf32>, tensor<4xi32>, tensor<f32>) {
  %max = tg.node "aten.amax.default"(%up) args [#tg.operand<0>, [1]] : (tensor<4x10xf32>) -> tensor<4xf32>
  %numbers = tg.node "aten._to_copy.default"(%up) : (tensor<4x10xf32>) -> tensor<4x10xi32>
  %imax = tg.node "aten.amax.default"(%numbers) args [#tg.operand<0>, [1]] : (tensor<4x10xi32>) -> tensor<4xi32>
  %mean = tg.node "aten.mean.default"(%up) : (tensor<4x10xf32>) -> tensor<f32>
  return %max, %imax, %mean : tensor<4xf32>, tensor<4xi32>, tensor<f32>
}

// -----

// Gradients and updates have zeros there, whatever they are made of; what an
// optimizer computes on the way is left as it is.
// CHECK-LABEL: func.func @updates(
// CHECK:         %[[G:.*]] = tg.node "aten.exp.default"
// CHECK:         %[[ZG:.*]] = tg.node "aten.where.self"(%{{.*}}, %[[G]], %{{.*}}) {{.*}}phase<backward>
// CHECK:         %[[E:.*]] = tg.node "aten.exp.default"(%[[ZG]])
// CHECK-NEXT:    %[[P:.*]] = tg.node "aten.add.Tensor"(%{{.*}}, %[[E]])
// CHECK:         %[[ZP:.*]] = tg.node "aten.where.self"(%{{.*}}, %[[P]], %{{.*}}) {{.*}}phase<optimizer>
// CHECK:         return %[[ZG]], %[[ZP]]
func.func @updates(
    %up: tensor<4x10xf32> {tg.role = #tg.role<parameter>, tg.name = "up"})
    -> (tensor<4x10xf32> {tg.role = #tg.role<gradient of 0>},
        tensor<4x10xf32> {tg.role = #tg.role<update of 0>}) {
  %g = tg.node "aten.exp.default"(%up) {tg.phase = #tg.phase<backward>} : (tensor<4x10xf32>) -> tensor<4x10xf32>
  %e = tg.node "aten.exp.default"(%g) {tg.phase = #tg.phase<optimizer>} : (tensor<4x10xf32>) -> tensor<4x10xf32>
  %p = tg.node "aten.add.Tensor"(%up, %e) {tg.phase = #tg.phase<optimizer>} : (tensor<4x10xf32>, tensor<4x10xf32>) -> tensor<4x10xf32>
  return %g, %p : tensor<4x10xf32>, tensor<4x10xf32>
}

// -----

// What is made from nothing has no zeros behind its end, unless it is zero.
// CHECK-LABEL: func.func @constants(
// CHECK:         %[[ONES:.*]] = tg.node "aten.ones.default"() {{.*}} -> tensor<4x3xf32>
// CHECK-NEXT:    %[[A:.*]] = tg.node "aten.add.Tensor"(%{{.*}}, %[[ONES]])
// CHECK:         %[[ZA:.*]] = tg.node "aten.where.self"(%{{.*}}, %[[A]], %{{.*}})
// CHECK:         %[[ZEROS:.*]] = tg.node "aten.zeros.default"() {{.*}} -> tensor<4x3xf32>
// CHECK-NEXT:    %[[B:.*]] = tg.node "aten.add.Tensor"(%[[ZA]], %[[ZEROS]])
// CHECK-NEXT:    tg.node "aten.sum.default"(%[[B]])
func.func @constants(
    %up: tensor<4x10xf32> {tg.role = #tg.role<parameter>, tg.name = "up"})
    -> tensor<f32> {
  %ones = tg.node "aten.ones.default"() args [[4, 10]] : () -> tensor<4x10xf32>
  %a = tg.node "aten.add.Tensor"(%up, %ones) : (tensor<4x10xf32>, tensor<4x10xf32>) -> tensor<4x10xf32>
  %zeros = tg.node "aten.zeros.default"() args [[4, 10]] : () -> tensor<4x10xf32>
  %b = tg.node "aten.add.Tensor"(%a, %zeros) : (tensor<4x10xf32>, tensor<4x10xf32>) -> tensor<4x10xf32>
  %y = tg.node "aten.sum.default"(%b) : (tensor<4x10xf32>) -> tensor<f32>
  return %y : tensor<f32>
}
