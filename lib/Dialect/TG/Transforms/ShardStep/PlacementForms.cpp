//===- PlacementForms.cpp - How values of a step may lie ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlacementForms.h"

#include "../ShardParameters/FactorSplit.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

/// A value has a few dimensions, and outer parts only where views join them.
static constexpr size_t kMostCuts = 12;

PlacementForms::PlacementForms(const Step &step, const DataMesh &mesh)
    : step(step), mesh(mesh), sortedRows(*step.block) {}

PlacementForms::OpForms &PlacementForms::getForms(Operation *op) {
  std::unique_ptr<OpForms> &known = forms[op];
  if (known)
    return *known;
  known = std::make_unique<OpForms>();
  auto interface = dyn_cast<ShardingRuleOpInterface>(op);
  // As the partitioner has it.
  if (interface &&
      (isMemoryEffectFree(op) || isa<CollectiveOpInterface, WaitOp>(op)))
    known->rule = interface.getShardingRule();
  return *known;
}

ArrayRef<DimCut> PlacementForms::getCuts(Value value) const {
  auto it = cuts.find(value);
  return it == cuts.end() ? ArrayRef<DimCut>() : ArrayRef(it->second);
}

const ShardingRule *PlacementForms::getRule(Operation *op) const {
  auto it = forms.find(op);
  return it == forms.end() || !it->second->rule ? nullptr : &*it->second->rule;
}

ArrayRef<FactorSplit> PlacementForms::getSplits(Operation *op) const {
  auto it = forms.find(op);
  return it == forms.end() ? ArrayRef<FactorSplit>()
                           : ArrayRef(it->second->splits);
}

void PlacementForms::add(Value value, DimCut cut) {
  RankedTensorType type = getRuledTensor(value.getType());
  if (!type || cut.dim >= type.getRank())
    return;
  // Padding lies at the end.
  if (cut.outer != 1 &&
      type.getDimSize(cut.dim) % (cut.outer * mesh.getBlocks(Group::Shard)) !=
          0)
    return;
  SmallVector<DimCut, 4> &known = cuts[value];
  if (llvm::is_contained(known, cut))
    return;
  if (known.size() == kMostCuts) {
    hasTooMany = true;
    return;
  }
  known.push_back(cut);
  open.push_back({value, cut});
}

void PlacementForms::addSplit(Operation *op, const ShardingRule &rule,
                              const TensorFactors &tensor, DimCut cut) {
  auto factor = findCutFactor(rule, tensor, cut);
  if (!factor)
    return;
  std::optional<FactorSplit> split =
      splitFactor(op, rule, factor->first, mesh.getBlocks(Group::Shard),
                  /*allowUneven=*/true, factor->second);
  if (!split)
    return;
  auto isKnown = [&](const FactorSplit &other) {
    return other.factor == split->factor && other.operands == split->operands &&
           other.results == split->results;
  };
  SmallVector<FactorSplit, 4> &splits = getForms(op).splits;
  if (llvm::any_of(splits, isKnown))
    return;
  splits.push_back(*split);
  for (auto [operand, dim] :
       llvm::zip_equal(op->getOperands(), split->operands))
    if (dim)
      add(operand, *dim);
  for (auto [result, dim] : llvm::zip_equal(op->getResults(), split->results))
    if (dim)
      add(result, *dim);
}

/// What the partitioner divides although a rule needs it whole.
void PlacementForms::passOnDivided(Operation *op, Value value, DimCut cut) {
  if (std::optional<Softmax> softmax = matchSoftmax(op);
      softmax && cut.dim == softmax->dim) {
    add(op->getResult(0), cut);
    for (unsigned number : softmax->operands)
      add(op->getOperand(number), cut);
  }
  // Of the zeros that it is written into, the shape counts.
  if (std::optional<IndexedGradient> gradient = matchIndexedGradient(op);
      gradient &&
      canBuildPart(*gradient, ValueState::getSplit(Group::Shard, cut)) &&
      getRuledTensor(value.getType()).getShape() ==
          getRuledTensor(op->getResult(0).getType()).getShape())
    add(op->getResult(0), cut);
}

void PlacementForms::passOn(Operation *op, const TensorFactors *tensor,
                            Value value, DimCut cut) {
  OpForms &own = getForms(op);
  if (!own.rule)
    return;
  if (tensor)
    addSplit(op, *own.rule, *tensor, cut);
  passOnDivided(op, value, cut);
}

bool PlacementForms::find(ArrayRef<PlacedValue> placed) {
  for (const PlacedValue &one : placed)
    for (int64_t dim : one.dims)
      add(one.value, dim);
  Operation *terminator = step.getTerminator();
  llvm::DenseMap<Value, SmallVector<Value, 1>> results;
  for (auto [number, result] : llvm::enumerate(terminator->getOperands()))
    if (RoleAttr role = step.getResultRole(number);
        role && role.namesArgument())
      results[step.block->getArgument(role.getArgument())].push_back(result);
  for (Operation *op : step.operations)
    getForms(op);
  while (!open.empty() && !hasTooMany) {
    auto [value, cut] = open.back();
    open.pop_back();
    if (auto result = dyn_cast<OpResult>(value)) {
      Operation *op = result.getOwner();
      OpForms &own = getForms(op);
      passOn(op,
             own.rule ? &own.rule->results[result.getResultNumber()] : nullptr,
             value, cut);
    }
    for (OpOperand &use : value.getUses()) {
      Operation *op = use.getOwner();
      if (op->getBlock() != step.block || op == terminator)
        continue;
      OpForms &own = getForms(op);
      passOn(op,
             own.rule ? &own.rule->operands[use.getOperandNumber()] : nullptr,
             value, cut);
    }
    // Gradients and updates lie as their arguments do.
    if (isa<BlockArgument>(value))
      for (Value result : results.lookup(value))
        add(result, cut);
  }
  return !hasTooMany;
}
