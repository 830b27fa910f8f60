//===- SideBySide.h - Parts of a search on threads --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DRIVER_SIDEBYSIDE_H
#define REGATHER_LIB_DRIVER_SIDEBYSIDE_H

#include "mlir/IR/MLIRContext.h"

#include <functional>

namespace regather {

/// Parts of a search that do not depend on each other: each writes what it
/// finds to a place of its own.
using SearchParts = llvm::ArrayRef<std::function<void()>>;

/// Runs them on the threads of the context, which takes what passes of training
/// steps need into it. Errors are not heard: who wants to know why a part has
/// failed repeats it alone. A listener of remarks hears them in the order of
/// the parts, which run one after the other then.
void runSideBySide(mlir::MLIRContext *context, SearchParts parts);

} // namespace regather

#endif // REGATHER_LIB_DRIVER_SIDEBYSIDE_H
