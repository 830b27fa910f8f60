//===- ExecOps.cpp - Programs, buffers, launches, events ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/Exec/IR/Exec.h"
#include "regather/Dialect/TG/IR/FunctionSyntax.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace regather;
using namespace regather::exec;

//===----------------------------------------------------------------------===//
// ProgramOp
//===----------------------------------------------------------------------===//

ParseResult ProgramOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseFunctionLike<ProgramOp>(parser, result);
}

void ProgramOp::print(OpAsmPrinter &printer) {
  printFunctionLike(*this, printer);
}

/// Checks that `slice` has a place in an arena of so many bytes.
template <typename SliceT>
static LogicalResult verifyPlace(SliceT slice, uint64_t arena) {
  if (!slice.getOffset())
    return slice.emitOpError() << "has no offset, but the program has an arena";
  uint64_t bytes = getBufferBytes(slice.getBuffer().getType());
  if (bytes <= arena && *slice.getOffset() <= arena - bytes)
    return success();
  return slice.emitOpError()
         << "takes " << bytes << " bytes from " << *slice.getOffset()
         << " on, but the arena has " << arena;
}

/// Checks that the program has the streams and the arenas that `op` uses.
static LogicalResult verifyUse(ProgramOp program, Operation *op) {
  auto stream = op->getAttrOfType<IntegerAttr>("stream");
  if (stream && stream.getInt() >= static_cast<int64_t>(program.getStreams())) {
    InFlightDiagnostic diag =
        op->emitOpError() << "uses stream " << stream.getInt()
                          << ", but the program has " << program.getStreams();
    diag.attachNote(program.getLoc()) << "the program";
    return diag;
  }
  if (!program.isPlanned())
    return success();
  if (auto slice = dyn_cast<SliceOp>(op))
    return verifyPlace(slice, *program.getArena());
  if (auto slice = dyn_cast<HostSliceOp>(op))
    return verifyPlace(slice, program.getHostArena().value_or(0));
  return success();
}

/// Checks that each destination is what the program returns as its result, so
/// that no two of them are the same memory.
static LogicalResult verifyDestinations(ProgramOp program, ReturnOp end) {
  return failure(program
                     .walk([&](DestinationOp destination) {
                       uint64_t result = destination.getNumber();
                       if (result >= end.getNumOperands()) {
                         destination.emitOpError() << "is for result " << result
                                                   << ", but the program has "
                                                   << end.getNumOperands();
                         return WalkResult::interrupt();
                       }
                       if (end.getOperand(result) == destination.getBuffer())
                         return WalkResult::advance();
                       InFlightDiagnostic diag = destination.emitOpError()
                                                 << "is for result " << result
                                                 << ", which lies elsewhere";
                       diag.attachNote(end.getLoc()) << "returned here";
                       return WalkResult::interrupt();
                     })
                     .wasInterrupted());
}

LogicalResult ProgramOp::verifyRegions() {
  for (auto [kind, types] : {std::pair("argument ", getArgumentTypes()),
                             {"result ", getResultTypes()}})
    for (auto [i, type] : llvm::enumerate(types))
      if (!isBuffer(type) && !isHostBuffer(type))
        return emitOpError()
               << kind << i << " must be a dense buffer of static shape, got "
               << type;
  if (!llvm::isPowerOf2_64(getAlignment()))
    return emitOpError() << "alignment must be a power of two, got "
                         << getAlignment();
  auto end = dyn_cast<ReturnOp>(getBody().front().back());
  if (!end)
    return emitOpError() << "expects 'exec.return' at the end";
  if (TypeRange(end.getOperandTypes()) != TypeRange(getResultTypes()))
    return end.emitOpError()
           << "returns " << end.getOperandTypes() << ", but the program has "
           << "the results " << TypeRange(getResultTypes());
  if (failed(verifyDestinations(*this, end)))
    return failure();
  return failure(walk([&](Operation *op) {
                   return failed(verifyUse(*this, op)) ? WalkResult::interrupt()
                                                       : WalkResult::advance();
                 }).wasInterrupted());
}

