//===- DataMesh.cpp - The ranks that share a batch ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DataMesh.h"

#include "regather/Support/MeshText.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

AxesAttr DataMesh::getAxes(Group group) const {
  switch (group) {
  case Group::Data:
    return dataAxes;
  case Group::Shard:
    return shardAxes;
  case Group::Wide:
    return wideAxes;
  }
  llvm_unreachable("unknown group");
}

int64_t DataMesh::getRanks(Group group) const {
  switch (group) {
  case Group::Data:
    return dataRanks;
  case Group::Shard:
    return shardRanks;
  case Group::Wide:
    return wideRanks;
  }
  llvm_unreachable("unknown group");
}

int64_t DataMesh::countRanks(AxesAttr along) const {
  int64_t ranks = 1;
  for (auto [axis, size] : llvm::zip_equal(axes.getNames(), sizes))
    if (llvm::is_contained(along.getNames(), axis))
      ranks *= size;
  return ranks;
}

Type DataMesh::getSumType(Type element) const {
  auto floats = dyn_cast<FloatType>(element);
  return segments && floats && floats.getWidth() < 32
             ? Float32Type::get(element.getContext())
             : element;
}

RankedTensorType DataMesh::getLocalType(RankedTensorType global,
                                        const ValueState &state) const {
  if (!state.isSplit())
    return global;
  SmallVector<int64_t> shape(global.getShape());
  shape[state.dim] = getShardSize(shape[state.dim], getRanks(state.group));
  return global.clone(shape);
}

RankedTensorType DataMesh::getJointType(RankedTensorType own) const {
  SmallVector<int64_t> shape(own.getShape());
  shape[0] *= dataRanks;
  return own.clone(shape);
}

PlacementAttr DataMesh::getPlacement(RankedTensorType type,
                                     const ValueState &state,
                                     PlacementAttr before) const {
  if (state.isWhole())
    return before;
  MLIRContext *context = type.getContext();
  SmallVector<AxisPlacementAttr> placed;
  SmallVector<int64_t> global(type.getShape());
  bool isUneven = state.isSplit() &&
                  type.getDimSize(state.dim) % getRanks(state.group) != 0;
  if (before) {
    placed.append(before.getAxes().begin(), before.getAxes().end());
    isUneven |= !before.getGlobalShape().empty();
    for (AxisPlacementAttr axis : placed)
      if (axis.getKind() == PlacementKind::Shard)
        global[axis.getDim()] *= countRanks(axis.getAxes());
    if (!before.getGlobalShape().empty())
      global.assign(before.getGlobalShape().begin(),
                    before.getGlobalShape().end());
  }
  auto place = [&](AxesAttr along) {
    return AxisPlacementAttr::get(context, along,
                                  state.isSplit() ? PlacementKind::Shard
                                                  : PlacementKind::Partial,
                                  state.dim, state.reduction);
  };
  AxesAttr own = getAxes(state.group);
  auto *same = llvm::find_if(placed, [&](AxisPlacementAttr axis) {
    return state.isSplit() && axis.getKind() == PlacementKind::Shard &&
           axis.getDim() == state.dim;
  });
  if (same == placed.end()) {
    placed.push_back(place(own));
  } else {
    SmallVector<StringAttr> names(same->getAxes().getNames());
    names.append(own.getNames().begin(), own.getNames().end());
    *same = place(AxesAttr::get(context, names));
  }
  return PlacementAttr::get(context, symbol, placed,
                            isUneven ? ArrayRef<int64_t>(global)
                                     : ArrayRef<int64_t>());
}

/// Reads `dp:4`.
static FailureOr<std::pair<StringRef, int64_t>> readAxis(ModuleOp module,
                                                         StringRef text) {
  auto axis = regather::parseMeshAxis(text);
  if (!axis)
    return emitError(module.getLoc())
           << "option 'mesh' expects axes such as dp:4, got \"" << text << '"';
  auto [name, size] = *axis;
  if (size < 1)
    return emitError(module.getLoc())
           << "axis \"" << name
           << "\" of option 'mesh' must have at least one "
              "rank, got "
           << size;
  return std::make_pair(StringRef(name), size);
}

