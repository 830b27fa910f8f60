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

#include "regather/Support/AtomicFile.h"

using namespace regather;
namespace cl = llvm::cl;

cl::SubCommand
    regather::simulateCommand("simulate",
                              "Predict the timeline of a step on a cluster");

static cl::opt<std::string> file(cl::Positional, cl::desc("FILE"), cl::Required,
                                 cl::sub(simulateCommand),
                                 cl::cat(getCategory()));
static cl::opt<std::string>
    orderPath("order",
              cl::desc("Operations of the step in another order: their names, "
                       "one on each line or in a JSON list"),
              cl::value_desc("FILE"), cl::sub(simulateCommand),
              cl::cat(getCategory()));
static cl::opt<bool>
    takesKernels("kernels",
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

static llvm::FailureOr<AnalyzedStep> prepare(mlir::ModuleOp module,
                                             RunRequest &request) {
  request.schedulesKernels = takesKernels;
  request.overlapsGroups = overlapGroups;
  // The order that is given takes the place of one that is chosen.
  if (!orderPath.empty() && request.schedule.empty())
    request.schedule = "none";
  return prepareWholeStep(module, request, getPassOptions());
}

int regather::simulateMain() {
  if (!canWrite({&tracePath, &pagePath, &jsonPath}))
    return 1;
  if (Failure failure = readStepFlags())
    return reportError(failure.getMessage());
  if (!orderPath.empty())
    if (Failure failure = rejectSchedule("with --order"))
      return reportError(failure.getMessage());
  std::unique_ptr<InputFile> input = readModule(file);
  if (!input)
    return 1;
  std::optional<CostModel> model = loadRequestedCluster(*input->module);
  if (!model)
    return 1;
  RunRequest request = getRequestedStep(getRequestedCluster(*input->module));
  llvm::FailureOr<AnalyzedStep> analyzed = prepare(*input->module, request);
  if (failed(analyzed))
    return 1;
  ModelFlops flops = countModelFlops(*input->module);
  if (takesKernels && failed(formKernels(*input->module, getPassOptions())))
    return 1;
  if (hasUnusedPassOptions())
    return 1;
  llvm::FailureOr<SimulatedStep> step = describeStep(*analyzed, *model);
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
  SimulationResult result = simulateStep(*step, order, overlapGroups);

  SimulationSummary summary(*step, order, result);
  summary.file = file;
  summary.entry = analyzed->entry.getSymName().str();
  summary.cluster = model->getCluster().name;
  summary.mesh = getMeshText(analyzed->mesh);
  summary.batch = request.batch;
  summary.flops = flops.flops;
  summary.peakFlops = model->getCluster().device.peakFlops.lookup(flops.type);
  if (Failure failure = writeFiles(summary))
    return reportError(failure.getMessage());
  printText(llvm::outs(), summary);
  return 0;
}
