//===- LinalgEval.cpp - Steps for structured operations -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A structured op is its indexing maps and its body: the loops run in row-major
// order, so that a reduction accumulates in the order of its loops.
//
//===----------------------------------------------------------------------===//

#include "ElementBody.h"

#include "regather/Dialect/TG/Kernels/LaneReduction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

using namespace mlir;
using namespace regather::interp;

//===----------------------------------------------------------------------===//
// Indexing maps
//===----------------------------------------------------------------------===//

/// Value of an indexing expression at a point of the loops.
static int64_t evaluate(AffineExpr expr, ArrayRef<int64_t> point) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return point[dim.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t lhs = evaluate(binary.getLHS(), point);
  int64_t rhs = evaluate(binary.getRHS(), point);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return lhs + rhs;
  case AffineExprKind::Mul:
    return lhs * rhs;
  case AffineExprKind::Mod:
    return lhs - llvm::divideFloorSigned(lhs, rhs) * rhs;
  case AffineExprKind::FloorDiv:
    return llvm::divideFloorSigned(lhs, rhs);
  default:
    return llvm::divideCeilSigned(lhs, rhs);
  }
}

/// Adds `factor` times the coefficients of a linear `expr`; the last entry is
/// the constant. False if `expr` is not linear.
static bool addLinear(AffineExpr expr, int64_t factor,
                      MutableArrayRef<int64_t> coefficients) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    coefficients.back() += factor * constant.getValue();
    return true;
  }
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    coefficients[dim.getPosition()] += factor;
    return true;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  if (expr.getKind() == AffineExprKind::Add)
    return addLinear(binary.getLHS(), factor, coefficients) &&
           addLinear(binary.getRHS(), factor, coefficients);
  auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (expr.getKind() == AffineExprKind::Mul && constant)
    return addLinear(binary.getLHS(), factor * constant.getValue(),
                     coefficients);
  return false;
}

namespace {
/// The sum of one innermost loop, in the order of `LaneReduction.h`.
class LaneSum {
public:
  LaneSum(unsigned loop, int64_t size, bool isDouble)
      : loop(loop), size(size), isDouble(isDouble) {}

  /// Where the term of this point is added.
  uint64_t &getLane(ArrayRef<int64_t> point) {
    return lanes[point[loop] % regather::tg::kReductionLanes];
  }
  bool isLast(ArrayRef<int64_t> point) const { return point[loop] == size - 1; }
  /// Adds all lanes to what was there, and starts anew.
  uint64_t finish(uint64_t initial) {
    for (int64_t w = regather::tg::kReductionLanes / 2; w != 0; w /= 2)
      for (int64_t lane = 0; lane != w; ++lane)
        lanes[lane] = add(lanes[lane], lanes[lane + w]);
    uint64_t total = add(initial, lanes[0]);
    std::fill(std::begin(lanes), std::end(lanes), 0);
    return total;
  }

private:
  uint64_t add(uint64_t a, uint64_t b) const {
    return isDouble ? fromDouble(asDouble(a) + asDouble(b))
                    : fromFloat(asFloat(a) + asFloat(b));
  }

  unsigned loop;
  int64_t size;
  bool isDouble;
  uint64_t lanes[regather::tg::kReductionLanes] = {};
};
} // namespace

namespace {
/// How one operand is read or written at each point of the loops.
struct Access {
  unsigned slot = 0;
  /// Scalars are the same everywhere.
  bool isTensor = false;
  AffineMap map;
  SmallVector<int64_t> shape;
  /// Linear maps: distance in elements from one iteration of a loop to the
  /// next, and the offset of the first point.
  bool linear = false;
  SmallVector<int64_t> strides;
  int64_t start = 0;

  FailureOr<int64_t> getOffset(ArrayRef<int64_t> point, Operation *op,
                               RankRun &rank) const {
    int64_t offset = 0;
    for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
      int64_t index = evaluate(expr, point);
      if (index < 0 || index >= shape[dim])
        return rank.fail(op, "index " + Twine(index) +
                                 " is out of bounds for dimension " +
                                 Twine(dim) + " of size " + Twine(shape[dim]));
      offset = offset * shape[dim] + index;
    }
    return offset;
  }
};

struct StructuredStep {
  Operation *op;
  SmallVector<int64_t> loops;
  std::shared_ptr<ElementBody> body;
  SmallVector<Access> accesses;
  /// The last operands are outputs, which are written where they are read.
  SmallVector<Use> inits;
  SmallVector<unsigned> results;
  /// Body arguments; fewer than operands if the body does not see the outputs.
  unsigned numArguments;
  /// Set if the terms of the only output are added in lanes.
  std::optional<LaneSum> lanes;

