//===- PartitionTest.cpp - The C interface of partitions ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather-c/Partition.h"

#include "regather-c/Cost.h"
#include "regather-c/Policy.h"

#include "gtest/gtest.h"

#include <cmath>
#include <string>
#include <vector>

extern "C" uint32_t regatherTestGetVersionFromC(void);

namespace {
constexpr uint32_t kGemm = 0, kFused = 1, kGather = 2, kWait = 3;

template <typename... Nodes> std::vector<uint32_t> list(Nodes... nodes) {
  return {nodes...};
}

testing::AssertionResult has(const std::string &text, const char *part) {
  if (text.find(part) != std::string::npos)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << '"' << text << "\" lacks " << part;
}

/// A graph that is built node by node.
class GraphBuilder {
public:
  uint32_t add(uint32_t target, uint32_t traits,
               std::vector<uint32_t> nodeInputs, int64_t size) {
    targets.push_back(target);
    nodeTraits.push_back(traits);
    inputs.insert(inputs.end(), nodeInputs.begin(), nodeInputs.end());
    begins.push_back(inputs.size());
    bytes.push_back(size);
    inputBytes.push_back(size);
    return targets.size() - 1;
  }
  uint32_t addArgument(uint32_t traits = 0) {
    return add(kGemm, RegatherNodeArgument | traits, {}, 100);
  }
  uint32_t addTangent() { return add(kGemm, RegatherNodeTangent, {}, 100); }

  RegatherGraphArrays getArrays() const {
    RegatherGraphArrays arrays;
    arrays.numNodes = targets.size();
    arrays.numTargets = targetTraits.size();
    arrays.targets = targets.data();
    arrays.nodeTraits = nodeTraits.data();
    arrays.targetTraits = targetTraits.data();
    arrays.inputBegins = begins.data();
    arrays.inputs = inputs.data();
    arrays.bytes = bytes.data();
    arrays.inputBytes = inputBytes.data();
    return arrays;
  }

  std::vector<uint32_t> targets, nodeTraits, begins = {0}, inputs;
  std::vector<uint32_t> targetTraits = {
      RegatherTargetLibraryCall,
      RegatherTargetRecomputable | RegatherTargetFusible, RegatherTargetGather,
      RegatherTargetWait | RegatherTargetEffects};
  std::vector<int64_t> bytes, inputBytes;
};

/// The message of a status, which is destroyed; empty for success.
std::string takeMessage(RegatherStatus *status) {
  std::string message = regatherStatusGetMessage(status);
  regatherStatusDestroy(status);
  return message;
}

struct Result {
  std::string message;
  std::vector<uint32_t> saved, forward, backward;
};

std::vector<uint32_t> toVector(RegatherNodes nodes) {
  return {nodes.nodes, nodes.nodes + nodes.count};
}

Result partition(const GraphBuilder &builder,
                 const RegatherPartitionOptions &options) {
  RegatherGraphArrays arrays = builder.getArrays();
  RegatherGraph *graph = nullptr;
  Result result;
  result.message = takeMessage(regatherGraphCreate(&arrays, &graph));
  if (!result.message.empty())
    return result;
  RegatherPartition *made = nullptr;
  result.message = takeMessage(regatherPartitionCreate(graph, &options, &made));
  regatherGraphDestroy(graph);
  if (made) {
    result.saved = toVector(regatherPartitionGetSaved(made));
    result.forward = toVector(regatherPartitionGetForward(made));
    result.backward = toVector(regatherPartitionGetBackward(made));
  }
  regatherPartitionDestroy(made);
  return result;
}

RegatherPartitionOptions withMode(RegatherPartitionMode mode) {
  RegatherPartitionOptions options = {};
  options.mode = mode;
  return options;
}

/// x, gemm, exp, exp, loss; backward reads both results of exp.
struct Chain : GraphBuilder {
  Chain() {
    x = addArgument();
    gemm = add(kGemm, 0, {x}, 100);
    first = add(kFused, 0, {gemm}, 100);
    second = add(kFused, 0, {first}, 100);
    loss = add(kFused, RegatherNodeForwardResult, {second}, 100);
    tangent = addTangent();
    gradient =
        add(kGemm, RegatherNodeBackwardResult, {tangent, first, second}, 100);
  }
  uint32_t x, gemm, first, second, loss, tangent, gradient;
};

/// A policy for a chain, of which the calls before the loss are in a block.
struct BlockPolicy {
  std::vector<const char *> modules = {"layers.0"}, saved, patterns;
  std::vector<uint32_t> moduleOfNode = {
      REGATHER_C_NONE, 0, 0, 0, REGATHER_C_NONE, REGATHER_C_NONE,
      REGATHER_C_NONE};
  std::vector<const char *> names = {"aten.mm.default", "aten.exp.default",
                                     "gather", "wait"};
  std::vector<uint8_t> isParameter = std::vector<uint8_t>(7);
  std::vector<uint32_t> patternPlans;
  uint32_t plan = RegatherPolicyFull;
  uint32_t units = 0;

