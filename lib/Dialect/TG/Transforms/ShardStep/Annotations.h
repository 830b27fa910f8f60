//===- Annotations.h - Placements that the user fixes --------- -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_ANNOTATIONS_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_ANNOTATIONS_H

#include "../ShardParameters/Step.h"

namespace regather::tg::spmd {

/// One placement that the user fixes, such as `layers.*.wq=[tp] shard 0`, or
/// that an axis cuts of itself.
struct Annotation {
  /// The text as it was given, or as it could be.
  std::string text;
  /// Matches names of parameters, buffers and inputs; of modules if `isOutput`.
  std::string pattern;
  /// `output(PATTERN)`: what leaves modules in forward.
  bool isOutput = false;
  std::string axis;
  /// Nothing keeps it whole.
  std::optional<int64_t> dim;
  /// The one argument that is meant, where no pattern was given: as a pattern
  /// its name might also stand for a module that is called like it.
  std::optional<unsigned> argument;
};

/// Reads the values of option `shard`; an error at `module` says what is wrong
/// with one. Axes are in `mesh`.
mlir::FailureOr<std::vector<Annotation>>
readAnnotations(mlir::ModuleOp module, const DataMesh &mesh,
                llvm::ArrayRef<std::string> texts);

/// What annotations say of one axis. A dimension of nothing is to stay whole.
struct AxisSeeds {
  /// By argument.
  llvm::DenseMap<unsigned, std::optional<int64_t>> arguments;
  /// By result of an operation.
  llvm::DenseMap<mlir::Value, std::optional<int64_t>> values;

  bool empty() const { return arguments.empty() && values.empty(); }
};

/// True if ranks may share dimension `dim` of an argument although they do not
/// divide it: of a parameter that no axis before cuts along it, since two cuts
/// of one dimension are one only if parts are equal.
bool mayBeUneven(const Step &step, unsigned argument, int64_t dim);

/// Finds what the annotations of the axis mean, whose ranks `axisMesh` has as
/// those of its shard axis. Emits an error for a pattern that matches nothing,
/// two that match one thing, a dimension that does not exist, and one that
/// cannot be cut. Near-linear in the step; patterns times modules.
mlir::FailureOr<AxisSeeds> findSeeds(const Step &step, const DataMesh &axisMesh,
                                     llvm::ArrayRef<Annotation> annotations);

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_ANNOTATIONS_H
