//===- ProgramTables.cpp - Programs as tables of the runtime --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Program/ProgramTables.h"

#include "ElementBytes.h"
#include "KernelCost.h"
#include "LibraryTables.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace regather;

const rg_program &ProgramTables::get() {
  auto set = [](int64_t &count, auto *&table, const auto &entries) {
    count = static_cast<int64_t>(entries.size());
    table = entries.data();
  };
  set(program.argument_count, program.arguments, arguments);
  set(program.result_count, program.results, results);
  set(program.constant_count, program.constants, constants);
  set(program.kernel_count, program.kernels, kernels);
  set(program.gemm_count, program.gemms, gemms);
  set(program.attention_count, program.attentions, attentions);
  set(program.convolution_count, program.convolutions, convolutions);
  set(program.grouped_gemm_count, program.grouped_gemms, groupedGemms);
  set(program.axes_count, program.axes, axes);
  set(program.collective_count, program.collectives, collectives);
  set(program.slice_count, program.slices, slices);
  set(program.instruction_count, program.instructions, instructions);
  return program;
}

void ProgramTables::setKernel(unsigned kernel, rg_kernel_function function,
                              int64_t rows, int64_t grain,
                              int64_t scratchBytes) {
  rg_kernel &entry = kernels[kernel];
  entry.function = function;
  entry.rows = rows;
  entry.grain = grain;
  entry.scratch_bytes = scratchBytes;
}

//===----------------------------------------------------------------------===//
// Translation
//===----------------------------------------------------------------------===//

namespace regather {
/// Fills the tables.
class ProgramTranslator {
public:
  ProgramTranslator(exec::ProgramOp op, ProgramPlace place,
                    ProgramTables &tables)
      : op(op), place(place), tables(tables) {}

  void translate();

private:
  void translateBlock(Block &block);
  void translate(Operation &op);
  void translate(exec::LaunchOp launch);
  void translate(exec::CollectiveOp collective);
  void translate(exec::IfOp branch);
  void translate(exec::ForOp loop);
  void translate(exec::GraphOp graph);

  /// Adds an instruction and returns its number.
  size_t add(Operation *from, rg_opcode opcode, uint64_t index,
             ArrayRef<rg_slice> operands = {}, uint64_t stream = 0);
  /// Lets an instruction go on at the next one that is added.
  void setTarget(size_t instruction) {
    tables.instructions[instruction].target =
        static_cast<int64_t>(tables.instructions.size());
  }

  /// The last instruction moves the bytes of its first slice so many times.
  void setMovedBytes(int64_t times) {
    rg_instruction &instruction = tables.instructions.back();
    instruction.bytes = times * tables.slices[instruction.first_slice].bytes;
  }

  rg_slice getSlice(Value buffer);
  rg_value describe(StringRef name, Type type, bool donated);
  rg_collective describe(exec::CollectiveOp collective);
  int32_t addConstant(ElementsAttr elements);
  int32_t addAxes(exec::CommunicatorOp communicator);
  /// What a launch calls: the opcode and the number in its table, and what it
  /// costs.
  struct Callee {
    rg_opcode opcode;
    size_t number;
    tg::OpCost cost = {};
  };
  Callee addKernel(tg::KernelOp kernel);
  const char *getDescription(Operation *op);

  const char *save(const Twine &text) {
    return tables.strings.save(text).data();
  }
  template <typename T> const T *save(ArrayRef<T> values) {
    return values.copy(tables.allocator).data();
  }
  SmallVector<int32_t> narrow(std::optional<ArrayRef<int64_t>> positions) {
    return llvm::to_vector_of<int32_t>(positions.value_or(ArrayRef<int64_t>()));
  }

  exec::ProgramOp op;
  ProgramPlace place;
  ProgramTables &tables;
  SymbolTableCollection symbols;
  llvm::DenseMap<Operation *, int32_t> constants;
  llvm::DenseMap<Attribute, int32_t> fillValues;
  llvm::DenseMap<std::pair<Attribute, Attribute>, int32_t> axes;
  llvm::DenseMap<Operation *, Callee> kernels;
  llvm::DenseMap<Value, uint64_t> events;
};
} // namespace regather

