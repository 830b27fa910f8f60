//===- ExecutorTest.cpp - Tests of compiled steps -------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Program/TestProgram.h"

#include <atomic>

using namespace regather::test;

namespace {

using Arguments = std::vector<std::vector<std::vector<int64_t>>>;

int64_t *at(void *const *buffers, int i) {
  return static_cast<int64_t *>(buffers[i]);
}

/// out = a + b
int32_t addNumbers(void *const *buffers, int64_t, int64_t, void *) {
  *at(buffers, 2) = *at(buffers, 0) + *at(buffers, 1);
  return 0;
}

int32_t addOne(void *const *buffers, int64_t, int64_t, void *) {
  *at(buffers, 1) = *at(buffers, 0) + 1;
  return 0;
}

/// Counts how often each row is computed, and notes where its range began.
int32_t countRows(void *const *buffers, int64_t begin, int64_t end, void *) {
  for (int64_t i = begin; i < end; ++i) {
    ++at(buffers, 0)[i];
    at(buffers, 1)[i] = begin;
  }
  return 0;
}

/// Sums rows through scratch memory, which another thread would disturb.
int32_t useScratch(void *const *buffers, int64_t begin, int64_t end,
                   void *scratch) {
  if (reinterpret_cast<uintptr_t>(scratch) % 64 != 0)
    return 2;
  auto *memory = static_cast<int64_t *>(scratch);
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t k = 0; k < 512; ++k)
      memory[k] = i;
    int64_t sum = 0;
    for (int64_t k = 0; k < 512; ++k)
      sum += memory[k];
    at(buffers, 0)[i] = sum;
  }
  return 0;
}

int32_t failAlways(void *const *, int64_t, int64_t, void *) { return 1; }

TEST(ExecutorTest, RunsKernelsOverTheArena) {
  TestProgram test;
  int32_t x = test.addArgument(1);
  int32_t two = test.addConstant({2});
  int32_t kernel = test.addKernel(addNumbers);
  test.add(RG_OP_LAUNCH, kernel, {argument(x), constant(two), arena(5)});
  test.add(RG_OP_LAUNCH, kernel, {arena(5), arena(5), arena(9)});
  test.add(RG_OP_COPY, 0, {arena(1), arena(9)});
  test.add(RG_OP_FILL, 0, {arena(9, 5), constant(two)});
  test.addResult(1, arena(1));
  test.addResult(5, arena(9, 5));
  TestExecutor executor(test);
  ASSERT_EQ(executor.status, RG_OK) << executor.getError();
  for (int64_t value : {10, -3}) {
    Arguments arguments = {{{value}}};
    ASSERT_EQ(executor.run(arguments), RG_OK);
    EXPECT_EQ(executor.getResult(0, 0), std::vector<int64_t>{2 * (value + 2)});
    EXPECT_EQ(executor.getResult(0, 1), std::vector<int64_t>(5, 2));
  }
}

TEST(ExecutorTest, UpdatesDonatedArgumentsInPlace) {
  TestProgram test;
  int32_t weight = test.addArgument(1, /*donated=*/true);
  int32_t kernel = test.addKernel(addOne);
  rg_slice slice = argument(weight);
  test.add(RG_OP_LAUNCH, kernel, {slice, slice});
  test.addResult(1, slice);
  TestExecutor executor(test);
  Arguments arguments = {{{40}}};
  ASSERT_EQ(executor.run(arguments), RG_OK);
  ASSERT_EQ(executor.run(arguments), RG_OK);
  EXPECT_EQ(arguments[0][0][0], 42);
  EXPECT_EQ(executor.getResult(0), std::vector<int64_t>{42});
}

TEST(ExecutorTest, CutsRowsAtTheGrain) {
  constexpr int64_t kRows = 10000, kGrain = 7;
  TestProgram test;
  test.arenaBytes = 2 * kRows * 8;
  int32_t kernel = test.addKernel(countRows, kRows, kGrain);
  rg_slice counts = arena(0, kRows);
  rg_slice begins = arena(kRows, kRows);
  test.add(RG_OP_LAUNCH, kernel, {counts, begins});
  test.addResult(kRows, counts);
  test.addResult(kRows, begins);
  for (int32_t threads : {1, 2, 5}) {
    rg_executor_options options = {};
    options.threads = threads;
    TestExecutor executor(test, options);
    constexpr int64_t kSteps = 50;
    for (int64_t i = 0; i < kSteps; ++i)
      ASSERT_EQ(executor.run(), RG_OK);
    EXPECT_EQ(executor.getResult(0, 0), std::vector<int64_t>(kRows, kSteps));
    int64_t ranges = 0;
    std::vector<int64_t> where = executor.getResult(0, 1);
    for (int64_t i = 0; i < kRows; ++i) {
      EXPECT_EQ(where[size_t(i)] % kGrain, 0);
      ranges += where[size_t(i)] == i;
    }
    EXPECT_EQ(ranges > 1, threads > 1);
  }
}

