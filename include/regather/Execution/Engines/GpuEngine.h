//===- GpuEngine.h - Tables that run on GPUs --------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_EXECUTION_ENGINES_GPUENGINE_H
#define REGATHER_EXECUTION_ENGINES_GPUENGINE_H

#include "regather/Execution/Engines/CpuEngine.h"
#include "regather/Runtime/GpuExecutor.h"

namespace regather {

/// Runs the tables of a program on a GPU. Arguments and updates stay on the
/// device: an argument is copied to it when it is another tensor than in the
/// run before. Needs no LLVM.
class GpuEngine : public Engine {
public:
  using Reporter = CpuEngine::Reporter;

  /// Sets up all that steps need. The program outlives the engine.
  static Result<std::unique_ptr<GpuEngine>>
  create(const rg_gpu_program &program, const StepSignature &step,
         const rg_gpu_executor_options &options, Reporter reporter);
  ~GpuEngine() override;

  std::string getName() const override { return "gpu"; }
  /// What could not be done but is no error; empty for nothing.
  std::string getNote() const { return rg_gpu_executor_note(executor); }
  std::optional<int32_t> getOnlyRank() const override;
  Result<bool> agreeToStop(int64_t step, bool wants) override;
  Result<std::vector<HostTensor>> gather(const HostTensor &tensor) override;
  Result<std::vector<HostTensor>> exchange(const HostTensor &tensor) override {
    // What is exchanged is the loss, of which all ranks of a job have the same.
    return std::vector<HostTensor>(static_cast<size_t>(ranks), tensor);
  }
  std::vector<double> getDeviceSeconds() const override;
  std::vector<std::vector<RunSpan>> getSpans() const override;
  bool run(std::vector<RankValues> &arguments,
           std::vector<RankValues> &results) override;
  bool fetch(std::vector<RankValues> &results) override;
  std::optional<int64_t> getPeakBytes() const override;
  std::optional<ArenaReport> getArena() const override;
  std::vector<std::string> getRoutines() const override;

private:
  GpuEngine(const rg_gpu_program &program, const StepSignature &step,
            Reporter reporter);

  bool uploadArguments(std::vector<RankValues> &arguments);
  /// Ranks count from 0 in this process.
  bool keepUpdates(int32_t rank, const RankValues &arguments);
  HostTensor download(int32_t rank, size_t result);
  bool check(rg_status status);

  const rg_program &program;
  Reporter reporter;
  /// Ranks of the job, of which this process may have one.
  const int64_t ranks;
  /// Which results are asked for after each run.
  std::vector<bool> isWanted;
  /// The result that updates each argument; -1 for none.
  std::vector<int64_t> updates;
  /// For each rank of this process the arguments that lie on the device. Those
  /// that the step may write are forgotten when it has run.
  std::vector<RankValues> resident;
  rg_gpu_executor *executor = nullptr;
};

} // namespace regather

#endif // REGATHER_EXECUTION_ENGINES_GPUENGINE_H
