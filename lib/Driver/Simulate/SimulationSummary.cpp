//===- SimulationSummary.cpp - What a simulation tells --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Driver/SimulationSummary.h"

#include "regather/Analysis/OverlapSchedule/OverlapSchedule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace regather;
using llvm::formatv;

/// Waits that are listed for people.
static constexpr size_t kMaxListed = 12;

SimulationSummary::SimulationSummary(const SimulatedStep &step,
                                     llvm::ArrayRef<uint32_t> order,
                                     const SimulationResult &result)
    : step(step), order(order), result(result),
      bounds(computeStepBounds(step.program)),
      jointBound(computeLowerBound(step.program)),
      memory(computeMemoryCurve(step.program, order)) {
  for (uint32_t i = 1; i != result.ranks.size(); ++i)
    if (result.ranks[i].seconds > result.ranks[rankClass].seconds)
      rankClass = i;
  for (uint32_t op : order) {
    double seconds = getTimes().end[op] - getTimes().begin[op];
    if (step.program.ops[op].kind == TimedOpKind::Wait && seconds > 0)
      exposed.push_back({op, step.program.ops[op].collective, seconds});
  }
  llvm::sort(exposed, [](const WaitTime &a, const WaitTime &b) {
    return std::tie(b.seconds, a.wait) < std::tie(a.seconds, b.wait);
  });
}

double SimulationSummary::getHiddenPart() const {
  const RankTimeline &times = getTimes();
  if (times.communicationSeconds == 0)
    return 1;
  return std::max(0.0, 1 - times.exposedSeconds / times.communicationSeconds);
}

std::vector<std::pair<std::string, double>>
SimulationSummary::getBounds() const {
  std::vector<std::pair<std::string, double>> named = {
      {"computation", bounds.computeSeconds}};
  for (auto [link, seconds] : llvm::zip(step.program.links, bounds.linkSeconds))
    if (seconds > 0)
      named.emplace_back(link.name, seconds);
  named.emplace_back("dependencies", bounds.pathSeconds);
  named.emplace_back("together", jointBound);
  return named;
}

double SimulationSummary::getBound() const {
  return std::max(bounds.getSeconds(), jointBound);
}

double SimulationSummary::getUtilization() const {
  if (peakFlops == 0 || result.seconds == 0)
    return 0;
  return flops / result.seconds / peakFlops;
}

