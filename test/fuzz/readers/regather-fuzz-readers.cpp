//===- regather-fuzz-readers.cpp - Readers under libFuzzer ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   regather-fuzz-readers --reader=NAME CORPUS -runs=N
//
// Flags with one dash are libFuzzer's, which ignores those with two.
//
//===----------------------------------------------------------------------===//

#include "Reader.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cstdio>
#include <cstdlib>

using namespace regather::fuzz;

static const Reader *const kReaders[] = {
    &algorithmReader, &bucketPlanReader,  &bundleReader, &callsReader,
    &clusterReader,   &environmentReader, &fxReader,     &mlirReader,
    &optionsReader,   &orderReader,       &planReader,   &safetensorsReader,
    &shardingReader,  &shardsReader,      &storeReader,  &tablesReader,
    &plantedFault,
};

static const Reader *reader = nullptr;

/// libFuzzer takes these bytes for what code that it has not instrumented did:
/// one for each message, so that inputs which are refused for another reason
/// are kept. Nobody here reads them.
static constexpr size_t kMessages = 4096;
__attribute__((section(
    "__libfuzzer_extra_counters"))) static volatile uint8_t messages[kMessages];

void regather::fuzz::reportFind(const std::string &message) {
  std::fprintf(stderr, "regather-fuzz-readers: find: %s\n", message.c_str());
  std::abort();
}

/// Equal for messages that differ in numbers and in what they quote.
static size_t hashMessage(llvm::StringRef message) {
  std::string words;
  for (char c : message.take_until([](char c) { return c == '\n'; }))
    if (!llvm::isDigit(c))
      words += c;
  // From the first quote to the last one stands what is in the input.
  llvm::StringRef text = words;
  size_t open = text.find_first_of("'\""), close = text.find_last_of("'\"");
  if (open != close)
    words = (text.take_front(open) + text.drop_front(close)).str();
  return size_t(llvm::hash_value(words)) % kMessages;
}

extern "C" {
#if __has_feature(address_sanitizer)
/// What MLIR does with its containers, and with memory of its allocators, is
/// hidden: Debian's libraries are not instrumented.
const char *__asan_default_options() {
  return "detect_container_overflow=0:allow_user_poisoning=0";
}
#endif

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                               unsigned seed);

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  llvm::StringRef name;
  for (int i = 1; i < *argc; ++i)
    if (llvm::StringRef argument = (*argv)[i];
        argument.consume_front("--reader="))
      name = argument;
    else if (argument.starts_with("--"))
      std::fprintf(stderr, "regather-fuzz-readers: unknown flag %s\n",
                   (*argv)[i]),
          std::exit(2);
  for (const Reader *one : kReaders)
    if (name == llvm::StringRef(one->name))
      reader = one;
  if (reader)
    return 0;
  std::string names;
  for (const Reader *one : kReaders)
    names += (names.empty() ? "" : ", ") + std::string(one->name);
  std::fprintf(stderr,
               "regather-fuzz-readers: expects --reader=NAME, one of %s\n",
               names.c_str());
  std::exit(2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string why = reader->read({reinterpret_cast<const char *>(data), size});
  messages[hashMessage(why)] = 1;
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                               unsigned seed) {
  return reader->mutate ? reader->mutate(data, size, maxSize, seed)
                        : LLVMFuzzerMutate(data, size, maxSize);
}
}
