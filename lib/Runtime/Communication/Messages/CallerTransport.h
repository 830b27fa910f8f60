//===- CallerTransport.h - Messages by functions of the caller --*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_COMMUNICATION_MESSAGES_CALLERTRANSPORT_H
#define REGATHER_LIB_RUNTIME_COMMUNICATION_MESSAGES_CALLERTRANSPORT_H

#include "MessageTransport.h"
#include "regather/Runtime/Transport.h"

#include <chrono>
#include <unordered_map>

namespace regather::runtime {

/// What whoever calls the C interface gives.
class CallerTransport : public MessageTransport {
public:
  /// Checks what can be checked: functions are there, and numbers of ranks fit.
  static Result<CallerTransport> create(const rg_transport &functions);

  int32_t getRank() const override { return functions.rank; }
  int32_t getNumRanks() const override { return functions.ranks; }
  Result<uint64_t> send(int32_t to, int32_t channel, const void *data,
                        int64_t bytes) override;
  Result<uint64_t> receive(int32_t from, int32_t channel, void *data,
                           int64_t bytes) override;
  Result<bool> test(uint64_t number) override;
  void abort() override { functions.abort(functions.context); }

private:
  explicit CallerTransport(const rg_transport &functions)
      : functions(functions) {}

  Failure describe() const;

  using Clock = std::chrono::steady_clock;

  /// When a message was asked for last, and what `changes` was before that.
  struct Asked {
    uint64_t changes;
    Clock::time_point time;
  };

  rg_transport functions;
  /// Messages that were not done.
  std::unordered_map<uint64_t, Asked> asked;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_COMMUNICATION_MESSAGES_CALLERTRANSPORT_H
