//===- TGDialect.cpp - The tg dialect -------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/IR/Elastic.h"
#include "regather/Dialect/TG/IR/KernelAttributes.h"
#include "regather/Dialect/TG/IR/MicroBatch.h"
#include "regather/Dialect/TG/IR/RowChunk.h"
#include "regather/Dialect/TG/IR/RowShare.h"
#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/InliningUtils.h"

using namespace mlir;
using namespace regather::tg;

#include "regather/Dialect/TG/IR/TGDialect.cpp.inc"

namespace {
/// Every operation of a step may be inlined into another step.
struct TGInlinerInterface : public DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
};
} // namespace

void TGDialect::initialize() {
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "regather/Dialect/TG/IR/TGOps.cpp.inc"
      >();
  addInterfaces<TGInlinerInterface>();
}

//===----------------------------------------------------------------------===//
// Attributes on any operation
//===----------------------------------------------------------------------===//

/// Reports that attribute `name` has the wrong type.
static LogicalResult emitWrongType(Operation *op, NamedAttribute attr,
                                   StringRef expected) {
  return op->emitError() << "attribute '" << attr.getName().getValue()
                         << "' must be " << expected << ", got "
                         << attr.getValue();
}

static LogicalResult verifySavedResults(Operation *op, NamedAttribute attr) {
  auto indices = dyn_cast<DenseI64ArrayAttr>(attr.getValue());
  if (!indices)
    return emitWrongType(op, attr, "an array<i64> of result numbers");
  int64_t previous = -1;
  for (int64_t index : indices.asArrayRef()) {
    if (index <= previous)
      return op->emitError()
             << "'" << attr.getName().getValue() << "' must be ascending, got "
             << index << " after " << previous;
    if (index >= static_cast<int64_t>(op->getNumResults()))
      return op->emitError()
             << "'" << attr.getName().getValue() << "' names result " << index
             << ", but the operation has " << op->getNumResults() << " results";
    previous = index;
  }
  return success();
}

/// Checks an attribute of KernelAttributes.h; nothing for others.
static std::optional<LogicalResult> verifyKernelPlan(Operation *op,
                                                     NamedAttribute attr) {
  StringRef name = attr.getName();
  if (llvm::is_contained({kTileBytesAttrName, kNumTilesAttrName,
                          kTileScratchBytesAttrName, kLaunchBlocksAttrName,
                          kLaunchThreadsAttrName, kDynamicSharedBytesAttrName,
                          kScratchBytesAttrName},
                         name)) {
    auto number = dyn_cast<IntegerAttr>(attr.getValue());
    if (!number || !number.getType().isSignlessInteger(64) ||
        number.getInt() < 0)
      return emitWrongType(op, attr, "a non-negative i64");
    return success();
  }
  if (llvm::is_contained({kTileScratchOffsetsAttrName, kBuffersAttrName,
                          kTemporaryOffsetsAttrName},
                         name)) {
    auto numbers = dyn_cast<DenseI64ArrayAttr>(attr.getValue());
    if (!numbers || llvm::any_of(numbers.asArrayRef(),
                                 [](int64_t number) { return number < 0; }))
      return emitWrongType(op, attr, "an array of non-negative i64");
    return success();
  }
  if (name == kNodesAttrName) {
    if (!isa<FlatSymbolRefAttr>(attr.getValue()))
      return emitWrongType(op, attr, "the symbol of a kernel");
    return success();
  }
  if (name == kSignatureAttrName) {
    auto type = dyn_cast<TypeAttr>(attr.getValue());
    if (!type || !isa<FunctionType>(type.getValue()))
      return emitWrongType(op, attr, "a function type");
    return success();
  }
  if (name == kTemporariesAttrName) {
    auto types = dyn_cast<ArrayAttr>(attr.getValue());
    if (!types || !llvm::all_of(types, [](Attribute element) {
          auto type = dyn_cast<TypeAttr>(element);
          return type && isa<RankedTensorType>(type.getValue());
        }))
      return emitWrongType(op, attr, "an array of tensor types");
    return success();
  }
  return std::nullopt;
}

