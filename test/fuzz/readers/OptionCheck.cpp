//===- OptionCheck.cpp - Options as texts, and back -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OptionCheck.h"

#include "Reader.h"

#include "regather/Pipelines/StepOptionText.h"

using namespace regather;
using namespace regather::fuzz;

void regather::fuzz::checkOptions(const StepOptions &options) {
  for (llvm::StringRef name :
       {"policy", "reshard", "recompute", "chunk", "fuse-attention", "offload",
        "optimizer", "bucket", "schedule"}) {
    std::string text = printStepOption(options, name);
    if (text.empty())
      continue;
    StepOptions again;
    if (Failure failure = setStepOption(again, name, text, "output"))
      reportFind("what was printed cannot be read: " + name.str() + " " + text +
                 ": " + failure.getMessage());
    std::string other = printStepOption(again, name);
    if (other != text)
      reportFind("what was printed reads as another option: " + name.str() +
                 " " + text + " as " + other);
  }
}
