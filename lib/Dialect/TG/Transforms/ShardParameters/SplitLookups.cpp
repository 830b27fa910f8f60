//===- SplitLookups.cpp - Lookups in a part of the rows -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SplitLookups.h"

#include "regather/Dialect/TG/Nodes/NodeArguments.h"
#include "regather/Dialect/TG/Nodes/ZeroTensors.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::spmd;

static RankedTensorType getType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// The number of the only operand of this name, which is a tensor.
static std::optional<unsigned> getOperand(nodes::NodeArguments &args,
                                          StringRef name) {
  SmallVector<unsigned, 1> numbers = args.getOperandNumbers(name);
  if (numbers.size() != 1)
    return std::nullopt;
  return numbers.front();
}

static std::optional<NodeTarget> getTarget(Operation *op) {
  auto node = dyn_cast<NodeOp>(op);
  return node && node.getNumResults() == 1 ? findNodeTarget(node.getTarget())
                                           : std::nullopt;
}

namespace {
/// Where indices lie in the part of a dimension that a rank has.
struct LocalIndices {
  /// True for those that lie in it.
  Value inside;
  /// Counted from its beginning; zero for the others, but for those that lie
  /// nowhere, which stay out of bounds.
  Value indices;
};
} // namespace

/// In a part of `part` elements, of `whole` ones in all.
static LocalIndices getLocalIndices(Value indices, int64_t part, int64_t whole,
                                    Group group, const DataMesh &mesh,
                                    Communication &communication) {
  PartNodes nodes(communication);
  Type i64 = IntegerType::get(indices.getContext(), 64);
  indices = communication.castTo(indices, i64);
  auto isBelow = [&](Value value, int64_t size) {
    return nodes.makeBinary(
        NodeTarget::AtenLogicalAndDefault,
        nodes.compare(NodeTarget::AtenGeScalar, value, int64_t(0)),
        nodes.compare(NodeTarget::AtenLtScalar, value, size));
  };
  Value begins = nodes.countBy(part, mesh.getRanks(group));
  Value begin =
      communication.slice(begins, ValueState::getSplit(group, {0, 1}));
  Value relative = nodes.makeBinary(NodeTarget::AtenSubTensor, indices,
                                    nodes.reshape(begin, {}));
  // What lies behind the whole, or in front of it, does so for each part: a
  // padded part is no larger than the whole.
  Value exists = isBelow(indices, whole);
  Value inside = nodes.makeBinary(NodeTarget::AtenLogicalAndDefault, exists,
                                  isBelow(relative, part));
  Value outside = nodes.make(NodeTarget::AtenWhereSelf, getType(indices),
                             {exists, nodes.makeNumber(0, i64), indices});
  return {inside, nodes.make(NodeTarget::AtenWhereSelf, getType(indices),
                             {inside, relative, outside})};
}