LogicalResult TGDialect::verifyOperationAttribute(Operation *op,
                                                  NamedAttribute attr) {
  StringRef name = attr.getName();
  if (name == kPhaseAttrName) {
    auto phase = dyn_cast<PhaseAttr>(attr.getValue());
    if (!phase)
      return emitWrongType(op, attr, "a #tg.phase");
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    if (collective && collective.getPhase() != phase.getValue())
      return op->emitError()
             << "'" << name << "' is " << stringifyPhase(phase.getValue())
             << ", but the phase of the collective is "
             << stringifyPhase(collective.getPhase());
    return success();
  }
  if (name == kModuleAttrName || name == kIdAttrName ||
      name == kBucketAttrName) {
    if (!isa<StringAttr>(attr.getValue()))
      return emitWrongType(op, attr, "a string");
    return success();
  }
  if (name == kPolicyAttrName) {
    if (!isa<PolicyAttr>(attr.getValue()))
      return emitWrongType(op, attr, "a #tg.policy");
    return success();
  }
  if (name == kMicroBatchAttrName) {
    auto number = dyn_cast<IntegerAttr>(attr.getValue());
    if (!number || !number.getType().isInteger(64) || number.getInt() < 0)
      return emitWrongType(op, attr, "a number of i64 that is not negative");
    return success();
  }
  if (name == kRowChunkAttrName) {
    auto chunk = dyn_cast<DenseI64ArrayAttr>(attr.getValue());
    if (!chunk || chunk.size() != 2 || chunk[0] < 0 || chunk[0] >= chunk[1])
      return emitWrongType(op, attr,
                           "the number of a block and how many it is "
                           "one of, as array<i64>");
    return success();
  }
  if (name == kRowShareAttrName) {
    auto share = dyn_cast<FloatAttr>(attr.getValue());
    if (!share || !share.getType().isF64() || !(share.getValueAsDouble() > 0) ||
        !(share.getValueAsDouble() <= 1))
      return emitWrongType(op, attr, "a number of f64 above 0 and at most 1");
    return success();
  }
  if (name == kElasticAttrName) {
    auto segments = dyn_cast<IntegerAttr>(attr.getValue());
    if (!segments || !segments.getType().isInteger(64) || segments.getInt() < 1)
      return emitWrongType(op, attr, "a positive number of i64");
    return success();
  }
  if (name == kModelSegmentsAttrName) {
    auto axes = dyn_cast<DictionaryAttr>(attr.getValue());
    if (!axes || !llvm::all_of(axes, [](NamedAttribute axis) {
          auto segments = dyn_cast<IntegerAttr>(axis.getValue());
          return segments && segments.getType().isInteger(64) &&
                 segments.getInt() >= 0;
        }))
      return emitWrongType(op, attr,
                           "a dictionary of numbers of i64, none negative");
    return success();
  }
  if (name == kSavedResultsAttrName)
    return verifySavedResults(op, attr);
  if (std::optional<LogicalResult> verified = verifyKernelPlan(op, attr))
    return *verified;
  return op->emitError() << "unknown attribute '" << name << "'";
}

//===----------------------------------------------------------------------===//
// Attributes on arguments and results of a step
//===----------------------------------------------------------------------===//

/// The tensor type of an argument or result: in a program over buffers, of what
/// the buffer holds. Null for other types.
static RankedTensorType getTensorType(Type type) {
  if (auto buffer = dyn_cast<MemRefType>(type))
    return RankedTensorType::get(buffer.getShape(), buffer.getElementType());
  return dyn_cast<RankedTensorType>(type);
}

static LogicalResult verifyPlacementAttr(Operation *op, Attribute value,
                                         Type type, const Twine &where) {
  auto placement = dyn_cast<PlacementAttr>(value);
  if (!placement)
    return op->emitError() << "'" << kPlacementAttrName << "' of " << where
                           << " must be a #tg.placement, got " << value;
  RankedTensorType tensor = getTensorType(type);
  if (!tensor)
    return op->emitError() << "'" << kPlacementAttrName << "' of " << where
                           << " needs a ranked tensor, got " << type;
  MeshOp mesh = lookupMesh(op, placement.getMesh());
  if (!mesh)
    return op->emitError() << "placement of " << where << " names mesh \""
                           << placement.getMesh().getValue()
                           << "\", which does not exist";
  return verifyPlacement(
      [&]() { return op->emitError() << "placement of " << where << ": "; },
      placement, tensor, mesh);
}

/// The mesh of a planned placement need not exist yet, nor does the shape have
/// to fit: it is the one before the partition.
static LogicalResult verifyPlannedPlacement(Operation *op, NamedAttribute attr,
                                            Type type, const Twine &where) {
  if (!isa<PlacementAttr>(attr.getValue()))
    return emitWrongType(op, attr, "a #tg.placement");
  if (getTensorType(type))
    return success();
  return op->emitError() << "'" << attr.getName().getValue() << "' of " << where
                         << " needs a ranked tensor, got " << type;
}

/// A step says once how many rows there was no room for.
static LogicalResult verifyOverflow(FunctionOpInterface func, unsigned index) {
  auto expected =
      RankedTensorType::get({}, Builder(func.getContext()).getI64Type());
  Type type = func.getResultTypes()[index];
  if (getTensorType(type) != expected)
    return func.emitError()
           << "result " << index << " has role \"overflow\" and must be "
           << expected << ", got " << type;
  for (unsigned i = 0; i != index; ++i)
    if (auto role = func.getResultAttrOfType<RoleAttr>(i, kRoleAttrName);
        role && role.getKind() == RoleKind::Overflow)
      return func.emitError()
             << "results " << i << " and " << index << " are both the overflow";
  return success();
}

