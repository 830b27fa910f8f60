// RUN: regather-opt %s -split-input-file '--exec-form-graphs=mode=modules modules=*.attention' -verify-diagnostics
// RUN: not regather-opt %s -split-input-file --exec-form-graphs=mode=unit 2>&1 | FileCheck %s --check-prefix=UNIT
// RUN: not regather-opt %s -split-input-file --exec-form-graphs=mode=full 2>&1 | FileCheck %s --check-prefix=FULL
// RUN: not regather-opt %s -split-input-file --exec-form-graphs=mode=modules 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not regather-opt %s -split-input-file '--exec-form-graphs=mode=full modules=head' 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not regather-opt %s -split-input-file '--exec-form-graphs=mode=full min-ops=3' 2>&1 | FileCheck %s --check-prefix=FEW

// FEW: error: option 'min-ops' has a meaning in modes 'unit' and 'modules' only
// UNIT: error: 'exec.if' op cannot be captured into the graph of module "layers": the host decides what it runs
// FULL: error: 'exec.if' op cannot be captured into the graph of the whole program: the host decides what it runs
// NONE: error: mode 'modules' expects patterns in option 'modules'
// OTHER: error: option 'modules' has a meaning in mode 'modules' only
exec.program @branch(%flag: memref<i1>, %x: memref<16xf32> {tg.donated}) attributes {streams = 1} {
  // expected-error @+1 {{cannot be captured into the graph of module "layers.0.attention": the host decides what it runs}}
  exec.if %flag {
    exec.fill %x with 0.0 : f32 stream 0 {tg.module = "layers.0.attention.wq"} : memref<16xf32>
  }
  exec.return
}

// -----

// The optimizer is no part of a module's graphs.
// expected-error @+1 {{pattern "*.attention" of option 'modules' matches no module that computes in forward or backward; there are modules called layers, mlp}}
exec.program @nothing(%x: memref<16xf32> {tg.donated}) attributes {streams = 1} {
  exec.fill %x with 0.0 : f32 stream 0 {tg.module = "layers.0.mlp"} : memref<16xf32>
  exec.fill %x with 1.0 : f32 stream 0 {tg.module = "layers.0.attention", tg.phase = #tg.phase<optimizer>} : memref<16xf32>
  exec.return
}

// -----

// expected-error @+1 {{has graphs already}}
exec.program @again(%x: memref<16xf32> {tg.donated}) attributes {streams = 1} {
  exec.graph "layers.0.attention.forward" {
    exec.fill %x with 0.0 : f32 stream 0 {tg.module = "layers.0.attention"} : memref<16xf32>
  }
  exec.return
}
