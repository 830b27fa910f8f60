//===- RandomEval.cpp - Steps for random bits -----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compiler.h"
#include "Philox.h"

#include "regather/Dialect/TG/IR/TG.h"

using namespace mlir;
using namespace regather;
using namespace regather::interp;

namespace {
/// The words of one operation, in order, as one endless sequence.
class WordSequence {
public:
  WordSequence(uint64_t seed, uint64_t offset, uint64_t stream)
      : key{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)},
        stream(static_cast<uint32_t>(stream)),
        offset(static_cast<uint32_t>(offset)) {}

  uint64_t get(uint64_t block, unsigned word) {
    if (!hasBlock || block != number) {
      words = philox({static_cast<uint32_t>(block),
                      static_cast<uint32_t>(block >> 32), stream, offset},
                     key);
      number = block;
      hasBlock = true;
    }
    return words[word];
  }

private:
  PhiloxKey key;
  uint32_t stream, offset;
  /// The block that was asked for last.
  PhiloxBlock words = {};
  uint64_t number = 0;
  bool hasBlock = false;
};
} // namespace

static void fill(Tensor &tensor, uint64_t first, WordSequence &sequence) {
  bool isLong = tensor.getType().width == 64;
  for (int64_t i = 0, e = tensor.getNumElements(); i < e; ++i) {
    uint64_t number = first + static_cast<uint64_t>(i);
    if (isLong) {
      unsigned word = number % 2 * 2;
      uint64_t lower = sequence.get(number / 2, word);
      tensor.store(i, lower | sequence.get(number / 2, word + 1) << 32);
    } else {
      tensor.store(i, sequence.get(number / 4, number % 4));
    }
  }
}

StepFunction regather::interp::buildRandomStep(Operation *op,
                                               Compiler &compiler) {
  auto random = dyn_cast<tg::RandomOp>(op);
  if (!random)
    return nullptr;
  std::optional<unsigned> first;
  if (random.getFirst())
    first = compiler.getSlot(random.getFirst());
  return [first, type = cast<RankedTensorType>(random.getType()),
          seed = compiler.getSlot(random.getSeed()),
          offset = compiler.getSlot(random.getOffset()),
          stream = random.getStream(),
          slot = compiler.getSlot(random)](RankRun &, Frame &frame) {
    TensorRef result = Tensor::create(type);
    WordSequence sequence(frame.values[seed].tensor->load(0),
                          frame.values[offset].tensor->load(0), stream);
    fill(*result, first ? frame.values[*first].bits : 0, sequence);
    frame.values[slot].tensor = std::move(result);
    return success();
  };
}
