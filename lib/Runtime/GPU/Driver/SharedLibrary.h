//===- SharedLibrary.h - A library found at run time ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_DRIVER_SHAREDLIBRARY_H
#define REGATHER_LIB_RUNTIME_GPU_DRIVER_SHAREDLIBRARY_H

#include "regather/Support/Result.h"

#include <string>
#include <vector>

namespace regather::runtime {

/// A function that a library must have, and where its address goes.
struct LibraryFunction {
  const char *name;
  void **address;
};

/// Libraries of the vendor (driver, NCCL, cuBLASLt, cuDNN) are opened when they
/// are needed, so that one build runs on machines with and without them. They
/// stay open until the process ends.
class SharedLibrary {
public:
  /// Opens the first of `names` that can be opened, or `path` alone if it is
  /// not empty. A failure says what was tried.
  Failure open(const std::string &path, const std::vector<const char *> &names);

  /// Looks up all functions. A failure lists all that are missing at once.
  /// `library` is what it calls it.
  Failure resolve(const char *library,
                  const std::vector<LibraryFunction> &functions) const;

  /// The address of a symbol; null if the library has none of this name.
  void *find(const char *name) const;

  /// The name by which it was opened.
  const std::string &getName() const { return name; }

private:
  void *handle = nullptr;
  std::string name;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_DRIVER_SHAREDLIBRARY_H
