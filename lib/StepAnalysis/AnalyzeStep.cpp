//===- AnalyzeStep.cpp - Find the step of a module ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/StepAnalysis/AnalyzeStep.h"

#include "JoinParts.h"

#include "regather/Dialect/TG/IR/Elastic.h"
#include "regather/Dialect/TG/Steps/StepEntry.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;

FailureOr<ElementType> regather::getElementType(Type type) {
  if (type.isF32())
    return ElementType::F32;
  if (type.isF64())
    return ElementType::F64;
  if (type.isBF16())
    return ElementType::BF16;
  if (type.isF16())
    return ElementType::F16;
  if (type.isIndex())
    return ElementType::I64;
  if (!type.isSignlessInteger())
    return failure();
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return ElementType::I1;
  case 8:
    return ElementType::I8;
  case 16:
    return ElementType::I16;
  case 32:
    return ElementType::I32;
  case 64:
    return ElementType::I64;
  default:
    return failure();
  }
}

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

/// The placement of an argument or a result in the mesh of a run.
static Placement convert(PlacementAttr attr, MeshOp mesh) {
  Placement placement;
  for (AxisPlacementAttr part : attr.getAxes()) {
    AxisPlacement axis;
    for (StringAttr name : part.getAxes().getNames())
      axis.axes.push_back(
          static_cast<unsigned>(llvm::find(mesh.getAxes().getNames(), name) -
                                mesh.getAxes().getNames().begin()));
    if (part.getKind() == PlacementKind::Shard)
      axis.dim = part.getDim();
    axis.reduction = part.getReduction() == Reduction::Max ? ReductionKind::Max
                     : part.getReduction() == Reduction::Avg
                         ? ReductionKind::Avg
                         : ReductionKind::Sum;
    placement.push_back(std::move(axis));
  }
  return placement;
}

static Role convert(RoleKind kind) { return static_cast<Role>(kind); }
static_assert(static_cast<int>(Role::Overflow) ==
                  static_cast<int>(RoleKind::Overflow),
              "roles have one order");

/// Fills in type, shapes and placement of one argument or result.
static LogicalResult describe(StepValue &value, PlacementAttr placement,
                              func::FuncOp func, Type type, const Twine &where,
                              MeshOp mesh) {
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
    value.localShape = tensor.getShape();
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
  if (placement) {
    value.placement = convert(placement, mesh);
    value.globalShape = ArrayRef<int64_t>(
        *getGlobalShape(placement, cast<RankedTensorType>(type), mesh));
  }
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
      members.push_back(
          {member.getName().str(), member.getOffset(), member.getShape()});
  return members;
}

static LogicalResult describeArguments(AnalyzedStep &step) {
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
      value.role = convert(role.getKind());
    if (failed(describe(
            value, func.getArgAttrOfType<PlacementAttr>(i, kPlacementAttrName),
            func, func.getArgumentTypes()[i], "argument \"" + value.name + "\"",
            step.mesh)))
      return failure();
    step.signature.arguments.push_back(std::move(value));
  }
  return success();
}

/// Names a result after its role, and returns the placement that it inherits
/// from the argument that it belongs to.
static PlacementAttr describeRole(StepValue &value, RoleAttr role, Type type,
                                  const AnalyzedStep &step) {
  func::FuncOp func = step.entry;
  value.role = convert(role.getKind());
  value.argument = role.getArgument();
  if (role.getKind() == RoleKind::Loss)
    value.name = "loss";
  if (!role.namesArgument())
    return nullptr;
  unsigned number = role.getArgument();
  const StepValue &argument = step.signature.arguments[number];
  std::string prefix = role.getKind() == RoleKind::Gradient ? "grad." : "";
  value.name = prefix + argument.name;
  value.members = argument.members;
  for (StepMember &member : value.members)
    member.name = prefix + member.name;
  auto tensor = dyn_cast<RankedTensorType>(type);
  ArrayRef<int64_t> shape = tensor ? tensor.getShape() : ArrayRef<int64_t>();
  if (ArrayRef<int64_t>(argument.localShape) != shape)
    return nullptr;
  return func.getArgAttrOfType<PlacementAttr>(number, kPlacementAttrName);
}

