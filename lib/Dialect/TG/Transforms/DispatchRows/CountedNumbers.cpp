//===- CountedNumbers.cpp - Numbers that no data decides ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CountedNumbers.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

Value CountedNumbers::make(llvm::function_ref<Value()> build) {
  Communication::Place place = communication.getPlace();
  communication.setPlace(last ? last : &block.front(), Phase::Forward,
                         StringAttr(), /*after=*/last != nullptr);
  Value made = build();
  last = made.getDefiningOp();
  communication.setPlace(place);
  return made;
}

Value CountedNumbers::get(int64_t first, int64_t step, int64_t count) {
  Value &known = numbers[{first, step, count}];
  if (!known)
    known = make([&] { return nodes.countFrom(first, step, count); });
  return known;
}

Value CountedNumbers::getRepeated(int64_t chunks, int64_t by, int64_t first,
                                  int64_t step, int64_t count) {
  if (chunks == 1)
    return get(first, step, count);
  Value &known = repeated[{chunks, by, first, step, count}];
  if (known)
    return known;
  Value ofChunk = get(0, by, chunks), ofEach = get(first, step, count);
  return known = make([&] {
           Value added = nodes.makeBinary(NodeTarget::AtenAddTensor,
                                          nodes.reshape(ofChunk, {chunks, 1}),
                                          nodes.reshape(ofEach, {1, count}));
           return nodes.reshape(added, {chunks * count});
         });
}
