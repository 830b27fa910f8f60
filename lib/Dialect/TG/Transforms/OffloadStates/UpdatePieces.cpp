//===- UpdatePieces.cpp - Updates with states on the host -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A piece is a range of elements in row-major order. With tensors of one
// dimension,
//
//   p', m' = update(p, m, g)
//
// becomes, for each range r,
//
//   m_r = wait(fetch(m[r]))
//   p'_r, m'_r = update(p[r], m_r, g[r])
//   h_r = wait(offload(m'_r))
//
// and p' = flatten(p'_r...), m' = flatten(h_r...), the one on the device, the
// other on the host. Tensors of more dimensions are reshaped before and behind.
//
//===----------------------------------------------------------------------===//

#include "UpdatePieces.h"

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::states;
using B = ImplicitLocOpBuilder;

/// Pieces begin at multiples of so many elements, which is more than any kernel
/// asks of the place of an operand.
static constexpr int64_t kPieceElements = 256;

//===----------------------------------------------------------------------===//
// What can be cut
//===----------------------------------------------------------------------===//

static RankedTensorType getTensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// True for an update of each element by itself, from the elements of other
/// tensors at the same place and from scalars.
static bool isElementwise(linalg::GenericOp op) {
  auto shape = getTensorType(op.getResult(0)).getShape();
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    bool isWhole = type && map.isIdentity() && type.getShape() == shape;
    bool isScalar = type && map.getNumResults() == 0 && type.getRank() == 0;
    if (!isWhole && (!isScalar || op.isDpsInit(&operand)))
      return false;
  }
  // Positions are known along one dimension only, once the others are gone.
  bool hasPositions =
      op.getRegion()
          .walk([](linalg::IndexOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  return op.getNumParallelLoops() == op.getNumLoops() &&
         (shape.size() == 1 || !hasPositions);
}

int64_t states::countPieces(const StateUpdate &update, int64_t pieceBytes) {
  auto op = dyn_cast<linalg::GenericOp>(update.op);
  if (!op || !isElementwise(op))
    return 1;
  int64_t most = 0;
  for (const State &state : update.states)
    most = std::max(most, state.bytes);
  // Each argument is read by its own update.
  for (const State &state : update.states)
    if (llvm::any_of(state.argument.getUsers(),
                     [&](Operation *user) { return user != update.op; }))
      return 1;
  int64_t count = getTensorType(op.getResult(0)).getNumElements();
  int64_t pieces = llvm::divideCeil(most, std::max<int64_t>(pieceBytes, 1));
  return std::clamp<int64_t>(pieces, 1,
                             llvm::divideCeil(count, kPieceElements));
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// The operations that a copy of an update belongs to.
static void markLike(Operation *op, Operation *update) {
  op->setAttr(kPhaseAttrName,
              PhaseAttr::get(op->getContext(), Phase::Optimizer));
  for (StringRef name : {StringRef(kModuleAttrName), StringRef(kIdAttrName)})
    if (Attribute value = update->getAttr(name))
      op->setAttr(name, value);
}

/// Starts a copy and waits for it at once.
template <typename CopyOp>
static ResultRange copyTo(B &b, ArrayRef<Value> values, Operation *update) {
  SmallVector<Type> types;
  for (Value value : values)
    types.push_back(std::is_same_v<CopyOp, OffloadOp>
                        ? getHostType(getTensorType(value))
                        : getDeviceType(getTensorType(value)));
  auto copy = CopyOp::create(b, FutureType::get(b.getContext(), types), values);
  markLike(copy, update);
  return WaitOp::create(b, copy.getFuture()).getTensors();
}

/// The update as it is, between two copies.
static void moveWhole(const StateUpdate &update) {
  Operation *first = update.op;
  for (const State &state : update.states)
    for (Operation *user : state.argument.getUsers())
      if (user->isBeforeInBlock(first))
        first = user;
  B b(update.op->getLoc(), first);
  SmallVector<Value> old, updated;
  for (const State &state : update.states) {
    old.push_back(state.argument);
    updated.push_back(state.update);
  }
  ResultRange fetched = copyTo<FetchOp>(b, old, update.op);
  for (auto [argument, copy] : llvm::zip_equal(old, fetched))
    argument.replaceUsesWithIf(
        copy, [](OpOperand &use) { return !isa<FetchOp>(use.getOwner()); });
  b.setInsertionPointAfter(update.op);
  ResultRange away = copyTo<OffloadOp>(b, updated, update.op);
  Operation *terminator = update.op->getBlock()->getTerminator();
  for (auto [state, host] : llvm::zip_equal(update.states, away))
    terminator->setOperand(state.result, host);
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

namespace {
/// Cuts one update.
class PieceCutter {
public:
  PieceCutter(const StateUpdate &update, int64_t numPieces);

  void run();

private:
  RankedTensorType getPieceType(Value value, size_t piece) const;
  void cut(Value value);
  void addPiece(size_t piece);
  linalg::GenericOp clonePiece(size_t piece, ArrayRef<Value> operands);
  Value join(ArrayRef<Value> pieces, RankedTensorType type);

  const StateUpdate &update;
  linalg::GenericOp op;
  B b;
  /// In elements.
  SmallVector<int64_t> offsets, sizes;
  llvm::DenseMap<Value, SmallVector<Value>> parts;
  /// By result, its pieces; those of states on the host.
  SmallVector<SmallVector<Value>> results;
  llvm::DenseMap<unsigned, const State *> stateOfResult;
};
} // namespace

PieceCutter::PieceCutter(const StateUpdate &update, int64_t numPieces)
    : update(update), op(cast<linalg::GenericOp>(update.op)),
      b(op.getLoc(), op), results(op->getNumResults()) {
  int64_t count = getTensorType(op.getResult(0)).getNumElements();
  int64_t size = llvm::alignTo(llvm::divideCeil(count, numPieces),
                               uint64_t(kPieceElements));
  for (int64_t begin = 0; begin < count; begin += size) {
    offsets.push_back(begin);
    sizes.push_back(std::min(size, count - begin));
  }
  for (const State &state : update.states)
    stateOfResult[state.update.getResultNumber()] = &state;
}

RankedTensorType PieceCutter::getPieceType(Value value, size_t piece) const {
  auto type = getTensorType(value);
  return RankedTensorType::get({sizes[piece]}, type.getElementType(),
                               type.getEncoding());
}

/// All dimensions as one, or one as all.
static SmallVector<ReassociationIndices> getOneGroup(int64_t rank) {
  SmallVector<ReassociationIndices> groups;
  if (rank > 0)
    groups.push_back(llvm::to_vector(llvm::seq<int64_t>(0, rank)));
  return groups;
}

/// Makes the parts of an operand. On the host, shapes do not matter.
void PieceCutter::cut(Value value) {
  SmallVector<Value> &pieces = parts[value];
  auto type = getTensorType(value);
  if (!pieces.empty() || type.getRank() == 0)
    return;
  if (value.getDefiningOp<tensor::EmptyOp>()) {
    for (int64_t size : sizes)
      pieces.push_back(
          tensor::EmptyOp::create(b, {size}, type.getElementType()));
    return;
  }
  Value flat = value;
  if (type.getRank() != 1 && !isOnHost(type)) {
    auto reshape = tensor::CollapseShapeOp::create(
        b,
        RankedTensorType::get({type.getNumElements()}, type.getElementType()),
        value, getOneGroup(type.getRank()));
    markLike(reshape, op);
    flat = reshape;
  }
  SmallVector<Type> types;
  for (size_t piece = 0; piece < offsets.size(); ++piece)
    types.push_back(getPieceType(value, piece));
  auto unflatten = UnflattenOp::create(b, types, flat, offsets);
  markLike(unflatten, op);
  pieces.assign(unflatten.result_begin(), unflatten.result_end());
}

/// The update on operands that are pieces, or scalars.
linalg::GenericOp PieceCutter::clonePiece(size_t piece,
                                          ArrayRef<Value> operands) {
  SmallVector<AffineMap> maps;
  for (Value operand : operands)
    maps.push_back(getTensorType(operand).getRank() == 0
                       ? AffineMap::get(1, 0, b.getContext())
                       : b.getMultiDimIdentityMap(1));
  ArrayRef<Value> inputs = operands.take_front(op.getNumDpsInputs());
  ArrayRef<Value> outputs = operands.drop_front(op.getNumDpsInputs());
  auto clone = linalg::GenericOp::create(
      b, ValueRange(outputs).getTypes(), inputs, outputs, maps,
      ArrayRef(utils::IteratorType::parallel));
  clone->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  IRMapping map;
  op.getRegion().cloneInto(&clone.getRegion(), map);
  // Positions are those in the whole.
  SmallVector<linalg::IndexOp> positions;
  clone.getRegion().walk(
      [&](linalg::IndexOp position) { positions.push_back(position); });
  for (linalg::IndexOp position : positions) {
    B inner(position.getLoc(), b.getContext());
    inner.setInsertionPointAfter(position);
    Value begin = arith::ConstantIndexOp::create(inner, offsets[piece]);
    auto whole = arith::AddIOp::create(inner, position.getResult(), begin);
    position.getResult().replaceAllUsesExcept(whole, whole);
  }
  return clone;
}

void PieceCutter::addPiece(size_t piece) {
  SmallVector<Value> old;
  for (const State &state : update.states)
    old.push_back(parts[state.argument][piece]);
  IRMapping fetched;
  fetched.map(ValueRange(old), copyTo<FetchOp>(b, old, op));
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(getTensorType(operand).getRank() == 0
                           ? operand
                           : fetched.lookupOrDefault(parts[operand][piece]));
  linalg::GenericOp clone = clonePiece(piece, operands);
  SmallVector<Value> updated;
  for (const State &state : update.states)
    updated.push_back(clone.getResult(state.update.getResultNumber()));
  ResultRange away = copyTo<OffloadOp>(b, updated, op);
  for (OpResult result : clone->getResults())
    if (!stateOfResult.contains(result.getResultNumber()))
      results[result.getResultNumber()].push_back(result);
  for (auto [state, host] : llvm::zip_equal(update.states, away))
    results[state.update.getResultNumber()].push_back(host);
}

/// Puts pieces together, where they lie.
Value PieceCutter::join(ArrayRef<Value> pieces, RankedTensorType type) {
  bool isFlat = type.getRank() == 1 || isOnHost(type);
  auto flatType = isFlat ? type
                         : RankedTensorType::get({type.getNumElements()},
                                                 type.getElementType());
  auto flatten = FlattenOp::create(b, flatType, pieces, offsets);
  markLike(flatten, op);
  if (isFlat)
    return flatten;
  auto reshape = tensor::ExpandShapeOp::create(b, type, flatten.getFlat(),
                                               getOneGroup(type.getRank()));
  markLike(reshape, op);
  return reshape;
}

void PieceCutter::run() {
  for (Value operand : op->getOperands())
    cut(operand);
  for (size_t piece = 0; piece < offsets.size(); ++piece)
    addPiece(piece);
  Operation *terminator = op->getBlock()->getTerminator();
  for (OpResult result : op->getResults()) {
    ArrayRef<Value> pieces = results[result.getResultNumber()];
    const State *state = stateOfResult.lookup(result.getResultNumber());
    auto type = getTensorType(result);
    Value whole = join(pieces, state ? getHostType(type) : type);
    if (state)
      terminator->setOperand(state->result, whole);
    else
      result.replaceAllUsesWith(whole);
  }
  op->erase();
}

void states::moveToHost(const StateUpdate &update, int64_t numPieces) {
  for (const State &state : update.states) {
    BlockArgument argument = state.argument;
    argument.setType(getHostType(getTensorType(argument)));
  }
  if (numPieces > 1)
    PieceCutter(update, numPieces).run();
  else
    moveWhole(update);
}