//===----------------------------------------------------------------------===//
// SliceOp, HostSliceOp, ConstantOp, ViewOp
//===----------------------------------------------------------------------===//

static LogicalResult verifyOffset(Operation *op, uint64_t offset,
                                  MemRefType type) {
  int64_t element = getElementBytes(type.getElementType());
  if (offset % element == 0)
    return success();
  return op->emitOpError() << "offset must be a multiple of " << element
                           << ", the size of an element, got " << offset;
}

LogicalResult SliceOp::verify() {
  if (!getOffset())
    return success();
  return verifyOffset(*this, *getOffset(), getBuffer().getType());
}

LogicalResult HostSliceOp::verify() {
  if (!getOffset())
    return success();
  return verifyOffset(*this, *getOffset(), getBuffer().getType());
}

LogicalResult
ConstantOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                             ValueRange operands, DictionaryAttr attributes,
                             OpaqueProperties properties, RegionRange regions,
                             SmallVectorImpl<Type> &types) {
  ConstantOpAdaptor adaptor(operands, attributes, properties, regions);
  ElementsAttr value = adaptor.getValue();
  if (!value)
    return emitOptionalError(loc, "'exec.constant' op expects elements");
  auto type =
      MemRefType::get(value.getShapedType().getShape(), value.getElementType());
  if (!isBuffer(type))
    return emitOptionalError(loc, "expects integers or floats, got ",
                             value.getShapedType());
  types.push_back(type);
  return success();
}

LogicalResult ViewOp::verify() {
  if (isHostBuffer(getBuffer().getType()) !=
      isHostBuffer(getSource().getType()))
    return emitOpError() << "must lie where the source of type "
                         << getSource().getType() << " lies, got "
                         << getBuffer().getType();
  if (failed(verifyOffset(*this, getOffset(), getBuffer().getType())))
    return failure();
  uint64_t source = getBufferBytes(getSource().getType());
  uint64_t bytes = getBufferBytes(getBuffer().getType());
  if (bytes <= source && getOffset() <= source - bytes)
    return success();
  return emitOpError() << "takes " << bytes << " bytes from " << getOffset()
                       << " on, but the source has " << source;
}

//===----------------------------------------------------------------------===//
// LaunchOp
//===----------------------------------------------------------------------===//

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel =
      symbols.lookupNearestSymbolFrom<tg::KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError() << "names '" << getKernel() << "', which is no kernel";
  auto getTensorTypes = [](ValueRange buffers) {
    return llvm::map_to_vector(buffers, [](Value buffer) -> Type {
      return getTensorType(cast<MemRefType>(buffer.getType()));
    });
  };
  auto type = FunctionType::get(getContext(), getTensorTypes(getInputs()),
                                getTensorTypes(getOutputs()));
  if (type == kernel.getFunctionType())
    return success();
  InFlightDiagnostic diag =
      emitOpError() << "has buffers of type " << type << ", but kernel '"
                    << getKernel() << "' has type " << kernel.getFunctionType();
  diag.attachNote(kernel.getLoc()) << "the kernel";
  return diag;
}

//===----------------------------------------------------------------------===//
// TransferOp
//===----------------------------------------------------------------------===//

LogicalResult TransferOp::verify() {
  MemRefType source = getSource().getType(), target = getTarget().getType();
  if (isHostBuffer(source) == isHostBuffer(target))
    return emitOpError() << "expects one buffer on the host and one on the "
                            "device, got "
                         << source << " and " << target;
  if (getTensorType(source) != getTensorType(target))
    return emitOpError() << "expects buffers of equal shape and element type, "
                            "got "
                         << source << " and " << target;
  if (getStream() == 0)
    return emitOpError() << "expects a stream that does not compute, got 0";
  return success();
}

