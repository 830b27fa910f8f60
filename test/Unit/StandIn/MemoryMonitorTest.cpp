//===- MemoryMonitorTest.cpp - Kernels that are wrong ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each kernel is wrong in one way; beside it is one that is right.
//
//===----------------------------------------------------------------------===//

#include "StandIn/Ptx/MemoryMonitor.h"
#include "StandIn/Ptx/PtxInterpreter.h"
#include "StandIn/Ptx/PtxTensorCores.h"

#include "gtest/gtest.h"

#include <cstring>

using namespace regather::runtime;

/// What is wrong with a kernel of `blocks` blocks of 32 threads; empty if
/// nothing is. It reads x and writes y, both of 32 words, and has 32 words s of
/// shared memory. Addresses of word t are %rdx, %rdy and %rds, where t is the
/// number %r1 of the thread; %r2 is word t of x, and %rdother the address of
/// word t ^ 1 of s.
static std::string findFault(const std::string &body, int64_t blocks = 1,
                             ThreadOrder order = ThreadOrder::Ascending,
                             const std::string &alignment = "16") {
  auto module = readPtx(".version 8.0\n.target sm_90\n.address_size 64\n"
                        ".shared .align " +
                        alignment +
                        " .b8 s[128];\n"
                        ".visible .entry kernel(\n"
                        "\t.param .u64 x,\n\t.param .u64 y\n)\n{\n"
                        "\tld.param.b64 %rdx0, [x];\n"
                        "\tld.param.b64 %rdy0, [y];\n"
                        "\tmov.b64 %rds0, s;\n"
                        "\tmov.u32 %r1, %tid.x;\n"
                        "\tmul.wide.u32 %rd1, %r1, 4;\n"
                        "\tadd.s64 %rdx, %rdx0, %rd1;\n"
                        "\tadd.s64 %rdy, %rdy0, %rd1;\n"
                        "\tadd.s64 %rds, %rds0, %rd1;\n"
                        "\txor.b64 %rd2, %rd1, 4;\n"
                        "\tadd.s64 %rdother, %rds0, %rd2;\n"
                        "\tsetp.eq.u32 %pfirst, %r1, 0;\n"
                        "\tld.global.b32 %r2, [%rdx];\n" +
                        body + "\tret;\n}\n");
  const PtxFunction &kernel = *module->functions.at("kernel");
  EXPECT_EQ(kernel.unknown, "");
  MemoryMonitor monitor;
  std::byte *x = monitor.allocate("x", 32 * 4, MemoryMonitor::Kind::Argument);
  std::byte *y = monitor.allocate("y", 32 * 4, MemoryMonitor::Kind::Global);
  PtxLaunch launch = {
      blocks,
      /*threads=*/32,
      /*dynamicSharedBytes=*/0,
      {reinterpret_cast<uintptr_t>(x), reinterpret_cast<uintptr_t>(y)},
      /*memory=*/{}};
  launch.order = order;
  launch.monitor = &monitor;
  return runPtx(kernel, launch);
}

static bool isRace(const std::string &fault) {
  return fault.find("races with another thread at byte") != std::string::npos;
}

static const std::string barrier = "\tbar.sync 0;\n";
static const std::string writeOwn = "\tst.shared.b32 [%rds], %r2;\n";
static const std::string writeOther = "\tst.shared.b32 [%rdother], %r2;\n";
static const std::string readOwn = "\tld.shared.b32 %r3, [%rds];\n"
                                   "\tst.global.b32 [%rdy], %r3;\n";

TEST(MemoryMonitorTest, FindsRacesOfThreads) {
  std::string before = writeOwn + barrier;
  EXPECT_EQ(findFault(before + writeOther + barrier + readOwn), "");
  for (ThreadOrder order : {ThreadOrder::Ascending, ThreadOrder::Descending})
    EXPECT_TRUE(isRace(findFault(before + writeOther + readOwn, 1, order)));
  // Writes after reads.
  EXPECT_TRUE(isRace(findFault(before + readOwn + writeOther)));
  EXPECT_EQ(findFault(before + readOwn + barrier + writeOther), "");
}

