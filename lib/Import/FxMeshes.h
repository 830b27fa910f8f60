//===- FxMeshes.h - Meshes, process groups and placements -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_IMPORT_FXMESHES_H
#define REGATHER_LIB_IMPORT_FXMESHES_H

#include "FxFile.h"

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"

namespace regather::fx {

/// A process group of the captured program, as axes of a mesh.
struct Group {
  mlir::FlatSymbolRefAttr mesh;
  tg::AxesAttr axes;
  int64_t numRanks;
};

/// The meshes of a file, and what refers to them.
class FxMeshes {
public:
  explicit FxMeshes(FxFile &file) : file(file) {}

  /// Makes a `tg.mesh` for each mesh and reads the process groups.
  llvm::LogicalResult read(mlir::OpBuilder &builder);

  /// The process group that `name` names, or null after an error.
  const Group *getGroup(const JsonValue &name);

  /// The placement of a parameter, buffer or input whose part on one rank is
  /// `local`; null if `object` has none.
  llvm::FailureOr<tg::PlacementAttr> getPlacement(const JsonValue &object,
                                                  mlir::RankedTensorType local);

private:
  llvm::LogicalResult readMesh(const JsonValue &mesh, mlir::OpBuilder &builder);
  llvm::LogicalResult readGroup(llvm::StringRef name, const JsonValue &group);
  /// The mesh named by field `mesh` of `object`, or null after an error.
  tg::MeshOp getMesh(const JsonValue &object);
  /// The axes in field `axes` of `object`, all of which `mesh` has.
  llvm::FailureOr<tg::AxesAttr> readAxes(const JsonValue &object,
                                         tg::MeshOp mesh);

  /// The entries of a placement, one for each sharded dimension.
  llvm::FailureOr<llvm::SmallVector<tg::AxisPlacementAttr>>
  readShards(llvm::ArrayRef<JsonValue> entries, tg::MeshOp mesh);

  FxFile &file;
  llvm::StringMap<tg::MeshOp> meshes;
  llvm::StringMap<Group> groups;
};

} // namespace regather::fx

#endif // REGATHER_LIB_IMPORT_FXMESHES_H
