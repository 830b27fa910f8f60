// RUN: not regather-opt %s --tg-reshard-after-forward="group=1" 2>&1 | FileCheck %s --check-prefix=SMALL
// RUN: not regather-opt %s --tg-reshard-after-forward="mode=always group=3" 2>&1 | FileCheck %s --check-prefix=GROUP
// RUN: not regather-opt %s --tg-reshard-after-forward="mode=always group=4" 2>&1 | FileCheck %s --check-prefix=WHOLE
// RUN: sed 's/tg.module = "layers.0"/tg.reshard = #tg.reshard<group of 4>/' %s | not regather-opt --tg-reshard-after-forward 2>&1 | FileCheck %s --check-prefix=MARKED
// RUN: not regather-opt %s --tg-reshard-after-forward="mode=always group=9223372036854775807" 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: not regather-opt %s --tg-reshard-after-forward="modules=layers.0" 2>&1 | FileCheck %s --check-prefix=NO-MODE
// RUN: not regather-opt %s --tg-reshard-after-forward="modules=layers.7:always" 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not regather-opt %s --tg-reshard-after-forward="modules=layers.*:always,*:never" 2>&1 | FileCheck %s --check-prefix=TWICE

// SMALL: error: 'group' must be at least 2, got 1
// GROUP: error: the 4 ranks of this gather cannot be cut into groups of 3, in which backward is to gather again
// LARGE: error: the 4 ranks of this gather cannot be cut into groups of 9223372036854775807
// GROUP: note: mesh declared here
// WHOLE: error: 'group' must be less than the 4 ranks that gather, got 4; without it, all of them gather again
// MARKED: error: expects groups of fewer than the 4 ranks of this gather, got 4; without a group, all of them gather again
// MARKED: note: mesh declared here
// NO-MODE: error: 'modules' expects PATTERN:always or PATTERN:never, got "layers.0"
// NOTHING: error: pattern "layers.7" of option 'modules' matches no module of a gathered parameter
// TWICE: error: "layers.0" is claimed by two patterns of option 'modules': "layers.*" and "*"
tg.mesh @mesh [dp = 4]

func.func @step(%w: tensor<2x8xf32> {tg.role = #tg.role<parameter>, tg.module = "layers.0"}) -> tensor<8x8xf32> {
  %future = tg.all_gather %w on @mesh [dp] dim 0 phase forward : (tensor<2x8xf32>) -> !tg.future<tensor<8x8xf32>>
  %whole = tg.wait %future : !tg.future<tensor<8x8xf32>>
  %g = tg.node "aten.relu.default"(%whole) {tg.phase = #tg.phase<backward>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %g : tensor<8x8xf32>
}
