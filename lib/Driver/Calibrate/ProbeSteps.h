//===- ProbeSteps.h - Steps by which a machine is measured ------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DRIVER_CALIBRATE_PROBESTEPS_H
#define REGATHER_LIB_DRIVER_CALIBRATE_PROBESTEPS_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <string>

namespace regather {

/// A step of GEMMs and attention in f32 and bf16, of kernels that move bytes
/// that a cache holds and bytes that none does, and of one that computes much
/// and moves little. It is text of MLIR, as all of these are.
std::string makeComputationProbe();

/// A step in which `ranks` ranks gather, reduce-scatter and all-reduce tensors
/// whose shards have so many elements of f32, one after the other.
std::string makeCollectiveProbe(int64_t ranks,
                                llvm::ArrayRef<int64_t> shardSizes);

} // namespace regather

#endif // REGATHER_LIB_DRIVER_CALIBRATE_PROBESTEPS_H
