//===- IndexedRows.cpp - Nodes that read or write rows --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IndexedRows.h"

#include "regather/Dialect/TG/Nodes/NodeArguments.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::spmd;

static RankedTensorType getIndexedType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

namespace {
/// How an operator names what it reads.
struct Names {
  StringRef indices, values;
  /// Indices are a list, of which the first counts rows.
  bool isList = false;
  /// Indices have the dimensions of what is indexed.
  bool isAligned = false;
};
} // namespace

static std::optional<Names> getNames(NodeOperator op) {
  switch (op) {
  case NodeOperator::AtenIndex:
  case NodeOperator::AtenUnsafeIndex:
    return Names{"indices", "", /*isList=*/true};
  case NodeOperator::AtenIndexPut:
  case NodeOperator::AtenUnsafeIndexPut:
    return Names{"indices", "values", /*isList=*/true};
  case NodeOperator::AtenIndexSelect:
    return Names{"index", ""};
  case NodeOperator::AtenIndexAdd:
    return Names{"index", "source"};
  case NodeOperator::AtenGather:
    return Names{"index", "", /*isList=*/false, /*isAligned=*/true};
  case NodeOperator::AtenScatterAdd:
    return Names{"index", "src", /*isList=*/false, /*isAligned=*/true};
  default:
    return std::nullopt;
  }
}

/// True if rows are indexed by one number each: a list of one tensor of rank 1.
static bool indexesRows(nodes::NodeArguments &args) {
  SmallVector<nodes::Tensor> list = args.getTensors("indices");
  if (list.empty() || !list.front() ||
      list.front().getType().getElementType().isInteger(1))
    return false;
  return llvm::none_of(llvm::drop_begin(list),
                       [](nodes::Tensor other) { return other != nullptr; });
}

std::optional<IndexedRows> regather::tg::spmd::matchIndexedRows(Operation *op) {
  auto node = dyn_cast<NodeOp>(op);
  std::optional<NodeTarget> target =
      node ? findNodeTarget(node.getTarget()) : std::nullopt;
  std::optional<Names> names =
      target ? getNames(getInfo(*target).op) : std::nullopt;
  if (!names || op->getNumResults() != 1)
    return std::nullopt;
  nodes::NodeArguments args(node, *target, /*isQuiet=*/true);
  auto self = args.getOperandNumbers("self");
  auto indices = args.getOperandNumbers(names->indices);
  if (args.hasFailed() || self.size() != 1 || indices.size() != 1)
    return std::nullopt;
  IndexedRows indexed{node, self.front(), indices.front(), std::nullopt};
  RankedTensorType type = getIndexedType(node.getOperand(indexed.self));
  RankedTensorType index = getIndexedType(node.getOperand(indexed.indices));
  if (type.getRank() == 0)
    return std::nullopt;
  if (names->isList ? !indexesRows(args)
                    : args.getDim("dim", type.getRank()) != 0)
    return std::nullopt;
  bool fits = names->isAligned ? index.getRank() == type.getRank() &&
                                     index.getShape().drop_front() ==
                                         type.getShape().drop_front()
                               : index.getRank() == 1;
  if (args.hasFailed() || !fits)
    return std::nullopt;
  if (names->values.empty())
    return indexed;
  auto values = args.getOperandNumbers(names->values);
  if (values.size() != 1)
    return std::nullopt;
  indexed.values = values.front();
  // Rows that are broadcast have no factor in common with the indices.
  RankedTensorType source = getIndexedType(node.getOperand(*indexed.values));
  if (source.getRank() != type.getRank() ||
      source.getDimSize(0) != index.getDimSize(0) ||
      source.getShape().drop_front() != type.getShape().drop_front())
    return std::nullopt;
  bool isPut = getInfo(*target).op == NodeOperator::AtenIndexPut ||
               getInfo(*target).op == NodeOperator::AtenUnsafeIndexPut;
  indexed.accumulates = !isPut || args.getBool("accumulate", false);
  return args.hasFailed() ? std::nullopt : std::optional(indexed);
}
