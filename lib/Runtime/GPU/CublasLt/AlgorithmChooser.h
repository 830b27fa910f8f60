//===- AlgorithmChooser.h - Choose how GEMMs are computed -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_CUBLASLT_ALGORITHMCHOOSER_H
#define REGATHER_LIB_RUNTIME_GPU_CUBLASLT_ALGORITHMCHOOSER_H

#include "AlgorithmFile.h"
#include "Gemm.h"
#include "GemmTimer.h"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace regather::runtime {

/// Chooses the algorithm of one GEMM after the other: the one in the file,
/// else the library's first proposal, or the fastest of its first ones. Of
/// large GEMMs it takes what has run once. What is chosen goes to the file,
/// so that equal GEMMs are asked for, timed and tried once.
class AlgorithmChooser {
public:
  enum class Mode {
    /// Takes what the file has as it stands: another rank has tried it.
    Given,
    /// Takes the first proposal, of large GEMMs the first that runs.
    First,
    /// Takes the fastest proposal.
    Timed
  };
  /// `timingBytes` of device memory are enough to run any of the GEMMs that
  /// are timed or tried.
  AlgorithmChooser(AlgorithmFile &file, const DriverApi &driver, Mode mode,
                   int64_t timingBytes)
      : file(file), driver(driver), mode(mode), timingBytes(timingBytes) {}

  /// Why the library has no algorithm, if it has none. Fails if the device
  /// does, or has not enough memory.
  using Choice = Result<std::optional<std::string>>;
  Choice choose(CublasLtGemm &gemm);

private:
  Failure openTimer();
  /// Finds the first proposal that runs.
  Choice tryOut(CublasLtGemm &gemm, const std::vector<LtProposal> &proposals,
                RecordedAlgorithm &chosen);
  /// Times the proposals and fills in the times and the fastest.
  Choice time(CublasLtGemm &gemm, const std::vector<LtProposal> &proposals,
              RecordedAlgorithm &chosen);

  AlgorithmFile &file;
  const DriverApi &driver;
  Mode mode;
  int64_t timingBytes;
  /// Keys of large GEMMs whose algorithm in the file has run.
  std::set<std::string> tried;
  /// Made when it is first needed.
  std::unique_ptr<GemmTimer> timer;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_CUBLASLT_ALGORITHMCHOOSER_H
