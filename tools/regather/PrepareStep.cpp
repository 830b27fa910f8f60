//===- PrepareStep.cpp - Do to a step what a run needs --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PrepareStep.h"

#include "regather/Conversion/Passes.h"
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

static bool hasNodes(ModuleOp module) {
  return module.walk([](NodeOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// True if no pass has decided yet what lives on from forward to backward.
static bool isUndecided(ModuleOp module, const AnalyzedStep &step) {
  func::FuncOp entry = step.entry;
  for (unsigned i = 0, e = entry.getNumArguments(); i != e; ++i)
    if (entry.getArgAttr(i, kReshardAttrName))
      return false;
  return !step.backward && !module
                                .walk([](Operation *op) {
                                  return op->hasAttr(kSavedResultsAttrName)
                                             ? WalkResult::interrupt()
                                             : WalkResult::advance();
                                })
                                .wasInterrupted();
}

/// True if `func` is the one that passes which look for a step find.
static bool isOnlyPublic(ModuleOp module, func::FuncOp func) {
  return llvm::none_of(module.getOps<func::FuncOp>(), [&](func::FuncOp other) {
    return other != func && other.isPublic() && !other.isExternal();
  });
}

/// What decides, besides the policy, what backward computes again. By default a
/// minimum cut, which saves memory and costs neither bits nor time, of captured
/// steps: others are run as they were written.
static std::string getRecompute(ModuleOp module, const AnalyzedStep &step,
                                const RunRequest &request) {
  if (!request.recompute.empty())
    return request.recompute;
  bool isOpen = hasNodes(module) && isOnlyPublic(module, step.entry) &&
                isUndecided(module, step);
  return isOpen ? "min-cut" : "none";
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
    if (!text.empty())
      return backward.emitError() << "the step is partitioned already, but "
                                  << what << " \"" << text << "\" is asked for";
  return success();
}

LogicalResult regather::prepareStep(ModuleOp module, const AnalyzedStep &step,
                                    RunRequest &request,
                                    PassOptionTexts &passOptions) {
  if (failed(verifyRequest(step, request)))
    return failure();
  TrainingPipelineOptions options;
  options.mesh = request.mesh;
  if (request.mesh.empty() && !step.mesh && request.ranks.value_or(1) > 1 &&
      hasParameters(step))
    options.mesh = "dp:" + std::to_string(*request.ranks);
  options.replicateAxis = request.replicateAxis;
  if (request.batch != "auto" || !options.mesh.empty())
    options.batch = request.batch;
  options.layout = request.layout;
  options.policy = request.policy;
  options.reshard = request.reshard;
  request.recompute = getRecompute(module, step, request);
  options.recompute = request.recompute == "none" ? "" : request.recompute;
  options.optimizer = request.optimizer;
  if (request.bucket != "none")
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
