//===- ProgramExecutor.cpp - Run a program on one rank --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramExecutor.h"

#include "MemoryCounter.h"

#include <cstring>
#include <map>

using namespace mlir;
using namespace regather;
using namespace regather::native;
using namespace regather::tg;

static rg_dtype getDtype(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return RG_F32;
  case ElementType::F64:
    return RG_F64;
  case ElementType::BF16:
    return RG_BF16;
  case ElementType::F16:
    return RG_F16;
  case ElementType::I1:
    return RG_I1;
  case ElementType::I8:
    return RG_I8;
  case ElementType::I16:
    return RG_I16;
  case ElementType::I32:
    return RG_I32;
  case ElementType::I64:
    return RG_I64;
  }
  llvm_unreachable("unknown element type");
}

/// Describes `op` to the runtime, except for its tensors.
static rg_collective describe(CollectiveOpInterface op) {
  rg_collective collective = {};
  collective.accumulate = RG_DTYPE_AUTO;
  auto setReduction = [&](Reduction reduction, std::optional<Type> type) {
    collective.reduction = reduction == Reduction::Sum   ? RG_SUM
                           : reduction == Reduction::Avg ? RG_AVG
                                                         : RG_MAX;
    if (type)
      collective.accumulate = type->isF64() ? RG_F64 : RG_F32;
  };
  if (auto gather = dyn_cast<AllGatherOp>(*op)) {
    collective.kind = RG_ALL_GATHER;
    collective.dim = gather.getDim();
  } else if (auto scatter = dyn_cast<ReduceScatterOp>(*op)) {
    collective.kind = RG_REDUCE_SCATTER;
    collective.dim = scatter.getDim();
    setReduction(scatter.getReduction(), scatter.getAccumulate());
  } else if (auto reduce = dyn_cast<AllReduceOp>(*op)) {
    collective.kind = RG_ALL_REDUCE;
    setReduction(reduce.getReduction(), reduce.getAccumulate());
  } else if (auto exchange = dyn_cast<AllToAllOp>(*op)) {
    collective.kind = RG_ALL_TO_ALL;
    collective.split_dim = exchange.getSplitDim();
    collective.concat_dim = exchange.getConcatDim();
  } else if (auto broadcast = dyn_cast<BroadcastOp>(*op)) {
    collective.kind = RG_BROADCAST;
    collective.root = broadcast.getRoot();
  } else {
    collective.kind = RG_PERMUTE;
  }
  return collective;
}

namespace {
/// What a rank holds in the slot of a future until the wait.
struct Pending {
  rg_future *future = nullptr;
  Operation *op = nullptr;
  /// Kept alive because the runtime reads them.
  std::vector<HostTensor> inputs;
  std::vector<HostTensor> outputs;
};

class Executor {
public:
  Executor(const Program &program, const KernelSet &kernels, rg_world *world,
           int64_t rank)
      : program(program), kernels(kernels), world(world), rank(rank),
        slots(program.slots.size()) {}

  RankFailure run(const RankValues &arguments, RankValues &results);

  int64_t getPeakBytes() const { return memory.getPeak(); }

private:
  /// Returns false when the rank has to stop.
  bool runBlock(const InstructionBlock &block);
  bool runInstruction(const Instruction &instruction);
  bool launch(const Instruction &instruction);
  bool runProduct(const Instruction &instruction);
  bool start(const Instruction &instruction);
  bool wait(const Instruction &instruction);
  /// Waits for a future that the program does not wait for.
  bool drain(Slot slot);
  bool runIf(const Instruction &instruction);
  bool runFor(const Instruction &instruction);
  bool check(rg_status status, Operation *op);
  void assign(ArrayRef<Slot> targets, ArrayRef<Slot> sources);
  /// Replaces what the slot holds by a tensor whose bytes are counted already.
  void put(Slot slot, HostTensor tensor);

  const Program &program;
  const KernelSet &kernels;
  rg_world *world;
  int64_t rank;
  std::vector<HostTensor> slots;
  MemoryCounter memory;
  /// For the kernel that runs.
  std::vector<char> scratch;
  std::map<Slot, Pending> pending;
  std::vector<rg_comm *> comms;
  RankFailure failure;
};
} // namespace

