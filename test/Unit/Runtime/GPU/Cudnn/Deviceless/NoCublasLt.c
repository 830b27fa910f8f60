//===- NoCublasLt.c - A cuBLASLt that computes nothing --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cuDNN asks cuBLASLt for its version, and needs it for nothing else here.
//
//===----------------------------------------------------------------------===//

#include <stddef.h>

size_t cublasLtGetVersion(void);
size_t cublasLtGetVersion(void) { return 130000; }
