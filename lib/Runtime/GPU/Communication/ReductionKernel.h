//===- ReductionKernel.h - Reductions in rank order on GPUs -----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels that reduce what has arrived from other ranks, as PTX that is put
// together here: one for each element type, accumulation type and reduction.
// They give the bits that Reduction.cpp gives on the host. Their parameters are
//
//   target, first contribution, bytes between two contributions,
//   number of contributions, number of elements
//
// all with 64 bits, and any grid of one dimension covers all elements.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_COMMUNICATION_REDUCTIONKERNEL_H
#define REGATHER_LIB_RUNTIME_GPU_COMMUNICATION_REDUCTIONKERNEL_H

#include "Communication/Reduction.h"

#include <string>

namespace regather::runtime {

inline constexpr unsigned kReductionThreads = 256;
/// More blocks would each have less than one element for a thread.
inline constexpr int64_t kMaxReductionBlocks = 4096;

/// Such as "regather_reduce_sum_bf16_f32".
std::string getReductionKernelName(const ReductionType &type);

/// A module for sm_80 and later with all kernels.
std::string writeReductionKernels();

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_COMMUNICATION_REDUCTIONKERNEL_H
