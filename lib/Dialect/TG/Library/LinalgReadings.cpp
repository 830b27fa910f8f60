//===- LinalgReadings.cpp - Structured operations in terms of a library
//------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LibraryReadings.h"

#include "regather/Dialect/TG/Library/LibraryCalls.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::library;

bool regather::tg::isZeroFill(Value value) {
  auto fill = value.getDefiningOp<linalg::FillOp>();
  return fill && matchPattern(fill.getInputs().front(), m_PosZeroFloat());
}

bool library::isConstantTensor(Operation *op) {
  return op->hasTrait<OpTrait::ConstantLike>() ||
         isa<tensor::EmptyOp, linalg::FillOp>(op);
}

static bool hasStaticShape(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape();
}

static ArrayRef<int64_t> getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// Reads a generic that yields its only input.
static std::optional<ViewReading> readMovedElements(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 1 || op->getNumResults() != 1 ||
      !llvm::hasSingleElement(*op.getBlock()) ||
      op.getBlock()->getTerminator()->getOperand(0) !=
          op.getBlock()->getArgument(0))
    return std::nullopt;
  AffineMap from = op.getIndexingMapsArray()[0];
  AffineMap to = op.getIndexingMapsArray()[1];
  if (!to.isIdentity() || !from.isProjectedPermutation(/*allowZero=*/true))
    return std::nullopt;
  Value operand = op.getDpsInputs().front(), result = op.getResult(0);
  // The dimensions that the map has, in the order of the result, then those
  // that are repeated.
  ViewReading reading;
  reading.operand = operand;
  SmallVector<int64_t> order, aligned(getShape(result).size(), 1), unit;
  for (auto [d, expr] : llvm::enumerate(from.getResults()))
    if (!isa<AffineDimExpr>(expr))
      unit.push_back(static_cast<int64_t>(d));
  for (unsigned d = 0; d < to.getNumDims(); ++d)
    if (auto position =
            from.getResultPosition(getAffineDimExpr(d, op.getContext()))) {
      order.push_back(*position);
      aligned[d] = getShape(operand)[*position];
    }
  order.append(unit.begin(), unit.end());
  reading.transforms = {ViewTransform::permute(order),
                        ViewTransform::reshape(aligned)};
  if (ArrayRef(aligned) != getShape(result))
    reading.transforms.push_back(ViewTransform::broadcast(getShape(result)));
  return reading;
}

std::optional<ViewReading> library::readView(OpResult result) {
  Operation *op = result.getOwner();
  if (!llvm::all_of(op->getOperands(), hasStaticShape) ||
      !hasStaticShape(result))
    return std::nullopt;
  if (auto node = dyn_cast<NodeOp>(op))
    return readNodeView(node, result.getResultNumber());
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    return ViewReading{op->getOperand(0),
                       {ViewTransform::reshape(getShape(result))}};
  if (auto transpose = dyn_cast<linalg::TransposeOp>(op))
    return ViewReading{transpose.getInput(),
                       {ViewTransform::permute(transpose.getPermutation())}};
  if (auto copy = dyn_cast<linalg::CopyOp>(op))
    if (copy.getInputs().front().getType() == result.getType())
      return ViewReading{copy.getInputs().front(), {}};
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return readMovedElements(generic);
  auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
  if (!slice || slice.getSourceType().getRank() != slice.getType().getRank() ||
      ShapedType::isDynamicShape(slice.getStaticOffsets()) ||
      ShapedType::isDynamicShape(slice.getStaticStrides()))
    return std::nullopt;
  ViewReading reading{slice.getSource(), {}};
  for (auto [d, start, size, step] :
       llvm::enumerate(slice.getStaticOffsets(), getShape(result),
                       slice.getStaticStrides()))
    reading.transforms.push_back(
        ViewTransform::slice(static_cast<int64_t>(d), start, size, step));
  return reading;
}

//===----------------------------------------------------------------------===//
// GEMMs
//===----------------------------------------------------------------------===//

