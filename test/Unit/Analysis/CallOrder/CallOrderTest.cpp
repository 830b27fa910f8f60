//===- CallOrderTest.cpp - Whether recorded calls are ordered -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CallSequence.h"

#include "gtest/gtest.h"

using namespace llvm;
using namespace regather;
using namespace regather::test;

namespace {
constexpr CallRange kA = {0, 64}, kB = {64, 64}, kLast = {(1 << 20) - 64, 64};

class CallOrderTest : public ::testing::Test {
protected:
  CallOrderTest() { calls.allocate(); }

  CallSequence calls;
};
} // namespace

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

TEST_F(CallOrderTest, StreamsRunInOrder) {
  calls.launch(1, {}, {kA});
  calls.launch(1, {kA}, {kB});
  calls.launch(1, {kB}, {kA, kLast});
  EXPECT_EQ(calls.check(), "");
}

TEST_F(CallOrderTest, WritesAndReadsOfTwoStreams) {
  calls.launch(1, {}, {kA});
  calls.launch(2, {kA}, {});
  EXPECT_EQ(calls.check(), "race@3");
  calls.calls.pop_back();
  calls.record(1, 1);
  calls.wait(2, 1);
  calls.launch(2, {kA}, {});
  EXPECT_EQ(calls.check(), "");
  // The reader has to be done before the next write.
  calls.launch(1, {}, {kA});
  EXPECT_EQ(calls.check(), "race@6");
}

TEST_F(CallOrderTest, OnlyBytesInCommonMatter) {
  calls.launch(1, {}, {{0, 100}});
  calls.launch(2, {}, {{100, 100}});
  EXPECT_EQ(calls.check(), "");
  calls.launch(3, {}, {{99, 1}});
  EXPECT_EQ(calls.check(), "race@4");
}

TEST_F(CallOrderTest, TwoReadersNeedNoOrder) {
  calls.launch(1, {}, {kA});
  calls.record(1, 1);
  calls.wait(2, 1);
  calls.launch(1, {kA}, {});
  calls.launch(2, {kA}, {});
  EXPECT_EQ(calls.check(), "");
  // Which a writer has to follow both of.
  calls.launch(1, {}, {kA});
  EXPECT_EQ(calls.check(), "race@7");
}

// Streams have scratch memory of their own.
TEST_F(CallOrderTest, ScratchMemoryOfTwoStreams) {
  calls.useScratch("cublasLtMatmul", 1, {0, 64});
  calls.useScratch("cublasLtMatmul", 2, {64, 64});
  EXPECT_EQ(calls.check(), "");
  calls.useScratch("cudnnBackendExecute", 2, {0, 8});
  std::vector<CallFinding> findings = checkCalls({calls.calls});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].message,
            "cudnnBackendExecute on stream 2 (line 4) has as scratch memory "
            "bytes 0 to 7 of the allocation in line 1, which cublasLtMatmul on "
            "stream 1 (line 2) has as scratch memory; nothing orders the two");
}

TEST_F(CallOrderTest, EventsStandForWhatWasEnqueuedBefore) {
  calls.record(1, 1);
  calls.launch(1, {}, {kA});
  calls.wait(2, 1);
  calls.launch(2, {kA}, {});
  EXPECT_EQ(calls.check(), "race@5");
}

TEST_F(CallOrderTest, EventsAreTransitive) {
  calls.launch(1, {}, {kA});
  calls.record(1, 1);
  calls.wait(2, 1);
  calls.record(2, 2);
  calls.wait(3, 2);
  calls.launch(3, {kA}, {});
  EXPECT_EQ(calls.check(), "");
}

TEST_F(CallOrderTest, EventsCanBeRecordedAgain) {
  calls.record(1, 1);
  calls.launch(1, {}, {kA});
  calls.record(1, 1);
  calls.wait(2, 1);
  calls.launch(2, {kA}, {});
  EXPECT_EQ(calls.check(), "");
}

