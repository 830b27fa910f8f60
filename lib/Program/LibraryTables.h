//===- LibraryTables.h - Library calls for the runtime ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_PROGRAM_LIBRARYTABLES_H
#define REGATHER_LIB_PROGRAM_LIBRARYTABLES_H

#include "regather/Dialect/TG/IR/TG.h"
#include "regather/Runtime/Attention.h"
#include "regather/Runtime/Convolution.h"
#include "regather/Runtime/Gemm.h"
#include "regather/Runtime/GroupedGemm.h"

namespace regather {

/// The entry of a table that describes the library call of a kernel of type
/// `type`. What a description leaves out, padding included, is zero: equal
/// calls have equal bytes.
rg_gemm_desc describe(tg::GemmAttr gemm, mlir::FunctionType type);
rg_attention_desc describe(tg::AttentionAttr attention,
                           mlir::FunctionType type);
rg_convolution_desc describe(tg::ConvolutionAttr convolution,
                             mlir::FunctionType type);
rg_grouped_gemm_desc describe(tg::GroupedGemmAttr gemm,
                              mlir::FunctionType type);

} // namespace regather

#endif // REGATHER_LIB_PROGRAM_LIBRARYTABLES_H
