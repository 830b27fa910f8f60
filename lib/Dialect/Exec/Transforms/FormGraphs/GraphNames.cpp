//===- GraphNames.cpp - Which graph an operation is for -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphNames.h"

#include "regather/Analysis/Modules/ModuleUnits.h"
#include "regather/Dialect/TG/Modules/ModulePattern.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace regather;
using namespace regather::exec;

namespace {
/// The operations of a program that graphs can be made of, by module.
class ModuleOps {
public:
  ModuleOps(ProgramOp program, bool withOptimizer);

  ArrayRef<StringRef> getPaths() const { return paths; }
  ArrayRef<Operation *> getOps(unsigned path) const {
    return byPath[path].second;
  }

private:
  SmallVector<StringRef> paths;
  SmallVector<std::pair<StringRef, SmallVector<Operation *>>> byPath;
};
} // namespace

ModuleOps::ModuleOps(ProgramOp program, bool withOptimizer) {
  llvm::MapVector<StringRef, SmallVector<Operation *>> found;
  program.walk([&](StreamOpInterface op) {
    auto module = op->getAttrOfType<StringAttr>(tg::kModuleAttrName);
    if (op.getStream() == 0 && module && !module.empty() &&
        (withOptimizer || tg::getPhase(op) != tg::Phase::Optimizer))
      found[module.getValue()].push_back(op);
  });
  byPath = found.takeVector();
  for (const auto &entry : byPath)
    paths.push_back(entry.first);
}

static LogicalResult emitControlFlowError(Operation *op, const Twine &where) {
  return op->emitOpError() << "cannot be captured into the graph of " << where
                           << ": the host decides what it runs";
}

/// The operation of the body of the program that `op` is a part of.
static Operation *getOutermost(ProgramOp program, Operation *op) {
  while (op->getParentOp() != program)
    op = op->getParentOp();
  return op;
}

FailureOr<GraphNames>
regather::exec::nameGraphs(ProgramOp program, GraphMode mode,
                           ArrayRef<std::string> patterns) {
  ModuleOps modules(program, /*withOptimizer=*/mode == GraphMode::Unit);
  // What stands for each path in the names; empty if it has no graph.
  SmallVector<StringRef> owners;
  if (mode == GraphMode::Unit) {
    ModuleBlocks blocks(modules.getPaths());
    for (StringRef path : modules.getPaths()) {
      StringRef block = blocks.getBlock(path);
      owners.push_back(block.empty() ? blocks.getSibling(path) : block);
    }
  } else {
    FailureOr<std::vector<PatternMatch>> matches =
        tg::matchPatterns(program, "modules", patterns, modules.getPaths(),
                          "module that computes in forward or backward");
    if (failed(matches))
      return failure();
    for (const PatternMatch &match : *matches)
      owners.push_back(match.pattern ? match.prefix : StringRef());
  }

  GraphNames graphs;
  llvm::StringMap<unsigned> byName;
  for (auto [path, owner] : llvm::enumerate(owners)) {
    if (owner.empty())
      continue;
    for (Operation *op : modules.getOps(path)) {
      if (Operation *outer = getOutermost(program, op);
          outer != op && !isa<GraphOp>(outer))
        return emitControlFlowError(outer, "module \"" + owner + "\"");
      tg::Phase phase = tg::getPhase(op).value_or(tg::Phase::Forward);
      std::string name = (owner + "." + stringifyPhase(phase)).str();
      auto [it, inserted] = byName.try_emplace(name, graphs.names.size());
      if (inserted)
        graphs.names.push_back(name);
      graphs.numbers[op] = it->second;
    }
  }
  return graphs;
}

LogicalResult regather::exec::verifyNoControlFlow(ProgramOp program) {
  for (Operation &op : program.getBody().front())
    if (isa<IfOp, ForOp>(op))
      return emitControlFlowError(&op, "the whole program");
  return success();
}
