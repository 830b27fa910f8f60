// Each value is read twice by the next one, and single elements of the last: they
// are computed where they are read, each once, so that work does not double at
// each step.
// RUN: regather run %s --random-inputs=1 --quiet --outputs=%t.cpu
// RUN: regather run %s --engine=interpreter --random-inputs=1 --quiet --outputs=%t.interpreter
// RUN: cmp %t.cpu %t.interpreter
// RUN: regather compile %s --target=nvptx:sm_90a --emit=bundle --cache-dir= --quiet -o %t.rgb

func.func @step(%v0: tensor<64x64xf32> {tg.role = #tg.role<input>, tg.name = "x"},
                %i: tensor<64x1xi64> {tg.role = #tg.role<input>, tg.name = "i"})
    -> (tensor<64x1xf32> {tg.name = "r"}) {
  %v1 = tg.node "aten.add.Tensor"(%v0, %v0) args [#tg.operand<0>, #tg.operand<1>] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %v2 = tg.node "aten.add.Tensor"(%v1, %v1) args [#tg.operand<0>, #tg.operand<1>] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %v3 = tg.node "aten.add.Tensor"(%v2, %v2) args [#tg.operand<0>, #tg.operand<1>] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %v4 = tg.node "aten.add.Tensor"(%v3, %v3) args [#tg.operand<0>, #tg.operand<1>] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %v5 = tg.node "aten.add.Tensor"(%v4, %v4) args [#tg.operand<0>, #tg.operand<1>] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %v6 = tg.node "aten.add.Tensor"(%v5, %v5) args [#tg.operand<0>, #tg.operand<1>] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %v7 = tg.node "aten.add.Tensor"(%v6, %v6) args [#tg.operand<0>, #tg.operand<1>] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %v8 = tg.node "aten.add.Tensor"(%v7, %v7) args [#tg.operand<0>, #tg.operand<1>] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %v9 = tg.node "aten.add.Tensor"(%v8, %v8) args [#tg.operand<0>, #tg.operand<1>] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %v10 = tg.node "aten.add.Tensor"(%v9, %v9) args [#tg.operand<0>, #tg.operand<1>] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %v11 = tg.node "aten.add.Tensor"(%v10, %v10) args [#tg.operand<0>, #tg.operand<1>] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %v12 = tg.node "aten.add.Tensor"(%v11, %v11) args [#tg.operand<0>, #tg.operand<1>] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %v13 = tg.node "aten.add.Tensor"(%v12, %v12) args [#tg.operand<0>, #tg.operand<1>] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %v14 = tg.node "aten.add.Tensor"(%v13, %v13) args [#tg.operand<0>, #tg.operand<1>] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %v15 = tg.node "aten.add.Tensor"(%v14, %v14) args [#tg.operand<0>, #tg.operand<1>] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %v16 = tg.node "aten.add.Tensor"(%v15, %v15) args [#tg.operand<0>, #tg.operand<1>] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %v17 = tg.node "aten.add.Tensor"(%v16, %v16) args [#tg.operand<0>, #tg.operand<1>] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %v18 = tg.node "aten.add.Tensor"(%v17, %v17) args [#tg.operand<0>, #tg.operand<1>] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %v19 = tg.node "aten.add.Tensor"(%v18, %v18) args [#tg.operand<0>, #tg.operand<1>] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %v20 = tg.node "aten.add.Tensor"(%v19, %v19) args [#tg.operand<0>, #tg.operand<1>] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %v21 = tg.node "aten.add.Tensor"(%v20, %v20) args [#tg.operand<0>, #tg.operand<1>] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %v22 = tg.node "aten.add.Tensor"(%v21, %v21) args [#tg.operand<0>, #tg.operand<1>] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %v23 = tg.node "aten.add.Tensor"(%v22, %v22) args [#tg.operand<0>, #tg.operand<1>] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %v24 = tg.node "aten.add.Tensor"(%v23, %v23) args [#tg.operand<0>, #tg.operand<1>] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %r = tg.node "aten.gather.default"(%v24, %i) args [#tg.operand<0>, 1, #tg.operand<1>] : (tensor<64x64xf32>, tensor<64x1xi64>) -> tensor<64x1xf32>
  return %r : tensor<64x1xf32>
}