/// The argument that `value` is, or is widened from.
static BlockArgument getArgument(Value value) {
  if (auto extend = value.getDefiningOp<arith::ExtFOp>())
    value = extend.getIn();
  return dyn_cast<BlockArgument>(value);
}

/// True if the body adds the product of its inputs to what is there.
static bool isMultiplyAdd(Block &body) {
  auto add = body.getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!add)
    return false;
  for (bool swapped : {false, true}) {
    auto sum = dyn_cast<BlockArgument>(swapped ? add.getRhs() : add.getLhs());
    auto product =
        (swapped ? add.getLhs() : add.getRhs()).getDefiningOp<arith::MulFOp>();
    if (!sum || !product || sum.getArgNumber() != 2)
      continue;
    BlockArgument lhs = getArgument(product.getLhs());
    BlockArgument rhs = getArgument(product.getRhs());
    return lhs && rhs && lhs.getArgNumber() + rhs.getArgNumber() == 1;
  }
  return false;
}

static std::optional<GemmReading> readContraction(linalg::LinalgOp op) {
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 ||
      op->getNumResults() != 1 || op->getNumOperands() != 3 ||
      !llvm::all_of(op->getOperands(), hasStaticShape) ||
      !isMultiplyAdd(*op.getBlock()))
    return std::nullopt;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  for (AffineMap map : maps)
    if (!map.isProjectedPermutation())
      return std::nullopt;
  GemmReading reading;
  reading.lhs = op->getOperand(0);
  reading.rhs = op->getOperand(1);
  llvm::append_range(reading.shape, getShape(op->getResult(0)));
  for (auto [d, size] : llvm::enumerate(op.getStaticLoopRanges())) {
    AffineExpr loop = getAffineDimExpr(d, op.getContext());
    reading.loops.push_back({size, maps[0].getResultPosition(loop),
                             maps[1].getResultPosition(loop),
                             maps[2].getResultPosition(loop)});
  }
  // The library adds behind the sum what a loop would start from.
  if (!isZeroFill(op->getOperand(2))) {
    EpilogueTransform transform(EpilogueTransform::Kind::Add);
    transform.addend = op->getOperand(2);
    reading.rest.transforms.push_back(transform);
  }
  reading.rest.transforms.push_back(EpilogueTransform::convert(
      getElementTypeOrSelf(op->getResult(0).getType())));
  return reading;
}

