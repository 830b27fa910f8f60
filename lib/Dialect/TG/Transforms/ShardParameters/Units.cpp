//===- Units.cpp - Parameters that travel together ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Units.h"

#include "ModulePattern.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

//===----------------------------------------------------------------------===//
// Repeated blocks
//===----------------------------------------------------------------------===//

namespace {
/// The module paths that hold numbered siblings, such as `layers`.
class Containers {
public:
  explicit Containers(const Step &step);

  /// The outermost block that `path` lies in, such as `layers.3`; empty if it
  /// is in none.
  StringRef getBlock(StringRef path) const;
  /// The module beside the blocks that `path` lies in: `model.norm` if there
  /// is `model.layers`.
  StringRef getSibling(StringRef path) const;

private:
  /// Calls `visit(prefix, number)` for every numbered component of `path`,
  /// from the outermost inwards, until it returns true.
  static void
  forEachNumber(StringRef path,
                llvm::function_ref<bool(StringRef, StringRef)> visit);

  llvm::StringMap<llvm::StringSet<>> numbers;
  /// All proper prefixes of containers of several blocks, and these.
  llvm::StringSet<> above;
};
} // namespace

void Containers::forEachNumber(
    StringRef path, llvm::function_ref<bool(StringRef, StringRef)> visit) {
  size_t begin = 0;
  while (begin < path.size()) {
    size_t end = std::min(path.find('.', begin), path.size());
    StringRef component = path.slice(begin, end);
    StringRef prefix = path.take_front(begin == 0 ? 0 : begin - 1);
    if (!component.empty() && llvm::all_of(component, llvm::isDigit) &&
        visit(prefix, component))
      return;
    begin = end + 1;
  }
}

Containers::Containers(const Step &step) {
  for (const Parameter &parameter : step.parameters)
    forEachNumber(parameter.module, [&](StringRef prefix, StringRef number) {
      numbers[prefix].insert(number);
      return false;
    });
  for (const auto &container : numbers) {
    if (container.second.size() < 2)
      continue;
    StringRef path = container.first();
    while (!path.empty()) {
      path = path.contains('.') ? path.rsplit('.').first : StringRef();
      above.insert(path);
    }
  }
}

StringRef Containers::getBlock(StringRef path) const {
  StringRef block;
  forEachNumber(path, [&](StringRef prefix, StringRef number) {
    auto it = numbers.find(prefix);
    if (it == numbers.end() || it->second.size() < 2)
      return false;
    block = path.take_front(prefix.empty() ? number.size()
                                           : prefix.size() + 1 + number.size());
    return true;
  });
  return block;
}

StringRef Containers::getSibling(StringRef path) const {
  size_t end = std::min(path.find('.'), path.size());
  while (end < path.size() && above.contains(path.take_front(end)))
    end = std::min(path.find('.', end + 1), path.size());
  return path.take_front(end);
}

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

/// Units in the order of their first parameters.
static std::vector<Unit> groupByPath(ArrayRef<std::string> paths) {
  llvm::MapVector<StringRef, SmallVector<unsigned>> groups;
  for (auto [number, path] : llvm::enumerate(paths))
    groups[path].push_back(number);
  std::vector<Unit> units;
  for (auto &[path, parameters] : groups)
    units.push_back({path.str(), std::move(parameters)});
  return units;
}

/// The place of the first use of any of the parameters.
static std::optional<unsigned> getFirstUse(const Step &step,
                                           ArrayRef<unsigned> parameters) {
  std::optional<unsigned> first;
  for (unsigned number : parameters)
    if (std::optional<unsigned> use = step.parameters[number].firstUse)
      first = std::min(first.value_or(*use), *use);
  return first;
}

/// Merges the units outside of blocks that are first used after all blocks.
static void mergeLast(const Step &step, std::vector<Unit> &units,
                      const llvm::StringSet<> &blocks) {
  std::optional<unsigned> lastBlock;
  for (const Unit &unit : units)
    if (blocks.contains(unit.path))
      if (std::optional<unsigned> use = getFirstUse(step, unit.parameters))
        lastBlock = std::max(lastBlock.value_or(*use), *use);
  if (!lastBlock)
    return;
  std::vector<Unit> kept;
  std::optional<size_t> last;
  for (Unit &unit : units) {
    std::optional<unsigned> use = getFirstUse(step, unit.parameters);
    bool isLast = !blocks.contains(unit.path) && use && *use > *lastBlock;
    if (isLast && last) {
      llvm::append_range(kept[*last].parameters, unit.parameters);
      continue;
    }
    if (isLast)
      last = kept.size();
    kept.push_back(std::move(unit));
  }
  if (last)
    llvm::sort(kept[*last].parameters);
  units = std::move(kept);
}

static std::vector<Unit> findRepeatedBlocks(const Step &step) {
  Containers containers(step);
  std::vector<std::string> paths;
  llvm::StringSet<> blocks;
  for (const Parameter &parameter : step.parameters) {
    StringRef block = containers.getBlock(parameter.module);
    if (!block.empty())
      blocks.insert(block);
    paths.push_back(
        (block.empty() ? containers.getSibling(parameter.module) : block)
            .str());
  }
  std::vector<Unit> units = groupByPath(paths);
  mergeLast(step, units, blocks);
  return units;
}

FailureOr<std::vector<Unit>>
regather::tg::spmd::findUnits(const Step &step,
                              ArrayRef<std::string> patterns) {
  if (patterns.empty())
    return findRepeatedBlocks(step);
  if (patterns.size() == 1 && patterns.front() == "none") {
    std::vector<Unit> units;
    for (auto [number, parameter] : llvm::enumerate(step.parameters))
      units.push_back({parameter.module, {static_cast<unsigned>(number)}});
    return units;
  }
  SmallVector<StringRef> modules;
  for (const Parameter &parameter : step.parameters)
    modules.push_back(parameter.module);
  FailureOr<std::vector<PatternMatch>> matches =
      matchPatterns(step.func, "units", patterns, modules);
  if (failed(matches))
    return failure();
  std::vector<std::string> paths;
  for (const PatternMatch &match : *matches)
    paths.push_back(match.prefix.str());
  return groupByPath(paths);
}
