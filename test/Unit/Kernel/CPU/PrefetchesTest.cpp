//===- PrefetchesTest.cpp - Loads that are asked for ahead ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Prefetches.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace regather;

/// A loop that reads from arguments: a row, a column, a number at a time, by
/// an address in memory, and the same place each time.
static constexpr StringLiteral kLoop = R"(
define void @kernel(ptr %row, ptr %column, ptr %numbers, ptr %places, ptr %one,
                    ptr %small, ptr %out) {
entry:
  br label %loop

loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %r = getelementptr float, ptr %row, i64 %i
  %a = load <16 x float>, ptr %r
  %j = mul i64 %i, 4096
  %c = getelementptr float, ptr %column, i64 %j
  %b = load <16 x float>, ptr %c
  %n = getelementptr float, ptr %numbers, i64 %i
  %number = load float, ptr %n
  %p = getelementptr i64, ptr %places, i64 %i
  %place = load i64, ptr %p
  %f = getelementptr float, ptr %row, i64 %place
  %d = load <16 x float>, ptr %f
  %e = load <16 x float>, ptr %one
  %s = getelementptr float, ptr %small, i64 %i
  %g = load <16 x float>, ptr %s
  %ab = fadd <16 x float> %a, %b
  %de = fadd <16 x float> %d, %e
  %abde = fadd <16 x float> %ab, %de
  %first = insertelement <16 x float> %g, float %number, i64 0
  %sum = fadd <16 x float> %abde, %first
  %o = getelementptr float, ptr %out, i64 %i
  store <16 x float> %sum, ptr %o
  %next = add i64 %i, 16
  %done = icmp eq i64 %next, 65536
  br i1 %done, label %end, label %loop

end:
  ret void
}
)";

/// The arguments that are loaded ahead, by name.
static std::vector<std::string> getPrefetched(ArrayRef<unsigned> marked) {
  LLVMContext context;
  SMDiagnostic error;
  std::unique_ptr<Module> module = parseAssemblyString(kLoop, error, context);
  Function *function = module->getFunction("kernel");
  cpu::markPrefetched(*function, marked);
  cpu::prefetchLoads(*module);
  EXPECT_FALSE(verifyModule(*module));
  std::vector<std::string> names;
  for (Instruction &inst : instructions(*function)) {
    auto *call = dyn_cast<IntrinsicInst>(&inst);
    if (!call || call->getIntrinsicID() != Intrinsic::prefetch)
      continue;
    // Behind what the load that follows reads.
    auto *load = cast<LoadInst>(call->getNextNode());
    APInt offset(64, 0);
    EXPECT_EQ(call->getArgOperand(0)->stripAndAccumulateConstantOffsets(
                  module->getDataLayout(), offset, /*AllowNonInbounds=*/true),
              load->getPointerOperand());
    EXPECT_EQ(offset, 2048);
    names.push_back(
        load->getPointerOperand()->stripInBoundsOffsets()->getName().str());
  }
  return names;
}

TEST(PrefetchesTest, LoadsThatMoveOnWithoutGaps) {
  // Not the column, numbers one by one, what is known too late or is near.
  EXPECT_EQ(getPrefetched({0, 1, 2, 3, 4}), std::vector<std::string>({"r"}));
}

TEST(PrefetchesTest, MarkedArgumentsOnly) {
  EXPECT_EQ(getPrefetched({5}), std::vector<std::string>({"s"}));
  EXPECT_TRUE(getPrefetched({}).empty());
}
