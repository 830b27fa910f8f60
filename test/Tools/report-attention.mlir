// A report says how much is stored for attention that is written as products,
// and nothing once it is computed by blocks.
// RUN: regather report %s --cluster=cpu-threads --quiet -o %t.html --json=%t.json
// RUN: FileCheck %s --check-prefix=ADVICE < %t.json
// RUN: regather report %s --cluster=cpu-threads --quiet --fuse-attention=all -o %t.html --json=%t.json
// RUN: FileCheck %s --check-prefix=DONE < %t.json
// RUN: regather report %s --cluster=cpu-threads --quiet --fuse-attention=report -o %t.html --json=%t.json
// RUN: FileCheck %s --check-prefix=DECISION < %t.json
// RUN: FileCheck %s --check-prefix=PAGE < %t.html

// ADVICE: "fuse_attention": ""
// ADVICE: The model writes it as products and a softmax, 1 times, with probabilities of 537 MB. The last bits of results change.
// ADVICE: --fuse-attention=all

// DONE: "fuse_attention": "all"
// DONE-NOT: --fuse-attention

// DECISION: "tg-fuse-attention"
// DECISION: "layers.0: forward, causal, can be computed as attention: 8 heads of 4096 rows and 4096 columns (score-bytes 536870912)"

// PAGE: What the passes say of their decisions (2)
// PAGE: layers.0: forward, causal, can be computed as attention

func.func @step(%query: tensor<8x4096x64xf32>, %key: tensor<8x64x4096xf32>, %value: tensor<8x4096x64xf32>) -> tensor<8x4096x64xf32> {
  %scores = tg.node "aten.bmm.default"(%query, %key) : (tensor<8x4096x64xf32>, tensor<8x64x4096xf32>) -> tensor<8x4096x4096xf32>
  %count = tg.node "aten.arange.default"() args [4096] : () -> tensor<4096xi64>
  %row = tg.node "aten.unsqueeze.default"(%count) args [#tg.operand<0>, 1] : (tensor<4096xi64>) -> tensor<4096x1xi64>
  %hidden = tg.node "aten.gt.Tensor"(%count, %row) : (tensor<4096xi64>, tensor<4096x1xi64>) -> tensor<4096x4096xi1>
  %masked = tg.node "aten.masked_fill.Scalar"(%scores, %hidden) args [#tg.operand<0>, #tg.operand<1>, 0xFFF0000000000000 : f64] : (tensor<8x4096x4096xf32>, tensor<4096x4096xi1>) -> tensor<8x4096x4096xf32>
  %p = tg.node "aten._softmax.default"(%masked) args [#tg.operand<0>, -1, false] {tg.module = "layers.0"} : (tensor<8x4096x4096xf32>) -> tensor<8x4096x4096xf32>
  %output = tg.node "aten.bmm.default"(%p, %value) : (tensor<8x4096x4096xf32>, tensor<8x4096x64xf32>) -> tensor<8x4096x64xf32>
  return %output : tensor<8x4096x64xf32>
}
