//===- TestSplitNodes.cpp - Carry nodes out on parts ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rewrites nodes as their sharding rules say they can be carried out: on parts
// of one factor, whose results are then combined; or on summands of the
// operands of a linear set, whose results are then added. The function computes
// what it did before if the rules are right.
//
//===----------------------------------------------------------------------===//

#include "TestPasses.h"

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace regather::tg;

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// A node with these positional arguments, tensors first.
static Value makeNode(ImplicitLocOpBuilder &b, StringRef target, Type type,
                      ValueRange tensors, ArrayRef<Attribute> others = {}) {
  SmallVector<Attribute> args;
  for (unsigned i = 0; i < tensors.size(); ++i)
    args.push_back(OperandAttr::get(b.getContext(), i));
  llvm::append_range(args, others);
  return NodeOp::create(b, TypeRange(type), b.getStringAttr(target), tensors,
                        b.getArrayAttr(args),
                        /*kwargs=*/DictionaryAttr(), /*effects=*/UnitAttr())
      .getResult(0);
}

static RankedTensorType withSize(Type type, int64_t dim, int64_t size) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(tensor.getShape());
  shape[dim] = size;
  return tensor.clone(shape);
}

static Value makeSlice(ImplicitLocOpBuilder &b, Value value, int64_t dim,
                       int64_t start, int64_t size) {
  return makeNode(b, "aten.slice.Tensor", withSize(value.getType(), dim, size),
                  value,
                  {b.getI64IntegerAttr(dim), b.getI64IntegerAttr(start),
                   b.getI64IntegerAttr(start + size)});
}

static Value makeConcat(ImplicitLocOpBuilder &b, Type type, ValueRange parts,
                        int64_t dim) {
  SmallVector<Attribute> list;
  for (unsigned i = 0; i < parts.size(); ++i)
    list.push_back(OperandAttr::get(b.getContext(), i));
  ArrayAttr args =
      b.getArrayAttr({b.getArrayAttr(list), b.getI64IntegerAttr(dim)});
  return NodeOp::create(b, TypeRange(type), b.getStringAttr("aten.cat.default"),
                        parts, args,
                        /*kwargs=*/DictionaryAttr(), /*effects=*/UnitAttr())
      .getResult(0);
}

static Value makeScaled(ImplicitLocOpBuilder &b, Value value, Attribute by) {
  return makeNode(b, "aten.mul.Scalar", value.getType(), value, by);
}

//===----------------------------------------------------------------------===//
// Splitting along a factor
//===----------------------------------------------------------------------===//

/// The dimension that has `factor` as its outermost one, or -1.
static int64_t findDim(const TensorFactors &dims, unsigned factor) {
  for (auto [number, dim] : llvm::enumerate(dims))
    if (!dim.empty() && dim.front() == factor)
      return number;
  return -1;
}

/// True if no dimension has `factor` further inside.
static bool isOutermost(ArrayRef<TensorFactors> tensors, unsigned factor) {
  return llvm::all_of(tensors, [&](const TensorFactors &dims) {
    return llvm::all_of(dims, [&](const DimFactors &dim) {
      return !llvm::is_contained(ArrayRef(dim).drop_front(!dim.empty()),
                                 factor);
    });
  });
}

static bool isUsed(ArrayRef<TensorFactors> tensors, unsigned factor) {
  return llvm::any_of(tensors, [&](const TensorFactors &dims) {
    return findDim(dims, factor) >= 0;
  });
}

static Value combine(ImplicitLocOpBuilder &b, FactorKind kind,
                     ArrayRef<Value> parts) {
  bool isExtreme = kind == FactorKind::Max || kind == FactorKind::Min;
  StringRef target = kind == FactorKind::Max   ? "aten.maximum.default"
                     : kind == FactorKind::Min ? "aten.minimum.default"
                                               : "aten.add.Tensor";
  Value result = parts.front();
  for (Value part : parts.drop_front())
    result = makeNode(b, target, result.getType(), {result, part});
  if (isExtreme || kind == FactorKind::Sum)
    return result;
  return makeScaled(b, result,
                    b.getF64FloatAttr(1.0 / static_cast<double>(parts.size())));
}

namespace {
/// Carries a node out on the parts of one factor.
class FactorSplitter {
public:
  FactorSplitter(NodeOp node, const ShardingRule &rule, unsigned factor)
      : node(node), rule(rule), factor(factor),
        b(node.getLoc(), node.getOperation()) {}
  void run();

private:
  int64_t getNumParts() const;
  Operation *buildPart(int64_t part, int64_t numParts);
  Value combineResult(unsigned i, ArrayRef<Operation *> parts);

  NodeOp node;
  const ShardingRule &rule;
  unsigned factor;
  ImplicitLocOpBuilder b;
};
} // namespace

/// The smallest number that the factor can be divided by.
int64_t FactorSplitter::getNumParts() const {
  int64_t size = rule.factors[factor].size, parts = 2;
  while (size % parts != 0)
    ++parts;
  return parts;
}

