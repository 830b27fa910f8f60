//===- ModuleTree.h - What each module of a model does ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_MODULES_MODULETREE_H
#define REGATHER_DIALECT_TG_MODULES_MODULETREE_H

#include "regather/Analysis/Modules/ModuleNames.h"
#include "regather/Dialect/TG/Steps/StepCosts.h"

#include <array>

namespace regather::tg {

/// The phases of a step, and last what is not marked with any.
inline constexpr unsigned kNumPhaseColumns = 4;

/// What a module, with all that is in it, does in one phase.
struct ModuleWork {
  int64_t ops = 0;
  double flops = 0;
  /// By CollectiveKind.
  std::array<int64_t, 6> collectives = {};
  /// By collectives, on each rank.
  int64_t receivedBytes = 0;
  double computeSeconds = 0;
  double collectiveSeconds = 0;

  int64_t getNumCollectives() const;
  ModuleWork &operator+=(const ModuleWork &other);
};

/// The parameters of a module and of all that is in it.
struct ModuleParameters {
  int64_t count = 0;
  int64_t elements = 0;
  int64_t bytes = 0;
  /// Those of a flat buffer count for the module that the buffer belongs to.
  int64_t bytesPerRank = 0;

  ModuleParameters &operator+=(const ModuleParameters &other);
};

struct ModuleSummary {
  ModuleParameters parameters;
  /// By phase, as `Phase` numbers them; the last one is of unmarked operations.
  std::array<ModuleWork, kNumPhaseColumns> work;

  ModuleSummary &operator+=(const ModuleSummary &other);
};

/// The modules of a step and what they do, from the `tg.module` of operations
/// and parameters. What names no module belongs to the model as a whole; a wait
/// belongs where its collective does. Linear in the step.
class ModuleTree {
public:
  /// Seconds are zero without `costs`.
  explicit ModuleTree(mlir::ModuleOp module, StepCosts *costs = nullptr);

  const ModuleNames &getNames() const { return names; }
  /// By module: it and all that is in it.
  const ModuleSummary &getSummary(unsigned module) const {
    return summaries[module];
  }
  /// True if two modules do the same, and so do those in them, by name.
  bool areAlike(unsigned first, unsigned second) const {
    return classes[first] == classes[second];
  }

private:
  ModuleSummary &at(llvm::StringRef path);
  void addOp(mlir::Operation *op, StepCosts *costs);
  void addUp();
  void classify();

  ModuleNames names;
  std::vector<ModuleSummary> summaries;
  llvm::DenseMap<mlir::Attribute, unsigned> byAttribute;
  llvm::DenseMap<mlir::Attribute, MeshOp> meshes;
  /// Equal for modules that are alike.
  std::vector<unsigned> classes;
};

/// `forward`, `backward`, `optimizer` or `unmarked`.
llvm::StringRef getPhaseColumnName(unsigned column);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_MODULES_MODULETREE_H
