//===- ClusterTest.cpp - Cluster files ------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Cost/Cluster.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace regather;

static constexpr llvm::StringLiteral kText = R"json({
  "name": "pair",
  "device": {
    "name": "one",
    "peak_flops_per_second": {"bf16": 100e12},
    "vector_flops_per_second": 10e12,
    "matmul_efficiency": 0.5,
    "attention_efficiency": 0.25,
    "memory_bandwidth_bytes_per_second": 1e12,
    "memory_efficiency": 0.5,
    "memory_bytes": 1e10,
    "launch_seconds": 1e-6
  },
  "links": [
    {"name": "inner", "span_ranks": 4, "compute_slowdown": 1.5,
     "collective_slowdown": 1.25, "protocols": [
      {"name": "copy", "latency_seconds": 1e-6, "hop_seconds": 2e-6,
       "bandwidth_bytes_per_second": 1e9}]},
    {"name": "outer", "protocols": [
      {"name": "copy", "latency_seconds": 5e-6, "hop_seconds": 3e-6,
       "bandwidth_bytes_per_second": 1e8}]}
  ],
  "algorithms": ["ring"],
  "measured": [
    {"link": "inner", "collective": "all_gather", "ranks": 4,
     "seconds_by_received_bytes": [[1000, 1e-5], [2000, 2e-5]]}
  ]
})json";

/// The text with the first occurrence of `from` replaced.
static std::string replace(llvm::StringRef from, llvm::StringRef to) {
  std::string text = kText.str();
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from.str();
  return text.replace(at, from.size(), to);
}

static std::string errorOf(llvm::StringRef text) {
  Result<Cluster> cluster = parseCluster(text, "pair.json");
  return cluster ? "" : cluster.getMessage();
}

static std::string errorWith(llvm::StringRef from, llvm::StringRef to) {
  return errorOf(replace(from, to));
}

TEST(Cluster, MayHaveAHost) {
  Result<Cluster> without = parseCluster(kText, "pair.json");
  ASSERT_TRUE(bool(without));
  EXPECT_EQ(without->device.hostBandwidth, 0);
  std::string text = replace(
      "\"launch_seconds\": 1e-6",
      "\"launch_seconds\": 1e-6, \"host\": {\"memory_bytes\": 2e10, "
      "\"bandwidth_bytes_per_second\": 1e9, \"latency_seconds\": 1e-5}");
  Result<Cluster> cluster = parseCluster(text, "pair.json");
  ASSERT_TRUE(bool(cluster)) << cluster.getMessage();
  EXPECT_EQ(cluster->device.hostBandwidth, 1e9);
  EXPECT_EQ(cluster->device.hostMemoryBytes, 2e10);
  EXPECT_EQ(cluster->device.hostLatencySeconds, 1e-5);
  EXPECT_EQ(errorWith("\"launch_seconds\": 1e-6",
                      "\"launch_seconds\": 1e-6, \"host\": {\"memory_bytes\": "
                      "2e10, \"latency_seconds\": 1e-5}"),
            "cluster file 'pair.json': "
            "\"device.host.bandwidth_bytes_per_second\" is missing");
}

TEST(Cluster, ReadsAllFields) {
  Result<Cluster> cluster = parseCluster(kText, "pair.json");
  ASSERT_TRUE(bool(cluster)) << cluster.getMessage();
  EXPECT_EQ(cluster->name, "pair");
  EXPECT_EQ(cluster->device.peakFlops.lookup("bf16"), 100e12);
  EXPECT_EQ(cluster->device.memoryBytes, 1e10);
  EXPECT_EQ(cluster->getRanksPerNode(), 4);
  ASSERT_EQ(cluster->links.size(), 2u);
  EXPECT_EQ(cluster->links[0].computeSlowdown, 1.5);
  EXPECT_EQ(cluster->links[1].computeSlowdown, 1);
  EXPECT_EQ(cluster->links[0].collectiveSlowdown, 1.25);
  EXPECT_EQ(cluster->links[1].collectiveSlowdown, 1);
  EXPECT_EQ(cluster->links[1].protocols[0].hopSeconds, 3e-6);
  EXPECT_FALSE(cluster->links[1].spanRanks);
  ASSERT_EQ(cluster->measured.size(), 1u);
  EXPECT_EQ(cluster->measured[0].ranksPerNode, 4);
  EXPECT_EQ(cluster->measured[0].points.back().second, 2e-5);
}

