//===- GraphGrouping.h - Choose the operations of each graph ----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_EXEC_TRANSFORMS_FORMGRAPHS_GRAPHGROUPING_H
#define REGATHER_LIB_DIALECT_EXEC_TRANSFORMS_FORMGRAPHS_GRAPHGROUPING_H

#include "ByteSet.h"
#include "GraphNames.h"
#include "ProgramItems.h"

namespace regather::exec {

/// Groups runs of computation for one graph. What lies between its parts is
/// moved out of the way:
///
///   a                         wait c
///   start b  (reads a)   =>   graph { a, d }
///   wait c                    start b
///   d
///
/// Waits of stream 0 move before the graph. What another stream starts does so
/// as well, unless it conflicts with what the graph has done by then; else it
/// moves behind it. The graph ends before a computation that conflicts with
/// what was moved behind it, and before a wait for that. Computations keep
/// their order among themselves, and so do starts. Near-linear.
class GraphGrouping {
public:
  GraphGrouping(llvm::ArrayRef<ProgramItem> items, const GraphNames &names,
                unsigned minOps)
      : items(items), names(names), minOps(minOps) {}

  std::vector<ItemGroup> run();

  int64_t numGraphs = 0, numOps = 0, numMovedBefore = 0, numMovedBehind = 0;

private:
  struct Graph;
  size_t group(size_t first);
  bool extend(Graph &graph, size_t &next);
  bool add(Graph &graph, size_t number);
  bool addWait(Graph &graph, size_t number);
  void addStart(Graph &graph, size_t number);
  void close(const Graph &graph, size_t first, size_t end);
  std::string getUniqueName(unsigned number);
  std::optional<unsigned> getName(size_t item) const;
  /// True for computation that belongs to no module, such as a copy.
  bool isNeutral(size_t item) const;

  llvm::ArrayRef<ProgramItem> items;
  const GraphNames &names;
  unsigned minOps;
  std::vector<ItemGroup> groups;
  llvm::DenseMap<unsigned, unsigned> numByName;
};

} // namespace regather::exec

#endif // REGATHER_LIB_DIALECT_EXEC_TRANSFORMS_FORMGRAPHS_GRAPHGROUPING_H
