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

#include <memory>
#include <optional>

namespace regather {

/// Listens to the remarks of tg-reshard-after-forward, tg-bucket-collectives
/// and tg-schedule.
class DecisionRemarks {
public:
  /// Comes before the passes run; no one else may listen to the context.
  explicit DecisionRemarks(mlir::MLIRContext &context);

  /// What passes do from now on is not about the step of the report.
  void stop() { heard->isOpen = false; }

  /// Why a parameter is kept or released; empty if nobody has said so.
  llvm::StringRef getReason(llvm::StringRef parameter) const;
  /// What was said of buckets and schedules, in the order of the passes.
  const std::vector<report::Decision> &getDecisions() const {
    return heard->decisions;
  }
  /// The bytes that the schedule keeps to; nothing if there is none.
  std::optional<int64_t> getMemoryLimit() const { return heard->memoryLimit; }

private:
  friend class DecisionStreamer;
  /// What the context's streamer fills.
  struct Heard {
    bool isOpen = true;
    /// By the name of the parameter.
    llvm::StringMap<std::string> reasons;
    std::vector<report::Decision> decisions;
    std::optional<int64_t> memoryLimit;
  };
  std::shared_ptr<Heard> heard;
};

} // namespace regather

#endif // REGATHER_DRIVER_DECISIONREMARKS_H