rg_slice ProgramTranslator::getSlice(Value buffer) {
  exec::BufferPlace found = exec::getPlace(buffer);
  rg_slice slice = {RG_SPACE_ARENA, 0, found.offset,
                    exec::getBufferBytes(cast<MemRefType>(buffer.getType()))};
  if (auto argument = dyn_cast<BlockArgument>(found.base)) {
    slice.space = RG_SPACE_ARGUMENT;
    slice.index = static_cast<int32_t>(argument.getArgNumber());
  } else if (auto constant = found.base.getDefiningOp<exec::ConstantOp>()) {
    slice.space = RG_SPACE_CONSTANT;
    slice.index = constants.lookup(constant);
  } else if (auto destination =
                 found.base.getDefiningOp<exec::DestinationOp>()) {
    slice.space = RG_SPACE_RESULT;
    slice.index = static_cast<int32_t>(destination.getNumber());
  } else if (auto host = found.base.getDefiningOp<exec::HostSliceOp>()) {
    slice.space = RG_SPACE_HOST;
    slice.offset += static_cast<int64_t>(*host.getOffset());
  } else {
    slice.offset += static_cast<int64_t>(
        *found.base.getDefiningOp<exec::SliceOp>().getOffset());
  }
  return slice;
}

const char *ProgramTranslator::getDescription(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (auto collective = dyn_cast<exec::CollectiveOp>(op))
    stream << "tg." << stringifyCollectiveKind(collective.getKind());
  else if (auto launch = dyn_cast<exec::LaunchOp>(op))
    stream << "kernel \"" << launch.getKernel() << '"';
  else
    stream << op->getName();
  stream << " at ";
  if (auto file = op->getLoc()->findInstanceOf<FileLineColLoc>())
    stream << file.getFilename().getValue() << ':' << file.getLine() << ':'
           << file.getColumn();
  else
    stream << op->getLoc();
  if (auto path = op->getAttrOfType<StringAttr>(tg::kModuleAttrName))
    stream << " in module '" << path.getValue() << '\'';
  return save(text);
}

size_t ProgramTranslator::add(Operation *from, rg_opcode opcode, uint64_t index,
                              ArrayRef<rg_slice> operands, uint64_t stream) {
  rg_instruction instruction = {};
  instruction.opcode = opcode;
  instruction.stream = static_cast<int32_t>(stream);
  instruction.index = static_cast<int32_t>(index);
  instruction.slice_count = static_cast<int32_t>(operands.size());
  instruction.first_slice = static_cast<int64_t>(tables.slices.size());
  instruction.description = getDescription(from);
  llvm::append_range(tables.slices, operands);
  tables.operations.push_back(from);
  tables.instructions.push_back(instruction);
  return tables.instructions.size() - 1;
}

rg_value ProgramTranslator::describe(StringRef name, Type type, bool donated) {
  auto buffer = cast<MemRefType>(type);
  rg_value value = {};
  value.name = save(name);
  value.dtype = getDtype(buffer.getElementType());
  value.rank = static_cast<int32_t>(buffer.getRank());
  value.shape = save(buffer.getShape());
  value.donated = donated;
  value.on_host = exec::isHostBuffer(type);
  return value;
}

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

int32_t ProgramTranslator::addConstant(ElementsAttr elements) {
  std::vector<char> bytes = getElementBytes(elements);
  auto number = static_cast<int32_t>(tables.constants.size());
  // The allocator aligns what it copies to the element: be generous.
  size_t size = bytes.size();
  void *data = tables.allocator.Allocate(size, llvm::Align(64));
  llvm::copy(bytes, static_cast<char *>(data));
  tables.constants.push_back({data, static_cast<int64_t>(size)});
  return number;
}

