//===- SharedLibrary.cpp - A library found at run time --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedLibrary.h"

#include <dlfcn.h>

using namespace regather::runtime;
using regather::Failure;

Failure SharedLibrary::open(const std::string &path,
                            const std::vector<const char *> &names) {
  std::vector<std::string> candidates(names.begin(), names.end());
  if (!path.empty())
    candidates = {path};
  std::string reasons;
  for (const std::string &candidate : candidates) {
    handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle) {
      name = candidate;
      return Failure();
    }
    const char *reason = dlerror();
    reasons += reasons.empty() ? "" : "; ";
    reasons += reason ? reason : candidate.c_str();
  }
  return reasons;
}

Failure
SharedLibrary::resolve(const char *library,
                       const std::vector<LibraryFunction> &functions) const {
  std::string missing;
  for (const LibraryFunction &function : functions) {
    *function.address = find(function.name);
    if (*function.address)
      continue;
    missing += missing.empty() ? "" : ", ";
    missing += function.name;
  }
  if (missing.empty())
    return Failure();
  return std::string(library) + " '" + name +
         "' is older than needed: it lacks " + missing;
}

void *SharedLibrary::find(const char *symbol) const {
  return handle ? dlsym(handle, symbol) : nullptr;
}
