//===- PtxKernelTest.cpp - Kernels that the stand-in driver interprets ----===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecordedDriver.h"

using namespace regather::runtime;

namespace {

using Vector = std::vector<uint32_t>;

/// Runs kernels with one parameter, a vector of 64 elements of 32 bits.
class PtxKernel : public testing::Test {
protected:
  static constexpr size_t kCount = 64;

  void SetUp() override {
    ASSERT_EQ(driver.cuStreamCreate(&stream, kCuStreamNonBlocking), 0);
    ASSERT_EQ(driver.cuMemAlloc_v2(&memory, 4 * kCount), 0);
  }
  void TearDown() override {
    EXPECT_EQ(driver.cuMemFree_v2(memory), 0);
    EXPECT_EQ(driver.cuStreamDestroy_v2(stream), 0);
  }

  /// Runs the body on the numbers from 0 on, and returns what they become.
  Vector run(const std::string &body, unsigned blocks, unsigned threads,
             const std::string &before = "") {
    Vector values(kCount);
    for (uint32_t i = 0; i < kCount; ++i)
      values[i] = i;
    EXPECT_EQ(
        driver.cuMemcpyHtoDAsync_v2(memory, values.data(), 4 * kCount, stream),
        0);
    std::string text = ".version 8.0\n.target sm_90\n.address_size 64\n" +
                       before +
                       "\n.visible .entry kernel(\n\t.param .u64 p\n)\n"
                       "{\n\tld.param.b64 %rd1, [p];\n"
                       "\tmov.u32 %r1, %tid.x;\n"
                       "\tmul.wide.u32 %rd2, %r1, 4;\n"
                       "\tadd.s64 %rd3, %rd1, %rd2;\n" +
                       body + "\tret;\n}\n";
    CuModule module = nullptr;
    CuFunction function = nullptr;
    EXPECT_EQ(
        driver.cuModuleLoadDataEx(&module, text.c_str(), 0, nullptr, nullptr),
        0);
    EXPECT_EQ(driver.cuModuleGetFunction(&function, module, "kernel"), 0);
    void *arguments[] = {&memory};
    result = driver.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0,
                                   stream, arguments, nullptr);
    EXPECT_EQ(driver.cuModuleUnload(module), 0);
    EXPECT_EQ(
        driver.cuMemcpyDtoHAsync_v2(values.data(), memory, 4 * kCount, stream),
        0);
    return values;
  }
  std::string getProblem() { return driver.describe(result); }

  RecordFile record;
  DriverApi driver = loadStandIn();
  CuStream stream = nullptr;
  CuAddress memory = 0;
  CuResult result = 0;
};

TEST_F(PtxKernel, ThreadsMeetAtBarriers) {
  // Each thread reads what another one has written to shared memory.
  Vector values = run("\tmov.b64 %rd4, buffer;\n"
                      "\tadd.s64 %rd5, %rd4, %rd2;\n"
                      "\tld.global.b32 %r2, [%rd3];\n"
                      "\tst.shared.b32 [%rd5], %r2;\n"
                      "\tbar.sync \t0;\n"
                      "\tsub.s32 %r3, 63, %r1;\n"
                      "\tmul.wide.u32 %rd6, %r3, 4;\n"
                      "\tadd.s64 %rd7, %rd4, %rd6;\n"
                      "\tld.shared.b32 %r4, [%rd7];\n"
                      "\tst.global.b32 [%rd3], %r4;\n",
                      1, 64, ".shared .align 16 .b8 buffer[256];");
  ASSERT_EQ(result, 0) << getProblem();
  for (uint32_t i = 0; i < kCount; ++i)
    EXPECT_EQ(values[i], 63 - i);
}

TEST_F(PtxKernel, LanesExchangeValues) {
  // The sum over each warp.
  std::string body = "\tld.global.b32 %r2, [%rd3];\n";
  for (const char *distance : {"16", "8", "4", "2", "1"})
    body += std::string("\tshfl.sync.bfly.b32 %r3, %r2, ") + distance +
            ", 31, -1;\n\tadd.s32 %r2, %r2, %r3;\n";
  Vector values = run(body + "\tst.global.b32 [%rd3], %r2;\n", 1, 64);
  ASSERT_EQ(result, 0) << getProblem();
  for (uint32_t i = 0; i < kCount; ++i)
    EXPECT_EQ(values[i], i < 32 ? 496U : 1520U);
}