static LogicalResult readAxes(ModuleOp module, const MeshOptions &options,
                              DataMesh &mesh) {
  if (options.axes.empty())
    return emitError(module.getLoc())
           << "option 'mesh' is missing; it lists the axes, such as mesh=dp:4";
  SmallVector<StringRef> names;
  int64_t ranks = 1;
  for (const std::string &text : options.axes) {
    auto axis = readAxis(module, text);
    if (failed(axis))
      return failure();
    if (llvm::is_contained(names, axis->first))
      return emitError(module.getLoc())
             << "option 'mesh' lists axis \"" << axis->first << "\" twice";
    if (llvm::MulOverflow(ranks, axis->second, ranks) ||
        ranks > std::numeric_limits<int32_t>::max())
      return emitError(module.getLoc())
             << "option 'mesh' has more ranks than 32 bits can number";
    names.push_back(axis->first);
    mesh.sizes.push_back(axis->second);
  }
  mesh.axes = AxesAttr::get(module.getContext(), names);
  return success();
}

LogicalResult regather::tg::spmd::checkAxis(ModuleOp module,
                                            const DataMesh &mesh,
                                            StringRef option, StringRef name) {
  if (name.empty() || llvm::any_of(mesh.axes.getNames(), [&](StringAttr axis) {
        return axis.getValue() == name;
      }))
    return success();
  InFlightDiagnostic diag = emitError(module.getLoc())
                            << "option '" << option << "' names axis \"" << name
                            << "\", which is not in option 'mesh': ";
  llvm::interleaveComma(mesh.axes.getNames(), diag, [&](StringAttr axis) {
    diag << '"' << axis.getValue() << '"';
  });
  return diag;
}

/// The axis over which parameters are sharded; empty if there is none.
static FailureOr<StringRef> findShardAxis(ModuleOp module, const DataMesh &mesh,
                                          const MeshOptions &options) {
  if (!options.shardAxis.empty()) {
    if (options.shardAxis == options.replicateAxis)
      return emitError(module.getLoc())
             << "options 'shard-axis' and 'replicate-axis' both name axis \""
             << options.shardAxis << '"';
    return options.shardAxis;
  }
  StringRef found;
  for (StringAttr axis : mesh.axes.getNames()) {
    if (axis.getValue() == options.replicateAxis ||
        llvm::is_contained(options.modelAxes, axis.getValue()))
      continue;
    if (!found.empty())
      return emitError(module.getLoc())
             << "axes \"" << found << "\" and \"" << axis.getValue()
             << "\" could both be the one to shard over; name it with option "
                "'shard-axis', or the one that holds copies with option "
                "'replicate-axis'";
    found = axis.getValue();
  }
  return found;
}

/// A program has one number of ranks, whatever its meshes.
static LogicalResult checkOtherMeshes(ModuleOp module, const DataMesh &mesh) {
  int64_t ranks = mesh.countRanks(mesh.axes);
  for (MeshOp other : module.getOps<MeshOp>()) {
    if (other.getSymNameAttr() == mesh.symbol.getAttr() ||
        other.getNumRanks() == ranks)
      continue;
    InFlightDiagnostic diag = emitError(module.getLoc())
                              << "option 'mesh' has " << ranks
                              << " ranks, but mesh \"" << other.getSymName()
                              << "\" of the module has " << other.getNumRanks();
    diag.attachNote(other.getLoc()) << "declared here";
    return diag;
  }
  return success();
}

FailureOr<DataMesh> regather::tg::spmd::readMesh(ModuleOp module,
                                                 const MeshOptions &options) {
  DataMesh mesh;
  if (options.name.empty())
    return emitError(module.getLoc()) << "option 'mesh-name' must not be empty";
  mesh.symbol = FlatSymbolRefAttr::get(module.getContext(), options.name);
  if (failed(readAxes(module, options, mesh)) ||
      failed(checkOtherMeshes(module, mesh)))
    return failure();
  return mesh;
}