  /// What is saved under the policy, or the message.
  Result run() const {
    RegatherGraphArrays arrays = chain.getArrays();
    RegatherGraph *graph = nullptr;
    Result result;
    result.message = takeMessage(regatherGraphCreate(&arrays, &graph));
    auto toTexts = [](const std::vector<const char *> &texts) {
      return RegatherTexts{static_cast<uint32_t>(texts.size()), texts.data()};
    };
    RegatherPolicy policy = {};
    policy.plan = plan;
    policy.patterns = toTexts(patterns);
    policy.patternPlans = patternPlans.data();
    policy.saved = toTexts(saved);
    policy.modules = toTexts(modules);
    policy.moduleOfNode = moduleOfNode.data();
    policy.targetNames = names.data();
    policy.isParameter = isParameter.data();
    policy.units = units;
    result.message = takeMessage(regatherGraphApplyPolicy(graph, &policy));
    RegatherPartitionOptions options = {};
    options.mode = RegatherPartitionDefault;
    RegatherPartition *made = nullptr;
    if (result.message.empty())
      result.message =
          takeMessage(regatherPartitionCreate(graph, &options, &made));
    if (made)
      result.saved = toVector(regatherPartitionGetSaved(made));
    regatherPartitionDestroy(made);
    regatherGraphDestroy(graph);
    return result;
  }