/// Checks the role of result `index`: the argument that it names exists, can
/// have a gradient or an update, and has the same type.
static LogicalResult verifyResultRole(FunctionOpInterface func, unsigned index,
                                      RoleAttr role) {
  if (!role.isForResult())
    return func.emitError()
           << "result " << index << " cannot have role \""
           << stringifyRoleKind(role.getKind()) << "\", which is for arguments";
  if (role.getKind() == RoleKind::Overflow)
    return verifyOverflow(func, index);
  if (!role.namesArgument())
    return success();
  StringRef what = stringifyRoleKind(role.getKind());
  int64_t argument = role.getArgument();
  if (argument >= static_cast<int64_t>(func.getNumArguments()))
    return func.emitError()
           << "result " << index << " is the " << what << " of argument "
           << argument << ", but the function has " << func.getNumArguments()
           << " arguments";
  auto target = func.getArgAttrOfType<RoleAttr>(argument, kRoleAttrName);
  bool isParameter = target && target.getKind() == RoleKind::Parameter;
  bool isState = target && target.isForUpdate();
  if (role.getKind() == RoleKind::Gradient ? !isParameter : !isState)
    return func.emitError()
           << "result " << index << " is the " << what << " of argument "
           << argument << ", which has "
           << (target ? "role \"" + stringifyRoleKind(target.getKind()).str() +
                            "\""
                      : std::string("no role"));
  Type type = func.getResultTypes()[index];
  Type expected = func.getArgumentTypes()[argument];
  if (role.getKind() == RoleKind::Update && type != expected)
    return func.emitError()
           << "result " << index << " updates argument " << argument
           << " and must have its type " << expected << ", got " << type;
  return success();
}

/// Checks the role of argument `index`, and the type of those that the driver
/// counts or is told.
static LogicalResult verifyArgumentRole(FunctionOpInterface func,
                                        unsigned index, RoleAttr role) {
  if (!role.isForArgument())
    return func.emitError()
           << "argument " << index << " cannot have role \""
           << stringifyRoleKind(role.getKind()) << "\", which is for results";
  Builder builder(func.getContext());
  Type element;
  if (role.getKind() == RoleKind::LearningRate)
    element = builder.getF32Type();
  else if (role.getKind() == RoleKind::Step)
    element = builder.getI64Type();
  if (!element)
    return success();
  auto expected = RankedTensorType::get({}, element);
  Type type = func.getArgumentTypes()[index];
  if (getTensorType(type) != expected)
    return func.emitError()
           << "argument " << index << " has role \""
           << stringifyRoleKind(role.getKind()) << "\" and must be " << expected
           << ", got " << type;
  return success();
}

/// Checks the names under which a tied parameter is also known.
static LogicalResult verifyAliases(Operation *op, NamedAttribute attr) {
  auto names = dyn_cast<ArrayAttr>(attr.getValue());
  if (!names || !llvm::all_of(names, llvm::IsaPred<StringAttr>))
    return emitWrongType(op, attr, "an array of strings");
  return success();
}

/// Checks that the members lie in the flat argument `index`, all ranks' parts
/// taken together. Its placement is checked by itself.
static LogicalResult verifyMembers(FunctionOpInterface func, unsigned index,
                                   NamedAttribute attr) {
  auto members = dyn_cast<MembersAttr>(attr.getValue());
  if (!members)
    return emitWrongType(func, attr, "a #tg.members");
  auto emitError = [&]() {
    return func.emitError() << "'" << attr.getName().getValue()
                            << "' of argument " << index << ' ';
  };
  auto role = func.getArgAttrOfType<RoleAttr>(index, kRoleAttrName);
  if (!role || (role.getKind() != RoleKind::Parameter &&
                role.getKind() != RoleKind::OptimizerState))
    return emitError() << "is for parameters and optimizer states, got "
                       << (role ? "role \"" +
                                      stringifyRoleKind(role.getKind()).str() +
                                      "\""
                                : std::string("no role"));
  RankedTensorType type = getTensorType(func.getArgumentTypes()[index]);
  if (!type || type.getRank() != 1 || !type.hasStaticShape())
    return emitError() << "needs a tensor of one static dimension, got "
                       << func.getArgumentTypes()[index];
  int64_t size = type.getNumElements();
  if (auto placement =
          func.getArgAttrOfType<PlacementAttr>(index, kPlacementAttrName)) {
    MeshOp mesh = lookupMesh(func, placement.getMesh());
    if (!mesh)
      return success();
    auto shape = getGlobalShape(placement, type, mesh);
    if (failed(shape))
      return success();
    size = shape->front();
  }
  if (members.getMembers().empty() ||
      members.getMembers().back().getEnd() <= size)
    return success();
  MemberAttr last = members.getMembers().back();
  return emitError() << "places \"" << last.getName().getValue()
                     << "\" up to element " << last.getEnd()
                     << ", but the global tensor has " << size;
}

