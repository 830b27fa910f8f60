//===- BatchParts.cpp - One micro-batch after the other -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BatchParts.h"

#include "../TreeSums.h"

#include "regather/Dialect/TG/IR/MicroBatch.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

BatchParts::BatchParts(func::FuncOp func, ArrayRef<unsigned> inputs,
                       unsigned numArguments, int64_t parts,
                       const DataMesh &mesh)
    : func(func), block(func.getBody().front()), inputs(inputs),
      numArguments(numArguments), parts(parts), mesh(mesh),
      builder(func.getContext()), mappings(parts) {
  for (Operation &op : block.without_terminator())
    operations.push_back(&op);
}

LogicalResult BatchParts::run() {
  if (failed(classify()))
    return failure();
  findEarly();
  findShared();
  builder.setInsertionPoint(block.getTerminator());
  cutInputs();
  repeatEarly();
  for (int64_t part = 0; part != parts; ++part)
    repeat(part);
  finish();
  return success();
}

//===----------------------------------------------------------------------===//
// What decides a value
//===----------------------------------------------------------------------===//

bool BatchParts::isCollective(Operation *op) const {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  return collective && collective.getMeshAttr() == mesh.symbol;
}

Operation *BatchParts::getAwaited(Operation *op) const {
  auto wait = dyn_cast<WaitOp>(op);
  Operation *source = wait ? wait.getFuture().getDefiningOp() : nullptr;
  return source && isCollective(source) ? source : nullptr;
}

/// What `op` reads, in its regions too.
static llvm::SetVector<Value> getReadValues(Operation *op) {
  llvm::SetVector<Value> values(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  return values;
}

/// That of the operator, if `op` is a node.
static StringRef getWorkName(Operation *op) {
  auto node = dyn_cast<NodeOp>(op);
  return node ? node.getTarget() : op->getName().getStringRef();
}

BatchParts::Origin BatchParts::getOrigin(Operation *op) const {
  Origin origin;
  for (Value value : getReadValues(op)) {
    Origin read = origins.lookup(value);
    origin.isPart |= read.isPart;
    origin.isLate |= read.isLate;
    origin.readsParameter |= read.readsParameter;
  }
  auto index = dyn_cast<AxisIndexOp>(op);
  origin.isPart |= index && index.getMeshAttr() == mesh.symbol;
  return origin;
}

LogicalResult BatchParts::classifyCollective(Operation *op, Origin origin) {
  if (!isa<AllReduceOp, AllGatherOp>(op))
    return op->emitError() << "the batch cannot be cut into micro-batches: all "
                              "of them together would have to exchange rows";
  origins[op->getResult(0)] = {false, origin.readsParameter, false};
  if (!origin.readsParameter)
    return success();
  for (auto [number, operand] : llvm::enumerate(op->getOperands()))
    takers[operand].push_back({op, number});
  given[op].resize(op->getNumOperands());
  return success();
}

/// Rows of a part need what all rows and parameters decide together.
LogicalResult BatchParts::emitTogether(Operation *op) const {
  InFlightDiagnostic diag = op->emitError()
                            << "the batch cannot be cut into micro-batches: '"
                            << getWorkName(op)
                            << "' computes a part of the rows from what all "
                               "rows decide together";
  for (Value value : getReadValues(op))
    if (origins.lookup(value).isLate) {
      Operation *awaited = getAwaited(value.getDefiningOp());
      Location loc = awaited ? awaited->getOperand(0).getLoc() : value.getLoc();
      diag.attachNote(loc) << "decided here";
    }
  return diag;
}

LogicalResult BatchParts::classify() {
  for (BlockArgument argument : block.getArguments()) {
    unsigned number = argument.getArgNumber();
    auto role = number < numArguments
                    ? func.getArgAttrOfType<RoleAttr>(number, kRoleAttrName)
                    : RoleAttr();
    bool isTrained = role && (role.getKind() == RoleKind::Parameter ||
                              role.getKind() == RoleKind::OptimizerState);
    origins[argument] = {number >= numArguments, false, isTrained};
  }
  for (Operation *op : operations) {
    Origin origin = getOrigin(op);
    // A collective takes parts, too, even if they are all equal.
    if (origin.isLate && (origin.isPart || isCollective(op)))
      return emitTogether(op);
    if (isCollective(op)) {
      if (failed(classifyCollective(op, origin)))
        return failure();
      continue;
    }
    for (Value result : op->getResults())
      origins[result] = origin;
  }
  return success();
}

void BatchParts::findEarly() {
  SmallVector<Operation *> stack;
  auto push = [&](Operation *op) {
    if (op && early.insert(op).second)
      stack.push_back(op);
  };
  for (Operation *op : operations)
    if (isCollective(op) && !given.count(op))
      push(op);
  while (!stack.empty())
    for (Value value : getReadValues(stack.pop_back_val()))
      push(value.getDefiningOp());
}

/// What no micro-batch decides or reads, such as the decay of a weight, need
/// not be there for each of them.
void BatchParts::findShared() {
  DenseSet<Operation *> read;
  for (Operation *op : llvm::reverse(operations)) {
    bool isTaken = llvm::any_of(
        op->getResults(), [&](Value result) { return takers.count(result); });
    bool isOfPart = llvm::any_of(op->getResults(), [&](Value result) {
      return origins.lookup(result).isPart;
    });
    if (!isCollective(op) && !early.contains(op) && !isTaken && !isOfPart &&
        !read.contains(op)) {
      shared.insert(op);
      continue;
    }
    for (Value value : getReadValues(op))
      if (Operation *source = value.getDefiningOp())
        read.insert(source);
  }
}

//===----------------------------------------------------------------------===//
// Operations on a micro-batch
//===----------------------------------------------------------------------===//

static void mark(Operation *op, int64_t part) {
  op->setAttr(kMicroBatchAttrName,
              IntegerAttr::get(IntegerType::get(op->getContext(), 64), part));
}

void BatchParts::cutInputs() {
  for (auto [number, input] : llvm::enumerate(inputs)) {
    BlockArgument whole = block.getArgument(input);
    BlockArgument local = block.getArgument(numArguments + number);
    auto type = cast<RankedTensorType>(local.getType());
    SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0));
    SmallVector<OpFoldResult> strides(type.getRank(), builder.getIndexAttr(1));
    SmallVector<OpFoldResult> sizes =
        getAsIndexOpFoldResult(builder.getContext(), type.getShape());
    for (int64_t part = 0; part != parts; ++part) {
      offsets[0] = builder.getIndexAttr(part * type.getDimSize(0));
      Operation *slice = tensor::ExtractSliceOp::create(
          builder, whole.getLoc(), type, whole, offsets, sizes, strides);
      slice->setAttr(kPhaseAttrName,
                     PhaseAttr::get(builder.getContext(), Phase::Forward));
      mark(slice, part);
      mappings[part].map(local, slice->getResult(0));
    }
  }
}

