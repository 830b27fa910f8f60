//===- HostConversions.h - From loops to the LLVM dialect ----- -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_KERNEL_TRANSFORMS_HOSTCONVERSIONS_H
#define REGATHER_KERNEL_TRANSFORMS_HOSTCONVERSIONS_H

#include "mlir/Pass/PassManager.h"

namespace regather::kernel {

/// Adds the conversions of loops over memrefs, vectors and numbers to the LLVM
/// dialect for a processor. Functions take bare pointers to static memrefs.
void addHostConversions(mlir::OpPassManager &pm);

} // namespace regather::kernel

#endif // REGATHER_KERNEL_TRANSFORMS_HOSTCONVERSIONS_H