//===----------------------------------------------------------------------===//
// What operations on streams touch
//===----------------------------------------------------------------------===//

ValueRange LaunchOp::getReads() { return getInputs(); }
ValueRange LaunchOp::getWrites() { return getOutputs(); }

ValueRange CopyOp::getReads() {
  return getOperation()->getOperands().take_front();
}
ValueRange CopyOp::getWrites() {
  return getOperation()->getOperands().drop_front();
}

ValueRange TransferOp::getReads() {
  return getOperation()->getOperands().take_front();
}
ValueRange TransferOp::getWrites() {
  return getOperation()->getOperands().drop_front();
}

ValueRange FillOp::getReads() { return {}; }
ValueRange FillOp::getWrites() { return getOperation()->getOperands(); }

ValueRange AxisIndexOp::getReads() { return {}; }
ValueRange AxisIndexOp::getWrites() {
  return getOperation()->getOperands().drop_front();
}

//===----------------------------------------------------------------------===//
// GraphOp
//===----------------------------------------------------------------------===//

/// Checks that `op`, which is a direct part of `graph`, can be captured after
/// what came before. `joined` says which streams take part.
static LogicalResult verifyCapture(GraphOp graph, Operation *op,
                                   llvm::SmallSet<uint64_t, 8> &joined) {
  auto checkStream = [&](uint64_t stream) -> LogicalResult {
    if (joined.contains(stream))
      return success();
    return op->emitOpError()
           << "uses stream " << stream << " in graph \"" << graph.getName()
           << "\" before the stream waits for an event of the graph";
  };
  if (auto wait = dyn_cast<WaitOp>(op)) {
    auto record = wait.getEvent().getDefiningOp<RecordOp>();
    if (record && record->getParentOp() == graph) {
      joined.insert(wait.getStream());
      return success();
    }
    InFlightDiagnostic diag = op->emitOpError()
                              << "waits in graph \"" << graph.getName()
                              << "\" for an event from outside of it";
    diag.attachNote(wait.getEvent().getLoc()) << "the event";
    return diag;
  }
  if (auto record = dyn_cast<RecordOp>(op))
    return checkStream(record.getStream());
  if (auto access = dyn_cast<StreamOpInterface>(op))
    return checkStream(access.getStream());
  if (isa<SliceOp, HostSliceOp, ViewOp, ConstantOp, DestinationOp,
          CommunicatorOp, YieldOp>(op))
    return success();
  InFlightDiagnostic diag = op->emitOpError()
                            << "cannot be part of graph \"" << graph.getName()
                            << "\", which runs without the host";
  diag.attachNote(graph.getLoc()) << "the graph";
  return diag;
}

LogicalResult GraphOp::verifyRegions() {
  llvm::SmallSet<uint64_t, 8> joined = {0};
  for (Operation &op : getBody().front())
    if (failed(verifyCapture(*this, &op, joined)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Fragments of the assembly
//===----------------------------------------------------------------------===//

static ParseResult parseGroupAxes(OpAsmParser &parser, tg::AxesAttr &axes) {
  return tg::parseAxisList(parser, axes);
}

static void printGroupAxes(OpAsmPrinter &printer, Operation *,
                           tg::AxesAttr axes) {
  tg::printAxisList(printer, axes);
}

static ParseResult parseCollectiveKeyword(OpAsmParser &parser,
                                          CollectiveKindAttr &kind) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<CollectiveKind> value = symbolizeCollectiveKind(keyword);
  if (!value)
    return parser.emitError(loc)
           << "expects a collective, such as all_gather, got \"" << keyword
           << '"';
  kind = CollectiveKindAttr::get(parser.getContext(), *value);
  return success();
}

static void printCollectiveKeyword(OpAsmPrinter &printer, Operation *,
                                   CollectiveKindAttr kind) {
  printer << stringifyCollectiveKind(kind.getValue());
}

#define GET_OP_CLASSES
#include "regather/Dialect/Exec/IR/ExecOps.cpp.inc"
