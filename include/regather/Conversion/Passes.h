//===- Passes.h - Conversions between dialects ------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_CONVERSION_PASSES_H
#define REGATHER_CONVERSION_PASSES_H

#include "regather/Dialect/Exec/IR/Exec.h"
#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

namespace regather {

#define GEN_PASS_DECL
#include "regather/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "regather/Conversion/Passes.h.inc"

} // namespace regather

#endif // REGATHER_CONVERSION_PASSES_H
