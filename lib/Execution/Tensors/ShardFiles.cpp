//===- ShardFiles.cpp - The files of a folder of shards -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardFiles.h"

#include "regather/Support/AtomicFile.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>

using namespace regather;
namespace fs = std::filesystem;

/// Where files of a save are that is not complete, and of one that is.
static constexpr const char *kSaving = "regather-saving",
                            *kSaved = "regather-saved";

static std::string getShardName(int64_t rank, int64_t ranks) {
  return "rank-" + std::to_string(rank) + "-of-" + std::to_string(ranks) +
         ".safetensors";
}

std::string regather::getSavingPath(const std::string &directory, int64_t rank,
                                    int64_t ranks) {
  return (fs::path(directory) / kSaving / getShardName(rank, ranks)).string();
}

std::string regather::findShard(const std::string &directory, int64_t rank,
                                int64_t ranks) {
  std::string name = getShardName(rank, ranks);
  fs::path saved = fs::path(directory) / kSaved / name;
  std::error_code error;
  return (fs::exists(saved, error) ? saved : fs::path(directory) / name)
      .string();
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// Reads a number from the beginning of `text`, and takes it off.
static std::optional<int64_t> takeNumber(std::string_view &text) {
  int64_t number = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0)
    return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

/// Takes `prefix` off the beginning of `text`, if it is there.
static bool takePrefix(std::string_view &text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix)
    return false;
  text.remove_prefix(prefix.size());
  return true;
}

/// Reads `rank-2-of-4.safetensors`: 4; nothing if that is not what it is.
static std::optional<int64_t> getRanks(std::string_view name) {
  if (!takePrefix(name, "rank-") || !takeNumber(name) ||
      !takePrefix(name, "-of-"))
    return std::nullopt;
  std::optional<int64_t> ranks = takeNumber(name);
  return name == ".safetensors" ? ranks : std::nullopt;
}

/// Calls `visit` for each shard in a folder, in no order; which one may remove.
/// A folder that does not exist has none.
static std::error_code
forEachShard(const fs::path &folder,
             const std::function<void(const fs::path &, int64_t)> &visit) {
  std::error_code error;
  fs::directory_iterator it(folder, error), end;
  if (error == std::errc::no_such_file_or_directory)
    return std::error_code();
  for (; !error && it != end; it.increment(error))
    if (auto ranks = getRanks(it->path().filename().string()))
      visit(it->path(), *ranks);
  return error;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

Result<int64_t> regather::findRanks(const std::string &directory) {
  std::optional<int64_t> least, most;
  auto add = [&](const fs::path &, int64_t ranks) {
    least = std::min(least.value_or(ranks), ranks);
    most = std::max(most.value_or(ranks), ranks);
  };
  std::error_code error = forEachShard(fs::path(directory) / kSaved, add);
  if (!least && !error)
    error = forEachShard(directory, add);
  if (error)
    return Failure("cannot read folder '" + directory +
                   "': " + error.message());
  if (!least || *least < 1)
    return Failure("folder '" + directory +
                   "' holds no shards, such as rank-0-of-1.safetensors");
  if (*least != *most)
    return Failure("folder '" + directory + "' holds shards of " +
                   std::to_string(*least) + " and of " + std::to_string(*most) +
                   " ranks");
  return *least;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static Failure explainFolder(const fs::path &folder, const std::string &why) {
  return Failure("cannot write to folder '" + folder.string() + "': " + why);
}

static bool isMissing(const std::error_code &error) {
  return error == std::errc::no_such_file_or_directory;
}

/// Moves the files of a complete save up, if there is one. Another process may
/// do the same: what is missing, it has moved.
static Failure finishSave(const fs::path &directory) {
  fs::path saved = directory / kSaved;
  std::optional<int64_t> saveRanks;
  std::vector<fs::path> files, oldFiles;
  std::error_code error =
      forEachShard(saved, [&](const fs::path &file, int64_t ranks) {
        saveRanks = ranks;
        files.push_back(file);
      });
  // With the last of the new files the number of their ranks would be lost, so
  // that the old ones go first.
  if (!error && saveRanks)
    error = forEachShard(directory, [&](const fs::path &file, int64_t ranks) {
      if (ranks != *saveRanks)
        oldFiles.push_back(file);
    });
  for (const fs::path &file : oldFiles)
    if (!error)
      fs::remove(file, error);
  for (const fs::path &file : files) {
    if (error)
      break;
    fs::rename(file, directory / file.filename(), error);
    if (isMissing(error))
      error.clear();
  }
  if (error)
    return explainFolder(directory, error.message());
  if (!files.empty())
    if (Failure failure = syncFolder(directory.string()))
      return explainFolder(directory, failure.getMessage());
  fs::remove_all(saved, error);
  return error && !isMissing(error) ? explainFolder(saved, error.message())
                                    : Failure();
}

Failure regather::prepareSave(const std::string &directory, int64_t ranks) {
  fs::path saving = fs::path(directory) / kSaving;
  std::error_code error;
  fs::create_directories(directory, error);
  if (error)
    return Failure("cannot make folder '" + directory +
                   "': " + error.message());
  if (Failure failure = finishSave(directory))
    return failure;
  fs::create_directory(saving, error);
  // Files of as many ranks are about to be written over.
  std::vector<fs::path> others;
  if (!error)
    error = forEachShard(saving, [&](const fs::path &file, int64_t count) {
      if (count != ranks)
        others.push_back(file);
    });
  for (const fs::path &file : others)
    if (!error)
      fs::remove(file, error);
  return error ? explainFolder(saving, error.message()) : Failure();
}

Failure regather::commitSave(const std::string &directory) {
  fs::path folder = directory;
  std::error_code error;
  fs::rename(folder / kSaving, folder / kSaved, error);
  if (error && !isMissing(error))
    return explainFolder(folder, error.message());
  if (Failure failure = syncFolder(directory))
    return explainFolder(folder, failure.getMessage());
  return finishSave(folder);
}
