module {
  func.func @step(%arg0: tensor<8x6xf32> {tg.donated, tg.module = "a", tg.name = "a.weight", tg.registration = 0 : i64, tg.role = #tg.role<parameter>}, %arg1: tensor<8xf32> {tg.donated, tg.module = "a", tg.name = "a.bias", tg.registration = 1 : i64, tg.role = #tg.role<parameter>}, %arg2: tensor<8xf32> {tg.donated, tg.module = "n", tg.name = "n.weight", tg.registration = 2 : i64, tg.role = #tg.role<parameter>}, %arg3: tensor<8xf32> {tg.donated, tg.module = "n", tg.name = "n.bias", tg.registration = 3 : i64, tg.role = #tg.role<parameter>}, %arg4: tensor<3x8xf32> {tg.donated, tg.module = "b", tg.name = "b.weight", tg.registration = 4 : i64, tg.role = #tg.role<parameter>}, %arg5: tensor<3xf32> {tg.donated, tg.module = "b", tg.name = "b.bias", tg.registration = 5 : i64, tg.role = #tg.role<parameter>}, %arg6: tensor<4x6xf32> {tg.name = "x", tg.role = #tg.role<input>}, %arg7: tensor<4x3xf32> {tg.name = "target", tg.role = #tg.role<input>}, %arg8: tensor<i64> {tg.name = "rng.seed", tg.role = #tg.role<rng>}, %arg9: tensor<i64> {tg.name = "rng.offset", tg.role = #tg.role<rng>}) -> (tensor<f32> {tg.role = #tg.role<loss>}, tensor<8x6xf32> {tg.role = #tg.role<gradient of 0>}, tensor<8xf32> {tg.role = #tg.role<gradient of 1>}, tensor<8xf32> {tg.role = #tg.role<gradient of 2>}, tensor<8xf32> {tg.role = #tg.role<gradient of 3>}, tensor<3x8xf32> {tg.role = #tg.role<gradient of 4>}, tensor<3xf32> {tg.role = #tg.role<gradient of 5>}, tensor<i64> {tg.role = #tg.role<update of 9>}) {
    %0 = tg.node "aten.add.Scalar"(%arg9) args [#tg.operand<0>, 1] {tg.phase = #tg.phase<forward>} : (tensor<i64>) -> tensor<i64>
    %1 = tg.node "aten.permute.default"(%arg0) args [#tg.operand<0>, [1, 0]] {tg.id = "permute", tg.module = "a", tg.phase = #tg.phase<forward>} : (tensor<8x6xf32>) -> tensor<6x8xf32>
    %2 = tg.node "aten.addmm.default"(%arg1, %arg6, %1) {tg.id = "addmm", tg.module = "a", tg.phase = #tg.phase<forward>} : (tensor<8xf32>, tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
    %3 = tg.node "aten.gelu.default"(%2) {tg.id = "gelu", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %4:3 = tg.node "aten.native_layer_norm.default"(%3, %arg2, %arg3) args [#tg.operand<0>, [8], #tg.operand<1>, #tg.operand<2>, 1.000000e-05] {tg.id = "native_layer_norm", tg.module = "n", tg.phase = #tg.phase<forward>} : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x1xf32>, tensor<4x1xf32>)
    %5 = tg.random %arg8, %arg9 stream 0 {tg.module = "", tg.phase = #tg.phase<forward>} : tensor<4x8xi32>
    %6:2 = tg.node "aten.native_dropout.default"(%4#0, %5) args [#tg.operand<0>, 3.000000e-01, true] kwargs {bits = #tg.operand<1>} {tg.id = "native_dropout", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi1>)
    %7 = tg.node "aten.permute.default"(%arg4) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_1", tg.module = "b", tg.phase = #tg.phase<forward>} : (tensor<3x8xf32>) -> tensor<8x3xf32>
    %8 = tg.node "aten.addmm.default"(%arg5, %6#0, %7) {tg.id = "addmm_1", tg.module = "b", tg.phase = #tg.phase<forward>} : (tensor<3xf32>, tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
    %9 = tg.node "aten.sub.Tensor"(%8, %arg7) {tg.id = "sub", tg.phase = #tg.phase<forward>} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    %10 = tg.node "aten.pow.Tensor_Scalar"(%9) args [#tg.operand<0>, 2] {tg.id = "pow_1", tg.phase = #tg.phase<forward>} : (tensor<4x3xf32>) -> tensor<4x3xf32>
    %11 = tg.node "aten.mean.default"(%10) {tg.id = "mean", tg.phase = #tg.phase<forward>} : (tensor<4x3xf32>) -> tensor<f32>
    %12 = tg.node "aten.full_like.default"(%11) args [#tg.operand<0>, 1] kwargs {pin_memory = false} {tg.id = "full_like", tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<f32>
    %13 = tg.node "aten.sub.Tensor"(%8, %arg7) {tg.id = "sub_1", tg.phase = #tg.phase<backward>} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    %14 = tg.node "aten.mul.Tensor"(%13) args [#tg.operand<0>, 0.16666666666666666] {tg.id = "mul", tg.phase = #tg.phase<backward>} : (tensor<4x3xf32>) -> tensor<4x3xf32>
    %15 = tg.node "aten.mul.Tensor"(%14, %12) {tg.id = "mul_1", tg.phase = #tg.phase<backward>} : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
    %16 = tg.node "aten.permute.default"(%7) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_2", tg.module = "b", tg.phase = #tg.phase<backward>} : (tensor<8x3xf32>) -> tensor<3x8xf32>
    %17 = tg.node "aten.mm.default"(%15, %16) {tg.id = "mm", tg.module = "b", tg.phase = #tg.phase<backward>} : (tensor<4x3xf32>, tensor<3x8xf32>) -> tensor<4x8xf32>
    %18 = tg.node "aten.permute.default"(%15) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_3", tg.module = "b", tg.phase = #tg.phase<backward>} : (tensor<4x3xf32>) -> tensor<3x4xf32>
    %19 = tg.node "aten.mm.default"(%18, %6#0) {tg.id = "mm_1", tg.module = "b", tg.phase = #tg.phase<backward>} : (tensor<3x4xf32>, tensor<4x8xf32>) -> tensor<3x8xf32>
    %20 = tg.node "aten.permute.default"(%19) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_4", tg.module = "b", tg.phase = #tg.phase<backward>} : (tensor<3x8xf32>) -> tensor<8x3xf32>
    %21 = tg.node "aten.sum.dim_IntList"(%15) args [#tg.operand<0>, [0], true] {tg.id = "sum_1", tg.module = "b", tg.phase = #tg.phase<backward>} : (tensor<4x3xf32>) -> tensor<1x3xf32>
    %22 = tg.node "aten.view.default"(%21) args [#tg.operand<0>, [3]] {tg.id = "view", tg.module = "b", tg.phase = #tg.phase<backward>} : (tensor<1x3xf32>) -> tensor<3xf32>
    %23 = tg.node "aten.permute.default"(%20) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_5", tg.module = "b", tg.phase = #tg.phase<backward>} : (tensor<8x3xf32>) -> tensor<3x8xf32>
    %24 = tg.node "aten._to_copy.default"(%6#1) kwargs {dtype = f32} {tg.id = "_to_copy", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x8xi1>) -> tensor<4x8xf32>
    %25 = tg.node "aten.mul.Tensor"(%24) args [#tg.operand<0>, 1.4285714285714286] {tg.id = "mul_2", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %26 = tg.node "aten.mul.Tensor"(%17, %25) {tg.id = "mul_3", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %27 = tg.node "aten.clone.default"(%26) {tg.id = "clone", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %28:3 = tg.node "aten.native_layer_norm_backward.default"(%27, %3, %4#1, %4#2, %arg2, %arg3) args [#tg.operand<0>, #tg.operand<1>, [8], #tg.operand<2>, #tg.operand<3>, #tg.operand<4>, #tg.operand<5>, [true, true, true]] {tg.id = "native_layer_norm_backward", tg.module = "n", tg.phase = #tg.phase<backward>} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
    %29 = tg.node "aten.mul.Tensor"(%2) args [#tg.operand<0>, 0.70710678118654757] {tg.id = "mul_4", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %30 = tg.node "aten.erf.default"(%29) {tg.id = "erf", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %31 = tg.node "aten.add.Tensor"(%30) args [#tg.operand<0>, 1] {tg.id = "add", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %32 = tg.node "aten.mul.Tensor"(%31) args [#tg.operand<0>, 5.000000e-01] {tg.id = "mul_5", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %33 = tg.node "aten.mul.Tensor"(%2, %2) {tg.id = "mul_6", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %34 = tg.node "aten.mul.Tensor"(%33) args [#tg.operand<0>, -5.000000e-01] {tg.id = "mul_7", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %35 = tg.node "aten.exp.default"(%34) {tg.id = "exp", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %36 = tg.node "aten.mul.Tensor"(%35) args [#tg.operand<0>, 0.3989422804014327] {tg.id = "mul_8", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %37 = tg.node "aten.mul.Tensor"(%2, %36) {tg.id = "mul_9", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %38 = tg.node "aten.add.Tensor"(%32, %37) {tg.id = "add_1", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %39 = tg.node "aten.mul.Tensor"(%28#0, %38) {tg.id = "mul_10", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %40 = tg.node "aten.permute.default"(%39) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_6", tg.module = "a", tg.phase = #tg.phase<backward>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
    %41 = tg.node "aten.mm.default"(%40, %arg6) {tg.id = "mm_2", tg.module = "a", tg.phase = #tg.phase<backward>} : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    %42 = tg.node "aten.permute.default"(%41) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_7", tg.module = "a", tg.phase = #tg.phase<backward>} : (tensor<8x6xf32>) -> tensor<6x8xf32>
    %43 = tg.node "aten.sum.dim_IntList"(%39) args [#tg.operand<0>, [0], true] {tg.id = "sum_2", tg.module = "a", tg.phase = #tg.phase<backward>} : (tensor<4x8xf32>) -> tensor<1x8xf32>
    %44 = tg.node "aten.view.default"(%43) args [#tg.operand<0>, [8]] {tg.id = "view_1", tg.module = "a", tg.phase = #tg.phase<backward>} : (tensor<1x8xf32>) -> tensor<8xf32>
    %45 = tg.node "aten.permute.default"(%42) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_8", tg.module = "a", tg.phase = #tg.phase<backward>} : (tensor<6x8xf32>) -> tensor<8x6xf32>
    return %11, %45, %44, %28#1, %28#2, %23, %22, %0 : tensor<f32>, tensor<8x6xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<3x8xf32>, tensor<3xf32>, tensor<i64>
  }
}
