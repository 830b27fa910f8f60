//===- Engine.h - What runs a step ------------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// An engine runs one function on every rank of a mesh. There are two, which
// share nothing but this interface: the interpreter, which says what programs
// mean, and the native engine, which runs compiled code.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_EXECUTION_ENGINE_H
#define REGATHER_EXECUTION_ENGINE_H

#include "regather/Execution/HostTensor.h"
#include "regather/Target/CPU/CompileKernels.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace regather {

/// The values of one rank: arguments or results of the function, in order.
/// Scalars are tensors of rank 0.
using RankValues = std::vector<HostTensor>;

class Engine {
public:
  virtual ~Engine() = default;

  /// Name as given to `--engine`.
  virtual llvm::StringRef getName() const = 0;

  /// Runs the function once on all ranks. `arguments[r]` are the arguments of
  /// rank r and match the function's types. On success `results[r]` are the
  /// results of rank r. On failure errors with locations have been emitted,
  /// all threads of the run have ended, and the engine must not be used again.
  virtual mlir::LogicalResult run(llvm::ArrayRef<RankValues> arguments,
                                  std::vector<RankValues> &results) = 0;

  /// The most bytes that the tensors of one rank took at once in the runs so
  /// far, arguments included; nothing if the engine does not count.
  virtual std::optional<int64_t> getPeakBytes() const { return std::nullopt; }

  /// Nothing if the engine does not compile.
  virtual std::optional<cpu::KernelStatistics> getKernelStatistics() const {
    return std::nullopt;
  }
};

struct EngineOptions {
  /// Number of ranks; the size of the mesh if the module declares one.
  int64_t ranks = 1;
  /// Draws the order in which the interpreter runs ranks and completes
  /// collectives. Has no effect on results.
  uint64_t seed = 0;
  /// Seconds after which a wait of the native engine gives up.
  double timeoutSeconds = 600;
  /// Threads on which the native engine compiles kernels; one for each core if
  /// 0. Has no effect on results.
  unsigned compileThreads = 0;
  /// Folder in which the native engine keeps compiled kernels, for all
  /// processes of the user; none if empty. Has no effect on results.
  std::string cacheDirectory;
  /// Called when another kernel is ready; on any thread, but not on two at
  /// once.
  std::function<void(int64_t done, int64_t total)> onKernelReady;
};

/// The oracle. Rejects, with errors that name them, all operations and types
/// that it cannot evaluate; null on failure.
std::unique_ptr<Engine> createInterpreter(mlir::func::FuncOp entry,
                                          const EngineOptions &options);

/// Compiles `entry` for the CPU of this machine. The module is left as it was;
/// null, with errors emitted, if something cannot be lowered.
std::unique_ptr<Engine> createNativeEngine(mlir::func::FuncOp entry,
                                           const EngineOptions &options);

} // namespace regather

#endif // REGATHER_EXECUTION_ENGINE_H
