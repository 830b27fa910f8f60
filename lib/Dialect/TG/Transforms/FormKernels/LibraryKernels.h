//===- LibraryKernels.h - Kernels that a library has ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a library computes becomes a kernel with a `library_call` first,
// together with its neighbours that the call takes over:
//
//   for GEMM or attention in block:
//     members = {it}
//     while what defines an operand of members is a view that fits: add a copy
//     while the only user of a result fits: add it, and views that it reads
//
// Views are copied because they cost nothing: several calls may read through
// one.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_FORMKERNELS_LIBRARYKERNELS_H
#define REGATHER_DIALECT_TG_TRANSFORMS_FORMKERNELS_LIBRARYKERNELS_H

#include "regather/Dialect/TG/Kernels/KernelTable.h"

namespace regather::tg::kernels {

class LibraryKernels {
public:
  explicit LibraryKernels(KernelTable &table) : table(table) {}

  /// Forms the kernels of `block`, with a remark for each neighbour that a call
  /// does not take over, and for each root that no library computes.
  void form(mlir::Block &block);

  int64_t getNumLaunches() const { return numLaunches; }
  int64_t getNumOps() const { return numOps; }

private:
  KernelTable &table;
  int64_t numLaunches = 0, numOps = 0;
};

} // namespace regather::tg::kernels

#endif // REGATHER_DIALECT_TG_TRANSFORMS_FORMKERNELS_LIBRARYKERNELS_H
