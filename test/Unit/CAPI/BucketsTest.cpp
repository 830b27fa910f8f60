//===- BucketsTest.cpp - Tests of buckets by number -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather-c/Buckets.h"
#include "regather-c/Cost.h"

#include "gtest/gtest.h"

#include <limits>
#include <string>
#include <vector>

namespace {

/// Three gathers, each with its wait behind it.
struct Gathers {
  std::vector<uint8_t> opKinds = {RegatherOpCollective, RegatherOpWait,
                                  RegatherOpCollective, RegatherOpWait,
                                  RegatherOpCollective, RegatherOpWait};
  std::vector<double> seconds = {1e-5, 0, 1e-5, 0, 1e-5, 0};
  std::vector<uint32_t> streams = std::vector<uint32_t>(6);
  std::vector<uint32_t> waitedFor = {0, 0, 0, 2, 0, 4};
  std::vector<uint32_t> begins = {0, 0, 1, 1, 2, 2, 3}, elements = {0, 2, 4};
  std::vector<uint32_t> none = {0, 0};
  std::vector<uint8_t> early = std::vector<uint8_t>(6);

  std::vector<uint32_t> starts = {0, 2, 4}, keys = {0, 0, 1};
  std::vector<uint8_t> kinds =
      std::vector<uint8_t>(3, RegatherCollectiveAllGather);
  std::vector<double> received = {8, 8, 8};
  std::vector<int64_t> whole = {16, 16, 16};
  std::vector<uint32_t> planned = {5, 5, 5};
  std::vector<uint32_t> groupBegins = {0, 2}, ranks = {0, 1};
  bool hasPlan = true;
  double saturation = 0.9;

  std::vector<uint32_t> parts, order;

  /// The message, empty for success.
  std::string run() {
    RegatherTimedArrays arrays = {};
    arrays.numOps = opKinds.size();
    arrays.kinds = opKinds.data();
    arrays.seconds = seconds.data();
    arrays.streams = streams.data();
    arrays.collectives = waitedFor.data();
    arrays.predecessors = {begins.data(), elements.data()};
    arrays.numStreams = 1;
    arrays.conflicts = {none.data(), nullptr};
    RegatherMergeable mergeable = {static_cast<uint32_t>(starts.size()),
                                   starts.data(),
                                   keys.data(),
                                   kinds.data(),
                                   received.data(),
                                   whole.data()};
    RegatherBucketOptions options = {};
    options.cluster = "h100-nodes";
    options.groups = {groupBegins.data(), ranks.data()};
    options.isEarly = early.data();
    options.planned = hasPlan ? planned.data() : nullptr;
    options.memoryLimit = -1;
    options.unitBytes = 48;
    options.saturation = saturation;
    parts.resize(starts.size());
    order.resize(opKinds.size());
    uint32_t numLeft = 0;
    RegatherStatus *status = regatherBucketCollectives(
        &arrays, &mergeable, &options, parts.data(), order.data(), &numLeft);
    order.resize(numLeft);
    std::string message = regatherStatusGetMessage(status);
    regatherStatusDestroy(status);
    return message;
  }
};

testing::AssertionResult fails(Gathers gathers, const char *part) {
  std::string message = gathers.run();
  if (message.find(part) != std::string::npos)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << '"' << message << "\" lacks " << part;
}

TEST(CAPIBucketsTest, plansAndKeysDecide) {
  Gathers gathers;
  ASSERT_EQ(gathers.run(), "");
  EXPECT_EQ(gathers.parts, (std::vector<uint32_t>{0, 0, 2}));
  EXPECT_EQ(gathers.order, (std::vector<uint32_t>{0, 1, 4, 5}));
  gathers.planned = {5, REGATHER_C_NONE, 5};
  ASSERT_EQ(gathers.run(), "");
  EXPECT_EQ(gathers.parts, (std::vector<uint32_t>{0, 1, 2}));
}

TEST(CAPIBucketsTest, schedulesMergeWhatIsSmall) {
  Gathers gathers;
  gathers.hasPlan = false;
  ASSERT_EQ(gathers.run(), "");
  EXPECT_EQ(gathers.parts, (std::vector<uint32_t>{0, 0, 2}));
}

TEST(CAPIBucketsTest, dependentMembersStayApart) {
  Gathers gathers;
  gathers.keys = {0, 0, 0};
  // The second gather reads what the first one gives.
  gathers.begins = {0, 0, 1, 2, 3, 3, 4};
  gathers.elements = {0, 1, 2, 4};
  ASSERT_EQ(gathers.run(), "");
  EXPECT_NE(gathers.parts[0], gathers.parts[1]);
}

TEST(CAPIBucketsTest, malformedArraysAreErrors) {
  Gathers order;
  order.starts = {2, 0, 4};
  EXPECT_TRUE(fails(order, "ascending order"));
  Gathers wait;
  wait.starts = {0, 3, 4};
  EXPECT_TRUE(fails(wait, "operation 3 starts no collective"));
  Gathers kind;
  kind.kinds[1] = RegatherCollectiveBroadcast;
  EXPECT_TRUE(fails(kind, "neither a gather nor a reduction"));
  Gathers key;
  key.kinds[1] = RegatherCollectiveAllReduce;
  EXPECT_TRUE(fails(key, "have one key, but different kinds"));
  Gathers bytes;
  bytes.received[2] = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(fails(bytes, "not finite"));
  Gathers group;
  group.hasPlan = false;
  group.groupBegins = {0, 0};
  EXPECT_TRUE(fails(group, "has no ranks"));
  Gathers options;
  options.hasPlan = false;
  options.saturation = 1;
  EXPECT_TRUE(fails(options, "out of range"));
}

std::string plan(const char *text, std::vector<const char *> paths,
                 std::vector<uint32_t> &buckets) {
  buckets.resize(paths.size());
  RegatherStatus *status = regatherPlanBuckets(text, "module", paths.size(),
                                               paths.data(), buckets.data());
  std::string message = regatherStatusGetMessage(status);
  regatherStatusDestroy(status);
  return message;
}

TEST(CAPIBucketsTest, plansNameModules) {
  std::vector<uint32_t> buckets;
  std::vector<const char *> paths = {"layers.0.up", "layers.1", "norm", "head"};
  EXPECT_EQ(plan("[layers.*]each,[head]", paths, buckets), "");
  EXPECT_EQ(buckets, (std::vector<uint32_t>{0, 1, REGATHER_C_NONE, 2}));
  EXPECT_NE(plan("[blocks.*],[tail]", paths, buckets)
                .find("patterns \"blocks.*\" and \"tail\" of option 'plan' "
                      "match no module"),
            std::string::npos);
  EXPECT_NE(plan("[layers.*", paths, buckets).find("expects ',' or ']'"),
            std::string::npos);
}

} // namespace
