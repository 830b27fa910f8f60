//===- WideParameters.cpp - Copies of parameters are shared ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WideParameters.h"

#include "Gradients.h"

#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "tg-shard-parameters"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

namespace {
/// A value that is to be a sum over axes, and over which of them it has been
/// found to be one.
struct Summed {
  Value value;
  llvm::SmallBitVector axes;
};

/// Finds the sums over copies that one gradient is made of.
class CopySums {
public:
  explicit CopySums(const DataMesh &mesh) : mesh(mesh) {}

  /// The waits for sums over the copies that `gradient` is linear in, such that
  /// each of its terms is summed over each of the axes once; nothing if a term
  /// is not, or if anything else reads what comes in between.
  std::optional<SmallVector<WaitOp>> find(Value gradient);

private:
  /// Looks at what `summed` is made of; false if it is no such sum.
  bool visit(Summed summed);
  bool visitReduction(WaitOp wait, Summed summed);

  const DataMesh &mesh;
  SmallVector<Summed> worklist;
  SmallVector<WaitOp> found;
};
} // namespace

std::optional<SmallVector<WaitOp>> CopySums::find(Value gradient) {
  worklist = {
      {gradient, llvm::SmallBitVector(mesh.copyAxes.getNames().size())}};
  found.clear();
  while (!worklist.empty())
    if (!visit(worklist.pop_back_val()))
      return std::nullopt;
  return found;
}

bool CopySums::visitReduction(WaitOp wait, Summed summed) {
  auto reduce = wait.getFuture().getDefiningOp<AllReduceOp>();
  if (!reduce || reduce.getInputs().size() != 1 ||
      reduce.getReduction() == Reduction::Max ||
      reduce.getMeshAttr() != mesh.symbol)
    return false;
  ArrayRef<StringAttr> copies = mesh.copyAxes.getNames();
  bool hasCopies = false, hasOthers = false;
  for (StringAttr axis : reduce.getAxes().getNames()) {
    const auto *copy = llvm::find(copies, axis);
    if (copy == copies.end()) {
      hasOthers = true;
      continue;
    }
    hasCopies = true;
    if (summed.axes.test(copy - copies.begin()))
      return false;
    summed.axes.set(copy - copies.begin());
  }
  if (hasCopies && (hasOthers || reduce.getReduction() != Reduction::Sum))
    return false;
  if (hasCopies)
    found.push_back(wait);
  summed.value = reduce.getInputs().front();
  if (!summed.axes.all())
    worklist.push_back(std::move(summed));
  return true;
}

bool CopySums::visit(Summed summed) {
  Operation *op = summed.value.getDefiningOp();
  if (!op || !summed.value.hasOneUse() || op->getNumResults() != 1)
    return false;
  if (auto wait = dyn_cast<WaitOp>(op))
    return visitReduction(wait, std::move(summed));
  auto interface = dyn_cast<ShardingRuleOpInterface>(op);
  if (!interface)
    return false;
  // Linear in all that it reads together.
  ShardingRule rule = interface.getShardingRule();
  if (llvm::none_of(rule.linear, [&](const llvm::SmallBitVector &set) {
        return set.count() == op->getNumOperands();
      }))
    return false;
  for (Value operand : op->getOperands())
    worklist.push_back({operand, summed.axes});
  return true;
}

/// True if the parameter lies whole over all of these axes.
static bool isWholeOver(PlacementAttr placement, AxesAttr axes) {
  return !placement ||
         llvm::none_of(placement.getAxes(), [&](AxisPlacementAttr axis) {
           return llvm::any_of(axis.getAxes().getNames(), [&](StringAttr name) {
             return llvm::is_contained(axes.getNames(), name);
           });
         });
}

void regather::tg::spmd::widenParameters(Step &step, const DataMesh &mesh) {
  if (!mesh.copyAxes)
    return;
  CopySums sums(mesh);
  llvm::DenseSet<Operation *> erased;
  for (Parameter &parameter : step.parameters) {
    if (!parameter.flat ||
        !isWholeOver(step.getArgumentPlacement(parameter.argument),
                     mesh.copyAxes))
      continue;
    if (parameter.gradient) {
      Value gradient = step.getTerminator()->getOperand(*parameter.gradient);
      // Casts that round come behind the sum.
      SmallVector<Operation *> casts;
      Value source = skipCasts(gradient, casts);
      bool isReadElsewhere =
          llvm::any_of(casts, [](Operation *op) { return !op->hasOneUse(); });
      std::optional<SmallVector<WaitOp>> waits;
      if (!isReadElsewhere)
        waits = sums.find(source);
      if (!waits) {
        remark::missed(
            step.func.getLoc(),
            remark::RemarkOpts::name("kept-copies").category(DEBUG_TYPE))
            << remark::reason("parameter \"{0}\" lies whole on ranks that do "
                              "not sum its gradient",
                              parameter.name);
        continue;
      }
      for (WaitOp wait : *waits) {
        Operation *reduce = wait.getFuture().getDefiningOp();
        wait->getResult(0).replaceAllUsesWith(reduce->getOperand(0));
        erased.insert(wait);
        erased.insert(reduce);
      }
    }
    parameter.over = Group::Wide;
  }
  eraseOperations(step, erased);
}
