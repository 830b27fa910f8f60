//===- Program.cpp - What decides the code that LLVM generates ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/Compilation/Program.h"

#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/raw_ostream.h"

using namespace regather;

/// A hash of the sources that work on modules, and of LLVM's libraries.
static constexpr llvm::StringLiteral kGenerators =
#include "Generators.inc"
    ;

std::string kernel::describeProgram(const llvm::Module &module,
                                    llvm::StringRef description) {
  std::string program;
  llvm::raw_string_ostream os(program);
  os << "LLVM " << LLVM_VERSION_STRING << '\n'
     << kGenerators << '\n'
     << description << '\n';
  llvm::WriteBitcodeToFile(module, os);
  return program;
}
