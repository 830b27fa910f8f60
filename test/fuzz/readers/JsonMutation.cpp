//===- JsonMutation.cpp - Changes to texts in JSON ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JsonMutation.h"

#include "regather/Support/JsonDepth.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <random>

using namespace regather;
using namespace regather::fuzz;
// Keeps the order of members, and 1 apart from 1.0.
using Json = nlohmann::ordered_json;

namespace {
class Mutation {
public:
  Mutation(Json &root, unsigned seed) : root(root), random(seed) { collect(); }
  /// Makes one change.
  void run();

private:
  size_t draw(size_t count) { return random() % count; }
  /// All values, and the names of all members.
  void collect();
  Json &drawValue() { return *values[draw(values.size())]; }
  Json drawScalar();
  Json drawNear(const Json &value);
  void changeArray(Json &array);
  void changeObject(Json &object);

  Json &root;
  std::minstd_rand random;
  std::vector<Json *> values;
  std::vector<std::string> names;
};
} // namespace

void Mutation::collect() {
  values = {&root};
  for (size_t i = 0; i != values.size(); ++i) {
    Json &value = *values[i];
    if (value.is_object())
      for (auto &member : value.items()) {
        names.push_back(member.key());
        values.push_back(&member.value());
      }
    else if (value.is_array())
      for (Json &element : value)
        values.push_back(&element);
    else if (value.is_string())
      names.push_back(value.get<std::string>());
  }
}

/// A value that readers may not expect.
Json Mutation::drawScalar() {
  const Json kScalars[] = {nullptr,
                           true,
                           false,
                           0,
                           1,
                           -1,
                           2,
                           3,
                           8,
                           255,
                           65536,
                           INT32_MAX,
                           int64_t(INT32_MAX) + 1,
                           INT64_MAX,
                           INT64_MIN,
                           UINT64_MAX,
                           int64_t(1) << 46,
                           0.0,
                           -0.5,
                           1e300,
                           1e-300,
                           "",
                           "1e400",
                           "a.b.c",
                           Json::array(),
                           Json::object()};
  size_t choice = draw(std::size(kScalars) + 4);
  if (choice < std::size(kScalars))
    return kScalars[choice];
  return names.empty() ? Json() : Json(names[draw(names.size())]);
}

/// A value of the same kind, not far from it.
Json Mutation::drawNear(const Json &value) {
  if (value.is_number_integer()) {
    // What is added wraps.
    auto bits = value.get<uint64_t>();
    constexpr int64_t kSteps[] = {1, -1, 2, -2, 64, -64, 1000};
    if (draw(3) == 0)
      return int64_t(bits << draw(8));
    return int64_t(bits + uint64_t(kSteps[draw(std::size(kSteps))]));
  }
  if (value.is_number())
    return value.get<double>() * (draw(2) ? 1e3 : -1e-3);
  if (value.is_boolean())
    return !value.get<bool>();
  if (!value.is_string())
    return drawScalar();
  auto text = value.get<std::string>();
  size_t at = draw(text.size() + 1);
  switch (draw(4)) {
  case 0:
    return text.substr(0, at);
  case 1:
    return text.substr(0, at) + names[draw(names.size())] + text.substr(at);
  case 2:
    return text + text;
  default:
    return names[draw(names.size())];
  }
}

void Mutation::changeArray(Json &array) {
  size_t at = draw(array.size()), other = draw(array.size());
  switch (draw(4)) {
  case 0:
    array.erase(at);
    break;
  case 1:
    array.push_back(Json(array[at]));
    break;
  case 2:
    std::swap(array[at], array[other]);
    break;
  default:
    array.insert(array.begin() + int64_t(at), Json(array[other]));
  }
}

void Mutation::changeObject(Json &object) {
  auto member = std::next(object.begin(), int64_t(draw(object.size())));
  auto other = std::next(object.begin(), int64_t(draw(object.size())));
  switch (draw(4)) {
  case 0:
    object.erase(member);
    break;
  case 1:
    object[names[draw(names.size())]] = Json(*member);
    break;
  case 2:
    std::swap(*member, *other);
    break;
  default: {
    Json value = std::move(*member);
    object.erase(member);
    object[names[draw(names.size())]] = std::move(value);
  }
  }
}

void Mutation::run() {
  Json &value = drawValue();
  switch (draw(6)) {
  case 0:
    value = drawScalar();
    break;
  case 1: {
    Json copy = drawValue();
    value = copy;
    break;
  }
  default:
    if (value.is_array() && !value.empty())
      changeArray(value);
    else if (value.is_object() && !value.empty())
      changeObject(value);
    else
      value = drawNear(value);
  }
}

size_t regather::fuzz::mutateJson(uint8_t *data, size_t size, size_t maxSize,
                                  unsigned seed) {
  constexpr unsigned kBytesInstead = 8;
  constexpr unsigned kMostChanges = 4;
  std::string_view text(reinterpret_cast<char *>(data), size);
  // What is deeper cannot be copied or printed.
  if (seed % kBytesInstead == 0 || isDeeplyNested(text))
    return LLVMFuzzerMutate(data, size, maxSize);
  Json root = Json::parse(text.begin(), text.end(), nullptr,
                          /*allow_exceptions=*/false);
  if (root.is_discarded())
    return LLVMFuzzerMutate(data, size, maxSize);
  for (unsigned i = 0; i != 1 + seed / kBytesInstead % kMostChanges; ++i)
    Mutation(root, seed + i).run();
  std::string changed =
      root.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (changed.size() > maxSize || changed.empty())
    return LLVMFuzzerMutate(data, size, maxSize);
  std::copy(changed.begin(), changed.end(), data);
  return changed.size();
}
