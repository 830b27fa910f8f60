//===- ModuleNames.h - The modules that paths name --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_ANALYSIS_MODULES_MODULENAMES_H
#define REGATHER_ANALYSIS_MODULES_MODULENAMES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace regather {

/// What stands for the root module, whose path is empty, in options and in what
/// is listed.
inline constexpr llvm::StringLiteral kRootPattern = ".";

/// Modules by number, as a tree: number 0 is the model, whose path is empty.
/// Parents have smaller numbers than their children, and siblings are in the
/// order in which they were added.
class ModuleNames {
public:
  ModuleNames() : nodes(1) {}

  /// The number of the module with this path, which is added with all that it
  /// is in. What is nested more than `kMaxDepth` deep counts as one component.
  unsigned add(llvm::StringRef path);

  unsigned getNumModules() const { return nodes.size(); }
  /// The last component of the path.
  llvm::StringRef getName(unsigned module) const { return nodes[module].name; }
  unsigned getParent(unsigned module) const { return nodes[module].parent; }
  llvm::ArrayRef<unsigned> getChildren(unsigned module) const {
    return nodes[module].children;
  }
  std::string getPath(unsigned module) const;

  static constexpr unsigned kMaxDepth = 64;

private:
  struct Node {
    std::string name;
    unsigned parent = 0;
    std::vector<unsigned> children;
    llvm::StringMap<unsigned> byName;
  };
  std::vector<Node> nodes;
};

/// Siblings that are shown as one: `layers.{0..31}`.
struct ModuleRun {
  /// The component: that of the only module, or `{first..last}`.
  std::string name;
  std::vector<unsigned> modules;
};

/// Joins neighbouring children whose names are numbers that follow each other,
/// where `areAlike` says so of one and the next.
std::vector<ModuleRun>
foldChildren(const ModuleNames &names, unsigned module,
             llvm::function_ref<bool(unsigned, unsigned)> areAlike);

/// What a message says of the modules that there are: the outermost ones, with
/// repeated ones folded, as in `embedding, layers.{0..31}, norm`.
std::string summarizePaths(llvm::ArrayRef<llvm::StringRef> paths);

} // namespace regather

#endif // REGATHER_ANALYSIS_MODULES_MODULENAMES_H
