//===- ModuleUnits.cpp - Group what belongs to one block ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Modules/ModuleUnits.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace regather;

//===----------------------------------------------------------------------===//
// Repeated blocks
//===----------------------------------------------------------------------===//

/// Calls `visit(prefix, number)` for every numbered component of `path`, from
/// the outermost inwards, until it returns true.
static void
forEachNumber(StringRef path,
              llvm::function_ref<bool(StringRef, StringRef)> visit) {
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

ModuleBlocks::ModuleBlocks(ArrayRef<StringRef> paths) {
  for (StringRef path : paths)
    forEachNumber(path, [&](StringRef prefix, StringRef number) {
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

StringRef ModuleBlocks::getBlock(StringRef path) const {
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

StringRef ModuleBlocks::getSibling(StringRef path) const {
  size_t end = std::min(path.find('.'), path.size());
  while (end < path.size() && above.contains(path.take_front(end)))
    end = std::min(path.find('.', end + 1), path.size());
  return path.take_front(end);
}

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

std::vector<ModuleUnit> regather::groupByPath(ArrayRef<std::string> paths) {
  llvm::MapVector<StringRef, SmallVector<unsigned>> groups;
  for (auto [number, path] : llvm::enumerate(paths))
    groups[path].push_back(number);
  std::vector<ModuleUnit> units;
  for (auto &[path, members] : groups)
    units.push_back({path.str(), std::move(members)});
  return units;
}

/// The place of the first use of any of `members`.
static std::optional<unsigned> getFirstUse(ArrayRef<ModuleUse> uses,
                                           ArrayRef<unsigned> members) {
  std::optional<unsigned> first;
  for (unsigned number : members)
    if (std::optional<unsigned> use = uses[number].firstUse)
      first = std::min(first.value_or(*use), *use);
  return first;
}

/// Merges the units outside of blocks that are first used after all blocks.
static void mergeLast(ArrayRef<ModuleUse> uses, std::vector<ModuleUnit> &units,
                      const llvm::StringSet<> &blocks) {
  std::optional<unsigned> lastBlock;
  for (const ModuleUnit &unit : units)
    if (blocks.contains(unit.path))
      if (std::optional<unsigned> use = getFirstUse(uses, unit.members))
        lastBlock = std::max(lastBlock.value_or(*use), *use);
  if (!lastBlock)
    return;
  std::vector<ModuleUnit> kept;
  std::optional<size_t> last;
  for (ModuleUnit &unit : units) {
    std::optional<unsigned> use = getFirstUse(uses, unit.members);
    bool isLast = !blocks.contains(unit.path) && use && *use > *lastBlock;
    if (isLast && last) {
      llvm::append_range(kept[*last].members, unit.members);
      continue;
    }
    if (isLast)
      last = kept.size();
    kept.push_back(std::move(unit));
  }
  if (last)
    llvm::sort(kept[*last].members);
  units = std::move(kept);
}

std::vector<ModuleUnit> regather::findModuleUnits(ArrayRef<ModuleUse> uses) {
  SmallVector<StringRef> modules;
  for (const ModuleUse &use : uses)
    modules.push_back(use.module);
  ModuleBlocks repeated(modules);
  std::vector<std::string> paths;
  llvm::StringSet<> blocks;
  for (StringRef module : modules) {
    StringRef block = repeated.getBlock(module);
    if (!block.empty())
      blocks.insert(block);
    paths.push_back(
        (block.empty() ? repeated.getSibling(module) : block).str());
  }
  std::vector<ModuleUnit> units = groupByPath(paths);
  mergeLast(uses, units, blocks);
  return units;
}

std::vector<StringRef>
regather::findUnitsOfPaths(ArrayRef<StringRef> paths,
                           ArrayRef<PatternMatch> matches) {
  ModuleBlocks blocks(paths);
  bool hasBlocks = llvm::any_of(
      paths, [&](StringRef path) { return !blocks.getBlock(path).empty(); });
  std::vector<StringRef> units;
  for (auto [path, match] : llvm::zip_equal(paths, matches))
    units.push_back(match.pattern ? match.prefix
                    : hasBlocks   ? blocks.getBlock(path)
                                  : blocks.getSibling(path));
  return units;
}
