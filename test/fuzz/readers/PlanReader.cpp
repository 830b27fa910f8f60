//===- PlanReader.cpp - Plans of options of passes ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JsonMutation.h"
#include "OptionCheck.h"
#include "Reader.h"

#include "regather/Pipelines/StepOptionText.h"

#include "llvm/ADT/StringRef.h"

using namespace regather;
using namespace regather::fuzz;

/// Plans in JSON alone: others are names of files.
static std::string readPlanBytes(std::string_view bytes) {
  llvm::StringRef text(bytes.data(), bytes.size());
  if (!text.ltrim().starts_with("{"))
    return "no JSON";
  StepOptions options;
  if (Failure failure = readPlan(options, text.str(), "plan"))
    return failure.getMessage();
  checkOptions(options);
  return std::string();
}

const Reader regather::fuzz::planReader = {"plan", readPlanBytes, mutateJson};
