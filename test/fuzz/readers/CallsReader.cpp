//===- CallsReader.cpp - Records of calls ---------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JsonMutation.h"
#include "Reader.h"

#include "regather/Analysis/CallOrder.h"

using namespace regather;
using namespace regather::fuzz;

static std::string readCallsBytes(std::string_view bytes) {
  llvm::Expected<std::vector<RecordedCall>> calls =
      parseCalls({bytes.data(), bytes.size()});
  if (!calls)
    return llvm::toString(calls.takeError());
  for (const CallFinding &finding : checkCalls({*calls}))
    if (finding.message.empty() || finding.line < 0)
      reportFind("a finding without a message or a line");
  return std::string();
}

/// Changes one line of the record.
static size_t mutateCalls(uint8_t *data, size_t size, size_t maxSize,
                          unsigned seed) {
  llvm::StringRef text(reinterpret_cast<char *>(data), size);
  size_t begin = size == 0 ? 0 : seed % size;
  begin = text.take_front(begin).rfind('\n') + 1;
  size_t end = std::min(text.find('\n', begin), size);
  if (seed % 8 == 0 || begin == end)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::string tail = text.drop_front(end).str();
  size_t length = mutateJson(data + begin, end - begin,
                             maxSize - begin - tail.size(), seed / 8);
  llvm::copy(tail, data + begin + length);
  return begin + length + tail.size();
}

const Reader regather::fuzz::callsReader = {"calls", readCallsBytes,
                                            mutateCalls};
