//===- SeededFault.h - Faults that are chosen at run time -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A copy of the sources in which every seeded fault stands beside the text that
// it replaces (schemata.py) includes this, and nothing else does. The variable
// REGATHER_FAULT names the fault of a process; without it, or with a name that
// no fault has, the copy does what the sources do.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_SEEDEDFAULT_H
#define REGATHER_SEEDEDFAULT_H

#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace regather {
/// Adds the name to the file that REGATHER_FAULTS_REACHED names, if it names
/// one: a process that does not come to a fault cannot show it.
inline void noteReachedFault(const char *name) {
  static const char *path = std::getenv("REGATHER_FAULTS_REACHED");
  if (!path)
    return;
  std::string line = std::string(name) + "\n";
  int file = ::open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ::write(file, line.data(), line.size()) < 0)
    std::abort();
  ::close(file);
}

inline bool isSeededFault(const char *name) {
  static const char *seeded = std::getenv("REGATHER_FAULT");
  noteReachedFault(name);
  return seeded && std::strcmp(seeded, name) == 0;
}
} // namespace regather

/// True in a process that has the fault. Asked once for each place.
#define REGATHER_FAULT(NAME)                                                   \
  ([] {                                                                        \
    static const bool isSeeded = ::regather::isSeededFault(NAME);              \
    return isSeeded;                                                           \
  }())

#endif // REGATHER_SEEDEDFAULT_H