TEST_F(PtxKernel, LoopsBranchOnPredicates) {
  // Adds the numbers below that of the thread.
  Vector values = run("\tmov.b32 %r2, 0;\n"
                      "\tmov.b32 %r3, 0;\n"
                      "$L__BB0_1:                 // a loop\n"
                      "\tsetp.ge.u32 %p1, %r2, %r1;\n"
                      "\t@%p1 bra $L__BB0_2;\n"
                      "\tadd.s32 %r3, %r3, %r2;\n"
                      "\tadd.s32 %r2, %r2, 1;\n"
                      "\tbra.uni $L__BB0_1;\n"
                      "$L__BB0_2:\n"
                      "\t@!%p1 trap;\n"
                      "\tst.global.b32 [%rd3], %r3;\n",
                      1, 8);
  ASSERT_EQ(result, 0) << getProblem();
  EXPECT_EQ(Vector(values.begin(), values.begin() + 9),
            (Vector{0, 0, 1, 3, 6, 10, 15, 21, 8}));
}

TEST_F(PtxKernel, VectorsAndHalvesOfRegisters) {
  Vector values = run("\tld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd1+16];\n"
                      "\tmov.b64 %rd4, {%r2, %r3};\n"
                      "\tshl.b64 %rd4, %rd4, 8;\n"
                      "\t{ .reg .b32 tmp; mov.b64 {tmp, %r3}, %rd4; }\n"
                      "\tmov.b64 {%r2, _}, %rd4;\n"
                      "\tst.global.v2.b32 [%rd1], {%r2, %r3};\n"
                      "\tst.global.v2.b32 [%rd1+8], {%r5, %r4};\n",
                      1, 1);
  ASSERT_EQ(result, 0) << getProblem();
  EXPECT_EQ(Vector(values.begin(), values.begin() + 4),
            (Vector{4 << 8, 5 << 8, 7, 6}));
}

TEST_F(PtxKernel, CallsFunctions) {
  Vector values =
      run("\t{ // callseq 0, 0\n"
          "\t.param .b32 param0;\n"
          "\t.param .b32 retval0;\n"
          "\tst.param.b32 [param0], %r1;\n"
          "\tcall.uni (retval0), twice, (param0);\n"
          "\tld.param.b32 %r2, [retval0];\n"
          "\t} // callseq 0\n"
          "\tst.global.b32 [%rd3], %r2;\n",
          1, 4,
          ".func  (.param .b32 func_retval0) twice\n(\n\t.param .b32 x\n)\n;\n"
          ".func  (.param .b32 func_retval0) twice(\n\t.param .b32 x\n)\n{\n"
          "\tld.param.b32 %r1, [x];\n\tshl.b32 %r2, %r1, 1;\n"
          "\tst.param.b32 [func_retval0], %r2;\n\tret;\n}\n");
  ASSERT_EQ(result, 0) << getProblem();
  EXPECT_EQ(Vector(values.begin(), values.begin() + 5),
            (Vector{0, 2, 4, 6, 4}));
}

TEST_F(PtxKernel, ReadsTablesAndLocalMemory) {
  // Each thread keeps the entries of the table, and picks its own.
  Vector values =
      run("\t.local .align 4 .b8 depot[8];\n"
          "\tmov.b64 %SPL, depot;\n"
          "\tmov.b64 %rd4, table;\n"
          "\tld.global.nc.v2.b32 {%r2, %r3}, [%rd4];\n"
          "\tadd.u64 %rd5, %SPL, 0;\n"
          "\tadd.s32 %r2, %r2, %r1;\n"
          "\tst.local.b32 [%rd5], %r2;\n"
          "\tst.local.b32 [%rd5+4], %r3;\n"
          "\tbar.sync 0;\n"
          "\tand.b32 %r4, %r1, 1;\n"
          "\tmul.wide.u32 %rd6, %r4, 4;\n"
          "\tadd.s64 %rd7, %rd5, %rd6;\n"
          "\tld.local.b32 %r5, [%rd7];\n"
          "\tst.global.b32 [%rd3], %r5;\n",
          1, 4, ".global .align 4 .b8 table[8] = {10, 0, 0, 0, 2, 1, 0, 0};");
  ASSERT_EQ(result, 0) << getProblem();
  EXPECT_EQ(Vector(values.begin(), values.begin() + 4),
            (Vector{10, 258, 12, 258}));
}

