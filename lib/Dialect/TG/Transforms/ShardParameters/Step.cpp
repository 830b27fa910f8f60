//===- Step.cpp - What a captured step consists of ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Step.h"

#include "regather/Dialect/TG/IR/Elastic.h"
#include "regather/Dialect/TG/IR/MicroBatch.h"
#include "regather/Dialect/TG/Modules/ModulePattern.h"
#include "regather/Dialect/TG/Targets/NodeTargets.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::spmd;

RoleAttr Step::getArgumentRole(unsigned argument) const {
  return func::FuncOp(func).getArgAttrOfType<RoleAttr>(argument, kRoleAttrName);
}

RoleAttr Step::getResultRole(unsigned result) const {
  return func::FuncOp(func).getResultAttrOfType<RoleAttr>(result,
                                                          kRoleAttrName);
}

PlacementAttr Step::getArgumentPlacement(unsigned argument) const {
  return func::FuncOp(func).getArgAttrOfType<PlacementAttr>(argument,
                                                            kPlacementAttrName);
}

PlacementAttr Step::getResultPlacement(unsigned result) const {
  return func::FuncOp(func).getResultAttrOfType<PlacementAttr>(
      result, kPlacementAttrName);
}

void regather::tg::spmd::eraseOperations(
    Step &step, const llvm::DenseSet<Operation *> &erased) {
  std::vector<Operation *> kept;
  SmallVector<unsigned> numbers(step.operations.size());
  for (auto [number, op] : llvm::enumerate(step.operations)) {
    numbers[number] = kept.size();
    if (!erased.contains(op))
      kept.push_back(op);
  }
  for (Operation *op : llvm::reverse(step.operations))
    if (erased.contains(op))
      op->erase();
  step.operations = std::move(kept);
  step.positions.clear();
  for (auto [number, op] : llvm::enumerate(step.operations))
    step.positions[op] = number;
  for (Parameter &parameter : step.parameters)
    if (parameter.firstUse)
      parameter.firstUse = numbers[*parameter.firstUse];
}

static bool hasRole(func::FuncOp func, unsigned argument, RoleKind kind) {
  auto role = func.getArgAttrOfType<RoleAttr>(argument, kRoleAttrName);
  return role && role.getKind() == kind;
}

bool regather::tg::spmd::hasParameters(func::FuncOp func) {
  for (unsigned i = 0, e = func.getNumArguments(); i != e; ++i)
    if (hasRole(func, i, RoleKind::Parameter))
      return true;
  return false;
}

