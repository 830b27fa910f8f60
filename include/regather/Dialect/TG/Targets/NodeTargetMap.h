//===- NodeTargetMap.h - Something for each target --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TARGETS_NODETARGETMAP_H
#define REGATHER_DIALECT_TG_TARGETS_NODETARGETMAP_H

#include "regather/Dialect/TG/Targets/NodeTargets.h"

#include <array>
#include <vector>

namespace regather::tg {

/// What is registered for targets, such as functions. A target without anything
/// of its own has what its operator has, or else what the operator's class has.
/// All operations take constant time.
template <typename Entry> class NodeTargetMap {
public:
  NodeTargetMap()
      : byTarget(getNodeTargets().size()),
        byOperator(getNodeOperators().size()) {}

  void add(NodeTarget target, Entry entry) { byTarget[target] = entry; }
  /// For all overloads.
  void add(NodeOperator op, Entry entry) { byOperator[op] = entry; }
  /// For all operators of the class.
  void add(OperatorClass kind, Entry entry) {
    byClass[static_cast<size_t>(kind)] = entry;
  }

  template <typename Name>
  void add(std::initializer_list<Name> names, Entry entry) {
    for (Name name : names)
      add(name, entry);
  }

  /// Null if nothing is registered.
  const Entry *lookup(NodeTarget target) const {
    NodeOperator op = getInfo(target).op;
    size_t kind = static_cast<size_t>(getInfo(op).kind);
    for (const std::optional<Entry> *entry :
         {&byTarget[target], &byOperator[op], &byClass[kind]})
      if (*entry)
        return &**entry;
    return nullptr;
  }

private:
  std::vector<std::optional<Entry>> byTarget, byOperator;
  std::array<std::optional<Entry>, kNumOperatorClasses> byClass;
};

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_TARGETS_NODETARGETMAP_H