Operation *FactorSplitter::buildPart(int64_t part, int64_t numParts) {
  SmallVector<Value> operands;
  for (auto [value, dims] : llvm::zip_equal(node.getInputs(), rule.operands)) {
    int64_t dim = findDim(dims, factor);
    operands.push_back(value);
    if (dim < 0)
      continue;
    int64_t size =
        cast<RankedTensorType>(value.getType()).getDimSize(dim) / numParts;
    operands.back() = makeSlice(b, value, dim, part * size, size);
  }
  SmallVector<Type> types;
  for (auto [type, dims] :
       llvm::zip_equal(node->getResultTypes(), rule.results)) {
    int64_t dim = findDim(dims, factor);
    types.push_back(
        dim < 0 ? type
                : withSize(type, dim,
                           cast<RankedTensorType>(type).getDimSize(dim) /
                               numParts));
  }
  return cast<ShardingRuleOpInterface>(node.getOperation())
      .buildPart(b, operands, types);
}

Value FactorSplitter::combineResult(unsigned i, ArrayRef<Operation *> parts) {
  auto values = llvm::map_to_vector(
      parts, [&](Operation *part) -> Value { return part->getResult(i); });
  int64_t dim = findDim(rule.results[i], factor);
  if (dim >= 0)
    return makeConcat(b, node.getResult(i).getType(), values, dim);
  return combine(b, rule.factors[factor].kind, values);
}

void FactorSplitter::run() {
  SmallVector<Operation *> parts;
  for (int64_t part = 0, numParts = getNumParts(); part < numParts; ++part)
    parts.push_back(buildPart(part, numParts));
  for (auto [i, result] : llvm::enumerate(node.getResults()))
    if (isa<RankedTensorType>(result.getType()) &&
        !llvm::is_contained(rule.unusable, i))
      result.replaceAllUsesWith(combineResult(i, parts));
}

//===----------------------------------------------------------------------===//
// Summands of a linear set
//===----------------------------------------------------------------------===//

/// Splits each operand x of the set into the summands 2 x and -x, and adds the
/// results.
static void splitLinear(NodeOp node, const llvm::SmallBitVector &set) {
  ImplicitLocOpBuilder b(node.getLoc(), node.getOperation());
  SmallVector<Value> first(node.getInputs()), second(node.getInputs());
  for (unsigned operand : set.set_bits()) {
    // Both are exact in any type, and only a linear function does not mind the
    // sign.
    Value value = node.getOperand(operand);
    first[operand] = makeScaled(b, value, b.getI64IntegerAttr(2));
    second[operand] = makeScaled(b, value, b.getI64IntegerAttr(-1));
  }
  auto model = cast<ShardingRuleOpInterface>(node.getOperation());
  Operation *parts[] = {model.buildPart(b, first, node->getResultTypes()),
                        model.buildPart(b, second, node->getResultTypes())};
  for (auto [i, result] : llvm::enumerate(node.getResults()))
    if (isa<RankedTensorType>(result.getType()))
      result.replaceAllUsesWith(
          combine(b, FactorKind::Sum,
                  {parts[0]->getResult(i), parts[1]->getResult(i)}));
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {
struct TestSplitNodesPass
    : public PassWrapper<TestSplitNodesPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestSplitNodesPass)
  TestSplitNodesPass() = default;
  TestSplitNodesPass(const TestSplitNodesPass &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "test-split-nodes"; }
  StringRef getDescription() const override {
    return "Carry nodes out on parts, as their sharding rules say";
  }

  void runOnOperation() override {
    SmallVector<NodeOp> nodes;
    getOperation().walk([&](NodeOp node) { nodes.push_back(node); });
    for (NodeOp node : nodes)
      split(node);
  }

private:
  /// Of what the rule says, tries statement number `variant`, if there is one.
  void split(NodeOp node) {
    // An empty tensor has no slices.
    if (llvm::any_of(node->getOperandTypes(), [](Type type) {
          auto tensor = dyn_cast<RankedTensorType>(type);
          return tensor && tensor.getNumElements() == 0;
        }))
      return;
    ShardingRule rule =
        cast<ShardingRuleOpInterface>(node.getOperation()).getShardingRule();
    assert(succeeded(rule.verify(node)) && "rule is inconsistent");
    int64_t next = 0;
    auto report = [&](StringRef what) {
      std::string text;
      llvm::raw_string_ostream stream(text);
      rule.print(stream);
      node.emitRemark() << node.getTarget() << ' ' << what << ": " << text;
    };
    for (unsigned factor = 0; factor < rule.factors.size(); ++factor) {
      if (rule.factors[factor].kind == FactorKind::Whole ||
          rule.factors[factor].size < 2 ||
          !isOutermost(rule.operands, factor) ||
          !isOutermost(rule.results, factor) ||
          !(isUsed(rule.operands, factor) || isUsed(rule.results, factor)))
        continue;
      if (next++ != variant)
        continue;
      report("splits");
      return FactorSplitter(node, rule, factor).run();
    }
    for (const llvm::SmallBitVector &set : rule.linear) {
      if (next++ != variant)
        continue;
      report("adds");
      return splitLinear(node, set);
    }
  }

  Option<int64_t> variant{*this, "variant",
                          llvm::cl::desc("Which statement of a rule to try"),
                          llvm::cl::init(0)};
};
} // namespace

void regather::test::registerTestSplitNodesPass() {
  PassRegistration<TestSplitNodesPass>();
}
