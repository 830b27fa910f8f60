//===- NodeSteps.cpp - Nodes in terms of a library ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LibrarySteps.h"

#include "regather/Dialect/TG/Nodes/NodeArguments.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace regather::nodes;
using namespace regather::tg;
using namespace regather::tg::library;

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

namespace {
/// Reads the view that one target makes of "self".
using ViewReader = bool (*)(NodeArguments &args, Tensor self, unsigned result,
                            SmallVectorImpl<ViewStep> &steps);

struct ViewRule {
  StringRef schema;
  ViewReader read;
};
} // namespace

static ArrayRef<int64_t> getResultShape(NodeArguments &args, unsigned result) {
  return cast<RankedTensorType>(args.getNode().getResult(result).getType())
      .getShape();
}

static bool readSame(NodeArguments &, Tensor, unsigned,
                     SmallVectorImpl<ViewStep> &) {
  return true;
}

static bool readReshape(NodeArguments &args, Tensor, unsigned result,
                        SmallVectorImpl<ViewStep> &steps) {
  steps.push_back(ViewStep::reshape(getResultShape(args, result)));
  return true;
}

static bool readExpand(NodeArguments &args, Tensor self, unsigned result,
                       SmallVectorImpl<ViewStep> &steps) {
  ArrayRef<int64_t> shape = getResultShape(args, result);
  steps.push_back(ViewStep::broadcast(shape));
  return succeeded(args.expectBroadcast(self, shape));
}

static bool readTranspose(NodeArguments &args, Tensor self, unsigned,
                          SmallVectorImpl<ViewStep> &steps) {
  int64_t rank = self.getType().getRank();
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  int64_t first = args.getDim("dim0", rank), second = args.getDim("dim1", rank);
  if (args.hasFailed())
    return false;
  if (rank > 0)
    std::swap(permutation[first], permutation[second]);
  steps.push_back(ViewStep::permute(permutation));
  return true;
}

static bool readT(NodeArguments &, Tensor self, unsigned,
                  SmallVectorImpl<ViewStep> &steps) {
  auto permutation =
      llvm::to_vector(llvm::seq<int64_t>(0, self.getType().getRank()));
  std::reverse(permutation.begin(), permutation.end());
  steps.push_back(ViewStep::permute(permutation));
  return permutation.size() <= 2;
}

static bool readPermute(NodeArguments &args, Tensor self, unsigned,
                        SmallVectorImpl<ViewStep> &steps) {
  int64_t rank = self.getType().getRank();
  SmallVector<int64_t> dims = args.getDims("dims", rank);
  steps.push_back(ViewStep::permute(dims));
  return static_cast<int64_t>(dims.size()) == rank;
}

static bool readSlice(NodeArguments &args, Tensor self, unsigned result,
                      SmallVectorImpl<ViewStep> &steps) {
  int64_t dim = args.getDim("dim", self.getType().getRank(), 0);
  int64_t start = args.getInt("start", 0), step = args.getInt("step", 1);
  if (args.hasFailed() || self.getType().getRank() == 0)
    return false;
  int64_t extent = self.getType().getDimSize(dim);
  start = std::clamp<int64_t>(start < 0 ? start + extent : start, 0, extent);
  steps.push_back(
      ViewStep::slice(dim, start, getResultShape(args, result)[dim], step));
  return true;
}

static bool readSelect(NodeArguments &args, Tensor self, unsigned result,
                       SmallVectorImpl<ViewStep> &steps) {
  int64_t rank = self.getType().getRank();
  int64_t dim = args.getDim("dim", rank), index = args.getInt("index");
  if (args.hasFailed() || rank == 0)
    return false;
  if (index < 0)
    index += self.getType().getDimSize(dim);
  steps.push_back(ViewStep::slice(dim, index, 1, 1));
  steps.push_back(ViewStep::reshape(getResultShape(args, result)));
  return true;
}

