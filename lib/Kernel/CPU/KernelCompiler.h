//===- KernelCompiler.h - Kernels to object files ---------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_CPU_KERNELCOMPILER_H
#define REGATHER_LIB_KERNEL_CPU_KERNELCOMPILER_H

#include "regather/Dialect/TG/IR/TG.h"
#include "regather/Kernel/Compilation/ParallelCompilation.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace regather::cpu {

/// Everything but its text that the machine code of a kernel depends on.
class KernelTarget {
public:
  /// The processor that this process runs on.
  static llvm::Expected<KernelTarget> detectHost(int64_t blockBytes,
                                                 bool optimizes = true);

  /// A processor of the host's architecture, by LLVM's name, such as
  /// `x86-64-v3`.
  static llvm::Expected<KernelTarget> getProcessor(llvm::StringRef name,
                                                   int64_t blockBytes);

  /// What the function is called that `text` becomes: a hash in hexadecimal
  /// digits, which does not depend on the other kernels of a step.
  std::string getName(llvm::StringRef text) const;

  /// The processor, its features and how code is optimised.
  llvm::StringRef getDescription() const { return description; }

  /// Reading the features of a processor takes as long as some kernels do.
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>> createMachine() const;
  int64_t getBlockBytes() const { return blockBytes; }
  bool isOptimizing() const { return optimizes; }

private:
  KernelTarget(llvm::orc::JITTargetMachineBuilder machine, int64_t blockBytes,
               bool optimizes);

  llvm::orc::JITTargetMachineBuilder machine;
  int64_t blockBytes;
  bool optimizes;
  std::string description;
};

/// What a caller of the code has to know besides the object file.
struct KernelShape {
  int64_t numBlocks = 1;
  int64_t scratchBytes = 0;
};

/// Compiles kernels one at a time. It has a context of its own, so that several
/// compilers can work at once, and the text is all that a kernel's code depends
/// on.
class KernelCompiler {
public:
  /// `dialects` are those that kernels are written in.
  KernelCompiler(const mlir::DialectRegistry &dialects,
                 const KernelTarget &target);

  /// Compiles a module that holds one `tg.kernel` to the bytes of an object
  /// file with the function `name`.
  llvm::Expected<std::string>
  compile(llvm::StringRef text, llvm::StringRef name, KernelShape &shape,
          kernel::CodeSource codes = kernel::generateCode);

private:
  llvm::Expected<std::string> generate(llvm::Module &module, bool isLarge);

  mlir::MLIRContext context;
  /// `kernel-to-llvm`.
  mlir::PassManager pipeline;
  KernelTarget target;
  /// Made for the first kernel.
  std::unique_ptr<llvm::TargetMachine> machine;
};

} // namespace regather::cpu

#endif // REGATHER_LIB_KERNEL_CPU_KERNELCOMPILER_H