  LogicalResult run(RankRun &rank, Frame &frame) const;

private:
  LogicalResult runLoops(RankRun &rank, Frame &frame,
                         ArrayRef<Tensor *> tensors) const;
};
} // namespace

/// Compiles the access to `operand`; notes an access out of bounds.
static Access compileAccess(OpOperand &operand, AffineMap map,
                            ArrayRef<int64_t> loops, Compiler &compiler) {
  Access access;
  access.slot = compiler.getSlot(operand.get());
  auto type = dyn_cast<RankedTensorType>(operand.get().getType());
  if (!type)
    return access;
  access.isTensor = true;
  access.map = map;
  access.shape.assign(type.getShape().begin(), type.getShape().end());
  access.strides.assign(loops.size(), 0);
  access.linear = true;
  SmallVector<int64_t, 4> distance = getStrides(type.getShape());
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    SmallVector<int64_t> coefficients(loops.size() + 1, 0);
    if (!addLinear(expr, 1, coefficients)) {
      access.linear = false;
      return access;
    }
    int64_t low = coefficients.back(), high = low;
    for (auto [loop, size] : llvm::enumerate(loops)) {
      access.strides[loop] += coefficients[loop] * distance[dim];
      (coefficients[loop] < 0 ? low : high) += coefficients[loop] * (size - 1);
    }
    access.start += coefficients.back() * distance[dim];
    if (!llvm::is_contained(loops, 0) &&
        (low < 0 || high >= type.getDimSize(dim)))
      compiler.noteError(operand.getOwner(),
                         "operand " + Twine(operand.getOperandNumber()) +
                             " is accessed from " + Twine(low) + " to " +
                             Twine(high) + " along dimension " + Twine(dim) +
                             " of size " + Twine(type.getDimSize(dim)));
  }
  return access;
}

LogicalResult StructuredStep::run(RankRun &rank, Frame &frame) const {
  unsigned numInputs = accesses.size() - inits.size();
  // Inputs are held, so that an output that shares their data is copied.
  SmallVector<TensorRef> held;
  SmallVector<Tensor *> tensors(accesses.size(), nullptr);
  for (unsigned i = 0; i < numInputs; ++i) {
    held.push_back(frame.values[accesses[i].slot].tensor);
    tensors[i] = held.back().get();
  }
  SmallVector<TensorRef> outputs;
  for (auto [i, init] : llvm::enumerate(inits)) {
    outputs.push_back(Tensor::makeUnique(take(frame, init).tensor));
    tensors[numInputs + i] = outputs.back().get();
  }
  if (!llvm::is_contained(loops, 0) && failed(runLoops(rank, frame, tensors)))
    return failure();
  for (auto [slot, output] : llvm::zip_equal(results, outputs))
    frame.values[slot].tensor = std::move(output);
  return success();
}

