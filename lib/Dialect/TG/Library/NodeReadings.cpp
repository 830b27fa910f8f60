//===- NodeReadings.cpp - Nodes in terms of a library
//------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LibraryReadings.h"

#include "regather/Dialect/TG/Nodes/NodeArguments.h"

using namespace mlir;
using namespace regather::nodes;
using namespace regather::tg;
using namespace regather::tg::library;

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// Reads the view that one target makes of "self".
using ViewReader = bool (*)(NodeArguments &args, Tensor self, unsigned result,
                            SmallVectorImpl<ViewTransform> &transforms);

static ArrayRef<int64_t> getResultShape(NodeArguments &args, unsigned result) {
  return cast<RankedTensorType>(args.getNode().getResult(result).getType())
      .getShape();
}

static bool readSame(NodeArguments &, Tensor, unsigned,
                     SmallVectorImpl<ViewTransform> &) {
  return true;
}

static bool readReshape(NodeArguments &args, Tensor, unsigned result,
                        SmallVectorImpl<ViewTransform> &transforms) {
  transforms.push_back(ViewTransform::reshape(getResultShape(args, result)));
  return true;
}

static bool readExpand(NodeArguments &args, Tensor self, unsigned result,
                       SmallVectorImpl<ViewTransform> &transforms) {
  ArrayRef<int64_t> shape = getResultShape(args, result);
  transforms.push_back(ViewTransform::broadcast(shape));
  return succeeded(args.expectBroadcast(self, shape));
}

static bool readTranspose(NodeArguments &args, Tensor self, unsigned,
                          SmallVectorImpl<ViewTransform> &transforms) {
  int64_t rank = self.getType().getRank();
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  int64_t first = args.getDim("dim0", rank), second = args.getDim("dim1", rank);
  if (args.hasFailed())
    return false;
  if (rank > 0)
    std::swap(permutation[first], permutation[second]);
  transforms.push_back(ViewTransform::permute(permutation));
  return true;
}

static bool readT(NodeArguments &, Tensor self, unsigned,
                  SmallVectorImpl<ViewTransform> &transforms) {
  auto permutation =
      llvm::to_vector(llvm::seq<int64_t>(0, self.getType().getRank()));
  std::reverse(permutation.begin(), permutation.end());
  transforms.push_back(ViewTransform::permute(permutation));
  return permutation.size() <= 2;
}

static bool readPermute(NodeArguments &args, Tensor self, unsigned,
                        SmallVectorImpl<ViewTransform> &transforms) {
  int64_t rank = self.getType().getRank();
  SmallVector<int64_t> dims = args.getDims("dims", rank);
  transforms.push_back(ViewTransform::permute(dims));
  return static_cast<int64_t>(dims.size()) == rank;
}

static bool readSlice(NodeArguments &args, Tensor self, unsigned result,
                      SmallVectorImpl<ViewTransform> &transforms) {
  int64_t dim = args.getDim("dim", self.getType().getRank(), 0);
  int64_t start = args.getInt("start", 0), step = args.getInt("step", 1);
  if (args.hasFailed() || self.getType().getRank() == 0)
    return false;
  int64_t extent = self.getType().getDimSize(dim);
  start = std::clamp<int64_t>(start < 0 ? start + extent : start, 0, extent);
  transforms.push_back(ViewTransform::slice(
      dim, start, getResultShape(args, result)[dim], step));
  return true;
}

static bool readSelect(NodeArguments &args, Tensor self, unsigned result,
                       SmallVectorImpl<ViewTransform> &transforms) {
  int64_t rank = self.getType().getRank();
  int64_t dim = args.getDim("dim", rank), index = args.getInt("index");
  if (args.hasFailed() || rank == 0)
    return false;
  if (index < 0)
    index += self.getType().getDimSize(dim);
  transforms.push_back(ViewTransform::slice(dim, index, 1, 1));
  transforms.push_back(ViewTransform::reshape(getResultShape(args, result)));
  return true;
}

/// The parts of a split lie behind each other.
static bool readSplit(NodeArguments &args, Tensor self, unsigned result,
                      SmallVectorImpl<ViewTransform> &transforms) {
  int64_t dim = args.getDim("dim", self.getType().getRank(), 0);
  if (args.hasFailed() || self.getType().getRank() == 0)
    return false;
  int64_t start = 0;
  for (unsigned i = 0; i < result; ++i)
    start += getResultShape(args, i)[dim];
  transforms.push_back(
      ViewTransform::slice(dim, start, getResultShape(args, result)[dim], 1));
  return true;
}

