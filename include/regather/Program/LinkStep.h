//===- LinkStep.h - A compiled step as a shared object ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_PROGRAM_LINKSTEP_H
#define REGATHER_PROGRAM_LINKSTEP_H

#include "regather/Program/CompileGpuStep.h"
#include "regather/Program/CompileStep.h"

#include "llvm/Support/Error.h"

namespace regather {

/// Links kernels and tables of a step into one shared object, which needs
/// nothing but the C library, and returns its bytes. `roomy` is what runs the
/// step again with room for the rows of all experts, or null; it shares the
/// kernels that both have. `linker` is the path of lld; if it is empty, lld is
/// searched for.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
linkStep(CompiledStep &step, CompiledStep *roomy, llvm::StringRef linker);

/// Links tables and images of a step for GPUs, all of them data.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
linkStep(CompiledGpuStep &step, CompiledGpuStep *roomy, llvm::StringRef linker);

} // namespace regather

#endif // REGATHER_PROGRAM_LINKSTEP_H
