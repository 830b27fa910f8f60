//===- IndexLists.h - Many short lists of numbers ---------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_ANALYSIS_INDEXLISTS_H
#define REGATHER_ANALYSIS_INDEXLISTS_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace regather {

/// Lists of numbers, one after the other in one array: what graphs with dense
/// ids keep for each node.
class IndexLists {
public:
  IndexLists() = default;
  /// `pairs` are numbers of lists, below `size`, and elements; the elements of
  /// one list keep their order.
  IndexLists(size_t size, llvm::ArrayRef<std::pair<uint32_t, uint32_t>> pairs);

  /// Adds a list after the last one.
  void push(llvm::ArrayRef<uint32_t> list) {
    elements.insert(elements.end(), list.begin(), list.end());
    ends.push_back(elements.size());
  }

  size_t size() const { return ends.size(); }
  llvm::ArrayRef<uint32_t> operator[](size_t list) const {
    size_t begin = list == 0 ? 0 : ends[list - 1];
    return llvm::ArrayRef(elements).slice(begin, ends[list] - begin);
  }

private:
  std::vector<uint32_t> elements;
  /// By list, one past its last element.
  std::vector<size_t> ends;
};

} // namespace regather

#endif // REGATHER_ANALYSIS_INDEXLISTS_H
