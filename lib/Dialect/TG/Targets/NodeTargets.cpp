//===- NodeTargets.cpp - Operators that nodes call ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Targets/NodeTargets.h"

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

std::optional<NodeTarget> regather::tg::findNodeTarget(StringRef name) {
  // The generated search ignores case.
  const NodeTargetInfo *found = searchTarget(name);
  if (!found || found->name != name)
    return std::nullopt;
  return found->target;
}

std::optional<NodeOperator> regather::tg::findNodeOperator(StringRef target) {
  // `aten.mm.default` -> `aten.mm`.
  StringRef name = target.take_front(target.find('.', target.find('.') + 1));
  const NodeOperatorInfo *found = searchOperator(name);
  if (!found || found->name != name)
    return std::nullopt;
  return found->op;
}

std::optional<OperatorClass> regather::tg::getOperatorClass(StringRef target) {
  if (std::optional<NodeOperator> op = findNodeOperator(target))
    return getInfo(*op).kind;
  return std::nullopt;
}
