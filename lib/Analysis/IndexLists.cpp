//===- IndexLists.cpp - Many short lists of numbers -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/IndexLists.h"

#include <numeric>

using namespace regather;

IndexLists::IndexLists(size_t size,
                       llvm::ArrayRef<std::pair<uint32_t, uint32_t>> pairs)
    : elements(pairs.size()), ends(size) {
  for (auto [list, element] : pairs)
    ++ends[list];
  std::exclusive_scan(ends.begin(), ends.end(), ends.begin(), size_t(0));
  // `ends` holds the begin of each list, and its end once the list is full.
  for (auto [list, element] : pairs)
    elements[ends[list]++] = element;
}
