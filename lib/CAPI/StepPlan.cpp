//===- StepPlan.cpp - What is to be done to a step ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather-c/StepPlan.h"

#include "Guard.h"
#include "Module.h"
#include "Status.h"

#include "regather/Pipelines/PassOptionText.h"
#include "regather/Pipelines/StepOptionText.h"
#include "regather/Support/LLVM/MakeFailure.h"

using namespace regather;
using namespace regather::capi;
using llvm::StringRef;

/// As the command line reads them: options of passes go over those of flags.
static Failure readOption(StepOptions &step, const RegatherOption &option,
                          bool readsPasses) {
  if (!option.name || !option.value)
    return makeFailure("an option has no name or no value");
  StringRef name = option.name;
  if (readsPasses != (name == "plan"))
    return Failure();
  return name == "plan" ? readPlan(step, option.value, name)
                        : setStepOption(step, name, option.value, name);
}

template <typename OptionsT>
static llvm::json::Value getJson(OptionsT options, bool isDecided) {
  if (!isDecided)
    return nullptr;
  PassOptionFields fields(options);
  llvm::json::Object object;
  for (const OptionField &field : fields.getFields())
    object[field.name] = field.getJson();
  return object;
}

template <typename OptionsT>
static llvm::json::Value getJson(const Choice<OptionsT> &choice,
                                 const StepOptions &step) {
  bool isDecided =
      choice.decision != PassDecision::Open ||
      step.namedPasses.count(getPassName(choice.options).str()) != 0;
  llvm::json::Value value = getJson(choice.options, isDecided);
  if (llvm::json::Object *object = value.getAsObject())
    (*object)["runs"] = choice.decision != PassDecision::No;
  return value;
}

RegatherStatus *regatherReadStepPlan(RegatherOptions options,
                                     RegatherOutput **output) {
  return guard([&]() -> RegatherStatus * {
    if (!output || (options.count > 0 && !options.elements))
      return takeStatus(makeFailure("an argument is null"));
    StepOptions step;
    for (bool readsPasses : {false, true})
      for (uint32_t i = 0; i != options.count; ++i)
        if (Failure failure =
                readOption(step, options.elements[i], readsPasses))
          return takeStatus(failure);
    llvm::json::Array passes;
    for (const std::string &pass : step.namedPasses)
      passes.push_back(pass);
    llvm::json::Object plan{
        {"policy", getJson(step.policy.value_or(tg::ApplyPolicyPassOptions()),
                           step.policy.has_value())},
        {"reshard", getJson(step.reshard, step)},
        {"recompute", getJson(step.recompute, step)},
        {"bucket", getJson(step.bucket, step)},
        {"schedule", getJson(step.schedule, step)},
        {"named-passes", std::move(passes)}};
    auto created = std::make_unique<RegatherOutput>();
    llvm::raw_string_ostream(created->json)
        << llvm::json::Value(std::move(plan));
    *output = created.release();
    return nullptr;
  });
}
