//===- StepStatistics.cpp - What a module consists of ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepStatistics.h"

#include "BoundaryStatistics.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;

static void countCollective(CollectiveOpInterface op, StepStatistics &stats) {
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
    parameters.bytesPerRank += getTensorBytes(local);
    SmallVector<RankedTensorType> tensors = {global};
    if (auto members = func.getArgAttrOfType<MembersAttr>(i, kMembersAttrName))
      tensors =
          llvm::map_to_vector(members.getMembers(), [&](MemberAttr member) {
            return local.clone(member.getShape());
          });
    for (RankedTensorType tensor : tensors) {
      ++parameters.count;
      parameters.elements += tensor.getNumElements();
      parameters.bytes += getTensorBytes(tensor);
    }
  }
}

static bool takesSaved(func::FuncOp func) {
  for (unsigned i = 0, e = func.getNumArguments(); i != e; ++i)
    if (auto role = func.getArgAttrOfType<RoleAttr>(i, kRoleAttrName);
        role && role.getKind() == RoleKind::Saved)
      return true;
  return false;
}

StepStatistics regather::collectStatistics(ModuleOp module) {
  StepStatistics stats;
  stats.boundary = countBoundary(module);
  for (auto func : module.getOps<func::FuncOp>()) {
    // The backward part of a partitioned step has the parameters once more.
    if (!takesSaved(func))
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

void regather::writeCollectives(llvm::json::OStream &stream,
                                const StepStatistics &stats) {
  CollectiveCount total;
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
}
