//===- GatherMerger.h - One gather for one parameter ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_GATHERMERGER_H
#define REGATHER_DIALECT_TG_TRANSFORMS_GATHERMERGER_H

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace regather::tg {

struct MergedGathers {
  /// Members of gathers that another gather of the same phase stands for.
  int64_t gathers = 0;
  /// What these would have gathered.
  int64_t bytes = 0;
  /// Other operations of chains.
  int64_t ops = 0;
};

/// Merges what is computed twice, in one phase, of one parameter alone: see
/// tg-merge-gathers. Linear in the size of the block.
mlir::FailureOr<MergedGathers>
mergeGathers(mlir::FunctionOpInterface func,
             mlir::OpBuilder::Listener *listener = nullptr);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_TRANSFORMS_GATHERMERGER_H
