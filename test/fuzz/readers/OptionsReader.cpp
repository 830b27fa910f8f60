//===- OptionsReader.cpp - Flags of steps ---------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OptionCheck.h"
#include "Reader.h"

#include "regather/Pipelines/StepOptionText.h"

#include "llvm/ADT/StringRef.h"

using namespace regather;
using namespace regather::fuzz;

/// A line for each flag: `schedule auto effort=3`, or `pass:option=value`.
static std::string readOptionsBytes(std::string_view bytes) {
  llvm::StringRef text(bytes.data(), bytes.size());
  StepOptions options;
  while (!text.empty()) {
    llvm::StringRef line;
    std::tie(line, text) = text.split('\n');
    auto [name, value] = line.split(' ');
    bool isOfPass = name.contains(':');
    if (Failure failure = isOfPass
                              ? setPassOptions(options, line, "--pass")
                              : setStepOption(options, name, value, "--flag"))
      return failure.getMessage();
  }
  checkOptions(options);
  return std::string();
}

const Reader regather::fuzz::optionsReader = {"options", readOptionsBytes};
