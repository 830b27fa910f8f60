//===- JsonMutation.h - Changes to texts in JSON ----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_FUZZ_READERS_JSONMUTATION_H
#define REGATHER_TEST_FUZZ_READERS_JSONMUTATION_H

#include <cstddef>
#include <cstdint>

/// libFuzzer's changes of bytes.
extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

namespace regather::fuzz {

/// Changes a text in JSON so that it stays JSON: values become others, elements
/// and members are removed, repeated, exchanged and renamed, one value is put
/// in the place of another one. Now and then, and where the text is no JSON, it
/// changes bytes. See Reader::mutate.
size_t mutateJson(uint8_t *data, size_t size, size_t maxSize, unsigned seed);

} // namespace regather::fuzz

#endif // REGATHER_TEST_FUZZ_READERS_JSONMUTATION_H
