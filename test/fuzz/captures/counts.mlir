module {
  func.func @step(%arg0: tensor<6x5xf32> {tg.donated, tg.module = "", tg.name = "w", tg.registration = 0 : i64, tg.role = #tg.role<parameter>}, %arg1: tensor<4x2x3x3xf32> {tg.donated, tg.module = "c", tg.name = "c.weight", tg.registration = 1 : i64, tg.role = #tg.role<parameter>}, %arg2: tensor<4xf32> {tg.donated, tg.module = "c", tg.name = "c.bias", tg.registration = 2 : i64, tg.role = #tg.role<parameter>}, %arg3: tensor<5x20xf32> {tg.donated, tg.module = "f", tg.name = "f.weight", tg.registration = 3 : i64, tg.role = #tg.role<parameter>}, %arg4: tensor<5xf32> {tg.donated, tg.module = "f", tg.name = "f.bias", tg.registration = 4 : i64, tg.role = #tg.role<parameter>}, %arg5: tensor<4x2x4x4xf32> {tg.name = "x", tg.role = #tg.role<input>}, %arg6: tensor<4xi64> {tg.name = "labels", tg.role = #tg.role<input>}) -> (tensor<f32> {tg.role = #tg.role<loss>}, tensor<6x5xf32> {tg.role = #tg.role<gradient of 0>}, tensor<4x2x3x3xf32> {tg.role = #tg.role<gradient of 1>}, tensor<4xf32> {tg.role = #tg.role<gradient of 2>}, tensor<5x20xf32> {tg.role = #tg.role<gradient of 3>}, tensor<5xf32> {tg.role = #tg.role<gradient of 4>}) {
    %0 = tg.node "aten.convolution.default"(%arg5, %arg1, %arg2) args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, [2, 2], [1, 1], [1, 1], false, [0, 0], 1] {tg.id = "convolution", tg.module = "c", tg.phase = #tg.phase<forward>} : (tensor<4x2x4x4xf32>, tensor<4x2x3x3xf32>, tensor<4xf32>) -> tensor<4x4x2x2xf32>
    %1 = tg.node "aten.relu.default"(%0) {tg.id = "relu", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<4x4x2x2xf32>) -> tensor<4x4x2x2xf32>
    %2 = tg.node "aten.view.default"(%1) args [#tg.operand<0>, [4, 16]] {tg.id = "view", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<4x4x2x2xf32>) -> tensor<4x16xf32>
    %3 = tg.node "aten.constant_pad_nd.default"(%2) args [#tg.operand<0>, [0, 4], 0.000000e+00] {tg.id = "constant_pad_nd", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<4x16xf32>) -> tensor<4x20xf32>
    %4 = tg.node "aten.permute.default"(%arg3) args [#tg.operand<0>, [1, 0]] {tg.id = "permute", tg.module = "f", tg.phase = #tg.phase<forward>} : (tensor<5x20xf32>) -> tensor<20x5xf32>
    %5 = tg.node "aten.addmm.default"(%arg4, %3, %4) {tg.id = "addmm", tg.module = "f", tg.phase = #tg.phase<forward>} : (tensor<5xf32>, tensor<4x20xf32>, tensor<20x5xf32>) -> tensor<4x5xf32>
    %6 = tg.node "aten.permute.default"(%arg0) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_1", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<6x5xf32>) -> tensor<5x6xf32>
    %7 = tg.node "aten.mm.default"(%5, %6) {tg.id = "mm", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<4x5xf32>, tensor<5x6xf32>) -> tensor<4x6xf32>
    %8 = tg.node "aten.cumsum.default"(%7) args [#tg.operand<0>, 1] {tg.id = "cumsum", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %9 = tg.node "aten.amax.default"(%7) args [#tg.operand<0>, [0], true] {tg.id = "amax", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<4x6xf32>) -> tensor<1x6xf32>
    %10 = tg.node "aten.add.Tensor"(%8, %9) {tg.id = "add", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<4x6xf32>, tensor<1x6xf32>) -> tensor<4x6xf32>
    %11 = tg.node "aten._log_softmax.default"(%10) args [#tg.operand<0>, 1, false] {tg.id = "_log_softmax", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %12 = tg.node "aten.ne.Scalar"(%arg6) args [#tg.operand<0>, -100] {tg.id = "ne", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<4xi64>) -> tensor<4xi1>
    %13 = tg.node "aten.scalar_tensor.default"() args [0] kwargs {dtype = i64} {tg.id = "scalar_tensor", tg.module = "", tg.phase = #tg.phase<forward>} : () -> tensor<i64>
    %14 = tg.node "aten.where.self"(%12, %arg6, %13) {tg.id = "where", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<4xi1>, tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
    %15 = tg.node "aten.unsqueeze.default"(%14) args [#tg.operand<0>, 1] {tg.id = "unsqueeze", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<4xi64>) -> tensor<4x1xi64>
    %16 = tg.node "aten.gather.default"(%11, %15) args [#tg.operand<0>, 1, #tg.operand<1>] {tg.id = "gather", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<4x6xf32>, tensor<4x1xi64>) -> tensor<4x1xf32>
    %17 = tg.node "aten.squeeze.dims"(%16) args [#tg.operand<0>, [1]] {tg.id = "squeeze", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<4x1xf32>) -> tensor<4xf32>
    %18 = tg.node "aten.neg.default"(%17) {tg.id = "neg", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<4xf32>
    %19 = tg.node "aten.ne.Scalar"(%arg6) args [#tg.operand<0>, -100] {tg.id = "ne_1", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<4xi64>) -> tensor<4xi1>
    %20 = tg.node "aten.scalar_tensor.default"() args [0] kwargs {dtype = f32} {tg.id = "scalar_tensor_1", tg.module = "", tg.phase = #tg.phase<forward>} : () -> tensor<f32>
    %21 = tg.node "aten.where.self"(%19, %18, %20) {tg.id = "where_1", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<4xi1>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %22 = tg.node "aten.ne.Scalar"(%arg6) args [#tg.operand<0>, -100] {tg.id = "ne_2", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<4xi64>) -> tensor<4xi1>
    %23 = tg.node "aten.sum.dim_IntList"(%22) args [#tg.operand<0>, []] {tg.id = "sum_1", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<4xi1>) -> tensor<i64>
    %24 = tg.node "aten._to_copy.default"(%23) kwargs {dtype = f32} {tg.id = "_to_copy", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<i64>) -> tensor<f32>
    %25 = tg.node "aten.sum.dim_IntList"(%21) args [#tg.operand<0>, []] {tg.id = "sum_2", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<f32>
    %26 = tg.node "aten.div.Tensor"(%25, %24) {tg.id = "div", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %27 = tg.node "aten.mul.Tensor"(%10, %10) {tg.id = "mul", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %28 = tg.node "aten.amin.default"(%27) args [#tg.operand<0>, [1]] {tg.id = "amin", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<4x6xf32>) -> tensor<4xf32>
    %29 = tg.node "aten.sum.dim_IntList"(%28) args [#tg.operand<0>, []] {tg.id = "sum_3", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<f32>
    %30 = tg.node "aten.add.Tensor"(%26, %29) {tg.id = "add_1", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %31 = tg.node "aten.full_like.default"(%30) args [#tg.operand<0>, 1] kwargs {pin_memory = false} {tg.id = "full_like", tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<f32>
    %32 = tg.node "aten.expand.default"(%31) args [#tg.operand<0>, [4]] {tg.id = "expand", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<4xf32>
    %33 = tg.node "aten.view.default"(%28) args [#tg.operand<0>, [4, 1]] {tg.id = "view_1", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4xf32>) -> tensor<4x1xf32>
    %34 = tg.node "aten.eq.Tensor"(%33, %27) {tg.id = "eq", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x1xf32>, tensor<4x6xf32>) -> tensor<4x6xi1>
    %35 = tg.node "aten.view.default"(%32) args [#tg.operand<0>, [4, 1]] {tg.id = "view_2", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4xf32>) -> tensor<4x1xf32>
    %36 = tg.node "aten.sum.dim_IntList"(%34) args [#tg.operand<0>, [1], true] {tg.id = "sum_4", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x6xi1>) -> tensor<4x1xi64>
    %37 = tg.node "aten.div.Tensor"(%35, %36) {tg.id = "div_1", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x1xf32>, tensor<4x1xi64>) -> tensor<4x1xf32>
    %38 = tg.node "aten.mul.Tensor"(%37, %34) {tg.id = "mul_1", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x1xf32>, tensor<4x6xi1>) -> tensor<4x6xf32>
    %39 = tg.node "aten.mul.Tensor"(%38, %10) {tg.id = "mul_2", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %40 = tg.node "aten.mul.Tensor"(%38, %10) {tg.id = "mul_3", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %41 = tg.node "aten.add.Tensor"(%40, %39) {tg.id = "add_2", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %42 = tg.node "aten.div.Tensor"(%31, %24) {tg.id = "div_2", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %43 = tg.node "aten.unsqueeze.default"(%arg6) args [#tg.operand<0>, 1] {tg.id = "unsqueeze_1", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4xi64>) -> tensor<4x1xi64>
    %44 = tg.node "aten.ne.Scalar"(%43) args [#tg.operand<0>, -100] {tg.id = "ne_3", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x1xi64>) -> tensor<4x1xi1>
    %45 = tg.node "aten.scalar_tensor.default"() args [0] kwargs {dtype = i64} {tg.id = "scalar_tensor_2", tg.module = "", tg.phase = #tg.phase<backward>} : () -> tensor<i64>
    %46 = tg.node "aten.where.self"(%44, %43, %45) {tg.id = "where_2", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x1xi1>, tensor<4x1xi64>, tensor<i64>) -> tensor<4x1xi64>
    %47 = tg.node "aten.full_like.default"(%11) args [#tg.operand<0>, 0] kwargs {pin_memory = false} {tg.id = "full_like_1", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %48 = tg.node "aten.scatter.value"(%47, %46) args [#tg.operand<0>, 1, #tg.operand<1>, -1.000000e+00] {tg.id = "scatter", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x6xf32>, tensor<4x1xi64>) -> tensor<4x6xf32>
    %49 = tg.node "aten.ne.Scalar"(%43) args [#tg.operand<0>, -100] {tg.id = "ne_4", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x1xi64>) -> tensor<4x1xi1>
    %50 = tg.node "aten.scalar_tensor.default"() args [0] kwargs {dtype = f32} {tg.id = "scalar_tensor_3", tg.module = "", tg.phase = #tg.phase<backward>} : () -> tensor<f32>
    %51 = tg.node "aten.where.self"(%49, %42, %50) {tg.id = "where_3", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x1xi1>, tensor<f32>, tensor<f32>) -> tensor<4x1xf32>
    %52 = tg.node "aten.mul.Tensor"(%48, %51) {tg.id = "mul_4", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x6xf32>, tensor<4x1xf32>) -> tensor<4x6xf32>
    %53 = tg.node "aten._log_softmax_backward_data.default"(%52, %11) args [#tg.operand<0>, #tg.operand<1>, 1, f32] {tg.id = "_log_softmax_backward_data", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %54 = tg.node "aten.add.Tensor"(%41, %53) {tg.id = "add_3", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %55 = tg.node "aten.flip.default"(%54) args [#tg.operand<0>, [1]] {tg.id = "flip", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %56 = tg.node "aten.cumsum.default"(%55) args [#tg.operand<0>, 1] {tg.id = "cumsum_1", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %57 = tg.node "aten.flip.default"(%56) args [#tg.operand<0>, [1]] {tg.id = "flip_1", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %58 = tg.node "aten.permute.default"(%57) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_2", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
    %59 = tg.node "aten.mm.default"(%58, %5) {tg.id = "mm_1", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
    %60 = tg.node "aten.permute.default"(%59) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_3", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<6x5xf32>) -> tensor<5x6xf32>
    %61 = tg.node "aten.permute.default"(%6) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_4", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<5x6xf32>) -> tensor<6x5xf32>
    %62 = tg.node "aten.mm.default"(%57, %61) {tg.id = "mm_2", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
    %63 = tg.node "aten.permute.default"(%60) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_5", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<5x6xf32>) -> tensor<6x5xf32>
    %64 = tg.node "aten.permute.default"(%4) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_6", tg.module = "f", tg.phase = #tg.phase<backward>} : (tensor<20x5xf32>) -> tensor<5x20xf32>
    %65 = tg.node "aten.mm.default"(%62, %64) {tg.id = "mm_3", tg.module = "f", tg.phase = #tg.phase<backward>} : (tensor<4x5xf32>, tensor<5x20xf32>) -> tensor<4x20xf32>
    %66 = tg.node "aten.permute.default"(%62) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_7", tg.module = "f", tg.phase = #tg.phase<backward>} : (tensor<4x5xf32>) -> tensor<5x4xf32>
    %67 = tg.node "aten.mm.default"(%66, %3) {tg.id = "mm_4", tg.module = "f", tg.phase = #tg.phase<backward>} : (tensor<5x4xf32>, tensor<4x20xf32>) -> tensor<5x20xf32>
    %68 = tg.node "aten.permute.default"(%67) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_8", tg.module = "f", tg.phase = #tg.phase<backward>} : (tensor<5x20xf32>) -> tensor<20x5xf32>
    %69 = tg.node "aten.sum.dim_IntList"(%62) args [#tg.operand<0>, [0], true] {tg.id = "sum_5", tg.module = "f", tg.phase = #tg.phase<backward>} : (tensor<4x5xf32>) -> tensor<1x5xf32>
    %70 = tg.node "aten.view.default"(%69) args [#tg.operand<0>, [5]] {tg.id = "view_3", tg.module = "f", tg.phase = #tg.phase<backward>} : (tensor<1x5xf32>) -> tensor<5xf32>
    %71 = tg.node "aten.permute.default"(%68) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_9", tg.module = "f", tg.phase = #tg.phase<backward>} : (tensor<20x5xf32>) -> tensor<5x20xf32>
    %72 = tg.node "aten.constant_pad_nd.default"(%65) args [#tg.operand<0>, [0, -4]] {tg.id = "constant_pad_nd_1", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x20xf32>) -> tensor<4x16xf32>
    %73 = tg.node "aten.view.default"(%72) args [#tg.operand<0>, [4, 4, 2, 2]] {tg.id = "view_4", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x16xf32>) -> tensor<4x4x2x2xf32>
    %74 = tg.node "aten.le.Scalar"(%1) args [#tg.operand<0>, 0] {tg.id = "le", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x4x2x2xf32>) -> tensor<4x4x2x2xi1>
    %75 = tg.node "aten.scalar_tensor.default"() args [0] kwargs {dtype = f32} {tg.id = "scalar_tensor_4", tg.module = "", tg.phase = #tg.phase<backward>} : () -> tensor<f32>
    %76 = tg.node "aten.where.self"(%74, %75, %73) {tg.id = "where_4", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<4x4x2x2xi1>, tensor<f32>, tensor<4x4x2x2xf32>) -> tensor<4x4x2x2xf32>
    %77:3 = tg.node "aten.convolution_backward.default"(%76, %arg5, %arg1) args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, [4], [2, 2], [1, 1], [1, 1], false, [0, 0], 1, [false, true, true]] {tg.id = "convolution_backward", tg.module = "c", tg.phase = #tg.phase<backward>} : (tensor<4x4x2x2xf32>, tensor<4x2x4x4xf32>, tensor<4x2x3x3xf32>) -> (!tg.opaque<"none">, tensor<4x2x3x3xf32>, tensor<4xf32>)
    return %30, %63, %77#1, %77#2, %71, %70 : tensor<f32>, tensor<6x5xf32>, tensor<4x2x3x3xf32>, tensor<4xf32>, tensor<5x20xf32>, tensor<5xf32>
  }
}
