//===- TGRandomToLinalg.cpp - Random bits as integer arithmetic -----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One element of type i32, with number e, seed s, stream t and offset o:
//
//   (c0, c1, c2, c3) = (lower(e / 4), upper(e / 4), t, lower(o))
//   (k0, k1) = (lower(s), upper(s))
//   ten times:
//     (c0, c1, c2, c3) = (upper(M1 * c2) ^ c1 ^ k0, lower(M1 * c2),
//                         upper(M0 * c0) ^ c3 ^ k1, lower(M0 * c0))
//     (k0, k1) = (k0 + W0, k1 + W1)
//   result = c[e mod 4]
//
// Source: Salmon, Moraes, Dror and Shaw, Parallel Random Numbers: As Easy as
// 1, 2, 3, SC 2011.
//
//===----------------------------------------------------------------------===//

#include "regather/Conversion/Passes.h"
#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <array>

namespace regather {
#define GEN_PASS_DEF_CONVERTTGRANDOMTOLINALGPASS
#include "regather/Conversion/Passes.h.inc"
} // namespace regather

#define DEBUG_TYPE "convert-tg-random-to-linalg"

using namespace mlir;
using namespace regather;
using B = ImplicitLocOpBuilder;

static constexpr unsigned kRounds = 10;
static constexpr uint32_t kMultipliers[] = {0xD2511F53, 0xCD9E8D57};
static constexpr uint32_t kKeyIncrements[] = {0x9E3779B9, 0xBB67AE85};

/// The four words of a counter or a block.
using Words = std::array<Value, 4>;

static Value makeWord(B &b, uint32_t value) {
  return arith::ConstantOp::create(
      b, b.getIntegerAttr(b.getI32Type(), APInt(32, value)));
}

static Value makeLong(B &b, int64_t value) {
  return arith::ConstantOp::create(b, b.getI64IntegerAttr(value));
}

static Value getLower(B &b, Value value) {
  return arith::TruncIOp::create(b, b.getI32Type(), value);
}

static Value getUpper(B &b, Value value) {
  return getLower(b, arith::ShRUIOp::create(b, value, makeLong(b, 32)));
}

/// The block that belongs to a counter under the 64-bit key `seed`.
static Words emitPhilox(B &b, Words counter, Value seed) {
  Value key[] = {getLower(b, seed), getUpper(b, seed)};
  auto multiply = [&](unsigned i) {
    return arith::MulUIExtendedOp::create(b, makeWord(b, kMultipliers[i]),
                                          counter[2 * i]);
  };
  auto mix = [&](Value product, Value word, Value key) -> Value {
    return arith::XOrIOp::create(b, arith::XOrIOp::create(b, product, word),
                                 key);
  };
  for (unsigned round = 0; round != kRounds; ++round) {
    auto first = multiply(0), second = multiply(1);
    counter = {mix(second.getHigh(), counter[1], key[0]), second.getLow(),
               mix(first.getHigh(), counter[3], key[1]), first.getLow()};
    if (round + 1 == kRounds)
      break;
    for (unsigned i : {0, 1})
      key[i] = arith::AddIOp::create(b, key[i], makeWord(b, kKeyIncrements[i]));
  }
  return counter;
}

/// The row-major number of the element that the loops are at, as an i64.
static Value emitElementNumber(B &b, ArrayRef<int64_t> shape, Value first) {
  Value number;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    Value index = linalg::IndexOp::create(b, dim);
    if (number) {
      Value rows = arith::MulIOp::create(
          b, number, arith::ConstantIndexOp::create(b, size));
      index = arith::AddIOp::create(b, rows, index);
    }
    number = index;
  }
  if (!number)
    number = arith::ConstantIndexOp::create(b, 0);
  if (first)
    number = arith::AddIOp::create(b, first, number);
  return arith::IndexCastOp::create(b, b.getI64Type(), number);
}

/// Element `number` of type `element`, of the block that it lies in.
static Value emitChoice(B &b, const Words &block, Value number, Type element) {
  auto hasBit = [&](int64_t bit) -> Value {
    Value masked = arith::AndIOp::create(b, number, makeLong(b, bit));
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, masked,
                                 makeLong(b, 0));
  };
  auto select = [&](Value condition, Value yes, Value no) -> Value {
    return arith::SelectOp::create(b, condition, yes, no);
  };
  Value isOdd = hasBit(1);
  if (element.isInteger(32)) {
    Value isInUpperHalf = hasBit(2);
    Value lower = select(isOdd, block[1], block[0]);
    Value upper = select(isOdd, block[3], block[2]);
    return select(isInUpperHalf, upper, lower);
  }
  Value lower = select(isOdd, block[2], block[0]);
  Value upper = select(isOdd, block[3], block[1]);
  lower = arith::ExtUIOp::create(b, element, lower);
  upper = arith::ExtUIOp::create(b, element, upper);
  upper = arith::ShLIOp::create(b, upper, makeLong(b, 32));
  return arith::OrIOp::create(b, lower, upper);
}

static Value emitElement(B &b, tg::RandomOp op, Value seed, Value offset,
                         Value first) {
  RankedTensorType type = cast<RankedTensorType>(op.getType());
  Type element = type.getElementType();
  Value number = emitElementNumber(b, type.getShape(), first);
  int64_t log2OfElementsInBlock = element.isInteger(32) ? 2 : 1;
  Value block =
      arith::ShRUIOp::create(b, number, makeLong(b, log2OfElementsInBlock));
  Words counter = {getLower(b, block), getUpper(b, block),
                   makeWord(b, static_cast<uint32_t>(op.getStream())),
                   getLower(b, offset)};
  return emitChoice(b, emitPhilox(b, counter, seed), number, element);
}

static void convert(tg::RandomOp op) {
  B b(op.getLoc(), op);
  auto type = cast<RankedTensorType>(op.getType());
  SmallVector<Value> inputs(op->getOperands());
  AffineMap single = AffineMap::get(type.getRank(), 0, b.getContext());
  SmallVector<AffineMap> maps(inputs.size(), single);
  maps.push_back(b.getMultiDimIdentityMap(type.getRank()));
  Value empty =
      tensor::EmptyOp::create(b, type.getShape(), type.getElementType());
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      b, type, inputs, empty, maps, loops,
      [&](OpBuilder &builder, Location loc, ValueRange values) {
        B inner(loc, builder);
        Value first = op.getFirst() ? values[2] : Value();
        linalg::YieldOp::create(
            inner, emitElement(inner, op, values[0], values[1], first));
      });
  for (NamedAttribute named : op->getDiscardableAttrs())
    generic->setDiscardableAttr(named.getName(), named.getValue());
  op.replaceAllUsesWith(generic.getResult(0));
  op.erase();
}

namespace {
struct ConvertTGRandomToLinalgPass
    : regather::impl::ConvertTGRandomToLinalgPassBase<
          ConvertTGRandomToLinalgPass> {
  using ConvertTGRandomToLinalgPassBase::ConvertTGRandomToLinalgPassBase;

  void runOnOperation() override {
    getOperation().walk([&](tg::RandomOp op) {
      convert(op);
      ++numConverted;
    });
  }
};
} // namespace
