//===- ModuleUnits.h - Group what belongs to one block ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_ANALYSIS_MODULES_MODULEUNITS_H
#define REGATHER_ANALYSIS_MODULES_MODULEUNITS_H

#include "regather/Analysis/Modules/ModulePattern.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <optional>
#include <string>
#include <vector>

namespace regather {

/// The repeated blocks among module paths: numbered siblings, such as
/// `layers.0` and `layers.1`.
class ModuleBlocks {
public:
  explicit ModuleBlocks(llvm::ArrayRef<llvm::StringRef> paths);

  /// The outermost block that `path` lies in, such as `layers.3`; empty if it
  /// is in none.
  llvm::StringRef getBlock(llvm::StringRef path) const;
  /// The module beside the blocks that `path` lies in: `model.norm` if there
  /// is `model.layers`.
  llvm::StringRef getSibling(llvm::StringRef path) const;

private:
  /// By module that holds numbered ones, such as `layers`.
  llvm::StringMap<llvm::StringSet<>> numbers;
  /// All proper prefixes of containers of several blocks, and these.
  llvm::StringSet<> above;
};

/// The unit that each of `paths` lies in, for what is decided by units: what
/// its pattern matched or, without one, the repeated block or, if the model has
/// none, the module beside them; empty for none. `matches` are by path.
std::vector<llvm::StringRef>
findUnitsOfPaths(llvm::ArrayRef<llvm::StringRef> paths,
                 llvm::ArrayRef<PatternMatch> matches);

/// Something that belongs to a module, and the place of its first use.
struct ModuleUse {
  llvm::StringRef module;
  std::optional<unsigned> firstUse;
};

struct ModuleUnit {
  /// Module path that stands for the unit.
  std::string path;
  /// Numbers of what belongs to it, in ascending order.
  llvm::SmallVector<unsigned> members;
};

/// Groups what has equal paths, in the order of the first ones.
std::vector<ModuleUnit> groupByPath(llvm::ArrayRef<std::string> paths);

/// Groups by repeated block, and by module beside them. Final norm and head,
/// that is, modules used first after all blocks, make up one unit.
std::vector<ModuleUnit> findModuleUnits(llvm::ArrayRef<ModuleUse> uses);

} // namespace regather

#endif // REGATHER_ANALYSIS_MODULES_MODULEUNITS_H
