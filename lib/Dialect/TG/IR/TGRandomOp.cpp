//===- TGRandomOp.cpp - What random bits cost -----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/IR/TG.h"

using namespace mlir;
using namespace regather::tg;

/// Ten rounds of two products, four exclusive-ors and two sums give 16 bytes.
static constexpr double kFlopsPerByte = 10 * 8 / 16.0;

double RandomOp::getFlops() {
  return kFlopsPerByte * static_cast<double>(getWrittenBytes());
}

/// The seed and the offset.
int64_t RandomOp::getReadBytes() { return 2 * sizeof(int64_t); }

int64_t RandomOp::getWrittenBytes() {
  return getTensorBytes(cast<RankedTensorType>(getType()));
}

bool RandomOp::isView() { return false; }
