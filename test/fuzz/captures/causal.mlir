module {
  func.func @step(%arg0: tensor<11x8xf32> {tg.donated, tg.module = "e", tg.name = "e.weight", tg.registration = 0 : i64, tg.role = #tg.role<parameter>}, %arg1: tensor<8x8xf32> {tg.donated, tg.module = "q", tg.name = "q.weight", tg.registration = 1 : i64, tg.role = #tg.role<parameter>}, %arg2: tensor<8x8xf32> {tg.donated, tg.module = "kv", tg.name = "kv.weight", tg.registration = 2 : i64, tg.role = #tg.role<parameter>}, %arg3: tensor<8x8xf32> {tg.donated, tg.module = "o", tg.name = "o.weight", tg.registration = 3 : i64, tg.role = #tg.role<parameter>}, %arg4: tensor<8xf32> {tg.donated, tg.module = "o", tg.name = "o.bias", tg.registration = 4 : i64, tg.role = #tg.role<parameter>}, %arg5: tensor<11x8xf32> {tg.donated, tg.module = "head", tg.name = "head.weight", tg.registration = 5 : i64, tg.role = #tg.role<parameter>}, %arg6: tensor<11xf32> {tg.donated, tg.module = "head", tg.name = "head.bias", tg.registration = 6 : i64, tg.role = #tg.role<parameter>}, %arg7: tensor<1x140xi64> {tg.name = "tokens", tg.role = #tg.role<input>}, %arg8: tensor<1x140xi64> {tg.name = "t", tg.role = #tg.role<input>}) -> (tensor<f32> {tg.role = #tg.role<loss>}, tensor<11x8xf32> {tg.role = #tg.role<gradient of 0>}, tensor<8x8xf32> {tg.role = #tg.role<gradient of 1>}, tensor<8x8xf32> {tg.role = #tg.role<gradient of 2>}, tensor<8x8xf32> {tg.role = #tg.role<gradient of 3>}, tensor<8xf32> {tg.role = #tg.role<gradient of 4>}, tensor<11x8xf32> {tg.role = #tg.role<gradient of 5>}, tensor<11xf32> {tg.role = #tg.role<gradient of 6>}) {
    %0 = tg.node "aten.embedding.default"(%arg0, %arg7) {tg.id = "embedding", tg.module = "e", tg.phase = #tg.phase<forward>} : (tensor<11x8xf32>, tensor<1x140xi64>) -> tensor<1x140x8xf32>
    %1 = tg.node "aten.permute.default"(%arg1) args [#tg.operand<0>, [1, 0]] {tg.id = "permute", tg.module = "q", tg.phase = #tg.phase<forward>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %2 = tg.node "aten.view.default"(%0) args [#tg.operand<0>, [140, 8]] {tg.id = "view", tg.module = "q", tg.phase = #tg.phase<forward>} : (tensor<1x140x8xf32>) -> tensor<140x8xf32>
    %3 = tg.node "aten.mm.default"(%2, %1) {tg.id = "mm", tg.module = "q", tg.phase = #tg.phase<forward>} : (tensor<140x8xf32>, tensor<8x8xf32>) -> tensor<140x8xf32>
    %4 = tg.node "aten.view.default"(%3) args [#tg.operand<0>, [1, 140, 8]] {tg.id = "view_1", tg.module = "q", tg.phase = #tg.phase<forward>} : (tensor<140x8xf32>) -> tensor<1x140x8xf32>
    %5 = tg.node "aten.view.default"(%4) args [#tg.operand<0>, [1, 140, 4, 2]] {tg.id = "view_2", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<1x140x8xf32>) -> tensor<1x140x4x2xf32>
    %6 = tg.node "aten.permute.default"(%5) args [#tg.operand<0>, [0, 2, 1, 3]] {tg.id = "permute_1", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<1x140x4x2xf32>) -> tensor<1x4x140x2xf32>
    %7 = tg.node "aten.permute.default"(%arg2) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_2", tg.module = "kv", tg.phase = #tg.phase<forward>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %8 = tg.node "aten.view.default"(%0) args [#tg.operand<0>, [140, 8]] {tg.id = "view_3", tg.module = "kv", tg.phase = #tg.phase<forward>} : (tensor<1x140x8xf32>) -> tensor<140x8xf32>
    %9 = tg.node "aten.mm.default"(%8, %7) {tg.id = "mm_1", tg.module = "kv", tg.phase = #tg.phase<forward>} : (tensor<140x8xf32>, tensor<8x8xf32>) -> tensor<140x8xf32>
    %10 = tg.node "aten.view.default"(%9) args [#tg.operand<0>, [1, 140, 8]] {tg.id = "view_4", tg.module = "kv", tg.phase = #tg.phase<forward>} : (tensor<140x8xf32>) -> tensor<1x140x8xf32>
    %11 = tg.node "aten.view.default"(%10) args [#tg.operand<0>, [1, 140, 2, 2, 2]] {tg.id = "view_5", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<1x140x8xf32>) -> tensor<1x140x2x2x2xf32>
    %12 = tg.node "aten.slice.Tensor"(%11) args [#tg.operand<0>, 2, 0, 1] {tg.id = "slice_1", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<1x140x2x2x2xf32>) -> tensor<1x140x1x2x2xf32>
    %13 = tg.node "aten.slice.Tensor"(%11) args [#tg.operand<0>, 2, 1, 2] {tg.id = "slice_2", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<1x140x2x2x2xf32>) -> tensor<1x140x1x2x2xf32>
    %14 = tg.node "aten.squeeze.dims"(%12) args [#tg.operand<0>, [2]] {tg.id = "squeeze", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<1x140x1x2x2xf32>) -> tensor<1x140x2x2xf32>
    %15 = tg.node "aten.squeeze.dims"(%13) args [#tg.operand<0>, [2]] {tg.id = "squeeze_1", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<1x140x1x2x2xf32>) -> tensor<1x140x2x2xf32>
    %16 = tg.node "aten.permute.default"(%14) args [#tg.operand<0>, [0, 2, 1, 3]] {tg.id = "permute_3", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<1x140x2x2xf32>) -> tensor<1x2x140x2xf32>
    %17 = tg.node "aten.permute.default"(%15) args [#tg.operand<0>, [0, 2, 1, 3]] {tg.id = "permute_4", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<1x140x2x2xf32>) -> tensor<1x2x140x2xf32>
    %18:2 = tg.node "aten._scaled_dot_product_flash_attention_for_cpu.default"(%6, %16, %17) args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, 0.000000e+00, true] {tg.id = "_scaled_dot_product_flash_attention_for_cpu", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<1x4x140x2xf32>, tensor<1x2x140x2xf32>, tensor<1x2x140x2xf32>) -> (tensor<1x4x140x2xf32>, tensor<1x4x140xf32>)
    %19 = tg.node "aten.permute.default"(%18#0) args [#tg.operand<0>, [0, 2, 1, 3]] {tg.id = "permute_5", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<1x4x140x2xf32>) -> tensor<1x140x4x2xf32>
    %20 = tg.node "aten.view.default"(%19) args [#tg.operand<0>, [1, 140, 8]] {tg.id = "view_6", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<1x140x4x2xf32>) -> tensor<1x140x8xf32>
    %21 = tg.node "aten.view.default"(%20) args [#tg.operand<0>, [140, 8]] {tg.id = "view_7", tg.module = "o", tg.phase = #tg.phase<forward>} : (tensor<1x140x8xf32>) -> tensor<140x8xf32>
    %22 = tg.node "aten.permute.default"(%arg3) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_6", tg.module = "o", tg.phase = #tg.phase<forward>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %23 = tg.node "aten.addmm.default"(%arg4, %21, %22) {tg.id = "addmm", tg.module = "o", tg.phase = #tg.phase<forward>} : (tensor<8xf32>, tensor<140x8xf32>, tensor<8x8xf32>) -> tensor<140x8xf32>
    %24 = tg.node "aten.view.default"(%23) args [#tg.operand<0>, [1, 140, 8]] {tg.id = "view_8", tg.module = "o", tg.phase = #tg.phase<forward>} : (tensor<140x8xf32>) -> tensor<1x140x8xf32>
    %25 = tg.node "aten.add.Tensor"(%0, %24) {tg.id = "add", tg.module = "", tg.phase = #tg.phase<forward>} : (tensor<1x140x8xf32>, tensor<1x140x8xf32>) -> tensor<1x140x8xf32>
    %26 = tg.node "aten.view.default"(%25) args [#tg.operand<0>, [140, 8]] {tg.id = "view_9", tg.module = "head", tg.phase = #tg.phase<forward>} : (tensor<1x140x8xf32>) -> tensor<140x8xf32>
    %27 = tg.node "aten.permute.default"(%arg5) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_7", tg.module = "head", tg.phase = #tg.phase<forward>} : (tensor<11x8xf32>) -> tensor<8x11xf32>
    %28 = tg.node "aten.addmm.default"(%arg6, %26, %27) {tg.id = "addmm_1", tg.module = "head", tg.phase = #tg.phase<forward>} : (tensor<11xf32>, tensor<140x8xf32>, tensor<8x11xf32>) -> tensor<140x11xf32>
    %29 = tg.node "aten.view.default"(%28) args [#tg.operand<0>, [1, 140, 11]] {tg.id = "view_10", tg.module = "head", tg.phase = #tg.phase<forward>} : (tensor<140x11xf32>) -> tensor<1x140x11xf32>
    %30 = tg.node "aten.view.default"(%29) args [#tg.operand<0>, [140, 11]] {tg.id = "view_11", tg.phase = #tg.phase<forward>} : (tensor<1x140x11xf32>) -> tensor<140x11xf32>
    %31 = tg.node "aten.view.default"(%arg8) args [#tg.operand<0>, [140]] {tg.id = "view_12", tg.phase = #tg.phase<forward>} : (tensor<1x140xi64>) -> tensor<140xi64>
    %32 = tg.node "aten._log_softmax.default"(%30) args [#tg.operand<0>, 1, false] {tg.id = "_log_softmax", tg.phase = #tg.phase<forward>} : (tensor<140x11xf32>) -> tensor<140x11xf32>
    %33 = tg.node "aten.ne.Scalar"(%31) args [#tg.operand<0>, -100] {tg.id = "ne", tg.phase = #tg.phase<forward>} : (tensor<140xi64>) -> tensor<140xi1>
    %34 = tg.node "aten.scalar_tensor.default"() args [0] kwargs {dtype = i64} {tg.id = "scalar_tensor", tg.phase = #tg.phase<forward>} : () -> tensor<i64>
    %35 = tg.node "aten.where.self"(%33, %31, %34) {tg.id = "where", tg.phase = #tg.phase<forward>} : (tensor<140xi1>, tensor<140xi64>, tensor<i64>) -> tensor<140xi64>
    %36 = tg.node "aten.unsqueeze.default"(%35) args [#tg.operand<0>, 1] {tg.id = "unsqueeze", tg.phase = #tg.phase<forward>} : (tensor<140xi64>) -> tensor<140x1xi64>
    %37 = tg.node "aten.gather.default"(%32, %36) args [#tg.operand<0>, 1, #tg.operand<1>] {tg.id = "gather", tg.phase = #tg.phase<forward>} : (tensor<140x11xf32>, tensor<140x1xi64>) -> tensor<140x1xf32>
    %38 = tg.node "aten.squeeze.dims"(%37) args [#tg.operand<0>, [1]] {tg.id = "squeeze_2", tg.phase = #tg.phase<forward>} : (tensor<140x1xf32>) -> tensor<140xf32>
    %39 = tg.node "aten.neg.default"(%38) {tg.id = "neg", tg.phase = #tg.phase<forward>} : (tensor<140xf32>) -> tensor<140xf32>
    %40 = tg.node "aten.ne.Scalar"(%31) args [#tg.operand<0>, -100] {tg.id = "ne_1", tg.phase = #tg.phase<forward>} : (tensor<140xi64>) -> tensor<140xi1>
    %41 = tg.node "aten.scalar_tensor.default"() args [0] kwargs {dtype = f32} {tg.id = "scalar_tensor_1", tg.phase = #tg.phase<forward>} : () -> tensor<f32>
    %42 = tg.node "aten.where.self"(%40, %39, %41) {tg.id = "where_1", tg.phase = #tg.phase<forward>} : (tensor<140xi1>, tensor<140xf32>, tensor<f32>) -> tensor<140xf32>
    %43 = tg.node "aten.ne.Scalar"(%31) args [#tg.operand<0>, -100] {tg.id = "ne_2", tg.phase = #tg.phase<forward>} : (tensor<140xi64>) -> tensor<140xi1>
    %44 = tg.node "aten.sum.dim_IntList"(%43) args [#tg.operand<0>, []] {tg.id = "sum_1", tg.phase = #tg.phase<forward>} : (tensor<140xi1>) -> tensor<i64>
    %45 = tg.node "aten._to_copy.default"(%44) kwargs {dtype = f32} {tg.id = "_to_copy", tg.phase = #tg.phase<forward>} : (tensor<i64>) -> tensor<f32>
    %46 = tg.node "aten.sum.dim_IntList"(%42) args [#tg.operand<0>, []] {tg.id = "sum_2", tg.phase = #tg.phase<forward>} : (tensor<140xf32>) -> tensor<f32>
    %47 = tg.node "aten.div.Tensor"(%46, %45) {tg.id = "div", tg.phase = #tg.phase<forward>} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %48 = tg.node "aten.full_like.default"(%47) args [#tg.operand<0>, 1] kwargs {pin_memory = false} {tg.id = "full_like", tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<f32>
    %49 = tg.node "aten.div.Tensor"(%48, %45) {tg.id = "div_1", tg.phase = #tg.phase<backward>} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %50 = tg.node "aten.unsqueeze.default"(%31) args [#tg.operand<0>, 1] {tg.id = "unsqueeze_1", tg.phase = #tg.phase<backward>} : (tensor<140xi64>) -> tensor<140x1xi64>
    %51 = tg.node "aten.ne.Scalar"(%50) args [#tg.operand<0>, -100] {tg.id = "ne_3", tg.phase = #tg.phase<backward>} : (tensor<140x1xi64>) -> tensor<140x1xi1>
    %52 = tg.node "aten.scalar_tensor.default"() args [0] kwargs {dtype = i64} {tg.id = "scalar_tensor_2", tg.phase = #tg.phase<backward>} : () -> tensor<i64>
    %53 = tg.node "aten.where.self"(%51, %50, %52) {tg.id = "where_2", tg.phase = #tg.phase<backward>} : (tensor<140x1xi1>, tensor<140x1xi64>, tensor<i64>) -> tensor<140x1xi64>
    %54 = tg.node "aten.full_like.default"(%32) args [#tg.operand<0>, 0] kwargs {pin_memory = false} {tg.id = "full_like_1", tg.phase = #tg.phase<backward>} : (tensor<140x11xf32>) -> tensor<140x11xf32>
    %55 = tg.node "aten.scatter.value"(%54, %53) args [#tg.operand<0>, 1, #tg.operand<1>, -1.000000e+00] {tg.id = "scatter", tg.phase = #tg.phase<backward>} : (tensor<140x11xf32>, tensor<140x1xi64>) -> tensor<140x11xf32>
    %56 = tg.node "aten.ne.Scalar"(%50) args [#tg.operand<0>, -100] {tg.id = "ne_4", tg.phase = #tg.phase<backward>} : (tensor<140x1xi64>) -> tensor<140x1xi1>
    %57 = tg.node "aten.scalar_tensor.default"() args [0] kwargs {dtype = f32} {tg.id = "scalar_tensor_3", tg.phase = #tg.phase<backward>} : () -> tensor<f32>
    %58 = tg.node "aten.where.self"(%56, %49, %57) {tg.id = "where_3", tg.phase = #tg.phase<backward>} : (tensor<140x1xi1>, tensor<f32>, tensor<f32>) -> tensor<140x1xf32>
    %59 = tg.node "aten.mul.Tensor"(%55, %58) {tg.id = "mul", tg.phase = #tg.phase<backward>} : (tensor<140x11xf32>, tensor<140x1xf32>) -> tensor<140x11xf32>
    %60 = tg.node "aten._log_softmax_backward_data.default"(%59, %32) args [#tg.operand<0>, #tg.operand<1>, 1, f32] {tg.id = "_log_softmax_backward_data", tg.phase = #tg.phase<backward>} : (tensor<140x11xf32>, tensor<140x11xf32>) -> tensor<140x11xf32>
    %61 = tg.node "aten.view.default"(%60) args [#tg.operand<0>, [1, 140, 11]] {tg.id = "view_13", tg.phase = #tg.phase<backward>} : (tensor<140x11xf32>) -> tensor<1x140x11xf32>
    %62 = tg.node "aten.view.default"(%61) args [#tg.operand<0>, [140, 11]] {tg.id = "view_14", tg.module = "head", tg.phase = #tg.phase<backward>} : (tensor<1x140x11xf32>) -> tensor<140x11xf32>
    %63 = tg.node "aten.permute.default"(%27) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_8", tg.module = "head", tg.phase = #tg.phase<backward>} : (tensor<8x11xf32>) -> tensor<11x8xf32>
    %64 = tg.node "aten.mm.default"(%62, %63) {tg.id = "mm_2", tg.module = "head", tg.phase = #tg.phase<backward>} : (tensor<140x11xf32>, tensor<11x8xf32>) -> tensor<140x8xf32>
    %65 = tg.node "aten.permute.default"(%62) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_9", tg.module = "head", tg.phase = #tg.phase<backward>} : (tensor<140x11xf32>) -> tensor<11x140xf32>
    %66 = tg.node "aten.mm.default"(%65, %26) {tg.id = "mm_3", tg.module = "head", tg.phase = #tg.phase<backward>} : (tensor<11x140xf32>, tensor<140x8xf32>) -> tensor<11x8xf32>
    %67 = tg.node "aten.permute.default"(%66) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_10", tg.module = "head", tg.phase = #tg.phase<backward>} : (tensor<11x8xf32>) -> tensor<8x11xf32>
    %68 = tg.node "aten.sum.dim_IntList"(%62) args [#tg.operand<0>, [0], true] {tg.id = "sum_3", tg.module = "head", tg.phase = #tg.phase<backward>} : (tensor<140x11xf32>) -> tensor<1x11xf32>
    %69 = tg.node "aten.view.default"(%68) args [#tg.operand<0>, [11]] {tg.id = "view_15", tg.module = "head", tg.phase = #tg.phase<backward>} : (tensor<1x11xf32>) -> tensor<11xf32>
    %70 = tg.node "aten.permute.default"(%67) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_11", tg.module = "head", tg.phase = #tg.phase<backward>} : (tensor<8x11xf32>) -> tensor<11x8xf32>
    %71 = tg.node "aten.view.default"(%64) args [#tg.operand<0>, [1, 140, 8]] {tg.id = "view_16", tg.module = "head", tg.phase = #tg.phase<backward>} : (tensor<140x8xf32>) -> tensor<1x140x8xf32>
    %72 = tg.node "aten.view.default"(%71) args [#tg.operand<0>, [140, 8]] {tg.id = "view_17", tg.module = "o", tg.phase = #tg.phase<backward>} : (tensor<1x140x8xf32>) -> tensor<140x8xf32>
    %73 = tg.node "aten.permute.default"(%22) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_12", tg.module = "o", tg.phase = #tg.phase<backward>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %74 = tg.node "aten.mm.default"(%72, %73) {tg.id = "mm_4", tg.module = "o", tg.phase = #tg.phase<backward>} : (tensor<140x8xf32>, tensor<8x8xf32>) -> tensor<140x8xf32>
    %75 = tg.node "aten.permute.default"(%72) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_13", tg.module = "o", tg.phase = #tg.phase<backward>} : (tensor<140x8xf32>) -> tensor<8x140xf32>
    %76 = tg.node "aten.mm.default"(%75, %21) {tg.id = "mm_5", tg.module = "o", tg.phase = #tg.phase<backward>} : (tensor<8x140xf32>, tensor<140x8xf32>) -> tensor<8x8xf32>
    %77 = tg.node "aten.permute.default"(%76) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_14", tg.module = "o", tg.phase = #tg.phase<backward>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %78 = tg.node "aten.sum.dim_IntList"(%72) args [#tg.operand<0>, [0], true] {tg.id = "sum_4", tg.module = "o", tg.phase = #tg.phase<backward>} : (tensor<140x8xf32>) -> tensor<1x8xf32>
    %79 = tg.node "aten.view.default"(%78) args [#tg.operand<0>, [8]] {tg.id = "view_18", tg.module = "o", tg.phase = #tg.phase<backward>} : (tensor<1x8xf32>) -> tensor<8xf32>
    %80 = tg.node "aten.permute.default"(%77) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_15", tg.module = "o", tg.phase = #tg.phase<backward>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %81 = tg.node "aten.view.default"(%74) args [#tg.operand<0>, [1, 140, 8]] {tg.id = "view_19", tg.module = "o", tg.phase = #tg.phase<backward>} : (tensor<140x8xf32>) -> tensor<1x140x8xf32>
    %82 = tg.node "aten.view.default"(%81) args [#tg.operand<0>, [1, 140, 4, 2]] {tg.id = "view_20", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<1x140x8xf32>) -> tensor<1x140x4x2xf32>
    %83 = tg.node "aten.permute.default"(%82) args [#tg.operand<0>, [0, 2, 1, 3]] {tg.id = "permute_16", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<1x140x4x2xf32>) -> tensor<1x4x140x2xf32>
    %84:3 = tg.node "aten._scaled_dot_product_flash_attention_for_cpu_backward.default"(%83, %6, %16, %17, %18#0, %18#1) args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, #tg.operand<3>, #tg.operand<4>, #tg.operand<5>, 0.000000e+00, true] {tg.id = "_scaled_dot_product_flash_attention_for_cpu_backward", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<1x4x140x2xf32>, tensor<1x4x140x2xf32>, tensor<1x2x140x2xf32>, tensor<1x2x140x2xf32>, tensor<1x4x140x2xf32>, tensor<1x4x140xf32>) -> (tensor<1x4x140x2xf32>, tensor<1x2x140x2xf32>, tensor<1x2x140x2xf32>)
    %85 = tg.node "aten.permute.default"(%84#2) args [#tg.operand<0>, [0, 2, 1, 3]] {tg.id = "permute_17", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<1x2x140x2xf32>) -> tensor<1x140x2x2xf32>
    %86 = tg.node "aten.permute.default"(%84#1) args [#tg.operand<0>, [0, 2, 1, 3]] {tg.id = "permute_18", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<1x2x140x2xf32>) -> tensor<1x140x2x2xf32>
    %87 = tg.node "aten.cat.default"(%86, %85) args [[#tg.operand<0>, #tg.operand<1>], 2] {tg.id = "cat", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<1x140x2x2xf32>, tensor<1x140x2x2xf32>) -> tensor<1x140x4x2xf32>
    %88 = tg.node "aten.view.default"(%87) args [#tg.operand<0>, [1, 140, 2, 2, 2]] {tg.id = "view_21", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<1x140x4x2xf32>) -> tensor<1x140x2x2x2xf32>
    %89 = tg.node "aten.view.default"(%88) args [#tg.operand<0>, [1, 140, 8]] {tg.id = "view_22", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<1x140x2x2x2xf32>) -> tensor<1x140x8xf32>
    %90 = tg.node "aten.view.default"(%89) args [#tg.operand<0>, [140, 8]] {tg.id = "view_23", tg.module = "kv", tg.phase = #tg.phase<backward>} : (tensor<1x140x8xf32>) -> tensor<140x8xf32>
    %91 = tg.node "aten.permute.default"(%90) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_19", tg.module = "kv", tg.phase = #tg.phase<backward>} : (tensor<140x8xf32>) -> tensor<8x140xf32>
    %92 = tg.node "aten.mm.default"(%91, %8) {tg.id = "mm_6", tg.module = "kv", tg.phase = #tg.phase<backward>} : (tensor<8x140xf32>, tensor<140x8xf32>) -> tensor<8x8xf32>
    %93 = tg.node "aten.permute.default"(%92) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_20", tg.module = "kv", tg.phase = #tg.phase<backward>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %94 = tg.node "aten.permute.default"(%7) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_21", tg.module = "kv", tg.phase = #tg.phase<backward>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %95 = tg.node "aten.mm.default"(%90, %94) {tg.id = "mm_7", tg.module = "kv", tg.phase = #tg.phase<backward>} : (tensor<140x8xf32>, tensor<8x8xf32>) -> tensor<140x8xf32>
    %96 = tg.node "aten.view.default"(%95) args [#tg.operand<0>, [1, 140, 8]] {tg.id = "view_24", tg.module = "kv", tg.phase = #tg.phase<backward>} : (tensor<140x8xf32>) -> tensor<1x140x8xf32>
    %97 = tg.node "aten.add.Tensor"(%71, %96) {tg.id = "add_1", tg.module = "kv", tg.phase = #tg.phase<backward>} : (tensor<1x140x8xf32>, tensor<1x140x8xf32>) -> tensor<1x140x8xf32>
    %98 = tg.node "aten.permute.default"(%93) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_22", tg.module = "kv", tg.phase = #tg.phase<backward>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %99 = tg.node "aten.permute.default"(%84#0) args [#tg.operand<0>, [0, 2, 1, 3]] {tg.id = "permute_23", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<1x4x140x2xf32>) -> tensor<1x140x4x2xf32>
    %100 = tg.node "aten.view.default"(%99) args [#tg.operand<0>, [1, 140, 8]] {tg.id = "view_25", tg.module = "", tg.phase = #tg.phase<backward>} : (tensor<1x140x4x2xf32>) -> tensor<1x140x8xf32>
    %101 = tg.node "aten.view.default"(%100) args [#tg.operand<0>, [140, 8]] {tg.id = "view_26", tg.module = "q", tg.phase = #tg.phase<backward>} : (tensor<1x140x8xf32>) -> tensor<140x8xf32>
    %102 = tg.node "aten.permute.default"(%101) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_24", tg.module = "q", tg.phase = #tg.phase<backward>} : (tensor<140x8xf32>) -> tensor<8x140xf32>
    %103 = tg.node "aten.mm.default"(%102, %2) {tg.id = "mm_8", tg.module = "q", tg.phase = #tg.phase<backward>} : (tensor<8x140xf32>, tensor<140x8xf32>) -> tensor<8x8xf32>
    %104 = tg.node "aten.permute.default"(%103) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_25", tg.module = "q", tg.phase = #tg.phase<backward>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %105 = tg.node "aten.permute.default"(%1) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_26", tg.module = "q", tg.phase = #tg.phase<backward>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %106 = tg.node "aten.mm.default"(%101, %105) {tg.id = "mm_9", tg.module = "q", tg.phase = #tg.phase<backward>} : (tensor<140x8xf32>, tensor<8x8xf32>) -> tensor<140x8xf32>
    %107 = tg.node "aten.view.default"(%106) args [#tg.operand<0>, [1, 140, 8]] {tg.id = "view_27", tg.module = "q", tg.phase = #tg.phase<backward>} : (tensor<140x8xf32>) -> tensor<1x140x8xf32>
    %108 = tg.node "aten.add.Tensor"(%97, %107) {tg.id = "add_2", tg.module = "q", tg.phase = #tg.phase<backward>} : (tensor<1x140x8xf32>, tensor<1x140x8xf32>) -> tensor<1x140x8xf32>
    %109 = tg.node "aten.permute.default"(%104) args [#tg.operand<0>, [1, 0]] {tg.id = "permute_27", tg.module = "q", tg.phase = #tg.phase<backward>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %110 = tg.node "aten.embedding_dense_backward.default"(%108, %arg7) args [#tg.operand<0>, #tg.operand<1>, 11, -1, false] {tg.id = "embedding_dense_backward", tg.module = "e", tg.phase = #tg.phase<backward>} : (tensor<1x140x8xf32>, tensor<1x140xi64>) -> tensor<11x8xf32>
    return %47, %110, %109, %98, %80, %79, %70, %69 : tensor<f32>, tensor<11x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<11x8xf32>, tensor<11xf32>
  }
}