std::string SimulationSummary::nameRanks(uint32_t number) const {
  const RankClass &ranks = step.classes.ranks[number];
  std::string name = formatv("Rank {0}", ranks.firstRank);
  if (ranks.count > 1)
    name += formatv(" and {0} more that do the same", ranks.count - 1).str();
  return name;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string getAboveBound(const SimulationSummary &summary) {
  double bound = summary.getBound();
  return bound > 0 ? formatPercent(summary.result.seconds / bound - 1) : "0 %";
}

/// The module of a collective, or its name if it has none.
static std::string describeCollective(const SimulationSummary &summary,
                                      uint32_t op) {
  const TimelineOp &shown = summary.step.ops[op];
  std::string text = getBoxKindName(shown.kind).str();
  if (shown.kind == BoxKind::OtherCollective)
    text = shown.target;
  return text + " " + (shown.module.empty() ? shown.name : shown.module);
}

/// What a collective did before its wait was reached, in words.
static std::string explainWait(const SimulationSummary &summary,
                               const WaitTime &wait) {
  const RankTimeline &times = summary.getTimes();
  double issued = times.issued[wait.collective];
  double begin = times.begin[wait.collective];
  double end = times.end[wait.collective];
  std::string text = formatv("{0} long", formatSeconds(end - begin));
  double ahead = times.begin[wait.wait] - issued;
  text += ahead > 0 ? formatv(", issued {0} before", formatSeconds(ahead)).str()
                    : ", issued just before";
  if (begin > issued)
    text += formatv(", held up {0} by others", formatSeconds(begin - issued));
  return text;
}

std::string regather::formatText(const SimulationSummary &summary) {
  std::string written;
  llvm::raw_string_ostream os(written);
  const RankTimeline &times = summary.getTimes();
  auto line = [&](llvm::StringRef name, const llvm::Twine &text) {
    os << formatv("{0,-16}{1}\n", name, text.str());
  };
  line("step", formatSeconds(summary.result.seconds) + " on " +
                   llvm::Twine(summary.step.ranks) + " ranks of " +
                   summary.cluster +
                   (summary.mesh.empty() ? "" : " (" + summary.mesh + ")"));
  if (summary.batch == "per-rank")
    line("batch", "the captured one on each rank (--batch=per-rank)");
  line("computation", formatSeconds(times.computeSeconds));
  line("communication",
       formatSeconds(times.communicationSeconds) + ", of which " +
           formatSeconds(times.exposedSeconds) +
           " exposed: " + formatPercent(summary.getHiddenPart()) + " hidden");
  line("peak memory", formatBytes(summary.memory.peakBytes) + " on each rank");
  if (summary.memoryPlan)
    os << formatText(*summary.memoryPlan);
  if (summary.peakFlops > 0)
    line("utilization", formatPercent(summary.getUtilization()) +
                            " of the device's peak (MFU)");
  std::string bounds;
  for (const auto &[name, seconds] : summary.getBounds())
    bounds +=
        (bounds.empty() ? "" : ", ") + name + " " + formatSeconds(seconds);
  line("lower bounds", bounds);
  line("", "the step is " + getAboveBound(summary) + " above the largest");
  if (summary.result.ranks.size() > 1) {
    line("ranks", llvm::Twine(summary.result.ranks.size()) +
                      " classes that do the same");
    for (uint32_t i = 0; i != summary.result.ranks.size(); ++i)
      os << formatv("  {0,10}  {1}\n",
                    formatSeconds(summary.result.ranks[i].seconds),
                    summary.nameRanks(i));
  }
  if (summary.exposed.empty())
    return written;
  line("exposed waits", llvm::Twine(summary.exposed.size()));
  for (const WaitTime &wait :
       llvm::ArrayRef(summary.exposed).take_front(kMaxListed))
    os << formatv("  {0,10}  {1}, {2}\n", formatSeconds(wait.seconds),
                  describeCollective(summary, wait.collective),
                  explainWait(summary, wait));
  if (summary.exposed.size() > kMaxListed)
    os << formatv("  and {0} more\n", summary.exposed.size() - kMaxListed);
  return written;
}

//===----------------------------------------------------------------------===//
// Page
//===----------------------------------------------------------------------===//

TimelinePage regather::makePage(const SimulationSummary &summary) {
  const RankTimeline &times = summary.getTimes();
  TimelinePage page;
  page.title = "Simulated step";
  page.chips = {summary.file, summary.cluster,
                formatv("{0} ranks", summary.step.ranks).str()};
  if (!summary.mesh.empty())
    page.chips.push_back(summary.mesh);
  if (summary.batch == "per-rank")
    page.chips.push_back("captured batch on each rank");
  page.chips.push_back(
      formatv("{0} operations", summary.step.ops.size()).str());
  page.cards.push_back({"Step", formatSeconds(summary.result.seconds),
                        getAboveBound(summary) + " above the lower bound"});
  page.cards.push_back({"Exposed communication",
                        formatSeconds(times.exposedSeconds),
                        formatv("in {0} wait{1}", summary.exposed.size(),
                                summary.exposed.size() == 1 ? "" : "s")});
  page.cards.push_back({"Hidden", formatPercent(summary.getHiddenPart()),
                        "of " + formatSeconds(times.communicationSeconds) +
                            " of communication"});
  page.cards.push_back(
      {"Peak memory", formatBytes(summary.memory.peakBytes),
       formatBytes(summary.step.program.residentBytes) + " of arguments"});
  if (summary.peakFlops > 0)
    page.cards.push_back({"Model FLOPs utilization",
                          formatPercent(summary.getUtilization()),
                          "of the device's peak"});
  page.barsTitle = "Lower bounds";
  page.barsLead = "No order of the same operations is quicker than any of "
                  "these.";
  page.bars.push_back({"step", summary.result.seconds});
  for (const auto &[name, seconds] : summary.getBounds())
    page.bars.push_back({name, seconds});

  TimelineTable waits = {"Exposed waits",
                         "While these last, nothing is computed.",
                         {"time", "collective", "begins at", ""},
                         {}};
  for (const WaitTime &wait :
       llvm::ArrayRef(summary.exposed).take_front(2 * kMaxListed))
    waits.rows.push_back({formatSeconds(wait.seconds),
                          describeCollective(summary, wait.collective),
                          formatSeconds(times.begin[wait.wait]),
                          explainWait(summary, wait)});
  page.tables.push_back(std::move(waits));
  if (summary.result.ranks.size() > 1) {
    TimelineTable ranks = {"Ranks", "", {"ranks", "step", "exposed"}, {}};
    for (uint32_t i = 0; i != summary.result.ranks.size(); ++i)
      ranks.rows.push_back(
          {summary.nameRanks(i), formatSeconds(summary.result.ranks[i].seconds),
           formatSeconds(summary.result.ranks[i].exposedSeconds)});
    page.tables.push_back(std::move(ranks));
  }
  return page;
}
