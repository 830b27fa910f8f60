//===- ModuleNames.cpp - The modules that paths name ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Modules/ModuleNames.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace regather;

unsigned ModuleNames::add(StringRef path) {
  unsigned module = 0;
  for (unsigned depth = 1; !path.empty(); ++depth) {
    auto [name, rest] =
        depth < kMaxDepth ? path.split('.') : std::pair(path, StringRef());
    path = rest;
    auto [it, isNew] = nodes[module].byName.try_emplace(name, nodes.size());
    unsigned child = it->second;
    if (isNew) {
      nodes[module].children.push_back(child);
      Node node;
      node.name = name.str();
      node.parent = module;
      nodes.push_back(std::move(node));
    }
    module = child;
  }
  return module;
}

std::string ModuleNames::getPath(unsigned module) const {
  SmallVector<StringRef> components;
  for (; module != 0; module = nodes[module].parent)
    components.push_back(nodes[module].name);
  return llvm::join(llvm::reverse(components), ".");
}

/// The number that a component of a path spells; nothing if it is a name.
static std::optional<uint64_t> getNumber(StringRef name) {
  uint64_t number;
  if (name.empty() || !llvm::all_of(name, llvm::isDigit) ||
      name.getAsInteger(10, number))
    return std::nullopt;
  return number;
}

std::vector<ModuleRun>
regather::foldChildren(const ModuleNames &names, unsigned module,
                       llvm::function_ref<bool(unsigned, unsigned)> areAlike) {
  std::vector<ModuleRun> runs;
  for (unsigned child : names.getChildren(module)) {
    std::optional<uint64_t> number = getNumber(names.getName(child));
    if (number && !runs.empty()) {
      ModuleRun &run = runs.back();
      unsigned last = run.modules.back();
      std::optional<uint64_t> before = getNumber(names.getName(last));
      if (before && *before + 1 == *number && areAlike(last, child)) {
        run.modules.push_back(child);
        run.name = ("{" + names.getName(run.modules.front()) + ".." +
                    names.getName(child) + "}")
                       .str();
        continue;
      }
    }
    runs.push_back({names.getName(child).str(), {child}});
  }
  return runs;
}

std::string regather::summarizePaths(ArrayRef<StringRef> paths) {
  static constexpr size_t kMaxListed = 8;
  ModuleNames names;
  for (StringRef path : paths)
    names.add(path);
  SmallVector<std::string> listed;
  if (llvm::is_contained(paths, ""))
    listed.push_back(kRootPattern.str());
  // Modules that contain all others tell nothing.
  unsigned top = 0;
  while (names.getChildren(top).size() == 1 &&
         !names.getChildren(names.getChildren(top).front()).empty())
    top = names.getChildren(top).front();
  auto always = [](unsigned, unsigned) { return true; };
  std::string prefix = names.getPath(top);
  if (!prefix.empty())
    prefix += ".";
  for (const ModuleRun &run : foldChildren(names, top, always)) {
    std::string path = prefix + run.name;
    // A container stands for its numbered children.
    std::vector<ModuleRun> inner =
        foldChildren(names, run.modules.front(), always);
    if (inner.size() == 1 && inner.front().modules.size() > 1)
      path += "." + inner.front().name;
    listed.push_back(std::move(path));
  }
  size_t rest = listed.size() - std::min(listed.size(), kMaxListed);
  listed.truncate(listed.size() - rest);
  if (rest)
    listed.push_back(std::to_string(rest) + " more");
  return listed.empty() ? "none" : llvm::join(listed, ", ");
}
