//===- FxMeshes.cpp - Meshes, process groups and placements ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FxMeshes.h"

#include "llvm/ADT/MapVector.h"

#include <map>

using namespace mlir;
using namespace regather;
using namespace regather::fx;
using Kind = JsonValue::Kind;

LogicalResult FxMeshes::read(OpBuilder &builder) {
  const JsonValue &root = file.getRoot();
  FailureOr<ArrayRef<JsonValue>> list =
      file.getArray(root, "meshes", /*optional=*/true);
  FailureOr<const JsonValue *> named =
      file.lookup(root, "groups", Kind::Object);
  if (failed(list) || failed(named))
    return failure();
  for (const JsonValue &mesh : *list)
    if (failed(readMesh(mesh, builder)))
      return failure();
  if (!*named)
    return success();
  for (const JsonMember &member : (*named)->getMembers())
    if (failed(readGroup(member.key, member.value)))
      return failure();
  return success();
}

LogicalResult FxMeshes::readMesh(const JsonValue &mesh, OpBuilder &builder) {
  if (failed(file.expect(mesh, Kind::Object)))
    return failure();
  const JsonValue *name = file.require(mesh, "name", Kind::String);
  FailureOr<ArrayRef<JsonValue>> axes = file.getArray(mesh, "axes");
  if (!name || failed(axes))
    return failure();
  if (name->getString().empty())
    return file.emitError(*name) << "name must not be empty";
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  for (const JsonValue &axis : *axes) {
    if (failed(file.expect(axis, Kind::Array)))
      return failure();
    ArrayRef<JsonValue> pair = axis.getElements();
    if (pair.size() != 2 || !pair[0].is(Kind::String) ||
        !pair[1].is(Kind::Integer))
      return file.emitError(axis) << "expects [name, number of ranks]";
    names.push_back(builder.getStringAttr(pair[0].getString()));
    sizes.push_back(pair[1].getInteger());
  }
  auto axesAttr = tg::AxesAttr::getChecked(
      [&]() { return file.emitError(mesh); }, builder.getContext(),
      ArrayRef<StringAttr>(names));
  if (!axesAttr)
    return failure();
  if (meshes.contains(name->getString()))
    return file.emitError(*name)
           << "mesh \"" << name->getString() << "\" is declared twice";
  auto op = tg::MeshOp::create(builder, file.getFileLocation(mesh.getOffset()),
                               name->getString(), axesAttr, sizes);
  // Groups and placements compute with the sizes, so they are checked now.
  std::string message;
  {
    ScopedDiagnosticHandler handler(
        builder.getContext(),
        [&](Diagnostic &diagnostic) { message = diagnostic.str(); });
    if (succeeded(op.verify()))
      meshes[name->getString()] = op;
  }
  if (!message.empty())
    return file.emitError(mesh) << message;
  return success();
}

tg::MeshOp FxMeshes::getMesh(const JsonValue &object) {
  const JsonValue *name = file.require(object, "mesh", Kind::String);
  if (!name)
    return {};
  if (tg::MeshOp mesh = meshes.lookup(name->getString()))
    return mesh;
  file.emitError(*name) << "unknown mesh \"" << name->getString() << '"';
  return {};
}

FailureOr<tg::AxesAttr> FxMeshes::readAxes(const JsonValue &object,
                                           tg::MeshOp mesh) {
  FailureOr<ArrayRef<JsonValue>> axes = file.getArray(object, "axes");
  if (failed(axes))
    return failure();
  SmallVector<StringAttr> names;
  for (const JsonValue &axis : *axes) {
    if (failed(file.expect(axis, Kind::String)))
      return failure();
    if (!mesh.getAxisSize(axis.getString())) {
      file.emitError(axis) << "mesh \"" << mesh.getSymName()
                           << "\" has no axis \"" << axis.getString() << '"';
      return failure();
    }
    names.push_back(StringAttr::get(file.getContext(), axis.getString()));
  }
  auto attr =
      tg::AxesAttr::getChecked([&]() { return file.emitError(object); },
                               file.getContext(), ArrayRef<StringAttr>(names));
  if (!attr)
    return failure();
  return attr;
}

LogicalResult FxMeshes::readGroup(StringRef name, const JsonValue &group) {
  if (failed(file.expect(group, Kind::Object)))
    return failure();
  tg::MeshOp mesh = getMesh(group);
  if (!mesh)
    return failure();
  FailureOr<tg::AxesAttr> axes = readAxes(group, mesh);
  if (failed(axes))
    return failure();
  groups[name] = {FlatSymbolRefAttr::get(mesh.getSymNameAttr()), *axes,
                  mesh.getGroupSize(*axes)};
  return success();
}

