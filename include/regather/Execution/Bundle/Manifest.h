//===- Manifest.h - What a bundle says about itself -------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_EXECUTION_BUNDLE_MANIFEST_H
#define REGATHER_EXECUTION_BUNDLE_MANIFEST_H

#include "regather/Execution/Tensors/StepSignature.h"
#include "regather/Execution/Training/RunReport.h"

namespace regather {

/// What a bundle says about one of its programs.
struct ProgramSummary {
  /// Bytes of the arena of each rank, and the most that are live at once.
  int64_t arenaBytes = 0;
  int64_t arenaLowerBound = 0;
  std::vector<CollectiveSummary> collectives;
  /// Equal for steps whose ranks can communicate with each other.
  std::string fingerprint;
  int64_t kernels = 0;
};

/// Everything that a run of a bundle has to know besides its tables and code.
struct Manifest {
  /// Changes whenever a reader of an older one would misread it.
  static constexpr int64_t kSchema = 1;

  StepSignature step;
  ProgramSummary program;
  /// Of the program that runs the step again with room for the rows of all
  /// experts, if the step may have too little. It takes the same arguments and
  /// has the same results but for the overflow.
  std::optional<ProgramSummary> roomy;
  /// Such as "x86_64".
  std::string machine;
  /// What code may use beyond what all such machines have; see TargetMachine.h.
  std::vector<std::string> features;
  /// What its kernels run on, such as "nvptx:sm_90a"; empty if that is the
  /// processor.
  std::string device;
  /// Of a manifest that was read from a bundle: which file that was, and of
  /// what time. No part of the text.
  std::string file;
};

/// The manifest as JSON, over several lines.
std::string formatManifest(const Manifest &manifest);

/// Reads what formatManifest wrote. The message does not name the file.
Result<Manifest> parseManifest(std::string_view text);

} // namespace regather

#endif // REGATHER_EXECUTION_BUNDLE_MANIFEST_H
