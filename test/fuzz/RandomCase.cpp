//===- RandomCase.cpp - A step and how to check it, from a seed -----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomCase.h"

#include "MutateStep.h"
#include "RandomStep.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace regather;
using namespace regather::fuzz;

std::vector<Capture> regather::fuzz::readCaptures(StringRef folder) {
  std::vector<Capture> captures;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(folder, error), end;
       it != end && !error; it.increment(error)) {
    if (llvm::sys::path::extension(it->path()) != ".mlir")
      continue;
    if (auto buffer = llvm::MemoryBuffer::getFile(it->path()))
      captures.push_back({llvm::sys::path::stem(it->path()).str(),
                          (*buffer)->getBuffer().str()});
  }
  llvm::sort(captures, [](const Capture &a, const Capture &b) {
    return a.name < b.name;
  });
  return captures;
}

/// A step with mutations that still is one; as it was if it does not parse.
static std::string mutate(const std::string &text, Draw &draw, unsigned changes,
                          MLIRContext &context) {
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return text;
  mutateStep(*module, draw, changes);
  std::string mutated;
  llvm::raw_string_ostream(mutated) << *module;
  return mutated;
}

static void drawPipeline(Draw &draw, const StepNames &names, bool isSharded,
                         bool hasAttention, CheckPlan &plan) {
  std::vector<std::string> passes = listStepPasses();
  // Written as products, attention has other bits than by blocks.
  if (hasAttention)
    llvm::erase_if(passes, [](StringRef pass) {
      return pass == "convert-tg-nodes-to-linalg" ||
             pass == "tg-expand-attention";
    });
  // Sharding is preparation: it changes the order of sums. So do micro-batches.
  if (!isSharded)
    llvm::erase_if(passes, [](StringRef pass) {
      return pass == "tg-shard-parameters" || pass == "tg-shard-step" ||
             pass == "tg-cut-batch";
    });
  plan.byDriver = draw.percent(20);
  unsigned count = draw.percent(35) ? 1 : draw.between(2, 8);
  for (unsigned i = 0; i != count; ++i) {
    PassCall call = drawCall(draw, draw.oneOf(llvm::ArrayRef(passes)), names);
    // The driver decides where a pass stands, and needs options of it.
    if (!plan.byDriver || !call.options.empty())
      plan.pipeline.push_back(call);
  }
}

/// How a step on one device becomes one of micro-batches and of several ranks,
/// if it does.
static void drawSharding(Draw &draw, const StepNames &names, CheckPlan &plan) {
  if (draw.percent(20))
    plan.preparation.push_back(
        {"tg-cut-batch", draw.percent(70) ? "parts=2" : "parts=4"});
  unsigned kind = draw.below(10);
  if (kind < 2)
    return;
  if (kind < 7) {
    plan.preparation.push_back(drawCall(draw, "tg-shard-parameters", names));
    return;
  }
  // Over axes of the model first, which are placed by cost or by annotations.
  std::string mesh = draw.oneOf<const char *>(
      {"tp:2", "tp:3", "cp:2", "dp:2,tp:2", "dp:2,tp:4", "dp:2,tp:2,cp:2"});
  std::string options = "mesh=" + mesh;
  if (draw.percent(50) && !names.parameters.empty() &&
      StringRef(mesh).contains("tp"))
    options += " shard={" + draw.oneOf(llvm::ArrayRef(names.parameters)) +
               "=[tp] shard " + std::to_string(draw.below(2)) + "}";
  plan.preparation.push_back({"tg-shard-step", options});
  StringRef axes = mesh;
  if (!axes.consume_front("dp:2,"))
    return;
  std::string sharding = "mesh=" + mesh + " model-axes=tp";
  if (axes.contains("cp"))
    sharding += ",cp";
  else if (draw.percent(30))
    sharding += " copy-axes=tp";
  plan.preparation.push_back({"tg-shard-parameters", sharding});
}

RandomCase regather::fuzz::makeRandomCase(uint64_t number,
                                          llvm::ArrayRef<Capture> captures,
                                          MLIRContext &context) {
  Draw draw(number);
  RandomCase result;
  if (!captures.empty() && draw.percent(22)) {
    const Capture &capture = draw.oneOf(captures);
    result.origin = capture.name;
    result.text = mutate(capture.text, draw, draw.between(0, 12), context);
    result.plan.isExact = false;
  } else {
    RandomStep step = makeRandomStep(draw);
    result.origin = "generated";
    result.text = draw.percent(25)
                      ? mutate(step.text, draw, draw.between(1, 6), context)
                      : step.text;
    result.plan.isExact = step.isExact;
    if (step.lacksPhases)
      result.plan.preparation.push_back({"tg-infer-phases", ""});
  }
  auto module = parseSourceString<ModuleOp>(result.text, &context);
  StepNames names = module ? collectNames(*module) : StepNames();
  CheckPlan &plan = result.plan;
  bool isSharded = StringRef(result.text).contains("tg.mesh");
  if (!isSharded)
    drawSharding(draw, names, plan);
  drawPipeline(draw, names, isSharded,
               StringRef(result.text).contains("scaled_dot_product"), plan);
  plan.program = drawProgramOptions(draw, names);
  plan.inputs = draw.below(1000000);
  plan.order = draw.below(1000000);
  plan.repeats = draw.percent(20);
  plan.bundles = draw.percent(4);
  plan.caches = draw.percent(8);
  plan.compiles = draw.percent(30);
  plan.optimizes = draw.percent(30);
  return result;
}