std::optional<GemmReading> library::readGemm(Operation *op) {
  if (auto node = dyn_cast<NodeOp>(op))
    return readNodeGemm(node);
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return readContraction(linalgOp);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Epilogues
//===----------------------------------------------------------------------===//

namespace {
/// Follows the value that the chain has through the body of a pointwise
/// operation.
class BodyReader {
public:
  BodyReader(linalg::LinalgOp op, unsigned chain)
      : op(op), current(op.getBlock()->getArgument(chain)) {}

  EpilogueReading read();

private:
  bool readOp(Operation *inner);
  bool addTransform(EpilogueTransform transform) {
    reading.transforms.push_back(std::move(transform));
    return true;
  }
  bool readAdd(Value other);

  linalg::LinalgOp op;
  Value current;
  EpilogueReading reading;
};
} // namespace

bool BodyReader::readAdd(Value other) {
  BlockArgument argument = getArgument(other);
  if (!argument || argument.getOwner() != op.getBlock() ||
      argument.getArgNumber() >= op.getNumDpsInputs())
    return false;
  EpilogueTransform transform(EpilogueTransform::Kind::Add);
  transform.addend = op->getOperand(argument.getArgNumber());
  ArrayRef<int64_t> shape = getShape(op->getResult(0));
  AffineMap map = op.getIndexingMapsArray()[argument.getArgNumber()];
  if (!map.isProjectedPermutation(/*allowZero=*/true) ||
      !hasStaticShape(transform.addend))
    return false;
  SmallVector<int64_t> order, aligned(shape.size(), 1), unit;
  for (auto [d, expr] : llvm::enumerate(map.getResults()))
    if (!isa<AffineDimExpr>(expr))
      unit.push_back(static_cast<int64_t>(d));
  for (unsigned d = 0; d < map.getNumDims(); ++d)
    if (auto position =
            map.getResultPosition(getAffineDimExpr(d, op->getContext()))) {
      order.push_back(*position);
      aligned[d] = getShape(transform.addend)[*position];
    }
  order.append(unit.begin(), unit.end());
  transform.alignment = {ViewTransform::permute(order),
                         ViewTransform::reshape(aligned),
                         ViewTransform::broadcast(shape)};
  return addTransform(std::move(transform));
}

bool BodyReader::readOp(Operation *inner) {
  if (auto extend = dyn_cast<arith::ExtFOp>(inner)) {
    if (extend.getIn() != current)
      return true;
    current = extend;
    return addTransform(EpilogueTransform::convert(extend.getType()));
  }
  if (auto truncate = dyn_cast<arith::TruncFOp>(inner)) {
    if (truncate.getIn() != current)
      return false;
    current = truncate;
    return addTransform(EpilogueTransform::convert(truncate.getType()));
  }
  if (auto add = dyn_cast<arith::AddFOp>(inner)) {
    Value other = add.getLhs() == current ? add.getRhs() : add.getLhs();
    if ((add.getLhs() == current) == (add.getRhs() == current) ||
        !readAdd(other))
      return false;
    current = add;
    return true;
  }
  if (auto multiply = dyn_cast<arith::MulFOp>(inner)) {
    FloatAttr factor;
    Value other =
        multiply.getLhs() == current ? multiply.getRhs() : multiply.getLhs();
    if ((multiply.getLhs() != current && multiply.getRhs() != current) ||
        !multiply.getType().isF32() ||
        !matchPattern(other, m_Constant(&factor)))
      return false;
    current = multiply;
    return addTransform(
        EpilogueTransform::scale(factor.getValue().convertToFloat()));
  }
  // x <= 0 ? 0 : x
  if (isa<arith::CmpFOp>(inner))
    return true;
  if (auto select = dyn_cast<arith::SelectOp>(inner)) {
    auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
    if (!compare || compare.getPredicate() != arith::CmpFPredicate::OLE ||
        compare.getLhs() != current || select.getFalseValue() != current ||
        !matchPattern(compare.getRhs(), m_AnyZeroFloat()) ||
        !matchPattern(select.getTrueValue(), m_PosZeroFloat()))
      return false;
    current = select;
    return addTransform(EpilogueTransform(EpilogueTransform::Kind::Relu));
  }
  return isa<arith::ConstantOp>(inner);
}

EpilogueReading BodyReader::read() {
  for (Operation &inner : op.getBlock()->without_terminator())
    if (!readOp(&inner))
      return EpilogueReading::fail(kNoRoutine);
  if (op.getBlock()->getTerminator()->getOperand(0) != current)
    return EpilogueReading::fail(kNoRoutine);
  return std::move(reading);
}

EpilogueReading library::readEpilogue(Operation *op, Value chain) {
  if (auto node = dyn_cast<NodeOp>(op))
    return readNodeEpilogue(node, chain);
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp || op->getNumResults() != 1 || linalgOp.getNumDpsInits() != 1 ||
      linalgOp.getNumParallelLoops() != linalgOp.getNumLoops() ||
      !llvm::all_of(op->getOperands(), hasStaticShape))
    return EpilogueReading::fail(kNoRoutine);
  SmallVector<AffineMap> maps = linalgOp.getIndexingMapsArray();
  std::optional<unsigned> position;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    if (op->getOperand(i) == chain) {
      if (position)
        return EpilogueReading::fail(kNoRoutine);
      position = i;
    }
  if (!position || *position >= linalgOp.getNumDpsInputs() ||
      !maps[*position].isIdentity() || !maps.back().isIdentity())
    return EpilogueReading::fail(kNoRoutine);
  return BodyReader(linalgOp, *position).read();
}
