//===- Bundle.h - A compiled step in a file ---------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// One file: a shared object with code and tables, the manifest, and a trailer
// by which a reader knows both before any code is loaded.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_EXECUTION_BUNDLE_BUNDLE_H
#define REGATHER_EXECUTION_BUNDLE_BUNDLE_H

#include "regather/Execution/Bundle/Manifest.h"
#include "regather/Execution/Engines/GpuEngine.h"
#include "regather/Execution/Training/RunFlags.h"

namespace regather {

/// Changes whenever a reader of an older one would misread the file.
inline constexpr uint32_t kBundleVersion = 3;

/// Writes a bundle, which appears under its name when it is complete.
Failure writeBundle(const std::string &path, std::string_view object,
                    const Manifest &manifest);

/// Reads the manifest of a bundle and checks that the file is whole. No code is
/// loaded. Messages name the file.
Result<Manifest> readManifest(const std::string &path);

/// What a user asks of the runtime that runs a bundle.
struct BundleOptions {
  /// Of bundles for processors.
  rg_executor_options executor = {};
  /// Of bundles for GPUs.
  rg_gpu_executor_options gpu = {};
  /// Kernels are to be profiled, which those of GPUs cannot be.
  bool profiles = false;
  /// The job of MPI of which this process is one rank; else null.
  std::shared_ptr<MpiJob> job;
  /// Says what could not be done but is no error.
  std::function<void(const std::string &)> reportNote;

  /// Sets what both have.
  void setRanks(int64_t ranks);
};

BundleOptions makeBundleOptions(const RunFlags &flags);

/// Loads the code of a bundle whose manifest was read, after checking that this
/// processor runs it, and takes the memory that steps need. The code stays
/// loaded until the process ends.
Result<std::unique_ptr<Engine>>
loadBundle(const std::string &path, const Manifest &manifest,
           const BundleOptions &options,
           const std::function<void(const std::string &)> &reportError);

/// True if the name of a file says that it is a bundle.
bool isBundle(const std::string &path);

/// A bundle as what is run: reads its manifest, and checks that this machine
/// runs it on as many ranks as the options ask for. What goes wrong in a step
/// is told to `reportError`.
Result<RunSubject>
describeBundle(const std::string &path, BundleOptions options,
               const std::function<void(const std::string &)> &reportError);

} // namespace regather

#endif // REGATHER_EXECUTION_BUNDLE_BUNDLE_H
