//===- StepChanges.h - Changes that may help a step ----------- -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DRIVER_REPORT_STEPCHANGES_H
#define REGATHER_LIB_DRIVER_REPORT_STEPCHANGES_H

#include "CollectAdvice.h"

#include <functional>

namespace regather {

/// Changes of one kind exclude each other.
enum class ChangeKind {
  Order,
  Buckets,
  Resharding,
  Recomputation,
  Attention,
  Experts,
  Mesh,
  Work
};

/// Another way to prepare a step.
struct StepChange {
  ChangeKind kind;
  std::string title, explanation, flags;
  std::function<void(StepOptions &)> apply;
  /// Batches that one step works on then.
  double batches = 1;
};

/// The changes that apply: what is asked for already is none, nor is what the
/// step has no use for.
std::vector<StepChange> findChanges(const AdvisedStep &step);

} // namespace regather

#endif // REGATHER_LIB_DRIVER_REPORT_STEPCHANGES_H