ProgramTranslator::Callee ProgramTranslator::addKernel(tg::KernelOp kernel) {
  auto add = [](rg_opcode opcode, auto &table, const auto &entry) {
    table.push_back(entry);
    return Callee{opcode, table.size() - 1};
  };
  FunctionType type = kernel.getFunctionType();
  tg::LibraryCallAttrInterface call = kernel.getLibraryCallAttr();
  if (call && place == ProgramPlace::Device && !call.hasDeviceRoutine())
    call = nullptr;
  if (auto gemm = dyn_cast_or_null<tg::GemmAttr>(call))
    return add(RG_OP_GEMM, tables.gemms, regather::describe(gemm, type));
  if (auto attention = dyn_cast_or_null<tg::AttentionAttr>(call))
    return add(RG_OP_ATTENTION, tables.attentions,
               regather::describe(attention, type));
  if (auto convolution = dyn_cast_or_null<tg::ConvolutionAttr>(call))
    return add(RG_OP_CONVOLUTION, tables.convolutions,
               regather::describe(convolution, type));
  if (auto grouped = dyn_cast_or_null<tg::GroupedGemmAttr>(call))
    return add(RG_OP_GROUPED_GEMM, tables.groupedGemms,
               regather::describe(grouped, type));
  tables.kernelOps.push_back(kernel);
  return add(RG_OP_LAUNCH, tables.kernels,
             rg_kernel{save(kernel.getSymName()), nullptr, 1, 1, 0});
}

void ProgramTranslator::translate(exec::LaunchOp launch) {
  SmallVector<rg_slice> operands;
  for (Value buffer : launch.getInputs())
    operands.push_back(getSlice(buffer));
  for (Value buffer : launch.getOutputs())
    operands.push_back(getSlice(buffer));
  auto kernel = symbols.lookupNearestSymbolFrom<tg::KernelOp>(
      launch, launch.getKernelAttr());
  auto it = kernels.find(kernel);
  if (it == kernels.end()) {
    it = kernels.try_emplace(kernel, addKernel(kernel)).first;
    it->second.cost = getKernelCost(kernel);
  }
  const auto &[opcode, number, cost] = it->second;
  size_t instruction =
      add(launch, opcode, number, operands, launch.getStream());
  tables.instructions[instruction].flops = cost.flops;
  tables.instructions[instruction].bytes = cost.readBytes + cost.writtenBytes;
}

//===----------------------------------------------------------------------===//
// Communication
//===----------------------------------------------------------------------===//

int32_t ProgramTranslator::addAxes(exec::CommunicatorOp communicator) {
  tg::AxesAttr names = communicator.getAxes();
  auto number = static_cast<int32_t>(tables.axes.size());
  auto [it, inserted] =
      axes.try_emplace({communicator.getMeshAttr(), names}, number);
  if (!inserted)
    return it->second;
  auto mesh = symbols.lookupNearestSymbolFrom<tg::MeshOp>(
      communicator, communicator.getMeshAttr());
  SmallVector<int64_t> sizes, strides;
  for (StringAttr name : names.getNames()) {
    sizes.push_back(*mesh.getAxisSize(name.getValue()));
    // Axes are row-major: the stride is the size of all that follow.
    int64_t stride = 1;
    for (auto [axis, size] :
         llvm::reverse(llvm::zip(mesh.getAxes().getNames(), mesh.getSizes()))) {
      if (axis == name)
        break;
      stride *= size;
    }
    strides.push_back(stride);
  }
  tables.axes.push_back({static_cast<int32_t>(sizes.size()), 0,
                         save(ArrayRef<int64_t>(sizes)),
                         save(ArrayRef<int64_t>(strides))});
  return number;
}

static rg_kind getKind(exec::CollectiveKind kind) {
  switch (kind) {
  case exec::CollectiveKind::AllGather:
    return RG_ALL_GATHER;
  case exec::CollectiveKind::ReduceScatter:
    return RG_REDUCE_SCATTER;
  case exec::CollectiveKind::AllReduce:
    return RG_ALL_REDUCE;
  case exec::CollectiveKind::AllToAll:
    return RG_ALL_TO_ALL;
  case exec::CollectiveKind::Broadcast:
    return RG_BROADCAST;
  case exec::CollectiveKind::Permute:
    return RG_PERMUTE;
  }
  llvm_unreachable("unknown kind");
}

static rg_reduction getReduction(std::optional<tg::Reduction> reduction) {
  if (reduction == tg::Reduction::Max)
    return RG_MAX;
  return reduction == tg::Reduction::Avg ? RG_AVG : RG_SUM;
}