/// Reads the axes that other passes take care of.
static LogicalResult readModelAxes(ModuleOp module, const MeshOptions &options,
                                   DataMesh &mesh) {
  SmallVector<StringRef> names;
  for (const std::string &axis : options.modelAxes) {
    if (failed(checkAxis(module, mesh, "model-axes", axis)))
      return failure();
    for (auto [option, name] :
         {std::make_pair("shard-axis", options.shardAxis),
          std::make_pair("replicate-axis", options.replicateAxis)})
      if (name == axis)
        return emitError(module.getLoc())
               << "options 'model-axes' and '" << option
               << "' both name axis \"" << axis << '"';
    names.push_back(axis);
  }
  if (!names.empty())
    mesh.modelAxes = AxesAttr::get(module.getContext(), names);
  return success();
}

/// Reads the axes over which copies of parameters are sharded.
static LogicalResult readCopyAxes(ModuleOp module, const MeshOptions &options,
                                  DataMesh &mesh) {
  if (options.copyAxes.empty())
    return success();
  for (const std::string &axis : options.copyAxes)
    if (!llvm::is_contained(options.modelAxes, axis))
      return emitError(module.getLoc())
             << "option 'copy-axes' names axis \"" << axis
             << "\", which is not in option 'model-axes'";
  SmallVector<StringAttr> copies, wide;
  for (StringAttr axis : mesh.axes.getNames()) {
    bool hasCopies = llvm::is_contained(options.copyAxes, axis.getValue());
    if (hasCopies)
      copies.push_back(axis);
    if (hasCopies ||
        (mesh.shardAxes && llvm::is_contained(mesh.shardAxes.getNames(), axis)))
      wide.push_back(axis);
  }
  mesh.copyAxes = AxesAttr::get(module.getContext(), copies);
  mesh.wideAxes = AxesAttr::get(module.getContext(), wide);
  mesh.wideRanks = mesh.countRanks(mesh.wideAxes);
  return success();
}

FailureOr<DataMesh>
regather::tg::spmd::readDataMesh(ModuleOp module, const MeshOptions &options) {
  FailureOr<DataMesh> read = readMesh(module, options);
  if (failed(read) ||
      failed(checkAxis(module, *read, "shard-axis", options.shardAxis)) ||
      failed(
          checkAxis(module, *read, "replicate-axis", options.replicateAxis)) ||
      failed(readModelAxes(module, options, *read)))
    return failure();
  DataMesh mesh = std::move(*read);
  auto shardAxis = findShardAxis(module, mesh, options);
  if (failed(shardAxis))
    return failure();
  SmallVector<StringAttr> dataAxes;
  for (auto [axis, size] : llvm::zip_equal(mesh.axes.getNames(), mesh.sizes)) {
    bool shards = axis.getValue() == *shardAxis;
    if (!shards && axis.getValue() != options.replicateAxis) {
      if (size > 1 && !llvm::is_contained(options.modelAxes, axis.getValue()))
        emitWarning(module.getLoc())
            << "axis \"" << axis.getValue()
            << "\" of option 'mesh' splits nothing: its " << size
            << " ranks do the same work; name it with option "
               "'replicate-axis' to split the batch over it";
      continue;
    }
    dataAxes.push_back(axis);
    mesh.dataRanks *= size;
    (shards ? mesh.shardRanks : mesh.replicateRanks) = size;
    (shards ? mesh.shardAxes : mesh.replicateAxes) =
        AxesAttr::get(module.getContext(), axis);
  }
  mesh.dataAxes = AxesAttr::get(module.getContext(), dataAxes);
  if (failed(readCopyAxes(module, options, mesh)))
    return failure();
  return mesh;
}
