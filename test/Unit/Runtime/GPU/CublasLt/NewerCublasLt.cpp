//===- NewerCublasLt.cpp - A cuBLASLt that the driver is too old for ------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Has all functions, and none of them succeeds.
//
//===----------------------------------------------------------------------===//

#include "GPU/CublasLt/CublasLtApi.h"

using namespace regather::runtime;

template <typename T> static T getResult();
template <> LtStatus getResult() { return 1; }
template <> size_t getResult() { return 130102; }
template <> const char *getResult() { return "CUBLAS_STATUS_NOT_INITIALIZED"; }

#define REGATHER_DEFINE(result, name, parameters)                              \
  extern "C" result name parameters;                                           \
  extern "C" result name parameters { return getResult<result>(); }
REGATHER_CUBLASLT_FUNCTIONS(REGATHER_DEFINE)
