//===- NcclRanks.h - Ranks with the stand-in NCCL ---------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_UNIT_RUNTIME_GPU_NCCL_NCCLRANKS_H
#define REGATHER_TEST_UNIT_RUNTIME_GPU_NCCL_NCCLRANKS_H

#include "../Communication/CollectiveBuffers.h"
#include "GPU/Nccl/NcclCommunicator.h"

#include <condition_variable>
#include <functional>
#include <map>
#include <thread>

namespace regather::runtime {

/// A store for ranks that are threads.
class ThreadStore : public RankStore {
public:
  explicit ThreadStore(int32_t ranks) : ranks(ranks) {}

  Failure set(const std::string &key, const std::string &value) override {
    std::lock_guard<std::mutex> lock(mutex);
    EXPECT_TRUE(values.emplace(key, value).second) << key << " is set twice";
    wake.notify_all();
    return Failure();
  }
  Result<std::string> get(const std::string &key, int32_t owner) override {
    std::unique_lock<std::mutex> lock(mutex);
    wake.wait(lock, [&] { return values.count(key) != 0; });
    return values[key];
  }
  Failure barrier(const std::string &name) override {
    std::unique_lock<std::mutex> lock(mutex);
    ++numArrived[name];
    wake.notify_all();
    wake.wait(lock, [&] { return numArrived[name] == ranks; });
    return Failure();
  }

  Failure callRoll(const std::string &name, const std::vector<int32_t> &group,
                   double seconds) override {
    return Failure();
  }

private:
  const int32_t ranks;
  std::mutex mutex;
  std::condition_variable wake;
  std::map<std::string, std::string> values;
  std::map<std::string, int32_t> numArrived;
};

/// What one rank of a test has.
struct NcclRank {
  int32_t rank;
  NcclCommunicator &communication;
  CuStream stream;

  Failure prepare(const CollectiveProgram &program) const {
    return communication.prepare(*program.get().program,
                                 program.get().graph_count > 0);
  }
};

/// Runs `body` for each rank, on a thread of its own, with communication that
/// is open but not prepared.
inline void runNcclRanks(const DriverApi &driver, int32_t ranks,
                         NcclOptions options,
                         const std::function<void(const NcclRank &)> &body) {
  ThreadStore store(ranks);
  std::vector<std::thread> threads;
  for (int32_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank, options]() mutable {
      options.rank = rank;
      options.ranks = ranks;
      options.library = REGATHER_RECORDING_LIBRARY;
      if (!options.logFile.empty())
        options.logFile += std::to_string(rank);
      NcclCommunicator communication(driver, store, options);
      ASSERT_EQ(getMessage(communication.open()), "");
      CuStream stream = nullptr;
      ASSERT_EQ(driver.cuStreamCreate(&stream, kCuStreamNonBlocking),
                kCuSuccess);
      body({rank, communication, stream});
      driver.cuStreamDestroy_v2(stream);
    });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace regather::runtime

#endif // REGATHER_TEST_UNIT_RUNTIME_GPU_NCCL_NCCLRANKS_H
