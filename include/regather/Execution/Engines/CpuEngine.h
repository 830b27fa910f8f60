//===- CpuEngine.h - Tables that run ----------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_EXECUTION_ENGINES_CPUENGINE_H
#define REGATHER_EXECUTION_ENGINES_CPUENGINE_H

#include "regather/Execution/Engines/Engine.h"
#include "regather/Runtime/Executor.h"

#include <functional>
#include <memory>

namespace regather {

/// Runs the tables of a program, of a bundle or in memory. Needs no LLVM.
class CpuEngine : public Engine {
public:
  /// Told why a step failed, and at which instruction, or at none: -1.
  using Reporter =
      std::function<void(const std::string &message, int64_t instruction)>;

  /// Takes all memory that steps need. The program outlives the engine, and so
  /// does what the options' transport needs, with which this is one rank of a
  /// job.
  static Result<std::unique_ptr<CpuEngine>>
  create(const rg_program &program, const rg_executor_options &options,
         Reporter reporter);
  ~CpuEngine() override;

  std::string getName() const override { return "cpu"; }
  std::optional<int32_t> getOnlyRank() const override { return onlyRank; }
  Result<std::vector<HostTensor>> gather(const HostTensor &tensor) override;
  Result<std::vector<HostTensor>> exchange(const HostTensor &tensor) override;
  Result<bool> agreeToStop(int64_t step, bool wants) override;
  bool run(std::vector<RankValues> &arguments,
           std::vector<RankValues> &results) override;
  std::optional<int64_t> getPeakBytes() const override;
  std::vector<double> getWaitSeconds() const override { return waitSeconds; }
  int32_t getThreads() const override;
  std::vector<std::vector<RunSpan>> getSpans() const override;
  std::optional<ArenaReport> getArena() const override;

private:
  CpuEngine(const rg_program &program, Reporter reporter)
      : program(program), reporter(std::move(reporter)) {}

  /// Sends a tensor of each rank to one, or to all.
  Result<std::vector<HostTensor>> collect(const HostTensor &tensor, int32_t to);
  bool measureWaits();
  HostTensor getResult(RankValues &arguments, int32_t rank, int64_t i) const;

  const rg_program &program;
  Reporter reporter;
  rg_executor *executor = nullptr;
  /// In a job, which rank this is, of how many.
  std::optional<int32_t> onlyRank;
  int32_t jobRanks = 0;
  std::vector<double> waitSeconds;
};

} // namespace regather

#endif // REGATHER_EXECUTION_ENGINES_CPUENGINE_H
