//===- PyTorchPartition.h - What PyTorch would save -------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The decision of `min_cut_rematerialization_partition` of PyTorch 2.13 about a
// joint graph of forward and backward, as a function of the graph alone: equal
// graphs give equal cuts, to the last byte. The functions of PyTorch that the
// rules come from are named in PyTorchPartition.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_ANALYSIS_RECOMPUTATION_PYTORCHPARTITION_H
#define REGATHER_ANALYSIS_RECOMPUTATION_PYTORCHPARTITION_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <vector>

namespace regather {

/// A node of a joint graph. Selecting one result of several is a node of its
/// own, as in FX; the list of what the graph returns is not.
struct JointNode {
  enum class Kind : uint8_t {
    /// A parameter, a buffer or a part of the batch.
    Argument,
    /// The gradient of a result of forward, with which backward begins.
    Tangent,
    /// A call of an operator.
    Call,
    /// One result of a call that has several.
    Item,
  };
  /// PyTorch takes preferences to recompute for orders, and ignores those to
  /// save.
  enum class Mark : uint8_t {
    None,
    Save,
    Recompute,
    PreferSave,
    PreferRecompute
  };

  Kind kind = Kind::Call;
  Mark mark = Mark::None;
  /// What the operator is to PyTorch: one whose result may share the memory of
  /// its operand, one that is fast to compute again, one that a compiler fuses
  /// with its neighbours, one into which everything is fused.
  bool isView = false;
  bool isRecomputable = false;
  bool isFusible = false;
  bool isConcatenation = false;
  /// What it is to us (see JointPartition.h): a library call, or something that
  /// must not run twice, such as a collective or a random operator. Marks to
  /// recompute overrule both.
  bool isLibraryCall = false;
  bool isUnrepeatable = false;
  /// Must stay although nobody may read its result.
  bool hasEffects = false;
  /// Is not one tensor, and so cannot be saved.
  bool isTuple = false;
  /// Lives anyway: saving it costs nothing.
  bool isFree = false;
  /// Is returned by the graph, and if so, by backward.
  bool isReturned = false;
  bool isReturnedByBackward = false;
  /// Size of the result, and of the tensors among the positional arguments.
  int64_t bytes = 0;
  int64_t inputBytes = 0;
  /// Nodes in front of this one whose results it reads.
  llvm::SmallVector<uint32_t, 4> inputs;
};

struct PyTorchCut {
  /// Of the minimum cut, in weighted bytes.
  int64_t value = 0;
  /// By node: true for what is saved. Arguments can be.
  std::vector<bool> isSaved;
};

/// Finds what PyTorch saves of `graph`. Inputs of a node precede it. Linear in
/// the size of the graph, but for the cut (see findMinimumCut).
///
/// Fails if something can be neither saved nor computed again.
llvm::Expected<PyTorchCut>
partitionLikePyTorch(llvm::ArrayRef<JointNode> graph);

} // namespace regather

#endif // REGATHER_ANALYSIS_RECOMPUTATION_PYTORCHPARTITION_H
