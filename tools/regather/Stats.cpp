//===- Stats.cpp - regather stats -----------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <map>

using namespace mlir;
using namespace regather;
using namespace regather::tg;
namespace cl = llvm::cl;

cl::SubCommand regather::statsCommand(
    "stats", "Count the operations, collectives and parameters of a module");

static cl::opt<std::string> file(cl::Positional, cl::desc("FILE"), cl::Required,
                                 cl::sub(statsCommand), cl::cat(getCategory()));
static cl::opt<bool> json("json", cl::desc("Print one JSON object on stdout"),
                          cl::sub(statsCommand), cl::cat(getCategory()));

namespace {
/// Collectives that differ in none of these are counted together.
struct CollectiveKey {
  std::string kind;
  Phase phase;
  std::string mesh;
  std::vector<std::string> axes;
  int64_t ranks;

  bool operator<(const CollectiveKey &other) const {
    return std::tie(phase, kind, mesh, axes, ranks) <
           std::tie(other.phase, other.kind, other.mesh, other.axes,
                    other.ranks);
  }
};

struct CollectiveCount {
  int64_t ops = 0;
  int64_t tensors = 0;
  /// Bytes that each rank receives.
  int64_t bytes = 0;
};

struct ParameterCount {
  int64_t count = 0;
  int64_t elements = 0;
  int64_t bytes = 0;
  int64_t bytesPerRank = 0;
};

struct Statistics {
  int64_t ops = 0;
  int64_t nodes = 0;
  std::map<std::string, int64_t> opsByDialect;
  std::map<std::string, int64_t> opsByPhase;
  std::map<std::string, double> flopsByPhase;
  std::map<CollectiveKey, CollectiveCount> collectives;
  ParameterCount parameters;
};
} // namespace

static void countCollective(CollectiveOpInterface op, Statistics &stats) {
  MeshOp mesh = lookupMesh(op, op.getMeshAttr());
  CollectiveKey key;
  key.kind = op->getName().stripDialect().str();
  key.phase = op.getPhase();
  key.mesh = mesh.getSymName().str();
  for (StringAttr axis : op.getAxesAttr().getNames())
    key.axes.push_back(axis.str());
  key.ranks = mesh.getGroupSize(op.getAxesAttr());
  CollectiveCount &count = stats.collectives[key];
  ++count.ops;
  count.tensors += static_cast<int64_t>(op.getInputs().size());
  count.bytes += op.getReceivedBytes(key.ranks);
}

static void countParameters(func::FuncOp func, ParameterCount &parameters) {
  for (unsigned i = 0, e = func.getNumArguments(); i != e; ++i) {
    auto role = func.getArgAttrOfType<RoleAttr>(i, kRoleAttrName);
    auto local = dyn_cast<RankedTensorType>(func.getArgumentTypes()[i]);
    if (!role || role.getKind() != RoleKind::Parameter || !local ||
        !local.hasStaticShape())
      continue;
    auto placement =
        func.getArgAttrOfType<PlacementAttr>(i, kPlacementAttrName);
    RankedTensorType global = local;
    if (placement)
      global = local.clone(*getGlobalShape(
          placement, local, lookupMesh(func, placement.getMesh())));
    ++parameters.count;
    parameters.elements += global.getNumElements();
    parameters.bytes += getTensorBytes(global);
    parameters.bytesPerRank += getTensorBytes(local);
  }
}

