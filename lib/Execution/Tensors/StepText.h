//===- StepText.h - Words of messages ---------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_EXECUTION_TENSORS_STEPTEXT_H
#define REGATHER_LIB_EXECUTION_TENSORS_STEPTEXT_H

#include "regather/Execution/Tensors/HostTensor.h"

#include <string>

namespace regather {

inline std::string quote(const std::string &text) { return '"' + text + '"'; }

inline std::string join(const std::vector<std::string> &parts,
                        const char *separator = ", ") {
  std::string text;
  for (const std::string &part : parts)
    text += (&part == &parts.front() ? "" : separator) + part;
  return text;
}

/// Such as "[2, 3]".
inline std::string formatShape(const Shape &shape) {
  std::vector<std::string> sizes;
  for (int64_t size : shape)
    sizes.push_back(std::to_string(size));
  return '[' + join(sizes) + ']';
}

} // namespace regather

#endif // REGATHER_LIB_EXECUTION_TENSORS_STEPTEXT_H
