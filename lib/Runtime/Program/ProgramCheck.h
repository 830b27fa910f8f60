//===- ProgramCheck.h - Tables that make sense ------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_PROGRAM_PROGRAMCHECK_H
#define REGATHER_LIB_RUNTIME_PROGRAM_PROGRAMCHECK_H

#include "regather/Runtime/Program.h"

#include <string>

namespace regather::runtime {

/// Where the kernels of a program run.
enum class KernelCode {
  /// As functions of the host.
  Host,
  /// On a device: the tables have no functions for them.
  Device
};

/// What is wrong with the tables; empty if every index is within its table and
/// every slice within its buffer, so that nothing but the kernels can touch
/// other memory. Linear in the size of the tables.
std::string checkProgram(const rg_program &program,
                         KernelCode code = KernelCode::Host);

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_PROGRAM_PROGRAMCHECK_H
