//===- PassOptions.cpp - Options of the passes of a pipeline --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Pipelines/Pipelines.h"

using namespace mlir;
using namespace regather;

LogicalResult regather::applyPassOptions(OpPassManager &pm,
                                         PassOptionTexts &texts,
                                         llvm::raw_ostream &errors) {
  PassOptionTexts found;
  for (Pass &pass : pm) {
    auto it = texts.find(pass.getArgument().str());
    if (it == texts.end())
      continue;
    found.insert(*it);
    auto fail = [&](const Twine &message) {
      errors << "pass \"" << it->first << "\": " << message << '\n';
      return failure();
    };
    if (failed(pass.initializeOptions(it->second, fail)))
      return errors.tell() > 0 ? failure()
                               : fail("does not take \"" + it->second + "\"");
  }
  for (const auto &entry : found)
    texts.erase(entry.first);
  return success();
}
