//===- ManifestCheck.h - Whether a manifest fits together -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_EXECUTION_BUNDLE_MANIFESTCHECK_H
#define REGATHER_LIB_EXECUTION_BUNDLE_MANIFESTCHECK_H

#include "regather/Execution/Tensors/StepSignature.h"

namespace regather {

/// Checks what the compiler guarantees of a step and what its reader relies on:
/// a mesh has all ranks, the shards of a tensor make up the whole, members lie
/// in their flat tensor, updates are of an argument of the same type.
Failure checkSignature(const StepSignature &step);

} // namespace regather

#endif // REGATHER_LIB_EXECUTION_BUNDLE_MANIFESTCHECK_H
