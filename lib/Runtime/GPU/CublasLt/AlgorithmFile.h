//===- AlgorithmFile.h - Algorithms that were chosen ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_CUBLASLT_ALGORITHMFILE_H
#define REGATHER_LIB_RUNTIME_GPU_CUBLASLT_ALGORITHMFILE_H

#include "CublasLtApi.h"

#include <nlohmann/json_fwd.hpp>

#include <map>
#include <string>
#include <vector>

namespace regather::runtime {

/// How a GEMM is computed, and what that was chosen from.
struct RecordedAlgorithm {
  LtAlgorithm algorithm = {};
  /// Which of the library's proposals it is.
  int64_t proposal = 0;
  /// What each of them took, NaN for one that has failed. Empty if they were
  /// not timed.
  std::vector<double> microseconds;

  bool isTimed() const { return !microseconds.empty(); }
};

/// The algorithm of each GEMM, kept from run to run: a JSON file,
///
///   {"library": "cuBLASLt 13.1.2", "device": "NVIDIA H100 80GB HBM3",
///    "algorithms": {"a'=bf16[64,...": {"words": ["0123456789abcdef", ...],
///                   "proposal": 1, "microseconds": [31.5, 30.25]}, ...}}
///
/// with the eight words of an algorithm in hexadecimal digits. It says what a
/// run has used, and pins it: a run on the same device with the same library
/// takes it as it stands.
class AlgorithmFile {
public:
  /// What `parse` accepts and `print` says.
  AlgorithmFile(std::string library, std::string device)
      : library(std::move(library)), device(std::move(device)) {}

  /// Takes the algorithms of a file's text, if it is one for this library and
  /// device. Anything else counts as none.
  void parse(const std::string &text);
  /// Without what the file may have besides.
  std::string print() const;

  /// Replaces the file.
  Failure write(const std::string &path) const;

  /// The member that is kept as it is: EngineFile.h writes it.
  static constexpr const char *kAttention = "attention";

  /// The object that a text is, if it is one that can be copied and printed;
  /// else an empty one.
  static nlohmann::json parseObject(const std::string &text);
  /// The text of a file; none if it cannot be read.
  static std::string load(const std::string &path);
  /// Replaces a file as a whole: whoever reads it sees all of the old text or
  /// all of the new one.
  static Failure replace(const std::string &path, const std::string &text);

  /// Null if there is none.
  const RecordedAlgorithm *find(const std::string &gemm) const;
  void set(const std::string &gemm, RecordedAlgorithm algorithm);
  /// True if `set` has changed something.
  bool isChanged() const { return changed; }

private:
  std::string library, device;
  std::map<std::string, RecordedAlgorithm> algorithms;
  bool changed = false;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_CUBLASLT_ALGORITHMFILE_H
