//===- EqualLayers.h - A few layers for many equal ones ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_STEPS_EQUALLAYERS_H
#define REGATHER_DIALECT_TG_STEPS_EQUALLAYERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace regather::tg {

/// A copy of a step without most of its equal layers: modules such as
/// `layers.7` with the same operations in the same order, of which each reads
/// the same of its own layer, of its neighbours, and of what lies outside. A
/// unit is one layer, or several in a row, such as one with a window and one
/// without, that come again in the same order.
struct FoldedStep {
  /// In no module.
  mlir::OwningOpRef<mlir::func::FuncOp> func;
  /// The modules of the layers that stand for others, such as `layers.1`; empty
  /// if nothing is left out.
  llvm::SmallVector<std::string, 1> layers;
  /// Units that are equal, and how many of them the copy has.
  int64_t numUnits = 0, numKept = 0;
  /// Layers of a unit, and layers before and behind all units.
  int64_t unitLayers = 1, outerLayers = 0;
  /// If one unit is kept: what it reads of a neighbour, and what it gives to
  /// the other one in that place: in the step, the latter is what the next unit
  /// gets.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>, 2> crossings;

  /// How often the step has what belongs to a module.
  double countModule(llvm::StringRef module) const;
  double countOperation(mlir::Operation *op) const;
  double countArgument(unsigned argument) const;
};

/// Leaves out all but the first of the equal units, and joins that one to what
/// lies behind. What all units share may be computed before the first one.
/// Operations that the unit alone reads belong to it; those that are in no
/// module get that of their layer. A copy of the whole step if fewer than two
/// units would be left out. Linear in the operations.
FoldedStep foldEqualLayers(mlir::func::FuncOp func);

/// A copy with all layers.
FoldedStep copyStep(mlir::func::FuncOp func);

/// A module with a step in place of `entry` that has the first few of the equal
/// units, and is otherwise as the whole one.
struct FoldedModule {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  int64_t numUnits = 0, numKept = 0;
  int64_t unitLayers = 1, outerLayers = 0;
};

/// Nothing if nothing can be left out. `entry` lies in `module`, where nothing
/// calls it.
std::optional<FoldedModule>
foldModule(mlir::ModuleOp module, mlir::func::FuncOp entry, int64_t numKept);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_STEPS_EQUALLAYERS_H