TEST(ExecutorTest, GivesEachThreadItsScratch) {
  constexpr int64_t kRows = 20000;
  TestProgram test;
  test.arenaBytes = kRows * 8;
  int32_t kernel = test.addKernel(useScratch, kRows, 1, 512 * 8 - 1);
  test.add(RG_OP_LAUNCH, kernel, {arena(0, kRows)});
  test.addResult(kRows, arena(0, kRows));
  rg_executor_options options = {};
  options.threads = 4;
  TestExecutor executor(test, options);
  ASSERT_EQ(executor.run(), RG_OK);
  EXPECT_EQ(executor.getBytes(), kRows * 8 + 4 * 512 * 8);
  for (int64_t i = 0; i < kRows; ++i)
    ASSERT_EQ(executor.getResult(0)[size_t(i)], i * 512);
}

//===----------------------------------------------------------------------===//
// Communication
//===----------------------------------------------------------------------===//

TEST(ExecutorTest, GathersAlongTheAxesOfAMesh) {
  // Ranks of a mesh [2, 3]; groups of the first axis are {r, r + 3}.
  TestProgram test;
  test.ranks = 6;
  int32_t first = test.addAxes({2}, {3});
  int32_t both = test.addAxes({2, 3}, {3, 1});
  int32_t gather = test.addCollective(RG_ALL_GATHER, first, 1, 2);
  test.add(RG_OP_AXIS_INDEX, both, {arena(0)});
  test.add(RG_OP_AXIS_INDEX, first, {arena(1)});
  test.add(RG_OP_COLLECTIVE, gather, {arena(0), arena(2, 2)}, /*stream=*/1);
  test.add(RG_OP_RECORD, 0, {}, 1);
  test.add(RG_OP_WAIT, 0, {}, 0);
  test.add(RG_OP_COPY, 0, {arena(4, 2), arena(2, 2)});
  test.addResult(2, arena(4, 2));
  test.addResult(1, arena(1));
  TestExecutor executor(test);
  // The same world and the same arenas run many steps.
  for (int step = 0; step < 20; ++step)
    ASSERT_EQ(executor.run(), RG_OK) << executor.getError();
  for (int64_t rank = 0; rank < 6; ++rank) {
    EXPECT_EQ(executor.getResult(int32_t(rank)),
              std::vector<int64_t>({rank % 3, rank % 3 + 3}));
    EXPECT_EQ(executor.getResult(int32_t(rank), 1),
              std::vector<int64_t>({rank / 3}));
  }
}

TEST(ExecutorTest, OrdersCollectivesByEvents) {
  // Each collective reads what the one before it has written.
  TestProgram test;
  test.ranks = 4;
  int32_t axes = test.addAxes({4}, {1});
  int32_t reduce = test.addCollective(RG_ALL_REDUCE, axes, 1, 1);
  test.add(RG_OP_AXIS_INDEX, axes, {arena(0)});
  for (int64_t i = 0; i < 10; ++i) {
    test.add(RG_OP_COLLECTIVE, reduce, {arena(i), arena(i + 1)}, i % 2 + 1);
    test.add(RG_OP_RECORD, 0, {}, i % 2 + 1);
    test.add(RG_OP_WAIT, 0, {}, (i + 1) % 2 + 1);
  }
  test.add(RG_OP_SYNC, 0);
  test.add(RG_OP_COPY, 0, {arena(20), arena(10)});
  test.addResult(1, arena(20));
  TestExecutor executor(test);
  for (int step = 0; step < 20; ++step)
    ASSERT_EQ(executor.run(), RG_OK) << executor.getError();
  EXPECT_EQ(executor.getResult(3), std::vector<int64_t>{6 << 18});
}

