//===- PlantedFault.cpp - A reader that is wrong --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JsonMutation.h"
#include "Reader.h"

#include "regather/Support/LLVM/ParseJson.h"

using namespace regather;
using namespace regather::fuzz;

/// It takes for granted that a value is a number.
static std::string failOnPlanted(std::string_view bytes) {
  llvm::Expected<llvm::json::Value> json =
      parseJson(llvm::StringRef(bytes.data(), bytes.size()));
  if (!json)
    return llvm::toString(json.takeError());
  const llvm::json::Object *object = json->getAsObject();
  const llvm::json::Value *value = object ? object->get("planted") : nullptr;
  if (!value)
    return "expects a value";
  if (!value->getAsNumber())
    reportFind("the planted fault");
  return std::string();
}

const Reader regather::fuzz::plantedFault = {"planted", failOnPlanted,
                                             mutateJson};
