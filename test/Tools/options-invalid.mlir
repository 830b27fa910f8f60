// Options that have no effect, and names that do not exist, are errors of one
// line that name the flag, or what it could be.

// DEFINE: %{simulate} = not regather simulate %s --mesh=dp:2
// RUN: %{simulate} --reshard='never group=2' 2>&1 | FileCheck %s --check-prefix=GROUP
// RUN: %{simulate} --schedule='manual memory-limit=1.2x' 2>&1 | FileCheck %s --check-prefix=MANUAL
// RUN: %{simulate} --schedule='auto prefetch=2' 2>&1 | FileCheck %s --check-prefix=AUTO
// RUN: %{simulate} --schedule='none' --pass-option=tg-schedule:effort=3 2>&1 | FileCheck %s --check-prefix=UNUSED
// RUN: %{simulate} --bucket='mode=plan plan=[up] max-bytes=3' 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: %{simulate} --schedule=auto --order=%s 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: %{simulate} --reshard=alwys 2>&1 | FileCheck %s --check-prefix=RESHARD
// RUN: %{simulate} --policy=ful 2>&1 | FileCheck %s --check-prefix=POLICY
// RUN: %{simulate} --recompute='mincut budget=3' 2>&1 | FileCheck %s --check-prefix=RECOMPUTE
// RUN: %{simulate} --bucket=atuo 2>&1 | FileCheck %s --check-prefix=BUCKET
// RUN: %{simulate} --schedule=autoo 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// RUN: %{simulate} --optimizer='lion eps=1' 2>&1 | FileCheck %s --check-prefix=OPTIMIZER
// RUN: %{simulate} --fuse-attention=som 2>&1 | FileCheck %s --check-prefix=ATTENTION
// RUN: %{simulate} --layout=flatt 2>&1 | FileCheck %s --check-prefix=LAYOUT
// RUN: %{simulate} --batch=mine 2>&1 | FileCheck %s --check-prefix=BATCH
// Unknown names of options, and words where numbers are expected.
// RUN: %{simulate} --schedule='auto memorylimit=3' 2>&1 | FileCheck %s --check-prefix=NAME --implicit-check-not=error:
// RUN: %{simulate} --bucket='auto maxbytes=3' 2>&1 | FileCheck %s --check-prefix=NAME2 --implicit-check-not=error:
// RUN: %{simulate} --reshard='always grop=2' 2>&1 | FileCheck %s --check-prefix=NAME3 --implicit-check-not=error:
// RUN: %{simulate} --policy='savee=aten.mm.*' 2>&1 | FileCheck %s --check-prefix=NAME4 --implicit-check-not=error:
// RUN: %{simulate} --pass-option=tg-schedule:efort=3 2>&1 | FileCheck %s --check-prefix=NAME5 --implicit-check-not=error:
// RUN: %{simulate} --pass-option=tg-shedule:effort=3 2>&1 | FileCheck %s --check-prefix=PASS --implicit-check-not=error:
// RUN: %{simulate} --pass-option=tg-rematerialize:effort=3 2>&1 | FileCheck %s --check-prefix=NONE --implicit-check-not=error:
// RUN: %{simulate} --schedule='auto effort=much' 2>&1 | FileCheck %s --check-prefix=NUMBER --implicit-check-not=error:
// RUN: %{simulate} --schedule='auto overlap-groups=maybe' 2>&1 | FileCheck %s --check-prefix=SWITCH --implicit-check-not=error:
// RUN: %{simulate} --schedule='mode=autoo' 2>&1 | FileCheck %s --check-prefix=SCHEDULE --implicit-check-not=error:
// RUN: not regather-opt %s --regather-training-pipeline='schedule={auto memorylimit=3}' 2>&1 | FileCheck %s --check-prefix=PIPELINE
// RUN: %{simulate} --pass-option=tg-schedule:mode=autoo 2>&1 | FileCheck %s --check-prefix=CHOICE --implicit-check-not=error:
// RUN: %{simulate} --optimizer='adamw state-dtype=f61' 2>&1 | FileCheck %s --check-prefix=DTYPE --implicit-check-not=error:
// RUN: not regather-opt %s --regather-training-pipeline=recompute=mode=mincut 2>&1 | FileCheck %s --check-prefix=CUT
// RUN: echo '{"tg-schedule": {"efort": 3}}' > %t.plan
// RUN: %{simulate} --plan=%t.plan 2>&1 | FileCheck %s --check-prefix=FILE --implicit-check-not=error:
// All kinds of options are known, and texts with braces, too.
// RUN: regather simulate %s --mesh=dp:2 --quiet --policy='full modules={up:none}' --optimizer='adamw betas=0.9,0.95 eps=1e-6 keep-gradients=true' --schedule='auto memory-limit=2x effort=0x10'

