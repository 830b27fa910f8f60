//===- AxisDefaults.cpp - What axes of known names cut --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AxisDefaults.h"

#include "regather/Dialect/TG/Transforms/Experts.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::spmd;

/// True if the mesh has the axis, and no annotation names it.
static bool isOpen(StringRef axis, ArrayRef<std::string> axes,
                   ArrayRef<Annotation> annotations) {
  return llvm::is_contained(axes, axis) &&
         llvm::none_of(annotations, [&](const Annotation &annotation) {
           return annotation.axis == axis;
         });
}

static void annotate(func::FuncOp func, unsigned argument, StringRef axis,
                     int64_t dim, std::vector<Annotation> &annotations) {
  auto name = func.getArgAttrOfType<StringAttr>(argument, kNameAttrName);
  std::string text =
      (name.getValue() + "=[" + axis + "] shard " + llvm::Twine(dim)).str();
  annotations.push_back(
      {text, name.str(), /*isOutput=*/false, axis.str(), dim, argument});
}

/// The inputs that have this dimension, of the same size as the first of them.
static SmallVector<unsigned> findInputs(func::FuncOp func, int64_t dim) {
  SmallVector<unsigned> inputs;
  std::optional<int64_t> size;
  for (unsigned i = 0, e = func.getNumArguments(); i != e; ++i) {
    auto role = func.getArgAttrOfType<RoleAttr>(i, kRoleAttrName);
    auto name = func.getArgAttrOfType<StringAttr>(i, kNameAttrName);
    auto type = dyn_cast<RankedTensorType>(func.getArgumentTypes()[i]);
    if (!role || role.getKind() != RoleKind::Input || !name || !type ||
        type.getRank() <= dim)
      continue;
    if (size.value_or(type.getDimSize(dim)) != type.getDimSize(dim))
      continue;
    size = type.getDimSize(dim);
    inputs.push_back(i);
  }
  return inputs;
}

static void addSequences(func::FuncOp func,
                         std::vector<Annotation> &annotations) {
  for (unsigned input : findInputs(func, /*dim=*/1))
    annotate(func, input, "cp", /*dim=*/1, annotations);
}

/// The ranks of all axes that split the batch.
static int64_t countDataRanks(const DataMesh &mesh,
                              ArrayRef<std::string> axes) {
  int64_t ranks = 1;
  for (auto [axis, size] : llvm::zip_equal(mesh.axes.getNames(), mesh.sizes))
    if (!llvm::is_contained(axes, axis.getValue()))
      ranks *= size;
  return ranks;
}

static LogicalResult addExperts(func::FuncOp func, const DataMesh &mesh,
                                ArrayRef<std::string> axes,
                                std::vector<Annotation> &annotations) {
  int64_t ranks = mesh.countRanks(
      AxesAttr::get(func.getContext(), ArrayRef<StringRef>("ep")));
  llvm::SetVector<unsigned> experts;
  for (NodeOp node : func.getBody().front().getOps<NodeOp>()) {
    BlockArgument argument = findExperts(node);
    if (!argument || !func.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                        kNameAttrName))
      continue;
    int64_t count = cast<RankedTensorType>(argument.getType()).getDimSize(0);
    if (count % ranks != 0)
      return node.emitError()
             << "the " << count << " experts of parameter "
             << func.getArgAttr(argument.getArgNumber(), kNameAttrName)
             << " cannot be divided by the " << ranks
             << " ranks of axis \"ep\"";
    experts.insert(argument.getArgNumber());
  }
  for (unsigned argument : experts)
    annotate(func, argument, "ep", /*dim=*/0, annotations);
  if (experts.empty())
    return success();
  int64_t dataRanks = countDataRanks(mesh, axes);
  for (unsigned input : findInputs(func, /*dim=*/0)) {
    auto type = cast<RankedTensorType>(func.getArgumentTypes()[input]);
    int64_t batch = type.getDimSize(0);
    // A batch that the other ranks do not divide is that of one of them.
    int64_t sharers = batch % dataRanks == 0 ? ranks * dataRanks : ranks;
    if (batch % sharers == 0)
      annotate(func, input, "ep", /*dim=*/0, annotations);
  }
  return success();
}

LogicalResult
regather::tg::spmd::addAxisDefaults(func::FuncOp func, const DataMesh &mesh,
                                    ArrayRef<std::string> axes,
                                    std::vector<Annotation> &annotations) {
  if (isOpen("cp", axes, annotations))
    addSequences(func, annotations);
  if (isOpen("ep", axes, annotations))
    return addExperts(func, mesh, axes, annotations);
  return success();
}
