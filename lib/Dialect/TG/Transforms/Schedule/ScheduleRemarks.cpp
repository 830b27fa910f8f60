//===- ScheduleRemarks.cpp - What a schedule leaves exposed ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleRemarks.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

#define DEBUG_TYPE "tg-schedule"

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::schedule;

/// The name in the captured graph, or what there is instead, and the module.
static std::string describe(Operation *op) {
  std::string name = op->getName().getStringRef().str();
  if (auto id = op->getAttrOfType<StringAttr>(kIdAttrName))
    name += (" \"" + id.getValue() + "\"").str();
  if (auto module = op->getAttrOfType<StringAttr>(kModuleAttrName))
    name += (" of \"" + module.getValue() + "\"").str();
  return name;
}

static std::string explain(const ExposedWait &exposed, const StepGraph &graph,
                           int64_t memoryLimit) {
  auto culprit = [&] {
    return exposed.culprit ? describe(graph.getOps()[*exposed.culprit])
                           : std::string("other collectives");
  };
  switch (exposed.reason) {
  case ExposureReason::Dependency:
    return llvm::formatv("its input comes from {0} right before", culprit());
  case ExposureReason::NotEnoughCompute:
    return "there is too little to compute before it";
  case ExposureReason::MemoryLimit:
    return llvm::formatv("to start earlier it takes more than {0} bytes",
                         memoryLimit);
  case ExposureReason::StreamBusy:
    return llvm::formatv("its stream is busy with {0}", culprit());
  }
  return "";
}

static std::string getMilliseconds(double seconds) {
  return llvm::formatv("{0:f3}", seconds * 1e3);
}

void schedule::emitRemarks(FunctionOpInterface func, const StepGraph &graph,
                           const OverlapSchedule &schedule,
                           ArrayRef<ExposedWait> exposed) {
  for (const ExposedWait &wait : exposed) {
    Operation *op = graph.getOps()[wait.wait];
    Operation *collective = cast<WaitOp>(op).getFuture().getDefiningOp();
    remark::missed(op->getLoc(),
                   remark::RemarkOpts::name("exposed").category(DEBUG_TYPE))
        << remark::add("the device waits for {0}", describe(collective))
        << remark::reason("{0}", explain(wait, graph, schedule.memoryLimit))
        << remark::metric("milliseconds", getMilliseconds(wait.seconds));
  }
  double link = 0;
  for (double seconds : schedule.bounds.linkSeconds)
    link = std::max(link, seconds);
  remark::analysis(func.getLoc(),
                   remark::RemarkOpts::name("step").category(DEBUG_TYPE))
      << remark::add("order by {0}", schedule.strategy)
      << remark::metric("milliseconds", getMilliseconds(schedule.score.seconds))
      << remark::metric("exposed",
                        getMilliseconds(schedule.score.exposedSeconds))
      << remark::metric(
             "hidden-percent",
             llvm::formatv("{0:f1}", schedule.getHiddenPart() * 100).str())
      << remark::metric("peak", schedule.score.peakBytes)
      << remark::metric("bound", getMilliseconds(schedule.lowerBound))
      << remark::metric("compute",
                        getMilliseconds(schedule.bounds.computeSeconds))
      << remark::metric("links", getMilliseconds(link))
      << remark::metric("path", getMilliseconds(schedule.bounds.pathSeconds))
      << remark::metric("before", getMilliseconds(schedule.given.seconds))
      << remark::metric("peak-before", schedule.given.peakBytes)
      << remark::metric("limit", schedule.memoryLimit);
}
