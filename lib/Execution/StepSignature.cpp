//===- StepSignature.cpp - What goes into and comes out of a step ---------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/StepSignature.h"

#include "regather/Dialect/TG/Utils/StepEntry.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;

/// The function to run.
static FailureOr<func::FuncOp> findEntry(ModuleOp module, StringRef name) {
  if (!name.empty()) {
    auto func = module.lookupSymbol<func::FuncOp>(name);
    if (!func)
      return module.emitError() << "has no function \"" << name << '"';
    if (func.isExternal())
      return func.emitError() << "function \"" << name << "\" has no body";
    return func;
  }
  FailureOr<func::FuncOp> entry =
      findStep(module, "name the one to run with --entry");
  if (succeeded(entry) && !*entry)
    return module.emitError() << "has no public function to run";
  return entry;
}

/// The mesh whose ranks run; all meshes of a module have the same number.
static FailureOr<MeshOp> findMesh(ModuleOp module,
                                  std::optional<int64_t> ranks) {
  MeshOp mesh;
  for (auto other : module.getOps<MeshOp>()) {
    if (mesh && mesh.getNumRanks() != other.getNumRanks()) {
      InFlightDiagnostic diag = other.emitError()
                                << "mesh \"" << other.getSymName() << "\" has "
                                << other.getNumRanks() << " ranks, but mesh \""
                                << mesh.getSymName() << "\" has "
                                << mesh.getNumRanks();
      diag.attachNote(mesh.getLoc()) << "the first mesh is here";
      return diag;
    }
    if (!mesh)
      mesh = other;
  }
  if (mesh && ranks && mesh.getNumRanks() != *ranks)
    return mesh.emitError()
           << "mesh \"" << mesh.getSymName() << "\" has " << mesh.getNumRanks()
           << " ranks, but --ranks asks for " << *ranks;
  return mesh;
}

/// Fills in type, shapes and placement of one argument or result.
static LogicalResult describe(StepValue &value, func::FuncOp func, Type type,
                              const Twine &where, MeshOp mesh) {
  Type element = type;
  if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    element = tensor.getElementType();
    if (!tensor.hasStaticShape()) {
      int64_t dim = llvm::find_if(tensor.getShape(), ShapedType::isDynamic) -
                    tensor.getShape().begin();
      return func.emitError()
             << where << " must have a static shape, but "
             << "dimension " << dim << " of " << type << " is dynamic";
    }
    value.localShape.assign(tensor.getShape().begin(), tensor.getShape().end());
  }
  FailureOr<ElementType> elementType = getElementType(element);
  if (failed(elementType))
    return func.emitError()
           << where << " has type " << type << ", which cannot be run";
  value.elementType = *elementType;
  if (!isAddressable(value.localShape, value.elementType))
    return func.emitError()
           << where << " has type " << type << ", which no memory can hold";
  value.globalShape = value.localShape;
  if (value.placement)
    value.globalShape =
        *getGlobalShape(value.placement, cast<RankedTensorType>(type), mesh);
  if (!isAddressable(value.globalShape, value.elementType))
    return func.emitError() << where << " has type " << type
                            << " on each rank, which together no memory can "
                               "hold";
  return success();
}

/// What a flat argument holds.
static std::vector<StepMember> describeMembers(func::FuncOp func,
                                               unsigned argument) {
  std::vector<StepMember> members;
  if (auto attr =
          func.getArgAttrOfType<MembersAttr>(argument, kMembersAttrName))
    for (MemberAttr member : attr.getMembers())
      members.push_back({member.getName().str(), member.getOffset(),
                         SmallVector<int64_t>(member.getShape())});
  return members;
}

