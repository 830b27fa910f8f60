//===- ParseJson.h - JSON that others wrote ---------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_SUPPORT_LLVM_PARSEJSON_H
#define REGATHER_SUPPORT_LLVM_PARSEJSON_H

#include "regather/Support/JsonDepth.h"

#include "llvm/Support/JSON.h"

namespace regather {

/// Parses JSON of any origin; use this and not `llvm::json::parse`.
inline llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text) {
  if (isDeeplyNested(text))
    return llvm::createStringError(getDeepJsonMessage());
  return llvm::json::parse(text);
}

} // namespace regather

#endif // REGATHER_SUPPORT_LLVM_PARSEJSON_H
