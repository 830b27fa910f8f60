//===- SimulateStep.cpp - Predict the timeline of a step ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Driver/SimulateStep.h"

#include "OrderFile.h"

#include "regather/Driver/Clusters.h"
#include "regather/Driver/ExpertChunks.h"
#include "regather/Driver/PrepareStep.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace regather;

std::vector<Timeline> Prediction::makeTimelines() const {
  std::vector<Timeline> timelines;
  for (uint32_t i = 0; i != result.ranks.size(); ++i) {
    timelines.push_back(
        makeTimeline(step.program, order, result, i, step.ops, step.streams));
    timelines.back().name = summary->nameRanks(i);
  }
  return timelines;
}

/// `dp:4,tp:2`.
static std::string getAxesText(tg::MeshOp mesh) {
  std::string text;
  if (mesh)
    for (auto [axis, size] :
         llvm::zip(mesh.getAxes().getNames(), mesh.getSizes()))
      text +=
          (text.empty() ? "" : ",") + axis.str() + ":" + std::to_string(size);
  return text;
}

static std::string getBatchText(std::optional<tg::BatchMode> batch) {
  if (!batch)
    return "";
  return *batch == tg::BatchMode::PerRank ? "per-rank" : "global";
}

static FailureOr<PreparedStep> prepare(ModuleOp module,
                                       const SimulateRequest &request) {
  StepOptions options = request.step;
  options.schedulesKernels = request.takesKernels;
  if (!request.orderFile.empty()) {
    if (options.schedule.isWanted())
      return emitError(UnknownLoc::get(module.getContext()))
             << "a schedule has no effect on an order that is given";
    // The order that is given takes the place of one that is chosen.
    options.schedule.decision = PassDecision::No;
  }
  FailureOr<PreparedStep> prepared = prepareWholeStep(module, options);
  if (failed(prepared) ||
      failed(verifyNamedPasses(module, prepared->options,
                               request.takesKernels ? StepStage::Kernels
                                                    : StepStage::Prepared)))
    return failure();
  return prepared;
}

static LogicalResult readGivenOrder(ModuleOp module, const std::string &path,
                                    Prediction &prediction) {
  std::vector<std::string> names;
  for (const TimelineOp &op : prediction.step.ops)
    names.push_back(op.name);
  auto order = readOrder(path, prediction.step.program, names);
  if (!order)
    return emitError(UnknownLoc::get(module.getContext()))
           << order.getMessage();
  prediction.order = std::move(*order);
  return success();
}

std::unique_ptr<Prediction>
regather::predictStep(ModuleOp module, const SimulateRequest &given) {
  SimulateRequest request = given;
  // A given order is one of the step as it is.
  request.step.fitsDevice = request.orderFile.empty();
  std::optional<StepMemoryPlan> memory;
  if (failed(decideExpertChunks(module, request.step)) ||
      failed(decideMemory(module, request.step, memory)))
    return nullptr;
  // Only of kernels is it known where they lie in memory.
  request.takesKernels |= memory || request.step.offload.isWanted();
  FailureOr<CostModel> model = loadChosenCluster(module, request.step);
  if (failed(model))
    return nullptr;
  auto prediction = std::make_unique<Prediction>(std::move(*model));
  FailureOr<PreparedStep> prepared = prepare(module, request);
  if (failed(prepared))
    return nullptr;
  ModelFlops flops = countModelFlops(module);
  if (request.takesKernels &&
      failed(formKernels(module, prepared->options.getProgram())))
    return nullptr;
  FailureOr<SimulatedStep> step =
      describeStep(prepared->step, prediction->model);
  if (failed(step))
    return nullptr;
  prediction->step = std::move(*step);
  prediction->order = prediction->step.program.getStepOrder();
  if (!request.orderFile.empty() &&
      failed(readGivenOrder(module, request.orderFile, *prediction)))
    return nullptr;
  prediction->result = simulateStep(prediction->step, prediction->order,
                                    request.step.overlapsGroups);

  const Cluster &cluster = prediction->model.getCluster();
  SimulationSummary &summary = prediction->summary.emplace(
      prediction->step, prediction->order, prediction->result);
  summary.file = request.file;
  summary.entry = prepared->step.entry.getSymName().str();
  summary.cluster = cluster.name;
  summary.mesh = getAxesText(prepared->step.mesh);
  summary.batch = getBatchText(prepared->options.batch);
  summary.flops = flops.flops;
  summary.memoryPlan = std::move(memory);
  summary.peakFlops = cluster.device.peakFlops.lookup(flops.type);
  return prediction;
}

std::string regather::formatTrace(const Prediction &prediction) {
  std::string text;
  llvm::raw_string_ostream os(text);
  writeTrace(os, prediction.makeTimelines(), prediction.step.program,
             prediction.step.ops);
  return text;
}

std::string regather::formatPage(const Prediction &prediction) {
  const SimulationSummary &summary = *prediction.summary;
  std::string text;
  llvm::raw_string_ostream os(text);
  writeTimelinePage(os, makePage(summary),
                    prediction.makeTimelines()[summary.rankClass],
                    prediction.step.ops);
  return text;
}
