//===- StepSignature.h - What goes into and comes out of a step -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_EXECUTION_STEPSIGNATURE_H
#define REGATHER_EXECUTION_STEPSIGNATURE_H

#include "regather/Dialect/TG/IR/TG.h"
#include "regather/Execution/HostTensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace regather {

/// A tensor that lies in a flat argument or result.
struct StepMember {
  std::string name;
  /// First element in the global flat tensor.
  int64_t offset = 0;
  llvm::SmallVector<int64_t> shape;
};

/// One argument or result. Scalars are described as tensors of rank 0.
struct StepValue {
  /// `tg.name`, or for results what their role says (`loss`, `grad.NAME`,
  /// NAME of the updated argument); else `argN` and `resultN`. Unique.
  std::string name;
  std::optional<tg::RoleKind> role;
  /// Argument that a gradient or an update belongs to.
  int64_t argument = -1;
  ElementType elementType = ElementType::F32;
  llvm::SmallVector<int64_t> localShape;
  llvm::SmallVector<int64_t> globalShape;
  /// Null if the value is replicated.
  tg::PlacementAttr placement;
  /// What files hold instead of the value itself; empty unless it is flat.
  std::vector<StepMember> members;

  /// The tensors that files hold of this value: each member, or the value.
  std::vector<StepValue> getFileValues() const;
};

/// The function that a run executes, and its mesh.
struct StepSignature {
  mlir::func::FuncOp entry;
  /// Null if the module declares none.
  tg::MeshOp mesh;
  int64_t ranks = 1;
  std::vector<StepValue> arguments;
  std::vector<StepValue> results;
  /// Number of the result that is the loss, if there is one.
  std::optional<unsigned> loss;
};

/// Describes the function called `entryName`, or the only public function with
/// a body if the name is empty. `ranks` is what the user asked for; without it,
/// the mesh decides. Emits errors with locations: no such function, a mesh of
/// another number of ranks, types that cannot be run.
mlir::FailureOr<StepSignature> analyzeStep(mlir::ModuleOp module,
                                           llvm::StringRef entryName,
                                           std::optional<int64_t> ranks);

/// Checks what can be known before anything is allocated: that this machine can
/// run as many ranks, and that no value, nor the arguments of all ranks, need
/// more memory than it has. Emits an error that says how much is needed.
mlir::LogicalResult verifyFitsMachine(const StepSignature &step);

/// The part of a global tensor that rank `rank` holds; padding is zero. Of a
/// partial value the first rank holds everything and the others zeros.
HostTensor shardTensor(const HostTensor &global, const StepValue &value,
                       tg::MeshOp mesh, int64_t rank);

/// Puts the parts of all ranks together again; partial values are reduced.
/// Fails, and says which ranks differ, if copies that should be equal are not.
llvm::Expected<HostTensor> unshardTensor(llvm::ArrayRef<HostTensor> parts,
                                         const StepValue &value,
                                         tg::MeshOp mesh);

/// Puts the members of a flat value, in order, into its global tensor; all
/// other elements are zero.
HostTensor joinMembers(const StepValue &value,
                       llvm::ArrayRef<HostTensor> members);

/// Takes the global tensor of a flat value apart.
std::vector<HostTensor> splitMembers(const StepValue &value,
                                     const HostTensor &global);

} // namespace regather

#endif // REGATHER_EXECUTION_STEPSIGNATURE_H