const Group *FxMeshes::getGroup(const JsonValue &name) {
  if (failed(file.expect(name, Kind::String)))
    return nullptr;
  auto it = groups.find(name.getString());
  if (it != groups.end())
    return &it->second;
  file.emitError(name) << "unknown process group \"" << name.getString() << '"';
  return nullptr;
}

/// PyTorch lists one entry for each mesh axis and, for several over one
/// dimension, cuts by the first one first. An entry with `strided: n` is cut
/// after later entries of n ranks together. In tg these are one list of axes,
/// in the order of the cuts: built from the last entry to the first, each entry
/// goes behind the n pieces that are cut before it.
FailureOr<SmallVector<tg::AxisPlacementAttr>>
FxMeshes::readShards(ArrayRef<JsonValue> entries, tg::MeshOp mesh) {
  // Dimensions in the order of their first entry.
  llvm::MapVector<int64_t, SmallVector<StringAttr>, std::map<int64_t, unsigned>>
      axesOfDim;
  for (const JsonValue &entry : entries) {
    if (failed(file.expect(entry, Kind::Object)))
      return failure();
    const JsonValue *dim = file.require(entry, "shard", Kind::Integer);
    if (!dim)
      return failure();
    if (dim->getInteger() < 0) {
      file.emitError(*dim) << "sharded dimension must not be negative, got "
                           << dim->getInteger();
      return failure();
    }
    axesOfDim[dim->getInteger()];
  }
  for (const JsonValue &entry : llvm::reverse(entries)) {
    FailureOr<tg::AxesAttr> names = readAxes(entry, mesh);
    FailureOr<const JsonValue *> strided =
        file.lookup(entry, "strided", Kind::Integer);
    if (failed(names) || failed(strided))
      return failure();
    int64_t pieces = *strided ? (*strided)->getInteger() : 1;
    SmallVector<StringAttr> &axes =
        axesOfDim[entry.find("shard")->getInteger()];
    auto *position = axes.begin();
    int64_t product = 1;
    while (product < pieces && position != axes.end())
      product *= *mesh.getAxisSize((position++)->getValue());
    if (product != pieces) {
      file.emitError(**strided)
          << "split factor " << pieces
          << " is no number of pieces that later entries make";
      return failure();
    }
    axes.insert(position, names->getNames().begin(), names->getNames().end());
  }
  SmallVector<tg::AxisPlacementAttr> result;
  for (const auto &[dim, names] : axesOfDim) {
    auto axes = tg::AxesAttr::getChecked(
        [&]() { return file.emitError(entries.front()); }, file.getContext(),
        ArrayRef<StringAttr>(names));
    if (!axes)
      return failure();
    result.push_back(tg::AxisPlacementAttr::get(file.getContext(), axes,
                                                tg::PlacementKind::Shard, dim,
                                                tg::Reduction::Sum));
  }
  return result;
}

FailureOr<tg::PlacementAttr> FxMeshes::getPlacement(const JsonValue &object,
                                                    RankedTensorType local) {
  FailureOr<const JsonValue *> placement =
      file.lookup(object, "placement", Kind::Object);
  if (failed(placement))
    return failure();
  if (!*placement)
    return tg::PlacementAttr();
  tg::MeshOp mesh = getMesh(**placement);
  if (!mesh)
    return failure();
  FailureOr<ArrayRef<JsonValue>> entries = file.getArray(**placement, "axes");
  FailureOr<ArrayRef<JsonValue>> sizes = file.getArray(**placement, "shape");
  if (failed(entries) || failed(sizes))
    return failure();

  FailureOr<SmallVector<tg::AxisPlacementAttr>> axes =
      readShards(*entries, mesh);
  if (failed(axes))
    return failure();
  SmallVector<int64_t> global;
  for (const JsonValue &size : *sizes) {
    if (failed(file.expect(size, Kind::Integer)))
      return failure();
    global.push_back(size.getInteger());
  }

  auto emit = [&]() { return file.emitError(**placement); };
  auto symbol = FlatSymbolRefAttr::get(mesh.getSymNameAttr());
  auto make = [&](ArrayRef<int64_t> shape) {
    return tg::PlacementAttr::getChecked(emit, file.getContext(), symbol,
                                         ArrayRef<tg::AxisPlacementAttr>(*axes),
                                         shape);
  };
  tg::PlacementAttr attr = make(global);
  if (!attr || failed(tg::verifyPlacement(emit, attr, local, mesh)))
    return failure();
  // An empty global shape means none, so that of a scalar is checked here.
  if (global.size() != static_cast<size_t>(local.getRank())) {
    file.emitError(**placement) << "global shape has " << global.size()
                                << " dimensions, but the tensor is " << local;
    return failure();
  }
  // The global shape is written only where the local one does not give it.
  tg::PlacementAttr derived = make({});
  FailureOr<SmallVector<int64_t>> even =
      tg::getGlobalShape(derived, local, mesh);
  return succeeded(even) && *even == global ? derived : attr;
}
