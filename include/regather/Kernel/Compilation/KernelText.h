//===- KernelText.h - What decides the code of a kernel ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_KERNEL_COMPILATION_KERNELTEXT_H
#define REGATHER_KERNEL_COMPILATION_KERNELTEXT_H

#include "regather/Dialect/TG/IR/TG.h"

#include <string>

namespace regather::kernel {

/// The text of a kernel, which decides its code: without names and locations.
/// Kernels with one text compute the same.
std::string getText(tg::KernelOp kernel);

} // namespace regather::kernel

#endif // REGATHER_KERNEL_COMPILATION_KERNELTEXT_H