/// The parts of a split lie behind each other.
static bool readSplit(NodeArguments &args, Tensor self, unsigned result,
                      SmallVectorImpl<ViewStep> &steps) {
  int64_t dim = args.getDim("dim", self.getType().getRank(), 0);
  if (args.hasFailed() || self.getType().getRank() == 0)
    return false;
  int64_t start = 0;
  for (unsigned i = 0; i < result; ++i)
    start += getResultShape(args, i)[dim];
  steps.push_back(
      ViewStep::slice(dim, start, getResultShape(args, result)[dim], 1));
  return true;
}

static const ViewRule *findViewRule(StringRef target) {
  static const llvm::StringMap<ViewRule> rules = {
      {"aten.view.default", {"self size", readReshape}},
      {"aten._unsafe_view.default", {"self size", readReshape}},
      {"aten.reshape.default", {"self size", readReshape}},
      {"aten.unsqueeze.default", {"self dim", readReshape}},
      {"aten.squeeze.default", {"self dim", readReshape}},
      {"aten.squeeze.dim", {"self dim", readReshape}},
      {"aten.squeeze.dims", {"self dim", readReshape}},
      {"aten.expand.default", {"self size implicit", readExpand}},
      {"aten.transpose.int", {"self dim0 dim1", readTranspose}},
      {"aten.t.default", {"self", readT}},
      {"aten.permute.default", {"self dims", readPermute}},
      {"aten.slice.Tensor", {"self dim start end step", readSlice}},
      {"aten.select.int", {"self dim index", readSelect}},
      {"aten.split.Tensor", {"self split_size dim", readSplit}},
      {"aten.split_with_sizes.default", {"self split_sizes dim", readSplit}},
      {"aten.alias.default", {"self", readSame}},
      {"aten.detach.default", {"self", readSame}},
      // A copy has the same elements.
      {"aten.clone.default", {"self", readSame}},
  };
  auto it = rules.find(target);
  return it == rules.end() ? nullptr : &it->second;
}

std::optional<ViewReading> library::readNodeView(NodeOp node, unsigned result) {
  const ViewRule *rule = findViewRule(node.getTarget());
  if (!rule || node.getEffects())
    return std::nullopt;
  NodeArguments args(node, rule->schema, /*isQuiet=*/true);
  Tensor self = args.getTensor("self");
  ViewReading reading;
  if (args.hasFailed() || !rule->read(args, self, result, reading.steps) ||
      args.hasFailed())
    return std::nullopt;
  reading.operand = self;
  return reading;
}

//===----------------------------------------------------------------------===//
// Steps on elements
//===----------------------------------------------------------------------===//

/// An addend that is broadcast to the result of `node`.
static ElementStep makeAdd(NodeOp node, Value addend) {
  ElementStep step(ElementStep::Kind::Add);
  step.addend = addend;
  step.alignment.push_back(ViewStep::broadcast(
      cast<RankedTensorType>(node.getResult(0).getType()).getShape()));
  return step;
}

static ElementReading readAdd(NodeOp node, NodeArguments &args, Value chain) {
  if (args.isTensor("self") != args.isTensor("other"))
    return ElementReading::fail("a number is added");
  Tensor self = args.getTensor("self"), other = args.getTensor("other");
  double alpha = args.getFloat("alpha", 1);
  if (args.hasFailed() || alpha != 1)
    return ElementReading::fail("what is added has a factor");
  Value addend = self == chain ? other : self;
  if (addend == chain ||
      cast<ShapedType>(chain.getType()).getShape() !=
          cast<ShapedType>(node.getResult(0).getType()).getShape())
    return ElementReading::fail("the product is repeated");
  if (failed(args.expectBroadcast(
          {self, other}, cast<ShapedType>(chain.getType()).getShape())))
    return ElementReading::fail(kNoRoutine);
  ElementReading reading;
  // A sum of two types has the wider one.
  if (getElementTypeOrSelf(node.getResult(0)).isF32())
    reading.steps.push_back(
        ElementStep::convert(getElementTypeOrSelf(node.getResult(0))));
  reading.steps.push_back(makeAdd(node, addend));
  reading.steps.push_back(
      ElementStep::convert(getElementTypeOrSelf(node.getResult(0))));
  return reading;
}

