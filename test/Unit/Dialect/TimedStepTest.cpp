//===- TimedStepTest.cpp - A step as a program with times -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Steps/TimedStep.h"
#include "regather/InitAll.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;

namespace {
class TimedStepTest : public ::testing::Test {
protected:
  TimedStepTest() : context(makeRegistry()) {
    context.loadAllAvailableDialects();
  }

  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }

  /// The first function of `source`; computation takes one second, collectives
  /// two.
  TimedStep build(StringRef source) {
    module = parseSourceString<ModuleOp>(source, &context);
    EXPECT_TRUE(module);
    if (!module)
      return {};
    auto func = *module->getOps<func::FuncOp>().begin();
    graph = std::make_unique<StepGraph>(func.front());
    StepTiming timing;
    timing.computeSeconds = [](Operation *) { return 1.0; };
    timing.collectiveSeconds = [](CollectiveOpInterface) { return 2.0; };
    timing.hostCopySeconds = [](HostCopyOpInterface) { return 3.0; };
    timing.getLink = [](StreamGroup group) {
      return static_cast<uint32_t>(group.axes.getNames().size() - 1);
    };
    timing.links.resize(2);
    return buildTimedStep(*graph, timing);
  }

  std::vector<int64_t> getPeaks(const TimedStep &step) const {
    return computeMemoryCurve(step.program, step.program.getStepOrder()).bytes;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::unique_ptr<StepGraph> graph;
};
} // namespace

