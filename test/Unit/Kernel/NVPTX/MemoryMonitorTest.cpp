//===- MemoryMonitorTest.cpp - Kernels that are wrong ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Each kernel is wrong in one way; beside it is one that is right.
//
//===----------------------------------------------------------------------===//

#include "GpuEmulator.h"
#include "WarpExchange.h"

#include "gtest/gtest.h"

using namespace regather::nvptx;

/// What is wrong with a function of `blocks` blocks of 32 threads, which reads
/// %x and writes %y, both of 32 f32; empty if nothing is.
static std::string findFault(llvm::StringRef body, int blocks = 1,
                             ThreadOrder order = ThreadOrder::Ascending) {
  std::string text =
      R"(gpu.module @kernels {
gpu.func @kernel(%x: memref<32xf32> {llvm.readonly}, %y: memref<32xf32>)
    workgroup(%s: memref<32xf32, #gpu.address_space<workgroup>>) kernel
    attributes {known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: )" +
      std::to_string(blocks) + R"(, 1, 1>} {
  %t = gpu.thread_id x
  %one = arith.constant 1 : index
  %zero = arith.constant 0 : index
  %other = arith.xori %t, %one : index
  %next = arith.addi %t, %one : index
  %v = memref.load %x[%t] : memref<32xf32>
)" + body.str() +
      "  gpu.return\n}\n}\n";
  auto emulator = GpuEmulator::create(text);
  if (!emulator)
    return llvm::toString(emulator.takeError());
  alignas(16) float x[32] = {}, y[32] = {};
  return llvm::toString((*emulator)->run({x, y}, order));
}

TEST(MemoryMonitorTest, FindsRacesOfThreads) {
  llvm::StringRef before = "memref.store %v, %s[%t] : memref<32xf32, "
                           "#gpu.address_space<workgroup>>\n"
                           "gpu.barrier\n";
  llvm::StringRef race = "memref.store %v, %s[%other] : memref<32xf32, "
                         "#gpu.address_space<workgroup>>\n";
  llvm::StringRef after = "%w = memref.load %s[%t] : memref<32xf32, "
                          "#gpu.address_space<workgroup>>\n"
                          "memref.store %w, %y[%t] : memref<32xf32>\n";
  EXPECT_EQ(findFault((before + race + "gpu.barrier\n" + after).str()), "");
  for (ThreadOrder order : {ThreadOrder::Ascending, ThreadOrder::Descending})
    EXPECT_NE(findFault((before + race + after).str(), 1, order)
                  .find("races with another thread at byte"),
              std::string::npos);
  // Writes after reads.
  llvm::StringRef late = "memref.store %v, %s[%other] : memref<32xf32, "
                         "#gpu.address_space<workgroup>>\n";
  EXPECT_NE(findFault((before + after + late).str())
                .find("races with another thread at byte"),
            std::string::npos);
  EXPECT_EQ(findFault((before + after + "gpu.barrier\n" + late).str()), "");
}

TEST(MemoryMonitorTest, FindsRacesOfBlocks) {
  llvm::StringRef write = "memref.store %v, %y[%t] : memref<32xf32>\n";
  EXPECT_EQ(findFault(write, 1), "");
  EXPECT_EQ(findFault(write, 2),
            "thread 0 of block 1 races with another thread at byte 0 of "
            "buffer 1");
}

// Atomic operations race only with others.
TEST(MemoryMonitorTest, KnowsAtomicOperations) {
  std::string first =
      "%b = gpu.block_id x\n"
      "%isFirst = arith.cmpi eq, %b, %zero : index\n"
      "scf.if %isFirst { memref.store %v, %y[%t] : memref<32xf32> }\n";
  llvm::StringRef add =
      "memref.atomic_rmw addf %v, %y[%zero] : (f32, memref<32xf32>) -> f32\n";
  EXPECT_EQ(findFault(("scf.for %i = %zero to %one step %one {\n"
                       "memref.store %v, %y[%t] : memref<32xf32>\n}\n"
                       "gpu.barrier\n" +
                       add)
                          .str()),
            "");
  EXPECT_NE(findFault(first + add.str(), 2).find("races"), std::string::npos);
}

TEST(MemoryMonitorTest, FindsAccessesOutOfBounds) {
  EXPECT_EQ(findFault("memref.store %v, %y[%next] : memref<32xf32>\n"),
            "thread 31 of block 0 touches byte 128 of buffer 1, which has 128 "
            "bytes");
}