TEST(ExecutorTest, RecordsWhenInstructionsRun) {
  TestProgram test;
  test.ranks = 2;
  int32_t axes = test.addAxes({2}, {1});
  int32_t reduce = test.addCollective(RG_ALL_REDUCE, axes, 1, 1);
  test.add(RG_OP_AXIS_INDEX, axes, {arena(0)});
  test.add(RG_OP_COLLECTIVE, reduce, {arena(0), arena(1)}, 1);
  test.add(RG_OP_COPY, 0, {arena(2), arena(0)});
  test.add(RG_OP_SYNC, 0);
  test.addResult(1, arena(1));
  rg_executor_options options = {};
  options.record_spans = 1;
  options.latency_seconds = 0.01;
  TestExecutor executor(test, options);
  for (int step = 0; step < 2; ++step)
    ASSERT_EQ(executor.run(), RG_OK) << executor.getError();
  for (int32_t rank = 0; rank < 2; ++rank) {
    std::vector<rg_span> spans = executor.getSpans(rank);
    std::vector<int64_t> instructions;
    for (const rg_span &span : spans) {
      instructions.push_back(span.instruction);
      EXPECT_GE(span.begin, 0);
      EXPECT_GE(span.end, span.begin);
    }
    // The collective is known to be done when the rank has waited for it.
    ASSERT_EQ(instructions, (std::vector<int64_t>{0, 2, 1, 3}));
    // Rounded as seconds of a clock that has run for long.
    EXPECT_GE(spans[2].end - spans[2].begin, options.latency_seconds - 1e-6);
    EXPECT_GE(spans[3].end, spans[2].end);
  }
}

TEST(ExecutorTest, RecordsNothingUnlessAsked) {
  TestProgram test;
  test.add(RG_OP_COPY, 0, {arena(1), arena(0)});
  TestExecutor executor(test);
  ASSERT_EQ(executor.run(), RG_OK) << executor.getError();
  EXPECT_TRUE(executor.getSpans(0).empty());
}

TEST(ExecutorTest, NamesThePlacesOfADeadlock) {
  TestProgram test;
  test.ranks = 2;
  int32_t axes = test.addAxes({2}, {1});
  int32_t reduce = test.addCollective(RG_ALL_REDUCE, axes, 1, 1,
                                      "all_reduce at step.mlir:7");
  test.add(RG_OP_AXIS_INDEX, axes, {arena(0)});
  test.add(RG_OP_JUMP_IF_ZERO, 0, {arena(0)}, 0, /*target=*/5);
  int64_t start = test.add(RG_OP_COLLECTIVE, reduce, {arena(1), arena(2)}, 1);
  test.add(RG_OP_RECORD, 0, {}, 1);
  test.add(RG_OP_WAIT, 0);
  TestExecutor executor(test);
  EXPECT_EQ(executor.run(), RG_ERROR_DEADLOCK);
  EXPECT_NE(executor.getError().find("all_reduce at step.mlir:7"),
            std::string::npos)
      << executor.getError();
  EXPECT_EQ(executor.getFailure().rank, 1);
  EXPECT_EQ(executor.getFailure().instruction, start);
  EXPECT_NE(executor.run(), RG_OK);
}

