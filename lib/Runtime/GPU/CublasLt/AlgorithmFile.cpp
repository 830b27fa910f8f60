//===- AlgorithmFile.cpp - Algorithms that were chosen --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AlgorithmFile.h"

#include "regather/Support/JsonDepth.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <unistd.h>

using namespace regather::runtime;
using regather::Failure;

using Json = nlohmann::json;

static std::string formatWord(uint64_t word) {
  char digits[17];
  std::snprintf(digits, sizeof(digits), "%016llx",
                static_cast<unsigned long long>(word));
  return digits;
}

static bool parseWords(const Json &words, LtAlgorithm &algorithm) {
  if (!words.is_array() || words.size() != std::size(algorithm.data))
    return false;
  for (size_t i = 0; i < words.size(); ++i) {
    if (!words[i].is_string())
      return false;
    const auto &text = words[i].get_ref<const std::string &>();
    const char *end = text.data() + text.size();
    constexpr int base = 16;
    auto result = std::from_chars(text.data(), end, algorithm.data[i], base);
    if (result.ec != std::errc() || result.ptr != end)
      return false;
  }
  return true;
}

static bool parseAlgorithm(const Json &entry, RecordedAlgorithm &algorithm) {
  if (!entry.is_object() ||
      !parseWords(entry.value("words", Json()), algorithm.algorithm))
    return false;
  Json proposal = entry.value("proposal", Json());
  Json times = entry.value("microseconds", Json::array());
  if (!proposal.is_number_unsigned() || !times.is_array() ||
      proposal.get<uint64_t>() > INT64_MAX)
    return false;
  algorithm.proposal = proposal.get<int64_t>();
  for (const Json &time : times) {
    if (!time.is_number() && !time.is_null())
      return false;
    algorithm.microseconds.push_back(time.is_null() ? NAN : time.get<double>());
  }
  return true;
}

static Json formatAlgorithm(const RecordedAlgorithm &algorithm) {
  Json entry = {{"words", Json::array()}, {"proposal", algorithm.proposal}};
  for (uint64_t word : algorithm.algorithm.data)
    entry["words"].push_back(formatWord(word));
  constexpr double nanoseconds = 1e3;
  // What is not a number becomes null.
  for (double time : algorithm.microseconds)
    entry["microseconds"].push_back(std::round(time * nanoseconds) /
                                    nanoseconds);
  return entry;
}

Json AlgorithmFile::parseObject(const std::string &text) {
  if (regather::isDeeplyNested(text))
    return Json::object();
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return json.is_object() ? json : Json::object();
}

void AlgorithmFile::parse(const std::string &text) {
  Json json = parseObject(text);
  if (json.value("library", Json()) != library ||
      json.value("device", Json()) != device)
    return;
  Json entries = json.value("algorithms", Json::object());
  if (!entries.is_object())
    return;
  for (const auto &[gemm, entry] : entries.items()) {
    RecordedAlgorithm algorithm;
    if (parseAlgorithm(entry, algorithm))
      algorithms[gemm] = std::move(algorithm);
  }
}

std::string AlgorithmFile::print() const {
  Json entries = Json::object();
  for (const auto &[gemm, algorithm] : algorithms)
    entries[gemm] = formatAlgorithm(algorithm);
  Json json = {
      {"library", library}, {"device", device}, {"algorithms", entries}};
  return json.dump(1);
}

Failure AlgorithmFile::write(const std::string &path) const {
  Json json = Json::parse(print());
  Json known = parseObject(load(path));
  if (known.contains(kAttention))
    json[kAttention] = known[kAttention];
  return replace(path, json.dump(1));
}

std::string AlgorithmFile::load(const std::string &path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

Failure AlgorithmFile::replace(const std::string &path,
                               const std::string &text) {
  // Several processes may write at the same time.
  std::string part = path + "." + std::to_string(getpid());
  std::ofstream file(part);
  file << text << '\n';
  file.close();
  if (file && std::rename(part.c_str(), path.c_str()) == 0)
    return Failure();
  Failure failure("cannot write '" + path + "': " + std::strerror(errno));
  std::remove(part.c_str());
  return failure;
}

const RecordedAlgorithm *AlgorithmFile::find(const std::string &gemm) const {
  auto it = algorithms.find(gemm);
  return it == algorithms.end() ? nullptr : &it->second;
}

void AlgorithmFile::set(const std::string &gemm, RecordedAlgorithm algorithm) {
  algorithms[gemm] = std::move(algorithm);
  changed = true;
}
