//===- ShardGrids.cpp - Grids of the shard dialect as meshes --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardGrids.h"

using namespace mlir;
using namespace regather;
using namespace regather::shardtotg;

StringAttr AxisNames::getName(int64_t axis) const {
  if (given.empty())
    return StringAttr::get(context, "axis" + Twine(axis));
  return StringAttr::get(context, given[axis]);
}

tg::AxesAttr AxisNames::getAxes(ArrayRef<shard::GridAxis> axes) const {
  SmallVector<StringAttr> names;
  for (shard::GridAxis axis : axes)
    names.push_back(getName(axis));
  return tg::AxesAttr::get(context, ArrayRef<StringAttr>(names));
}

tg::AxesAttr AxisNames::getAllAxes(shard::GridOp grid) const {
  SmallVector<StringAttr> names;
  for (int64_t axis = 0, rank = grid.getRank(); axis != rank; ++axis)
    names.push_back(getName(axis));
  return tg::AxesAttr::get(context, ArrayRef<StringAttr>(names));
}

tg::PlacementAttr AxisNames::rename(tg::PlacementAttr placement) const {
  if (given.empty())
    return placement;
  AxisNames defaults(context);
  llvm::SmallDenseMap<StringAttr, StringAttr> renamed;
  for (size_t axis = 0; axis != given.size(); ++axis)
    renamed[defaults.getName(axis)] = getName(axis);
  SmallVector<tg::AxisPlacementAttr> axes;
  for (tg::AxisPlacementAttr axis : placement.getAxes()) {
    SmallVector<StringAttr> names;
    for (StringAttr name : axis.getAxes().getNames())
      names.push_back(renamed.contains(name) ? renamed[name] : name);
    axes.push_back(tg::AxisPlacementAttr::get(
        context, tg::AxesAttr::get(context, ArrayRef<StringAttr>(names)),
        axis.getKind(), axis.getDim(), axis.getReduction()));
  }
  return tg::PlacementAttr::get(context, placement.getMesh(), axes,
                                placement.getGlobalShape());
}

int64_t regather::shardtotg::getGroupSize(shard::GridOp grid,
                                          ArrayRef<shard::GridAxis> axes) {
  int64_t size = 1;
  for (shard::GridAxis axis : axes) {
    int64_t extent = grid.getShape()[axis];
    if (extent < 1 || llvm::MulOverflow(size, extent, size))
      return 0;
  }
  return size;
}

int64_t regather::shardtotg::getLinearIndex(shard::GridOp grid,
                                            ArrayRef<shard::GridAxis> axes,
                                            ArrayRef<int64_t> index) {
  int64_t linear = 0;
  for (auto [axis, position] : llvm::zip_equal(axes, index))
    linear = linear * grid.getShape()[axis] + position;
  return linear;
}

FailureOr<OwningOpRef<tg::MeshOp>>
regather::shardtotg::buildMesh(shard::GridOp grid, const AxisNames &names) {
  for (auto [axis, size] : llvm::enumerate(grid.getShape()))
    if (ShapedType::isDynamic(size))
      return grid.emitOpError()
             << "cannot be converted: a mesh has a static shape, but the size "
                "of axis "
             << axis << " is dynamic";
  size_t given = names.getGiven().size();
  if (given && static_cast<int64_t>(given) != grid.getRank())
    return grid.emitOpError() << "has " << grid.getRank() << " axes, but "
                              << given << " axis names are given";
  SmallVector<StringAttr> axes;
  for (int64_t axis = 0, rank = grid.getRank(); axis != rank; ++axis)
    axes.push_back(names.getName(axis));
  auto attr =
      tg::AxesAttr::getChecked([&]() { return grid.emitOpError(); },
                               grid.getContext(), ArrayRef<StringAttr>(axes));
  if (!attr)
    return failure();
  OpBuilder builder(grid.getContext());
  OwningOpRef<tg::MeshOp> mesh = tg::MeshOp::create(
      builder, grid.getLoc(), grid.getSymName(), attr, grid.getShape());
  mesh->getOperation()->setDiscardableAttrs(
      grid->getDiscardableAttrDictionary());
  if (failed(mesh->verify()))
    return failure();
  return mesh;
}
