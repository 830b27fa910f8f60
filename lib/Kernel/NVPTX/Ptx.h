//===- Ptx.h - Functions of the gpu dialect to PTX --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_NVPTX_PTX_H
#define REGATHER_LIB_KERNEL_NVPTX_PTX_H

#include "regather/Kernel/Compilation/ParallelCompilation.h"
#include "regather/Kernel/NVPTX/GpuArchitecture.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <string>

namespace regather::nvptx {

/// Registers how the NVVM and LLVM dialects become LLVM IR.
void registerTranslations(mlir::DialectRegistry &registry);

/// PTX of a lowered module with one kernel. Functions of libdevice, the bitcode
/// at `libdevice`, are linked if any is called. Names of all but the entries
/// begin with `prefix`. The error lists the functions that nothing defines.
/// `codes` keeps the PTX of a program.
llvm::Expected<std::string> emitPtx(mlir::gpu::GPUModuleOp module,
                                    llvm::StringRef prefix,
                                    const GpuArchitecture &architecture,
                                    llvm::StringRef libdevice,
                                    kernel::CodeSource codes);

} // namespace regather::nvptx

#endif // REGATHER_LIB_KERNEL_NVPTX_PTX_H
