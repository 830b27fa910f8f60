//===- TGOps.cpp - Mesh, wait and node ------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace regather::tg;

//===----------------------------------------------------------------------===//
// Shared by several operations
//===----------------------------------------------------------------------===//

MeshOp regather::tg::lookupMesh(Operation *from, FlatSymbolRefAttr symbol) {
  return SymbolTable::lookupNearestSymbolFrom<MeshOp>(from, symbol);
}

std::optional<Phase> regather::tg::getPhase(Operation *op) {
  if (auto collective = dyn_cast<CollectiveOpInterface>(op))
    return collective.getPhase();
  if (auto phase = op->getAttrOfType<PhaseAttr>(kPhaseAttrName))
    return phase.getValue();
  return std::nullopt;
}

int64_t regather::tg::getTensorBytes(RankedTensorType type) {
  Type element = type.getElementType();
  int64_t bytes = element.isIndex() ? 8
                  : element.isIntOrFloat()
                      ? llvm::divideCeil(element.getIntOrFloatBitWidth(), 8)
                      : 0;
  if (auto complex = dyn_cast<ComplexType>(element))
    bytes = 2 * llvm::divideCeil(
                    complex.getElementType().getIntOrFloatBitWidth(), 8);
  return type.getNumElements() * bytes;
}

//===----------------------------------------------------------------------===//
// MeshOp: tg.mesh @mesh [dp = 4, tp = 2]
//===----------------------------------------------------------------------===//

static ParseResult parseMeshAxes(OpAsmParser &parser, AxesAttr &axes,
                                 DenseI64ArrayAttr &sizes) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> values;
  auto parseAxis = [&]() -> ParseResult {
    std::string name;
    if (parser.parseKeywordOrString(&name) || parser.parseEqual() ||
        parser.parseInteger(values.emplace_back()))
      return failure();
    names.push_back(parser.getBuilder().getStringAttr(name));
    return success();
  };
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, parseAxis))
    return failure();
  axes = parser.getChecked<AxesAttr>(loc, parser.getContext(),
                                     ArrayRef<StringAttr>(names));
  sizes = parser.getBuilder().getDenseI64ArrayAttr(values);
  return success(axes != nullptr);
}

static void printMeshAxes(OpAsmPrinter &printer, MeshOp, AxesAttr axes,
                          DenseI64ArrayAttr sizes) {
  printer << '[';
  llvm::interleaveComma(
      llvm::zip(axes.getNames(), sizes.asArrayRef()), printer, [&](auto axis) {
        printer.printKeywordOrString(std::get<0>(axis).getValue());
        printer << " = " << std::get<1>(axis);
      });
  printer << ']';
}

LogicalResult MeshOp::verify() {
  if (getAxes().getNames().size() != getSizes().size())
    return emitOpError() << "expects one size for each of "
                         << getAxes().getNames().size() << " axes, got "
                         << getSizes().size();
  int64_t ranks = 1;
  for (auto [name, size] : llvm::zip(getAxes().getNames(), getSizes())) {
    if (size < 1)
      return emitOpError() << "axis \"" << name.getValue()
                           << "\" must have at least one rank, got " << size;
    // Ranks are 32 bit everywhere else: in MPI, in NCCL and in launchers.
    if (llvm::MulOverflow(ranks, size, ranks) ||
        ranks > std::numeric_limits<int32_t>::max())
      return emitOpError() << "has more ranks than 32 bits can number";
  }
  return success();
}

int64_t MeshOp::getNumRanks() {
  int64_t ranks = 1;
  for (int64_t size : getSizes())
    ranks *= size;
  return ranks;
}

std::optional<int64_t> MeshOp::getAxisSize(StringRef name) {
  for (auto [axis, size] : llvm::zip(getAxes().getNames(), getSizes()))
    if (axis.getValue() == name)
      return size;
  return std::nullopt;
}

int64_t MeshOp::getGroupSize(AxesAttr axes) {
  int64_t ranks = 1;
  for (StringAttr name : axes.getNames())
    if (llvm::MulOverflow(ranks, *getAxisSize(name.getValue()), ranks))
      return 0; // The verifier of the mesh rejects this.
  return ranks;
}

