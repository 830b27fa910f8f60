//===- LoadStep.h - Code of a step in this process --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_PROGRAM_LOADSTEP_H
#define REGATHER_PROGRAM_LOADSTEP_H

#include "regather/Program/CompileStep.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"

namespace regather {

/// Loads the kernels of a step into this process and enters them into its
/// tables. What is returned holds their code; null if there are none. The
/// object files of the step are used up.
llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>> loadStep(CompiledStep &step);

} // namespace regather

#endif // REGATHER_PROGRAM_LOADSTEP_H
