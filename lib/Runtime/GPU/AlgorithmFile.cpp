//===- AlgorithmFile.cpp - Algorithms that were chosen --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AlgorithmFile.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <unistd.h>

using namespace regather::runtime;

using Json = nlohmann::json;

static std::string formatWord(uint64_t word) {
  char digits[17];
  std::snprintf(digits, sizeof(digits), "%016llx",
                static_cast<unsigned long long>(word));
  return digits;
}

static bool parseAlgorithm(const Json &words, LtAlgorithm &algorithm) {
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

void AlgorithmFile::read(const std::string &path) {
  std::ifstream file(path);
  if (!file)
    return;
  Json json = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || json.value("library", Json()) != library ||
      json.value("device", Json()) != device)
    return;
  Json entries = json.value("algorithms", Json::object());
  if (!entries.is_object())
    return;
  for (const auto &[product, words] : entries.items()) {
    LtAlgorithm algorithm;
    if (parseAlgorithm(words, algorithm))
      algorithms[product] = algorithm;
  }
}

bool AlgorithmFile::write(const std::string &path, std::string &message) const {
  Json entries = Json::object();
  for (const auto &[product, algorithm] : algorithms) {
    Json &words = entries[product] = Json::array();
    for (uint64_t word : algorithm.data)
      words.push_back(formatWord(word));
  }
  Json json = {
      {"library", library}, {"device", device}, {"algorithms", entries}};
  std::ifstream before(path);
  Json known = Json::parse(before, nullptr, /*allow_exceptions=*/false);
  if (known.is_object() && known.contains(kAttention))
    json[kAttention] = known[kAttention];
  return replace(path, json.dump(1), message);
}

bool AlgorithmFile::replace(const std::string &path, const std::string &text,
                            std::string &message) {
  // Ranks of one machine may write at the same time.
  std::string part = path + "." + std::to_string(getpid());
  std::ofstream file(part);
  file << text << '\n';
  file.close();
  if (file && std::rename(part.c_str(), path.c_str()) == 0)
    return true;
  message = "cannot write '" + path + "': " + std::strerror(errno);
  std::remove(part.c_str());
  return false;
}

const LtAlgorithm *AlgorithmFile::find(const std::string &product) const {
  auto it = algorithms.find(product);
  return it == algorithms.end() ? nullptr : &it->second;
}

void AlgorithmFile::set(const std::string &product,
                        const LtAlgorithm &algorithm) {
  auto [it, isNew] = algorithms.try_emplace(product, algorithm);
  changed |=
      isNew || std::memcmp(&it->second, &algorithm, sizeof(LtAlgorithm)) != 0;
  it->second = algorithm;
}