/// Those of `axes`, in their order.
static std::vector<regather::MeshAxis> selectAxes(MeshOp mesh, AxesAttr axes) {
  std::vector<regather::MeshAxis> all = regather::getMeshAxes(mesh.getSizes());
  std::vector<regather::MeshAxis> selected;
  for (StringAttr name : axes.getNames())
    selected.push_back(all[llvm::find(mesh.getAxes().getNames(), name) -
                           mesh.getAxes().getNames().begin()]);
  return selected;
}

int64_t MeshOp::getIndexInGroup(int64_t rank, AxesAttr axes) {
  return regather::getIndexInGroup(rank, selectAxes(*this, axes));
}

SmallVector<int64_t> MeshOp::getGroup(int64_t rank, AxesAttr axes) {
  return llvm::to_vector(regather::computeGroup(rank, selectAxes(*this, axes)));
}

//===----------------------------------------------------------------------===//
// AxisIndexOp
//===----------------------------------------------------------------------===//

FailureOr<MeshOp>
regather::tg::verifyMeshAndAxes(Operation *op, FlatSymbolRefAttr symbol,
                                AxesAttr axes, SymbolTableCollection &tables) {
  auto mesh = tables.lookupNearestSymbolFrom<MeshOp>(op, symbol);
  if (!mesh)
    return op->emitOpError() << "names mesh \"" << symbol.getValue()
                             << "\", which does not exist";
  for (StringAttr name : axes.getNames()) {
    if (mesh.getAxisSize(name.getValue()))
      continue;
    InFlightDiagnostic diag = op->emitOpError()
                              << "mesh \"" << mesh.getSymName()
                              << "\" has no axis \"" << name.getValue() << '"';
    diag.attachNote(mesh.getLoc()) << "mesh declared here";
    return diag;
  }
  return mesh;
}

LogicalResult AxisIndexOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyMeshAndAxes(*this, getMeshAttr(), getAxes(), tables);
}

static ParseResult parseGroupAxes(OpAsmParser &parser, AxesAttr &axes) {
  return parseAxisList(parser, axes);
}

static void printGroupAxes(OpAsmPrinter &printer, Operation *, AxesAttr axes) {
  printAxisList(printer, axes);
}

//===----------------------------------------------------------------------===//
// WaitOp
//===----------------------------------------------------------------------===//

LogicalResult WaitOp::inferReturnTypes(MLIRContext *,
                                       std::optional<Location> loc,
                                       ValueRange operands, DictionaryAttr,
                                       OpaqueProperties, RegionRange,
                                       SmallVectorImpl<Type> &types) {
  if (operands.size() != 1)
    return emitOptionalError(loc, "'tg.wait' op expects one future, got ",
                             operands.size(), " operands");
  Type type = operands.front().getType();
  auto future = dyn_cast<FutureType>(type);
  if (!future)
    return emitOptionalError(loc, "'tg.wait' op expects a future, got ", type);
  llvm::append_range(types, future.getTensors());
  return success();
}

LogicalResult WaitOp::verify() {
  if (isa_and_nonnull<CollectiveOpInterface, HostCopyOpInterface>(
          getFuture().getDefiningOp()))
    return success();
  InFlightDiagnostic diag =
      emitOpError() << "expects a future made by a collective in this block";
  if (Operation *def = getFuture().getDefiningOp())
    diag.attachNote(def->getLoc()) << "future made here";
  else
    diag << ", got a block argument";
  return diag;
}

//===----------------------------------------------------------------------===//
// NodeOp
//===----------------------------------------------------------------------===//

/// Calls `visit` for every operand that `attr` names; stops at a failure.
static LogicalResult
walkOperands(Attribute attr, llvm::function_ref<LogicalResult(int64_t)> visit) {
  LogicalResult result = success();
  attr.walk([&](OperandAttr operand) {
    if (succeeded(visit(operand.getIndex())))
      return WalkResult::advance();
    result = failure();
    return WalkResult::interrupt();
  });
  return result;
}

