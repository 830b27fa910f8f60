//===- EngineFile.cpp - Engines that were chosen --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EngineFile.h"

#include "GPU/CublasLt/AlgorithmFile.h"

#include <nlohmann/json.hpp>

using namespace regather::runtime;
using regather::Failure;

using Json = nlohmann::json;

void EngineFile::parse(const std::string &text) {
  Json json =
      AlgorithmFile::parseObject(text).value(AlgorithmFile::kAttention, Json());
  if (!json.is_object() || json.value("library", Json()) != library ||
      json.value("device", Json()) != device)
    return;
  Json entries = json.value("engines", Json::object());
  if (!entries.is_object())
    return;
  for (const auto &[attention, engine] : entries.items())
    if (DnnEngineChoice choice; engine.is_string() && choice.parse(engine))
      engines[attention] = engine;
}

std::string EngineFile::print() const {
  Json json = {
      {AlgorithmFile::kAttention,
       {{"library", library}, {"device", device}, {"engines", engines}}}};
  return json.dump(1);
}

Failure EngineFile::write(const std::string &path) const {
  Json json = AlgorithmFile::parseObject(AlgorithmFile::load(path));
  json.update(Json::parse(print()));
  return AlgorithmFile::replace(path, json.dump(1));
}

DnnEngineChoice EngineFile::find(const std::string &attention) const {
  DnnEngineChoice choice;
  auto it = engines.find(attention);
  if (it != engines.end())
    choice.parse(it->second);
  return choice;
}

void EngineFile::set(const std::string &attention,
                     const DnnEngineChoice &choice) {
  std::string &engine = engines[attention];
  changed |= engine != choice.describe();
  engine = choice.describe();
}