/// Null for what is no view with strides.
static ViewReader getViewReader(NodeTarget target) {
  switch (target) {
  case NodeTarget::AtenViewDefault:
  case NodeTarget::AtenUnsafeViewDefault:
  case NodeTarget::AtenReshapeDefault:
  case NodeTarget::AtenUnsqueezeDefault:
  case NodeTarget::AtenSqueezeDefault:
  case NodeTarget::AtenSqueezeDim:
  case NodeTarget::AtenSqueezeDims:
    return readReshape;
  case NodeTarget::AtenExpandDefault:
    return readExpand;
  case NodeTarget::AtenTransposeInt:
    return readTranspose;
  case NodeTarget::AtenTDefault:
    return readT;
  case NodeTarget::AtenPermuteDefault:
    return readPermute;
  case NodeTarget::AtenSliceTensor:
    return readSlice;
  case NodeTarget::AtenSelectInt:
    return readSelect;
  case NodeTarget::AtenSplitTensor:
  case NodeTarget::AtenSplitWithSizesDefault:
    return readSplit;
  case NodeTarget::AtenAliasDefault:
  case NodeTarget::AtenDetachDefault:
  // A copy has the same elements.
  case NodeTarget::AtenCloneDefault:
    return readSame;
  default:
    return nullptr;
  }
}

std::optional<ViewReading> library::readNodeView(NodeOp node, unsigned result) {
  std::optional<NodeTarget> target = findNodeTarget(node.getTarget());
  ViewReader read = target ? getViewReader(*target) : nullptr;
  if (!read || node.getEffects())
    return std::nullopt;
  NodeArguments args(node, *target, /*isQuiet=*/true);
  Tensor self = args.getTensor("self");
  ViewReading reading;
  if (args.hasFailed() || !read(args, self, result, reading.transforms) ||
      args.hasFailed())
    return std::nullopt;
  reading.operand = self;
  return reading;
}

//===----------------------------------------------------------------------===//
// Epilogues
//===----------------------------------------------------------------------===//

/// An addend that is broadcast to the result of `node`.
static EpilogueTransform makeAdd(NodeOp node, Value addend) {
  EpilogueTransform transform(EpilogueTransform::Kind::Add);
  transform.addend = addend;
  transform.alignment.push_back(ViewTransform::broadcast(
      cast<RankedTensorType>(node.getResult(0).getType()).getShape()));
  return transform;
}

static EpilogueReading readAdd(NodeOp node, NodeArguments &args, Value chain) {
  if (args.isTensor("self") != args.isTensor("other"))
    return EpilogueReading::fail("a number is added");
  Tensor self = args.getTensor("self"), other = args.getTensor("other");
  double alpha = args.getFloat("alpha", 1);
  if (args.hasFailed() || alpha != 1)
    return EpilogueReading::fail("what is added has a factor");
  Value addend = self == chain ? other : self;
  if (addend == chain ||
      cast<ShapedType>(chain.getType()).getShape() !=
          cast<ShapedType>(node.getResult(0).getType()).getShape())
    return EpilogueReading::fail("the result of the GEMM is repeated");
  if (failed(args.expectBroadcast(
          {self, other}, cast<ShapedType>(chain.getType()).getShape())))
    return EpilogueReading::fail(kNoRoutine);
  EpilogueReading reading;
  // A sum of two types has the wider one.
  if (getElementTypeOrSelf(node.getResult(0)).isF32())
    reading.transforms.push_back(
        EpilogueTransform::convert(getElementTypeOrSelf(node.getResult(0))));
  reading.transforms.push_back(makeAdd(node, addend));
  reading.transforms.push_back(
      EpilogueTransform::convert(getElementTypeOrSelf(node.getResult(0))));
  return reading;
}

