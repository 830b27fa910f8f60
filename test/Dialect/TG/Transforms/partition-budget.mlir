// What budgets save of a product, a tensor that is made of it, and a number
// that is made of that. Backward reads the last two; forward returns the number.

// RUN: regather-opt %s -split-input-file --tg-partition="mode=budget budget=2097156 split=false" | FileCheck %s --check-prefix=ALL
// RUN: regather-opt %s -split-input-file --tg-partition="mode=budget budget=2097155 split=false" | FileCheck %s --check-prefix=TENSOR
// RUN: regather-opt %s -split-input-file --tg-partition="mode=budget budget=2097151 split=false" | FileCheck %s --check-prefix=NUMBER
// RUN: regather-opt %s -split-input-file --tg-partition="mode=budget budget=600000 split=false" | FileCheck %s --check-prefix=MOVES
// RUN: regather-opt %s -split-input-file --tg-partition="mode=budget budget=0 split=false" | FileCheck %s --check-prefix=NOTHING
// RUN: regather-opt %s -split-input-file --tg-partition="mode=budget budget=4 cluster=a100-8 split=false" --remark-format=emitRemark --remarks-filter=tg-partition -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: remark: [Analysis] budget
// REMARK-SAME: budget=4, least_seconds={{.*}}, saved_bytes=4, seconds=
// REMARK: 'sum' is saved for backward
// REMARK: remark: [Analysis] total
// REMARK-SAME: recomputed=2, {{.*}}recomputed_seconds={{.*}}, saved=1, saved_bytes=4

// ALL:     "aten.mm.default"
// ALL-NOT: saved_results
// ALL:     "aten.exp.default"{{.*}}saved_results
// ALL:     "aten.sum.default"{{.*}}saved_results
// ALL-NOT: "aten.{{mm|exp|sum}}.default"{{.*}}backward
// ALL:     return

// TENSOR:      "aten.exp.default"{{.*}}saved_results
// TENSOR:      "aten.sum.default"
// TENSOR-NOT:  saved_results
// TENSOR:      "aten.sum.default"{{.*}}backward
// TENSOR:      return

// NUMBER:     "aten.exp.default"
// NUMBER-NOT: saved_results
// NUMBER:     "aten.sum.default"{{.*}}saved_results
// NUMBER:     "aten.mm.default"{{.*}}backward
// NUMBER:     "aten.exp.default"{{.*}}backward
// NUMBER-NOT: "aten.sum.default"
// NUMBER:     return

// NOTHING-NOT: saved_results
// NOTHING:     "aten.mm.default"{{.*}}backward
// NOTHING:     "aten.exp.default"{{.*}}backward
// NOTHING:     "aten.sum.default"{{.*}}backward
// NOTHING:     return
func.func @step(%x: tensor<1024x1024xbf16>) -> (tensor<f32>, tensor<1024x1024xbf16>) {
  %y = tg.node "aten.mm.default"(%x, %x) {tg.phase = #tg.phase<forward>, tg.id = "mm"} : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
  %a = tg.node "aten.exp.default"(%y) {tg.phase = #tg.phase<forward>, tg.id = "exp"} : (tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
  %sum = tg.node "aten.sum.default"(%a) {tg.phase = #tg.phase<forward>, tg.id = "sum"} : (tensor<1024x1024xbf16>) -> tensor<f32>
  %g = tg.node "aten.mul.Tensor"(%a, %sum) {tg.phase = #tg.phase<backward>} : (tensor<1024x1024xbf16>, tensor<f32>) -> tensor<1024x1024xbf16>
  return %sum, %g : tensor<f32>, tensor<1024x1024xbf16>
}

// -----

// What forward does not need itself moves to backward at no cost: of the two
// tensors, the one that forward returns is saved.
// MOVES-LABEL: @moves
// MOVES:         "aten.exp.default"{{.*}}saved_results
// MOVES:         "aten.mm.default"{{.*}}backward
// MOVES-NOT:     "aten.exp.default"
func.func @moves(%x: tensor<512x512xbf16>) -> (tensor<512x512xbf16>, tensor<512x512xbf16>) {
  %y = tg.node "aten.mm.default"(%x, %x) {tg.phase = #tg.phase<forward>} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xbf16>
  %a = tg.node "aten.exp.default"(%x) {tg.phase = #tg.phase<forward>} : (tensor<512x512xbf16>) -> tensor<512x512xbf16>
  %g = tg.node "aten.mul.Tensor"(%a, %y) {tg.phase = #tg.phase<backward>} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xbf16>
  return %a, %g : tensor<512x512xbf16>, tensor<512x512xbf16>
}