TEST(MemoryMonitorTest, FindsWritesOfTwoThreads) {
  EXPECT_TRUE(isRace(findFault("\tst.shared.b32 [%rds0], %r2;\n")));
  EXPECT_EQ(findFault("\t@%pfirst st.shared.b32 [%rds0], %r2;\n"), "");
}

// What one thread writes after several have read it.
TEST(MemoryMonitorTest, RemembersSeveralReaders) {
  std::string readers = "\t@%pfirst st.shared.b32 [%rds0], %r2;\n" + barrier +
                        "\tld.shared.b32 %r3, [%rds0];\n";
  std::string write = "\tsetp.eq.u32 %plast, %r1, 31;\n"
                      "\t@%plast st.shared.b32 [%rds0], %r2;\n";
  EXPECT_TRUE(isRace(findFault(readers + write)));
  EXPECT_EQ(findFault(readers + barrier + write), "");
}

TEST(MemoryMonitorTest, FindsRacesOfBlocks) {
  std::string write = "\tst.global.b32 [%rdy], %r2;\n";
  EXPECT_EQ(findFault(write, 1), "");
  EXPECT_EQ(findFault(write, 2),
            "thread 0 of block 1 races with another thread at byte 0 of y");
  // Barriers are those of one block.
  EXPECT_TRUE(isRace(findFault(barrier + write + barrier, 2)));
}

// A block reads what it has written itself; another one writes there later.
TEST(MemoryMonitorTest, FindsWritesAfterReadsOfABlockBefore) {
  std::string isFirst = "\tmov.u32 %r4, %ctaid.x;\n"
                        "\tsetp.eq.u32 %pblock, %r4, 0;\n";
  std::string reads = "\t@%pblock st.global.b32 [%rdy], %r2;\n"
                      "\t@%pblock ld.global.b32 %r3, [%rdy];\n";
  EXPECT_EQ(findFault(isFirst + reads, 2), "");
  EXPECT_TRUE(
      isRace(findFault(isFirst + reads + "\tst.global.b32 [%rdy], %r2;\n", 2)));
}

// Each block has shared memory of its own, which holds nothing at first.
TEST(MemoryMonitorTest, KeepsSharedMemoryOfBlocksApart) {
  EXPECT_EQ(
      findFault(writeOwn + barrier + "\tld.shared.b32 %r3, [%rdother];\n", 2),
      "");
  std::string isFirst = "\tmov.u32 %r4, %ctaid.x;\n"
                        "\tsetp.eq.u32 %pblock, %r4, 0;\n";
  EXPECT_EQ(findFault(isFirst + "\t@%pblock st.shared.b32 [%rds], %r2;\n" +
                          barrier + "\tld.shared.b32 %r3, [%rds];\n",
                      2),
            "thread 0 of block 1 reads byte 16 of shared memory, which nothing "
            "has written");
}

TEST(MemoryMonitorTest, FindsAccessesOutOfBounds) {
  EXPECT_EQ(findFault("\tst.global.b32 [%rdy+4], %r2;\n"),
            "thread 31 of block 0 touches byte 128 of y, which has 128 bytes");
  EXPECT_EQ(findFault("\tst.shared.b64 [%rds0+124], %rd1;\n"),
            "thread 0 of block 0 touches byte 140 of shared memory, which has "
            "144 bytes");
  EXPECT_EQ(findFault("\tst.shared.b32 [%rds+4], %r2;\n"),
            "an address is outside of shared memory");
}

TEST(MemoryMonitorTest, FindsAccessesThatAreNotAligned) {
  auto copyFrom = [](const std::string &offset) {
    return "\t@%pfirst ld.global.v4.b32 {%r3, %r4, %r5, %r6}, [%rdx0+" +
           offset +
           "];\n\t@%pfirst st.global.v4.b32 [%rdy0], {%r3, %r4, %r5, %r6};\n";
  };
  EXPECT_EQ(findFault(copyFrom("16")), "");
  EXPECT_EQ(findFault(copyFrom("4")),
            "thread 0 of block 0 touches byte 4 of x with an alignment of 16");
}