static LogicalResult describeArguments(StepSignature &step) {
  func::FuncOp func = step.entry;
  llvm::StringMap<unsigned> seen;
  for (unsigned i = 0, e = func.getNumArguments(); i != e; ++i) {
    StepValue value;
    auto name = func.getArgAttrOfType<StringAttr>(i, kNameAttrName);
    value.name = name ? name.str() : "arg" + std::to_string(i);
    value.members = describeMembers(func, i);
    for (const StepValue &inFile : value.getFileValues()) {
      auto [it, inserted] = seen.try_emplace(inFile.name, i);
      if (!inserted)
        return func.emitError()
               << "arguments " << it->second << " and " << i
               << " have the same name \"" << inFile.name << '"';
    }
    if (auto role = func.getArgAttrOfType<RoleAttr>(i, kRoleAttrName))
      value.role = role.getKind();
    value.placement =
        func.getArgAttrOfType<PlacementAttr>(i, kPlacementAttrName);
    if (failed(describe(value, func, func.getArgumentTypes()[i],
                        "argument \"" + value.name + "\"", step.mesh)))
      return failure();
    step.arguments.push_back(std::move(value));
  }
  return success();
}

/// Names a result after its role, and lets it inherit the placement of the
/// argument that it belongs to.
static void describeRole(StepValue &value, RoleAttr role,
                         const StepSignature &step) {
  value.role = role.getKind();
  value.argument = role.getArgument();
  if (role.getKind() == RoleKind::Loss)
    value.name = "loss";
  if (!role.namesArgument())
    return;
  const StepValue &argument = step.arguments[role.getArgument()];
  StringRef prefix = role.getKind() == RoleKind::Gradient ? "grad." : "";
  value.name = prefix.str() + argument.name;
  value.members = argument.members;
  for (StepMember &member : value.members)
    member.name = prefix.str() + member.name;
  if (!value.placement && argument.localShape == value.localShape)
    value.placement = argument.placement;
}

static LogicalResult describeResults(StepSignature &step) {
  func::FuncOp func = step.entry;
  llvm::StringSet<> seen;
  for (unsigned i = 0, e = func.getNumResults(); i != e; ++i) {
    StepValue value;
    value.name = "result" + std::to_string(i);
    Type type = func.getResultTypes()[i];
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      value.localShape.assign(tensor.getShape().begin(),
                              tensor.getShape().end());
    value.placement =
        func.getResultAttrOfType<PlacementAttr>(i, kPlacementAttrName);
    if (auto role = func.getResultAttrOfType<RoleAttr>(i, kRoleAttrName)) {
      describeRole(value, role, step);
      if (role.getKind() == RoleKind::Loss) {
        if (step.loss)
          return func.emitError() << "results " << *step.loss << " and " << i
                                  << " are both the loss";
        step.loss = i;
      }
    }
    if (auto name = func.getResultAttrOfType<StringAttr>(i, kNameAttrName))
      value.name = name.str();
    for (const StepValue &inFile : value.getFileValues())
      if (!seen.insert(inFile.name).second)
        return func.emitError()
               << "two results are called \"" << inFile.name << '"';
    value.localShape.clear();
    if (failed(describe(value, func, type, "result \"" + value.name + "\"",
                        step.mesh)))
      return failure();
    step.results.push_back(std::move(value));
  }
  if (!step.loss)
    return success();
  const StepValue &loss = step.results[*step.loss];
  if (llvm::product_of(loss.localShape) == 1 && isFloat(loss.elementType))
    return success();
  return func.emitError() << "the loss must be one floating-point number, got "
                          << func.getResultTypes()[*step.loss];
}

FailureOr<StepSignature> regather::analyzeStep(ModuleOp module,
                                               StringRef entryName,
                                               std::optional<int64_t> ranks) {
  StepSignature step;
  FailureOr<func::FuncOp> entry = findEntry(module, entryName);
  FailureOr<MeshOp> mesh = findMesh(module, ranks);
  if (failed(entry) || failed(mesh))
    return failure();
  step.entry = *entry;
  step.mesh = *mesh;
  step.ranks = step.mesh ? step.mesh.getNumRanks() : ranks.value_or(1);
  if (failed(describeArguments(step)) || failed(describeResults(step)))
    return failure();
  return step;
}
