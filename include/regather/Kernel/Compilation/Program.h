//===- Program.h - What decides the code that LLVM generates ----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_KERNEL_COMPILATION_PROGRAM_H
#define REGATHER_KERNEL_COMPILATION_PROGRAM_H

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/Module.h"

#include <string>

namespace regather::kernel {

/// All that decides the code of a module of LLVM IR: LLVM itself and what of
/// Regather works on such modules, `description`, which says for what machine
/// and how, and the module. Equal for two builds of Regather that differ in
/// anything else.
std::string describeProgram(const llvm::Module &module,
                            llvm::StringRef description);

} // namespace regather::kernel

#endif // REGATHER_KERNEL_COMPILATION_PROGRAM_H
