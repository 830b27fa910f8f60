//===- TGNodesToLinalg.cpp - Nodes as structured operations ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeBuilder.h"
#include "NodeExpansion.h"

#include "regather/Conversion/Passes.h"
#include "regather/Conversion/TGNodesToLinalg/BuiltTargets.h"
#include "regather/Dialect/TG/IR/MicroBatch.h"
#include "regather/Dialect/TG/IR/RowChunk.h"
#include "regather/Dialect/TG/Library/LibraryCalls.h"
#include "regather/Dialect/TG/Steps/Policies.h"

#include "llvm/ADT/MapVector.h"

namespace regather {
#define GEN_PASS_DEF_CONVERTTGNODESTOLINALGPASS
#include "regather/Conversion/Passes.h.inc"
} // namespace regather

#define DEBUG_TYPE "convert-tg-nodes-to-linalg"

using namespace mlir;
using namespace regather;
using namespace regather::nodes;

/// Drops assertions about data, which are not checked.
static LogicalResult dropAssertion(NodeArguments &args, NodeBuilder &b) {
  return b.finish({});
}

static BuilderTable makeBuilders() {
  BuilderTable table;
  table.add(tg::OperatorClass::Assertion, dropAssertion);
  addActivationBuilders(table);
  addAttentionBuilders(table);
  addChannelNormBuilders(table);
  addCholeskyBuilders(table);
  addConstantBuilders(table);
  addConvolutionBuilders(table);
  addElementwiseBuilders(table);
  addIndexingBuilders(table);
  addLossBuilders(table);
  addGemmBuilders(table);
  addGroupedGemmBuilders(table);
  addHistogramBuilders(table);
  addLuBuilders(table);
  addNormalizationBuilders(table);
  addPoolingBuilders(table);
  addQrBuilders(table);
  addRandomBuilders(table);
  addReductionBuilders(table);
  addRoundingBuilders(table);
  addScanBuilders(table);
  addSearchBuilders(table);
  addSoftmaxBuilders(table);
  addSortingBuilders(table);
  addStridedViewBuilders(table);
  addTriangularSolveBuilders(table);
  addViewBuilders(table);
  return table;
}

const BuilderTable &regather::nodes::getNodeBuilders() {
  static const BuilderTable table = makeBuilders();
  return table;
}

bool regather::nodes::hasBuilder(Target target) {
  return getNodeBuilders().lookup(target) != nullptr;
}

/// The target of `node` if it has a builder.
static std::optional<Target> getBuiltTarget(tg::NodeOp node) {
  std::optional<Target> target = tg::findNodeTarget(node.getTarget());
  if (target && hasBuilder(*target))
    return target;
  return std::nullopt;
}

/// Emits one error for each target without a builder.
static LogicalResult checkTargets(ArrayRef<tg::NodeOp> nodes) {
  // Order of first occurrence, so that messages come in program order.
  llvm::MapVector<StringAttr, std::pair<tg::NodeOp, int64_t>> unknown;
  for (tg::NodeOp node : nodes) {
    if (getBuiltTarget(node))
      continue;
    auto it = unknown.try_emplace(node.getTargetAttr(), node, 0).first;
    ++it->second.second;
  }
  for (const auto &[target, nodes] : unknown) {
    auto [first, count] = nodes;
    InFlightDiagnostic diag = first.emitError()
                              << "cannot convert target \"" << target.getValue()
                              << "\" (" << count
                              << (count == 1 ? " node" : " nodes");
    if (auto module = first->getAttrOfType<StringAttr>(tg::kModuleAttrName))
      diag << ", first in module \"" << module.getValue() << '"';
    diag << ')';
  }
  return success(unknown.empty());
}

/// Checks what holds for results of all targets.
static LogicalResult checkResults(NodeArguments &args,
                                  const tg::NodeTargetInfo &info) {
  tg::NodeOp node = args.getNode();
  bool isAssertion = tg::getInfo(info.op).kind == tg::OperatorClass::Assertion;
  if (node.getEffects() && !isAssertion)
    return args.fail("is called for its effects, which would be lost");
  if (info.numResults != tg::kVaryingResults &&
      static_cast<int>(node.getNumResults()) != info.numResults)
    return args.fail("gives " + Twine(info.numResults) +
                     " results, but the node has " +
                     Twine(node.getNumResults()));
  for (auto [index, type] : llvm::enumerate(node.getResultTypes())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor && info.hasOptionalResults)
      continue;
    if (tensor && isSupportedElement(tensor.getElementType()))
      continue;
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return args.fail("result " + Twine(index) + " of type " + text +
                     " is not supported");
  }
  return failure(args.hasFailed());
}