rg_collective ProgramTranslator::describe(exec::CollectiveOp op) {
  rg_collective collective = {};
  collective.kind = getKind(op.getKind());
  collective.reduction = getReduction(op.getReduction());
  collective.accumulate =
      op.getAccumulate() ? getDtype(*op.getAccumulate()) : RG_DTYPE_AUTO;
  collective.root = static_cast<int32_t>(op.getRoot().value_or(0));
  collective.dim = static_cast<int64_t>(op.getDim().value_or(0));
  collective.split_dim = static_cast<int64_t>(op.getSplitDim().value_or(0));
  collective.concat_dim = static_cast<int64_t>(op.getConcatDim().value_or(0));
  SmallVector<int32_t> sources = narrow(op.getSources());
  collective.sources = save(ArrayRef<int32_t>(sources));
  collective.targets = save(ArrayRef<int32_t>(narrow(op.getTargets())));
  collective.pair_count = static_cast<int64_t>(sources.size());
  SmallVector<rg_member> members;
  for (auto [input, output] : llvm::zip(op.getInputs(), op.getOutputs())) {
    auto from = cast<MemRefType>(input.getType());
    auto to = cast<MemRefType>(output.getType());
    members.push_back(
        {getDtype(from.getElementType()), static_cast<int32_t>(from.getRank()),
         save(from.getShape()), save(to.getShape()), nullptr, nullptr});
  }
  collective.members = save(ArrayRef<rg_member>(members));
  collective.member_count = static_cast<int64_t>(members.size());
  collective.name = getDescription(op);
  collective.tag = static_cast<uint64_t>(op.getTag());
  return collective;
}