TEST_F(CallOrderTest, WaitForAnEventThatWasNotRecorded) {
  calls.wait(2, 1);
  EXPECT_EQ(calls.check(), "event-not-recorded@2");
}

TEST_F(CallOrderTest, TheHostOrdersWhatItEnqueuesLater) {
  calls.launch(1, {}, {kA});
  calls.onStream("cuStreamSynchronize", 1);
  calls.launch(2, {kA}, {kA});
  calls.record(1, 2);
  calls.add("cuEventSynchronize").event = 1;
  calls.launch(3, {kA}, {kA});
  calls.add("cuCtxSynchronize");
  calls.launch(1, {kA}, {kA});
  EXPECT_EQ(calls.check(), "");
}

TEST_F(CallOrderTest, MessagesNameBothCalls) {
  RecordedCall &write = calls.launch(1, {}, {kA});
  write.kernel = "k_1";
  write.instruction = 4;
  RecordedCall &read = calls.launch(2, {{32, 64}}, {});
  read.kernel = "k_2";
  read.instruction = 6;
  std::vector<CallFinding> findings = checkCalls({calls.calls});
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].message,
            "cuLaunchKernel \"k_2\" of instruction 6 on stream 2 (line 3) "
            "reads bytes 32 to 63 of the allocation in line 1, which "
            "cuLaunchKernel \"k_1\" of instruction 4 on stream 1 (line 2) "
            "writes; nothing orders the two");
  EXPECT_EQ(findings[1].kind, CallFinding::Kind::NeverWritten);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

TEST_F(CallOrderTest, BytesThatNothingHasWritten) {
  calls.launch(1, {}, {{0, 60}});
  calls.launch(1, {kA}, {});
  EXPECT_EQ(calls.check(), "never-written@3");
}

TEST_F(CallOrderTest, BytesBeyondAnAllocation) {
  calls.launch(1, {}, {{(1 << 20) - 63, 64}});
  EXPECT_EQ(calls.check(), "not-allocated@2");
}

TEST_F(CallOrderTest, MemoryThatWasFreed) {
  calls.launch(1, {}, {kA});
  calls.add("cuCtxSynchronize");
  calls.free();
  EXPECT_EQ(calls.check(), "");
  calls.launch(1, {kA}, {});
  EXPECT_EQ(calls.check(), "not-allocated@5");
}

TEST_F(CallOrderTest, MemoryThatIsFreedInUse) {
  calls.launch(1, {}, {kA});
  calls.free();
  EXPECT_EQ(calls.check(), "not-allocated@3");
}

TEST_F(CallOrderTest, MemoryThatIsAllocatedAgainHoldsNothing) {
  calls.launch(1, {}, {kA});
  calls.add("cuCtxSynchronize");
  calls.free();
  calls.allocate();
  calls.launch(1, {kA}, {});
  EXPECT_EQ(calls.check(), "never-written@6");
}

