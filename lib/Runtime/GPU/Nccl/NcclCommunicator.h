//===- NcclGroup.h - Collectives by NCCL ------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_NCCL_NCCLCOMMUNICATOR_H
#define REGATHER_LIB_RUNTIME_GPU_NCCL_NCCLCOMMUNICATOR_H

#include "CollectiveLog.h"
#include "GPU/Communication/DeviceCommunicator.h"
#include "NcclGroup.h"
#include "Watchdog.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

namespace regather::runtime {

struct NcclOptions {
  int32_t rank = 0;
  int32_t ranks = 1;
  /// The library to open; empty for the one of the system.
  std::string library;
  /// Sums in rank order, with the bits that ranks on a host give, instead of
  /// the library's order, which depends on the machine.
  bool isReproducible = false;
  /// As in PlanOptions.
  int64_t reductionBytes = int64_t(64) << 20;
  /// Seconds that ranks wait for each other when communicators are made.
  double setupSeconds = 300;
  /// How long a failed step waits for communicators to end. What is left ends
  /// in the background, or with the process.
  double abortSeconds = 10;
  Watchdog::Options watchdog;
  /// Collectives that are remembered, and the file that they are written to on
  /// a failure; none if it is empty.
  int64_t logEntries = 1024;
  std::string logFile;
};

/// One rank in each process. Groups have one communicator for collectives that
/// move data and one for reductions, made in one order on all ranks: that of
/// the axes of the program.
class NcclCommunicator : public DeviceCommunicator {
public:
  NcclCommunicator(const DriverApi &driver, RankStore &store,
                   NcclOptions options);
  ~NcclCommunicator() override;

  /// Opens the library. Before all else.
  Failure open();

  Result<CuAddress> allocate(int64_t bytes) override;
  Failure prepare(const rg_program &program, bool inGraphs) override;
  void beginStep() override;
  void endStep() override;
  Failure start(int32_t rank, int64_t instruction, const CuAddress *buffers,
                CuStream stream) override;
  void replay(int64_t instruction) override;
  Failure poll() override;
  void abort(const std::string &reason) override;
  int64_t estimateLibraryBytes(const rg_program &program) const override;
  int64_t getStagingBytes() const override { return stagingBytes; }

private:
  using Clock = std::chrono::steady_clock;

  Failure planCollectives();
  Failure createGroups(bool inGraphs);
  Failure makeStaging();
  Failure makeMarks();
  Failure mark(const volatile uint32_t &place, uint32_t value, CuStream stream);
  /// After half of its time a step takes long.
  double getLongSeconds() const { return options.watchdog.stepSeconds / 2; }
  bool isStepLong() const;
  Failure pollGroups();
  Failure pollFailure();
  void fail(const std::string &reason);
  void startAbort();
  void awaitAbort();

  struct PlannedCollective {
    CollectivePlan plan;
    NcclGroup *group = nullptr;
    int64_t bytes = 0;
  };
  struct Arena {
    CuAddress address;
    int64_t bytes;
  };

  const DriverApi &driver;
  RankStore &store;
  const NcclOptions options;
  /// With the communicators, also of threads that end these.
  std::shared_ptr<NcclApi> nccl = std::make_shared<NcclApi>();
  PlanRunner runner;
  const rg_program *program = nullptr;
  std::vector<PlannedCollective> collectives;
  std::vector<std::shared_ptr<NcclGroup>> groups;
  /// Counts the communicators that are being ended.
  struct Ending {
    std::mutex mutex;
    std::condition_variable wake;
    size_t numLeft = 0;
  };
  std::shared_ptr<Ending> ending = std::make_shared<Ending>();
  std::vector<Arena> arenas;
  /// For each stream.
  std::vector<CuAddress> staging;
  int64_t stagingBytes = 0;
  /// For each instruction that is a collective, its number among those, from 1.
  std::vector<uint32_t> marks;
  /// The numbers from 0 on, on the device, and where they are copied to.
  CuAddress numbers = 0;
  StreamProgress *progress = nullptr;

  CollectiveLog log;
  std::mutex failureMutex;
  Failure failure;
  /// Nobody waits for the end a second time.
  std::atomic<bool> hasAwaitedAbort{false};
  /// Read by the watchdog.
  std::atomic<Clock::time_point> stepBegin{};
  /// Ends before all that it looks at.
  std::unique_ptr<Watchdog> watchdog;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_NCCL_NCCLCOMMUNICATOR_H