  Chain chain;
};

TEST(CAPIPolicyTest, blocksAreComputedAgain) {
  BlockPolicy policy;
  Result full = policy.run();
  EXPECT_EQ(full.message, "");
  // The last value of the block goes on to the loss.
  EXPECT_EQ(full.saved, list(policy.chain.x, policy.chain.second));
  policy.plan = RegatherPolicySelective;
  EXPECT_EQ(policy.run().saved, list(policy.chain.gemm, policy.chain.second));
  policy.plan = RegatherPolicyNone;
  EXPECT_EQ(policy.run().saved, list(policy.chain.first, policy.chain.second));
}

TEST(CAPIPolicyTest, malformedPoliciesAreErrors) {
  BlockPolicy units;
  units.units = 7;
  EXPECT_TRUE(has(units.run().message, "option 'units' is for the first 7 of"));
  BlockPolicy plan;
  plan.plan = 9;
  EXPECT_TRUE(has(plan.run().message, "no such plan"));
  BlockPolicy module;
  module.moduleOfNode[1] = 5;
  EXPECT_TRUE(has(module.run().message, "module of node 1 does not exist"));
  BlockPolicy saved;
  saved.saved = {"aten.cos.*"};
  EXPECT_TRUE(has(saved.run().message, "\"aten.cos.*\" of option 'save'"));
  BlockPolicy pattern;
  pattern.patterns = {"blocks.*", "tail"};
  pattern.patternPlans = {RegatherPolicyFull, RegatherPolicyNone};
  EXPECT_TRUE(has(pattern.run().message,
                  "patterns \"blocks.*\" and \"tail\" of option 'modules'"));
}

TEST(CAPIPartitionTest, versionIsThatOfTheHeader) {
  EXPECT_EQ(regatherTestGetVersionFromC(), uint32_t(REGATHER_C_VERSION));
  EXPECT_TRUE(has(regatherGetBuildId(), "-"));
}

TEST(CAPIPartitionTest, minCutSavesOneOfAChain) {
  Chain chain;
  Result result = partition(chain, withMode(RegatherPartitionMinCut));
  EXPECT_EQ(result.message, "");
  EXPECT_EQ(result.saved, list(chain.first));
  EXPECT_EQ(result.forward,
            list(chain.gemm, chain.first, chain.second, chain.loss));
  EXPECT_EQ(result.backward, list(chain.second, chain.gradient));
}

TEST(CAPIPartitionTest, defaultSavesWhatIsRead) {
  Chain chain;
  Result result = partition(chain, withMode(RegatherPartitionDefault));
  EXPECT_EQ(result.saved, list(chain.first, chain.second));
  EXPECT_EQ(result.backward, list(chain.gradient));
}

TEST(CAPIPartitionTest, replaySavesTheRecord) {
  Chain chain;
  RegatherPartitionOptions options = withMode(RegatherPartitionReplay);
  options.numRecorded = 1;
  options.recorded = &chain.gemm;
  Result result = partition(chain, options);
  EXPECT_EQ(result.saved, list(chain.gemm));
  EXPECT_EQ(result.backward, list(chain.first, chain.second, chain.gradient));
}

TEST(CAPIPartitionTest, replayNeedsNodesThatExist) {
  Chain chain;
  RegatherPartitionOptions options = withMode(RegatherPartitionReplay);
  uint32_t node = 99;
  options.numRecorded = 1;
  options.recorded = &node;
  EXPECT_TRUE(has(partition(chain, options).message, "does not exist"));
}

TEST(CAPIPartitionTest, budgetSavesNoMore) {
  Chain chain;
  std::vector<double> seconds(chain.targets.size(), 1);
  RegatherPartitionOptions options = withMode(RegatherPartitionBudget);
  options.seconds = seconds.data();
  options.budget = 200;
  EXPECT_EQ(partition(chain, options).saved, list(chain.first, chain.second));
  options.budget = 100;
  EXPECT_EQ(partition(chain, options).saved, list(chain.first));
}

TEST(CAPIPartitionTest, budgetBelowTheMinimumIsAnError) {
  Chain chain;
  chain.nodeTraits[chain.gemm] |= RegatherNodeMustSave;
  std::vector<double> seconds(chain.targets.size(), 1);
  RegatherPartitionOptions options = withMode(RegatherPartitionBudget);
  options.seconds = seconds.data();
  options.budget = 50;
  EXPECT_TRUE(
      has(partition(chain, options).message, "below the minimum of 100 bytes"));
  seconds[0] = std::nan("");
  EXPECT_TRUE(has(partition(chain, options).message, "not finite"));
}

/// A gathered parameter that backward reads.
struct Gathered : GraphBuilder {
  explicit Gathered(uint32_t traits) {
    parameter = addArgument(RegatherNodeFree | traits);
    cast = add(kFused, 0, {parameter}, 50);
    gather = add(kGather, 0, {cast}, 400);
    wait = add(kWait, 0, {gather}, 400);
    view = add(kFused, 0, {wait}, 400);
    loss = add(kGemm, RegatherNodeForwardResult, {view}, 100);
    tangent = addTangent();
    gradient = add(kGemm, RegatherNodeBackwardResult, {tangent, view}, 100);
  }
  uint32_t parameter, cast, gather, wait, view, loss, tangent, gradient;
};

TEST(CAPIPartitionTest, releasedParametersAreGatheredAgain) {
  Gathered graph(RegatherNodeReleased);
  Result result = partition(graph, withMode(RegatherPartitionMinCut));
  EXPECT_EQ(result.saved, list(graph.parameter));
  EXPECT_EQ(result.backward, list(graph.cast, graph.gather, graph.wait,
                                  graph.view, graph.gradient));
}

TEST(CAPIPartitionTest, otherGathersAreSaved) {
  Gathered graph(0);
  Result result = partition(graph, withMode(RegatherPartitionMinCut));
  EXPECT_EQ(result.saved, list(graph.view));
}

TEST(CAPIPartitionTest, aMarkKeepsAGatheredValue) {
  Gathered graph(RegatherNodeReleased);
  graph.nodeTraits[graph.view] |= RegatherNodeMustSave;
  Result result = partition(graph, withMode(RegatherPartitionMinCut));
  EXPECT_EQ(result.saved, list(graph.view));
}

TEST(CAPIPartitionTest, malformedGraphsAreErrors) {
  RegatherPartitionOptions options = withMode(RegatherPartitionMinCut);
  Chain forwardReference;
  forwardReference.inputs[0] = forwardReference.loss;
  EXPECT_TRUE(
      has(partition(forwardReference, options).message, "is not before it"));
  Chain target;
  target.targets[target.gemm] = 9;
  EXPECT_TRUE(has(partition(target, options).message, "target 9"));
  Chain size;
  size.bytes[size.gemm] = -1;
  EXPECT_TRUE(has(partition(size, options).message, "negative"));
  Chain begins;
  begins.begins[2] = 100;
  EXPECT_TRUE(has(partition(begins, options).message, "end before they begin"));
  Chain policies;
  policies.nodeTraits[policies.gemm] =
      RegatherNodeMustSave | RegatherNodeMustRecompute;
  EXPECT_TRUE(has(partition(policies, options).message, "several policies"));
  Chain kinds;
  kinds.nodeTraits[kinds.x] |= RegatherNodeTangent;
  EXPECT_TRUE(has(partition(kinds, options).message, "several kinds"));
  Chain result;
  result.nodeTraits[result.gradient] |= RegatherNodeForwardResult;
  EXPECT_TRUE(has(partition(result, options).message, "and of backward"));
}

TEST(CAPIPartitionTest, nullIsAnError) {
  EXPECT_TRUE(has(takeMessage(regatherGraphCreate(nullptr, nullptr)), "null"));
  EXPECT_TRUE(has(
      takeMessage(regatherPartitionCreate(nullptr, nullptr, nullptr)), "null"));
  regatherGraphDestroy(nullptr);
  regatherPartitionDestroy(nullptr);
  EXPECT_EQ(regatherPartitionGetSaved(nullptr).count, 0u);
}

TEST(CAPIPartitionTest, anEmptyGraphHasNoPartition) {
  EXPECT_TRUE(partition(GraphBuilder(), withMode(RegatherPartitionMinCut))
                  .saved.empty());
}

TEST(CAPICostTest, secondsComeFromTheCluster) {
  double flops[] = {1e12, 0}, bytes[] = {0, 1e9}, seconds[2] = {};
  uint8_t types[] = {RegatherElementBF16, RegatherElementNone};
  EXPECT_EQ(takeMessage(regatherComputeSeconds("h100-8", 2, flops, bytes, types,
                                               seconds)),
            "");
  EXPECT_GT(seconds[0], 1e-4);
  EXPECT_GT(seconds[1], 1e-4);
  EXPECT_NE(takeMessage(regatherComputeSeconds("nowhere", 2, flops, bytes,
                                               types, seconds)),
            "");
  types[0] = 77;
  EXPECT_TRUE(has(takeMessage(regatherComputeSeconds("h100-8", 2, flops, bytes,
                                                     types, seconds)),
                  "no type"));
}
} // namespace
