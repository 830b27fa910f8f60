// RUN: split-file %s %t
// RUN: not regather-opt %t/step.mlir --mlir-print-op-on-diagnostic=false --tg-bucket-collectives='plan="[embedding],[output]"' 2>&1 | FileCheck %s --check-prefix=UNMATCHED
// RUN: not regather-opt %t/step.mlir --mlir-print-op-on-diagnostic=false --tg-bucket-collectives='plan="[output,norm],[embedding]"' 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: not regather-opt %t/step.mlir --mlir-print-op-on-diagnostic=false --tg-bucket-collectives='plan="[embedding,norm],[norm.*]"' 2>&1 | FileCheck %s --check-prefix=NESTED
// RUN: not regather-opt %t/step.mlir --mlir-print-op-on-diagnostic=false --tg-bucket-collectives='plan="[embedding],[/e.*/] each"' 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not regather-opt %t/step.mlir --mlir-print-op-on-diagnostic=false --tg-bucket-collectives='plan="[/e(/]"' 2>&1 | FileCheck %s --check-prefix=REGEX
// RUN: not regather-opt %t/step.mlir --mlir-print-op-on-diagnostic=false --tg-bucket-collectives='plan="[head.a],[head.b]"' 2>&1 | FileCheck %s --check-prefix=FLAT
// RUN: not regather-opt %t/step.mlir --mlir-print-op-on-diagnostic=false --tg-bucket-collectives='plan="[embedding"' 2>&1 | FileCheck %s --check-prefix=OPEN
// RUN: not regather-opt %t/step.mlir --mlir-print-op-on-diagnostic=false --tg-bucket-collectives='plan="[embedding] every"' 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not regather-opt %t/step.mlir --mlir-print-op-on-diagnostic=false --tg-bucket-collectives='plan="[embedding],"' 2>&1 | FileCheck %s --check-prefix=COMMA
// RUN: not regather-opt %t/step.mlir --mlir-print-op-on-diagnostic=false --tg-bucket-collectives='plan="[]"' 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not regather-opt %t/step.mlir --mlir-print-op-on-diagnostic=false --tg-bucket-collectives='plan="[/norm]"' 2>&1 | FileCheck %s --check-prefix=SLASH
// RUN: not regather-opt %t/step.mlir --mlir-print-op-on-diagnostic=false --tg-bucket-collectives='plan="[layers.[0-3,norm"' 2>&1 | FileCheck %s --check-prefix=SET
// RUN: cd %t && not regather-opt step.mlir --mlir-print-op-on-diagnostic=false --tg-bucket-collectives=plan=@plan.txt 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: not regather-opt %t/step.mlir --mlir-print-op-on-diagnostic=false --tg-bucket-collectives=plan=@%t/missing.txt 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not regather-opt %t/step.mlir --mlir-print-op-on-diagnostic=false --tg-bucket-collectives='mode=auto plan=[norm]' 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not regather-opt %t/step.mlir --mlir-print-op-on-diagnostic=false --tg-bucket-collectives='mode=auto saturation=1' 2>&1 | FileCheck %s --check-prefix=SATURATION
// RUN: not regather-opt %t/step.mlir --mlir-print-op-on-diagnostic=false --tg-bucket-collectives='mode=auto max-bytes=-1' 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: not regather-opt %t/step.mlir --mlir-print-op-on-diagnostic=false --tg-bucket-collectives='mode=auto max-compute=nan' 2>&1 | FileCheck %s --check-prefix=COMPUTE
// RUN: not regather-opt %t/step.mlir --mlir-print-op-on-diagnostic=false --tg-bucket-collectives='mode=auto cluster=nowhere' 2>&1 | FileCheck %s --check-prefix=CLUSTER

// BOTH: error: 'plan' has no effect with 'mode=auto', got "[norm]"
// SATURATION: error: 'saturation' must be above 0 and below 1, got 1
// BYTES: error: 'max-bytes' must not be negative, got -1
// COMPUTE: error: 'max-compute' must not be negative, got nan
// CLUSTER: error: {{.*}}nowhere

// UNMATCHED: error: pattern "output" of option 'plan' matches no module of a parameter that is gathered or reduced; there are embedding, norm, head{{$}}
// UNMATCHED: note: did you mean one of "norm", "head"?
// ONE: error: pattern "output" of option 'plan' matches no module
// ONE: note: did you mean "head"?
// NESTED: error: pattern "norm.*" of option 'plan' matches no module
// TWICE: error: "embedding" is claimed by two patterns of option 'plan': "embedding" and "/e.*/"
// REGEX: error: regular expression "/e(/" of option 'plan' is malformed: parentheses not balanced
// FLAT: error: flat parameter "head.vectors" holds parameters of module "head.a", which is in bucket "head.a" of option 'plan', and of module "head.b", which is in bucket "head.b"
// OPEN: error: option 'plan', character 11: expects ',' or ']', got the end
// WORD: error: option 'plan', character 13: expects ',' or "each", got 'e'
// COMMA: error: option 'plan', character 13: expects a module pattern, got the end
// EMPTY: error: option 'plan', character 2: expects a module pattern, got ']'
// SLASH: error: option 'plan', character 8: expects '/' at the end of the regular expression, got the end
// SET: error: option 'plan', character 18: expects ']', got the end
// FILE: error: plan.txt:2:7: expects ',' or ']', got 'n'
// MISSING: error: cannot read '{{.*}}missing.txt' of option 'plan': No such file

//--- plan.txt
# Comments count as lines.
[norm norm]
//--- step.mlir
tg.mesh @mesh [dp = 2]

func.func @step(%e: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.module = "embedding"},
                %n: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.name = "norm.weight"},
                %f: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.name = "head.vectors", tg.placement = #tg.placement<@mesh [[dp] = shard 0]>,
                                   tg.members = #tg.members<["head.a.bias" at 0 of [2], "head.b.bias" at 2 of [2]]>})
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = tg.all_gather %e on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  %1 = tg.wait %0 : !tg.future<tensor<4xf32>>
  %2 = tg.all_gather %n on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  %3 = tg.wait %2 : !tg.future<tensor<4xf32>>
  %4 = tg.all_gather %f on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  %5 = tg.wait %4 : !tg.future<tensor<4xf32>>
  return %1, %3, %5 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
