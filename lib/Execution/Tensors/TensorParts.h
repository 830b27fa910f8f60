//===- TensorParts.h - What one rank holds of a tensor ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_EXECUTION_TENSORS_TENSORPARTS_H
#define REGATHER_LIB_EXECUTION_TENSORS_TENSORPARTS_H

#include "regather/Execution/Tensors/StepSignature.h"

#include <algorithm>
#include <functional>

namespace regather {

/// Where the part of one rank lies in the global tensor.
struct TensorPart {
  Shape offsets;
  /// Sizes without padding; zero if the part is padding only.
  Shape sizes;
  bool isEmpty() const {
    return std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
  }
};

TensorPart getPart(const StepValue &value, const StepSignature &step,
                   int64_t rank);

/// Calls `visit(globalOffset, localOffset, bytes)` for every contiguous row of
/// the part, in order.
void forEachRow(const StepValue &value, const TensorPart &part,
                const std::function<void(int64_t, int64_t, int64_t)> &visit);

/// The partial axes of a value; null if it has none.
const AxisPlacement *getPartial(const StepValue &value);

} // namespace regather

#endif // REGATHER_LIB_EXECUTION_TENSORS_TENSORPARTS_H