bool Executor::check(rg_status status, Operation *op) {
  if (status == RG_OK)
    return true;
  if (!failure.op)
    failure = {op, status};
  return false;
}

/// Parallel assignment: a loop may swap the values that it carries.
void Executor::assign(ArrayRef<Slot> targets, ArrayRef<Slot> sources) {
  SmallVector<HostTensor> values;
  for (Slot source : sources)
    values.push_back(slots[source]);
  for (auto [target, value] : llvm::zip(targets, values))
    put(target, value);
}

void Executor::put(Slot slot, HostTensor tensor) {
  memory.release(slots[slot]);
  slots[slot] = std::move(tensor);
}

bool Executor::launch(const Instruction &instruction) {
  SmallVector<void *> buffers;
  for (Slot slot : instruction.inputs)
    buffers.push_back(slots[slot].getData());
  for (Slot slot : instruction.outputs) {
    const SlotType &type = program.slots[slot];
    put(slot,
        memory.hold(HostTensor::uninitialized(type.elementType, type.shape)));
    buffers.push_back(slots[slot].getData());
  }
  if (kernels.run(instruction.kernel, buffers, scratch))
    return true;
  rg_world_abort(world, "an index is out of bounds");
  return check(RG_ERROR_ARGUMENT, instruction.op);
}

bool Executor::runProduct(const Instruction &instruction) {
  const SlotType &type = program.slots[instruction.outputs.front()];
  HostTensor result = HostTensor::uninitialized(type.elementType, type.shape);
  SmallVector<void *> buffers;
  for (Slot slot : instruction.inputs)
    buffers.push_back(slots[slot].getData());
  buffers.push_back(result.getData());
  rg_status status =
      rg_gemm_run(program.products.get(instruction.product), buffers.data());
  slots[instruction.outputs.front()] = std::move(result);
  if (status == RG_OK)
    return true;
  rg_world_abort(world, "a matrix product failed");
  return check(status, instruction.op);
}

bool Executor::start(const Instruction &instruction) {
  const Collective &info = program.collectives[instruction.collective];
  rg_collective collective = describe(info.op);
  // The runtime counts positions in 32 bits.
  SmallVector<int32_t> sources, targets;
  if (auto permute = dyn_cast<PermuteOp>(*info.op)) {
    llvm::append_range(sources, permute.getSources());
    llvm::append_range(targets, permute.getTargets());
  }
  collective.sources = sources.data();
  collective.targets = targets.data();
  collective.pair_count = static_cast<int64_t>(sources.size());
  collective.name = info.description.c_str();
  collective.tag = info.tag;

  // A loop comes back to a future of which the last iteration was dead.
  Slot slot = instruction.outputs.front();
  if (!drain(slot))
    return false;
  Pending &entry = pending[slot];
  entry.op = instruction.op;
  std::vector<rg_member> members;
  for (auto [source, result] : llvm::zip(instruction.inputs, info.results)) {
    const HostTensor &input = entry.inputs.emplace_back(slots[source]);
    HostTensor &output = entry.outputs.emplace_back(memory.hold(
        HostTensor::uninitialized(result.elementType, result.shape)));
    rg_member &member = members.emplace_back();
    member.dtype = getDtype(result.elementType);
    member.rank = static_cast<int32_t>(input.getRank());
    // Shapes live in the program: the tensors above may still move.
    member.input_shape = program.slots[source].shape.data();
    member.output_shape = result.shape.data();
    member.input = input.getData();
    member.output = output.getData();
  }
  collective.members = members.data();
  collective.member_count = static_cast<int64_t>(members.size());
  return check(rg_start(comms[info.group], &collective, &entry.future),
               instruction.op);
}

bool Executor::wait(const Instruction &instruction) {
  auto it = pending.find(instruction.inputs.front());
  Pending entry = std::move(it->second);
  pending.erase(it);
  if (!check(rg_wait(entry.future), instruction.op))
    return false;
  for (HostTensor &input : entry.inputs)
    memory.release(input);
  for (auto [slot, output] : llvm::zip(instruction.outputs, entry.outputs))
    put(slot, std::move(output));
  return true;
}

