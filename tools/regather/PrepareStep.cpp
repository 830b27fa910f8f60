//===- PrepareStep.cpp - Do to a step what a run needs --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PrepareStep.h"

#include "regather/Conversion/Passes.h"
#include "regather/Pipelines/DefaultPlan.h"
#include "regather/Pipelines/Pipelines.h"

#include "mlir/IR/TypeUtilities.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;

/// The result of the step that is the `role` of a parameter; null if none is.
static const StepValue *findParameterResult(const AnalyzedStep &step,
                                            Role role) {
  const StepSignature &signature = step.signature;
  auto it = llvm::find_if(signature.results, [&](const StepValue &result) {
    return result.role == role &&
           signature.arguments[result.argument].role == Role::Parameter;
  });
  return it == signature.results.end() ? nullptr : &*it;
}

static bool hasParameters(const AnalyzedStep &step) {
  return llvm::any_of(step.signature.arguments, [](const StepValue &value) {
    return value.role == Role::Parameter;
  });
}

/// True if the elements are of a type that exists in captured graphs only.
static bool isForeign(Type type) {
  Type element = getElementTypeOrSelf(type);
  return isa<ComplexType>(element) || element.isUnsignedInteger();
}

LogicalResult regather::lowerForeignTypes(ModuleOp module) {
  bool isNeeded =
      llvm::any_of(module.getOps<func::FuncOp>(), [](func::FuncOp func) {
        return llvm::any_of(func.getArgumentTypes(), isForeign) ||
               llvm::any_of(func.getResultTypes(), isForeign);
      });
  if (!isNeeded || !hasNodes(module))
    return success();
  PassManager pm(module.getContext());
  pm.addPass(createConvertTGNodesToLinalgPass());
  return pm.run(module);
}

/// Checks that the step has not been through what is asked for.
static LogicalResult verifyRequest(const AnalyzedStep &step,
                                   const RunRequest &request) {
  func::FuncOp entry = step.entry;
  if (!request.mesh.empty() && step.mesh) {
    MeshOp mesh = step.mesh;
    return mesh.emitError()
           << "the step lies over mesh \"" << mesh.getSymName()
           << "\" already, but a mesh " << request.mesh << " is asked for";
  }
  if (request.optimizer.empty())
    return success();
  if (const StepValue *update = findParameterResult(step, Role::Update))
    return entry.emitError() << "the step updates \"" << update->name
                             << "\" already, but an optimizer \""
                             << request.optimizer << "\" is asked for";
  if (!findParameterResult(step, Role::Gradient))
    return entry.emitError() << "the step has no gradient of a parameter, but "
                                "an optimizer \""
                             << request.optimizer << "\" is asked for";
  return success();
}

/// Checks that nothing is asked for that has to come before the partition.
static LogicalResult verifyPartitioned(const AnalyzedStep &step,
                                       const TrainingPipelineOptions &options) {
  const std::pair<StringRef, StringRef> requests[] = {
      {"a mesh", options.mesh},
      {"a policy", options.policy},
      {"resharding", options.reshard},
      {"recomputation", options.recompute},
      {"an optimizer", options.optimizer}};
  func::FuncOp backward = step.backward->func;
  for (auto [what, text] : requests)
    if (!text.empty() && text != "none")
      return backward.emitError() << "the step is partitioned already, but "
                                  << what << " \"" << text << "\" is asked for";
  return success();
}

/// The mesh that the parameters are sharded over; empty if they are not.
static std::string getMesh(const AnalyzedStep &step,
                           const RunRequest &request) {
  if (request.mesh.empty() && !step.mesh && request.ranks.value_or(1) > 1 &&
      hasParameters(step))
    return "dp:" + std::to_string(*request.ranks);
  return request.mesh;
}

/// Options of a pass that takes times from a cluster.
static std::string getTimed(StringRef options, StringRef cluster) {
  std::string text = options.trim().str();
  if (!StringRef(text).split(' ').first.contains('='))
    text = "mode=" + text;
  if (text.find("cluster=") == std::string::npos)
    text += " cluster=" + cluster.str();
  return text;
}

/// Whether buckets are chosen by times: a plan needs none.
static bool isTimed(StringRef bucket) {
  return bucket.split(' ').first == "auto" || bucket.contains("mode=auto");
}

void regather::completeRequest(ModuleOp module, const AnalyzedStep &step,
                               const PassOptionTexts &passOptions,
                               RunRequest &request) {
  tg::MeshOp mesh = step.mesh;
  bool hasSeveralRanks =
      mesh ? mesh.getNumRanks() > 1 : countRanks(getMesh(step, request)) > 1;
  bool isOpen = !step.backward && isOpenStep(module, step.entry);
  // A plan among the options of passes asks for the mode that takes it.
  auto options = passOptions.find("tg-bucket-collectives");
  if (request.bucket.empty() && isOpen && options != passOptions.end() &&
      StringRef(options->second).contains("plan="))
    request.bucket = "mode=plan";
  StepPlan plan = completePlan(
      {request.reshard, request.recompute, request.bucket, request.schedule},
      isOpen, hasSeveralRanks, request.asCaptured);
  request.reshard = plan.reshard;
  request.recompute = plan.recompute;
  request.bucket = isTimed(plan.bucket) ? getTimed(plan.bucket, request.cluster)
                                        : plan.bucket;
  request.schedule = plan.schedule;
  if (plan.schedule == "none")
    return;
  request.schedule = getTimed(plan.schedule, request.cluster);
  if (request.overlapsGroups &&
      !StringRef(request.schedule).contains("mode=manual"))
    request.schedule += " overlap-groups=true";
}

LogicalResult regather::prepareStep(ModuleOp module, const AnalyzedStep &step,
                                    const RunRequest &request,
                                    PassOptionTexts &passOptions) {
  if (failed(verifyRequest(step, request)))
    return failure();
  TrainingPipelineOptions options;
  options.mesh = getMesh(step, request);
  options.replicateAxis = request.replicateAxis;
  if (request.batch != "auto" || !options.mesh.empty())
    options.batch = request.batch;
  options.layout = request.layout;
  options.policy = request.policy;
  options.reshard = request.reshard;
  options.recompute = request.recompute;
  options.optimizer = request.optimizer;
  options.bucket = request.bucket;
  if (!request.schedulesKernels)
    options.schedule = request.schedule;
  options.lower = request.lower && hasNodes(module);
  if (step.backward && failed(verifyPartitioned(step, options)))
    return failure();

  PassManager pm(module.getContext(), module->getName().getStringRef(),
                 PassManager::Nesting::Implicit);
  std::string message;
  llvm::raw_string_ostream errors(message);
  if (failed(buildTrainingPipeline(pm, options, errors)) ||
      failed(applyPassOptions(pm, passOptions, errors)))
    return module.emitError()
           << "cannot prepare the step: " << StringRef(message).rtrim();
  return pm.run(module);
}
