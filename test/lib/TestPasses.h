//===- TestPasses.h - Passes that only tests run ----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_LIB_TESTPASSES_H
#define REGATHER_TEST_LIB_TESTPASSES_H

namespace regather::test {

/// `test-print-recomputation-problem`: prints as JSON what `tg-partition` with
/// a budget decides about.
void registerTestPrintRecomputationProblemPass();

/// `test-split-nodes`: carries nodes out on parts of their tensors.
void registerTestSplitNodesPass();

} // namespace regather::test

#endif // REGATHER_TEST_LIB_TESTPASSES_H
