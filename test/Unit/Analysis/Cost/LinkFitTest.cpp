//===- LinkFitTest.cpp - Calibrate a link class ---------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Besides synthetic links, measured tables are fitted if the folder in
// REGATHER_DATA_DIR has them: half of each table calibrates, the other half
// judges.
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Cost/LinkFit.h"
#include "regather/Analysis/Cost/CostModel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "gtest/gtest.h"

#include <cmath>
#include <map>

using namespace regather;

namespace {
/// What a cluster with one class of links says.
class FittedLink {
public:
  explicit FittedLink(std::vector<LinkProtocol> protocols)
      : model(makeCluster(std::move(protocols))) {}

  double getSeconds(const LinkSample &sample) const {
    return model.collectiveSeconds(sample.kind, sample.receivedBytes,
                                   {sample.ranks, {sample.ranks}});
  }

private:
  static Cluster makeCluster(std::vector<LinkProtocol> protocols) {
    Cluster cluster;
    LinkClass link;
    link.protocols = std::move(protocols);
    cluster.links = {link};
    cluster.algorithms = {CollectiveAlgorithm::Ring};
    return cluster;
  }

  CostModel model;
};
} // namespace

static double getError(const FittedLink &link, const LinkSample &sample) {
  return std::abs(link.getSeconds(sample) / sample.seconds - 1);
}

static LinkFit fit(llvm::ArrayRef<LinkSample> samples,
                   unsigned maxProtocols = 3) {
  llvm::Expected<LinkFit> result = fitLink(samples, maxProtocols);
  EXPECT_TRUE(bool(result));
  return result ? *result : LinkFit();
}

/// Messages from 1 KB to 1 GB over a known link.
static std::vector<LinkSample> makeSamples(const FittedLink &link,
                                           llvm::ArrayRef<CollectiveKind> kinds,
                                           int64_t ranks) {
  std::vector<LinkSample> samples;
  for (CollectiveKind kind : kinds)
    for (int power = 0; power != 20; ++power) {
      double bytes = std::ldexp(1e3, power);
      LinkSample sample = {kind, ranks, bytes, 1};
      sample.seconds = link.getSeconds(sample);
      samples.push_back(sample);
    }
  return samples;
}

TEST(LinkFit, FindsOneProtocol) {
  FittedLink link({{"only", 2e-6, 1e-6, 1e10}});
  LinkFit found =
      fit(makeSamples(
              link, {CollectiveKind::AllGather, CollectiveKind::AllReduce}, 8),
          /*maxProtocols=*/1);
  ASSERT_EQ(found.protocols.size(), 1u);
  EXPECT_NEAR(found.protocols[0].latencySeconds, 2e-6, 1e-9);
  EXPECT_NEAR(found.protocols[0].hopSeconds, 1e-6, 1e-9);
  EXPECT_NEAR(found.protocols[0].bandwidth, 1e10, 1e5);
  EXPECT_LT(found.maxRelativeError, 1e-6);
}

// Groups of one size, on which all collectives make equally many steps.
TEST(LinkFit, SharesLatencyWhereNothingTellsItApart) {
  FittedLink link({{"only", 7e-6, 0, 1e10}});
  LinkFit found = fit(makeSamples(link, {CollectiveKind::AllGather}, 8), 1);
  ASSERT_EQ(found.protocols.size(), 1u);
  EXPECT_NEAR(found.protocols[0].latencySeconds, 3.5e-6, 1e-9);
  EXPECT_NEAR(found.protocols[0].hopSeconds, 0.5e-6, 1e-9);
  EXPECT_LT(found.maxRelativeError, 1e-5);
}

TEST(LinkFit, FindsThreeProtocols) {
  FittedLink link({{"a", 5e-6, 0.5e-6, 1e10},
                   {"b", 1e-5, 2e-6, 4e10},
                   {"c", 3e-5, 4e-6, 9e10}});
  std::vector<LinkSample> samples = makeSamples(
      link, {CollectiveKind::AllGather, CollectiveKind::AllReduce}, 8);
  FittedLink found(fit(samples).protocols);
  for (const LinkSample &sample : samples)
    EXPECT_LT(getError(found, sample), 0.01) << sample.receivedBytes;
}

TEST(LinkFit, NeverMakesNegativeTerms) {
  // Seconds that grow faster than bytes: no line has that slope and a latency.
  std::vector<LinkSample> samples;
  for (double bytes : {1e6, 2e6, 4e6, 8e6})
    samples.push_back({CollectiveKind::AllGather, 4, bytes, bytes * bytes});
  for (const LinkProtocol &protocol : fit(samples).protocols) {
    EXPECT_GE(protocol.latencySeconds, 0);
    EXPECT_GE(protocol.hopSeconds, 0);
    EXPECT_GT(protocol.bandwidth, 0);
  }
}

