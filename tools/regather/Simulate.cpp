//===- Simulate.cpp - regather simulate -----------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Simulate/OrderFile.h"
#include "Simulate/SimulationSummary.h"
#include "StepFlags.h"

#include "regather/Dialect/TG/Transforms/Passes.h"
#include "regather/Support/AtomicFile.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"

using namespace regather;
namespace cl = llvm::cl;

cl::SubCommand
    regather::simulateCommand("simulate",
                              "Predict the timeline of a step on a cluster");

static cl::opt<std::string> file(cl::Positional, cl::desc("FILE"), cl::Required,
                                 cl::sub(simulateCommand),
                                 cl::cat(getCategory()));
static cl::opt<std::string>
    cluster("cluster", cl::desc("Name of a cluster, or a file that has one"),
            cl::value_desc("NAME|FILE"), cl::Required, cl::sub(simulateCommand),
            cl::cat(getCategory()));
static cl::opt<std::string>
    orderPath("order",
              cl::desc("Operations of the step in another order: their names, "
                       "one on each line or in a JSON list"),
              cl::value_desc("FILE"), cl::sub(simulateCommand),
              cl::cat(getCategory()));
static cl::opt<bool>
    formKernels("kernels",
                cl::desc("Simulate kernels instead of single operations"),
                cl::sub(simulateCommand), cl::cat(getCategory()));
static cl::opt<bool> overlapGroups(
    "overlap-groups",
    cl::desc("Let collectives be in flight together whose groups share more "
             "than one device; say so only if the library allows it"),
    cl::sub(simulateCommand), cl::cat(getCategory()));
static cl::opt<std::string>
    tracePath("trace", cl::desc("Write the timeline for Perfetto, as JSON"),
              cl::value_desc("FILE"), cl::sub(simulateCommand),
              cl::cat(getCategory()));
static cl::opt<std::string>
    pagePath("timeline", cl::desc("Write a page with a picture, as HTML"),
             cl::value_desc("FILE"), cl::sub(simulateCommand),
             cl::cat(getCategory()));
static cl::opt<std::string> jsonPath("json",
                                     cl::desc("Write all numbers, as JSON"),
                                     cl::value_desc("FILE"),
                                     cl::sub(simulateCommand),
                                     cl::cat(getCategory()));

static Failure writeFile(const std::string &path,
                         llvm::function_ref<void(llvm::raw_ostream &)> write) {
  if (path.empty())
    return Failure();
  std::string text;
  llvm::raw_string_ostream os(text);
  write(os);
  if (Failure failure = writeFileAtomically(path, {text}))
    return Failure("cannot write '" + path + "': " + failure.getMessage());
  return Failure();
}

static Failure writeFiles(const SimulationSummary &summary) {
  const SimulatedStep &step = summary.step;
  std::vector<Timeline> timelines;
  for (uint32_t i = 0; i != summary.result.ranks.size(); ++i) {
    timelines.push_back(makeTimeline(step.program, summary.order,
                                     summary.result, i, step.ops,
                                     step.streams));
    timelines.back().name = summary.nameRanks(i);
  }
  if (Failure failure = writeFile(tracePath, [&](llvm::raw_ostream &os) {
        writeTrace(os, timelines, step.program, step.ops);
      }))
    return failure;
  if (Failure failure = writeFile(pagePath, [&](llvm::raw_ostream &os) {
        writeTimelinePage(os, makePage(summary), timelines[summary.rankClass],
                          step.ops);
      }))
    return failure;
  return writeFile(jsonPath,
                   [&](llvm::raw_ostream &os) { printJson(os, summary); });
}

/// `dp:4,tp:2`.
static std::string getMeshText(tg::MeshOp mesh) {
  std::string text;
  if (mesh)
    for (auto [axis, size] :
         llvm::zip(mesh.getAxes().getNames(), mesh.getSizes()))
      text +=
          (text.empty() ? "" : ",") + axis.str() + ":" + std::to_string(size);
  return text;
}

/// Passes that decide by times take those of the cluster that is simulated,
/// unless `options` name another one. Plans take none.
static void addCluster(std::string &options) {
  if (!options.empty() && llvm::isAlpha(options.front()) && options != "none" &&
      options.find("cluster=") == std::string::npos)
    options += " cluster=" + cluster;
}

static llvm::FailureOr<AnalyzedStep> prepare(mlir::ModuleOp module) {
  RunRequest request = getRequestedStep();
  request.schedulesKernels = formKernels;
  addCluster(request.bucket);
  addCluster(request.schedule);
  if (overlapGroups && !request.schedule.empty())
    request.schedule += " overlap-groups=true";
  llvm::FailureOr<AnalyzedStep> step =
      prepareRequestedStep(module, request, getPassOptions());
  if (succeeded(step) && step->backward)
    return step->backward->func.emitError()
           << "the step is partitioned into forward and backward; simulate the "
              "whole step";
  return step;
}

/// Forms kernels, if they are asked for, and orders them.
static mlir::LogicalResult makeKernels(mlir::ModuleOp module) {
  mlir::PassManager pm(module.getContext());
  if (formKernels) {
    pm.addPass(tg::createFormKernelsPass());
    tg::SchedulePassOptions schedule;
    schedule.mode = tg::ScheduleMode::None;
    pm.addPass(tg::createSchedulePass(schedule));
  }
  std::string message;
  llvm::raw_string_ostream errors(message);
  if (failed(applyPassOptions(pm, getPassOptions(), errors)))
    return module.emitError() << llvm::StringRef(message).rtrim();
  return pm.run(module);
}

int regather::simulateMain() {
  if (Failure failure = readStepFlags())
    return reportError(failure.getMessage());
  auto loaded = loadCluster(cluster);
  if (!loaded)
    return reportError(llvm::toString(loaded.takeError()));
  CostModel model(std::move(*loaded));
  std::unique_ptr<InputFile> input = readModule(file);
  if (!input)
    return 1;
  llvm::FailureOr<AnalyzedStep> analyzed = prepare(*input->module);
  if (failed(analyzed))
    return 1;
  ModelFlops flops = countModelFlops(*input->module);
  if (failed(makeKernels(*input->module)) || hasUnusedPassOptions())
    return 1;
  llvm::FailureOr<SimulatedStep> step = describeStep(*analyzed, model);
  if (failed(step))
    return 1;

  std::vector<uint32_t> order = step->program.getStepOrder();
  if (!orderPath.empty()) {
    std::vector<std::string> names;
    for (const TimelineOp &op : step->ops)
      names.push_back(op.name);
    auto read = readOrder(orderPath, step->program, names);
    if (!read)
      return reportError(read.getMessage());
    order = std::move(*read);
  }
  SimulationOptions options;
  options.serializesConflicts = !overlapGroups;
  options.groupSeconds = step->groupSeconds;
  SimulationResult result =
      simulate(step->program, order, step->classes, options);

  SimulationSummary summary(*step, order, result);
  summary.file = file;
  summary.entry = analyzed->entry.getSymName().str();
  summary.cluster = model.getCluster().name;
  summary.mesh = getMeshText(analyzed->mesh);
  summary.flops = flops.flops;
  summary.peakFlops = model.getCluster().device.peakFlops.lookup(flops.type);
  if (Failure failure = writeFiles(summary))
    return reportError(failure.getMessage());
  printText(llvm::outs(), summary);
  return 0;
}
