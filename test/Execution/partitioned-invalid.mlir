// Two functions that look like a partitioned step, but do not match.

// RUN: split-file %s %t
// RUN: not regather run %t/argument.mlir --random-inputs=1 --quiet 2>&1 | FileCheck %s --check-prefix=ARGUMENT
// RUN: not regather run %t/missing.mlir --random-inputs=1 --quiet 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not regather run %t/type.mlir --random-inputs=1 --quiet 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not regather run %t/twice.mlir --random-inputs=1 --quiet 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not regather run %t/losses.mlir --random-inputs=1 --quiet 2>&1 | FileCheck %s --check-prefix=LOSSES
// RUN: not regather run %t/third.mlir --random-inputs=1 --quiet 2>&1 | FileCheck %s --check-prefix=THIRD
// RUN: not regather run %t/third.mlir --entry=first --random-inputs=1 --quiet 2>&1 | FileCheck %s --check-prefix=FIRST

//--- argument.mlir
// ARGUMENT: argument.mlir:{{[0-9]+}}:1: error: argument 0 of backward is not "x", which it is of forward
func.func @forward(%x: tensor<2xf32> {tg.name = "x"}) { return }
func.func @backward(%y: tensor<2xf32> {tg.name = "y"}) { return }
// ARGUMENT: note: forward is here

//--- missing.mlir
// MISSING: error: backward takes "saved.a", but forward saves no value of that name and type
func.func @forward(%x: tensor<2xf32>) -> (tensor<2xf32> {tg.name = "saved.a"}) { return %x : tensor<2xf32> }
func.func @backward(%x: tensor<2xf32>, %a: tensor<2xf32> {tg.role = #tg.role<saved>, tg.name = "saved.a"}) { return }

//--- type.mlir
// TYPE: error: backward takes "saved.a", but forward saves no value of that name and type
func.func @forward(%x: tensor<2xf32>) -> (tensor<2xf32> {tg.role = #tg.role<saved>, tg.name = "saved.a"}) { return %x : tensor<2xf32> }
func.func @backward(%x: tensor<2xf32>, %a: tensor<3xf32> {tg.role = #tg.role<saved>, tg.name = "saved.a"}) { return }

//--- twice.mlir
// TWICE: error: forward and backward both return "result0"
func.func @forward(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }
func.func @backward(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }

//--- losses.mlir
// LOSSES: error: forward and backward both return a loss
func.func @forward(%x: tensor<f32>) -> (tensor<f32> {tg.role = #tg.role<loss>, tg.name = "a"}) { return %x : tensor<f32> }
func.func @backward(%x: tensor<f32>) -> (tensor<f32> {tg.role = #tg.role<loss>, tg.name = "b"}) { return %x : tensor<f32> }

//--- third.mlir
// THIRD: error: module has several public functions; name the one to run with --entry
// FIRST: error: has no function "first"
func.func @forward(%x: tensor<2xf32>) { return }
func.func @backward(%x: tensor<2xf32>) { return }
func.func @third(%x: tensor<2xf32>) { return }
