//===- DecisionRemarks.h - Why parameters are kept or released --*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TOOLS_REGATHER_REPORT_DECISIONREMARKS_H
#define REGATHER_TOOLS_REGATHER_REPORT_DECISIONREMARKS_H

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringMap.h"

#include <memory>
#include <string>

namespace regather {

/// Listens to the remarks of tg-reshard-after-forward.
class DecisionRemarks {
public:
  /// Comes before the passes run; no one else may listen to the context.
  explicit DecisionRemarks(mlir::MLIRContext &context);

  /// Why a parameter is kept or released; empty if nobody has said so.
  llvm::StringRef getReason(llvm::StringRef parameter) const;

private:
  /// By the name of the parameter; the context's streamer fills it.
  std::shared_ptr<llvm::StringMap<std::string>> reasons;
};

} // namespace regather

#endif // REGATHER_TOOLS_REGATHER_REPORT_DECISIONREMARKS_H
