//===- Options.cpp - Options of the C interface ---------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

using namespace regather;
using namespace regather::capi;

Result<CommandRequest> capi::readOptions(Command command,
                                         const RegatherOptions &options) {
  if (options.count > 0 && !options.elements)
    return Failure("an argument is null");
  std::vector<std::pair<llvm::StringRef, llvm::StringRef>> texts;
  for (uint32_t i = 0; i != options.count; ++i) {
    const RegatherOption &option = options.elements[i];
    if (!option.name || !option.value)
      return Failure("an option has no name or no value");
    texts.emplace_back(option.name, option.value);
  }
  return readRequest(command, texts);
}