static LogicalResult describeResult(AnalyzedStep &step, unsigned i) {
  func::FuncOp func = step.entry;
  Type type = func.getResultTypes()[i];
  StepValue value;
  value.name = "result" + std::to_string(i);
  PlacementAttr inherited;
  if (auto role = func.getResultAttrOfType<RoleAttr>(i, kRoleAttrName)) {
    inherited = describeRole(value, role, type, step);
    if (role.getKind() == RoleKind::Loss) {
      if (step.signature.loss)
        return func.emitError() << "results " << *step.signature.loss << " and "
                                << i << " are both the loss";
      step.signature.loss = i;
    }
    if (role.getKind() == RoleKind::Overflow)
      step.signature.overflow = i;
  }
  if (auto name = func.getResultAttrOfType<StringAttr>(i, kNameAttrName))
    value.name = name.str();
  auto placement =
      func.getResultAttrOfType<PlacementAttr>(i, kPlacementAttrName);
  if (failed(describe(value, placement ? placement : inherited, func, type,
                      "result \"" + value.name + "\"", step.mesh)))
    return failure();
  step.signature.results.push_back(std::move(value));
  return success();
}

static LogicalResult describeResults(AnalyzedStep &step) {
  func::FuncOp func = step.entry;
  llvm::StringSet<> seen;
  for (unsigned i = 0, e = func.getNumResults(); i != e; ++i) {
    if (failed(describeResult(step, i)))
      return failure();
    for (const StepValue &inFile :
         step.signature.results.back().getFileValues())
      if (!seen.insert(inFile.name).second)
        return func.emitError()
               << "two results are called \"" << inFile.name << '"';
  }
  if (!step.signature.loss)
    return success();
  const StepValue &loss = step.signature.results[*step.signature.loss];
  if (getNumElements(loss.localShape) == 1 && isFloat(loss.elementType))
    return success();
  return func.emitError() << "the loss must be one floating-point number, got "
                          << func.getResultTypes()[*step.signature.loss];
}

static Mesh convert(MeshOp op) {
  Mesh mesh;
  mesh.name = op.getSymName().str();
  for (StringAttr axis : op.getAxes().getNames())
    mesh.axes.push_back(axis.str());
  mesh.sizes = op.getSizes();
  return mesh;
}

/// The axes of the model that are elastic, such as tp:4.
static std::string listElasticAxes(func::FuncOp func) {
  auto axes = func->getAttrOfType<DictionaryAttr>(kModelSegmentsAttrName);
  std::string text;
  for (NamedAttribute axis :
       axes ? axes : DictionaryAttr::get(func.getContext()))
    if (int64_t segments = getModelSegments(func, axis.getName()).value_or(0))
      text += (text.empty() ? "" : ",") + axis.getName().str() + ":" +
              std::to_string(segments);
  return text;
}

/// Describes one function.
static FailureOr<AnalyzedStep> analyzeFunction(func::FuncOp func, MeshOp mesh,
                                               std::optional<int64_t> ranks) {
  AnalyzedStep step;
  step.entry = func;
  step.mesh = mesh;
  step.signature.entry = func.getName().str();
  if (mesh)
    step.signature.mesh = convert(mesh);
  step.signature.ranks = mesh ? mesh.getNumRanks() : ranks.value_or(1);
  step.signature.segments = getElasticSegments(func);
  step.signature.elasticAxes = listElasticAxes(func);
  if (failed(describeArguments(step)) || failed(describeResults(step)))
    return failure();
  return step;
}

FailureOr<AnalyzedStep> regather::analyzeStep(ModuleOp module,
                                              StringRef entryName,
                                              std::optional<int64_t> ranks) {
  std::optional<StepParts> parts;
  if (entryName.empty())
    parts = findStepParts(module);
  FailureOr<func::FuncOp> entry =
      parts ? parts->forward : findEntry(module, entryName);
  FailureOr<MeshOp> mesh = findMesh(module, ranks);
  if (failed(entry) || failed(mesh))
    return failure();
  FailureOr<AnalyzedStep> step = analyzeFunction(*entry, *mesh, ranks);
  if (failed(step) || !parts)
    return step;
  FailureOr<AnalyzedStep> backward =
      analyzeFunction(parts->backward, *mesh, ranks);
  if (failed(backward) || failed(joinParts(*step, *backward)))
    return failure();
  return step;
}