TEST_F(CallOrderTest, MemoryThatIsFreedTwice) {
  calls.free();
  calls.free();
  EXPECT_EQ(calls.check(), "not-allocated@3");
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

TEST_F(CallOrderTest, WaitsAndObjectsWithinAStep) {
  calls.onStream("cuStreamSynchronize", 1);
  calls.add("cuEventCreate").event = 1;
  EXPECT_EQ(calls.check(), "");
  calls.onStream("cuStreamSynchronize", 1).instruction = 3;
  calls.add("cuEventCreate").instruction = 3;
  calls.add("cuMemHostAlloc").instruction = 3;
  EXPECT_EQ(calls.check(), "within-step@4 within-step@5 within-step@6");
}

TEST_F(CallOrderTest, ConditionsAreRead) {
  RecordedCall &call = calls.onStream("cuStreamSynchronize", 1);
  call.instruction = 3;
  call.description = "exec.if at step.mlir:7:3";
  EXPECT_EQ(calls.check(), "");
  calls.calls.back().description = "exec.copy at step.mlir:7:3";
  EXPECT_EQ(calls.check(), "within-step@2");
}

TEST_F(CallOrderTest, CallsThatFail) {
  RecordedCall &call = calls.launch(1, {}, {kA});
  call.result = "CUDA_ERROR_INVALID_VALUE";
  call.problem = "no such kernel";
  EXPECT_EQ(calls.check(), "failed@2");
  for (const char *answer :
       {"CUDA_ERROR_NOT_READY", "CUDA_ERROR_NO_BINARY_FOR_GPU"}) {
    calls.calls.back().result = answer;
    EXPECT_EQ(calls.check(), "");
  }
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

TEST_F(CallOrderTest, GraphsRunWhereTheyAreLaunched) {
  calls.beginCapture(1);
  calls.launch(1, {kA}, {kB});
  calls.endCapture(1, 1);
  calls.launch(1, {}, {kA});
  calls.launchGraph(1, 1);
  calls.launchGraph(1, 1);
  calls.launch(1, {kB}, {});
  EXPECT_EQ(calls.check(), "");
  CallStatistics statistics;
  checkCalls({calls.calls}, &statistics);
  EXPECT_EQ(statistics.graphLaunches, 2);
  EXPECT_EQ(statistics.replayedCalls, 2);
  calls.launch(2, {kB}, {});
  EXPECT_EQ(calls.check(), "race@10");
}

TEST_F(CallOrderTest, ACaptureRunsNothing) {
  calls.beginCapture(1);
  calls.launch(1, {}, {kA});
  calls.endCapture(1, 1);
  calls.launch(1, {kA}, {});
  EXPECT_EQ(calls.check(), "never-written@6");
}

TEST_F(CallOrderTest, GraphsForkAndJoin) {
  calls.launch(1, {}, {kA});
  calls.beginCapture(1);
  calls.record(1, 1);
  calls.wait(2, 1);
  calls.launch(2, {kA}, {kB});
  calls.record(2, 2);
  calls.wait(1, 2);
  calls.launch(1, {kB}, {kA});
  calls.endCapture(1, 1);
  calls.launchGraph(1, 1);
  calls.launchGraph(1, 1);
  calls.launch(1, {kA, kB}, {});
  EXPECT_EQ(calls.check(), "");
}

TEST_F(CallOrderTest, RacesWithinAGraph) {
  calls.launch(1, {}, {kA});
  calls.beginCapture(1);
  calls.record(1, 1);
  calls.wait(2, 1);
  calls.launch(2, {kA}, {kB});
  calls.record(2, 2);
  calls.launch(1, {kA}, {kB});
  calls.wait(1, 2);
  calls.endCapture(1, 1);
  EXPECT_EQ(calls.check(), "");
  calls.launchGraph(1, 1);
  EXPECT_EQ(calls.check(), "race@8");
}

TEST_F(CallOrderTest, AGraphKnowsWhatItsStreamKnows) {
  calls.launch(2, {}, {kA});
  calls.beginCapture(1);
  calls.record(1, 1);
  calls.wait(2, 1);
  calls.launch(2, {kA}, {});
  calls.record(2, 2);
  calls.wait(1, 2);
  calls.endCapture(1, 1);
  // The graph does not run on stream 2, so it is not behind the first launch.
  calls.launchGraph(1, 1);
  EXPECT_EQ(calls.check(), "race@6");
}

TEST_F(CallOrderTest, WhatMayNotBeDoneDuringACapture) {
  calls.beginCapture(1);
  calls.add("cuCtxSynchronize");
  calls.onStream("cuStreamSynchronize", 3);
  calls.add("cuMemHostAlloc");
  calls.beginCapture(1);
  EXPECT_EQ(calls.check(), "illegal-capture@3 illegal-capture@4 "
                           "illegal-capture@5 illegal-capture@6");
}

TEST_F(CallOrderTest, EventsAcrossTheBoundsOfACapture) {
  calls.record(1, 2);
  calls.beginCapture(1);
  calls.wait(1, 1);
  calls.record(2, 1);
  calls.endCapture(1, 1);
  calls.wait(2, 2);
  EXPECT_EQ(calls.check(), "illegal-capture@4 illegal-capture@8");
}

TEST_F(CallOrderTest, ACaptureThatIsNotJoined) {
  calls.beginCapture(1);
  calls.record(1, 1);
  calls.wait(2, 1);
  calls.launch(2, {}, {kA});
  calls.endCapture(1, 1);
  EXPECT_EQ(calls.check(), "illegal-capture@6");
}

TEST_F(CallOrderTest, ACaptureOnAnotherStream) {
  calls.beginCapture(1);
  calls.endCapture(2, 1);
  EXPECT_EQ(calls.check(), "illegal-capture@3 unknown-graph@4");
}

TEST_F(CallOrderTest, GraphsThatDoNotExist) {
  calls.launchGraph(3, 1);
  EXPECT_EQ(calls.check(), "unknown-graph@2");
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

TEST_F(CallOrderTest, GroupsRunTogether) {
  calls.launch(2, {}, {kA});
  calls.collective("ncclAllReduce", 0, 1, 16).writes = {
      {CallSequence::kBase, 64}};
  calls.collective("ncclAllReduce", 0, 1, 16).writes = {
      {CallSequence::kBase + 64, 64}};
  calls.onStream("ncclGroupEnd", 2);
  calls.launch(2, {kA, kB}, {kA});
  EXPECT_EQ(calls.check(), "");
  // Nothing orders the members of a group.
  calls.calls[3].reads = {{CallSequence::kBase, 4}};
  EXPECT_EQ(calls.check(), "race@4");
  // Another group comes later.
  calls.calls.insert(calls.calls.begin() + 3, calls.calls[4]);
  EXPECT_EQ(calls.check(), "");
}

TEST(CallOrderRanksTest, TheSameOnAllRanks) {
  CallSequence first, second;
  for (CallSequence *rank : {&first, &second}) {
    int64_t number = rank == &second;
    rank->collective("ncclAllGather", number, 1, 16);
    rank->collective("ncclAllReduce", number, 2, 8);
    rank->collective("ncclAllReduce", number, 2, 8);
  }
  EXPECT_TRUE(checkCalls({first.calls, second.calls}).empty());
  // Over another communicator than before.
  second.calls[2].comm = 1;
  EXPECT_EQ(checkCalls({first.calls, second.calls}).size(), 1u);
  // Which numbers they have does not matter.
  second.calls[1].comm = second.calls[2].comm = 7;
  EXPECT_TRUE(checkCalls({first.calls, second.calls}).empty());
  for (RecordedCall &call : second.calls)
    call.comm = call.comm == 7 ? 2 : 1;
  second.calls[1].count = 4;
  std::vector<CallFinding> findings = checkCalls({first.calls, second.calls});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, CallFinding::Kind::RankOrder);
  EXPECT_EQ(findings[0].record, 1u);
  EXPECT_EQ(findings[0].message,
            "collective 2 of rank 1 is ncclAllReduce on stream 2 (line 2) of 4 "
            "elements of type 0 by reduction 0 over communicator 2, but that "
            "of rank 0 is ncclAllReduce on stream 2 (line 2) of 8 elements of "
            "type 0 by reduction 0 over communicator 2");
  std::swap(second.calls[0], second.calls[1]);
  EXPECT_EQ(checkCalls({first.calls, second.calls}).size(), 1u);
}

// As many bytes, but other values; and values of another rank.
TEST(CallOrderRanksTest, ComparesTypesAndRoots) {
  CallSequence first, second;
  first.collective("ncclBroadcast", 0, 1, 16).type = 7;
  second.collective("ncclBroadcast", 1, 1, 16).type = 7;
  EXPECT_TRUE(checkCalls({first.calls, second.calls}).empty());
  second.calls[0].type = 2;
  second.calls[0].peer = 1;
  std::vector<CallFinding> findings = checkCalls({first.calls, second.calls});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].message,
            "collective 1 of rank 1 is ncclBroadcast on stream 2 (line 1) of "
            "16 elements of type 2 from position 1 over communicator 1, but "
            "that of rank 0 is ncclBroadcast on stream 2 (line 1) of 16 "
            "elements of type 7 from position 0 over communicator 1");
  second.calls[0].type = 7;
  EXPECT_EQ(checkCalls({first.calls, second.calls}).size(), 1u);
}

