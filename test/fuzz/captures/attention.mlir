module {
  func.func @step(%arg0: tensor<4x8xf32> {tg.aliases = ["head.weight"], tg.donated, tg.module = "embedding", tg.name = "embedding.weight", tg.registration = 0 : i64, tg.role = #tg.role<parameter>}, %arg1: tensor<24x8xf32> {tg.donated, tg.module = "layers.0.qkv", tg.name = "layers.0.qkv.weight", tg.registration = 1 : i64, tg.role = #tg.role<parameter>}, %arg2: tensor<8x8xf32> {tg.donated, tg.module = "layers.0.out", tg.name = "layers.0.out.weight", tg.registration = 2 : i64, tg.role = #tg.role<parameter>}, %arg3: tensor<8xf32> {tg.donated, tg.module = "layers.0.norm", tg.name = "layers.0.norm.weight", tg.registration = 3 : i64, tg.role = #tg.role<parameter>}, %arg4: tensor<24x8xf32> {tg.donated, tg.module = "layers.1.qkv", tg.name = "layers.1.qkv.weight", tg.registration = 4 : i64, tg.role = #tg.role<parameter>}, %arg5: tensor<8x8xf32> {tg.donated, tg.module = "layers.1.out", tg.name = "layers.1.out.weight", tg.registration = 5 : i64, tg.role = #tg.role<parameter>}, %arg6: tensor<8xf32> {tg.donated, tg.module = "layers.1.norm", tg.name = "layers.1.norm.weight", tg.registration = 6 : i64, tg.role = #tg.role<parameter>}, %arg7: tensor<4x4xi64> {tg.name = "t", tg.role = #tg.role<input>}, %arg8: tensor<4x4xi64> {tg.name = "loss.t", tg.role = #tg.role<input>}) -> (tensor<f32> {tg.role = #tg.role<loss>}, tensor<4x8xf32> {tg.role = #tg.role<gradient of 0>}, tensor<24x8xf32> {tg.role = #tg.role<gradient of 1>}, tensor<8x8xf32> {tg.role = #tg.role<gradient of 2>}, tensor<8xf32> {tg.role = #tg.role<gradient of 3>}, tensor<24x8xf32> {tg.role = #tg.role<gradient of 4>}, tensor<8x8xf32> {tg.role = #tg.role<gradient of 5>}, tensor<8xf32> {tg.role = #tg.role<gradient of 6>}) {
    %0 = tg.node "aten.embedding.default"(%arg0, %arg7) {tg.id = "embedding", tg.module = "embedding", tg.phase = #tg.phase<forward>} : (tensor<4x8xf32>, tensor<4x4xi64>) -> tensor<4x4x8xf32>
    %1 = tg.node "aten.pow.Tensor_Scalar"(%0) args [#tg.operand<0>, 2] {tg.id = "pow_1", tg.module = "layers.0.norm", tg.phase = #tg.phase<forward>} : (tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
    %2 = tg.node "aten.mean.dim"(%1) args [#tg.operand<0>, [2], true] {tg.id = "mean", tg.module = "layers.0.norm", tg.phase = #tg.phase<forward>} : (tensor<4x4x8xf32>) -> tensor<4x4x1xf32>
    %3 = tg.node "aten.add.Scalar"(%2) args [#tg.operand<0>, 1.1920928955078125E-7] {tg.id = "add", tg.module = "layers.0.norm", tg.phase = #tg.phase<forward>} : (tensor<4x4x1xf32>) -> tensor<4x4x1xf32>
    %4 = tg.node "aten.rsqrt.default"(%3) {tg.id = "rsqrt", tg.module = "layers.0.norm", tg.phase = #tg.phase<forward>} : (tensor<4x4x1xf32>) -> tensor<4x4x1xf32>
    %5 = tg.node "aten.mul.Tensor"(%0, %4) {tg.id = "mul", tg.module = "layers.0.norm", tg.phase = #tg.phase<forward>} : (tensor<4x4x8xf32>, tensor<4x4x1xf32>) -> tensor<4x4x8xf32>
    %6 = tg.node "aten.mul.Tensor"(%5, %arg3) {tg.id = "mul_1", tg.module = "layers.0.norm", tg.phase = #tg.phase<forward>} : (tensor<4x4x8xf32>, tensor<8xf32>) -> tensor<4x4x8xf32>
    %7 = tg.node "aten.permute.default"(%arg1) args [#tg.operand<0>, [1, 0]] {tg.id = "permute", tg.module = "layers.0.qkv", tg.phase = #tg.phase<forward>} : (tensor<24x8xf32>) -> tensor<8x24xf32>
    %8 = tg.node "aten.view.default"(%6) args [#tg.operand<0>, [16, 8]] {tg.id = "view", tg.module = "layers.0.qkv", tg.phase = #tg.phase<forward>} : (tensor<4x4x8xf32>) -> tensor<16x8xf32>
    %9 = tg.node "aten.mm.default"(%8, %7) {tg.id = "mm", tg.module = "layers.0.qkv", tg.phase = #tg.phase<forward>} : (tensor<16x8xf32>, tensor<8x24xf32>) -> tensor<16x24xf32>
    %10 = tg.node "aten.view.default"(%9) args [#tg.operand<0>, [4, 4, 24]] {tg.id = "view_1", tg.module = "layers.0.qkv", tg.phase = #tg.phase<forward>} : (tensor<16x24xf32>) -> tensor<4x4x24xf32>
    %11 = tg.node "aten.view.default"(%10) args [#tg.operand<0>, [4, 4, 3, 2, 4]] {tg.id = "view_2", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<4x4x24xf32>) -> tensor<4x4x3x2x4xf32>
    %12 = tg.node "aten.permute.default"(%11) args [#tg.operand<0>, [2, 0, 3, 1, 4]] {tg.id = "permute_1", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<4x4x3x2x4xf32>) -> tensor<3x4x2x4x4xf32>
    %13 = tg.node "aten.slice.Tensor"(%12) args [#tg.operand<0>, 0, 0, 1] {tg.id = "slice_1", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<3x4x2x4x4xf32>) -> tensor<1x4x2x4x4xf32>
    %14 = tg.node "aten.slice.Tensor"(%12) args [#tg.operand<0>, 0, 1, 2] {tg.id = "slice_2", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<3x4x2x4x4xf32>) -> tensor<1x4x2x4x4xf32>
    %15 = tg.node "aten.slice.Tensor"(%12) args [#tg.operand<0>, 0, 2, 3] {tg.id = "slice_3", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<3x4x2x4x4xf32>) -> tensor<1x4x2x4x4xf32>
    %16 = tg.node "aten.squeeze.dims"(%13) args [#tg.operand<0>, [0]] {tg.id = "squeeze", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<1x4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %17 = tg.node "aten.squeeze.dims"(%14) args [#tg.operand<0>, [0]] {tg.id = "squeeze_1", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<1x4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %18 = tg.node "aten.squeeze.dims"(%15) args [#tg.operand<0>, [0]] {tg.id = "squeeze_2", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<1x4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %19 = tg.node "aten.permute.default"(%17) args [#tg.operand<0>, [0, 1, 3, 2]] {tg.id = "permute_2", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %20 = tg.node "aten.expand.default"(%16) args [#tg.operand<0>, [4, 2, 4, 4]] {tg.id = "expand", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %21 = tg.node "aten.clone.default"(%20) {tg.id = "clone", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %22 = tg.node "aten.view.default"(%21) args [#tg.operand<0>, [8, 4, 4]] {tg.id = "view_3", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<4x2x4x4xf32>) -> tensor<8x4x4xf32>
    %23 = tg.node "aten.expand.default"(%19) args [#tg.operand<0>, [4, 2, 4, 4]] {tg.id = "expand_1", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %24 = tg.node "aten.clone.default"(%23) {tg.id = "clone_1", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %25 = tg.node "aten.view.default"(%24) args [#tg.operand<0>, [8, 4, 4]] {tg.id = "view_4", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<4x2x4x4xf32>) -> tensor<8x4x4xf32>
    %26 = tg.node "aten.bmm.default"(%22, %25) {tg.id = "bmm", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<8x4x4xf32>, tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
    %27 = tg.node "aten.view.default"(%26) args [#tg.operand<0>, [4, 2, 4, 4]] {tg.id = "view_5", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<8x4x4xf32>) -> tensor<4x2x4x4xf32>
    %28 = tg.node "aten.div.Tensor"(%27) args [#tg.operand<0>, 2] {tg.id = "div", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %29 = tg.node "aten._softmax.default"(%28) args [#tg.operand<0>, -1, false] {tg.id = "_softmax", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %30 = tg.node "aten.expand.default"(%29) args [#tg.operand<0>, [4, 2, 4, 4]] {tg.id = "expand_2", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %31 = tg.node "aten.view.default"(%30) args [#tg.operand<0>, [8, 4, 4]] {tg.id = "view_6", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<4x2x4x4xf32>) -> tensor<8x4x4xf32>
    %32 = tg.node "aten.expand.default"(%18) args [#tg.operand<0>, [4, 2, 4, 4]] {tg.id = "expand_3", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %33 = tg.node "aten.clone.default"(%32) {tg.id = "clone_2", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %34 = tg.node "aten.view.default"(%33) args [#tg.operand<0>, [8, 4, 4]] {tg.id = "view_7", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<4x2x4x4xf32>) -> tensor<8x4x4xf32>
    %35 = tg.node "aten.bmm.default"(%31, %34) {tg.id = "bmm_1", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<8x4x4xf32>, tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
    %36 = tg.node "aten.view.default"(%35) args [#tg.operand<0>, [4, 2, 4, 4]] {tg.id = "view_8", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<8x4x4xf32>) -> tensor<4x2x4x4xf32>
    %37 = tg.node "aten.permute.default"(%36) args [#tg.operand<0>, [0, 2, 1, 3]] {tg.id = "permute_3", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<4x2x4x4xf32>) -> tensor<4x4x2x4xf32>
    %38 = tg.node "aten.clone.default"(%37) {tg.id = "clone_3", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<4x4x2x4xf32>) -> tensor<4x4x2x4xf32>
    %39 = tg.node "aten.view.default"(%38) args [#tg.operand<0>, [4, 4, 8]] {tg.id = "view_9", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<4x4x2x4xf32>) -> tensor<4x4x8xf32>
    %40 = tg.node "aten.permute.default"(%arg2) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_4", tg.module = "layers.0.out", tg.phase = #tg.phase<forward>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %41 = tg.node "aten.view.default"(%39) args [#tg.operand<0>, [16, 8]] {tg.id = "view_10", tg.module = "layers.0.out", tg.phase = #tg.phase<forward>} : (tensor<4x4x8xf32>) -> tensor<16x8xf32>
    %42 = tg.node "aten.mm.default"(%41, %40) {tg.id = "mm_1", tg.module = "layers.0.out", tg.phase = #tg.phase<forward>} : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
    %43 = tg.node "aten.view.default"(%42) args [#tg.operand<0>, [4, 4, 8]] {tg.id = "view_11", tg.module = "layers.0.out", tg.phase = #tg.phase<forward>} : (tensor<16x8xf32>) -> tensor<4x4x8xf32>
    %44 = tg.node "aten.add.Tensor"(%0, %43) {tg.id = "add_1", tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<4x4x8xf32>, tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
    %45 = tg.node "aten.pow.Tensor_Scalar"(%44) args [#tg.operand<0>, 2] {tg.id = "pow_2", tg.module = "layers.1.norm", tg.phase = #tg.phase<forward>} : (tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
    %46 = tg.node "aten.mean.dim"(%45) args [#tg.operand<0>, [2], true] {tg.id = "mean_1", tg.module = "layers.1.norm", tg.phase = #tg.phase<forward>} : (tensor<4x4x8xf32>) -> tensor<4x4x1xf32>
    %47 = tg.node "aten.add.Scalar"(%46) args [#tg.operand<0>, 1.1920928955078125E-7] {tg.id = "add_2", tg.module = "layers.1.norm", tg.phase = #tg.phase<forward>} : (tensor<4x4x1xf32>) -> tensor<4x4x1xf32>
    %48 = tg.node "aten.rsqrt.default"(%47) {tg.id = "rsqrt_1", tg.module = "layers.1.norm", tg.phase = #tg.phase<forward>} : (tensor<4x4x1xf32>) -> tensor<4x4x1xf32>
    %49 = tg.node "aten.mul.Tensor"(%44, %48) {tg.id = "mul_2", tg.module = "layers.1.norm", tg.phase = #tg.phase<forward>} : (tensor<4x4x8xf32>, tensor<4x4x1xf32>) -> tensor<4x4x8xf32>
    %50 = tg.node "aten.mul.Tensor"(%49, %arg6) {tg.id = "mul_3", tg.module = "layers.1.norm", tg.phase = #tg.phase<forward>} : (tensor<4x4x8xf32>, tensor<8xf32>) -> tensor<4x4x8xf32>
    %51 = tg.node "aten.permute.default"(%arg4) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_5", tg.module = "layers.1.qkv", tg.phase = #tg.phase<forward>} : (tensor<24x8xf32>) -> tensor<8x24xf32>
    %52 = tg.node "aten.view.default"(%50) args [#tg.operand<0>, [16, 8]] {tg.id = "view_12", tg.module = "layers.1.qkv", tg.phase = #tg.phase<forward>} : (tensor<4x4x8xf32>) -> tensor<16x8xf32>
    %53 = tg.node "aten.mm.default"(%52, %51) {tg.id = "mm_2", tg.module = "layers.1.qkv", tg.phase = #tg.phase<forward>} : (tensor<16x8xf32>, tensor<8x24xf32>) -> tensor<16x24xf32>
    %54 = tg.node "aten.view.default"(%53) args [#tg.operand<0>, [4, 4, 24]] {tg.id = "view_13", tg.module = "layers.1.qkv", tg.phase = #tg.phase<forward>} : (tensor<16x24xf32>) -> tensor<4x4x24xf32>
    %55 = tg.node "aten.view.default"(%54) args [#tg.operand<0>, [4, 4, 3, 2, 4]] {tg.id = "view_14", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<4x4x24xf32>) -> tensor<4x4x3x2x4xf32>
    %56 = tg.node "aten.permute.default"(%55) args [#tg.operand<0>, [2, 0, 3, 1, 4]] {tg.id = "permute_6", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<4x4x3x2x4xf32>) -> tensor<3x4x2x4x4xf32>
    %57 = tg.node "aten.slice.Tensor"(%56) args [#tg.operand<0>, 0, 0, 1] {tg.id = "slice_4", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<3x4x2x4x4xf32>) -> tensor<1x4x2x4x4xf32>
    %58 = tg.node "aten.slice.Tensor"(%56) args [#tg.operand<0>, 0, 1, 2] {tg.id = "slice_5", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<3x4x2x4x4xf32>) -> tensor<1x4x2x4x4xf32>
    %59 = tg.node "aten.slice.Tensor"(%56) args [#tg.operand<0>, 0, 2, 3] {tg.id = "slice_6", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<3x4x2x4x4xf32>) -> tensor<1x4x2x4x4xf32>
    %60 = tg.node "aten.squeeze.dims"(%57) args [#tg.operand<0>, [0]] {tg.id = "squeeze_3", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<1x4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %61 = tg.node "aten.squeeze.dims"(%58) args [#tg.operand<0>, [0]] {tg.id = "squeeze_4", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<1x4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %62 = tg.node "aten.squeeze.dims"(%59) args [#tg.operand<0>, [0]] {tg.id = "squeeze_5", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<1x4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %63 = tg.node "aten.permute.default"(%61) args [#tg.operand<0>, [0, 1, 3, 2]] {tg.id = "permute_7", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %64 = tg.node "aten.expand.default"(%60) args [#tg.operand<0>, [4, 2, 4, 4]] {tg.id = "expand_4", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %65 = tg.node "aten.clone.default"(%64) {tg.id = "clone_4", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %66 = tg.node "aten.view.default"(%65) args [#tg.operand<0>, [8, 4, 4]] {tg.id = "view_15", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<4x2x4x4xf32>) -> tensor<8x4x4xf32>
    %67 = tg.node "aten.expand.default"(%63) args [#tg.operand<0>, [4, 2, 4, 4]] {tg.id = "expand_5", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %68 = tg.node "aten.clone.default"(%67) {tg.id = "clone_5", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %69 = tg.node "aten.view.default"(%68) args [#tg.operand<0>, [8, 4, 4]] {tg.id = "view_16", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<4x2x4x4xf32>) -> tensor<8x4x4xf32>
    %70 = tg.node "aten.bmm.default"(%66, %69) {tg.id = "bmm_2", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<8x4x4xf32>, tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
    %71 = tg.node "aten.view.default"(%70) args [#tg.operand<0>, [4, 2, 4, 4]] {tg.id = "view_17", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<8x4x4xf32>) -> tensor<4x2x4x4xf32>
    %72 = tg.node "aten.div.Tensor"(%71) args [#tg.operand<0>, 2] {tg.id = "div_1", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %73 = tg.node "aten._softmax.default"(%72) args [#tg.operand<0>, -1, false] {tg.id = "_softmax_1", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %74 = tg.node "aten.expand.default"(%73) args [#tg.operand<0>, [4, 2, 4, 4]] {tg.id = "expand_6", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %75 = tg.node "aten.view.default"(%74) args [#tg.operand<0>, [8, 4, 4]] {tg.id = "view_18", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<4x2x4x4xf32>) -> tensor<8x4x4xf32>
    %76 = tg.node "aten.expand.default"(%62) args [#tg.operand<0>, [4, 2, 4, 4]] {tg.id = "expand_7", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %77 = tg.node "aten.clone.default"(%76) {tg.id = "clone_6", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %78 = tg.node "aten.view.default"(%77) args [#tg.operand<0>, [8, 4, 4]] {tg.id = "view_19", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<4x2x4x4xf32>) -> tensor<8x4x4xf32>
    %79 = tg.node "aten.bmm.default"(%75, %78) {tg.id = "bmm_3", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<8x4x4xf32>, tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
    %80 = tg.node "aten.view.default"(%79) args [#tg.operand<0>, [4, 2, 4, 4]] {tg.id = "view_20", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<8x4x4xf32>) -> tensor<4x2x4x4xf32>
    %81 = tg.node "aten.permute.default"(%80) args [#tg.operand<0>, [0, 2, 1, 3]] {tg.id = "permute_8", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<4x2x4x4xf32>) -> tensor<4x4x2x4xf32>
    %82 = tg.node "aten.clone.default"(%81) {tg.id = "clone_7", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<4x4x2x4xf32>) -> tensor<4x4x2x4xf32>
    %83 = tg.node "aten.view.default"(%82) args [#tg.operand<0>, [4, 4, 8]] {tg.id = "view_21", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<4x4x2x4xf32>) -> tensor<4x4x8xf32>
    %84 = tg.node "aten.permute.default"(%arg5) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_9", tg.module = "layers.1.out", tg.phase = #tg.phase<forward>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %85 = tg.node "aten.view.default"(%83) args [#tg.operand<0>, [16, 8]] {tg.id = "view_22", tg.module = "layers.1.out", tg.phase = #tg.phase<forward>} : (tensor<4x4x8xf32>) -> tensor<16x8xf32>
    %86 = tg.node "aten.mm.default"(%85, %84) {tg.id = "mm_3", tg.module = "layers.1.out", tg.phase = #tg.phase<forward>} : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
    %87 = tg.node "aten.view.default"(%86) args [#tg.operand<0>, [4, 4, 8]] {tg.id = "view_23", tg.module = "layers.1.out", tg.phase = #tg.phase<forward>} : (tensor<16x8xf32>) -> tensor<4x4x8xf32>
    %88 = tg.node "aten.add.Tensor"(%44, %87) {tg.id = "add_3", tg.module = "layers.1", tg.phase = #tg.phase<forward>} : (tensor<4x4x8xf32>, tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
    %89 = tg.node "aten.permute.default"(%arg0) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_10", tg.module = "head", tg.phase = #tg.phase<forward>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
    %90 = tg.node "aten.view.default"(%88) args [#tg.operand<0>, [16, 8]] {tg.id = "view_24", tg.module = "head", tg.phase = #tg.phase<forward>} : (tensor<4x4x8xf32>) -> tensor<16x8xf32>
    %91 = tg.node "aten.mm.default"(%90, %89) {tg.id = "mm_4", tg.module = "head", tg.phase = #tg.phase<forward>} : (tensor<16x8xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
    %92 = tg.node "aten.view.default"(%91) args [#tg.operand<0>, [4, 4, 4]] {tg.id = "view_25", tg.module = "head", tg.phase = #tg.phase<forward>} : (tensor<16x4xf32>) -> tensor<4x4x4xf32>
    %93 = tg.node "aten.view.default"(%92) args [#tg.operand<0>, [16, 4]] {tg.id = "view_26", tg.phase = #tg.phase<forward>} : (tensor<4x4x4xf32>) -> tensor<16x4xf32>
    %94 = tg.node "aten.view.default"(%arg8) args [#tg.operand<0>, [16]] {tg.id = "view_27", tg.phase = #tg.phase<forward>} : (tensor<4x4xi64>) -> tensor<16xi64>
    %95 = tg.node "aten._log_softmax.default"(%93) args [#tg.operand<0>, 1, false] {tg.id = "_log_softmax", tg.phase = #tg.phase<forward>} : (tensor<16x4xf32>) -> tensor<16x4xf32>
    %96 = tg.node "aten.ne.Scalar"(%94) args [#tg.operand<0>, -100] {tg.id = "ne", tg.phase = #tg.phase<forward>} : (tensor<16xi64>) -> tensor<16xi1>
    %97 = tg.node "aten.scalar_tensor.default"() args [0] kwargs {dtype = i64} {tg.id = "scalar_tensor", tg.phase = #tg.phase<forward>} : () -> tensor<i64>
    %98 = tg.node "aten.where.self"(%96, %94, %97) {tg.id = "where", tg.phase = #tg.phase<forward>} : (tensor<16xi1>, tensor<16xi64>, tensor<i64>) -> tensor<16xi64>
    %99 = tg.node "aten.unsqueeze.default"(%98) args [#tg.operand<0>, 1] {tg.id = "unsqueeze", tg.phase = #tg.phase<forward>} : (tensor<16xi64>) -> tensor<16x1xi64>
    %100 = tg.node "aten.gather.default"(%95, %99) args [#tg.operand<0>, 1, #tg.operand<1>] {tg.id = "gather", tg.phase = #tg.phase<forward>} : (tensor<16x4xf32>, tensor<16x1xi64>) -> tensor<16x1xf32>
    %101 = tg.node "aten.squeeze.dims"(%100) args [#tg.operand<0>, [1]] {tg.id = "squeeze_6", tg.phase = #tg.phase<forward>} : (tensor<16x1xf32>) -> tensor<16xf32>
    %102 = tg.node "aten.neg.default"(%101) {tg.id = "neg", tg.phase = #tg.phase<forward>} : (tensor<16xf32>) -> tensor<16xf32>
    %103 = tg.node "aten.ne.Scalar"(%94) args [#tg.operand<0>, -100] {tg.id = "ne_1", tg.phase = #tg.phase<forward>} : (tensor<16xi64>) -> tensor<16xi1>
    %104 = tg.node "aten.scalar_tensor.default"() args [0] kwargs {dtype = f32} {tg.id = "scalar_tensor_1", tg.phase = #tg.phase<forward>} : () -> tensor<f32>
    %105 = tg.node "aten.where.self"(%103, %102, %104) {tg.id = "where_1", tg.phase = #tg.phase<forward>} : (tensor<16xi1>, tensor<16xf32>, tensor<f32>) -> tensor<16xf32>
    %106 = tg.node "aten.ne.Scalar"(%94) args [#tg.operand<0>, -100] {tg.id = "ne_2", tg.phase = #tg.phase<forward>} : (tensor<16xi64>) -> tensor<16xi1>
    %107 = tg.node "aten.sum.dim_IntList"(%106) args [#tg.operand<0>, []] {tg.id = "sum_1", tg.phase = #tg.phase<forward>} : (tensor<16xi1>) -> tensor<i64>
    %108 = tg.node "aten._to_copy.default"(%107) kwargs {dtype = f32} {tg.id = "_to_copy", tg.phase = #tg.phase<forward>} : (tensor<i64>) -> tensor<f32>
    %109 = tg.node "aten.sum.dim_IntList"(%105) args [#tg.operand<0>, []] {tg.id = "sum_2", tg.phase = #tg.phase<forward>} : (tensor<16xf32>) -> tensor<f32>
    %110 = tg.node "aten.div.Tensor"(%109, %108) {tg.id = "div_2", tg.phase = #tg.phase<forward>} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %111 = tg.node "aten.full_like.default"(%110) args [#tg.operand<0>, 1] kwargs {pin_memory = false} {tg.id = "full_like", tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<f32>
    %112 = tg.node "aten.div.Tensor"(%111, %108) {tg.id = "div_3", tg.phase = #tg.phase<backward>} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %113 = tg.node "aten.unsqueeze.default"(%94) args [#tg.operand<0>, 1] {tg.id = "unsqueeze_1", tg.phase = #tg.phase<backward>} : (tensor<16xi64>) -> tensor<16x1xi64>
    %114 = tg.node "aten.ne.Scalar"(%113) args [#tg.operand<0>, -100] {tg.id = "ne_3", tg.phase = #tg.phase<backward>} : (tensor<16x1xi64>) -> tensor<16x1xi1>
    %115 = tg.node "aten.scalar_tensor.default"() args [0] kwargs {dtype = i64} {tg.id = "scalar_tensor_2", tg.phase = #tg.phase<backward>} : () -> tensor<i64>
    %116 = tg.node "aten.where.self"(%114, %113, %115) {tg.id = "where_2", tg.phase = #tg.phase<backward>} : (tensor<16x1xi1>, tensor<16x1xi64>, tensor<i64>) -> tensor<16x1xi64>
    %117 = tg.node "aten.full_like.default"(%95) args [#tg.operand<0>, 0] kwargs {pin_memory = false} {tg.id = "full_like_1", tg.phase = #tg.phase<backward>} : (tensor<16x4xf32>) -> tensor<16x4xf32>
    %118 = tg.node "aten.scatter.value"(%117, %116) args [#tg.operand<0>, 1, #tg.operand<1>, -1.000000e+00] {tg.id = "scatter", tg.phase = #tg.phase<backward>} : (tensor<16x4xf32>, tensor<16x1xi64>) -> tensor<16x4xf32>
    %119 = tg.node "aten.ne.Scalar"(%113) args [#tg.operand<0>, -100] {tg.id = "ne_4", tg.phase = #tg.phase<backward>} : (tensor<16x1xi64>) -> tensor<16x1xi1>
    %120 = tg.node "aten.scalar_tensor.default"() args [0] kwargs {dtype = f32} {tg.id = "scalar_tensor_3", tg.phase = #tg.phase<backward>} : () -> tensor<f32>
    %121 = tg.node "aten.where.self"(%119, %112, %120) {tg.id = "where_3", tg.phase = #tg.phase<backward>} : (tensor<16x1xi1>, tensor<f32>, tensor<f32>) -> tensor<16x1xf32>
    %122 = tg.node "aten.mul.Tensor"(%118, %121) {tg.id = "mul_4", tg.phase = #tg.phase<backward>} : (tensor<16x4xf32>, tensor<16x1xf32>) -> tensor<16x4xf32>
    %123 = tg.node "aten._log_softmax_backward_data.default"(%122, %95) args [#tg.operand<0>, #tg.operand<1>, 1, f32] {tg.id = "_log_softmax_backward_data", tg.phase = #tg.phase<backward>} : (tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<16x4xf32>
    %124 = tg.node "aten.view.default"(%123) args [#tg.operand<0>, [4, 4, 4]] {tg.id = "view_28", tg.phase = #tg.phase<backward>} : (tensor<16x4xf32>) -> tensor<4x4x4xf32>
    %125 = tg.node "aten.view.default"(%124) args [#tg.operand<0>, [16, 4]] {tg.id = "view_29", tg.module = "head", tg.phase = #tg.phase<backward>} : (tensor<4x4x4xf32>) -> tensor<16x4xf32>
    %126 = tg.node "aten.permute.default"(%125) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_11", tg.module = "head", tg.phase = #tg.phase<backward>} : (tensor<16x4xf32>) -> tensor<4x16xf32>
    %127 = tg.node "aten.mm.default"(%126, %90) {tg.id = "mm_5", tg.module = "head", tg.phase = #tg.phase<backward>} : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
    %128 = tg.node "aten.permute.default"(%127) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_12", tg.module = "head", tg.phase = #tg.phase<backward>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
    %129 = tg.node "aten.permute.default"(%89) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_13", tg.module = "head", tg.phase = #tg.phase<backward>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
    %130 = tg.node "aten.mm.default"(%125, %129) {tg.id = "mm_6", tg.module = "head", tg.phase = #tg.phase<backward>} : (tensor<16x4xf32>, tensor<4x8xf32>) -> tensor<16x8xf32>
    %131 = tg.node "aten.view.default"(%130) args [#tg.operand<0>, [4, 4, 8]] {tg.id = "view_30", tg.module = "head", tg.phase = #tg.phase<backward>} : (tensor<16x8xf32>) -> tensor<4x4x8xf32>
    %132 = tg.node "aten.permute.default"(%128) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_14", tg.module = "head", tg.phase = #tg.phase<backward>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
    %133 = tg.node "aten.view.default"(%131) args [#tg.operand<0>, [16, 8]] {tg.id = "view_31", tg.module = "layers.1.out", tg.phase = #tg.phase<backward>} : (tensor<4x4x8xf32>) -> tensor<16x8xf32>
    %134 = tg.node "aten.permute.default"(%133) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_15", tg.module = "layers.1.out", tg.phase = #tg.phase<backward>} : (tensor<16x8xf32>) -> tensor<8x16xf32>
    %135 = tg.node "aten.mm.default"(%134, %85) {tg.id = "mm_7", tg.module = "layers.1.out", tg.phase = #tg.phase<backward>} : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
    %136 = tg.node "aten.permute.default"(%135) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_16", tg.module = "layers.1.out", tg.phase = #tg.phase<backward>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %137 = tg.node "aten.permute.default"(%84) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_17", tg.module = "layers.1.out", tg.phase = #tg.phase<backward>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %138 = tg.node "aten.mm.default"(%133, %137) {tg.id = "mm_8", tg.module = "layers.1.out", tg.phase = #tg.phase<backward>} : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
    %139 = tg.node "aten.view.default"(%138) args [#tg.operand<0>, [4, 4, 8]] {tg.id = "view_32", tg.module = "layers.1.out", tg.phase = #tg.phase<backward>} : (tensor<16x8xf32>) -> tensor<4x4x8xf32>
    %140 = tg.node "aten.permute.default"(%136) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_18", tg.module = "layers.1.out", tg.phase = #tg.phase<backward>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %141 = tg.node "aten.view.default"(%139) args [#tg.operand<0>, [4, 4, 2, 4]] {tg.id = "view_33", tg.module = "layers.1", tg.phase = #tg.phase<backward>} : (tensor<4x4x8xf32>) -> tensor<4x4x2x4xf32>
    %142 = tg.node "aten.permute.default"(%141) args [#tg.operand<0>, [0, 2, 1, 3]] {tg.id = "permute_19", tg.module = "layers.1", tg.phase = #tg.phase<backward>} : (tensor<4x4x2x4xf32>) -> tensor<4x2x4x4xf32>
    %143 = tg.node "aten.clone.default"(%142) {tg.id = "clone_8", tg.module = "layers.1", tg.phase = #tg.phase<backward>} : (tensor<4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %144 = tg.node "aten.view.default"(%143) args [#tg.operand<0>, [8, 4, 4]] {tg.id = "view_34", tg.module = "layers.1", tg.phase = #tg.phase<backward>} : (tensor<4x2x4x4xf32>) -> tensor<8x4x4xf32>
    %145 = tg.node "aten.permute.default"(%75) args [#tg.operand<0>, [0, 2, 1]] {tg.id = "permute_20", tg.module = "layers.1", tg.phase = #tg.phase<backward>} : (tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
    %146 = tg.node "aten.bmm.default"(%145, %144) {tg.id = "bmm_4", tg.module = "layers.1", tg.phase = #tg.phase<backward>} : (tensor<8x4x4xf32>, tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
    %147 = tg.node "aten.permute.default"(%78) args [#tg.operand<0>, [0, 2, 1]] {tg.id = "permute_21", tg.module = "layers.1", tg.phase = #tg.phase<backward>} : (tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
    %148 = tg.node "aten.bmm.default"(%144, %147) {tg.id = "bmm_5", tg.module = "layers.1", tg.phase = #tg.phase<backward>} : (tensor<8x4x4xf32>, tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
    %149 = tg.node "aten.view.default"(%146) args [#tg.operand<0>, [4, 2, 4, 4]] {tg.id = "view_35", tg.module = "layers.1", tg.phase = #tg.phase<backward>} : (tensor<8x4x4xf32>) -> tensor<4x2x4x4xf32>
    %150 = tg.node "aten.view.default"(%148) args [#tg.operand<0>, [4, 2, 4, 4]] {tg.id = "view_36", tg.module = "layers.1", tg.phase = #tg.phase<backward>} : (tensor<8x4x4xf32>) -> tensor<4x2x4x4xf32>
    %151 = tg.node "aten._softmax_backward_data.default"(%150, %73) args [#tg.operand<0>, #tg.operand<1>, -1, f32] {tg.id = "_softmax_backward_data", tg.module = "layers.1", tg.phase = #tg.phase<backward>} : (tensor<4x2x4x4xf32>, tensor<4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %152 = tg.node "aten.div.Tensor"(%151) args [#tg.operand<0>, 2] {tg.id = "div_4", tg.module = "layers.1", tg.phase = #tg.phase<backward>} : (tensor<4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %153 = tg.node "aten.view.default"(%152) args [#tg.operand<0>, [8, 4, 4]] {tg.id = "view_37", tg.module = "layers.1", tg.phase = #tg.phase<backward>} : (tensor<4x2x4x4xf32>) -> tensor<8x4x4xf32>
    %154 = tg.node "aten.permute.default"(%66) args [#tg.operand<0>, [0, 2, 1]] {tg.id = "permute_22", tg.module = "layers.1", tg.phase = #tg.phase<backward>} : (tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
    %155 = tg.node "aten.bmm.default"(%154, %153) {tg.id = "bmm_6", tg.module = "layers.1", tg.phase = #tg.phase<backward>} : (tensor<8x4x4xf32>, tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
    %156 = tg.node "aten.permute.default"(%69) args [#tg.operand<0>, [0, 2, 1]] {tg.id = "permute_23", tg.module = "layers.1", tg.phase = #tg.phase<backward>} : (tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
    %157 = tg.node "aten.bmm.default"(%153, %156) {tg.id = "bmm_7", tg.module = "layers.1", tg.phase = #tg.phase<backward>} : (tensor<8x4x4xf32>, tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
    %158 = tg.node "aten.view.default"(%155) args [#tg.operand<0>, [4, 2, 4, 4]] {tg.id = "view_38", tg.module = "layers.1", tg.phase = #tg.phase<backward>} : (tensor<8x4x4xf32>) -> tensor<4x2x4x4xf32>
    %159 = tg.node "aten.view.default"(%157) args [#tg.operand<0>, [4, 2, 4, 4]] {tg.id = "view_39", tg.module = "layers.1", tg.phase = #tg.phase<backward>} : (tensor<8x4x4xf32>) -> tensor<4x2x4x4xf32>
    %160 = tg.node "aten.permute.default"(%158) args [#tg.operand<0>, [0, 1, 3, 2]] {tg.id = "permute_24", tg.module = "layers.1", tg.phase = #tg.phase<backward>} : (tensor<4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %161 = tg.node "aten.cat.default"(%159, %160, %149) args [[#tg.operand<0>, #tg.operand<1>, #tg.operand<2>]] {tg.id = "cat", tg.module = "layers.1", tg.phase = #tg.phase<backward>} : (tensor<4x2x4x4xf32>, tensor<4x2x4x4xf32>, tensor<4x2x4x4xf32>) -> tensor<12x2x4x4xf32>
    %162 = tg.node "aten.view.default"(%161) args [#tg.operand<0>, [3, 4, 2, 4, 4]] {tg.id = "view_40", tg.module = "layers.1", tg.phase = #tg.phase<backward>} : (tensor<12x2x4x4xf32>) -> tensor<3x4x2x4x4xf32>
    %163 = tg.node "aten.permute.default"(%162) args [#tg.operand<0>, [1, 3, 0, 2, 4]] {tg.id = "permute_25", tg.module = "layers.1", tg.phase = #tg.phase<backward>} : (tensor<3x4x2x4x4xf32>) -> tensor<4x4x3x2x4xf32>
    %164 = tg.node "aten.clone.default"(%163) {tg.id = "clone_9", tg.module = "layers.1", tg.phase = #tg.phase<backward>} : (tensor<4x4x3x2x4xf32>) -> tensor<4x4x3x2x4xf32>
    %165 = tg.node "aten.view.default"(%164) args [#tg.operand<0>, [4, 4, 24]] {tg.id = "view_41", tg.module = "layers.1", tg.phase = #tg.phase<backward>} : (tensor<4x4x3x2x4xf32>) -> tensor<4x4x24xf32>
    %166 = tg.node "aten.view.default"(%165) args [#tg.operand<0>, [16, 24]] {tg.id = "view_42", tg.module = "layers.1.qkv", tg.phase = #tg.phase<backward>} : (tensor<4x4x24xf32>) -> tensor<16x24xf32>
    %167 = tg.node "aten.permute.default"(%166) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_26", tg.module = "layers.1.qkv", tg.phase = #tg.phase<backward>} : (tensor<16x24xf32>) -> tensor<24x16xf32>
    %168 = tg.node "aten.mm.default"(%167, %52) {tg.id = "mm_9", tg.module = "layers.1.qkv", tg.phase = #tg.phase<backward>} : (tensor<24x16xf32>, tensor<16x8xf32>) -> tensor<24x8xf32>
    %169 = tg.node "aten.permute.default"(%168) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_27", tg.module = "layers.1.qkv", tg.phase = #tg.phase<backward>} : (tensor<24x8xf32>) -> tensor<8x24xf32>
    %170 = tg.node "aten.permute.default"(%51) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_28", tg.module = "layers.1.qkv", tg.phase = #tg.phase<backward>} : (tensor<8x24xf32>) -> tensor<24x8xf32>
    %171 = tg.node "aten.mm.default"(%166, %170) {tg.id = "mm_10", tg.module = "layers.1.qkv", tg.phase = #tg.phase<backward>} : (tensor<16x24xf32>, tensor<24x8xf32>) -> tensor<16x8xf32>
    %172 = tg.node "aten.view.default"(%171) args [#tg.operand<0>, [4, 4, 8]] {tg.id = "view_43", tg.module = "layers.1.qkv", tg.phase = #tg.phase<backward>} : (tensor<16x8xf32>) -> tensor<4x4x8xf32>
    %173 = tg.node "aten.permute.default"(%169) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_29", tg.module = "layers.1.qkv", tg.phase = #tg.phase<backward>} : (tensor<8x24xf32>) -> tensor<24x8xf32>
    %174 = tg.node "aten.mul.Tensor"(%172, %49) {tg.id = "mul_5", tg.module = "layers.1.norm", tg.phase = #tg.phase<backward>} : (tensor<4x4x8xf32>, tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
    %175 = tg.node "aten.mul.Tensor"(%172, %arg6) {tg.id = "mul_6", tg.module = "layers.1.norm", tg.phase = #tg.phase<backward>} : (tensor<4x4x8xf32>, tensor<8xf32>) -> tensor<4x4x8xf32>
    %176 = tg.node "aten.sum.dim_IntList"(%174) args [#tg.operand<0>, [0, 1], true] {tg.id = "sum_3", tg.module = "layers.1.norm", tg.phase = #tg.phase<backward>} : (tensor<4x4x8xf32>) -> tensor<1x1x8xf32>
    %177 = tg.node "aten.view.default"(%176) args [#tg.operand<0>, [8]] {tg.id = "view_44", tg.module = "layers.1.norm", tg.phase = #tg.phase<backward>} : (tensor<1x1x8xf32>) -> tensor<8xf32>
    %178 = tg.node "aten.mul.Tensor"(%175, %44) {tg.id = "mul_7", tg.module = "layers.1.norm", tg.phase = #tg.phase<backward>} : (tensor<4x4x8xf32>, tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
    %179 = tg.node "aten.mul.Tensor"(%175, %48) {tg.id = "mul_8", tg.module = "layers.1.norm", tg.phase = #tg.phase<backward>} : (tensor<4x4x8xf32>, tensor<4x4x1xf32>) -> tensor<4x4x8xf32>
    %180 = tg.node "aten.sum.dim_IntList"(%178) args [#tg.operand<0>, [2], true] {tg.id = "sum_4", tg.module = "layers.1.norm", tg.phase = #tg.phase<backward>} : (tensor<4x4x8xf32>) -> tensor<4x4x1xf32>
    %181 = tg.node "aten.add.Tensor"(%131, %179) {tg.id = "add_4", tg.module = "layers.1.norm", tg.phase = #tg.phase<backward>} : (tensor<4x4x8xf32>, tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
    %182 = tg.node "aten.pow.Tensor_Scalar"(%48) args [#tg.operand<0>, 3] {tg.id = "pow_3", tg.module = "layers.1.norm", tg.phase = #tg.phase<backward>} : (tensor<4x4x1xf32>) -> tensor<4x4x1xf32>
    %183 = tg.node "aten.mul.Scalar"(%180) args [#tg.operand<0>, -5.000000e-01] {tg.id = "mul_9", tg.module = "layers.1.norm", tg.phase = #tg.phase<backward>} : (tensor<4x4x1xf32>) -> tensor<4x4x1xf32>
    %184 = tg.node "aten.mul.Tensor"(%183, %182) {tg.id = "mul_10", tg.module = "layers.1.norm", tg.phase = #tg.phase<backward>} : (tensor<4x4x1xf32>, tensor<4x4x1xf32>) -> tensor<4x4x1xf32>
    %185 = tg.node "aten.expand.default"(%184) args [#tg.operand<0>, [4, 4, 8]] {tg.id = "expand_8", tg.module = "layers.1.norm", tg.phase = #tg.phase<backward>} : (tensor<4x4x1xf32>) -> tensor<4x4x8xf32>
    %186 = tg.node "aten.div.Scalar"(%185) args [#tg.operand<0>, 8] {tg.id = "div_5", tg.module = "layers.1.norm", tg.phase = #tg.phase<backward>} : (tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
    %187 = tg.node "aten.pow.Tensor_Scalar"(%44) args [#tg.operand<0>, 1.000000e+00] {tg.id = "pow_4", tg.module = "layers.1.norm", tg.phase = #tg.phase<backward>} : (tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
    %188 = tg.node "aten.mul.Scalar"(%187) args [#tg.operand<0>, 2.000000e+00] {tg.id = "mul_11", tg.module = "layers.1.norm", tg.phase = #tg.phase<backward>} : (tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
    %189 = tg.node "aten.mul.Tensor"(%186, %188) {tg.id = "mul_12", tg.module = "layers.1.norm", tg.phase = #tg.phase<backward>} : (tensor<4x4x8xf32>, tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
    %190 = tg.node "aten.add.Tensor"(%181, %189) {tg.id = "add_5", tg.module = "layers.1.norm", tg.phase = #tg.phase<backward>} : (tensor<4x4x8xf32>, tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
    %191 = tg.node "aten.view.default"(%190) args [#tg.operand<0>, [16, 8]] {tg.id = "view_45", tg.module = "layers.0.out", tg.phase = #tg.phase<backward>} : (tensor<4x4x8xf32>) -> tensor<16x8xf32>
    %192 = tg.node "aten.permute.default"(%191) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_30", tg.module = "layers.0.out", tg.phase = #tg.phase<backward>} : (tensor<16x8xf32>) -> tensor<8x16xf32>
    %193 = tg.node "aten.mm.default"(%192, %41) {tg.id = "mm_11", tg.module = "layers.0.out", tg.phase = #tg.phase<backward>} : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
    %194 = tg.node "aten.permute.default"(%193) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_31", tg.module = "layers.0.out", tg.phase = #tg.phase<backward>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %195 = tg.node "aten.permute.default"(%40) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_32", tg.module = "layers.0.out", tg.phase = #tg.phase<backward>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %196 = tg.node "aten.mm.default"(%191, %195) {tg.id = "mm_12", tg.module = "layers.0.out", tg.phase = #tg.phase<backward>} : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
    %197 = tg.node "aten.view.default"(%196) args [#tg.operand<0>, [4, 4, 8]] {tg.id = "view_46", tg.module = "layers.0.out", tg.phase = #tg.phase<backward>} : (tensor<16x8xf32>) -> tensor<4x4x8xf32>
    %198 = tg.node "aten.permute.default"(%194) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_33", tg.module = "layers.0.out", tg.phase = #tg.phase<backward>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %199 = tg.node "aten.view.default"(%197) args [#tg.operand<0>, [4, 4, 2, 4]] {tg.id = "view_47", tg.module = "layers.0", tg.phase = #tg.phase<backward>} : (tensor<4x4x8xf32>) -> tensor<4x4x2x4xf32>
    %200 = tg.node "aten.permute.default"(%199) args [#tg.operand<0>, [0, 2, 1, 3]] {tg.id = "permute_34", tg.module = "layers.0", tg.phase = #tg.phase<backward>} : (tensor<4x4x2x4xf32>) -> tensor<4x2x4x4xf32>
    %201 = tg.node "aten.clone.default"(%200) {tg.id = "clone_10", tg.module = "layers.0", tg.phase = #tg.phase<backward>} : (tensor<4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %202 = tg.node "aten.view.default"(%201) args [#tg.operand<0>, [8, 4, 4]] {tg.id = "view_48", tg.module = "layers.0", tg.phase = #tg.phase<backward>} : (tensor<4x2x4x4xf32>) -> tensor<8x4x4xf32>
    %203 = tg.node "aten.permute.default"(%31) args [#tg.operand<0>, [0, 2, 1]] {tg.id = "permute_35", tg.module = "layers.0", tg.phase = #tg.phase<backward>} : (tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
    %204 = tg.node "aten.bmm.default"(%203, %202) {tg.id = "bmm_8", tg.module = "layers.0", tg.phase = #tg.phase<backward>} : (tensor<8x4x4xf32>, tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
    %205 = tg.node "aten.permute.default"(%34) args [#tg.operand<0>, [0, 2, 1]] {tg.id = "permute_36", tg.module = "layers.0", tg.phase = #tg.phase<backward>} : (tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
    %206 = tg.node "aten.bmm.default"(%202, %205) {tg.id = "bmm_9", tg.module = "layers.0", tg.phase = #tg.phase<backward>} : (tensor<8x4x4xf32>, tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
    %207 = tg.node "aten.view.default"(%204) args [#tg.operand<0>, [4, 2, 4, 4]] {tg.id = "view_49", tg.module = "layers.0", tg.phase = #tg.phase<backward>} : (tensor<8x4x4xf32>) -> tensor<4x2x4x4xf32>
    %208 = tg.node "aten.view.default"(%206) args [#tg.operand<0>, [4, 2, 4, 4]] {tg.id = "view_50", tg.module = "layers.0", tg.phase = #tg.phase<backward>} : (tensor<8x4x4xf32>) -> tensor<4x2x4x4xf32>
    %209 = tg.node "aten._softmax_backward_data.default"(%208, %29) args [#tg.operand<0>, #tg.operand<1>, -1, f32] {tg.id = "_softmax_backward_data_1", tg.module = "layers.0", tg.phase = #tg.phase<backward>} : (tensor<4x2x4x4xf32>, tensor<4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %210 = tg.node "aten.div.Tensor"(%209) args [#tg.operand<0>, 2] {tg.id = "div_6", tg.module = "layers.0", tg.phase = #tg.phase<backward>} : (tensor<4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %211 = tg.node "aten.view.default"(%210) args [#tg.operand<0>, [8, 4, 4]] {tg.id = "view_51", tg.module = "layers.0", tg.phase = #tg.phase<backward>} : (tensor<4x2x4x4xf32>) -> tensor<8x4x4xf32>
    %212 = tg.node "aten.permute.default"(%22) args [#tg.operand<0>, [0, 2, 1]] {tg.id = "permute_37", tg.module = "layers.0", tg.phase = #tg.phase<backward>} : (tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
    %213 = tg.node "aten.bmm.default"(%212, %211) {tg.id = "bmm_10", tg.module = "layers.0", tg.phase = #tg.phase<backward>} : (tensor<8x4x4xf32>, tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
    %214 = tg.node "aten.permute.default"(%25) args [#tg.operand<0>, [0, 2, 1]] {tg.id = "permute_38", tg.module = "layers.0", tg.phase = #tg.phase<backward>} : (tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
    %215 = tg.node "aten.bmm.default"(%211, %214) {tg.id = "bmm_11", tg.module = "layers.0", tg.phase = #tg.phase<backward>} : (tensor<8x4x4xf32>, tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
    %216 = tg.node "aten.view.default"(%213) args [#tg.operand<0>, [4, 2, 4, 4]] {tg.id = "view_52", tg.module = "layers.0", tg.phase = #tg.phase<backward>} : (tensor<8x4x4xf32>) -> tensor<4x2x4x4xf32>
    %217 = tg.node "aten.view.default"(%215) args [#tg.operand<0>, [4, 2, 4, 4]] {tg.id = "view_53", tg.module = "layers.0", tg.phase = #tg.phase<backward>} : (tensor<8x4x4xf32>) -> tensor<4x2x4x4xf32>
    %218 = tg.node "aten.permute.default"(%216) args [#tg.operand<0>, [0, 1, 3, 2]] {tg.id = "permute_39", tg.module = "layers.0", tg.phase = #tg.phase<backward>} : (tensor<4x2x4x4xf32>) -> tensor<4x2x4x4xf32>
    %219 = tg.node "aten.cat.default"(%217, %218, %207) args [[#tg.operand<0>, #tg.operand<1>, #tg.operand<2>]] {tg.id = "cat_1", tg.module = "layers.0", tg.phase = #tg.phase<backward>} : (tensor<4x2x4x4xf32>, tensor<4x2x4x4xf32>, tensor<4x2x4x4xf32>) -> tensor<12x2x4x4xf32>
    %220 = tg.node "aten.view.default"(%219) args [#tg.operand<0>, [3, 4, 2, 4, 4]] {tg.id = "view_54", tg.module = "layers.0", tg.phase = #tg.phase<backward>} : (tensor<12x2x4x4xf32>) -> tensor<3x4x2x4x4xf32>
    %221 = tg.node "aten.permute.default"(%220) args [#tg.operand<0>, [1, 3, 0, 2, 4]] {tg.id = "permute_40", tg.module = "layers.0", tg.phase = #tg.phase<backward>} : (tensor<3x4x2x4x4xf32>) -> tensor<4x4x3x2x4xf32>
    %222 = tg.node "aten.clone.default"(%221) {tg.id = "clone_11", tg.module = "layers.0", tg.phase = #tg.phase<backward>} : (tensor<4x4x3x2x4xf32>) -> tensor<4x4x3x2x4xf32>
    %223 = tg.node "aten.view.default"(%222) args [#tg.operand<0>, [4, 4, 24]] {tg.id = "view_55", tg.module = "layers.0", tg.phase = #tg.phase<backward>} : (tensor<4x4x3x2x4xf32>) -> tensor<4x4x24xf32>
    %224 = tg.node "aten.view.default"(%223) args [#tg.operand<0>, [16, 24]] {tg.id = "view_56", tg.module = "layers.0.qkv", tg.phase = #tg.phase<backward>} : (tensor<4x4x24xf32>) -> tensor<16x24xf32>
    %225 = tg.node "aten.permute.default"(%224) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_41", tg.module = "layers.0.qkv", tg.phase = #tg.phase<backward>} : (tensor<16x24xf32>) -> tensor<24x16xf32>
    %226 = tg.node "aten.mm.default"(%225, %8) {tg.id = "mm_13", tg.module = "layers.0.qkv", tg.phase = #tg.phase<backward>} : (tensor<24x16xf32>, tensor<16x8xf32>) -> tensor<24x8xf32>
    %227 = tg.node "aten.permute.default"(%226) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_42", tg.module = "layers.0.qkv", tg.phase = #tg.phase<backward>} : (tensor<24x8xf32>) -> tensor<8x24xf32>
    %228 = tg.node "aten.permute.default"(%7) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_43", tg.module = "layers.0.qkv", tg.phase = #tg.phase<backward>} : (tensor<8x24xf32>) -> tensor<24x8xf32>
    %229 = tg.node "aten.mm.default"(%224, %228) {tg.id = "mm_14", tg.module = "layers.0.qkv", tg.phase = #tg.phase<backward>} : (tensor<16x24xf32>, tensor<24x8xf32>) -> tensor<16x8xf32>
    %230 = tg.node "aten.view.default"(%229) args [#tg.operand<0>, [4, 4, 8]] {tg.id = "view_57", tg.module = "layers.0.qkv", tg.phase = #tg.phase<backward>} : (tensor<16x8xf32>) -> tensor<4x4x8xf32>
    %231 = tg.node "aten.permute.default"(%227) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_44", tg.module = "layers.0.qkv", tg.phase = #tg.phase<backward>} : (tensor<8x24xf32>) -> tensor<24x8xf32>
    %232 = tg.node "aten.mul.Tensor"(%230, %5) {tg.id = "mul_13", tg.module = "layers.0.norm", tg.phase = #tg.phase<backward>} : (tensor<4x4x8xf32>, tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
    %233 = tg.node "aten.mul.Tensor"(%230, %arg3) {tg.id = "mul_14", tg.module = "layers.0.norm", tg.phase = #tg.phase<backward>} : (tensor<4x4x8xf32>, tensor<8xf32>) -> tensor<4x4x8xf32>
    %234 = tg.node "aten.sum.dim_IntList"(%232) args [#tg.operand<0>, [0, 1], true] {tg.id = "sum_5", tg.module = "layers.0.norm", tg.phase = #tg.phase<backward>} : (tensor<4x4x8xf32>) -> tensor<1x1x8xf32>
    %235 = tg.node "aten.view.default"(%234) args [#tg.operand<0>, [8]] {tg.id = "view_58", tg.module = "layers.0.norm", tg.phase = #tg.phase<backward>} : (tensor<1x1x8xf32>) -> tensor<8xf32>
    %236 = tg.node "aten.mul.Tensor"(%233, %0) {tg.id = "mul_15", tg.module = "layers.0.norm", tg.phase = #tg.phase<backward>} : (tensor<4x4x8xf32>, tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
    %237 = tg.node "aten.mul.Tensor"(%233, %4) {tg.id = "mul_16", tg.module = "layers.0.norm", tg.phase = #tg.phase<backward>} : (tensor<4x4x8xf32>, tensor<4x4x1xf32>) -> tensor<4x4x8xf32>
    %238 = tg.node "aten.sum.dim_IntList"(%236) args [#tg.operand<0>, [2], true] {tg.id = "sum_6", tg.module = "layers.0.norm", tg.phase = #tg.phase<backward>} : (tensor<4x4x8xf32>) -> tensor<4x4x1xf32>
    %239 = tg.node "aten.add.Tensor"(%190, %237) {tg.id = "add_6", tg.module = "layers.0.norm", tg.phase = #tg.phase<backward>} : (tensor<4x4x8xf32>, tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
    %240 = tg.node "aten.pow.Tensor_Scalar"(%4) args [#tg.operand<0>, 3] {tg.id = "pow_5", tg.module = "layers.0.norm", tg.phase = #tg.phase<backward>} : (tensor<4x4x1xf32>) -> tensor<4x4x1xf32>
    %241 = tg.node "aten.mul.Scalar"(%238) args [#tg.operand<0>, -5.000000e-01] {tg.id = "mul_17", tg.module = "layers.0.norm", tg.phase = #tg.phase<backward>} : (tensor<4x4x1xf32>) -> tensor<4x4x1xf32>
    %242 = tg.node "aten.mul.Tensor"(%241, %240) {tg.id = "mul_18", tg.module = "layers.0.norm", tg.phase = #tg.phase<backward>} : (tensor<4x4x1xf32>, tensor<4x4x1xf32>) -> tensor<4x4x1xf32>
    %243 = tg.node "aten.expand.default"(%242) args [#tg.operand<0>, [4, 4, 8]] {tg.id = "expand_9", tg.module = "layers.0.norm", tg.phase = #tg.phase<backward>} : (tensor<4x4x1xf32>) -> tensor<4x4x8xf32>
    %244 = tg.node "aten.div.Scalar"(%243) args [#tg.operand<0>, 8] {tg.id = "div_7", tg.module = "layers.0.norm", tg.phase = #tg.phase<backward>} : (tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
    %245 = tg.node "aten.pow.Tensor_Scalar"(%0) args [#tg.operand<0>, 1.000000e+00] {tg.id = "pow_6", tg.module = "layers.0.norm", tg.phase = #tg.phase<backward>} : (tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
    %246 = tg.node "aten.mul.Scalar"(%245) args [#tg.operand<0>, 2.000000e+00] {tg.id = "mul_19", tg.module = "layers.0.norm", tg.phase = #tg.phase<backward>} : (tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
    %247 = tg.node "aten.mul.Tensor"(%244, %246) {tg.id = "mul_20", tg.module = "layers.0.norm", tg.phase = #tg.phase<backward>} : (tensor<4x4x8xf32>, tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
    %248 = tg.node "aten.add.Tensor"(%239, %247) {tg.id = "add_7", tg.module = "layers.0.norm", tg.phase = #tg.phase<backward>} : (tensor<4x4x8xf32>, tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
    %249 = tg.node "aten.embedding_dense_backward.default"(%248, %arg7) args [#tg.operand<0>, #tg.operand<1>, 4, -1, false] {tg.id = "embedding_dense_backward", tg.module = "embedding", tg.phase = #tg.phase<backward>} : (tensor<4x4x8xf32>, tensor<4x4xi64>) -> tensor<4x8xf32>
    %250 = tg.node "aten.add.Tensor"(%132, %249) {tg.id = "add_8", tg.module = "embedding", tg.phase = #tg.phase<backward>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    return %110, %250, %231, %198, %235, %173, %140, %177 : tensor<f32>, tensor<4x8xf32>, tensor<24x8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<24x8xf32>, tensor<8x8xf32>, tensor<8xf32>
  }
}
