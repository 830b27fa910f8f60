//===- PartitionedStep.cpp - Run forward, then backward -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Engines/PartitionedStep.h"

#include <algorithm>
#include <chrono>

using namespace regather;

namespace {
class PartitionedEngine : public Engine {
public:
  PartitionedEngine(StepPartition partition, std::unique_ptr<Engine> forward,
                    std::unique_ptr<Engine> backward)
      : partition(std::move(partition)), forward(std::move(forward)),
        backward(std::move(backward)) {}

  std::string getName() const override { return forward->getName(); }
  bool run(std::vector<RankValues> &arguments,
           std::vector<RankValues> &results) override;
  std::optional<int32_t> getOnlyRank() const override {
    return backward->getOnlyRank();
  }
  Result<std::vector<HostTensor>> gather(const HostTensor &tensor) override {
    return backward->gather(tensor);
  }
  Result<std::vector<HostTensor>> exchange(const HostTensor &tensor) override {
    return backward->exchange(tensor);
  }
  Result<bool> agreeToStop(int64_t step, bool wants) override {
    return backward->agreeToStop(step, wants);
  }
  std::optional<int64_t> getPeakBytes() const override;
  std::vector<double> getWaitSeconds() const override;
  int32_t getThreads() const override { return forward->getThreads(); }
  std::vector<std::vector<RunSpan>> getSpans() const override;
  std::optional<ArenaReport> getArena() const override;
  std::optional<KernelCounts> getKernels() const override;

private:
  StepPartition partition;
  std::unique_ptr<Engine> forward, backward;
  /// When backward began in the last run, since forward did.
  double backwardBegin = 0;
};
} // namespace

bool PartitionedEngine::run(std::vector<RankValues> &arguments,
                            std::vector<RankValues> &results) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin = Clock::now();
  results.assign(arguments.size(), {});
  {
    // Engines do not write to bytes that others share: backward reads the
    // arguments as they were, whatever forward updates.
    std::vector<RankValues> copies = arguments, returned;
    if (!forward->run(copies, returned))
      return false;
    for (size_t rank = 0; rank < arguments.size(); ++rank) {
      for (unsigned number : partition.returned)
        results[rank].push_back(returned[rank][number]);
      for (unsigned number : partition.saved)
        arguments[rank].push_back(returned[rank][number]);
    }
  }
  backwardBegin = std::chrono::duration<double>(Clock::now() - begin).count();
  std::vector<RankValues> returned;
  bool succeeded = backward->run(arguments, returned);
  for (size_t rank = 0; rank < arguments.size(); ++rank) {
    arguments[rank].resize(arguments[rank].size() - partition.saved.size());
    if (succeeded)
      results[rank].insert(results[rank].end(), returned[rank].begin(),
                           returned[rank].end());
  }
  return succeeded;
}

std::optional<int64_t> PartitionedEngine::getPeakBytes() const {
  std::optional<int64_t> first = forward->getPeakBytes();
  std::optional<int64_t> second = backward->getPeakBytes();
  if (!first || !second)
    return std::nullopt;
  return std::max(*first, *second);
}

std::vector<double> PartitionedEngine::getWaitSeconds() const {
  std::vector<double> sum = forward->getWaitSeconds();
  std::vector<double> second = backward->getWaitSeconds();
  if (sum.size() != second.size())
    return {};
  for (size_t rank = 0; rank < sum.size(); ++rank)
    sum[rank] += second[rank];
  return sum;
}

std::vector<std::vector<RunSpan>> PartitionedEngine::getSpans() const {
  std::vector<std::vector<RunSpan>> ranks = forward->getSpans();
  std::vector<std::vector<RunSpan>> second = backward->getSpans();
  if (ranks.size() != second.size())
    return {};
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    for (RunSpan &span : second[rank]) {
      span.begin += backwardBegin;
      span.end += backwardBegin;
      ranks[rank].push_back(std::move(span));
    }
  return ranks;
}

std::optional<ArenaReport> PartitionedEngine::getArena() const {
  std::optional<ArenaReport> sum = forward->getArena();
  std::optional<ArenaReport> second = backward->getArena();
  if (!sum || !second)
    return std::nullopt;
  // Each part has an arena of its own.
  sum->planned += second->planned;
  sum->lowerBound += second->lowerBound;
  if (sum->touched && second->touched)
    *sum->touched += *second->touched;
  sum->plannedOnHost += second->plannedOnHost;
  // Arguments are those of the whole step; either part has some of them.
  sum->argumentsOnHost =
      std::max(sum->argumentsOnHost, second->argumentsOnHost);
  if (sum->touchedOnHost && second->touchedOnHost)
    *sum->touchedOnHost += *second->touchedOnHost;
  return sum;
}

std::optional<KernelCounts> PartitionedEngine::getKernels() const {
  std::optional<KernelCounts> sum = forward->getKernels();
  std::optional<KernelCounts> second = backward->getKernels();
  if (!sum || !second)
    return std::nullopt;
  sum->count += second->count;
  sum->compiled += second->compiled;
  sum->cached += second->cached;
  return sum;
}

std::unique_ptr<Engine>
regather::createPartitionedEngine(StepPartition partition,
                                  std::unique_ptr<Engine> forward,
                                  std::unique_ptr<Engine> backward) {
  return std::make_unique<PartitionedEngine>(
      std::move(partition), std::move(forward), std::move(backward));
}