TEST_F(PtxKernel, CarriesBetweenWords) {
  // (2^32 - 1)^2 + (2^32 - 1) = (2^32 - 1) * 2^32.
  Vector values = run("\tmov.b32 %r2, -1;\n"
                      "\tmad.lo.cc.u32 %r3, %r2, %r2, %r2;\n"
                      "\tmadc.hi.u32 %r4, %r2, %r2, 0;\n"
                      "\tst.global.v2.b32 [%rd1], {%r3, %r4};\n",
                      1, 1);
  ASSERT_EQ(result, 0) << getProblem();
  EXPECT_EQ(values[0], 0U);
  EXPECT_EQ(values[1], 0xFFFFFFFFU);
}

TEST_F(PtxKernel, ComputesOn16Bits) {
  // 1 + 2^-10 in the high half, and 65504, the largest number, in the low one.
  Vector values = run("\tmov.b32 %r2, 0x3C017BFF;\n"
                      "\tmul.rn.f16x2 %r3, %r2, %r2;\n"
                      "\tneg.f16x2 %r4, %r2;\n"
                      "\tsub.rn.f16x2 %r5, %r4, %r2;\n"
                      "\tmov.b32 {%rs1, %rs2}, %r2;\n"
                      "\tcvt.f32.f16 %r6, %rs2;\n"
                      "\tcvt.rn.f16x2.f32 %r7, %r6, 0f3F801000;\n"
                      "\tsetp.lt.f16 %p1, %rs1, %rs2;\n"
                      "\tselp.b32 %r8, 7, 8, %p1;\n"
                      "\tcvt.rzi.s32.f16 %r9, %rs1;\n"
                      "\tcvt.rn.f16.s32 %rs3, %r9;\n"
                      "\tmax.NaN.f16 %rs4, %rs3, 0x7C01;\n"
                      "\tmov.b32 %r10, {%rs3, %rs4};\n"
                      "\tst.global.v4.b32 [%rd1], {%r3, %r5, %r6, %r7};\n"
                      "\tst.global.v2.b32 [%rd1+16], {%r8, %r9};\n"
                      "\tst.global.b32 [%rd1+24], %r10;\n",
                      1, 1);
  ASSERT_EQ(result, 0) << getProblem();
  // The product is 1 + 2^-9 + 2^-20, and infinite. 1 + 2^-11 is a tie.
  EXPECT_EQ(Vector(values.begin(), values.begin() + 7),
            (Vector{0x3C027C00, 0xC001FC00, 0x3F802000, 0x3C013C00, 8, 65504,
                    0x7FFF7BFF}));
}

TEST_F(PtxKernel, FloatsRoundOnce) {
  // 0x3f800001 is 1 + 2^-23; its square less 1 + 2^-22 is 2^-46.
  Vector values = run("\tmov.b32 %r2, 0f3F800001;\n"
                      "\tmov.b32 %r3, 0fBF800002;\n"
                      "\tfma.rn.f32 %r4, %r2, %r2, %r3;\n"
                      "\tmul.rn.f32 %r5, %r2, %r2;\n"
                      "\tadd.rn.f32 %r5, %r5, %r3;\n"
                      "\tst.global.v2.b32 [%rd1], {%r4, %r5};\n",
                      1, 1);
  ASSERT_EQ(result, 0) << getProblem();
  EXPECT_EQ(values[0], 0x28800000U);
  EXPECT_EQ(values[1], 0U);
}

