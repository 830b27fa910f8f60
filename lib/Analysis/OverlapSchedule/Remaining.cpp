//===- Remaining.cpp - Computation that is left ---------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Remaining.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace regather;
using namespace regather::overlap;

RemainingCompute::RemainingCompute(const Graph &graph)
    : ranks(graph.size()), sums(graph.size() + 1, 0.0) {
  Order byPriority = getGivenOrder(graph);
  llvm::sort(byPriority, [&](uint32_t a, uint32_t b) {
    return std::make_pair(-graph.priorities[a], a) <
           std::make_pair(-graph.priorities[b], b);
  });
  for (auto [rank, op] : enumerate(byPriority))
    ranks[op] = rank;
  for (uint32_t op = 0; op != graph.size(); ++op)
    add(ranks[op], graph.getComputeSeconds(op));
}

void RemainingCompute::add(uint32_t rank, double seconds) {
  if (seconds == 0)
    return;
  for (size_t i = rank + 1; i < sums.size(); i += i & -i)
    sums[i] += seconds;
}

double RemainingCompute::getBefore(uint32_t op) const {
  double sum = 0;
  for (size_t i = ranks[op]; i != 0; i -= i & -i)
    sum += sums[i];
  return sum;
}