TEST(MemoryMonitorTest, FindsAccessesThatAreNotAligned) {
  llvm::StringRef load = "%l = vector.load %x[$] {alignment = 16 : i64} : "
                         "memref<32xf32>, vector<4xf32>\n"
                         "vector.store %l, %y[%zero] : memref<32xf32>, "
                         "vector<4xf32>\n";
  auto at = [&](llvm::StringRef place) {
    auto [before, after] = load.split('$');
    std::string only = "%isFirst = arith.cmpi eq, %t, %zero : index\n"
                       "scf.if %isFirst {\n";
    return only + before.str() + place.str() + after.str() + "}\n";
  };
  EXPECT_EQ(findFault(at("%zero")), "");
  EXPECT_EQ(findFault(at("%one")), "thread 0 of block 0 touches byte 4 of "
                                   "buffer 0 with an alignment of 16");
}

TEST(MemoryMonitorTest, FindsReadsOfWhatIsNotThere) {
  EXPECT_EQ(findFault("%w = memref.load %y[%t] : memref<32xf32>\n"
                      "memref.store %w, %y[%t] : memref<32xf32>\n"),
            "thread 0 of block 0 reads byte 0 of buffer 1, which nothing has "
            "written");
}

TEST(MemoryMonitorTest, FindsTouchesOfWhatIsBeingCopied) {
  std::string copy = R"(
  %four = arith.constant 4 : index
  %eight = arith.constant 8 : index
  %copies = arith.cmpi ult, %t, %eight : index
  scf.if %copies {
    %p = arith.muli %t, %four : index
    %token = nvgpu.device_async_copy %x[%p], %s[%p], 4 {bypassL1}
        : memref<32xf32> to memref<32xf32, #gpu.address_space<workgroup>>
  }
  nvvm.cp.async.commit.group
)";
  std::string read = R"(
  %w = memref.load %s[%t] : memref<32xf32, #gpu.address_space<workgroup>>
  memref.store %w, %y[%t] : memref<32xf32>
)";
  std::string wait = "nvvm.cp.async.wait.group 0\n";
  std::string barrier = "gpu.barrier\n";
  EXPECT_EQ(findFault(copy + wait + barrier + read), "");
  for (const std::string &late :
       {std::string(), std::string("nvvm.cp.async.wait.group 1\n")})
    EXPECT_NE(findFault(copy + late + barrier + read)
                  .find("of shared memory 0, which is being copied"),
              std::string::npos);
  EXPECT_NE(findFault(copy + wait + read).find("races with another thread"),
            std::string::npos);
}

// A lane gets the word with its own number, which another one has written.
TEST(MemoryMonitorTest, FindsRacesOfMatrices) {
  std::string write = "memref.store %v, %s[%other] : memref<32xf32, "
                      "#gpu.address_space<workgroup>>\n";
  auto load = [](llvm::StringRef row) {
    return "%four = arith.constant 4 : index\n"
           "%seven = arith.constant 7 : index\n"
           "%low = arith.andi %t, %seven : index\n"
           "%p = arith.muli %low, %four : index\n"
           "%odd = arith.addi %p, %one : index\n"
           "%m = nvgpu.ldmatrix %s[" +
           row.str() +
           "] {numTiles = 4 : i32, transpose = false}\n"
           "  : memref<32xf32, #gpu.address_space<workgroup>> -> "
           "vector<4x1xf32>\n";
  };
  EXPECT_EQ(findFault(write + "gpu.barrier\n" + load("%p")), "");
  EXPECT_NE(findFault(write + load("%p")).find("races with another thread"),
            std::string::npos);
  EXPECT_NE(findFault(write + "gpu.barrier\n" + load("%odd"))
                .find("with an alignment of 16"),
            std::string::npos);
}

TEST(MemoryMonitorTest, CountsBankConflictsOfMatrices) {
  for (int64_t stride : {144, 128}) {
    MemoryMonitor monitor;
    char *memory =
        monitor.allocate("tile", 32 * stride, MemoryMonitor::Kind::Argument);
    std::vector<LaneExchange> lanes(32);
    std::vector<LaneExchange *> warp;
    for (LaneExchange &lane : lanes) {
      auto row = static_cast<int64_t>(warp.size());
      lane.kind = LaneExchange::Kind::LoadMatrices;
      lane.sent[0] = reinterpret_cast<intptr_t>(memory + row * stride);
      warp.push_back(&lane);
    }
    EXPECT_TRUE(exchange(warp, /*firstThread=*/0, monitor));
    EXPECT_EQ(monitor.getBankConflicts(), stride == 128 ? 4 : 0);
  }
}

TEST(MemoryMonitorTest, FindsWritesToArguments) {
  EXPECT_EQ(findFault("memref.store %v, %x[%t] : memref<32xf32>\n"),
            "thread 0 of block 0 writes byte 0 of buffer 0");
}
