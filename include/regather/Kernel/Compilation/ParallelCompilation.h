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
  /// Names what the text becomes.
  std::string key;
  /// Empty if the text cannot be compiled.
  std::string code;
  std::string error;
};

/// Compiles one text after the other. `key` is its key.
using TextCompiler = std::function<llvm::Expected<std::string>(
    llvm::StringRef text, llvm::StringRef key)>;

/// The code of each text: taken from the cache, or compiled and stored there,
/// on several threads, each with a compiler of its own. What comes out does not
/// depend on their number, nor on what the cache holds. Processes that compile
/// the same texts at the same time, such as the ranks of a job, begin at
/// different ones, so that each finds most of them in the cache.
std::vector<CompiledText>
compileInParallel(llvm::ArrayRef<std::string> texts,
                  llvm::function_ref<std::string(llvm::StringRef)> getKey,
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
