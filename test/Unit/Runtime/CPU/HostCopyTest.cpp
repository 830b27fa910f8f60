//===- HostCopyTest.cpp - Copies to and from the host ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Program/TestProgram.h"

#include <cstdint>

using namespace regather::test;

namespace {

constexpr int32_t kToHost = 1, kFromHost = 2;

using Arguments = std::vector<std::vector<std::vector<int64_t>>>;

int32_t negate(void *const *buffers, int64_t, int64_t, void *) {
  *static_cast<int64_t *>(buffers[1]) = -*static_cast<int64_t *>(buffers[0]);
  return 0;
}

/// Copies an argument to the host, overwrites what it was copied from, and
/// copies it back.
TestProgram makeRoundTrip(int64_t count) {
  TestProgram test;
  test.arenaBytes = 2 * count * 8;
  test.hostArenaBytes = count * 8;
  int32_t x = test.addArgument(count);
  rg_slice here = arena(0, count), back = arena(count, count);
  test.add(RG_OP_COPY, 0, {here, argument(x, count)});
  test.add(RG_OP_COPY, 0, {host(0, count), here}, kToHost);
  test.add(RG_OP_RECORD, 0, {}, kToHost);
  test.add(RG_OP_WAIT, 0);
  test.add(RG_OP_FILL, 0, {here, constant(test.addConstant({7}))});
  test.add(RG_OP_RECORD, 1);
  test.add(RG_OP_WAIT, 1, {}, kFromHost);
  test.add(RG_OP_COPY, 0, {back, host(0, count)}, kFromHost);
  test.add(RG_OP_RECORD, 2, {}, kFromHost);
  test.add(RG_OP_WAIT, 2);
  test.addResult(count, back);
  test.addResult(count, here);
  return test;
}

TEST(HostCopyTest, BringsBackWhatWasCopiedAway) {
  constexpr int64_t kCount = 1000;
  TestProgram test = makeRoundTrip(kCount);
  rg_executor_options options = {};
  options.watch_arena = 1;
  TestExecutor executor(test, options);
  ASSERT_EQ(executor.status, RG_OK) << executor.getError();
  for (int64_t first : {5, -3}) {
    std::vector<int64_t> values(kCount);
    for (int64_t i = 0; i < kCount; ++i)
      values[size_t(i)] = first * (i + 1);
    Arguments arguments = {{values}};
    ASSERT_EQ(executor.run(arguments), RG_OK) << executor.getError();
    EXPECT_EQ(executor.getResult(0, 0), values);
    EXPECT_EQ(executor.getResult(0, 1), std::vector<int64_t>(kCount, 7));
  }
  EXPECT_EQ(executor.getTouched(), 2 * kCount * 8);
  EXPECT_EQ(executor.getTouchedOnHost(), kCount * 8);
  EXPECT_GE(executor.getBytes(), 3 * kCount * 8);
}

/// The copies of a stream follow each other over the link, and count as
/// arrived no earlier; those of the other direction have a link of their own.
TEST(HostCopyTest, TakesTheTimeOfTheLink) {
  constexpr int64_t kCount = 1000;
  constexpr double kBandwidth = 8e5; // 10 ms for each copy
  TestProgram test = makeRoundTrip(kCount);
  rg_executor_options options = {};
  options.host_bandwidth = kBandwidth;
  options.record_spans = 1;
  TestExecutor executor(test, options);
  Arguments arguments = {{std::vector<int64_t>(kCount, 1)}};
  ASSERT_EQ(executor.run(arguments), RG_OK);
  EXPECT_EQ(executor.getResult(0, 0), std::vector<int64_t>(kCount, 1));
  EXPECT_GE(executor.getWaitSeconds(0), 2 * kCount * 8 / kBandwidth);
  std::vector<rg_span> copies;
  for (const rg_span &span : executor.getSpans(0))
    if (test.instructions[size_t(span.instruction)].stream != 0 &&
        test.instructions[size_t(span.instruction)].opcode == RG_OP_COPY)
      copies.push_back(span);
  ASSERT_EQ(copies.size(), 2u);
  for (const rg_span &span : copies)
    EXPECT_GE(span.end - span.begin, kCount * 8 / kBandwidth);
  EXPECT_GE(copies[1].begin, copies[0].end);
}

/// An argument on the host is brought, and its update goes back to it.
TEST(HostCopyTest, UpdatesArgumentsOfTheHost) {
  TestProgram test;
  int32_t state = test.addHostArgument(1);
  int32_t kernel = test.addKernel(negate);
  test.add(RG_OP_COPY, 0, {arena(0), argument(state)}, kFromHost);
  test.add(RG_OP_RECORD, 0, {}, kFromHost);
  test.add(RG_OP_WAIT, 0);
  test.add(RG_OP_LAUNCH, kernel, {arena(0), arena(8)});
  test.add(RG_OP_RECORD, 1);
  test.add(RG_OP_WAIT, 1, {}, kToHost);
  test.add(RG_OP_COPY, 0, {argument(state), arena(8)}, kToHost);
  test.addResult(1, argument(state), /*onHost=*/true);
  rg_program program = test.get();
  EXPECT_EQ(rg_argument_bytes(&program, /*host=*/1), 8);
  EXPECT_EQ(rg_argument_bytes(&program, /*host=*/0), 0);
  TestExecutor executor(test);
  ASSERT_EQ(executor.status, RG_OK) << executor.getError();
  Arguments arguments = {{{5}}};
  ASSERT_EQ(executor.run(arguments), RG_OK) << executor.getError();
  EXPECT_EQ(executor.getResult(0), std::vector<int64_t>{-5});
  EXPECT_EQ(arguments[0][0], std::vector<int64_t>{-5});
}

/// What nobody waits for is complete when the step ends.
TEST(HostCopyTest, EndsWithTheStep) {
  TestProgram test;
  test.hostArenaBytes = 16;
  int32_t x = test.addArgument(1);
  int32_t kernel = test.addKernel(negate);
  test.add(RG_OP_LAUNCH, kernel, {argument(x), arena(0)});
  test.add(RG_OP_COPY, 0, {host(1), arena(0)}, kToHost);
  test.addResult(1, arena(0));
  TestExecutor executor(test);
  for (int64_t value : {4, 9}) {
    Arguments arguments = {{{value}}};
    ASSERT_EQ(executor.run(arguments), RG_OK);
    EXPECT_EQ(executor.getResult(0), std::vector<int64_t>{-value});
  }
}

void expectHostProblem(const TestProgram &test, const std::string &message) {
  TestExecutor executor(test);
  EXPECT_EQ(executor.status, RG_ERROR_ARGUMENT);
  EXPECT_EQ(executor.getError(), message);
}

TEST(HostCopyTest, RefusesOtherUsesOfTheHost) {
  TestProgram outside, computes, result, negative;
  outside.hostArenaBytes = 8;
  outside.add(RG_OP_COPY, 0, {host(0, 2), arena(0, 2)}, kToHost);
  expectHostProblem(outside,
                    "place 0 of instruction 0 lies outside of its buffer");
  computes.hostArenaBytes = 8;
  computes.add(RG_OP_LAUNCH, computes.addKernel(negate), {arena(0), host(0)});
  expectHostProblem(computes,
                    "place 1 of instruction 0 lies on the host, which "
                    "only copies touch");
  result.hostArenaBytes = 8;
  result.addResult(1, host(0));
  expectHostProblem(result, "result 0 lies on the host, and does not say so");
  TestProgram argued, device;
  int32_t state = argued.addHostArgument(1);
  argued.add(RG_OP_LAUNCH, argued.addKernel(negate),
             {argument(state), arena(0)});
  expectHostProblem(argued, "place 0 of instruction 0 lies on the host, which "
                            "only copies touch");
  device.addResult(1, arena(0), /*onHost=*/true);
  expectHostProblem(device, "result 0 says that it lies on the host");
  negative.hostArenaBytes = -8;
  expectHostProblem(negative, "the arena has 4096 bytes, and -8 on the host, "
                              "aligned to 64");
}

TEST(HostCopyTest, RefusesMoreThanThereIs) {
  TestProgram test = makeRoundTrip(1);
  test.hostArenaBytes = int64_t(1) << 50;
  TestExecutor executor(test);
  EXPECT_EQ(executor.status, RG_ERROR_MEMORY);
  EXPECT_NE(executor.getError().find("1125899906842624 for that of the host"),
            std::string::npos)
      << executor.getError();
  rg_executor_options options = {};
  options.host_bandwidth = -1;
  EXPECT_EQ(TestExecutor(makeRoundTrip(1), options).status, RG_ERROR_ARGUMENT);
}

} // namespace
