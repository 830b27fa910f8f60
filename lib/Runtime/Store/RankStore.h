//===- RankStore.h - What ranks tell each other at first --------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_STORE_RANKSTORE_H
#define REGATHER_LIB_RUNTIME_STORE_RANKSTORE_H

#include "regather/Support/Result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace regather::runtime {

/// Values under keys that all ranks see, with which they find each other before
/// they have communicators.
class RankStore {
public:
  virtual ~RankStore() = default;

  virtual Failure set(const std::string &key, const std::string &value) = 0;

  /// Waits until rank `owner` has set the key. Fails if it does not in time.
  virtual Result<std::string> get(const std::string &key, int32_t owner) = 0;

  /// Waits until all ranks are here. When time is over, it fails and names
  /// those who are not.
  virtual Failure barrier(const std::string &name) = 0;

  /// Asked by all of some ranks at about the same time, when they have waited
  /// for each other in vain: fails, and names them, if some do not ask within
  /// `seconds`, as they have stopped.
  virtual Failure callRoll(const std::string &name,
                           const std::vector<int32_t> &group,
                           double seconds) = 0;

  /// Lets the others know that this process has not stopped. Any thread may
  /// call it.
  virtual void sayAlive() {}
  /// Says that this rank ends as it should: from then on it has not died.
  virtual void leave() {}
  /// Lets the others know why this rank ends before the job does, in one line.
  /// Any thread may call it.
  virtual void tellFailure(const std::string &reason) {}
  /// Which rank was the first to end so or without a word, and why if it has
  /// said so; empty if none is known to. Never blocks. Any thread may call it.
  virtual std::string describeDead() { return ""; }
  /// The ranks of which nothing was heard for some seconds, in words; empty if
  /// there are none. Any thread may call it.
  virtual std::string describeSilent(double seconds) { return ""; }
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_STORE_RANKSTORE_H
