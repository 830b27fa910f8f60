//===- ParallelCompilation.h - Kernels in parallel, and cached --*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_KERNEL_COMPILATION_PARALLELCOMPILATION_H
#define REGATHER_KERNEL_COMPILATION_PARALLELCOMPILATION_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace regather::kernel {

struct CompileOptions {
  /// Threads that compile; one for each core if 0. Has no effect on results.
  unsigned threads = 0;
  /// Folder in which compiled kernels are kept, for all processes of the user;
  /// none if empty. Has no effect on results.
  std::string cacheDirectory;
  /// Called when another kernel is ready; on any thread, but not on two at
  /// once.
  std::function<void(int64_t done, int64_t total)> onKernelReady;
};

/// How the code of a set of kernels was come by.
struct KernelStatistics {
  int64_t count = 0;
  int64_t compiled = 0;
  /// Taken from the cache.
  int64_t cached = 0;
  /// Why kernels could not be stored in the cache; empty if they could.
  std::string cacheError;
};

/// What a text has become.
struct CompiledText {
  /// What its functions are called, or how their names begin.
  std::string name;
  /// Empty if the text cannot be compiled.
  std::string code;
  std::string error;
};

using CodeGenerator = llvm::function_ref<llvm::Expected<std::string>()>;

/// The code of a program of LLVM, which decides it: see `describeProgram`.
/// Taken from the cache, or made by the generator and stored there.
using CodeSource = llvm::function_ref<llvm::Expected<std::string>(
    llvm::StringRef program, CodeGenerator generate)>;

/// A source that keeps nothing.
llvm::Expected<std::string> generateCode(llvm::StringRef program,
                                         CodeGenerator generate);

/// Compiles one text after the other to functions of the given name. What takes
/// longest, from a program of LLVM to code, is left to the source.
using TextCompiler = std::function<llvm::Expected<std::string>(
    llvm::StringRef text, llvm::StringRef name, CodeSource codes)>;

/// The code of each text: taken from the cache, or compiled and stored there,
/// on several threads, each with a compiler of its own. What comes out does not
/// depend on their number, nor on what the cache holds. It is looked for twice:
/// by text, for this build of Regather, and once lowered, by the program of
/// LLVM, which other builds left if they lower the text in the same way.
/// Processes that compile the same texts at the same time, such as the ranks of
/// a job, begin at different ones, so that each finds most of them in the
/// cache.
///
/// `getName` names a text with all that the compiler is asked for, by hash, in
/// letters and digits.
std::vector<CompiledText>
compileInParallel(llvm::ArrayRef<std::string> texts,
                  llvm::function_ref<std::string(llvm::StringRef)> getName,
                  llvm::function_ref<TextCompiler()> makeCompiler,
                  const CompileOptions &options, KernelStatistics &statistics);

/// Where a process begins that has `count` texts to compile: processes whose
/// numbers follow each other begin at places that divide the texts about
/// evenly. Less than `count`, which is less than 2^32; 0 for no texts.
size_t getFirstText(uint64_t process, size_t count);

/// Describes Regather, MLIR and LLVM, such that it changes when one of them is
/// built anew.
std::string describeCompiler();

/// Names what `text` becomes when it is compiled as `description` says: a hash
/// in hexadecimal digits.
std::string hashText(llvm::StringRef description, llvm::StringRef text);

} // namespace regather::kernel

#endif // REGATHER_KERNEL_COMPILATION_PARALLELCOMPILATION_H
