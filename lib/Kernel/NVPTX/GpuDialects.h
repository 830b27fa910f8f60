//===- GpuDialects.h - What kernels on GPUs are written in ------------*- C++
//-*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_NVPTX_GPUDIALECTS_H
#define REGATHER_LIB_KERNEL_NVPTX_GPUDIALECTS_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"

namespace regather::nvptx {

/// Loads the dialects of kernels on GPUs into a context.
void loadGpuDialects(mlir::MLIRContext *context);

/// Registers how the dialects of a kernel become the NVVM and LLVM dialects.
void registerConversions(mlir::DialectRegistry &registry);

} // namespace regather::nvptx

#endif // REGATHER_LIB_KERNEL_NVPTX_GPUDIALECTS_H
