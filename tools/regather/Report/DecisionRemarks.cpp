//===- DecisionRemarks.cpp - Why parameters are kept or released ----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DecisionRemarks.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace regather;

using Reasons = llvm::StringMap<std::string>;

namespace {
/// Keeps the metrics `parameter` and `why` of each remark that has both.
class ReasonStreamer : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit ReasonStreamer(std::shared_ptr<Reasons> reasons)
      : reasons(std::move(reasons)) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    StringRef parameter, why;
    for (const remark::detail::Remark::Arg &arg : remark.getArgs()) {
      if (arg.key == "parameter")
        parameter = arg.val;
      else if (arg.key == "why")
        why = arg.val;
    }
    if (!parameter.empty() && !why.empty())
      (*reasons)[parameter] = why.str();
  }

private:
  std::shared_ptr<Reasons> reasons;
};
} // namespace

DecisionRemarks::DecisionRemarks(MLIRContext &context)
    : reasons(std::make_shared<Reasons>()) {
  remark::RemarkCategories categories;
  categories.passed = categories.missed = "tg-reshard-after-forward";
  // Fails only for streamers that write files.
  (void)remark::enableOptimizationRemarks(
      context, std::make_unique<ReasonStreamer>(reasons),
      std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
}

StringRef DecisionRemarks::getReason(StringRef parameter) const {
  auto it = reasons->find(parameter);
  return it == reasons->end() ? StringRef() : StringRef(it->second);
}
