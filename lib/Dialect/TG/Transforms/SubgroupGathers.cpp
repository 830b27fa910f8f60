//===- SubgroupGathers.cpp - Gather again among fewer ranks ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SubgroupGathers.h"

#include "RankParts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <map>

using namespace mlir;
using namespace regather::tg;

/// Finds the positions that an earlier run computed at the beginning of the
/// step, so that both share them.
SubgroupGathers::SubgroupGathers(FunctionOpInterface func)
    : func(func), rewriter(func.getContext()) {
  for (Operation &op : func.getFunctionBody().front()) {
    if (!isa<AxisIndexOp, arith::ConstantOp, arith::MulIOp>(op))
      break;
    auto product = dyn_cast<arith::MulIOp>(op);
    auto index =
        product ? product.getLhs().getDefiningOp<AxisIndexOp>() : nullptr;
    llvm::APInt size;
    if (index && matchPattern(product.getRhs(), m_ConstantInt(&size)))
      offsets[{index.getMeshAttr(), index.getAxesAttr(), size.getSExtValue()}] =
          product;
  }
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

SubgroupGathers::Group SubgroupGathers::splitAxis(MeshOp mesh, StringRef axis,
                                                  int64_t inner,
                                                  ArrayRef<StringRef> rest) {
  std::string outerName = (axis + "_outer").str();
  std::string innerName = (axis + "_inner").str();
  SmallVector<StringRef> names;
  SmallVector<int64_t> sizes;
  for (auto [name, size] :
       llvm::zip(mesh.getAxes().getNames(), mesh.getSizes())) {
    if (name != axis) {
      names.push_back(name.getValue());
      sizes.push_back(size);
      continue;
    }
    names.append({outerName, innerName});
    sizes.append({size / inner, inner});
  }
  auto axes = AxesAttr::get(func.getContext(), names);
  auto sizesAttr = rewriter.getDenseI64ArrayAttr(sizes);
  MeshOp split;
  auto module = cast<ModuleOp>(mesh->getParentOp());
  for (auto other : module.getOps<MeshOp>())
    if (other.getAxes() == axes && other.getSizesAttr() == sizesAttr)
      split = other;
  if (!split) {
    rewriter.setInsertionPointAfter(mesh);
    split =
        MeshOp::create(rewriter, mesh.getLoc(),
                       (mesh.getSymName() + "_groups").str(), axes, sizesAttr);
    SymbolTable(module).insert(split, std::next(Block::iterator(mesh)));
  }
  SmallVector<StringRef> groupNames = {innerName};
  llvm::append_range(groupNames, rest);
  return {FlatSymbolRefAttr::get(split.getSymNameAttr()),
          AxesAttr::get(func.getContext(), groupNames)};
}

FailureOr<SubgroupGathers::Group> SubgroupGathers::getGroup(AllGatherOp gather,
                                                            int64_t ranks) {
  MeshOp mesh = lookupMesh(gather, gather.getMeshAttr());
  if (mesh.getGroupSize(gather.getAxes()) == ranks) {
    InFlightDiagnostic diag = gather.emitError()
                              << "expects groups of fewer than the " << ranks
                              << " ranks of this gather, got " << ranks
                              << "; without a group, all of them gather again";
    diag.attachNote(mesh.getLoc()) << "mesh declared here";
    return diag;
  }
  // The last axes vary fastest, so neighbouring ranks differ in them.
  ArrayRef<StringAttr> names = gather.getAxes().getNames();
  SmallVector<StringRef> inner;
  int64_t rest = ranks;
  while (rest > 1 && !names.empty()) {
    StringRef axis = names.back().getValue();
    int64_t size = *mesh.getAxisSize(axis);
    if (rest % size == 0) {
      inner.insert(inner.begin(), axis);
      rest /= size;
      names = names.drop_back();
      continue;
    }
    if (size % rest == 0)
      return splitAxis(mesh, axis, rest, inner);
    break;
  }
  if (rest == 1)
    return Group{gather.getMeshAttr(), AxesAttr::get(func.getContext(), inner)};
  InFlightDiagnostic diag =
      gather.emitError() << "the " << mesh.getGroupSize(gather.getAxes())
                         << " ranks of this gather cannot be cut into groups "
                            "of "
                         << ranks << ", in which backward is to gather again";
  diag.attachNote(mesh.getLoc()) << "mesh declared here";
  return diag;
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

Value SubgroupGathers::getOffset(Group group, int64_t size) {
  Value &offset = offsets[{group.mesh, group.axes, size}];
  if (offset)
    return offset;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(&func.getFunctionBody().front());
  return offset = createPartOffset(rewriter, func.getLoc(), group.mesh,
                                   group.axes, size)
                      ->getResult(0);
}

Value SubgroupGathers::cutPart(Value whole, int64_t dim, Group group,
                               int64_t ranks) {
  auto wait = whole.getDefiningOp<WaitOp>();
  Location loc = wait.getLoc();
  auto mark = [&](Operation *op) {
    op->setDiscardableAttrs(wait->getDiscardableAttrDictionary());
    op->removeAttr(kPolicyAttrName);
    op->removeAttr(kSavedResultsAttrName);
    op->removeAttr(kIdAttrName);
    op->setAttr(kPhaseAttrName,
                PhaseAttr::get(func.getContext(), Phase::Forward));
    return op->getResult(0);
  };
  auto type = cast<RankedTensorType>(whole.getType());
  int64_t size = getShardSize(type.getDimSize(dim), ranks);
  Value offset = getOffset(group, size);
  rewriter.setInsertionPointAfter(wait);
  if (size * ranks != type.getDimSize(dim))
    whole = mark(createPadding(rewriter, loc, whole, dim, size * ranks));
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = size;
  SmallVector<OpFoldResult> offsets(type.getRank(), rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(type.getRank(), rewriter.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes;
  for (int64_t extent : shape)
    sizes.push_back(rewriter.getIndexAttr(extent));
  offsets[dim] = offset;
  return mark(tensor::ExtractSliceOp::create(rewriter, loc, type.clone(shape),
                                             whole, offsets, sizes, strides));
}

/// Erases what computed `values` in backward, as far as nothing else reads it.
static void eraseDeadChains(ArrayRef<Value> values, RewriterBase &rewriter) {
  llvm::SmallSetVector<Operation *, 8> worklist;
  auto add = [&](Value value) {
    if (Operation *def = value.getDefiningOp())
      worklist.insert(def);
  };
  llvm::for_each(values, add);
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    if (getPhase(op) != Phase::Backward || !isOpTriviallyDead(op))
      continue;
    llvm::for_each(op->getOperands(), add);
    rewriter.eraseOp(op);
  }
}

LogicalResult SubgroupGathers::replace(AllGatherOp original, AllGatherOp copy,
                                       ArrayRef<Member> members) {
  WaitOp wait = getWait(original), copyWait = getWait(copy);
  // There is one gather for each group size, and hardly ever more than one
  // size.
  llvm::MapVector<int64_t, SmallVector<Member>, std::map<int64_t, unsigned>>
      bySize;
  for (const Member &member : members)
    bySize[member.ranks].push_back(member);
  llvm::SmallDenseSet<unsigned> replaced;
  for (auto &[ranks, group] : bySize) {
    FailureOr<Group> subgroup = getGroup(original, ranks);
    if (failed(subgroup))
      return failure();
    SmallVector<Value> parts;
    SmallVector<Type> types;
    for (const Member &member : group) {
      Value whole = wait.getTensors()[member.original];
      parts.push_back(cutPart(whole, original.getDim(), *subgroup, ranks));
      types.push_back(whole.getType());
    }
    rewriter.setInsertionPoint(copy);
    auto gather = AllGatherOp::create(
        rewriter, copy.getLoc(), FutureType::get(func.getContext(), types),
        parts, subgroup->mesh, subgroup->axes, copy.getDimAttr(),
        copy.getPhaseAttr(), copy.getGenerationAttr());
    gather->setDiscardableAttrs(copy->getDiscardableAttrDictionary());
    rewriter.setInsertionPoint(copyWait);
    auto arrival =
        WaitOp::create(rewriter, copyWait.getLoc(), gather.getFuture());
    arrival->setDiscardableAttrs(copyWait->getDiscardableAttrDictionary());
    for (auto [member, tensor] : llvm::zip(group, arrival.getTensors())) {
      rewriter.replaceAllUsesWith(copyWait.getTensors()[member.copy], tensor);
      replaced.insert(member.copy);
    }
  }
  SmallVector<Value> inputs;
  SmallVector<unsigned> kept;
  for (unsigned i = 0, e = copy.getInputs().size(); i != e; ++i) {
    if (replaced.contains(i))
      inputs.push_back(copy.getInputs()[i]);
    else
      kept.push_back(i);
  }
  if (kept.empty()) {
    rewriter.eraseOp(copyWait);
    rewriter.eraseOp(copy);
  } else {
    keepMembers(copy, kept, rewriter);
  }
  eraseDeadChains(inputs, rewriter);
  return success();
}
