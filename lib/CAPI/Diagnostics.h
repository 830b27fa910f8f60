//===- Diagnostics.h - Diagnostics as values --------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_CAPI_DIAGNOSTICS_H
#define REGATHER_LIB_CAPI_DIAGNOSTICS_H

#include "regather-c/Status.h"

#include <deque>
#include <string>
#include <vector>

namespace regather::capi {

/// Diagnostics that own their texts. What get() returns lives as long as this,
/// and until another one is added.
class Diagnostics {
public:
  Diagnostics() = default;
  Diagnostics(const Diagnostics &) = delete;
  Diagnostics &operator=(const Diagnostics &) = delete;

  /// Adds a message; `notes` are messages of makeNotes.
  void add(RegatherDiagnostic diagnostic) { elements.push_back(diagnostic); }
  /// A copy that lives as long as this.
  const char *keep(std::string text) {
    return texts.emplace_back(std::move(text)).c_str();
  }
  std::vector<RegatherDiagnostic> &makeNotes() { return notes.emplace_back(); }

  RegatherDiagnostics get() const {
    return {static_cast<uint32_t>(elements.size()), elements.data()};
  }

private:
  // Deques, because elements stay where they are.
  std::deque<std::string> texts;
  std::deque<std::vector<RegatherDiagnostic>> notes;
  std::vector<RegatherDiagnostic> elements;
};

} // namespace regather::capi

#endif // REGATHER_LIB_CAPI_DIAGNOSTICS_H
