//===- ReductionFusion.h - What reductions read, computed there -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_TRANSFORMS_REDUCTIONFUSION_H
#define REGATHER_LIB_KERNEL_TRANSFORMS_REDUCTIONFUSION_H

#include "mlir/IR/BuiltinOps.h"

namespace regather::kernel {

/// Computes what a reduction reads where it is read, if it is cheap and comes
/// from nothing that has an element for each step, such as a row that is zero
/// but for one place. Upstream's fusion leaves these alone, since the sizes of
/// loops follow from operands: here, an operand that the body does not use, an
/// argument of the kernel of the same shape, says them.
void fuseIntoReductions(mlir::ModuleOp module);

} // namespace regather::kernel

#endif // REGATHER_LIB_KERNEL_TRANSFORMS_REDUCTIONFUSION_H
