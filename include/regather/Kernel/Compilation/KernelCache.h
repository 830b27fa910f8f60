//===- KernelCache.h - Compiled kernels on disk -----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_KERNEL_COMPILATION_KERNELCACHE_H
#define REGATHER_KERNEL_COMPILATION_KERNELCACHE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace regather::kernel {

/// A folder of object files, one for each key. Any number of threads and
/// processes may use it at once: an entry appears whole or not at all, and is
/// never changed in place. Keys are made of letters and digits.
class KernelCache {
public:
  static constexpr uint64_t kDefaultMaxBytes = uint64_t(1) << 30;
  /// How often to prune: to look at all entries takes longer than to compile a
  /// kernel.
  static constexpr std::chrono::seconds kPruneInterval{60};

  /// The folder is made when the first entry is stored.
  explicit KernelCache(llvm::StringRef directory,
                       uint64_t maxBytes = kDefaultMaxBytes)
      : directory(directory), maxBytes(maxBytes) {}

  /// The object stored under `key`; null if there is none, or if its file is
  /// damaged.
  std::unique_ptr<llvm::MemoryBuffer> lookup(llvm::StringRef key) const;

  /// Stores an object, in the place of one that is there. The error names the
  /// folder.
  llvm::Error store(llvm::StringRef key, llvm::StringRef object) const;

  /// Removes the entries that were used the longest time ago, until the rest is
  /// within the bound; does nothing if that was done less than `interval` ago.
  void prune(std::chrono::seconds interval = std::chrono::seconds(0)) const;

  std::string getPath(llvm::StringRef key) const;

private:
  std::string directory;
  uint64_t maxBytes;
};

} // namespace regather::kernel

#endif // REGATHER_KERNEL_COMPILATION_KERNELCACHE_H
