//===- ShardToTG.cpp - Partitioned modules of the shard dialect -----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionBoundary.h"
#include "OperationConversion.h"

#include "regather/Conversion/Passes.h"

namespace regather {
#define GEN_PASS_DEF_CONVERTSHARDTOTGPASS
#include "regather/Conversion/Passes.h.inc"
} // namespace regather

#define DEBUG_TYPE "convert-shard-to-tg"

using namespace mlir;
using namespace regather;
using namespace regather::shardtotg;

namespace {
/// Everything of one module that is converted.
class ModuleConversion {
public:
  ModuleConversion(ModuleOp module, const AxisNames &names);

  /// Reports all that cannot be converted; changes nothing.
  LogicalResult check();
  /// Returns the number of collectives.
  int64_t convert();

private:
  LogicalResult buildMeshes();
  LogicalResult checkBoundary(BoundaryValue value);
  void convertBoundary(FunctionOpInterface func);

  ModuleOp module;
  const AxisNames &names;
  SmallVector<Operation *> operations;
  SmallVector<FunctionOpInterface> functions;
  SmallVector<BoundaryValue> boundary;
  /// In program order, each with the mesh that takes its place.
  SmallVector<std::pair<shard::GridOp, OwningOpRef<tg::MeshOp>>> grids;
  llvm::DenseMap<Operation *, tg::MeshOp> meshes;
  SymbolTableCollection tables;
};

struct ConvertShardToTGPass
    : regather::impl::ConvertShardToTGPassBase<ConvertShardToTGPass> {
  using ConvertShardToTGPassBase::ConvertShardToTGPassBase;

  void runOnOperation() override {
    AxisNames names(&getContext(), axisNames);
    ModuleConversion conversion(getOperation(), names);
    if (failed(conversion.check()))
      return signalPassFailure();
    numCollectives += conversion.convert();
  }
};
} // namespace

ModuleConversion::ModuleConversion(ModuleOp module, const AxisNames &names)
    : module(module), names(names) {
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa_and_present<shard::ShardDialect>(op->getDialect()) &&
        !isa<shard::GridOp>(op))
      operations.push_back(op);
    auto func = dyn_cast<FunctionOpInterface>(op);
    if (!func)
      return;
    functions.push_back(func);
    for (unsigned i = 0, e = func.getNumArguments(); i != e; ++i)
      boundary.push_back({func, /*isResult=*/false, i});
    for (unsigned i = 0, e = func.getNumResults(); i != e; ++i)
      boundary.push_back({func, /*isResult=*/true, i});
  });
}

LogicalResult ModuleConversion::checkBoundary(BoundaryValue value) {
  if (isa<shard::ShardingType>(value.getType()))
    return value.func.emitError()
           << "cannot be converted: " << value.getName() << " is a sharding";
  Attribute attr = value.getAttr(tg::kPlannedPlacementAttrName);
  if (!attr)
    return success();
  auto placement = names.rename(cast<tg::PlacementAttr>(attr));
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  auto emit = [&]() {
    return value.func.emitError()
           << "planned placement of " << value.getName() << ": ";
  };
  auto grid = tables.lookupNearestSymbolFrom<shard::GridOp>(
      value.func, placement.getMesh());
  if (!grid)
    return emit() << "there is no grid \"" << placement.getMesh().getValue()
                  << '"';
  if (!tensor || !tensor.hasStaticShape())
    return emit() << "expects a tensor of static shape, got "
                  << value.getType();
  return tg::verifyPlacement(emit, placement, tensor, meshes.lookup(grid));
}

/// All attributes at once: each change of one builds the list of all anew.
void ModuleConversion::convertBoundary(FunctionOpInterface func) {
  auto convertAll = [&](SmallVectorImpl<DictionaryAttr> &all) {
    for (DictionaryAttr &attrs : all) {
      NamedAttrList list(attrs);
      if (Attribute planned = list.erase(tg::kPlannedPlacementAttrName))
        list.set(tg::kPlacementAttrName,
                 names.rename(cast<tg::PlacementAttr>(planned)));
      attrs = list.getDictionary(func.getContext());
    }
  };
  SmallVector<DictionaryAttr> arguments, results;
  func.getAllArgAttrs(arguments);
  func.getAllResultAttrs(results);
  convertAll(arguments);
  convertAll(results);
  func.setAllArgAttrs(arguments);
  func.setAllResultAttrs(results);
}

LogicalResult ModuleConversion::buildMeshes() {
  bool failed = false;
  module.walk<WalkOrder::PreOrder>([&](shard::GridOp grid) {
    FailureOr<OwningOpRef<tg::MeshOp>> mesh = buildMesh(grid, names);
    failed |= mlir::failed(mesh);
    if (succeeded(mesh)) {
      meshes[grid] = mesh->get();
      grids.emplace_back(grid, std::move(*mesh));
    }
  });
  return failure(failed);
}

LogicalResult ModuleConversion::check() {
  // Without meshes, all further errors would only follow from the first ones.
  if (failed(buildMeshes()))
    return failure();
  bool failed = false;
  for (BoundaryValue value : boundary)
    failed |= checkBoundary(value).failed();
  for (Operation *op : operations)
    failed |= checkOperation(op, tables).failed();
  return failure(failed);
}

int64_t ModuleConversion::convert() {
  int64_t collectives = 0;
  // Users come first, so that operands which they no longer need are not built.
  for (Operation *op : llvm::reverse(operations))
    collectives += convertOperation(op, names, tables);
  for (auto &[grid, mesh] : grids) {
    OpBuilder(grid).insert(mesh.release());
    grid.erase();
  }
  for (FunctionOpInterface func : functions)
    convertBoundary(func);
  return collectives;
}