TEST(CallOrderRanksTest, OneMoreOnOneRank) {
  CallSequence first, second;
  first.collective("ncclAllGather", 0, 1, 16);
  second.collective("ncclAllGather", 1, 1, 16);
  first.collective("ncclAllReduce", 0, 1, 8);
  std::vector<CallFinding> findings = checkCalls({first.calls, second.calls});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].message,
            "rank 1 starts 1 collectives, but rank 0 starts 2: the next is "
            "ncclAllReduce on stream 2 (line 2) of 8 elements of type 0 by "
            "reduction 0 over communicator 1");
}

TEST(CallOrderRanksTest, GraphsReplayCollectives) {
  CallSequence first, second;
  for (CallSequence *rank : {&first, &second}) {
    int64_t number = rank == &second;
    rank->beginCapture(2);
    rank->collective("ncclAllGather", number, 1, 16);
    rank->endCapture(2, 1);
    rank->launchGraph(1, 2);
  }
  EXPECT_TRUE(checkCalls({first.calls, second.calls}).empty());
  second.launchGraph(1, 2);
  EXPECT_EQ(checkCalls({first.calls, second.calls}).size(), 1u);
}

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

TEST(CallRecordTest, Reads) {
  auto calls = cantFail(parseCalls(R"({"call": "cuInit", "rank": 0}

{"call": "cuLaunchKernel", "rank": 2, "instruction": 7, "description": "kernel \"k\" at a.mlir:1:2", "stream": 3, "kernel": "k", "reads": [[140737488355328, 64], [0, 1]], "writes": []}
{"call": "cuMemAlloc_v2", "rank": 0, "bytes": 512, "address": 4096}
)"));
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_FALSE(calls[0].instruction);
  EXPECT_EQ(calls[1].line, 3);
  EXPECT_EQ(calls[1].rank, 2);
  EXPECT_EQ(calls[1].instruction, 7);
  EXPECT_EQ(calls[1].stream, 3);
  EXPECT_EQ(calls[1].kernel, "k");
  ASSERT_EQ(calls[1].reads.size(), 2u);
  EXPECT_EQ(calls[1].reads[0].address, uint64_t(1) << 47);
  EXPECT_EQ(calls[2].allocation.address, 4096u);
  EXPECT_EQ(calls[2].allocation.bytes, 512u);
}

TEST(CallRecordTest, Errors) {
  auto parse = [](const char *text) {
    Expected<std::vector<RecordedCall>> calls = parseCalls(text);
    return calls ? "" : toString(calls.takeError());
  };
  EXPECT_EQ(parse("{}"), "line 1: expects field 'call' with a name");
  EXPECT_EQ(parse("\n[]"), "line 2: expects a JSON object");
  EXPECT_NE(parse("{\"call\": \"cuI"), "");
  EXPECT_EQ(parse(std::string(1 << 20, '[').c_str()),
            "line 1: values are nested deeper than 100 levels");
  EXPECT_EQ(parse((R"({"call": "\")" + std::string(200, '[') + "\"}").c_str()),
            "");
  EXPECT_EQ(parse(R"({"call": "a", "stream": -1})"),
            "line 1: field 'stream' must be a number from 0 to 2^62");
  EXPECT_EQ(parse(R"({"call": "a", "stream": 9223372036854775807})"),
            "line 1: field 'stream' must be a number from 0 to 2^62");
  EXPECT_EQ(parse(R"({"call": "a", "reads": [[1]]})"),
            "line 1: field 'reads' must be a list of pairs of address and "
            "bytes");
  EXPECT_EQ(parse(R"({"call": "a", "writes": [[18446744073709551615, 2]]})"),
            "line 1: field 'writes' must be a list of pairs of address and "
            "bytes");
}