EpilogueReading library::readNodeEpilogue(NodeOp node, Value chain) {
  std::optional<NodeTarget> target = findNodeTarget(node.getTarget());
  if (!target || node.getNumResults() != 1 || node.getEffects() ||
      !isa<RankedTensorType>(node.getResult(0).getType()))
    return EpilogueReading::fail(kNoRoutine);
  EpilogueReading reading;
  switch (*target) {
  case NodeTarget::AtenAddTensor: {
    NodeArguments args(node, *target, /*isQuiet=*/true);
    return readAdd(node, args, chain);
  }
  case NodeTarget::AtenReluDefault:
    reading.transforms.emplace_back(EpilogueTransform::Kind::Relu);
    return reading;
  case NodeTarget::AtenToCopyDefault:
  case NodeTarget::AtenToDtype:
  case NodeTarget::PrimsConvertElementTypeDefault:
    reading.transforms.push_back(
        EpilogueTransform::convert(getElementTypeOrSelf(node.getResult(0))));
    return reading;
  default:
    return EpilogueReading::fail(kNoRoutine);
  }
}

//===----------------------------------------------------------------------===//
// GEMMs
//===----------------------------------------------------------------------===//

/// beta * self + alpha * GEMM.
static EpilogueReading readAddend(NodeOp node, NodeArguments &args) {
  Tensor self = args.getTensor("self");
  double beta = args.getFloat("beta", 1), alpha = args.getFloat("alpha", 1);
  if (args.hasFailed())
    return EpilogueReading::fail(kNoRoutine);
  if (beta != 1)
    return EpilogueReading::fail("what is added has a factor");
  EpilogueReading reading;
  if (alpha != 1)
    reading.transforms.push_back(
        EpilogueTransform::scale(static_cast<float>(alpha)));
  reading.transforms.push_back(makeAdd(node, self));
  return reading;
}

namespace {
/// The matrices that a target multiplies, and their rank.
struct MatrixParameters {
  StringRef lhs, rhs;
  int64_t rank;
  /// True if `self` is added to the result.
  bool hasAddend;
};
} // namespace

static std::optional<MatrixParameters>
getMatrixParameters(std::optional<NodeTarget> target) {
  if (!target)
    return std::nullopt;
  switch (*target) {
  case NodeTarget::AtenMmDefault:
    return MatrixParameters{"self", "mat2", 2, false};
  case NodeTarget::AtenBmmDefault:
  // With two operands of rank 3, which is checked, as for the others.
  case NodeTarget::AtenGroupedMmDefault:
    return MatrixParameters{"self", "mat2", 3, false};
  case NodeTarget::AtenAddmmDefault:
    return MatrixParameters{"mat1", "mat2", 2, true};
  case NodeTarget::AtenBaddbmmDefault:
    return MatrixParameters{"batch1", "batch2", 3, true};
  default:
    return std::nullopt;
  }
}

std::optional<GemmReading> library::readNodeGemm(NodeOp node) {
  std::optional<NodeTarget> target = findNodeTarget(node.getTarget());
  std::optional<MatrixParameters> matrices = getMatrixParameters(target);
  if (!matrices || node.getNumResults() != 1 || node.getEffects())
    return std::nullopt;
  NodeArguments args(node, *target, /*isQuiet=*/true);
  Tensor lhs = args.getTensor(matrices->lhs),
         rhs = args.getTensor(matrices->rhs);
  auto result = dyn_cast<RankedTensorType>(node.getResult(0).getType());
  if (args.hasFailed() || !result || result.getRank() != matrices->rank ||
      failed(args.expectRank(matrices->lhs, lhs, matrices->rank)) ||
      failed(args.expectRank(matrices->rhs, rhs, matrices->rank)))
    return std::nullopt;
  GemmReading reading;
  reading.lhs = lhs;
  reading.rhs = rhs;
  llvm::append_range(reading.shape, result.getShape());
  auto rows = static_cast<unsigned>(matrices->rank) - 2, columns = rows + 1;
  if (rows > 0)
    reading.loops.push_back({result.getDimSize(0), 0, 0, 0});
  reading.loops.push_back({result.getDimSize(rows), rows, std::nullopt, rows});
  reading.loops.push_back(
      {result.getDimSize(columns), std::nullopt, columns, columns});
  reading.loops.push_back(
      {lhs.getType().getDimSize(columns), columns, rows, std::nullopt});
  if (matrices->hasAddend)
    reading.rest = readAddend(node, args);
  reading.rest.transforms.push_back(
      EpilogueTransform::convert(result.getElementType()));
  return reading;
}