TEST_F(TimedStepTest, Operations) {
  TimedStep step = build(R"mlir(
    tg.mesh @mesh [dp = 4]
    func.func @step(%w: tensor<8xf32>, %x: tensor<32xf32>) -> tensor<32xf32> {
      %0 = tg.all_gather %w on @mesh [dp] dim 0 phase forward {tg.id = "gather"}
        : (tensor<8xf32>) -> !tg.future<tensor<32xf32>>
      %1 = tg.node "aten.relu.default"(%x) {tg.id = "relu"} : (tensor<32xf32>) -> tensor<32xf32>
      %2 = tg.wait %0 : !tg.future<tensor<32xf32>>
      %3 = tg.node "aten.add.Tensor"(%1, %2) {tg.id = "relu"}
        : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
      return %3 : tensor<32xf32>
    }
  )mlir");
  const TimedGraph &program = step.program;
  ASSERT_EQ(program.ops.size(), 4u);
  EXPECT_EQ(program.ops[0].kind, TimedOpKind::Collective);
  EXPECT_EQ(program.ops[0].seconds, 2);
  EXPECT_EQ(program.ops[1].kind, TimedOpKind::Compute);
  EXPECT_EQ(program.ops[2].kind, TimedOpKind::Wait);
  EXPECT_EQ(program.ops[2].collective, 0u);
  EXPECT_TRUE(program.predecessors[0].empty());
  EXPECT_EQ(program.predecessors[2].vec(), (std::vector<uint32_t>{0}));
  EXPECT_EQ(program.predecessors[3].vec(), (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(program.residentBytes, 32 + 128);
  // The gathered tensor, and the results of relu and add.
  EXPECT_EQ(getPeaks(step), (std::vector<int64_t>{288, 416, 416, 544}));
  EXPECT_EQ(getOperationNames(*graph),
            (std::vector<std::string>{"gather", "relu", "tg.wait", "relu#2"}));
}

TEST_F(TimedStepTest, StreamsThatShareDevicesConflict) {
  TimedStep step = build(R"mlir(
    tg.mesh @mesh [one = 1, dp = 2, tp = 2]
    func.func @step(%x: tensor<8xf32>) {
      %0 = tg.all_reduce sum %x on @mesh [dp] phase forward
        : (tensor<8xf32>) -> !tg.future<tensor<8xf32>>
      %1 = tg.all_reduce sum %x on @mesh [tp] phase forward
        : (tensor<8xf32>) -> !tg.future<tensor<8xf32>>
      %2 = tg.all_reduce sum %x on @mesh [dp, tp] phase forward
        : (tensor<8xf32>) -> !tg.future<tensor<8xf32>>
      %3 = tg.all_reduce max %x on @mesh [dp] phase forward
        : (tensor<8xf32>) -> !tg.future<tensor<8xf32>>
      %4 = tg.all_reduce max %x on @mesh [one, tp] phase forward
        : (tensor<8xf32>) -> !tg.future<tensor<8xf32>>
      return
    }
  )mlir");
  const std::vector<TimedStream> &streams = step.program.streams;
  ASSERT_EQ(streams.size(), 4u);
  EXPECT_EQ(step.program.ops[3].stream, 0u);
  EXPECT_EQ(streams[0].conflicts, (std::vector<uint32_t>{2}));
  EXPECT_EQ(streams[1].conflicts, (std::vector<uint32_t>{2, 3}));
  EXPECT_EQ(streams[2].conflicts, (std::vector<uint32_t>{0, 1, 3}));
  EXPECT_EQ(streams[0].link, 0u);
  EXPECT_EQ(streams[2].link, 1u);
  EXPECT_EQ(step.streams[3].axes.getNames().size(), 2u);
}

TEST_F(TimedStepTest, CopiesToTheHostFreeMemory) {
  TimedStep step = build(R"mlir(
    tg.mesh @mesh [dp = 2]
    func.func @step(%x: tensor<32xf32>) -> tensor<32xf32> {
      %0 = tg.node "aten.relu.default"(%x) : (tensor<32xf32>) -> tensor<32xf32>
      %1 = tg.offload %0 : (tensor<32xf32>) -> !tg.future<tensor<32xf32, #tg.host>>
      %2 = tg.wait %1 : !tg.future<tensor<32xf32, #tg.host>>
      %3 = tg.all_reduce sum %x on @mesh [dp] phase forward
        : (tensor<32xf32>) -> !tg.future<tensor<32xf32>>
      %4 = tg.wait %3 : !tg.future<tensor<32xf32>>
      %5 = tg.fetch %2 : (tensor<32xf32, #tg.host>) -> !tg.future<tensor<32xf32>>
      %6 = tg.wait %5 : !tg.future<tensor<32xf32>>
      %7 = tg.node "aten.add.Tensor"(%4, %6)
        : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
      return %7 : tensor<32xf32>
    }
  )mlir");
  const TimedGraph &program = step.program;
  ASSERT_EQ(program.ops.size(), 8u);
  EXPECT_EQ(program.ops[1].kind, TimedOpKind::Collective);
  EXPECT_EQ(program.ops[1].seconds, 3);
  EXPECT_EQ(program.ops[2].collective, 1u);
  EXPECT_EQ(program.predecessors[5].vec(), (std::vector<uint32_t>{2}));
  ASSERT_EQ(step.streams.size(), 3u);
  EXPECT_TRUE(step.streams[0].isHost() && step.streams[0].isToHost);
  EXPECT_FALSE(step.streams[1].isHost());
  EXPECT_TRUE(step.streams[2].isHost() && !step.streams[2].isToHost);
  // Each direction has a link of its own, and none gets in the way of another.
  ASSERT_EQ(program.links.size(), 4u);
  EXPECT_EQ(program.links[2].name, "to host");
  EXPECT_EQ(program.links[3].name, "from host");
  EXPECT_EQ(program.streams[2].link, 3u);
  for (const TimedStream &stream : program.streams)
    EXPECT_TRUE(stream.conflicts.empty());
  // The argument; relu until it has been copied away; then two tensors at most,
  // and the sum.
  EXPECT_EQ(getPeaks(step),
            (std::vector<int64_t>{256, 256, 256, 256, 256, 384, 384, 512}));
}

TEST_F(TimedStepTest, MemoryOfViewsAndFlatTensors) {
  // The gathered buffer is in use until the last view of it has been read; the
  // parts of the flat gradient are computed in their places.
  TimedStep step = build(R"mlir(
    tg.mesh @mesh [dp = 2]
    func.func @step(%w: tensor<8xf32>) -> (tensor<4xf32>, tensor<8xf32>) {
      %0 = tg.all_gather %w on @mesh [dp] dim 0 phase forward
        : (tensor<8xf32>) -> !tg.future<tensor<16xf32>>
      %1 = tg.wait %0 : !tg.future<tensor<16xf32>>
      %2, %3 = tg.unflatten %1 offsets [0, 8] : (tensor<16xf32>) -> (tensor<8xf32>, tensor<4xf32>)
      %4 = tg.node "aten.view.default"(%2) args [#tg.operand<0>, [2, 4]]
        : (tensor<8xf32>) -> tensor<2x4xf32>
      %5 = tg.node "aten.relu.default"(%3) : (tensor<4xf32>) -> tensor<4xf32>
      %6 = tg.node "aten.relu.default"(%4) : (tensor<2x4xf32>) -> tensor<2x4xf32>
      %7 = tg.node "aten.view.default"(%6) args [#tg.operand<0>, [8]]
        : (tensor<2x4xf32>) -> tensor<8xf32>
      %8 = tg.flatten %7, %5 offsets [0, 8] : (tensor<8xf32>, tensor<4xf32>) -> tensor<16xf32>
      %9 = tg.reduce_scatter sum %8 on @mesh [dp] dim 0 phase backward
        : (tensor<16xf32>) -> !tg.future<tensor<8xf32>>
      %10 = tg.wait %9 : !tg.future<tensor<8xf32>>
      return %5, %10 : tensor<4xf32>, tensor<8xf32>
    }
  )mlir");
  EXPECT_EQ(getPeaks(step),
            (std::vector<int64_t>{32 + 64, 96, 96, 96, 96 + 16, 112 + 32,
                                  // The gathered buffer is free.
                                  144 - 64, 80 + 16, 96 + 32, 128}));
}

TEST_F(TimedStepTest, PartsOfRanksAreCopies) {
  // What was gathered is free when the rank has its quarter of it.
  TimedStep step = build(R"mlir(
    func.func @step(%x: tensor<8xf32>, %place: index) -> tensor<2xf32> {
      %0 = tg.node "aten.relu.default"(%x) : (tensor<8xf32>) -> tensor<8xf32>
      %1 = tensor.extract_slice %0[%place] [2] [1] : tensor<8xf32> to tensor<2xf32>
      %2 = tg.node "aten.relu.default"(%1) : (tensor<2xf32>) -> tensor<2xf32>
      return %2 : tensor<2xf32>
    }
  )mlir");
  EXPECT_EQ(getPeaks(step), (std::vector<int64_t>{64, 72, 48}));
}

TEST_F(TimedStepTest, UpdatesOfDonatedArgumentsTakeNoMemory) {
  StringRef source = R"mlir(
    func.func @step(%w: tensor<8xf32> {tg.role = #tg.role<parameter>, tg.donated})
        -> (tensor<8xf32> {tg.role = #tg.role<update of 0>}) {
      %0 = tg.node "aten.relu.default"(%w) : (tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
  )mlir";
  EXPECT_EQ(getPeaks(build(source)), (std::vector<int64_t>{32}));
  std::string kept = source.str();
  kept.erase(kept.find(", tg.donated"), strlen(", tg.donated"));
  EXPECT_EQ(getPeaks(build(kept)), (std::vector<int64_t>{64}));
}

TEST_F(TimedStepTest, EffectsStayInOrder) {
  TimedStep step = build(R"mlir(
    func.func @step(%x: tensor<8xf32>) {
      tg.node "aten._assert_async.msg"(%x) effects : (tensor<8xf32>) -> ()
      %0 = tg.node "aten.relu.default"(%x) : (tensor<8xf32>) -> tensor<8xf32>
      tg.node "aten._assert_async.msg"(%x) effects : (tensor<8xf32>) -> ()
      return
    }
  )mlir");
  EXPECT_TRUE(step.program.predecessors[1].empty());
  EXPECT_EQ(step.program.predecessors[2].vec(), (std::vector<uint32_t>{0}));
}