/// The number of the micro-batch is known, and with it where its rows begin.
/// Null for other operations.
Operation *BatchParts::cloneIndices(Operation *op, int64_t part) {
  auto makeConstant = [&](int64_t value) -> Operation * {
    return arith::ConstantIndexOp::create(builder, op->getLoc(), value);
  };
  if (auto index = dyn_cast<AxisIndexOp>(op);
      index && index.getMeshAttr() == mesh.symbol)
    return makeConstant(part);
  const IRMapping &mapping = mappings[part];
  if (auto product = dyn_cast<arith::MulIOp>(op)) {
    auto a = getConstantIntValue(mapping.lookupOrDefault(product.getLhs()));
    auto b = getConstantIntValue(mapping.lookupOrDefault(product.getRhs()));
    return a && b && product.getType().isIndex() ? makeConstant(*a * *b)
                                                 : nullptr;
  }
  auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
  if (!slice || slice.getOffsets().empty())
    return nullptr;
  SmallVector<OpFoldResult> offsets;
  for (OpFoldResult offset : slice.getMixedOffsets()) {
    if (auto value = dyn_cast<Value>(offset))
      offset = getAsOpFoldResult(mapping.lookupOrDefault(value));
    offsets.push_back(offset);
  }
  return tensor::ExtractSliceOp::create(
      builder, op->getLoc(), slice.getType(),
      mapping.lookupOrDefault(slice.getSource()), offsets,
      slice.getMixedSizes(), slice.getMixedStrides());
}

void BatchParts::clone(Operation *op, int64_t part) {
  IRMapping &mapping = mappings[part];
  Operation *copy = cloneIndices(op, part);
  if (copy) {
    for (NamedAttribute attribute : op->getDiscardableAttrs())
      copy->setAttr(attribute.getName(), attribute.getValue());
    mapping.map(op->getResults(), copy->getResults());
  } else {
    copy = builder.clone(*op, mapping);
  }
  mark(copy, part);
}