/// `mask`, of the shape of indices, with a dimension of size one behind.
static Value addColumn(PartNodes &nodes, Value mask) {
  SmallVector<int64_t> shape(getType(mask).getShape());
  shape.push_back(1);
  return nodes.reshape(mask, shape);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

std::optional<Lookup> regather::tg::spmd::matchLookup(Operation *op) {
  std::optional<NodeTarget> target = getTarget(op);
  if (target != NodeTarget::AtenEmbeddingDefault &&
      target != NodeTarget::AtenGatherDefault)
    return std::nullopt;
  bool isEmbedding = target == NodeTarget::AtenEmbeddingDefault;
  auto node = cast<NodeOp>(op);
  nodes::NodeArguments args(node, *target, /*isQuiet=*/true);
  auto table = getOperand(args, isEmbedding ? "weight" : "self");
  auto indices = getOperand(args, isEmbedding ? "indices" : "index");
  if (!table || !indices)
    return std::nullopt;
  int64_t rank = getType(node.getOperand(*table)).getRank();
  int64_t dim = isEmbedding ? 0 : args.getDim("dim", rank);
  if (args.hasFailed() || rank == 0 || (isEmbedding && rank != 2))
    return std::nullopt;
  return Lookup{node, *table, *indices, dim};
}

static Value buildPartialLookup(const Lookup &lookup, Value table,
                                Value indices, const ValueState &state,
                                const DataMesh &mesh,
                                Communication &communication) {
  PartNodes nodes(communication);
  OpBuilder &builder = communication.getBuilder();
  NodeOp node = lookup.node;
  LocalIndices local = getLocalIndices(
      indices, getType(table).getDimSize(lookup.dim),
      getType(node.getOperand(lookup.table)).getDimSize(lookup.dim),
      state.group, mesh, communication);
  RankedTensorType type = getType(node.getResult(0));
  if (findNodeTarget(node.getTarget()) == NodeTarget::AtenEmbeddingDefault)
    return nodes.select(addColumn(nodes, local.inside),
                        nodes.make(NodeTarget::AtenEmbeddingDefault, type,
                                   {table, local.indices}),
                        0);
  Value part =
      nodes.make(NodeTarget::AtenGatherDefault, type, {table, local.indices},
                 {OperandAttr::get(builder.getContext(), 0),
                  builder.getI64IntegerAttr(lookup.dim),
                  OperandAttr::get(builder.getContext(), 1)});
  return nodes.select(local.inside, part, 0);
}

Value regather::tg::spmd::buildLookup(const Lookup &lookup, Value table,
                                      Value indices, const ValueState &state,
                                      const DataMesh &mesh,
                                      Communication &communication) {
  Value part =
      buildPartialLookup(lookup, table, indices, state, mesh, communication);
  Type element = getType(part).getElementType();
  if (mesh.getSegmentsPerRank() == 1 || !isa<FloatType>(element))
    return part;
  // A sum has the zeros of other segments, too, which make of -0 a 0.
  PartNodes nodes(communication);
  return nodes.makeBinary(NodeTarget::AtenAddTensor, part,
                          nodes.makeNumber(0, element));
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static std::optional<IndexedGradient> matchEmbedding(NodeOp node,
                                                     NodeTarget target) {
  nodes::NodeArguments args(node, target, /*isQuiet=*/true);
  auto indices = getOperand(args, "indices");
  // How often an index occurs is counted with those of other ranks.
  bool isScaled = args.getBool("scale_grad_by_freq", false);
  if (args.hasFailed() || !indices || isScaled ||
      !getOperand(args, "grad_output") ||
      getType(node.getResult(0)).getRank() != 2)
    return std::nullopt;
  return IndexedGradient{node, *indices, 0,
                         getType(node.getResult(0)).getDimSize(0)};
}

/// A number that is written to one element of each row of zeros.
static std::optional<IndexedGradient> matchScatter(NodeOp node,
                                                   NodeTarget target) {
  nodes::NodeArguments args(node, target, /*isQuiet=*/true);
  auto self = getOperand(args, "self"), indices = getOperand(args, "index");
  RankedTensorType type = getType(node.getResult(0));
  if (!self || !indices || type.getRank() == 0 ||
      !isa<FloatType>(type.getElementType()) || !isZero(node.getOperand(*self)))
    return std::nullopt;
  int64_t dim = args.getDim("dim", type.getRank());
  (void)args.getFloat("value");
  if (args.hasFailed())
    return std::nullopt;
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = 1;
  if (getType(node.getOperand(*indices)).getShape() != ArrayRef(shape))
    return std::nullopt;
  return IndexedGradient{node, *indices, dim, type.getDimSize(dim)};
}

std::optional<IndexedGradient>
regather::tg::spmd::matchIndexedGradient(Operation *op) {
  std::optional<NodeTarget> target = getTarget(op);
  if (target == NodeTarget::AtenEmbeddingDenseBackwardDefault)
    return matchEmbedding(cast<NodeOp>(op), *target);
  if (target == NodeTarget::AtenScatterValue)
    return matchScatter(cast<NodeOp>(op), *target);
  return std::nullopt;
}

bool regather::tg::spmd::canBuildPart(const IndexedGradient &gradient,
                                      const ValueState &state) {
  return state.isSplit() && state.isContiguous() && state.dim == gradient.dim;
}

static Value buildEmbeddingPart(const IndexedGradient &gradient,
                                ValueRange operands, RankedTensorType type,
                                const ValueState &state, const DataMesh &mesh,
                                Communication &communication) {
  PartNodes nodes(communication);
  OpBuilder &builder = communication.getBuilder();
  NodeTarget target = NodeTarget::AtenEmbeddingDenseBackwardDefault;
  nodes::NodeArguments args(gradient.node, target, /*isQuiet=*/true);
  Value indices = operands[gradient.indices];
  Value output = operands[*getOperand(args, "grad_output")];
  LocalIndices local =
      getLocalIndices(indices, type.getDimSize(0), gradient.size, state.group,
                      mesh, communication);
  Value counts = local.inside;
  if (int64_t padding = args.getInt("padding_idx", -1); padding >= 0)
    counts = nodes.makeBinary(
        NodeTarget::AtenLogicalAndDefault, counts,
        nodes.compare(NodeTarget::AtenNeScalar, indices, padding));
  Value rows = nodes.select(addColumn(nodes, counts), output, 0);
  return nodes.make(target, type, {rows, local.indices},
                    {OperandAttr::get(builder.getContext(), 0),
                     OperandAttr::get(builder.getContext(), 1),
                     builder.getI64IntegerAttr(type.getDimSize(0)),
                     builder.getI64IntegerAttr(-1),
                     builder.getBoolAttr(false)});
}

/// The number becomes a tensor that is zero where others write: into the first
/// element, which is zero already.
static Value buildScatterPart(const IndexedGradient &gradient,
                              ValueRange operands, RankedTensorType type,
                              const ValueState &state, const DataMesh &mesh,
                              Communication &communication) {
  PartNodes nodes(communication);
  OpBuilder &builder = communication.getBuilder();
  nodes::NodeArguments args(gradient.node, NodeTarget::AtenScatterValue,
                            /*isQuiet=*/true);
  LocalIndices local =
      getLocalIndices(operands[gradient.indices], type.getDimSize(gradient.dim),
                      gradient.size, state.group, mesh, communication);
  Value zeros = nodes.make(
      NodeTarget::AtenFullDefault, type, {},
      {builder.getI64ArrayAttr(type.getShape()), builder.getF64FloatAttr(0)});
  Value values = nodes.select(
      local.inside,
      nodes.makeNumber(args.getFloat("value"), type.getElementType()), 0);
  return nodes.make(NodeTarget::AtenScatterSrc, type,
                    {zeros, local.indices, values},
                    {OperandAttr::get(builder.getContext(), 0),
                     builder.getI64IntegerAttr(gradient.dim),
                     OperandAttr::get(builder.getContext(), 1),
                     OperandAttr::get(builder.getContext(), 2)});
}

Value regather::tg::spmd::buildPart(const IndexedGradient &gradient,
                                    ValueRange operands,
                                    const ValueState &state,
                                    const DataMesh &mesh,
                                    Communication &communication) {
  NodeOp node = gradient.node;
  RankedTensorType type = mesh.getLocalType(getType(node.getResult(0)), state);
  if (findNodeTarget(node.getTarget()) == NodeTarget::AtenScatterValue)
    return buildScatterPart(gradient, operands, type, state, mesh,
                            communication);
  return buildEmbeddingPart(gradient, operands, type, state, mesh,
                            communication);
}
