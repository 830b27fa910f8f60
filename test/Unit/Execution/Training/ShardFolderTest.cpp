//===- ShardFolderTest.cpp - One file for each rank -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Training/ShardFolder.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace regather;

namespace {
/// A folder that disappears with the test.
class ShardFolderTest : public ::testing::Test {
protected:
  ShardFolderTest()
      : folder(
            std::filesystem::temp_directory_path() /
            ("regather-shards-" + std::string(::testing::UnitTest::GetInstance()
                                                  ->current_test_info()
                                                  ->name()))) {
    std::filesystem::remove_all(folder);
  }
  ~ShardFolderTest() override { std::filesystem::remove_all(folder); }

  /// Adds a result that is `count` numbers from `first` on, over two ranks.
  void addResult(StepValue value, int64_t first) {
    HostTensor global = HostTensor::zeros(ElementType::F32, value.globalShape);
    for (int64_t i = 0; i < global.getNumElements(); ++i)
      global.setFromDouble(i, static_cast<double>(first + i));
    for (int64_t rank = 0; rank < step.ranks; ++rank)
      training.results[rank].push_back(shardTensor(global, value, step, rank));
    step.results.push_back(std::move(value));
  }

  static StepValue makeValue(const char *name, Shape local, Shape global,
                             std::optional<int64_t> dim) {
    StepValue value;
    value.name = name;
    value.localShape = std::move(local);
    value.globalShape = std::move(global);
    if (dim)
      value.placement = {{{0}, dim, ReductionKind::Sum}};
    return value;
  }

  void SetUp() override {
    step.mesh = Mesh{"mesh", {"dp"}, {2}};
    step.ranks = 2;
    training.results.resize(2);
    StepValue flat = makeValue("flat", {8}, {16}, 0);
    flat.members = {{"weight", 1, {2, 5}}, {"scale", 12, {}}};
    addResult(flat, 100);
    addResult(makeValue("columns", {2, 2}, {2, 3}, 1), 200);
    addResult(makeValue("copy", {2}, {2}, std::nullopt), 300);
    ASSERT_FALSE(bool(write()));
  }

  Failure write() {
    return writeShardFolder(folder.string(), step, training, {});
  }

  /// The first number of the tensor that is a copy; none if the folder cannot
  /// be read.
  std::optional<double> readCopy() {
    auto source = openTensorSource(folder.string());
    if (!source)
      return std::nullopt;
    auto tensor = (*source)->read("copy", ElementType::F32, {2});
    return tensor ? std::optional<double>(tensor->getAsDouble(0))
                  : std::nullopt;
  }

  /// Sets the number that `readCopy` reads.
  void setCopy(double number) {
    for (RankValues &values : training.results)
      values[2].setFromDouble(0, number);
  }

