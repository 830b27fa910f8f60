//===- CreateEngine.h - Engines of modules ----------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_STEPANALYSIS_CREATEENGINE_H
#define REGATHER_STEPANALYSIS_CREATEENGINE_H

#include "regather/Execution/Engines/Communicator.h"
#include "regather/Execution/Engines/Engine.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <functional>
#include <map>
#include <memory>

struct rg_transport;

namespace regather {

struct ProgramOptions;

struct EngineOptions {
  /// Number of ranks; the size of the mesh if the module declares one.
  int64_t ranks = 1;
  /// Draws the order in which the interpreter runs ranks and completes
  /// collectives. Has no effect on results.
  uint64_t seed = 0;
  /// Seconds after which a wait of the native engine gives up.
  double timeoutSeconds = 600;
  /// Threads on which each rank of the native engine computes; if 0, those of
  /// the machine are divided between the ranks. Has no effect on results.
  int32_t threads = 0;
  /// Of the native engine. Has no effect on results.
  CommunicatorOptions communicator;
  /// With it, the native engine runs one rank of a job; outlives the engine.
  const rg_transport *transport = nullptr;
  /// The native engine finds out how much of its arena is really used.
  bool watchArena = false;
  /// The native engine keeps when its instructions run.
  bool recordSpans = false;
  /// How the native engine lowers the step; null for the defaults.
  const ProgramOptions *program = nullptr;
  /// Threads on which the native engine compiles kernels; one for each core if
  /// 0. Has no effect on results.
  unsigned compileThreads = 0;
  /// The native engine optimises its kernels. Has no effect on results.
  bool optimizesKernels = true;
  /// Folder in which the native engine keeps compiled kernels, for all
  /// processes of the user; none if empty. Has no effect on results.
  std::string cacheDirectory;
  /// Called when another kernel is ready; on any thread, but not on two at
  /// once.
  std::function<void(int64_t done, int64_t total)> onKernelReady;
  /// Called if kernels could not be stored in the cache.
  std::function<void(const std::string &message)> onCacheError;
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

#endif // REGATHER_STEPANALYSIS_CREATEENGINE_H