static std::string getName(func::FuncOp func, unsigned argument) {
  auto name = func.getArgAttrOfType<StringAttr>(argument, kNameAttrName);
  return name ? name.str() : "arg" + std::to_string(argument);
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// True if only other passes have placed the value, over axes of theirs.
static bool isPlacedByModelAxes(PlacementAttr placement, const DataMesh &mesh) {
  return placement.getMesh() == mesh.symbol && mesh.modelAxes &&
         llvm::all_of(placement.getAxes(), [&](AxisPlacementAttr axis) {
           return llvm::all_of(axis.getAxes().getNames(), [&](StringAttr name) {
             return llvm::is_contained(mesh.modelAxes.getNames(), name);
           });
         });
}

LogicalResult regather::tg::spmd::checkIsWhole(func::FuncOp func,
                                               const DataMesh &mesh) {
  for (unsigned i = 0, e = func.getNumArguments(); i != e; ++i) {
    auto placement =
        func.getArgAttrOfType<PlacementAttr>(i, kPlacementAttrName);
    if (placement && !placement.getAxes().empty() &&
        !isPlacedByModelAxes(placement, mesh))
      return func.emitError()
             << "expects a step on one device, but argument \""
             << ::getName(func, i) << "\" is sharded already: " << placement;
  }
  WalkResult result = func.walk([&](CollectiveOpInterface collective) {
    if (collective.getMeshAttr() == mesh.symbol && mesh.modelAxes)
      return WalkResult::advance();
    collective.emitError() << "expects a step on one device, but '"
                           << collective->getName()
                           << "' communicates over mesh "
                           << collective.getMeshAttr() << " already";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// One function of one block in which nothing is sharded yet, all shapes are
/// known, and names tell arguments apart.
static LogicalResult checkStep(func::FuncOp func, const DataMesh &mesh) {
  if (!func.getBody().hasOneBlock())
    return func.emitError() << "expects a step of one block, got "
                            << func.getBody().getBlocks().size();
  if (failed(checkIsWhole(func, mesh)))
    return failure();
  llvm::StringMap<unsigned> seen;
  for (unsigned i = 0, e = func.getNumArguments(); i != e; ++i) {
    std::string name = getName(func, i);
    auto [it, isNew] = seen.try_emplace(name, i);
    if (!isNew)
      return func.emitError() << "arguments " << it->second << " and " << i
                              << " have the same name \"" << name << '"';
  }
  auto check = [&](Value value, Location loc) -> LogicalResult {
    auto shaped = dyn_cast<ShapedType>(value.getType());
    if (!shaped || shaped.hasStaticShape())
      return success();
    std::string name;
    llvm::raw_string_ostream stream(name);
    value.printAsOperand(stream, OpPrintingFlags());
    return emitError(loc) << "'" << name << "' must have a static shape, got "
                          << shaped;
  };
  for (BlockArgument argument : func.getArguments())
    if (failed(check(argument, argument.getLoc())))
      return failure();
  for (Operation &op : func.getBody().front())
    for (Value result : op.getResults())
      if (failed(check(result, op.getLoc())))
        return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// A cast of a parameter to a narrower type of floats, as mixed precision
/// makes them.
static Type getNarrowingCast(Operation *op, RankedTensorType from) {
  auto node = dyn_cast<NodeOp>(op);
  if (!node || node.getTarget() != getName(NodeTarget::AtenToCopyDefault) ||
      node.getNumOperands() != 1 || node.getNumResults() != 1)
    return nullptr;
  auto to = dyn_cast<RankedTensorType>(node.getResultTypes().front());
  if (!to || to.getShape() != from.getShape() ||
      !isa<FloatType>(to.getElementType()) ||
      !isa<FloatType>(from.getElementType()) ||
      to.getElementTypeBitWidth() >= from.getElementTypeBitWidth())
    return nullptr;
  return to.getElementType();
}

/// Finds where the parameter is used, and whether mixed precision casts it
/// everywhere.
static void findUses(Step &step, Parameter &parameter) {
  Type common;
  bool castEverywhere = true;
  for (Operation *user :
       step.block->getArgument(parameter.argument).getUsers()) {
    Operation *op = step.block->findAncestorOpInBlock(*user);
    if (op == step.getTerminator() || getPhase(op) == Phase::Optimizer)
      continue;
    unsigned position = step.positions.lookup(op);
    parameter.firstUse =
        std::min(parameter.firstUse.value_or(position), position);
    Type narrow = user == op ? getNarrowingCast(user, parameter.type) : Type();
    castEverywhere &= narrow && (!common || common == narrow);
    common = narrow;
    parameter.casts.push_back(user);
  }
  if (!castEverywhere || !common)
    parameter.casts.clear();
  else
    parameter.gathered = common;
}

static Parameter describeParameter(Step &step, unsigned argument) {
  func::FuncOp func = step.func;
  Parameter parameter;
  parameter.argument = argument;
  parameter.name = getName(func, argument);
  if (auto module =
          func.getArgAttrOfType<StringAttr>(argument, kModuleAttrName))
    parameter.module = module.str();
  else
    parameter.module =
        StringRef(parameter.name).rsplit('.').first != parameter.name
            ? StringRef(parameter.name).rsplit('.').first.str()
            : "";
  auto registration =
      func.getArgAttrOfType<IntegerAttr>(argument, kRegistrationAttrName);
  parameter.registration = registration ? registration.getInt()
                                        : std::numeric_limits<int64_t>::max();
  parameter.type = cast<RankedTensorType>(func.getArgumentTypes()[argument]);
  return parameter;
}

/// Chooses the element types of the argument and of what is gathered.
static LogicalResult chooseTypes(Step &step, Parameter &parameter,
                                 const ElementTypes &types) {
  Type element = parameter.type.getElementType();
  parameter.stored = parameter.gathered = element;
  findUses(step, parameter);
  if (!isa<FloatType>(element))
    return success();
  if (types.parameter)
    parameter.stored = types.parameter;
  if (types.compute) {
    if (parameter.gathered != types.compute)
      parameter.casts.clear();
    parameter.gathered = types.compute;
  }
  if (parameter.stored == element || !parameter.update)
    return success();
  return step.func.emitError()
         << "option 'parameter-dtype' asks for " << parameter.stored
         << ", but the step updates parameter \"" << parameter.name << "\" in "
         << element;
}

/// True if shards of rows of an elastic step may be cut further.
static bool canCutAgain(func::FuncOp func, PlacementAttr placement,
                        RankedTensorType local, const DataMesh &mesh) {
  // What ranks of an elastic step cut may not depend on how many there are, nor
  // on how many have cut it before. Segments of both axes are one tree.
  int64_t parts = mesh.segments, rows = local.getDimSize(0);
  for (AxisPlacementAttr axis : placement.getAxes())
    for (StringAttr name : axis.getAxes().getNames())
      if (int64_t before = getModelSegments(func, name).value_or(0);
          before && axis.getDim() == 0) {
        rows *= mesh.countRanks(
            AxesAttr::get(func.getContext(), ArrayRef<StringAttr>(name)));
        parts *= before;
        if (!llvm::isPowerOf2_64(parts))
          return false;
      }
  return rows % parts == 0 &&
         (placement.getGlobalShape().empty() ||
          placement.getGlobalShape().front() % local.getDimSize(0) == 0);
}

/// The dimension along which a parameter is cut: that of rows, unless these
/// have been cut before and their parts are not equal once more. Two cuts of
/// one dimension are one only then.
static std::optional<int64_t> chooseDim(func::FuncOp func,
                                        PlacementAttr placement,
                                        RankedTensorType local,
                                        const DataMesh &mesh) {
  if (local.getRank() == 0)
    return std::nullopt;
  llvm::SmallBitVector cut(local.getRank());
  if (placement)
    for (AxisPlacementAttr axis : placement.getAxes())
      if (axis.getKind() == PlacementKind::Shard)
        cut.set(axis.getDim());
  auto isEven = [&](int64_t dim) {
    return local.getDimSize(dim) % mesh.shardRanks == 0;
  };
  bool mayCutRows =
      mesh.segments ? !cut.test(0) || canCutAgain(func, placement, local, mesh)
                    : !cut.test(0) || isEven(0);
  if (mayCutRows)
    return 0;
  // The norm of gradients of an elastic step is a sum of rows.
  if (mesh.segments)
    return std::nullopt;
  for (int64_t dim = 1; dim < local.getRank(); ++dim)
    if (!cut.test(dim) && isEven(dim))
      return dim;
  return std::nullopt;
}

static LogicalResult findParameters(Step &step, const DataMesh &mesh,
                                    const ElementTypes &types,
                                    ArrayRef<std::string> ignore) {
  func::FuncOp func = step.func;
  for (unsigned i = 0, e = func.getNumArguments(); i != e; ++i) {
    if (!hasRole(func, i, RoleKind::Parameter))
      continue;
    if (!isa<RankedTensorType>(func.getArgumentTypes()[i]))
      return func.emitError() << "parameter \"" << getName(func, i)
                              << "\" must be a ranked tensor, got "
                              << func.getArgumentTypes()[i];
    step.parameters.push_back(describeParameter(step, i));
  }
  llvm::sort(step.parameters, [](const Parameter &a, const Parameter &b) {
    return std::make_pair(a.registration, a.argument) <
           std::make_pair(b.registration, b.argument);
  });
  for (auto [number, parameter] : llvm::enumerate(step.parameters))
    step.parameterOfArgument[parameter.argument] = number;
  for (unsigned i = 0, e = func.getNumResults(); i != e; ++i) {
    RoleAttr role = step.getResultRole(i);
    if (!role || !role.namesArgument())
      continue;
    auto it = step.parameterOfArgument.find(role.getArgument());
    if (it == step.parameterOfArgument.end())
      continue;
    Parameter &parameter = step.parameters[it->second];
    auto type = dyn_cast<RankedTensorType>(func.getResultTypes()[i]);
    if (!type || type.getShape() != parameter.type.getShape())
      return func.emitError()
             << "result " << i << " belongs to parameter \"" << parameter.name
             << "\" and must have the shape of " << parameter.type << ", got "
             << func.getResultTypes()[i];
    (role.getKind() == RoleKind::Gradient ? parameter.gradient
                                          : parameter.update) = i;
  }
  SmallVector<StringRef> names;
  for (const Parameter &parameter : step.parameters)
    names.push_back(parameter.name);
  FailureOr<std::vector<PatternMatch>> ignored =
      matchPatterns(func, "ignore", ignore, names);
  if (failed(ignored))
    return failure();
  for (auto [parameter, match] : llvm::zip_equal(step.parameters, *ignored)) {
    parameter.ignored = match.pattern.has_value();
    std::optional<int64_t> dim;
    if (mesh.shardAxes && !parameter.ignored)
      dim = chooseDim(step.func, step.getArgumentPlacement(parameter.argument),
                      parameter.type, mesh);
    parameter.sharded = dim.has_value();
    parameter.dim = dim.value_or(0);
    if (failed(chooseTypes(step, parameter, types)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// Decides whose batch that of the input `argument` is.
static LogicalResult chooseBatch(Step &step, const DataMesh &mesh,
                                 unsigned argument, BatchMode mode) {
  func::FuncOp func = step.func;
  bool isDivided = *step.batch % mesh.dataRanks == 0;
  step.hasOwnBatches =
      mesh.dataRanks > 1 &&
      (mode == BatchMode::PerRank || (mode == BatchMode::Auto && !isDivided));
  if (isDivided || mode == BatchMode::PerRank)
    return success();
  InFlightDiagnostic diag =
      mode == BatchMode::Auto ? func.emitWarning() : func.emitError();
  diag << "batch of " << *step.batch << " (dimension 0 of input \""
       << getName(func, argument) << "\") cannot be divided by "
       << mesh.dataRanks << " ranks";
  if (mode == BatchMode::Auto)
    return diag << "; it is taken for that of one rank", success();
  diag.attachNote() << "if it is the batch of one rank, say batch=per-rank";
  return diag;
}

/// The inputs whose first dimension is the batch, that of the first input.
static LogicalResult findSplitInputs(Step &step, const DataMesh &mesh,
                                     BatchMode mode) {
  func::FuncOp func = step.func;
  for (unsigned i = 0, e = func.getNumArguments(); i != e; ++i) {
    auto type = dyn_cast<RankedTensorType>(func.getArgumentTypes()[i]);
    if (!hasRole(func, i, RoleKind::Input) || !type || type.getRank() == 0)
      continue;
    if (!step.batch) {
      step.batch = type.getDimSize(0);
      if (failed(chooseBatch(step, mesh, i, mode)))
        return failure();
    }
    if (type.getDimSize(0) == *step.batch)
      step.splitInputs.push_back(i);
  }
  return success();
}

/// The parts of a micro-batch that an axis of the model has cut out, if it has.
static void addRows(Operation *slice, DenseSet<Operation *> &batchSlices) {
  bool isCut = false;
  for (Operation *user : slice->getUsers()) {
    auto part = dyn_cast<tensor::ExtractSliceOp>(user);
    if (!part || getMicroBatch(part) || !part.isDynamicOffset(0))
      continue;
    batchSlices.insert(part);
    isCut = true;
  }
  if (!isCut)
    batchSlices.insert(slice);
}

/// Finds what tg-cut-batch has cut out of the inputs. Ranks of an axis of the
/// model that have shared one gather it before.
static LogicalResult findBatchSlices(Step &step, const DataMesh &mesh) {
  SmallVector<Value> whole;
  for (unsigned input : step.splitInputs)
    whole.push_back(step.block->getArgument(input));
  while (!whole.empty())
    for (Operation *user : whole.pop_back_val().getUsers()) {
      if (auto gather = dyn_cast<AllGatherOp>(user)) {
        for (Operation *wait : gather.getFuture().getUsers())
          llvm::append_range(whole, wait->getResults());
        continue;
      }
      auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
      std::optional<int64_t> number = getMicroBatch(user);
      if (!slice || !number)
        continue;
      addRows(slice, step.batchSlices);
      step.cutInto = std::max(step.cutInto, *number + 1);
    }
  if (step.hasOwnBatches || step.cutInto == 1 ||
      *step.batch / step.cutInto % mesh.dataRanks == 0)
    return success();
  return step.func.emitError()
         << "each of " << step.cutInto << " micro-batches has "
         << *step.batch / step.cutInto << " rows, which cannot be divided by "
         << mesh.dataRanks << " ranks";
}

FailureOr<Step> regather::tg::spmd::analyzeStep(func::FuncOp func,
                                                const DataMesh &mesh,
                                                const ElementTypes &types,
                                                ArrayRef<std::string> ignore,
                                                BatchMode batch) {
  if (failed(checkStep(func, mesh)))
    return failure();
  Step step;
  step.func = func;
  step.block = &func.getBody().front();
  for (Operation &op : step.block->without_terminator()) {
    step.positions[&op] = step.operations.size();
    step.operations.push_back(&op);
  }
  if (failed(findParameters(step, mesh, types, ignore)) ||
      failed(findSplitInputs(step, mesh, batch)) ||
      failed(findBatchSlices(step, mesh)))
    return failure();
  return step;
}