TEST(Cluster, NamesTheFieldThatIsWrong) {
  EXPECT_EQ(errorWith("\"memory_bytes\": 1e10,", ""),
            "cluster file 'pair.json': \"device.memory_bytes\" is missing");
  EXPECT_EQ(errorWith("\"bandwidth_bytes_per_second\": 1e8",
                      "\"bandwidth_bytes_per_second\": -1"),
            "cluster file 'pair.json': "
            "\"links[1].protocols[0].bandwidth_bytes_per_second\" must be "
            "between 1.0e+03 and 1.0e+15, got -1.00");
  EXPECT_EQ(errorWith("100e12", "\"fast\""),
            "cluster file 'pair.json': \"device.peak_flops_per_second.bf16\" "
            "must be a number");
  EXPECT_EQ(errorWith("\"vector_flops_per_second\"", "\"vector_flops\""),
            "cluster file 'pair.json': \"device.vector_flops_per_second\" is "
            "missing");
  EXPECT_EQ(errorWith("\"name\": \"one\",", "\"name\": \"one\", \"cores\": 4,"),
            "cluster file 'pair.json': \"device.cores\" is no field of a "
            "cluster file");
  EXPECT_EQ(errorWith("\"all_gather\"", "\"gather_all\""),
            "cluster file 'pair.json': \"measured[0].collective\" "
            "\"gather_all\" is no collective");
  EXPECT_EQ(errorWith("\"link\": \"inner\"", "\"link\": \"wifi\""),
            "cluster file 'pair.json': \"measured[0].link\" \"wifi\" is no "
            "class of links");
  EXPECT_EQ(errorWith("[2000, 2e-5]", "[1000, 2e-5]"),
            "cluster file 'pair.json': "
            "\"measured[0].seconds_by_received_bytes[1]\" must not be below "
            "the pair before it");
  EXPECT_EQ(errorWith("\"span_ranks\": 4", "\"span_ranks\": 4.5"),
            "cluster file 'pair.json': \"links[0].span_ranks\" must be an "
            "integer");
}

TEST(Cluster, RefusesLinksThatDoNotFitTogether) {
  EXPECT_EQ(errorWith("\"name\": \"outer\",",
                      "\"name\": \"outer\", \"span_ranks\": 6,"),
            "cluster file 'pair.json': \"links[1].span_ranks\" must be a "
            "multiple of the 4 ranks that \"inner\" spans, got 6");
  EXPECT_EQ(errorWith("\"span_ranks\": 4, ", ""),
            "cluster file 'pair.json': \"links[0].span_ranks\" is missing, and "
            "only the last class of links may connect all ranks");
  EXPECT_EQ(errorWith("{\"name\": \"copy\", \"latency_seconds\": 5e-6",
                      "{\"name\": \"other\", \"latency_seconds\": 5e-6"),
            "cluster file 'pair.json': \"links[1].protocols\" must have the "
            "names of those of \"inner\", in the same order");
  EXPECT_EQ(errorWith("\"name\": \"outer\"", "\"name\": \"inner\""),
            "cluster file 'pair.json': \"links[1].name\" \"inner\" is the name "
            "of two classes");
  EXPECT_EQ(errorWith("[\"ring\"]", "[\"tree\"]"),
            "cluster file 'pair.json': \"algorithms\" must contain \"ring\" or "
            "\"hierarchical\"");
}

// Whatever the text is, reading it says something and returns.
TEST(Cluster, SurvivesAnyText) {
  EXPECT_NE(errorOf(""), "");
  EXPECT_NE(errorOf("[]"), "");
  EXPECT_NE(errorOf("{\"links\": [[]]}"), "");
  EXPECT_NE(errorOf("{\"links\": []}"), "");
  EXPECT_NE(errorWith("1e12", "1e999"), "");
  for (size_t length = 0; length + 1 < kText.size(); length += 7)
    EXPECT_NE(errorOf(kText.take_front(length)), "") << length;
}

TEST(Cluster, SaysWhichRanksAreConnected) {
  Cluster cluster =
      *parseCluster(replace("\"name\": \"outer\",",
                            "\"name\": \"outer\", \"span_ranks\": 8,"),
                    "pair.json");
  EXPECT_FALSE(bool(cluster.checkRanks(8)));
  EXPECT_EQ(cluster.checkRanks(16).getMessage(),
            "cluster \"pair\" connects 8 ranks, but the mesh has 16");
}

