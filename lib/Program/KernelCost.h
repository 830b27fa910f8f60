//===- KernelCost.h - What kernels cost ----------------------- -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_PROGRAM_KERNELCOST_H
#define REGATHER_LIB_PROGRAM_KERNELCOST_H

#include "regather/Dialect/TG/IR/TG.h"

namespace regather {

/// What one launch of a kernel costs by the cost model of its operations:
/// arithmetic is theirs together, and memory is read and written only at the
/// kernel's borders. Of causal attention a library leaves out the half of the
/// scores that the mask hides, so that half is not counted. Linear in the uses
/// of the kernel's arguments.
tg::OpCost getKernelCost(tg::KernelOp kernel);

} // namespace regather

#endif // REGATHER_LIB_PROGRAM_KERNELCOST_H