LogicalResult StructuredStep::runLoops(RankRun &rank, Frame &frame,
                                       ArrayRef<Tensor *> tensors) const {
  unsigned numOperands = accesses.size();
  unsigned numInputs = numOperands - inits.size();
  ElementBody::Instance instance(*body, rank, frame);
  uint64_t *arguments = instance.getArguments();
  uint64_t *indices = instance.getIndices();
  SmallVector<int64_t> point(loops.size(), 0);
  SmallVector<int64_t> offsets;
  std::optional<LaneSum> sum = lanes;
  for (auto [i, access] : llvm::enumerate(accesses)) {
    offsets.push_back(access.start);
    if (!access.isTensor && i < numArguments)
      arguments[i] = frame.values[access.slot].bits;
  }
  while (true) {
    for (unsigned i = 0; i < numOperands; ++i) {
      const Access &access = accesses[i];
      if (!access.isTensor)
        continue;
      if (!access.linear) {
        FailureOr<int64_t> offset = access.getOffset(point, op, rank);
        if (failed(offset))
          return failure();
        offsets[i] = *offset;
      }
      if (i < numArguments)
        arguments[i] = tensors[i]->load(offsets[i]);
    }
    std::copy(point.begin(), point.end(), indices);
    if (sum)
      arguments[numInputs] = sum->getLane(point);
    if (failed(instance.run()))
      return failure();
    if (sum) {
      sum->getLane(point) = instance.getResult(0);
      Tensor &output = *tensors[numInputs];
      if (sum->isLast(point))
        output.store(offsets[numInputs],
                     sum->finish(output.load(offsets[numInputs])));
    } else {
      for (unsigned i = numInputs; i < numOperands; ++i)
        tensors[i]->store(offsets[i], instance.getResult(i - numInputs));
    }

    // The next point, and the offsets with it.
    size_t loop = loops.size();
    while (loop-- > 0) {
      bool more = ++point[loop] < loops[loop];
      if (!more)
        point[loop] = 0;
      int64_t steps = more ? 1 : 1 - loops[loop];
      for (unsigned i = 0; i < numOperands; ++i)
        if (accesses[i].linear)
          offsets[i] += steps * accesses[i].strides[loop];
      if (more)
        break;
    }
    if (loop == static_cast<size_t>(-1))
      return success();
  }
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// exp(x - max) / sum along one dimension; every operation is rounded to the
/// element type, as in the decomposition of the op.
static void softmax(const Tensor &input, Tensor &output, int64_t dim) {
  ScalarType type = input.getType();
  int64_t size = input.getDim(dim), inner = getStrides(input.getShape())[dim];
  auto round = [&](double value) {
    return loadAsDouble(type, roundFromDouble(type, value));
  };
  for (int64_t line = 0; line < input.getNumElements() / size; ++line) {
    int64_t start = line / inner * inner * size + line % inner;
    auto load = [&](const Tensor &tensor, int64_t i) {
      return loadAsDouble(type, tensor.load(start + i * inner));
    };
    double largest = load(input, 0), sum = 0;
    for (int64_t i = 1; i < size; ++i)
      if (double value = load(input, i); !(value <= largest))
        largest = std::isnan(largest) ? largest : value;
    for (int64_t i = 0; i < size; ++i) {
      double value = round(std::exp(round(load(input, i) - largest)));
      output.store(start + i * inner, roundFromDouble(type, value));
      sum = round(sum + value);
    }
    for (int64_t i = 0; i < size; ++i)
      output.store(start + i * inner,
                   roundFromDouble(type, load(output, i) / sum));
  }
}

static StepFunction buildSoftmax(linalg::SoftmaxOp op, Compiler &compiler) {
  auto type = dyn_cast<RankedTensorType>(op.getInput().getType());
  if (!type || op->getNumResults() != 1 ||
      !isa<FloatType>(type.getElementType()))
    return nullptr;
  return [type, dim = static_cast<int64_t>(op.getDimension()),
          input = compiler.getSlot(op.getInput()),
          slot = compiler.getSlot(op->getResult(0))](RankRun &, Frame &frame) {
    TensorRef result = Tensor::create(type);
    if (result->getNumElements() != 0)
      softmax(*frame.values[input].tensor, *result, dim);
    frame.values[slot].tensor = std::move(result);
    return success();
  };
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

static StepFunction buildIndex(linalg::IndexOp op, Compiler &compiler) {
  auto loops = op->getParentOfType<linalg::LinalgOp>();
  unsigned from = compiler.loopIndexSlots.lookup(loops) + op.getDim();
  return [from, slot = compiler.getSlot(op)](RankRun &, Frame &frame) {
    frame.values[slot].bits = frame.values[from].bits;
    return success();
  };
}

StepFunction regather::interp::buildLinalgStep(Operation *op,
                                               Compiler &compiler) {
  if (auto index = dyn_cast<linalg::IndexOp>(op))
    return buildIndex(index, compiler);
  if (auto softmaxOp = dyn_cast<linalg::SoftmaxOp>(op))
    return buildSoftmax(softmaxOp, compiler);
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  if (!structured || op->getNumRegions() != 1 ||
      !op->getRegion(0).hasOneBlock())
    return nullptr;
  Block &block = op->getRegion(0).front();
  auto step = std::make_shared<StructuredStep>();
  step->op = op;
  step->loops = structured.getStaticLoopRanges();
  step->body =
      std::make_shared<ElementBody>(block, step->loops.size(), compiler);
  step->numArguments = block.getNumArguments();
  if (auto lanes = regather::tg::matchLaneReduction(structured);
      lanes && isa<arith::AddFOp>(lanes->combiner))
    step->lanes.emplace(lanes->loop, step->loops[lanes->loop],
                        lanes->combiner->getResult(0).getType().isF64());
  for (auto [operand, map] : llvm::zip_equal(
           op->getOpOperands(), structured.getIndexingMapsArray())) {
    if (map.getNumSymbols() != 0)
      return nullptr;
    step->accesses.push_back(
        compileAccess(operand, map, step->loops, compiler));
  }
  for (OpOperand &init : structured.getDpsInitsMutable())
    step->inits.push_back(compiler.getUse(init));
  step->results = compiler.getSlots(op->getResults());
  return [step](RankRun &rank, Frame &frame) { return step->run(rank, frame); };
}