// Twice the identity times the vector as 16 x 8 numbers of bf16, by way of
// shared memory. A word is a small number and zero.
TEST_F(PtxKernel, MultipliesFragments) {
  std::string body =
      // Each half of the warp copies the 16 rows.
      "\tand.b32 %r2, %r1, 15;\n"
      "\tmul.wide.u32 %rd4, %r2, 16;\n"
      "\tadd.s64 %rd5, %rd1, %rd4;\n"
      "\tmov.b64 %rd6, tile;\n"
      "\tadd.s64 %rd7, %rd6, %rd4;\n"
      "\tcp.async.cg.shared.global [%rd7], [%rd5], 16;\n"
      "\tcp.async.commit_group;\n"
      "\tcp.async.wait_group 0;\n"
      "\tbar.sync 0;\n"
      "\tldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 "
      "{%r3, %r4, %r5, %r6}, [%rd7];\n"
      // The lane's two columns of row %r7, which may be on the diagonal.
      "\tshr.u32 %r7, %r1, 2;\n"
      "\tand.b32 %r8, %r1, 3;\n"
      "\tshl.b32 %r9, %r8, 1;\n"
      "\tadd.s32 %r10, %r9, 1;\n"
      "\tsetp.eq.b32 %p1, %r7, %r9;\n"
      "\tsetp.eq.b32 %p2, %r7, %r10;\n"
      "\tselp.b32 %r11, 0x4000, 0, %p1;\n"
      "\tselp.b32 %r12, 0x40000000, %r11, %p2;\n"
      "\tmov.b32 %r13, 0;\n"
      "\tmma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32\n"
      "\t\t{%r14, %r15, %r16, %r17},\n"
      "\t\t{%r12, %r13, %r13, %r12},\n"
      "\t\t{%r3, %r4},\n"
      "\t\t{%r13, %r13, %r13, %r13};\n"
      "\tcvt.rn.bf16x2.f32 %r18, %r15, %r14;\n"
      "\tcvt.rn.bf16x2.f32 %r19, %r17, %r16;\n"
      "\tst.global.b32 [%rd3], %r18;\n"
      "\tst.global.b32 [%rd3+128], %r19;\n";
  std::string tile = ".shared .align 16 .b8 tile[256];\n";
  Vector values = run(body, 1, 32, tile);
  ASSERT_EQ(result, 0) << getProblem();
  for (uint32_t i = 0; i < kCount; ++i)
    EXPECT_EQ(values[i], 2 * i);
  // What has been copied is there after the wait only.
  size_t wait = body.find("\tcp.async.wait_group");
  std::string early = body;
  early.erase(wait, body.find('\n', wait) + 1 - wait);
  values = run(early, 1, 32, tile);
  ASSERT_EQ(result, 0) << getProblem();
  EXPECT_EQ(values[1], 0U);
  run(body, 1, 16, tile);
  EXPECT_NE(getProblem().find("tensor cores need all lanes of a warp"),
            std::string::npos)
      << getProblem();
}

TEST_F(PtxKernel, RejectsAddressesOutsideOfMemory) {
  run("\tst.global.b32 [%rd3], %r1;\n", 1, 65);
  EXPECT_EQ(getProblem().find("CUDA_ERROR_LAUNCH_FAILED: kernel 'kernel': "
                              "address "),
            0U)
      << getProblem();
  run("\tst.shared.b32 [%rd2], %r1;\n", 1, 64, ".shared .b8 buffer[128];");
  EXPECT_NE(getProblem().find("outside of shared memory"), std::string::npos)
      << getProblem();
  run("\tst.global.b64 [%rd1+4], %rd1;\n", 1, 1);
  EXPECT_NE(getProblem().find("not aligned to the 8 bytes"), std::string::npos)
      << getProblem();
}

TEST_F(PtxKernel, RejectsThreadsThatDoNotMeet) {
  std::string first = "\tsetp.eq.b32 %p1, %r1, 0;\n";
  run(first + "\t@%p1 bar.sync 0;\n", 1, 64);
  EXPECT_NE(getProblem().find("do not meet at a barrier"), std::string::npos)
      << getProblem();
  run(first + "\t@%p1 shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;\n", 1, 64);
  EXPECT_NE(getProblem().find("do not meet at a shuffle"), std::string::npos)
      << getProblem();
}

TEST_F(PtxKernel, SaysWhenAKernelStopsItself) {
  run("\ttrap;\n", 1, 1);
  EXPECT_NE(getProblem().find("an index is out of bounds"), std::string::npos)
      << getProblem();
}

TEST_F(PtxKernel, OnlyRecordsWhatItCannotRead) {
  Vector values = run("\tst.global.b32 [%rd3+4], %r1;\n"
                      "\tfrobnicate.b32 %r2, %r1;\n",
                      1, 1);
  EXPECT_EQ(result, 0);
  EXPECT_EQ(values[1], 1U);
  EXPECT_NE(record.getCalls("cuLaunchKernel")[0].find(
                "\"skipped\": \"frobnicate.b32 %r2, %r1\""),
            std::string::npos);
}

} // namespace
