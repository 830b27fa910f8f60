//===- AlgorithmChooser.h - Choose how products are computed ----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_ALGORITHMCHOOSER_H
#define REGATHER_LIB_RUNTIME_GPU_ALGORITHMCHOOSER_H

#include "AlgorithmFile.h"
#include "CublasLtProduct.h"
#include "ProductTimer.h"

#include <memory>

namespace regather::runtime {

/// Chooses the algorithm of one product after the other: the one in the file,
/// else the library's first proposal, or the fastest of its first ones. What is
/// chosen goes to the file, so that equal products are asked for and timed
/// once.
class AlgorithmChooser {
public:
  /// `timingBytes` of device memory are enough to time any of the products; 0
  /// if nothing is to be timed.
  AlgorithmChooser(AlgorithmFile &file, const DriverApi &driver,
                   int64_t timingBytes)
      : file(file), driver(driver), timingBytes(timingBytes) {}

  enum class Choice {
    Made,
    /// The library has no algorithm.
    None,
    /// The device has failed, or has not enough memory.
    Failed
  };
  /// The message says why there is no choice.
  Choice choose(CublasLtProduct &product, std::string &message);

private:
  /// Times the proposals and fills in the times and the fastest.
  Choice time(CublasLtProduct &product,
              const std::vector<LtProposal> &proposals,
              RecordedAlgorithm &chosen, std::string &message);

  AlgorithmFile &file;
  const DriverApi &driver;
  int64_t timingBytes;
  /// Made when it is first needed.
  std::unique_ptr<ProductTimer> timer;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_ALGORITHMCHOOSER_H
