//===- DecisionRemarks.h - Why passes decide as they do ------- -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DRIVER_DECISIONREMARKS_H
#define REGATHER_DRIVER_DECISIONREMARKS_H

#include "regather/Report/StepReport.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringMap.h"

#include <optional>

namespace regather {

/// The remarks of tg-reshard-after-forward, tg-bucket-collectives and
/// tg-schedule about one step.
class DecisionRemarks {
public:
  /// The remarks of a context are heard while this lives, by nobody else.
  class Listening {
  public:
    Listening(mlir::MLIRContext &context, DecisionRemarks &remarks);
    ~Listening();
    Listening(const Listening &) = delete;
    Listening &operator=(const Listening &) = delete;

  private:
    mlir::MLIRContext &context;
  };

  /// Why a parameter is kept or released; empty if nobody has said so.
  llvm::StringRef getReason(llvm::StringRef parameter) const;
  /// What was said of buckets and schedules, in the order of the passes.
  const std::vector<report::Decision> &getDecisions() const {
    return decisions;
  }
  /// The bytes that the schedule keeps to; nothing if there is none.
  std::optional<int64_t> getMemoryLimit() const { return memoryLimit; }

private:
  friend class DecisionStreamer;
  /// By the name of the parameter.
  llvm::StringMap<std::string> reasons;
  std::vector<report::Decision> decisions;
  std::optional<int64_t> memoryLimit;
};

} // namespace regather

#endif // REGATHER_DRIVER_DECISIONREMARKS_H