static Statistics collect(ModuleOp module) {
  Statistics stats;
  for (auto func : module.getOps<func::FuncOp>()) {
    countParameters(func, stats.parameters);
    func.walk([&](Operation *op) {
      // The inside of a structured operation is not an operation of the step.
      bool isInner = op->getParentOp() != func.getOperation() &&
                     !isa<RegionBranchOpInterface>(op->getParentOp());
      if (op == func || isInner || op->hasTrait<OpTrait::IsTerminator>())
        return;
      ++stats.ops;
      stats.nodes += isa<NodeOp>(op);
      ++stats.opsByDialect[op->getName().getDialectNamespace().str()];
      std::optional<Phase> phase = getPhase(op);
      std::string phaseName =
          phase ? stringifyPhase(*phase).str() : std::string("unmarked");
      ++stats.opsByPhase[phaseName];
      stats.flopsByPhase[phaseName] += getOpCost(op).flops;
      if (auto collective = dyn_cast<CollectiveOpInterface>(op))
        countCollective(collective, stats);
    });
  }
  return stats;
}

static void printJson(const Statistics &stats) {
  llvm::json::OStream stream(llvm::outs(), /*IndentSize=*/2);
  CollectiveCount total;
  stream.object([&] {
    stream.attribute("file", file.getValue());
    stream.attribute("ops", stats.ops);
    stream.attribute("nodes", stats.nodes);
    stream.attributeObject("ops_by_dialect", [&] {
      for (const auto &[dialect, count] : stats.opsByDialect)
        stream.attribute(dialect, count);
    });
    stream.attributeObject("ops_by_phase", [&] {
      for (const auto &[phase, count] : stats.opsByPhase)
        stream.attribute(phase, count);
    });
    stream.attributeObject("flops_by_phase", [&] {
      for (const auto &[phase, flops] : stats.flopsByPhase)
        stream.attribute(phase, flops);
    });
    stream.attributeArray("collectives", [&] {
      for (const auto &entry : stats.collectives) {
        const CollectiveKey &key = entry.first;
        const CollectiveCount &count = entry.second;
        total.ops += count.ops;
        total.bytes += count.bytes;
        stream.object([&] {
          stream.attribute("kind", key.kind);
          stream.attribute("phase", stringifyPhase(key.phase));
          stream.attribute("mesh", key.mesh);
          stream.attributeArray("axes", [&] {
            for (const std::string &axis : key.axes)
              stream.value(axis);
          });
          stream.attribute("ranks", key.ranks);
          stream.attribute("count", count.ops);
          stream.attribute("tensors", count.tensors);
          stream.attribute("bytes", count.bytes);
        });
      }
    });
    stream.attribute("collective_count", total.ops);
    stream.attribute("collective_bytes", total.bytes);
    stream.attributeObject("parameters", [&] {
      stream.attribute("count", stats.parameters.count);
      stream.attribute("elements", stats.parameters.elements);
      stream.attribute("bytes", stats.parameters.bytes);
      stream.attribute("bytes_per_rank", stats.parameters.bytesPerRank);
    });
  });
  llvm::outs() << '\n';
}

static void printText(const Statistics &stats) {
  llvm::outs() << llvm::formatv("{0} operations", stats.ops);
  for (const auto &[dialect, count] : stats.opsByDialect)
    llvm::outs() << llvm::formatv("  {0} {1}", dialect, count);
  llvm::outs() << llvm::formatv(
      "\n{0} parameters, {1} elements, {2} bytes, {3} on each rank\n",
      stats.parameters.count, stats.parameters.elements, stats.parameters.bytes,
      stats.parameters.bytesPerRank);
  llvm::outs() << llvm::formatv("{0,-15} {1,-10} {2,-12} {3,6} {4,8} {5,16}\n",
                                "collective", "phase", "axes", "count",
                                "tensors", "bytes received");
  for (const auto &[key, count] : stats.collectives)
    llvm::outs() << llvm::formatv(
        "{0,-15} {1,-10} {2,-12} {3,6} {4,8} {5,16}\n", key.kind,
        stringifyPhase(key.phase), llvm::join(key.axes, ","), count.ops,
        count.tensors, count.bytes);
}

int regather::statsMain() {
  std::unique_ptr<InputFile> input = readModule(file);
  if (!input)
    return 1;
  Statistics stats = collect(*input->module);
  if (json)
    printJson(stats);
  else
    printText(stats);
  return 0;
}
