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

/// A tester of the fuzzer: it takes lists of up to four elements only.
static std::string read(std::string_view bytes) {
  llvm::Expected<llvm::json::Value> json =
      parseJson(llvm::StringRef(bytes.data(), bytes.size()));
  if (!json)
    return llvm::toString(json.takeError());
  const llvm::json::Object *object = json->getAsObject();
  const llvm::json::Array *list =
      object ? object->getArray("planted") : nullptr;
  if (!list)
    return "expects a list";
  if (list->size() > 4)
    reportFind("the planted fault");
  return std::string();
}

const Reader regather::fuzz::plantedFault = {"planted", read, mutateJson};
