//===- CHeaderTest.c - The headers in C -----------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// That this file compiles is the test: generated code and C callers see the
// interface as C11.
//
//===----------------------------------------------------------------------===//

#include "regather/Runtime/Attention.h"
#include "regather/Runtime/Convolution.h"
#include "regather/Runtime/Gemm.h"
#include "regather/Runtime/GpuExecutor.h"
#include "regather/Runtime/GpuProgram.h"
#include "regather/Runtime/GroupedGemm.h"
#include "regather/Runtime/Runtime.h"

_Static_assert(sizeof(((rg_member *)0)->dtype) == 4, "the ABI fixes sizes");
_Static_assert(sizeof(rg_member) == 40, "the ABI fixes sizes");
_Static_assert(sizeof(rg_collective) == 96, "the ABI fixes sizes");

size_t regatherSizeFromC(void);

size_t regatherSizeFromC(void) { return rg_dtype_size(RG_BF16); }
