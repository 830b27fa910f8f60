//===- Passes.h - Conversions between dialects ------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_CONVERSION_PASSES_H
#define REGATHER_CONVERSION_PASSES_H

#include "mlir/Pass/Pass.h"

namespace regather {

#define GEN_PASS_DECL
#include "regather/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "regather/Conversion/Passes.h.inc"

} // namespace regather

#endif // REGATHER_CONVERSION_PASSES_H
