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
    // MLIR has said itself what is wrong about a value.
    auto fail = [&](const Twine &message) {
      std::string text = message.str();
      errors << "pass \"" << it->first << "\""
             << (text.empty() ? " does not take \"" + it->second + "\""
                              : ": " + text)
             << '\n';
      return failure();
    };
    if (failed(pass.initializeOptions(it->second, fail)))
      return failure();
  }
  for (const auto &entry : found)
    texts.erase(entry.first);
  return success();
}
