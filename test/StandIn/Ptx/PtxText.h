//===- PtxText.h - The words of PTX -----------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_STANDIN_PTX_PTXTEXT_H
#define REGATHER_TEST_STANDIN_PTX_PTXTEXT_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace regather::runtime {

constexpr std::string_view kSpace = " \t\r\n";

bool startsWith(std::string_view text, std::string_view prefix);
std::string_view trim(std::string_view text);

/// Splits at a separator outside of braces and brackets; parts are trimmed, and
/// empty ones left out.
std::vector<std::string_view> split(std::string_view text, char separator);

/// The number that a text begins with; 0 if it begins with none.
int64_t readNumber(std::string_view text);

/// Where the brace is closed that stands at `begin`; the end of the text if it
/// is not.
size_t findClosingBrace(std::string_view text, size_t begin);

/// Without comments and indentation, and with a `;` behind labels.
std::string removeComments(std::string_view text);

} // namespace regather::runtime

#endif // REGATHER_TEST_STANDIN_PTX_PTXTEXT_H
