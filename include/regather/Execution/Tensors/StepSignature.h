//===- StepSignature.h - What goes into and comes out of a step -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_EXECUTION_TENSORS_STEPSIGNATURE_H
#define REGATHER_EXECUTION_TENSORS_STEPSIGNATURE_H

#include "regather/Execution/Tensors/HostTensor.h"
#include "regather/Support/Result.h"

#include <optional>
#include <string>

namespace regather {

/// What a value of a step is. In the order of tg::RoleKind.
enum class Role : uint8_t {
  Parameter,
  Buffer,
  Input,
  OptimizerState,
  Rng,
  LearningRate,
  Step,
  Loss,
  Gradient,
  Update,
  Saved,
  Overflow
};

enum class ReductionKind : uint8_t { Sum, Avg, Max };

/// How a tensor lies over some axes of the mesh.
struct AxisPlacement {
  /// Numbers of axes, the first of which runs slowest.
  std::vector<unsigned> axes;
  /// The dimension that is cut into shards; none for a partial value, which is
  /// still to be reduced.
  std::optional<int64_t> dim;
  ReductionKind reduction = ReductionKind::Sum;

  bool operator==(const AxisPlacement &other) const {
    return axes == other.axes && dim == other.dim &&
           reduction == other.reduction;
  }
};

/// Axes that it does not mention hold copies.
using Placement = std::vector<AxisPlacement>;

/// The ranks as a grid, row-major.
struct Mesh {
  std::string name;
  std::vector<std::string> axes;
  Shape sizes;

  int64_t getNumRanks() const { return getNumElements(sizes); }
  /// The position of a rank among those that differ from it in `axes` only.
  int64_t getIndexInGroup(int64_t rank,
                          const std::vector<unsigned> &axes) const;
  /// These ranks, by position.
  std::vector<int64_t> getGroup(int64_t rank,
                                const std::vector<unsigned> &axes) const;
};

/// A tensor that lies in a flat argument or result.
struct StepMember {
  std::string name;
  /// First element in the global flat tensor.
  int64_t offset = 0;
  Shape shape;

  bool operator==(const StepMember &other) const {
    return name == other.name && offset == other.offset && shape == other.shape;
  }
};

/// One argument or result. Scalars are described as tensors of rank 0.
struct StepValue {
  /// `tg.name`, or for results what their role says (`loss`, `grad.NAME`,
  /// NAME of the updated argument); else `argN` and `resultN`. Unique.
  std::string name;
  std::optional<Role> role;
  /// Argument that a gradient or an update belongs to.
  int64_t argument = -1;
  ElementType elementType = ElementType::F32;
  Shape localShape;
  Shape globalShape;
  /// Empty if the value is replicated.
  Placement placement;
  /// What files hold instead of the value itself; empty unless it is flat.
  std::vector<StepMember> members;

  /// The tensors that files hold of this value: each member, or the value.
  std::vector<StepValue> getFileValues() const;
};

/// What a run has to know of the function that it executes.
struct StepSignature {
  std::string entry;
  std::optional<Mesh> mesh;
  int64_t ranks = 1;
  /// Of the batch, over which sums are trees, whatever the ranks; 0 if they are
  /// in the order of the ranks.
  int64_t segments = 0;
  /// Of an elastic step, the axis of the model over whose segments sums are
  /// trees as well, such as "tp:4"; empty if there is none.
  std::string elasticAxes;
  std::vector<StepValue> arguments;
  std::vector<StepValue> results;
  /// Number of the result that is the loss, if there is one.
  std::optional<unsigned> loss;
  /// Number of the result that says how many rows there was no room for: if it
  /// is above 0, on all ranks alike, nothing has been updated, and the step has
  /// to be run by a program with room for all.
  std::optional<unsigned> overflow;
};

/// The numbers of the parameters, buffers and states that a step which updates
/// others leaves as they are, such as frozen parameters; empty if it updates
/// nothing.
std::vector<size_t> getConstants(const StepSignature &step);

/// The values of one rank: arguments or results of the step, in order.
using RankValues = std::vector<HostTensor>;

/// The part of a global tensor that rank `rank` holds; padding is zero. Of a
/// partial value the first rank holds everything and the others zeros.
HostTensor shardTensor(const HostTensor &global, const StepValue &value,
                       const StepSignature &step, int64_t rank);

/// Puts the parts of all ranks together again; partial values are reduced.
/// Fails, and says which ranks differ, if copies that should be equal are not.
Result<HostTensor> unshardTensor(const std::vector<HostTensor> &parts,
                                 const StepValue &value,
                                 const StepSignature &step);

/// Puts the members of a flat value, in order, into its global tensor; all
/// other elements are zero.
HostTensor joinMembers(const StepValue &value,
                       const std::vector<HostTensor> &members);

/// Takes the global tensor of a flat value apart.
std::vector<HostTensor> splitMembers(const StepValue &value,
                                     const HostTensor &global);

} // namespace regather

#endif // REGATHER_EXECUTION_TENSORS_STEPSIGNATURE_H
