// Ranks that wait for ever are found when nothing else can happen, without a
// time-out; the report says who waits for what, and what the others do.

// RUN: split-file %s %t
// RUN: not regather run %t/finished.mlir --engine=interpreter --ranks 4 --random-inputs=1 --quiet 2>&1 | FileCheck %t/finished.mlir
// RUN: not regather run %t/finished.mlir --engine=interpreter --ranks 4 --random-inputs=1 --quiet --seed 5 2>&1 | FileCheck %t/finished.mlir
// RUN: not regather run %t/unfinished.mlir --engine=interpreter --ranks 4 --random-inputs=1 --quiet 2>&1 | FileCheck %t/unfinished.mlir

//--- finished.mlir

// CHECK: [[#@LINE+10]]:{{.*}}: error: ranks 0, 1 wait for 'tg.all_gather' (collective 0 of group [dp] {0, 1, 2, 3}), which ranks 2, 3 have not started
// CHECK: [[#@LINE+8]]:{{.*}}: note: started here
// CHECK: note: ranks 2, 3 have finished
tg.mesh @mesh [dp = 4]
func.func @step(%v: tensor<4xf32>) {
  %two = arith.constant 2 : index
  %rank = tg.axis_index on @mesh [dp]
  %low = arith.cmpi ult, %rank, %two : index
  scf.if %low {
    %f = tg.all_gather %v on @mesh [dp] dim 0 phase forward : (tensor<4xf32>) -> !tg.future<tensor<16xf32>>
    %g = tg.wait %f : !tg.future<tensor<16xf32>>
  }
  return
}

//--- unfinished.mlir

// Nobody waits, so that nobody is stuck: it is an error all the same.
// CHECK: [[#@LINE+8]]:{{.*}}: error: ranks 0, 1 start 'tg.all_gather' (collective 0 of group [dp] {0, 1, 2, 3}), which ranks 2, 3 never start
tg.mesh @mesh [dp = 4]
func.func @step(%v: tensor<4xf32>) {
  %two = arith.constant 2 : index
  %rank = tg.axis_index on @mesh [dp]
  %low = arith.cmpi ult, %rank, %two : index
  scf.if %low {
    // The next line starts what nobody waits for.
    %f = tg.all_gather %v on @mesh [dp] dim 0 phase forward : (tensor<4xf32>) -> !tg.future<tensor<16xf32>>
  }
  return
}
