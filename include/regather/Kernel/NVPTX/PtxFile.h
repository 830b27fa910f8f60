//===- PtxFile.h - Files of PTX ---------------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_KERNEL_NVPTX_PTXFILE_H
#define REGATHER_KERNEL_NVPTX_PTXFILE_H

#include "regather/Kernel/NVPTX/AssemblyReport.h"
#include "regather/Kernel/NVPTX/CompileGpuKernels.h"

namespace regather::nvptx {

/// One file with all kernels, each symbol once.
std::string joinPtx(llvm::ArrayRef<KernelCode> kernels);

/// True if NVIDIA's assembler is in $PATH or in the CUDA toolkit.
bool hasPtxas();

/// Machine code of a file of PTX, for the architecture of the options and kept
/// in their cache. `ptxas` is the path of NVIDIA's assembler; if it is empty,
/// that in $PATH or in the CUDA toolkit is taken. What it says of the code goes
/// to `report`.
llvm::Expected<std::string> assemblePtx(llvm::StringRef text,
                                        const KernelCompileOptions &options,
                                        llvm::StringRef ptxas,
                                        kernel::KernelStatistics &statistics,
                                        AssemblyReport *report = nullptr);

} // namespace regather::nvptx

#endif // REGATHER_KERNEL_NVPTX_PTXFILE_H