TEST(LinkFit, RefusesWhatIsNoMeasurement) {
  LinkSample good = {CollectiveKind::AllGather, 4, 1e6, 1e-3};
  auto errorOf = [](llvm::ArrayRef<LinkSample> samples) {
    llvm::Expected<LinkFit> result = fitLink(samples);
    return result ? "" : llvm::toString(result.takeError());
  };
  EXPECT_EQ(errorOf({good}), "expects two or more samples, got 1");
  for (double LinkSample::*field :
       {&LinkSample::receivedBytes, &LinkSample::seconds})
    for (double value : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
      LinkSample bad = good;
      bad.*field = value;
      EXPECT_EQ(errorOf({good, bad}),
                "sample 1 expects two or more ranks, positive bytes and "
                "positive seconds");
    }
}

//===----------------------------------------------------------------------===//
// Measured tables
//===----------------------------------------------------------------------===//

namespace {
/// One row of a table: one group and collective, by column.
using Series = std::vector<LinkSample>;
} // namespace

/// Bytes that each rank receives in a collective that the tables call a
/// collective of `bytes`: of its input.
static double getReceivedBytes(CollectiveKind kind, double bytes,
                               double ranks) {
  switch (kind) {
  case CollectiveKind::AllGather:
    return (ranks - 1) * bytes;
  case CollectiveKind::AllReduce:
    return 2 * (ranks - 1) / ranks * bytes;
  default:
    return (ranks - 1) / ranks * bytes;
  }
}

/// The series of a table, by group.
static std::map<std::string, std::vector<Series>>
readTable(llvm::StringRef text) {
  std::map<std::string, std::vector<Series>> groups;
  std::vector<double> sizes;
  for (llvm::StringRef line : llvm::split(text, '\n')) {
    llvm::SmallVector<llvm::StringRef> words;
    llvm::SplitString(line, words, " ");
    if (sizes.empty()) {
      double megabytes;
      for (llvm::StringRef word : words)
        if (word.consume_back("MB") && !word.getAsDouble(megabytes))
          sizes.push_back(megabytes * (1 << 20));
      continue;
    }
    if (words.size() != sizes.size() + 3 || line.starts_with("-"))
      continue;
    llvm::StringRef name = words[2];
    name.consume_back("_out");
    name.consume_back("_into_tensor") || name.consume_back("_tensor");
    CollectiveKind kind = findCollectiveKind(name).value();
    Series series;
    for (auto [size, word] :
         llvm::zip_equal(sizes, llvm::ArrayRef(words).drop_front(3))) {
      LinkSample sample;
      sample.kind = kind;
      double milliseconds = 0;
      EXPECT_FALSE(words[1].getAsInteger(10, sample.ranks));
      EXPECT_FALSE(word.getAsDouble(milliseconds));
      sample.seconds = milliseconds / 1e3;
      sample.receivedBytes =
          getReceivedBytes(kind, size, static_cast<double>(sample.ranks));
      series.push_back(sample);
    }
    groups[words[0].str()].push_back(series);
  }
  return groups;
}

class MeasuredTables : public ::testing::TestWithParam<const char *> {};

TEST_P(MeasuredTables, HalfOfATablePredictsTheOther) {
  std::string folder = llvm::sys::Process::GetEnv("REGATHER_DATA_DIR")
                           .value_or(REGATHER_DATA_DIR);
  auto file =
      llvm::MemoryBuffer::getFile(folder + "/collectives/" + GetParam());
  if (!file)
    GTEST_SKIP() << "no measured tables in " << folder;
  auto groups = readTable((*file)->getBuffer());
  ASSERT_EQ(groups.size(), 2u);
  for (const auto &[group, rows] : groups) {
    // Every second size, from the smallest one on: the protocol of the smallest
    // messages serves a few sizes only, and nothing else tells of it.
    std::vector<LinkSample> known, judged;
    for (const Series &series : rows)
      for (auto [column, sample] : llvm::enumerate(series))
        (column % 2 == 0 ? known : judged).push_back(sample);
    FittedLink link(fit(known).protocols);
    for (const LinkSample &sample : judged)
      EXPECT_LE(getError(link, sample), 0.1)
          << "group " << group << ", " << getCollectiveName(sample.kind).str()
          << " of " << sample.receivedBytes << " received bytes";
  }
}

INSTANTIATE_TEST_SUITE_P(H100, MeasuredTables,
                         ::testing::Values("h100-colls8_8.table",
                                           "h100-colls16_8.table"),
                         [](const auto &info) {
                           return llvm::StringRef(info.param).contains("16_8")
                                      ? "SixteenNodes"
                                      : "EightNodes";
                         });
