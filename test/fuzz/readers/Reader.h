//===- Reader.h - What reads files of unknown origin ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One of Regather's readers, as libFuzzer calls it: from bytes in memory to
// what they mean, or to why they mean nothing.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_FUZZ_READERS_READER_H
#define REGATHER_TEST_FUZZ_READERS_READER_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace regather::fuzz {

struct Reader {
  std::string_view name;
  /// Reads what may be anything. Returns why it was refused, the same for the
  /// same bytes, and nothing if it was read. Whatever else happens is a find:
  /// a crash, a time-out, a leak, a call of `reportFind`.
  std::string (*read)(std::string_view bytes);
  /// Changes `size` bytes of `data`, which has room for `maxSize`, and returns
  /// their new number; equal for equal seeds. Null: libFuzzer's own changes.
  size_t (*mutate)(uint8_t *data, size_t size, size_t maxSize,
                   unsigned seed) = nullptr;
};

/// Ends the process with a message that libFuzzer takes for a find.
[[noreturn]] void reportFind(const std::string &message);

extern const Reader algorithmReader;
extern const Reader bucketPlanReader;
extern const Reader bundleReader;
extern const Reader callsReader;
extern const Reader clusterReader;
extern const Reader environmentReader;
extern const Reader fxReader;
extern const Reader mlirReader;
extern const Reader optionsReader;
extern const Reader orderReader;
extern const Reader planReader;
extern const Reader safetensorsReader;
extern const Reader shardingReader;
extern const Reader shardsReader;
extern const Reader storeReader;
extern const Reader tablesReader;
/// Has a fault, so that it can be tested that faults are found.
extern const Reader plantedFault;

} // namespace regather::fuzz

#endif // REGATHER_TEST_FUZZ_READERS_READER_H