  /// What the folder holds, by name.
  std::vector<std::string> list() {
    std::vector<std::string> names;
    for (const auto &entry : std::filesystem::directory_iterator(folder))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  std::string openError() {
    auto source = openTensorSource(folder.string());
    return source ? "" : source.getMessage();
  }

  std::filesystem::path folder;
  StepSignature step;
  TrainingResult training;
};
} // namespace

// Each process writes the file of its rank, and has no data of the others.
TEST_F(ShardFolderTest, ProcessesOfAJobWriteTheirFiles) {
  training.losses = {3, 2.5};
  setCopy(7);
  auto save = [&](int32_t rank) {
    TrainingResult own = training;
    own.onlyRank = rank;
    for (HostTensor &result : own.results[static_cast<size_t>(1 - rank)])
      result = HostTensor();
    auto waitForAll = [&] {
      // What all have not written yet does not count.
      EXPECT_EQ(readCopy(), std::optional<double>(300));
      return Failure("rank " + std::to_string(1 - rank) + " has ended");
    };
    Failure failure = writeShardFolder(folder.string(), step, own, waitForAll);
    EXPECT_TRUE(bool(failure));
  };
  save(1);
  save(0);
  EXPECT_EQ(readCopy(), std::optional<double>(300));
  // Both have written now.
  int calls = 0;
  TrainingResult own = training;
  own.onlyRank = 0;
  ASSERT_FALSE(bool(writeShardFolder(folder.string(), step, own, [&] {
    ++calls;
    return Failure();
  })));
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(readCopy(), std::optional<double>(7));
  auto source = openTensorSource(folder.string());
  ASSERT_TRUE(bool(source)) << source.getMessage();
  auto columns = (*source)->read("columns", ElementType::F32, {2, 3});
  ASSERT_TRUE(bool(columns)) << columns.getMessage();
  for (int64_t i = 0; i < 6; ++i)
    EXPECT_EQ(columns->getAsDouble(i), 200 + static_cast<double>(i));
}

TEST_F(ShardFolderTest, PutsPartsTogether) {
  auto source = openTensorSource(folder.string());
  ASSERT_TRUE(bool(source)) << source.getMessage();
  EXPECT_EQ((*source)->getNames(),
            (std::vector<std::string>{"weight", "scale", "columns", "copy"}));
  EXPECT_FALSE((*source)->contains("flat"));
  auto check = [&](const char *name, const Shape &shape, double first) {
    auto tensor = (*source)->read(name, ElementType::F32, shape);
    ASSERT_TRUE(bool(tensor)) << tensor.getMessage();
    for (int64_t i = 0; i < tensor->getNumElements(); ++i)
      EXPECT_EQ(tensor->getAsDouble(i), first + static_cast<double>(i)) << name;
  };
  // The weight lies on both ranks.
  check("weight", {2, 5}, 101);
  check("scale", {}, 112);
  check("columns", {2, 3}, 200);
  check("copy", {2}, 300);
}

TEST_F(ShardFolderTest, NamesWhatDoesNotFit) {
  auto source = openTensorSource(folder.string());
  ASSERT_TRUE(bool(source));
  auto shape = (*source)->read("weight", ElementType::F32, {5, 2});
  ASSERT_FALSE(bool(shape));
  EXPECT_NE(shape.getMessage().find("must have shape [5, 2], got [2, 5]"),
            std::string::npos);
  auto type = (*source)->read("weight", ElementType::BF16, {2, 5});
  ASSERT_FALSE(bool(type));
  EXPECT_NE(type.getMessage().find("must have dtype BF16, got F32"),
            std::string::npos);
  EXPECT_FALSE(bool((*source)->read("flat", ElementType::F32, {16})));
}

TEST_F(ShardFolderTest, RefusesIncompleteFolders) {
  std::filesystem::copy_file(folder / "rank-0-of-2.safetensors",
                             folder / "rank-0-of-3.safetensors");
  EXPECT_NE(openError().find("holds shards of 2 and of 3 ranks"),
            std::string::npos);
  std::filesystem::remove(folder / "rank-0-of-3.safetensors");
  EXPECT_EQ(openError(), "");
  std::filesystem::remove(folder / "rank-1-of-2.safetensors");
  EXPECT_NE(openError().find("rank-1-of-2.safetensors"), std::string::npos);
  std::filesystem::remove(folder / "rank-0-of-2.safetensors");
  EXPECT_NE(openError().find("holds no shards"), std::string::npos);
}

// As many elements as there have to be, but some twice and others never.
TEST_F(ShardFolderTest, RefusesPartsThatOverlap) {
  auto write = [&](int64_t rank, const std::string &parts) {
    std::vector<NamedTensor> tensors = {
        {"x", HostTensor::zeros(ElementType::F32, {2, 2})}};
    std::string name = "rank-" + std::to_string(rank) + "-of-2.safetensors";
    ASSERT_FALSE(
        bool(writeSafetensors((folder / name).string(), tensors,
                              {{"regather.rank", std::to_string(rank)},
                               {"regather.ranks", "2"},
                               {"regather.parts", "[" + parts + "]"}})));
  };
  auto describe = [](const char *offsets, const char *sizes) {
    return R"({"name": "x", "shape": [4, 2], "offsets": )" +
           std::string(offsets) + R"(, "sizes": )" + sizes + "}";
  };
  std::string upper = describe("[0, 0]", "[2, 2]"),
              lower = describe("[2, 0]", "[2, 2]"),
              middle = describe("[1, 0]", "[2, 2]"),
              one = describe("[0, 1]", "[2, 1]"),
              other = describe("[2, 0]", "[2, 1]");
  std::string message = "folder '" + folder.string() +
                        "' holds parts of tensor \"x\" that overlap";
  write(0, upper);
  write(1, lower);
  EXPECT_EQ(openError(), "");
  write(1, upper);
  EXPECT_EQ(openError(), message);
  write(1, middle);
  EXPECT_EQ(openError(), message);
  write(0, upper + ", " + one);
  write(1, other);
  EXPECT_EQ(openError(), message);
}

// After each step of a save that a kill can follow, the old or the new one.
TEST_F(ShardFolderTest, InterruptedSavesCanBeRead) {
  auto at = [&](const char *name) { return folder / name; };
  const char *names[] = {"rank-0-of-2.safetensors", "rank-1-of-2.safetensors"};
  std::filesystem::path old = folder.string() + "-old";
  std::filesystem::remove_all(old);
  std::filesystem::copy(folder, old);
  setCopy(7);
  ASSERT_FALSE(bool(write()));
  std::filesystem::create_directory(at("regather-saving"));
  for (const char *name : names) {
    std::filesystem::rename(at(name), at("regather-saving") / name);
    std::filesystem::rename(old / name, at(name));
  }
  EXPECT_EQ(readCopy(), std::optional<double>(300));
  std::filesystem::rename(at("regather-saving"), at("regather-saved"));
  EXPECT_EQ(readCopy(), std::optional<double>(7));
  for (const char *name : names) {
    std::filesystem::rename(at("regather-saved") / name, at(name));
    EXPECT_EQ(readCopy(), std::optional<double>(7));
  }
  std::filesystem::remove(old);
  // The next save cleans up.
  setCopy(8);
  ASSERT_FALSE(bool(write()));
  EXPECT_EQ(readCopy(), std::optional<double>(8));
  EXPECT_EQ(list(), (std::vector<std::string>{names[0], names[1]}));
}

// A complete save counts, even if the process that made it was killed before
// another one, of other ranks, was begun.
TEST_F(ShardFolderTest, SavesReplaceThoseOfOtherRanks) {
  std::filesystem::create_directory(folder / "regather-saved");
  for (const char *name :
       {"rank-0-of-2.safetensors", "rank-1-of-2.safetensors"}) {
    std::filesystem::rename(folder / name, folder / "regather-saved" / name);
  }
  for (const char *name : {"rank-0-of-3.safetensors", "notes.txt"})
    std::ofstream(folder / name) << "old";
  EXPECT_EQ(readCopy(), std::optional<double>(300));
  step.ranks = 1;
  step.results = {makeValue("copy", {2}, {2}, std::nullopt)};
  training.results = {{training.results[0][2]}};
  ASSERT_FALSE(bool(write()));
  EXPECT_EQ(readCopy(), std::optional<double>(300));
  EXPECT_EQ(list(),
            (std::vector<std::string>{"notes.txt", "rank-0-of-1.safetensors"}));
}

// Kills a process that writes over and over, wherever that hits it.
TEST_F(ShardFolderTest, KilledProcessesLeaveTheOldOrTheNewSave) {
  constexpr int kKills = 25;
  for (int i = 0; i != kKills; ++i) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0)
      for (double number = 1;; ++number) {
        setCopy(number);
        if (write())
          _exit(1);
      }
    std::this_thread::sleep_for(std::chrono::microseconds(3000 + 137 * i));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_TRUE(readCopy()) << openError();
  }
}
