//===- MemoryFile.h - Bytes that have a path --------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_FUZZ_READERS_MEMORYFILE_H
#define REGATHER_TEST_FUZZ_READERS_MEMORYFILE_H

#include <string>
#include <string_view>

namespace regather::fuzz {

/// A file in memory, for readers that take nothing but a path. One is enough
/// for a process; each write replaces what it held.
class MemoryFile {
public:
  MemoryFile();
  ~MemoryFile();
  MemoryFile(const MemoryFile &) = delete;

  void write(std::string_view bytes);
  /// The same for all its contents, so that messages are, too.
  const std::string &getPath() const { return path; }

private:
  int file;
  std::string path;
};

} // namespace regather::fuzz

#endif // REGATHER_TEST_FUZZ_READERS_MEMORYFILE_H