ElementReading library::readNodeElements(NodeOp node, Value chain) {
  StringRef target = node.getTarget();
  if (node.getNumResults() != 1 || node.getEffects() ||
      !isa<RankedTensorType>(node.getResult(0).getType()))
    return ElementReading::fail(kNoRoutine);
  if (target == "aten.add.Tensor") {
    NodeArguments args(node, "self other alpha", /*isQuiet=*/true);
    return readAdd(node, args, chain);
  }
  ElementReading reading;
  if (target == "aten.relu.default") {
    reading.steps.emplace_back(ElementStep::Kind::Relu);
    return reading;
  }
  bool isConversion =
      llvm::StringSwitch<bool>(target)
          .Cases({"aten._to_copy.default", "aten.to.dtype"}, true)
          .Case("prims.convert_element_type.default", true)
          .Default(false);
  if (!isConversion)
    return ElementReading::fail(kNoRoutine);
  reading.steps.push_back(
      ElementStep::convert(getElementTypeOrSelf(node.getResult(0))));
  return reading;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// beta * self + alpha * product.
static ElementReading readAddend(NodeOp node, NodeArguments &args) {
  Tensor self = args.getTensor("self");
  double beta = args.getFloat("beta", 1), alpha = args.getFloat("alpha", 1);
  if (args.hasFailed())
    return ElementReading::fail(kNoRoutine);
  if (beta != 1)
    return ElementReading::fail("what is added has a factor");
  ElementReading reading;
  if (alpha != 1)
    reading.steps.push_back(ElementStep::scale(static_cast<float>(alpha)));
  reading.steps.push_back(makeAdd(node, self));
  return reading;
}

std::optional<ProductReading> library::readNodeProduct(NodeOp node) {
  struct Rule {
    StringRef schema, lhs, rhs;
    int64_t rank;
  };
  static const llvm::StringMap<Rule> rules = {
      {"aten.mm.default", {"self mat2", "self", "mat2", 2}},
      {"aten.bmm.default", {"self mat2", "self", "mat2", 3}},
      {"aten.addmm.default", {"self mat1 mat2 beta alpha", "mat1", "mat2", 2}},
      {"aten.baddbmm.default",
       {"self batch1 batch2 beta alpha", "batch1", "batch2", 3}},
  };
  auto it = rules.find(node.getTarget());
  if (it == rules.end() || node.getNumResults() != 1 || node.getEffects())
    return std::nullopt;
  const Rule &rule = it->second;
  NodeArguments args(node, rule.schema, /*isQuiet=*/true);
  Tensor lhs = args.getTensor(rule.lhs), rhs = args.getTensor(rule.rhs);
  auto result = dyn_cast<RankedTensorType>(node.getResult(0).getType());
  if (args.hasFailed() || !result || result.getRank() != rule.rank ||
      failed(args.expectRank(rule.lhs, lhs, rule.rank)) ||
      failed(args.expectRank(rule.rhs, rhs, rule.rank)))
    return std::nullopt;
  ProductReading reading;
  reading.lhs = lhs;
  reading.rhs = rhs;
  llvm::append_range(reading.shape, result.getShape());
  auto rows = static_cast<unsigned>(rule.rank) - 2, columns = rows + 1;
  if (rows > 0)
    reading.loops.push_back({result.getDimSize(0), 0, 0, 0});
  reading.loops.push_back({result.getDimSize(rows), rows, std::nullopt, rows});
  reading.loops.push_back(
      {result.getDimSize(columns), std::nullopt, columns, columns});
  reading.loops.push_back(
      {lhs.getType().getDimSize(columns), columns, rows, std::nullopt});
  if (rule.schema.starts_with("self mat2"))
    reading.rest = {};
  else
    reading.rest = readAddend(node, args);
  reading.rest.steps.push_back(ElementStep::convert(result.getElementType()));
  return reading;
}
