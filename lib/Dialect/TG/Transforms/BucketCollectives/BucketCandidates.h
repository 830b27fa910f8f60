//===- BucketCandidates.h - Collectives that can be merged ------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_BUCKETCOLLECTIVES_BUCKETCANDIDATES_H
#define REGATHER_DIALECT_TG_TRANSFORMS_BUCKETCOLLECTIVES_BUCKETCANDIDATES_H

#include "regather/Dialect/TG/Steps/StepGraph.h"

namespace regather::tg::buckets {

/// A gather of parameters, a reduction of gradients, or another gather or
/// reduction with a `tg.bucket`.
struct Candidate {
  CollectiveOpInterface op;
  WaitOp wait;
  /// Place in the block.
  unsigned number = 0;
  /// The parameters of its members; null for what is marked and has none.
  llvm::SmallVector<mlir::BlockArgument> parameters;
  /// Its `tg.bucket`; empty if it has none.
  llvm::StringRef mark;

  mlir::OperandRange getInputs() const {
    return CollectiveOpInterface(op).getInputs();
  }
  mlir::ResultRange getTensors() const { return WaitOp(wait).getTensors(); }
};

struct Candidates {
  /// In program order. A collective that nobody waits for is not among them.
  std::vector<Candidate> collectives;
  /// By operation: it computes something from a shard of a parameter, or a
  /// constant, and may run anywhere.
  std::vector<bool> isEarly;
};

/// What can be merged.
Candidates findCandidates(mlir::FunctionOpInterface func,
                          const StepGraph &graph);

/// The paths of the modules that have `parameter`, or the parameters that it
/// holds if it is flat.
llvm::SmallVector<llvm::StringRef> getModules(mlir::FunctionOpInterface func,
                                              mlir::BlockArgument parameter);

/// The place of `parameter`, or the first one that it holds, in the order in
/// which the model registers them; what has none comes last.
int64_t getRegistration(mlir::FunctionOpInterface func,
                        mlir::BlockArgument parameter);

/// The element type of what `op` carries, or a list if there are several.
mlir::Attribute getElementTypes(CollectiveOpInterface op);

/// What the members of one collective have in common.
struct MergeKey {
  mlir::OperationName name;
  /// Mesh, axes, dimension, phase, generation, reduction, accumulation type.
  mlir::DictionaryAttr attributes;
  mlir::Attribute policy, waitPolicy;
  /// Null for gathers, which move bytes.
  mlir::Attribute elementTypes;

  explicit MergeKey(const Candidate &candidate);
  bool operator==(const MergeKey &other) const;
  bool operator!=(const MergeKey &other) const { return !(*this == other); }
};

/// Why two collectives of one kind cannot be merged, for messages: "axes [dp]
/// and [tp] differ".
std::string describeDifference(const MergeKey &a, const MergeKey &b);

/// True if the members of gathers can lie behind each other in one buffer, each
/// aligned to its elements, in any order.
bool haveCommonLayout(llvm::ArrayRef<Candidate> candidates,
                      llvm::ArrayRef<unsigned> gathers);

} // namespace regather::tg::buckets

#endif // REGATHER_DIALECT_TG_TRANSFORMS_BUCKETCOLLECTIVES_BUCKETCANDIDATES_H
