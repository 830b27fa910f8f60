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

PlacementAttr DataMesh::getPlacement(RankedTensorType global,
                                     const ValueState &state) const {
  if (state.isWhole())
    return nullptr;
  MLIRContext *context = global.getContext();
  auto kind = state.isSplit() ? PlacementKind::Shard : PlacementKind::Partial;
  auto axis = AxisPlacementAttr::get(context, getAxes(state.group), kind,
                                     state.dim, state.reduction);
  SmallVector<int64_t> shape;
  if (state.isSplit() &&
      global.getDimSize(state.dim) % getRanks(state.group) != 0)
    shape.assign(global.getShape().begin(), global.getShape().end());
  return PlacementAttr::get(context, symbol, axis, shape);
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

static LogicalResult checkAxis(ModuleOp module, const DataMesh &mesh,
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
    if (axis.getValue() == options.replicateAxis)
      continue;
    if (!found.empty())
      return emitError(module.getLoc())
             << "axes \"" << found << "\" and \"" << axis.getValue()
             << "\" could both be the one to shard over; name it with option "
                "'shard-axis'";
    found = axis.getValue();
  }
  return found;
}

FailureOr<DataMesh>
regather::tg::spmd::readDataMesh(ModuleOp module, const MeshOptions &options) {
  DataMesh mesh;
  if (options.name.empty())
    return emitError(module.getLoc()) << "option 'mesh-name' must not be empty";
  mesh.symbol = FlatSymbolRefAttr::get(module.getContext(), options.name);
  if (failed(readAxes(module, options, mesh)) ||
      failed(checkAxis(module, mesh, "shard-axis", options.shardAxis)) ||
      failed(checkAxis(module, mesh, "replicate-axis", options.replicateAxis)))
    return failure();
  auto shardAxis = findShardAxis(module, mesh, options);
  if (failed(shardAxis))
    return failure();
  SmallVector<StringAttr> dataAxes;
  for (auto [axis, size] : llvm::zip_equal(mesh.axes.getNames(), mesh.sizes)) {
    bool shards = axis.getValue() == *shardAxis;
    if (!shards && axis.getValue() != options.replicateAxis) {
      if (size > 1)
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
  return mesh;
}
