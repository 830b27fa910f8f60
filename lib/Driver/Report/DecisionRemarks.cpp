//===- DecisionRemarks.cpp - Why passes decide as they do -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Driver/DecisionRemarks.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace regather;

namespace regather {
/// Keeps what is said about the step of the report.
class DecisionStreamer : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit DecisionStreamer(DecisionRemarks &heard) : heard(heard) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    if (remark.getCategoryName() == "tg-reshard-after-forward")
      addReason(remark);
    else
      addDecision(remark);
  }

private:
  void addReason(const remark::detail::Remark &remark);
  void addDecision(const remark::detail::Remark &remark);

  DecisionRemarks &heard;
};
} // namespace regather

/// Each remark about a parameter has the metrics `parameter` and `why`.
void DecisionStreamer::addReason(const remark::detail::Remark &remark) {
  StringRef parameter, why;
  for (const remark::detail::Remark::Arg &arg : remark.getArgs()) {
    if (arg.key == "parameter")
      parameter = arg.val;
    else if (arg.key == "why")
      why = arg.val;
  }
  if (!parameter.empty() && !why.empty())
    heard.reasons[parameter] = why.str();
}

/// "TEXT: REASON (METRIC NUMBER, ...)".
void DecisionStreamer::addDecision(const remark::detail::Remark &remark) {
  std::string text, metrics;
  for (const remark::detail::Remark::Arg &arg : remark.getArgs()) {
    if (arg.key == "Remark" || arg.key == "Reason") {
      text += (text.empty() ? "" : ": ") + arg.val;
      continue;
    }
    metrics += (metrics.empty() ? "" : ", ") + arg.key + " " + arg.val;
    int64_t bytes = 0;
    if (arg.key == "limit" && !StringRef(arg.val).getAsInteger(10, bytes))
      heard.memoryLimit = bytes;
  }
  if (!metrics.empty())
    text += " (" + metrics + ")";
  heard.decisions.push_back({remark.getCategoryName().str(), text});
}

DecisionRemarks::Listening::Listening(MLIRContext &context,
                                      DecisionRemarks &remarks)
    : context(context) {
  remark::RemarkCategories categories;
  categories.passed = categories.missed = categories.analysis =
      "tg-(fuse-attention|reshard-after-forward|bucket-collectives|schedule)";
  // Fails only for streamers that write files.
  (void)remark::enableOptimizationRemarks(
      context, std::make_unique<DecisionStreamer>(remarks),
      std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
}

DecisionRemarks::Listening::~Listening() { context.setRemarkEngine(nullptr); }

StringRef DecisionRemarks::getReason(StringRef parameter) const {
  auto it = reasons.find(parameter);
  return it == reasons.end() ? StringRef() : StringRef(it->second);
}