/// Checks what becomes of argument `index` after forward.
static LogicalResult verifyReshard(FunctionOpInterface func, unsigned index,
                                   NamedAttribute attr) {
  if (!isa<ReshardAttr>(attr.getValue()))
    return emitWrongType(func, attr, "a #tg.reshard");
  auto role = func.getArgAttrOfType<RoleAttr>(index, kRoleAttrName);
  if (role && role.getKind() == RoleKind::Parameter)
    return success();
  return func.emitError() << "'" << attr.getName().getValue()
                          << "' of argument " << index << " is for parameters";
}

/// Checks the dimension of an argument or result that holds the rows.
static LogicalResult verifyRows(Operation *op, NamedAttribute attr, Type type,
                                const Twine &where) {
  auto dim = dyn_cast<IntegerAttr>(attr.getValue());
  if (!dim || !dim.getType().isSignlessInteger(64))
    return emitWrongType(op, attr, "an i64");
  if (!isa<KernelOp>(op))
    return op->emitError() << "'" << attr.getName().getValue() << "' of "
                           << where << " is for kernels";
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (tensor && dim.getInt() >= 0 && dim.getInt() < tensor.getRank())
    return success();
  return op->emitError() << "'" << attr.getName().getValue() << "' of " << where
                         << " names dimension " << dim.getInt() << ", which "
                         << type << " does not have";
}

LogicalResult TGDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                  unsigned index,
                                                  NamedAttribute attr) {
  auto func = cast<FunctionOpInterface>(op);
  StringRef name = attr.getName();
  Attribute value = attr.getValue();
  if (name == kRoleAttrName) {
    auto role = dyn_cast<RoleAttr>(value);
    if (!role)
      return emitWrongType(op, attr, "a #tg.role");
    return verifyArgumentRole(func, index, role);
  }
  if (name == kNameAttrName || name == kModuleAttrName)
    return isa<StringAttr>(value) ? success()
                                  : emitWrongType(op, attr, "a string");
  if (name == kAliasesAttrName)
    return verifyAliases(op, attr);
  if (name == kRegistrationAttrName) {
    auto position = dyn_cast<IntegerAttr>(value);
    if (!position || !position.getType().isSignlessInteger(64) ||
        position.getInt() < 0)
      return emitWrongType(op, attr, "a non-negative i64");
    return success();
  }
  if (name == kMembersAttrName)
    return verifyMembers(func, index, attr);
  if (name == kPlacementAttrName)
    return verifyPlacementAttr(op, value, func.getArgumentTypes()[index],
                               "argument " + Twine(index));
  if (name == kPlannedPlacementAttrName)
    return verifyPlannedPlacement(op, attr, func.getArgumentTypes()[index],
                                  "argument " + Twine(index));
  if (name == kReshardAttrName)
    return verifyReshard(func, index, attr);
  if (name == kRowsAttrName)
    return verifyRows(op, attr, func.getArgumentTypes()[index],
                      "argument " + Twine(index));
  if (name == kDonatedAttrName)
    return isa<UnitAttr>(value) ? success()
                                : emitWrongType(op, attr, "a unit attribute");
  return op->emitError() << "unknown attribute '" << name << "' on argument "
                         << index;
}

LogicalResult TGDialect::verifyRegionResultAttribute(Operation *op, unsigned,
                                                     unsigned index,
                                                     NamedAttribute attr) {
  auto func = cast<FunctionOpInterface>(op);
  StringRef name = attr.getName();
  Attribute value = attr.getValue();
  if (name == kRoleAttrName) {
    auto role = dyn_cast<RoleAttr>(value);
    if (!role)
      return emitWrongType(op, attr, "a #tg.role");
    return verifyResultRole(func, index, role);
  }
  if (name == kNameAttrName || name == kModuleAttrName)
    return isa<StringAttr>(value) ? success()
                                  : emitWrongType(op, attr, "a string");
  if (name == kPlacementAttrName)
    return verifyPlacementAttr(op, value, func.getResultTypes()[index],
                               "result " + Twine(index));
  if (name == kPlannedPlacementAttrName)
    return verifyPlannedPlacement(op, attr, func.getResultTypes()[index],
                                  "result " + Twine(index));
  if (name == kRowsAttrName)
    return verifyRows(op, attr, func.getResultTypes()[index],
                      "result " + Twine(index));
  return op->emitError() << "unknown attribute '" << name << "' on result "
                         << index;
}
