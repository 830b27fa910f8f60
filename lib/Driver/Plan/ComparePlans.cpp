//===- ComparePlans.cpp - What differs between two plans ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Driver/PlanMeshes.h"

#include "regather/Support/LLVM/MakeFailure.h"
#include "regather/Timeline/WriteTimeline.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace regather;
using llvm::formatv;

namespace {
struct ReadPlan {
  std::string mesh;
  double seconds = 0, secondsPerRow = 0;
  int64_t bytes = 0;
  std::vector<std::string> flags;
};
using ReadPlans = std::vector<ReadPlan>;
} // namespace

static Result<ReadPlans> readPlans(llvm::StringRef text) {
  auto parsed = llvm::json::parse(text);
  if (!parsed)
    return makeFailure("{0}", llvm::toString(parsed.takeError()));
  const llvm::json::Object *object = parsed->getAsObject();
  const llvm::json::Array *plans = object ? object->getArray("plans") : nullptr;
  if (!plans)
    return Failure("expects what 'regather plan --json' writes: there is no "
                   "list \"plans\"");
  ReadPlans read;
  for (const llvm::json::Value &value : *plans) {
    const llvm::json::Object *plan = value.getAsObject();
    auto mesh = plan ? plan->getString("mesh") : std::nullopt;
    auto seconds = plan ? plan->getNumber("seconds") : std::nullopt;
    auto perRow = plan ? plan->getNumber("seconds_per_row") : std::nullopt;
    auto bytes = plan ? plan->getInteger("bytes") : std::nullopt;
    const llvm::json::Array *flags = plan ? plan->getArray("flags") : nullptr;
    if (!mesh || !seconds || !perRow || !bytes || !flags)
      return Failure("a plan lacks one of \"mesh\", \"seconds\", "
                     "\"seconds_per_row\", \"bytes\" and \"flags\"");
    ReadPlan &entry = read.emplace_back();
    entry = {mesh->str(), *seconds, *perRow, *bytes, {}};
    for (const llvm::json::Value &flag : *flags)
      if (auto flagText = flag.getAsString())
        entry.flags.push_back(flagText->str());
  }
  return read;
}

static void writeFlags(llvm::raw_ostream &os, char sign,
                       const std::vector<std::string> &flags,
                       const std::vector<std::string> &others) {
  for (const std::string &flag : flags)
    if (!llvm::is_contained(others, flag))
      os << "    " << sign << ' ' << flag << '\n';
}

static llvm::StringMap<const ReadPlan *> byMesh(const ReadPlans &plans) {
  llvm::StringMap<const ReadPlan *> known;
  for (const ReadPlan &plan : plans)
    known[plan.mesh] = &plan;
  return known;
}

static void writePlan(llvm::raw_ostream &os, char sign, const ReadPlan &plan) {
  os << formatv("{0} {1,-24} {2} for a row, {3}\n", sign, plan.mesh,
                formatSeconds(plan.secondsPerRow), formatBytes(plan.bytes));
}

Result<std::string> regather::comparePlans(llvm::StringRef before,
                                           llvm::StringRef after) {
  Result<ReadPlans> old = readPlans(before), current = readPlans(after);
  if (!old)
    return old.getFailure();
  if (!current)
    return current.getFailure();
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::StringMap<const ReadPlan *> oldPlans = byMesh(*old),
                                    newPlans = byMesh(*current);
  for (const ReadPlan &plan : *current) {
    const ReadPlan *known = oldPlans.lookup(plan.mesh);
    if (!known) {
      writePlan(os, '+', plan);
      continue;
    }
    const ReadPlan &other = *known;
    if (other.seconds == plan.seconds && other.bytes == plan.bytes &&
        other.flags == plan.flags)
      continue;
    os << formatv("  {0,-24} {1} instead of {2} for a row, {3} instead of "
                  "{4}\n",
                  plan.mesh, formatSeconds(plan.secondsPerRow),
                  formatSeconds(other.secondsPerRow), formatBytes(plan.bytes),
                  formatBytes(other.bytes));
    writeFlags(os, '-', other.flags, plan.flags);
    writeFlags(os, '+', plan.flags, other.flags);
  }
  for (const ReadPlan &plan : *old)
    if (!newPlans.count(plan.mesh))
      writePlan(os, '-', plan);
  if (text.empty())
    os << "the plans are equal\n";
  return text;
}
