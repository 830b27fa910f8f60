//===- CheckPlan.cpp - What is done to a step to check it -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckPlan.h"

#include "llvm/ADT/StringExtras.h"

using namespace regather;
using namespace regather::fuzz;
using llvm::StringRef;

static std::string printCalls(const std::vector<PassCall> &calls) {
  return llvm::join(
      llvm::map_range(calls, [](const PassCall &call) { return call.str(); }),
      ",");
}

std::string CheckPlan::print() const {
  auto flag = [](bool value) { return value ? "true" : "false"; };
  return "preparation: " + printCalls(preparation) +
         "\npipeline: " + printCalls(pipeline) +
         "\nby-driver: " + flag(byDriver) +
         "\nprogram: " + printCalls(program) +
         "\ninputs: " + std::to_string(inputs) + "\nexact: " + flag(isExact) +
         "\norder: " + std::to_string(order) + "\nrepeats: " + flag(repeats) +
         "\ncompiles: " + flag(compiles) + "\nbundles: " + flag(bundles) +
         "\ncaches: " + flag(caches) + "\noptimizes: " + flag(optimizes) + "\n";
}

Result<CheckPlan> regather::fuzz::parsePlan(StringRef text) {
  CheckPlan plan;
  llvm::SmallVector<StringRef> lines;
  text.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines) {
    auto [key, value] = line.split(':');
    value = value.trim();
    bool isWrong = false;
    if (key == "preparation")
      plan.preparation = parsePipeline(value);
    else if (key == "pipeline")
      plan.pipeline = parsePipeline(value);
    else if (key == "program")
      plan.program = parsePipeline(value);
    else if (key == "by-driver")
      plan.byDriver = value == "true";
    else if (key == "exact")
      plan.isExact = value == "true";
    else if (key == "repeats")
      plan.repeats = value == "true";
    else if (key == "compiles")
      plan.compiles = value == "true";
    else if (key == "bundles")
      plan.bundles = value == "true";
    else if (key == "caches")
      plan.caches = value == "true";
    else if (key == "optimizes")
      plan.optimizes = value == "true";
    else if (key == "inputs")
      isWrong = value.getAsInteger(10, plan.inputs);
    else if (key == "order")
      isWrong = value.getAsInteger(10, plan.order);
    else
      isWrong = true;
    if (isWrong)
      return Failure("cannot read the line \"" + line.str() + "\" of a plan");
  }
  return plan;
}