void BatchParts::repeatEarly() {
  for (Operation *op : operations) {
    if (!early.contains(op) || isCollective(op))
      continue;
    if (getAwaited(op)) {
      define(op);
      continue;
    }
    for (int64_t part = 0; part != parts; ++part)
      clone(op, part);
  }
  // What waits for an early collective is as early.
  for (Operation *op : operations)
    if (Operation *awaited = getAwaited(op);
        awaited && !given.count(awaited) && early.insert(op).second)
      define(op);
}

void BatchParts::repeat(int64_t part) {
  for (Operation *op : operations) {
    if (isCollective(op)) {
      for (Value operand : op->getOperands())
        if (Operation *source = operand.getDefiningOp();
            given.count(op) && (!source || early.contains(source)))
          accumulate(operand, part);
      continue;
    }
    if (early.contains(op) || shared.contains(op))
      continue;
    clone(op, part);
    for (Value result : op->getResults())
      accumulate(result, part);
  }
}

//===----------------------------------------------------------------------===//
// What all micro-batches give
//===----------------------------------------------------------------------===//

static TreeSums getSums(OpBuilder &builder, Operation *like) {
  return {builder, like->getLoc(),
          PhaseAttr::get(like->getContext(),
                         getPhase(like).value_or(Phase::Forward)),
          like->getAttrOfType<StringAttr>(kModuleAttrName)};
}

/// Sums are added at once, so that only one of each gradient is live at a time.
void BatchParts::accumulate(Value value, int64_t part) {
  auto it = takers.find(value);
  if (it == takers.end())
    return;
  Value own = mappings[part].lookupOrDefault(value);
  for (auto [collective, number] : it->second) {
    SmallVector<Value> &values = given[collective][number];
    // One value may be several operands.
    if (static_cast<int64_t>(values.size()) > part)
      continue;
    auto reduce = dyn_cast<AllReduceOp>(collective);
    if (!reduce || part == 0) {
      values.push_back(own);
      continue;
    }
    Operation *source = own.getDefiningOp();
    Value sum = getSums(builder, source ? source : collective)
                    .combine(values.back(), own, reduce.getReduction());
    mark(sum.getDefiningOp(), part);
    values.push_back(sum);
  }
}

Value BatchParts::combine(Operation *collective, ArrayRef<Value> values) {
  TreeSums sums = getSums(builder, collective);
  auto reduce = dyn_cast<AllReduceOp>(collective);
  if (!reduce)
    return sums.concatenate(values, cast<AllGatherOp>(collective).getDim());
  return reduce.getReduction() == Reduction::Avg
             ? sums.divide(values.back(), parts)
             : values.back();
}

void BatchParts::define(Operation *wait) {
  Operation *collective = getAwaited(wait);
  for (auto [number, operand, result] :
       llvm::enumerate(collective->getOperands(), wait->getResults())) {
    SmallVector<Value> values;
    if (auto it = given.find(collective); it != given.end())
      values = it->second[number];
    else
      for (const IRMapping &mapping : mappings) {
        Value own = mapping.lookupOrDefault(operand);
        if (auto reduce = dyn_cast<AllReduceOp>(collective);
            reduce && !values.empty())
          own = getSums(builder, collective)
                    .combine(values.back(), own, reduce.getReduction());
        values.push_back(own);
      }
    Value whole = combine(collective, values);
    for (IRMapping &mapping : mappings)
      mapping.map(result, whole);
    ++numCombined;
  }
}

/// What all micro-batches decide together is carried out once. Of what each of
/// them reads but none decides, the last one has a copy.
void BatchParts::finish() {
  IRMapping &mapping = mappings.back();
  for (Operation *op : operations) {
    if (isCollective(op) || early.contains(op))
      continue;
    if (getAwaited(op))
      define(op);
    else if (shared.contains(op))
      builder.clone(*op, mapping);
  }
  for (OpOperand &operand : block.getTerminator()->getOpOperands())
    operand.set(mapping.lookupOrDefault(operand.get()));
  for (Operation *op : llvm::reverse(operations))
    op->erase();
  block.eraseArguments(numArguments, block.getNumArguments() - numArguments);
}