void ProgramTranslator::translate(exec::CollectiveOp op) {
  SmallVector<rg_slice> operands;
  for (auto [input, output] : llvm::zip(op.getInputs(), op.getOutputs())) {
    operands.push_back(getSlice(input));
    operands.push_back(getSlice(output));
  }
  auto communicator =
      op.getCommunicator().getDefiningOp<exec::CommunicatorOp>();
  size_t number = tables.collectives.size();
  tables.collectives.push_back({describe(op), addAxes(communicator), 0});
  add(op, RG_OP_COLLECTIVE, number, operands, op.getStream());
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

void ProgramTranslator::translate(exec::IfOp op) {
  size_t skip = add(op, RG_OP_JUMP_IF_ZERO, 0, getSlice(op.getCondition()));
  translateBlock(op.getThenRegion().front());
  add(op, RG_OP_SYNC, 0);
  if (op.getElseRegion().empty()) {
    setTarget(skip);
    return;
  }
  size_t end = add(op, RG_OP_JUMP, 0);
  setTarget(skip);
  translateBlock(op.getElseRegion().front());
  add(op, RG_OP_SYNC, 0);
  setTarget(end);
}

void ProgramTranslator::translate(exec::ForOp op) {
  auto number = static_cast<uint64_t>(tables.program.loop_count++);
  size_t loop = add(op, RG_OP_LOOP, number,
                    {getSlice(op.getIndex()), getSlice(op.getLower()),
                     getSlice(op.getUpper()), getSlice(op.getStep())});
  translateBlock(op.getBody().front());
  add(op, RG_OP_SYNC, 0);
  size_t next = add(op, RG_OP_NEXT, number, getSlice(op.getIndex()));
  tables.instructions[next].target = static_cast<int64_t>(loop) + 1;
  setTarget(loop);
}

void ProgramTranslator::translate(exec::GraphOp op) {
  auto first = static_cast<int64_t>(tables.instructions.size());
  translateBlock(op.getBody().front());
  tables.graphs.push_back({save(op.getName()), first,
                           static_cast<int64_t>(tables.instructions.size())});
}

void ProgramTranslator::translateBlock(Block &block) {
  for (Operation &inner : block)
    translate(inner);
}

void ProgramTranslator::translate(Operation &inner) {
  llvm::TypeSwitch<Operation *>(&inner)
      .Case<exec::LaunchOp, exec::CollectiveOp, exec::IfOp, exec::ForOp,
            exec::GraphOp>([&](auto op) { translate(op); })
      .Case([&](exec::ConstantOp constant) {
        constants[constant] = addConstant(constant.getValue());
      })
      .Case([&](exec::CopyOp copy) {
        add(copy, RG_OP_COPY, 0,
            {getSlice(copy.getTarget()), getSlice(copy.getSource())},
            copy.getStream());
        setMovedBytes(2);
      })
      .Case([&](exec::TransferOp transfer) {
        add(transfer, RG_OP_COPY, 0,
            {getSlice(transfer.getTarget()), getSlice(transfer.getSource())},
            transfer.getStream());
        setMovedBytes(1);
      })
      .Case([&](exec::FillOp fill) {
        auto type = RankedTensorType::get({}, fill.getValue().getType());
        auto [it, inserted] = fillValues.try_emplace(fill.getValue(), 0);
        if (inserted)
          it->second =
              addConstant(DenseElementsAttr::get(type, fill.getValue()));
        rg_slice value = {RG_SPACE_CONSTANT, it->second, 0,
                          tables.constants[it->second].bytes};
        add(fill, RG_OP_FILL, 0, {getSlice(fill.getTarget()), value},
            fill.getStream());
        setMovedBytes(1);
      })
      .Case([&](exec::AxisIndexOp index) {
        auto communicator =
            index.getCommunicator().getDefiningOp<exec::CommunicatorOp>();
        add(index, RG_OP_AXIS_INDEX, addAxes(communicator),
            getSlice(index.getTarget()), index.getStream());
      })
      .Case([&](exec::RecordOp record) {
        uint64_t number = events.size();
        events[record.getEvent()] = number;
        add(record, RG_OP_RECORD, number, {}, record.getStream());
      })
      .Case([&](exec::WaitOp wait) {
        add(wait, RG_OP_WAIT, events.lookup(wait.getEvent()), {},
            wait.getStream());
      })
      .Case<exec::ReturnOp>([&](exec::ReturnOp end) {
        for (auto [result, buffer] :
             llvm::zip(tables.results, end.getOperands()))
          result.slice = getSlice(buffer);
      });
  // Slices, views and communicators are part of what uses them.
}

void ProgramTranslator::translate() {
  rg_program &program = tables.program;
  program.version = RG_PROGRAM_VERSION;
  program.name = save(op.getSymName());
  program.arena_bytes = static_cast<int64_t>(*op.getArena());
  program.arena_lower_bound =
      static_cast<int64_t>(op.getLowerBound().value_or(*op.getArena()));
  program.host_arena_bytes =
      static_cast<int64_t>(op.getHostArena().value_or(0));
  program.host_arena_lower_bound =
      static_cast<int64_t>(op.getHostLowerBound().value_or(0));
  program.arena_alignment = static_cast<int64_t>(op.getAlignment());
  program.stream_count = static_cast<int32_t>(op.getStreams());
  for (auto mesh : op->getParentOfType<ModuleOp>().getOps<tg::MeshOp>())
    program.ranks = static_cast<int32_t>(mesh.getNumRanks());
  for (auto [i, type] : llvm::enumerate(op.getArgumentTypes())) {
    auto name = op.getArgAttrOfType<StringAttr>(i, tg::kNameAttrName);
    tables.arguments.push_back(
        describe(name ? name.str() : "arg" + std::to_string(i), type,
                 op.getArgAttr(i, tg::kDonatedAttrName) != nullptr));
  }
  for (auto [i, type] : llvm::enumerate(op.getResultTypes()))
    tables.results.push_back(
        describe("result" + std::to_string(i), type, /*donated=*/false));
  translateBlock(op.getBody().front());
  program.event_count = static_cast<int32_t>(events.size());
}

FailureOr<std::unique_ptr<ProgramTables>>
ProgramTables::build(exec::ProgramOp program, ProgramPlace place) {
  if (!program.isPlanned())
    return program.emitError() << "the memory of program \""
                               << program.getSymName() << "\" is not planned";
  std::unique_ptr<ProgramTables> tables(new ProgramTables());
  ProgramTranslator(program, place, *tables).translate();
  return tables;
}
