//===- ExpandComplexNodes.cpp - The pass for complex numbers --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeExpansion.h"

#include "regather/Conversion/Passes.h"
#include "regather/Dialect/TG/IR/TG.h"

namespace regather {
#define GEN_PASS_DEF_EXPANDTGCOMPLEXNODESPASS
#include "regather/Conversion/Passes.h.inc"
} // namespace regather

namespace {
struct ExpandTGComplexNodesPass
    : regather::impl::ExpandTGComplexNodesPassBase<ExpandTGComplexNodesPass> {
  void runOnOperation() override {
    if (failed(regather::nodes::expandComplexNodes(getOperation())))
      signalPassFailure();
  }
};
} // namespace
