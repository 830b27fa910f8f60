// --text feeds windows of a text: a new batch each step, shards on each rank,
// labels one byte ahead, and the beginning again after the last window.

// RUN: split-file %s %t
// RUN: regather run %t/step.mlir --text=%t/text --steps 4 --json --quiet | FileCheck %s
// RUN: regather run %t/step.mlir --text=%t/text --steps 4 --json --quiet --engine=interpreter | FileCheck %s
// RUN: regather run %t/step.mlir --text=%t/text --steps 4 --json --quiet --text-inputs=tokens,labels | FileCheck %s
// RUN: regather run %t/step.mlir --text=%t/text --steps 4 --quiet | FileCheck %s --check-prefix=SUMMARY
// RUN: not regather run %t/step.mlir --text=%t/short --quiet 2>&1 | FileCheck %s --check-prefix=SHORT
// RUN: not regather run %t/step.mlir --text=%t/none --quiet 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not regather run %t/step.mlir --text=%t/text --text-inputs=tokens,label --quiet 2>&1 | FileCheck %s --check-prefix=NAMES
// RUN: not regather run %t/step.mlir --text-inputs=tokens,labels --quiet 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: not regather run %t/step.mlir --quiet 2>&1 | FileCheck %s --check-prefix=VALUES

// The text is "abcdefghijklm\n": four windows of three bytes. The loss is the
// sum of tokens * labels: 97 * 98 + ... + 102 * 103, then 103 * 104 + ... + 108 *
// 109, then the same again.
// CHECK: "losses":[60016,67432,60016,67432]
// CHECK-SAME: "tokens_per_second":
// SUMMARY: step 4/4  loss 67432
// SUMMARY-NEXT: 4 steps on 2 ranks, {{.*}} ms a step (median), {{.*}} tokens per second
// SUMMARY-NEXT: bytes on each rank: 0 of parameters, {{[0-9,]+}} at the peak
// SUMMARY-NEXT: collectives in each step: 1, by which each rank receives 4 bytes

// SHORT: regather: error: text '{{.*}}short' has 6 bytes, but one batch of 2 sequences of 3 bytes needs 7
// NONE: regather: error: cannot read text '{{.*}}none': No such file or directory
// NAMES: regather: error: --text-inputs names "label", but the inputs of the step are "tokens" [2, 3] of integers, "labels" [2, 3] of integers
// ALONE: regather: error: --text-inputs needs --text
// VALUES: regather: error: 2 of 2 arguments have no value: "tokens", "labels"; give --inputs or --random-inputs

//--- text
abcdefghijklm
//--- short
abcde
//--- step.mlir
#row = affine_map<(i, j) -> (i, j)>
#none = affine_map<(i, j) -> ()>
tg.mesh @mesh [dp = 2]
func.func @step(
    %tokens: tensor<1x3xi64> {tg.role = #tg.role<input>, tg.name = "tokens", tg.placement = #tg.placement<@mesh [[dp] = shard 0]>},
    %labels: tensor<1x3xi64> {tg.role = #tg.role<input>, tg.name = "labels", tg.placement = #tg.placement<@mesh [[dp] = shard 0]>})
    -> (tensor<f32> {tg.role = #tg.role<loss>}) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %sum = linalg.generic {indexing_maps = [#row, #row, #none], iterator_types = ["reduction", "reduction"]}
      ins(%tokens, %labels : tensor<1x3xi64>, tensor<1x3xi64>) outs(%zero : tensor<f32>) {
  ^bb0(%token: i64, %label: i64, %out: f32):
    %product = arith.muli %token, %label : i64
    %term = arith.sitofp %product : i64 to f32
    %next = arith.addf %out, %term : f32
    linalg.yield %next : f32
  } -> tensor<f32>
  %0 = tg.all_reduce sum %sum on @mesh [dp] phase forward : (tensor<f32>) -> !tg.future<tensor<f32>>
  %loss = tg.wait %0 : !tg.future<tensor<f32>>
  return %loss : tensor<f32>
}
