//===- SubgroupGathers.h - Gather again among fewer ranks -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SUBGROUPGATHERS_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SUBGROUPGATHERS_H

#include "regather/Dialect/TG/Steps/StepGraph.h"

#include "mlir/IR/PatternMatch.h"

namespace regather::tg {

/// Replaces gathers of backward by gathers within groups of neighbouring ranks
/// (ZeRO++ calls this hpZ, FSDP2 an integer `reshard_after_forward`): forward
/// cuts this rank's part over the group out of what it has gathered, and
/// backward gathers these parts.
class SubgroupGathers {
public:
  explicit SubgroupGathers(mlir::FunctionOpInterface func);

  struct Member {
    /// In the gather of forward.
    unsigned original;
    /// In the gather of backward.
    unsigned copy;
    /// Number of ranks of the group.
    int64_t ranks;
  };

  /// Takes `members` out of `copy`, which does in backward what `original` does
  /// in forward. Emits an error if the ranks of the gather cannot be cut into
  /// such groups.
  mlir::LogicalResult replace(AllGatherOp original, AllGatherOp copy,
                              llvm::ArrayRef<Member> members);

private:
  /// The axes of a mesh that make up the groups.
  struct Group {
    mlir::FlatSymbolRefAttr mesh;
    AxesAttr axes;
  };

  mlir::FailureOr<Group> getGroup(AllGatherOp gather, int64_t ranks);
  Group splitAxis(MeshOp mesh, llvm::StringRef axis, int64_t inner,
                  llvm::ArrayRef<llvm::StringRef> rest);
  mlir::Value getOffset(Group group, int64_t size);
  mlir::Value cutPart(mlir::Value whole, int64_t dim, Group group,
                      int64_t ranks);

  mlir::FunctionOpInterface func;
  mlir::IRRewriter rewriter;
  /// By mesh, axis and size of the inner axis.
  llvm::DenseMap<std::tuple<mlir::Operation *, mlir::StringAttr, int64_t>,
                 MeshOp>
      splitMeshes;
  llvm::DenseMap<std::tuple<mlir::Attribute, mlir::Attribute, int64_t>,
                 mlir::Value>
      offsets;
};

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SUBGROUPGATHERS_H
