//===- CallerStore.h - A store of the caller --------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_STORE_CALLERSTORE_H
#define REGATHER_LIB_RUNTIME_STORE_CALLERSTORE_H

#include "RankStore.h"

#include "regather/Runtime/Store.h"

#include <chrono>
#include <mutex>

namespace regather::runtime {

/// Values in a store that somebody else keeps. Nothing tells it what happens
/// there, so that it looks again and again, ever less often; where all ranks
/// wait for each other, rank 0 alone looks for all of them. A rank that dies
/// without a word is not known to be dead unless the caller sets the key
/// "failed" of the store.
class CallerStore : public RankStore {
public:
  /// Requests wait at most `seconds`.
  CallerStore(const rg_store &store, double seconds)
      : table(store), seconds(seconds) {}

  Failure set(const std::string &key, const std::string &value) override;
  Result<std::string> get(const std::string &key, int32_t owner) override;
  Failure barrier(const std::string &name) override { return agree(name, ""); }
  Failure callRoll(const std::string &name, const std::vector<int32_t> &group,
                   double rollSeconds) override;
  void tellFailure(const std::string &reason) override;
  std::string describeDead() override;

  /// Waits until all ranks are here, as `barrier` does, and fails on all of
  /// them if one has another value than rank 0, with RG_ERROR_MISMATCH on rank
  /// 0.
  Failure agree(const std::string &name, const std::string &value);

private:
  using Clock = std::chrono::steady_clock;

  /// Of a key; nothing if it has none, and a failure if the store fails.
  Failure read(const std::string &key, std::string &value, bool &isThere);
  /// Waits for a value, or until another rank has failed. Nothing if time is
  /// over.
  Failure await(const std::string &key, Clock::time_point end,
                std::string &value, bool &isThere);
  Clock::time_point getEnd(double fromNow) const;
  Failure collect(const std::string &key, const std::string &name,
                  const std::string &value);
  std::string getSeconds() const;

  const rg_store table;
  const double seconds;
  /// Held by who calls a function of the table.
  std::mutex mutex;
  int64_t numBarriers = 0;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_STORE_CALLERSTORE_H
