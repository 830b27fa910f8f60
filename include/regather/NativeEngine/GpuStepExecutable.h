//===- GpuStepExecutable.h - A step on a GPU --------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_NATIVEENGINE_GPUSTEPEXECUTABLE_H
#define REGATHER_NATIVEENGINE_GPUSTEPEXECUTABLE_H

#include "regather/Execution/Tensors/StepSignature.h"
#include "regather/Program/GpuStepTables.h"
#include "regather/Runtime/GpuExecutor.h"

#include <memory>
#include <mutex>

namespace regather {

/// One rank of a step on a GPU of this machine. Its arguments lie on the device
/// from run to run; the caller has memory of the host for what it gives and
/// takes. Threads that call at once take turns.
class GpuStepExecutable {
public:
  struct Options {
    /// As the driver counts.
    int32_t device = 0;
    /// Seconds that the device may take for a step; 0: the runtime's default.
    double timeoutSeconds = 0;
    /// With it, this is one rank of a job; functions are copied.
    const rg_store *store = nullptr;
    /// Arguments that are no inputs lie in the memory of those of the same name
    /// that this one has; null: each has memory of its own. It is kept.
    std::shared_ptr<GpuStepExecutable> owner;
    /// The context of the compiled step, which is kept.
    std::shared_ptr<mlir::MLIRContext> context;
  };

  /// Loads a step that was compiled for the device, and takes all memory.
  static Result<std::shared_ptr<GpuStepExecutable>>
  create(CompiledGpuStep compiled, const StepSignature &signature,
         const Options &options);
  ~GpuStepExecutable();
  GpuStepExecutable(const GpuStepExecutable &) = delete;
  GpuStepExecutable &operator=(const GpuStepExecutable &) = delete;

  const rg_program &getProgram() const { return *tables.get().program; }
  int32_t getDevice() const { return device; }
  /// Of the device, outside of arguments.
  int64_t getBytes() const { return rg_gpu_executor_bytes(executor); }
  /// True for an update, which takes the place of its argument.
  bool isUpdate(int64_t result) const { return updates[result] >= 0; }

  /// Copies an argument from the host or from memory of the device that is
  /// ready, or to the host. Until it is written its contents are undefined.
  Failure write(int64_t argument, const void *data, bool isOnDevice);
  Failure read(int64_t argument, void *data);

  /// Runs the step. `arguments[i]` is copied to the device before it unless it
  /// is null, and so are results to `results[i]` after it. An update is in its
  /// argument then. A failure of the step itself says where it stopped; no step
  /// can be run then.
  Failure run(void *const *arguments, void *const *results);

private:
  GpuStepExecutable(CompiledGpuStep compiled, const StepSignature &signature,
                    const Options &options);

  Result<std::vector<uint64_t>> findAddresses() const;
  Failure check(rg_status status);

  std::shared_ptr<mlir::MLIRContext> context;
  CompiledGpuStep step;
  GpuStepTables tables;
  std::vector<StepValue> arguments;
  /// For each result the argument that it updates; -1 for none.
  std::vector<int64_t> updates;
  /// The same as a list.
  std::vector<int64_t> updatingResults, updatedArguments;
  int32_t device;
  std::shared_ptr<GpuStepExecutable> owner;
  rg_gpu_executor *executor = nullptr;
  std::mutex running;
};

} // namespace regather

#endif // REGATHER_NATIVEENGINE_GPUSTEPEXECUTABLE_H