// NAME:     regather: error: --schedule has no option "memorylimit"; there are cluster, effort, in-flight, memory-limit, mode, overlap-groups, prefetch
// NAME2:    regather: error: --bucket has no option "maxbytes"; there are cluster, max-bytes, max-compute, mode, plan, saturation
// NAME3:    regather: error: --reshard has no option "grop"; there are group, mode, modules
// NAME4:    regather: error: --policy has no option "savee"; there are budget, cluster, every-second-product, modules, others, policy, save, units
// NAME5:    regather: error: --pass-option: pass "tg-schedule" has no option "efort"; there are cluster, effort,
// PASS:     regather: error: --pass-option names pass "tg-shedule", which no step goes through; steps go through tg-fuse-attention, tg-verify-step, expand-tg-complex-nodes, tg-cut-batch, tg-shard-step, tg-shard-parameters, {{.*}}tg-schedule
// PASS-NOT: inline
// NONE:     regather: error: --pass-option: pass "tg-rematerialize" has no option "effort"; there are none
// NUMBER:   regather: error: --schedule expects an integer for "effort", got "much"
// SWITCH:   regather: error: --schedule expects true or false for "overlap-groups", got "maybe"
// PIPELINE: option 'schedule' has no option "memorylimit"; there are cluster, effort,
// CHOICE:   regather: error: --pass-option: pass "tg-schedule" expects one of auto, manual, none for "mode", got "autoo"
// DTYPE:    regather: error: --optimizer expects one of auto, f32, bf16 for "state-dtype", got "f61"
// CUT:      option 'recompute' expects min-cut, default, replay, budget or none, got "mincut"
// FILE:     regather: error: --plan={{.*}}: pass "tg-schedule" has no option "efort"; there are

// GROUP:     error: 'group' has no effect with 'mode=never', got 2
// MANUAL:    error: 'memory-limit' has no effect with 'mode=manual'
// AUTO:      error: 'prefetch' has no effect with 'mode=auto'
// UNUSED:    error: options for pass "tg-schedule" are given, which this step does not go through
// PLAN:      error: 'max-bytes' has no effect with 'mode=plan'
// ORDER:     error: a schedule has no effect on an order that is given
// RESHARD:   error: --reshard expects always, never, default or none, got "alwys"
// POLICY:    error: --policy expects none, full or selective, got "ful"
// RECOMPUTE: error: --recompute expects min-cut, default, replay, budget or none, got "mincut"
// BUCKET:    error: --bucket expects auto, plan, none or a list of modules, got "atuo"
// SCHEDULE:  error: --schedule expects auto, manual or none, got "autoo"
// OPTIMIZER: error: --optimizer expects adamw, adam, sgd, adagrad, rmsprop, adamax, adadelta or radam, got "lion"
// ATTENTION: error: --fuse-attention expects all, report or none, got "som"
// LAYOUT:    error: --layout expects flat or per-parameter, got "flatt"
// BATCH:     error: --batch expects global, per-rank or auto, got "mine"

// The module is not printed, whatever is wrong about an option.
// RUN: not regather-opt %s --tg-shard-parameters=mesh=dp:2 --tg-reshard-after-forward=group=1 2>&1 | FileCheck %s --check-prefix=OPT --implicit-check-not='see current operation'
// RUN: not regather-opt %s --tg-partition=saved=a 2>&1 | FileCheck %s --check-prefix=SAVED --implicit-check-not='see current operation'
// RUN: not regather-opt %s --tg-partition='mode=replay saved=a' 2>&1 | FileCheck %s --check-prefix=RECORD --implicit-check-not='see current operation'
// RUN: not regather-opt %s --tg-partition=mode=budget 2>&1 | FileCheck %s --check-prefix=BUDGET --implicit-check-not='see current operation'
// RUN: not regather-opt %s --tg-apply-policy='modules=up:selective save=aten.exp.*' 2>&1 | FileCheck %s --check-prefix=SAVE --implicit-check-not='see current operation'
// RUN: not regather-opt %s --tg-append-optimizer='groups=down:weight-decay=0' 2>&1 | FileCheck %s --check-prefix=PATTERN --implicit-check-not='see current operation'
// RUN: not regather-opt %s --tg-shard-parameters='mesh=dp:2 optimizer-groups=down' 2>&1 | FileCheck %s --check-prefix=FLAT --implicit-check-not='see current operation'
// SAVED: error: option 'saved' is for mode replay
// RECORD: error: record names "a", but no operation of forward has the id "a"
// BUDGET: error: mode budget and option 'budget', a number of bytes, need each other
// SAVE: error: pattern "aten.exp.*" of option 'save' matches no operation whose policy is selective
// PATTERN: error: group "down"
// FLAT: error: pattern "down" of option 'optimizer-groups' matches no parameter
// OPT: error: 'group' must be at least 2, got 1

// An axis that splits nothing makes its ranks do the same work.
// RUN: regather-opt %s --tg-shard-parameters='mesh=dp:2,tp:2 shard-axis=dp' 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: regather-opt %s --tg-shard-parameters='mesh=dp:2,rep:2 replicate-axis=rep' 2>&1 | FileCheck %s --check-prefix=SPLIT --implicit-check-not=warning
// AXIS:  warning: axis "tp" of option 'mesh' splits nothing: its 2 ranks do the same work
// SPLIT: tg.mesh

// All subcommands take --quiet.
// RUN: regather simulate %s --quiet
// RUN: regather report %s --quiet --json %t.json
// RUN: regather stats %s --quiet
// RUN: regather tree %s --quiet
// RUN: regather compile %s --quiet -o %t.rgb
// RUN: regather manifest %t.rgb --quiet

func.func @step(%w: tensor<8x8xf32> {tg.role = #tg.role<parameter>, tg.name = "up.weight", tg.module = "up"},
                %x: tensor<4x8xf32> {tg.role = #tg.role<input>, tg.name = "x"})
    -> (tensor<8x8xf32> {tg.role = #tg.role<gradient of 0>}) {
  %y = tg.node "aten.mm.default"(%x, %w) {tg.phase = #tg.phase<forward>, tg.module = "up"}
      : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %xt = tg.node "aten.t.default"(%x) {tg.phase = #tg.phase<backward>, tg.module = "up"}
      : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %dw = tg.node "aten.mm.default"(%xt, %y) {tg.phase = #tg.phase<backward>, tg.module = "up"}
      : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return %dw : tensor<8x8xf32>
}