bool Executor::drain(Slot slot) {
  auto it = pending.find(slot);
  if (it == pending.end())
    return true;
  Pending entry = std::move(it->second);
  pending.erase(it);
  if (entry.future && !check(rg_wait(entry.future), entry.op))
    return false;
  for (std::vector<HostTensor> *tensors : {&entry.inputs, &entry.outputs})
    for (HostTensor &tensor : *tensors)
      memory.release(tensor);
  return true;
}

bool Executor::runIf(const Instruction &instruction) {
  bool condition = slots[instruction.inputs.front()].getAsInteger(0) != 0;
  const InstructionBlock &block = instruction.blocks[condition ? 0 : 1];
  if (!runBlock(block))
    return false;
  assign(instruction.outputs, block.yields);
  return true;
}

bool Executor::runFor(const Instruction &instruction) {
  int64_t lower = slots[instruction.inputs[0]].getAsInteger(0);
  int64_t upper = slots[instruction.inputs[1]].getAsInteger(0);
  int64_t step = slots[instruction.inputs[2]].getAsInteger(0);
  const InstructionBlock &block = instruction.blocks.front();
  ArrayRef<Slot> carried = ArrayRef(block.arguments).drop_front();
  assign(carried, ArrayRef(instruction.inputs).drop_front(3));
  // A step below one would never end; the dialect leaves it undefined.
  for (int64_t i = lower; i < upper && step > 0; i += step) {
    Slot slot = block.arguments.front();
    HostTensor index = HostTensor::zeros(program.slots[slot].elementType, {});
    index.setFromDouble(0, static_cast<double>(i));
    put(slot, memory.hold(std::move(index)));
    if (!runBlock(block))
      return false;
    assign(carried, block.yields);
  }
  assign(instruction.outputs, carried);
  return true;
}

bool Executor::runInstruction(const Instruction &instruction) {
  switch (instruction.kind) {
  case Instruction::Kind::Launch:
    return launch(instruction);
  case Instruction::Kind::Product:
    return runProduct(instruction);
  case Instruction::Kind::Start:
    return start(instruction);
  case Instruction::Kind::Wait:
    return wait(instruction);
  case Instruction::Kind::AxisIndex: {
    const Group &group = program.groups[instruction.group];
    MeshOp mesh = group.mesh;
    HostTensor index = HostTensor::zeros(ElementType::I64, {});
    index.setFromDouble(
        0, static_cast<double>(mesh.getIndexInGroup(rank, group.axes)));
    put(instruction.outputs.front(), memory.hold(std::move(index)));
    return true;
  }
  case Instruction::Kind::If:
    return runIf(instruction);
  case Instruction::Kind::For:
    return runFor(instruction);
  }
  llvm_unreachable("unknown instruction");
}

bool Executor::runBlock(const InstructionBlock &block) {
  for (const Instruction &instruction : block.instructions) {
    if (!runInstruction(instruction))
      return false;
    for (Slot slot : instruction.dead)
      memory.release(slots[slot]);
  }
  return true;
}

RankFailure Executor::run(const RankValues &arguments, RankValues &results) {
  for (const Group &group : program.groups) {
    MeshOp mesh = group.mesh;
    SmallVector<int32_t> members;
    llvm::append_range(members, mesh.getGroup(rank, group.axes));
    rg_comm *comm = nullptr;
    if (!check(rg_comm_get(world, static_cast<int32_t>(rank), members.data(),
                           static_cast<int32_t>(members.size()), &comm),
               mesh))
      return failure;
    comms.push_back(comm);
  }
  for (auto [slot, value] : llvm::zip(program.body.arguments, arguments))
    slots[slot] = memory.hold(value);
  runBlock(program.body);
  rg_rank_finish(world, static_cast<int32_t>(rank));
  // Futures that nobody waits for still use this rank's tensors.
  while (!pending.empty())
    drain(pending.begin()->first);
  if (!failure.op)
    for (Slot slot : program.body.yields)
      results.push_back(slots[slot]);
  return failure;
}

RankFailure regather::native::execute(const Program &program,
                                      const KernelSet &kernels, rg_world *world,
                                      int64_t rank, const RankValues &arguments,
                                      RankValues &results, int64_t &peakBytes) {
  Executor executor(program, kernels, world, rank);
  RankFailure failure = executor.run(arguments, results);
  peakBytes = executor.getPeakBytes();
  return failure;
}