TEST(ClusterLibrary, HasTheShippedClusters) {
  EXPECT_EQ(getClusterNames(),
            llvm::ArrayRef<llvm::StringRef>(
                {"a100-8", "cpu-threads", "h100-8", "h100-nodes", "h200-8"}));
  for (llvm::StringRef name : getClusterNames()) {
    Result<Cluster> cluster = loadCluster(name);
    ASSERT_TRUE(bool(cluster)) << cluster.getMessage();
    EXPECT_EQ(cluster->name, name);
  }
}

TEST(ClusterLibrary, NamesWhatThereIs) {
  Result<Cluster> cluster = loadCluster("h100-9");
  ASSERT_FALSE(bool(cluster));
  const std::string &message = cluster.getMessage();
  EXPECT_NE(message.find("cannot read cluster file 'h100-9'"),
            std::string::npos);
  EXPECT_NE(message.find("a100-8, cpu-threads, h100-8"), std::string::npos);
}

/// kText with tables of work.
static std::string addWork(llvm::StringRef tables) {
  return replace(
      "\"launch_seconds\": 1e-6",
      ("\"launch_seconds\": 1e-6, \"measured\": [" + tables + "]").str());
}

static constexpr llvm::StringLiteral kMatmul =
    R"({"work": "matmul", "type": "f32", "seconds_by_flops": [[1e6, 1e-5]]})";
static constexpr llvm::StringLiteral kKernel =
    R"({"work": "kernel", "seconds_by_bytes": [[100, 1e-6], [1e6, 1e-4]]})";

TEST(Cluster, ReadsMeasuredWork) {
  Result<Cluster> cluster =
      parseCluster(addWork((kMatmul + ", " + kKernel).str()), "pair.json");
  ASSERT_TRUE(cluster) << cluster.getMessage();
  llvm::ArrayRef<MeasuredWork> measured = cluster->device.measured;
  ASSERT_EQ(measured.size(), 2u);
  EXPECT_EQ(measured[0].kind, WorkKind::Matmul);
  EXPECT_EQ(measured[0].type, "f32");
  EXPECT_EQ(measured[1].kind, WorkKind::Other);
  EXPECT_EQ(measured[1].points[1], std::pair(1e6, 1e-4));
}

TEST(Cluster, RejectsMeasuredWork) {
  EXPECT_EQ(errorOf(addWork(R"({"work": "sort"})")),
            "cluster file 'pair.json': \"device.measured[0].work\" must be "
            "\"matmul\", \"attention\", \"attention_backward\" or \"kernel\"");
  EXPECT_EQ(errorOf(addWork((kMatmul + ", " + kMatmul).str())),
            "cluster file 'pair.json': \"device.measured[1]\" is the second "
            "table of the same work");
  EXPECT_EQ(
      errorOf(addWork(
          R"({"work": "kernel", "seconds_by_bytes": [[9, 2], [10, 1]]})")),
      "cluster file 'pair.json': \"device.measured[0].seconds_by_bytes[1]\" "
      "must not be below the pair before it");
  // GEMMs are measured by what they compute.
  EXPECT_EQ(
      errorOf(addWork(
          R"({"work": "matmul", "type": "f32", "seconds_by_bytes": []})")),
      "cluster file 'pair.json': "
      "\"device.measured[0].seconds_by_flops\" is missing");
}

TEST(Cluster, WritesWhatItReads) {
  std::string text = replace("\"name\": \"one\"",
                             R"("name": "one", "host": {"memory_bytes": 1e9,
      "bandwidth_bytes_per_second": 1e9, "latency_seconds": 1e-5})");
  size_t at = text.find("\"launch_seconds\": 1e-6");
  ASSERT_NE(at, std::string::npos);
  text.insert(at, ("\"measured\": [" + kMatmul + ", " + kKernel + "], ").str());
  Result<Cluster> cluster = parseCluster(text, "pair.json");
  ASSERT_TRUE(cluster) << cluster.getMessage();
  std::string written = formatCluster(*cluster, "a comment");
  Result<Cluster> again = parseCluster(written, "written.json");
  ASSERT_TRUE(again) << again.getMessage();
  EXPECT_EQ(formatCluster(*again, "a comment"), written);
  EXPECT_EQ(again->links[0].spanRanks, 4);
  EXPECT_EQ(again->links[0].collectiveSlowdown, 1.25);
  EXPECT_EQ(again->links[1].protocols[0].bandwidth, 1e8);
  EXPECT_EQ(again->measured[0].points, cluster->measured[0].points);
  EXPECT_EQ(again->device.peakFlops.lookup("bf16"), 100e12);
  EXPECT_EQ(again->device.hostMemoryBytes, 1e9);
  EXPECT_EQ(again->device.measured[1].points,
            cluster->device.measured[1].points);
}