LogicalResult NodeOp::verify() {
  if (getTarget().empty())
    return emitOpError() << "target must not be empty";
  for (auto [index, type] : llvm::enumerate(getOperandTypes()))
    if (auto tensor = dyn_cast<RankedTensorType>(type);
        tensor && !tensor.hasStaticShape())
      return emitOpError() << "operand " << index
                           << " must have a static shape, got " << type;
  for (auto [index, type] : llvm::enumerate(getResultTypes()))
    if (auto tensor = dyn_cast<RankedTensorType>(type);
        tensor && !tensor.hasStaticShape())
      return emitOpError() << "result " << index
                           << " must have a static shape, got " << type;
  if (!getArgs() && !getKwargs())
    return success();

  llvm::SmallBitVector named(getNumOperands());
  auto check = [&](int64_t index) -> LogicalResult {
    if (index < 0 || index >= static_cast<int64_t>(getNumOperands()))
      return emitOpError() << "arguments name operand " << index
                           << ", but the node has " << getNumOperands()
                           << " operands";
    named.set(index);
    return success();
  };
  if (getArgs() && failed(walkOperands(*getArgs(), check)))
    return failure();
  if (getKwargs() && failed(walkOperands(*getKwargs(), check)))
    return failure();
  // Without `args`, the operands are the positional arguments.
  if (int unnamed = named.find_first_unset(); getArgs() && unnamed >= 0)
    return emitOpError() << "operand " << unnamed
                         << " is not named by any argument";
  return success();
}

void NodeOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  if (getEffects())
    effects.emplace_back(MemoryEffects::Write::get());
}

Speculation::Speculatability NodeOp::getSpeculatability() {
  return getEffects() ? Speculation::NotSpeculatable
                      : Speculation::Speculatable;
}

//===----------------------------------------------------------------------===//
// Fragments of the assembly of collectives
//===----------------------------------------------------------------------===//

static ParseResult parsePhaseKeyword(OpAsmParser &parser, PhaseAttr &phase) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<Phase> value = symbolizePhase(keyword);
  if (!value)
    return parser.emitError(loc)
           << "expects a phase (forward, backward or optimizer), got \""
           << keyword << '"';
  phase = PhaseAttr::get(parser.getContext(), *value);
  return success();
}

static void printPhaseKeyword(OpAsmPrinter &printer, Operation *,
                              PhaseAttr phase) {
  printer << stringifyPhase(phase.getValue());
}

static ParseResult parseReductionKeyword(OpAsmParser &parser,
                                         ReductionAttr &reduction) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<Reduction> value = symbolizeReduction(keyword);
  if (!value)
    return parser.emitError(loc)
           << "expects a reduction (sum, avg or max), got \"" << keyword << '"';
  reduction = ReductionAttr::get(parser.getContext(), *value);
  return success();
}

static void printReductionKeyword(OpAsmPrinter &printer, Operation *,
                                  ReductionAttr reduction) {
  printer << stringifyReduction(reduction.getValue());
}

/// Pairs of a permutation: [0 to 1, 1 to 0].
static ParseResult parsePairs(OpAsmParser &parser, DenseI64ArrayAttr &sources,
                              DenseI64ArrayAttr &targets) {
  SmallVector<int64_t> from, to;
  auto parsePair = [&]() -> ParseResult {
    return failure(parser.parseInteger(from.emplace_back()) ||
                   parser.parseKeyword("to") ||
                   parser.parseInteger(to.emplace_back()));
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, parsePair))
    return failure();
  sources = parser.getBuilder().getDenseI64ArrayAttr(from);
  targets = parser.getBuilder().getDenseI64ArrayAttr(to);
  return success();
}

static void printPairs(OpAsmPrinter &printer, Operation *,
                       DenseI64ArrayAttr sources, DenseI64ArrayAttr targets) {
  printer << '[';
  llvm::interleaveComma(llvm::zip(sources.asArrayRef(), targets.asArrayRef()),
                        printer, [&](auto pair) {
                          printer << std::get<0>(pair) << " to "
                                  << std::get<1>(pair);
                        });
  printer << ']';
}

#include "regather/Dialect/TG/IR/TGInterfaces.cpp.inc"

#define GET_OP_CLASSES
#include "regather/Dialect/TG/IR/TGOps.cpp.inc"