TEST(ExecutorTest, SaysWhichKernelWasOutOfBounds) {
  TestProgram test;
  test.ranks = 3;
  int32_t axes = test.addAxes({3}, {1});
  int32_t reduce = test.addCollective(RG_ALL_REDUCE, axes, 1, 1);
  int32_t kernel = test.addKernel(failAlways);
  // Rank 0 goes past it and waits for the others.
  test.add(RG_OP_AXIS_INDEX, axes, {arena(0)});
  test.add(RG_OP_JUMP_IF_ZERO, 0, {arena(0)}, 0, /*target=*/3);
  int64_t launch = test.add(RG_OP_LAUNCH, kernel);
  test.add(RG_OP_COLLECTIVE, reduce, {arena(1), arena(2)}, 1);
  TestExecutor executor(test);
  EXPECT_EQ(executor.run(), RG_ERROR_ARGUMENT);
  EXPECT_EQ(executor.getError(), "an index is out of bounds");
  EXPECT_EQ(executor.getFailure().rank, 1);
  EXPECT_EQ(executor.getFailure().instruction, launch);
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

/// for (i = begin; i < end; i += step) { ++result; end = 0; step = 0; }
TestProgram getLoop() {
  TestProgram test;
  for (int i = 0; i < 3; ++i)
    test.addArgument(1, /*donated=*/true);
  int32_t zero = test.addConstant({0});
  int32_t kernel = test.addKernel(addOne);
  test.add(RG_OP_FILL, 0, {arena(0, 2), constant(zero)});
  test.add(RG_OP_LOOP, 1, {arena(0), argument(0), argument(1), argument(2)}, 0,
           /*target=*/6);
  test.add(RG_OP_LAUNCH, kernel, {arena(1), arena(1)});
  // Bounds are read once.
  test.add(RG_OP_FILL, 0, {argument(1), constant(zero)});
  test.add(RG_OP_FILL, 0, {argument(2), constant(zero)});
  test.add(RG_OP_NEXT, 1, {arena(0)}, 0, /*target=*/2);
  test.addResult(1, arena(1));
  test.addResult(1, arena(0));
  return test;
}

TEST(ExecutorTest, RunsLoops) {
  struct Case {
    int64_t begin, end, step, times, last;
  };
  for (Case c :
       {Case{0, 10, 3, 4, 9}, Case{5, 5, 1, 0, 0}, Case{-2, 1, 1, 3, 0},
        Case{0, 10, 0, 0, 0}, Case{0, 10, -1, 0, 0},
        Case{INT64_MAX - 1, INT64_MAX, 5, 1, INT64_MAX - 1}}) {
    TestProgram test = getLoop();
    TestExecutor executor(test);
    Arguments arguments = {{{c.begin}, {c.end}, {c.step}}};
    ASSERT_EQ(executor.run(arguments), RG_OK) << executor.getError();
    EXPECT_EQ(executor.getResult(0), std::vector<int64_t>{c.times})
        << c.begin << ' ' << c.end << ' ' << c.step;
    EXPECT_EQ(executor.getResult(0, 1), std::vector<int64_t>{c.last});
  }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

TEST(ExecutorTest, SaysHowMuchMemoryIsMissing) {
  TestProgram test;
  test.ranks = 4;
  test.arenaBytes = int64_t(1) << 50;
  TestExecutor executor(test);
  EXPECT_EQ(executor.status, RG_ERROR_MEMORY);
  EXPECT_NE(executor.getError().find(
                "the step needs 1125899906842624 bytes for its arena"),
            std::string::npos)
      << executor.getError();
  EXPECT_NE(executor.run(), RG_OK);
}

TEST(ExecutorTest, FindsWhatIsTouched) {
  TestProgram test;
  test.arenaBytes = 1 << 20;
  int32_t zero = test.addConstant({0});
  test.add(RG_OP_FILL, 0, {arena(100), constant(zero)});
  rg_executor_options options = {};
  options.watch_arena = 1;
  TestExecutor watched(test, options);
  EXPECT_EQ(watched.getTouched(), 0);
  ASSERT_EQ(watched.run(), RG_OK);
  EXPECT_EQ(watched.getTouched(), 832); // 808, in units of 64
  TestExecutor unwatched(test);
  ASSERT_EQ(unwatched.run(), RG_OK);
  EXPECT_EQ(unwatched.getTouched(), -1);
}

//===----------------------------------------------------------------------===//
// Memory of the caller
//===----------------------------------------------------------------------===//

rg_slice destination(int32_t index, int64_t count = 1) {
  return {RG_SPACE_RESULT, index, 0, count * 8};
}

TEST(ExecutorTest, WritesResultsToMemoryOfTheCaller) {
  TestProgram test;
  test.addArgument(2);
  test.add(RG_OP_COPY, 0, {destination(1, 2), argument(0, 2)});
  test.addResult(2, argument(0, 2));
  test.addResult(2, destination(1, 2));
  rg_program program = test.get();
  rg_executor_options options = {};
  rg_executor *executor = nullptr;
  ASSERT_EQ(rg_executor_create(&program, &options, &executor), RG_OK);
  int64_t input[] = {3, 4}, first[] = {0, 0}, second[] = {0, 0};
  void *arguments[] = {input};
  void *const *ranks[] = {arguments};
  for (int64_t *output : {first, second}) {
    // Of the first result, nothing is read.
    void *results[] = {nullptr, output};
    void *const *ofRanks[] = {results};
    ASSERT_EQ(rg_executor_run(executor, ranks, ofRanks), RG_OK);
    EXPECT_EQ(rg_executor_result(executor, 0, 1), output);
    ++input[0];
  }
  // What the first run has left is still there.
  EXPECT_EQ(first[0], 3);
  EXPECT_EQ(second[0], 4);
  // Without memory nothing is run, and the next step is not the worse for it.
  EXPECT_EQ(rg_executor_run(executor, ranks, nullptr), RG_ERROR_ARGUMENT);
  void *results[] = {nullptr, first};
  void *const *ofRanks[] = {results};
  EXPECT_EQ(rg_executor_run(executor, ranks, ofRanks), RG_OK);
  EXPECT_EQ(first[0], 5);
  rg_executor_destroy(executor);
}

//===----------------------------------------------------------------------===//
// Bad tables
//===----------------------------------------------------------------------===//

void expectProblem(const TestProgram &test, const std::string &message) {
  TestExecutor executor(test);
  EXPECT_EQ(executor.status, RG_ERROR_ARGUMENT);
  EXPECT_EQ(executor.getError(), message);
}

TEST(ProgramCheckTest, RefusesAnotherVersion) {
  rg_program program = TestProgram().get();
  program.version = 99;
  rg_executor_options options = {};
  rg_executor *executor = nullptr;
  EXPECT_EQ(rg_executor_create(&program, &options, &executor),
            RG_ERROR_ARGUMENT);
  EXPECT_STREQ(rg_executor_error(executor),
               "the program has version 99, but this runtime runs version 6");
  rg_executor_destroy(executor);
}

TEST(ProgramCheckTest, RefusesAnotherNumberOfRanks) {
  TestProgram test;
  test.ranks = 4;
  rg_executor_options options = {};
  options.ranks = 2;
  TestExecutor executor(test, options);
  EXPECT_EQ(executor.status, RG_ERROR_ARGUMENT);
  EXPECT_EQ(executor.getError(),
            "the program was compiled for 4 ranks, not for 2");
}

TEST(ProgramCheckTest, RefusesPlacesOutsideOfTheirBuffer) {
  for (rg_slice slice : {arena(511, 2), arena(-1), argument(0, 2), argument(1),
                         constant(0), destination(0), rg_slice{7, 0, 0, 0},
                         rg_slice{RG_SPACE_ARENA, 0, INT64_MAX, 8}}) {
    TestProgram test;
    test.addArgument(1);
    test.add(RG_OP_JUMP_IF_ZERO, 0, {slice});
    expectProblem(test, "place 0 of instruction 0 lies outside of its buffer");
  }
}

TEST(ProgramCheckTest, RefusesShapesThatNoMemoryCanHold) {
  // Eight times the second one is 16 in 64 bits.
  for (int64_t size : {int64_t(-1), (int64_t(1) << 61) + 2}) {
    TestProgram test;
    test.addArgument(1);
    test.addArgument(size);
    test.add(RG_OP_JUMP_IF_ZERO, 0, {argument(1)});
    expectProblem(test, "argument 1 has a shape that no memory can hold");
  }
}

TEST(ProgramCheckTest, RefusesMalformedInstructions) {
  TestProgram noKernel, noEvent, noStream, opcode, target, sizes, count, loop,
      fill;
  noKernel.add(RG_OP_LAUNCH, 3);
  expectProblem(noKernel, "instruction 0: there is no kernel 3");
  noEvent.add(RG_OP_WAIT, 4);
  expectProblem(noEvent, "instruction 0: there is no event 4");
  noStream.add(RG_OP_RECORD, 0, {}, /*stream=*/3);
  expectProblem(noStream, "instruction 0: there is no stream 3");
  opcode.add(99, 0);
  expectProblem(opcode, "instruction 0 has the unknown opcode 99");
  target.add(RG_OP_JUMP, 0, {}, 0, /*target=*/2);
  expectProblem(target,
                "instruction 0 goes on at instruction 2, which is none");
  sizes.add(RG_OP_COPY, 0, {arena(0, 1), arena(1, 2)});
  expectProblem(sizes, "instruction 0 copies 16 bytes to 8");
  count.add(RG_OP_NEXT, 0, {arena(0), arena(1)});
  expectProblem(count, "instruction 0 has 2 places, expects 1");
  loop.add(RG_OP_LOOP, 2, {arena(0), arena(1), arena(2), arena(3)});
  expectProblem(loop, "instruction 0: there is no loop 2");
  fill.add(RG_OP_FILL, 0, {arena(0, 3), arena(4, 2)});
  expectProblem(fill, "instruction 0 fills 24 bytes with elements of 16");
}

TEST(ProgramCheckTest, RefusesCollectivesOfOtherSizes) {
  TestProgram test;
  int32_t axes = test.addAxes({1}, {1});
  int32_t gather = test.addCollective(RG_ALL_GATHER, axes, 1, 1);
  test.add(RG_OP_COLLECTIVE, gather, {arena(0), arena(1, 2)}, 1);
  expectProblem(test, "instruction 0: member 0 has places of another size "
                      "than its shapes");
}

} // namespace