/// Marks as saved what `result`, a view that changes nothing, is replaced by.
static void moveSaving(OpResult result, Value value) {
  tg::NodeOp node = cast<tg::NodeOp>(result.getOwner());
  Operation *source = value.getDefiningOp();
  if (!source)
    return;
  if (tg::isRecordedSaved(node, result.getResultNumber()))
    tg::recordSaved(source, cast<OpResult>(value).getResultNumber());
  if (!tg::isMarkedSaved(result) || tg::isMarkedSaved(value))
    return;
  // The mark is on the wait, so a mark of its collective must not contradict
  // it.
  if (auto wait = dyn_cast<tg::WaitOp>(source))
    wait.getFuture().getDefiningOp()->removeAttr(tg::kPolicyAttrName);
  source->setDiscardableAttr(tg::kPolicyAttrName,
                             node->getAttr(tg::kPolicyAttrName));
}

/// Moves the `tg.*` attributes of `node` to what computes its results, with
/// the numbers of saved results translated.
static void moveAttributes(tg::NodeOp node, ArrayRef<Value> values) {
  for (auto [result, value] : llvm::zip_equal(node.getResults(), values))
    if (value && llvm::is_contained(node.getInputs(), value))
      moveSaving(result, value);
  llvm::SetVector<Operation *> owners;
  for (Value value : values) {
    // A result may be an operand, such as that of a cast to its own type.
    if (!value || llvm::is_contained(node.getInputs(), value))
      continue;
    if (Operation *op = value.getDefiningOp())
      owners.insert(op);
  }
  auto saved =
      node->getAttrOfType<DenseI64ArrayAttr>(tg::kSavedResultsAttrName);
  for (Operation *op : owners) {
    for (NamedAttribute named : node->getDiscardableAttrs())
      if (named.getName() != tg::kSavedResultsAttrName)
        op->setDiscardableAttr(named.getName(), named.getValue());
    if (!saved)
      continue;
    SmallVector<int64_t> numbers;
    for (int64_t i : saved.asArrayRef())
      if (i >= 0 && i < static_cast<int64_t>(values.size()) && values[i] &&
          values[i].getDefiningOp() == op)
        numbers.push_back(cast<OpResult>(values[i]).getResultNumber());
    op->setDiscardableAttr(tg::kSavedResultsAttrName,
                           DenseI64ArrayAttr::get(node.getContext(), numbers));
  }
}

/// Adds to an operation that computes a part of `node` the marks that kernels
/// are formed by. Without a phase it would count as forward, and without its
/// block of rows a product would be taken for a whole one, whose sums a library
/// may make in another order. Constants have none.
static void addMarks(tg::NodeOp node, Operation *op) {
  if (op->getNumOperands() == 0)
    return;
  for (StringRef name :
       {tg::kPhaseAttrName, tg::kMicroBatchAttrName, tg::kRowChunkAttrName})
    if (Attribute value = node->getAttr(name); value && !op->hasAttr(name))
      op->setAttr(name, value);
}

namespace {
struct ConvertTGNodesToLinalgPass
    : regather::impl::ConvertTGNodesToLinalgPassBase<
          ConvertTGNodesToLinalgPass> {
  using ConvertTGNodesToLinalgPassBase::ConvertTGNodesToLinalgPassBase;

  void runOnOperation() override {
    if (failed(expandComplexNodes(getOperation())) ||
        failed(expandUnsignedNodes(getOperation())))
      return signalPassFailure();
    SmallVector<tg::NodeOp> nodes;
    getOperation().walk([&](tg::NodeOp node) { nodes.push_back(node); });
    if (failed(checkTargets(nodes)))
      return signalPassFailure();
    bool failed = false;
    for (tg::NodeOp node : nodes)
      failed |= convert(node, *getBuiltTarget(node)).failed();
    if (failed)
      return signalPassFailure();
    // Library calls read structured operations for GEMMs, but nodes for
    // attention, so these stay.
    for (auto kernel : getOperation().getOps<tg::KernelOp>())
      tg::updateLibraryCall(kernel);
  }

private:
  LogicalResult convert(tg::NodeOp node, Target target) {
    NodeArguments args(node, target);
    if (failed(checkResults(args, tg::getInfo(target))))
      return failure();
    Operation *previous = node->getPrevNode();
    NodeBuilder builder(args);
    if (failed((*getNodeBuilders().lookup(target))(args, builder)))
      return failure();
    moveAttributes(node, builder.getResults());
    for (auto [result, value] :
         llvm::zip_equal(node.getResults(), builder.getResults()))
      if (value)
        result.replaceAllUsesWith(value);
      else if (!result.use_empty())
        return args.fail("result " + Twine(result.getResultNumber()) +
                         " is none, but it is used");
    for (Operation *op = node->getPrevNode(); op != previous;
         op = op->getPrevNode()) {
      ++numOperations;
      addMarks(node, op);
    }
    node.erase();
    ++numConverted;
    return success();
  }
};
} // namespace