// Shared memory is aligned as it is declared, and no better.
TEST(MemoryMonitorTest, FindsSharedMemoryThatIsNotAligned) {
  auto findFaultOf = [](const std::string &alignment) {
    return findFault(writeOwn + barrier +
                         "\t@%pfirst ld.shared.v4.b32 {%r3, %r4, %r5, %r6}, "
                         "[%rds0];\n",
                     1, ThreadOrder::Ascending, alignment);
  };
  EXPECT_EQ(findFaultOf("16"), "");
  EXPECT_EQ(findFaultOf("4"), "thread 0 of block 0 touches byte 4 of shared "
                              "memory with an alignment of 16");
  EXPECT_EQ(findFaultOf("8"), "thread 0 of block 0 touches byte 8 of shared "
                              "memory with an alignment of 16");
}

TEST(MemoryMonitorTest, FindsReadsOfWhatIsNotThere) {
  EXPECT_EQ(findFault("\tld.global.b32 %r3, [%rdy];\n"),
            "thread 0 of block 0 reads byte 0 of y, which nothing has written");
  EXPECT_EQ(findFault(readOwn), "thread 0 of block 0 reads byte 16 of shared "
                                "memory, which nothing has written");
  EXPECT_EQ(findFault(writeOwn + readOwn), "");
}

TEST(MemoryMonitorTest, FindsTouchesOfWhatIsBeingCopied) {
  std::string copy = "\tsetp.lt.u32 %pcopies, %r1, 8;\n"
                     "\tmul.wide.u32 %rd3, %r1, 16;\n"
                     "\tadd.s64 %rd4, %rdx0, %rd3;\n"
                     "\tadd.s64 %rd5, %rds0, %rd3;\n"
                     "\t@%pcopies cp.async.cg.shared.global [%rd5], [%rd4], "
                     "16;\n"
                     "\tcp.async.commit_group;\n";
  std::string wait = "\tcp.async.wait_group 0;\n";
  EXPECT_EQ(findFault(copy + wait + barrier + readOwn), "");
  for (const std::string &late :
       {std::string(), std::string("\tcp.async.wait_group 1;\n")})
    EXPECT_NE(findFault(copy + late + barrier + readOwn)
                  .find("of shared memory, which is being copied"),
              std::string::npos);
  EXPECT_TRUE(isRace(findFault(copy + wait + readOwn)));
}

// A lane gets the word with its own number, which another one has written.
TEST(MemoryMonitorTest, FindsRacesOfMatrices) {
  auto load = [](const std::string &offset) {
    return "\tand.b32 %r3, %r1, 7;\n"
           "\tmul.wide.u32 %rd3, %r3, 16;\n"
           "\tadd.s64 %rd4, %rds0, %rd3;\n"
           "\tldmatrix.sync.aligned.m8n8.x4.shared.b16 "
           "{%r4, %r5, %r6, %r7}, [%rd4+" +
           offset + "];\n";
  };
  EXPECT_EQ(findFault(writeOther + barrier + load("0")), "");
  EXPECT_TRUE(isRace(findFault(writeOther + load("0"))));
  EXPECT_NE(findFault(writeOther + barrier + load("4"))
                .find("not aligned to the 16 bytes"),
            std::string::npos);
}

TEST(MemoryMonitorTest, KnowsBankConflictsOfMatrices) {
  alignas(128) std::byte memory[8 * 144];
  for (size_t stride : {144, 128}) {
    const std::byte *rows[8];
    for (size_t i = 0; i < 8; ++i)
      rows[i] = memory + i * stride;
    EXPECT_EQ(meetInBanks(rows), stride == 128);
  }
}

TEST(MemoryMonitorTest, FindsWritesToArguments) {
  EXPECT_EQ(findFault("\tst.global.b32 [%rdx], %r2;\n"),
            "thread 0 of block 0 writes byte 0 of x");
}

// A launch may write what the one before has written.
TEST(MemoryMonitorTest, OrdersLaunches) {
  MemoryMonitor monitor;
  std::byte *memory = monitor.allocate("m", 4, MemoryMonitor::Kind::Global);
  for (int64_t thread : {0, 1}) {
    monitor.beginLaunch();
    monitor.beginBlock(0);
    EXPECT_TRUE(monitor.access(thread, memory, 4, 4, MemoryAccess::Write))
        << monitor.getError();
  }
  EXPECT_FALSE(monitor.access(0, memory, 4, 4, MemoryAccess::Read));
}
