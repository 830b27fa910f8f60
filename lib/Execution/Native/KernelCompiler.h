//===- KernelCompiler.h - Kernels to object files ---------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_EXECUTION_NATIVE_KERNELCOMPILER_H
#define REGATHER_LIB_EXECUTION_NATIVE_KERNELCOMPILER_H

#include "mlir/IR/MLIRContext.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>

namespace regather::native {

/// What decides, together with the text of a kernel, which machine code it
/// becomes.
class KernelTarget {
public:
  /// The machine and the compiler that this process runs on and is.
  static llvm::Expected<KernelTarget> detectHost();

  /// Names the code that `text` becomes: a hash in hexadecimal digits. Also the
  /// name of the function in the object file, which therefore does not depend
  /// on the other kernels of a step.
  std::string getKey(llvm::StringRef text) const;

  const llvm::orc::JITTargetMachineBuilder &getMachine() const {
    return machine;
  }

private:
  KernelTarget(llvm::orc::JITTargetMachineBuilder machine,
               std::string description)
      : machine(std::move(machine)), description(std::move(description)) {}

  llvm::orc::JITTargetMachineBuilder machine;
  std::string description;
};

/// Compiles kernels one at a time. It has a context of its own, so that several
/// compilers can work at once, and the text is all that a kernel's code depends
/// on.
class KernelCompiler {
public:
  /// `dialects` are those that kernels are written in.
  KernelCompiler(const mlir::DialectRegistry &dialects,
                 const KernelTarget &target);

  /// Compiles a module that holds one function, `kernel`, to an object file
  /// with the function `name`, which takes pointers to pointers to the memref
  /// descriptors of the inputs and then of the outputs.
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
  compile(llvm::StringRef text, llvm::StringRef name);

private:
  mlir::MLIRContext context;
  llvm::orc::JITTargetMachineBuilder machine;
};

} // namespace regather::native

#endif // REGATHER_LIB_EXECUTION_NATIVE_KERNELCOMPILER_H
