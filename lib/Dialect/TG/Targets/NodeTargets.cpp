//===- NodeTargets.cpp - Operators that nodes call ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Targets/NodeTargets.h"

#include "llvm/ADT/StringMap.h"

#include <algorithm>
#include <array>
#include <string>

using namespace llvm;
using namespace regather::tg;

namespace {
#define GET_kOperators_DECL
#define GET_kOperators_IMPL
#define GET_kTargets_DECL
#define GET_kTargets_IMPL
#include "regather/Dialect/TG/Targets/NodeTargets.inc"
} // namespace

static constexpr size_t getIndex(const NodeOperatorInfo &info) {
  return info.op;
}
static constexpr size_t getIndex(const NodeTargetInfo &info) {
  return info.target;
}

/// The row of each enumerator.
template <typename Info, size_t N>
static constexpr std::array<uint16_t, N> getRows(const Info (&table)[N]) {
  std::array<uint16_t, N> rows = {};
  for (size_t row = 0; row < N; ++row)
    rows[getIndex(table[row])] = row;
  return rows;
}

static constexpr auto kOperatorRows = getRows(kOperators);
static constexpr auto kTargetRows = getRows(kTargets);

const NodeOperatorInfo &regather::tg::getInfo(NodeOperator op) {
  return kOperators[kOperatorRows[op]];
}

const NodeTargetInfo &regather::tg::getInfo(NodeTarget target) {
  return kTargets[kTargetRows[target]];
}

ArrayRef<NodeOperatorInfo> regather::tg::getNodeOperators() {
  return kOperators;
}

ArrayRef<NodeTargetInfo> regather::tg::getNodeTargets() { return kTargets; }

/// The row of each name. Passes look nodes up many times, and a hash takes less
/// than a binary search among names that begin alike.
template <typename Info, size_t N>
static StringMap<uint16_t> indexNames(const Info (&table)[N]) {
  StringMap<uint16_t> rows(N);
  for (size_t row = 0; row < N; ++row)
    rows.try_emplace(table[row].name, row);
  return rows;
}

std::optional<NodeTarget> regather::tg::findNodeTarget(StringRef name) {
  static const StringMap<uint16_t> rows = indexNames(kTargets);
  auto found = rows.find(name);
  if (found == rows.end())
    return std::nullopt;
  return kTargets[found->second].target;
}

std::optional<NodeOperator> regather::tg::findNodeOperator(StringRef target) {
  // `aten.mm.default` -> `aten.mm`.
  StringRef name = target.take_front(target.find('.', target.find('.') + 1));
  static const StringMap<uint16_t> rows = indexNames(kOperators);
  auto found = rows.find(name);
  if (found == rows.end())
    return std::nullopt;
  return kOperators[found->second].op;
}

std::optional<OperatorClass> regather::tg::getOperatorClass(StringRef target) {
  if (std::optional<NodeOperator> op = findNodeOperator(target))
    return getInfo(*op).kind;
  return std::nullopt;
}
