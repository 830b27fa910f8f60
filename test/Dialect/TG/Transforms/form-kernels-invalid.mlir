// RUN: not regather-opt %s --tg-form-kernels=max-ops=0 2>&1 | FileCheck %s

// CHECK: form-kernels-invalid.mlir:{{.*}}: error: 'max-ops' must be at least 1, got 0
module {}
