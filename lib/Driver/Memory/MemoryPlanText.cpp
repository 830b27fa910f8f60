//===- MemoryPlanText.cpp - What was chosen within a memory limit ---------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Driver/MemoryPlan.h"

#include "regather/Timeline/WriteTimeline.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <numeric>

using namespace regather;
using llvm::formatv;

/// What is less of the time is no reason to use more memory.
static constexpr double kLeastGain = 1e-3;

double StepMemoryPlan::getGap() const {
  return boundSeconds > 0 ? getChosen().seconds / boundSeconds - 1 : 0;
}

std::vector<unsigned> StepMemoryPlan::getFrontier() const {
  std::vector<unsigned> order(choices.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](unsigned lhs, unsigned rhs) {
    const MemoryChoice &one = choices[lhs], &other = choices[rhs];
    return std::make_tuple(one.getBytes(), one.seconds, lhs) <
           std::make_tuple(other.getBytes(), other.seconds, rhs);
  });
  std::vector<unsigned> frontier;
  for (unsigned choice : order)
    if (frontier.empty() ||
        choices[choice].seconds <
            choices[frontier.back()].seconds * (1 - kLeastGain))
      frontier.push_back(choice);
  return frontier;
}

std::string MemoryChoice::describe() const {
  std::string text;
  auto add = [&](llvm::StringRef name, const std::string &value) {
    if (!value.empty())
      text += formatv("{0}--{1}='{2}'", text.empty() ? "" : " ", name, value);
  };
  add("micro-batches", microBatches);
  add("chunk", chunk == "none" ? "" : chunk);
  add("policy", policy);
  add("recompute", recompute);
  add("reshard", reshard);
  add("offload", offload);
  add("schedule", schedule);
  return text.empty() ? "the step as it is" : text;
}

std::string regather::formatChoice(const StepMemoryPlan &plan) {
  const MemoryChoice &chosen = plan.getChosen();
  return formatv("{0} of {1} on each rank with {2}",
                 formatBytes(chosen.getBytes()), formatBytes(plan.limit),
                 chosen.describe());
}

std::string regather::formatText(const StepMemoryPlan &plan) {
  const MemoryChoice &chosen = plan.getChosen();
  std::string text = formatv(
      "{0,-16}{1} of {2} on each rank: {3} of arguments, {4} of arena\n",
      "memory", formatBytes(chosen.getBytes()), formatBytes(plan.limit),
      formatBytes(chosen.argumentBytes), formatBytes(chosen.arenaBytes));
  if (chosen.hostBytes > 0)
    text += formatv("{0,-16}{1} more on its host\n", "",
                    formatBytes(chosen.hostBytes));
  text += formatv("{0,-16}{1}, of {2} {3} tried\n", "", chosen.describe(),
                  plan.choices.size(),
                  plan.choices.size() == 1 ? "choice" : "choices");
  text += formatv("{0,-16}{1} on {2}, {3:P1} above the bound of {4}\n", "",
                  formatSeconds(chosen.seconds), plan.cluster, plan.getGap(),
                  formatSeconds(plan.boundSeconds));
  if (plan.choices.size() == 1)
    return text;
  for (unsigned number : plan.getFrontier()) {
    const MemoryChoice &choice = plan.choices[number];
    text += formatv("  {0,10}  {1,10}{2} {3}\n", formatBytes(choice.getBytes()),
                    formatSeconds(choice.seconds),
                    number == plan.chosen ? " *" : "  ", choice.describe());
  }
  return text;
}

static void writeChoice(llvm::json::OStream &json, const MemoryChoice &choice) {
  json.attribute("micro_batches", choice.microBatches);
  json.attribute("chunk", choice.chunk);
  json.attribute("policy", choice.policy);
  json.attribute("recompute", choice.recompute);
  json.attribute("reshard", choice.reshard);
  json.attribute("offload", choice.offload);
  json.attribute("schedule", choice.schedule);
  json.attribute("bytes", choice.getBytes());
  json.attribute("argument_bytes", choice.argumentBytes);
  json.attribute("arena_bytes", choice.arenaBytes);
  json.attribute("host_bytes", choice.hostBytes);
  json.attribute("host_state_bytes", choice.hostStateBytes);
  json.attribute("seconds", choice.seconds);
}

void regather::writeJson(llvm::json::OStream &json,
                         const StepMemoryPlan &plan) {
  json.attribute("limit_bytes", plan.limit);
  json.attribute("cluster", plan.cluster);
  json.attribute("bound_seconds", plan.boundSeconds);
  json.attribute("gap", plan.getGap());
  json.attributeObject("chosen", [&] { writeChoice(json, plan.getChosen()); });
  json.attributeArray("choices", [&] {
    for (const MemoryChoice &choice : plan.choices)
      json.object([&] { writeChoice(json, choice); });
  });
  json.attributeArray("frontier", [&] {
    for (unsigned number : plan.getFrontier())
      json.value(number);
  });
}
