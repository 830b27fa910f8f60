//===- TimedStep.cpp - A step as a program with times ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Steps/TimedStep.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;

//===----------------------------------------------------------------------===//
// Timing
//===----------------------------------------------------------------------===//

std::vector<unsigned> StreamGroup::getAxisNumbers() {
  std::vector<unsigned> numbers;
  ArrayRef<StringAttr> names = mesh.getAxes().getNames();
  for (StringAttr axis : axes.getNames())
    numbers.push_back(llvm::find(names, axis) - names.begin());
  return numbers;
}

StepTiming regather::tg::makeStepTiming(StepCosts &costs) {
  StepTiming timing;
  timing.computeSeconds = [&costs](Operation *op) {
    return costs.getComputeSeconds(op);
  };
  timing.collectiveSeconds = [&costs](CollectiveOpInterface op) {
    return costs.getCollective(op).seconds;
  };
  timing.hostCopySeconds = [&costs](HostCopyOpInterface op) {
    return costs.getHostCopySeconds(op);
  };
  timing.getLink = [&costs](StreamGroup group) -> uint32_t {
    return costs.getModel()
        .placeMeshGroup(group.mesh.getSizes(), group.getAxisNumbers())
        .getLink();
  };
  for (const LinkClass &link : costs.getModel().getCluster().links) {
    TimedLink timed;
    timed.name = link.name;
    timed.computeSlowdown = link.computeSlowdown;
    timed.collectiveSlowdown = link.collectiveSlowdown;
    timing.links.push_back(std::move(timed));
  }
  return timing;
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

/// True if groups over both have more than one rank in common.
static bool haveCommonRanks(StreamGroup a, StreamGroup b) {
  if (a.isHost() || b.isHost())
    return false;
  if (a.mesh != b.mesh)
    return true;
  int64_t common = 1;
  for (StringAttr axis : a.axes.getNames())
    if (llvm::is_contained(b.axes.getNames(), axis))
      common *= *a.mesh.getAxisSize(axis);
  return common > 1;
}

namespace {
/// Numbers the groups over which a step communicates, and the directions in
/// which it copies.
class StreamTable {
public:
  /// Of a collective or a copy.
  uint32_t getNumber(Operation *op);
  /// Adds links for copies behind those of the timing.
  std::vector<TimedStream> getStreams(const StepTiming &timing,
                                      std::vector<TimedLink> &links) const;
  std::vector<StreamGroup> takeGroups() { return std::move(groups); }

private:
  std::vector<StreamGroup> groups;
  uint32_t getNumber(CollectiveOpInterface op);
  uint32_t getNumber(HostCopyOpInterface op);

  llvm::DenseMap<std::pair<Attribute, Attribute>, uint32_t> numbers;
  /// By direction.
  std::optional<uint32_t> hostNumbers[2];
};
} // namespace

uint32_t StreamTable::getNumber(Operation *op) {
  if (auto copy = dyn_cast<HostCopyOpInterface>(op))
    return getNumber(copy);
  return getNumber(cast<CollectiveOpInterface>(op));
}

uint32_t StreamTable::getNumber(HostCopyOpInterface op) {
  std::optional<uint32_t> &number = hostNumbers[op.isToHost()];
  if (!number) {
    number = groups.size();
    groups.push_back({MeshOp(), AxesAttr(), op.isToHost()});
  }
  return *number;
}

uint32_t StreamTable::getNumber(CollectiveOpInterface op) {
  auto [it, isNew] =
      numbers.try_emplace({op.getMeshAttr(), op.getAxesAttr()}, groups.size());
  if (isNew)
    groups.push_back({lookupMesh(op, op.getMeshAttr()), op.getAxesAttr(),
                      /*isToHost=*/false});
  return it->second;
}

std::vector<TimedStream>
StreamTable::getStreams(const StepTiming &timing,
                        std::vector<TimedLink> &links) const {
  std::vector<TimedStream> streams;
  for (const StreamGroup &group : groups) {
    TimedStream &stream = streams.emplace_back();
    if (group.isHost()) {
      stream.link = links.size();
      links.emplace_back().name = group.isToHost ? "to host" : "from host";
    } else {
      stream.link = timing.getLink(group);
    }
    for (auto [number, other] : llvm::enumerate(groups))
      if (&other != &group && haveCommonRanks(group, other))
        stream.conflicts.push_back(number);
  }
  return streams;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

namespace {
/// A collective, or a copy between device and host.
struct Transfer {
  OperandRange inputs;
  TypedValue<FutureType> future;
};
} // namespace

static std::optional<Transfer> getTransfer(Operation *op) {
  if (auto collective = dyn_cast_or_null<CollectiveOpInterface>(op))
    return Transfer{collective.getInputs(), collective.getFuture()};
  if (auto copy = dyn_cast_or_null<HostCopyOpInterface>(op))
    return Transfer{copy.getInputs(), copy.getFuture()};
  return std::nullopt;
}

namespace {
/// Finds the memory that the values of a step lie in.
class BufferTable {
public:
  explicit BufferTable(TimedGraph &program) : program(program) {}

  void addOperation(Operation *op, uint32_t number);
  void addResults(Operation *terminator);
  void finish();

private:
  /// Numbers of buffers; none for what lies in arguments.
  using Buffers = SmallVector<uint32_t, 1>;

  uint32_t addBuffer(int64_t bytes, uint32_t writer);
  void addFuture(const Transfer &transfer, uint32_t number);
  void addFlat(FlattenOp op, uint32_t number);
  /// The buffers of a value are in use at `user`.
  void use(Value value, uint32_t user);

  TimedGraph &program;
  llvm::DenseMap<Value, Buffers> buffersOf;
  /// By future, the buffers of its tensors.
  llvm::DenseMap<Value, SmallVector<uint32_t>> tensorsOf;
  std::vector<std::pair<uint32_t, uint32_t>> uses;
};
} // namespace

uint32_t BufferTable::addBuffer(int64_t bytes, uint32_t writer) {
  program.buffers.push_back({bytes, writer, /*isLiveOut=*/false});
  return program.buffers.size() - 1;
}

void BufferTable::use(Value value, uint32_t user) {
  auto it = buffersOf.find(value);
  if (it == buffersOf.end())
    return;
  for (uint32_t buffer : it->second)
    uses.emplace_back(buffer, user);
}

/// What a collective or copy reads and writes is in use until its wait, or to
/// the end if nothing waits.
void BufferTable::addFuture(const Transfer &transfer, uint32_t number) {
  SmallVector<uint32_t> &tensors = tensorsOf[transfer.future];
  for (Type type : transfer.future.getType().getTensors())
    tensors.push_back(addBuffer(
        isOnHost(type) ? 0 : getTensorBytes(cast<RankedTensorType>(type)),
        number));
  if (getFutureWait(transfer.future))
    return;
  for (uint32_t buffer : tensors)
    program.buffers[buffer].isLiveOut = true;
  for (Value input : transfer.inputs)
    for (uint32_t buffer : buffersOf.lookup(input))
      program.buffers[buffer].isLiveOut = true;
}

/// Operands that fill buffers of their own are computed in their places in the
/// flat one; there has to be memory for the others.
void BufferTable::addFlat(FlattenOp op, uint32_t number) {
  Buffers buffers;
  int64_t bytes = getValueBytes(op.getFlat());
  llvm::SmallDenseSet<uint32_t> taken;
  for (Value operand : op.getTensors()) {
    Buffers own = buffersOf.lookup(operand);
    int64_t ownBytes = 0;
    for (uint32_t buffer : own)
      ownBytes += program.buffers[buffer].bytes;
    if (ownBytes != getValueBytes(operand) ||
        llvm::any_of(
            own, [&](uint32_t buffer) { return !taken.insert(buffer).second; }))
      continue;
    buffers.append(own);
    bytes -= ownBytes;
  }
  if (bytes > 0)
    buffers.push_back(addBuffer(bytes, number));
  buffersOf[op.getFlat()] = std::move(buffers);
}

bool regather::tg::isFixedView(Operation *op) {
  auto costed = dyn_cast<CostOpInterface>(op);
  return costed && costed.isView() &&
         llvm::none_of(op->getOperandTypes(), llvm::IsaPred<IndexType>);
}

void BufferTable::addOperation(Operation *op, uint32_t number) {
  forEachInput(op, [&](Value input) { use(input, number); });
  if (std::optional<Transfer> transfer = getTransfer(op))
    return addFuture(*transfer, number);
  if (auto wait = dyn_cast<WaitOp>(op)) {
    if (std::optional<Transfer> transfer =
            getTransfer(wait.getFuture().getDefiningOp()))
      for (Value input : transfer->inputs)
        use(input, number);
    for (auto [tensor, buffer] :
         llvm::zip(wait.getTensors(), tensorsOf.lookup(wait.getFuture()))) {
      buffersOf[tensor] = {buffer};
      uses.emplace_back(buffer, number);
    }
    return;
  }
  if (auto flatten = dyn_cast<FlattenOp>(op))
    return addFlat(flatten, number);
  bool isView = isFixedView(op);
  for (Value result : op->getResults()) {
    // A copy first: the entry of the result may move that of the operand.
    Buffers viewed = isView && op->getNumOperands() > 0
                         ? buffersOf.lookup(op->getOperand(0))
                         : Buffers();
    if (isView)
      buffersOf[result] = std::move(viewed);
    else if (int64_t bytes = getValueBytes(result))
      buffersOf[result] = {addBuffer(bytes, number)};
  }
}

void BufferTable::addResults(Operation *terminator) {
  auto func = dyn_cast<FunctionOpInterface>(terminator->getParentOp());
  for (OpOperand &operand : terminator->getOpOperands()) {
    Buffers buffers = buffersOf.lookup(operand.get());
    RoleAttr role;
    if (func && operand.getOperandNumber() < func.getNumResults())
      role = func.getResultAttrOfType<RoleAttr>(operand.getOperandNumber(),
                                                kRoleAttrName);
    bool isInPlace = role && role.getKind() == RoleKind::Update &&
                     func.getArgAttr(role.getArgument(), kDonatedAttrName);
    for (uint32_t buffer : buffers) {
      program.buffers[buffer].isLiveOut = true;
      if (isInPlace)
        program.buffers[buffer].bytes = 0;
    }
  }
}

void BufferTable::finish() {
  program.users = IndexLists(program.buffers.size(), uses);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static TimedOp makeTimedOp(Operation *op, const StepGraph &graph,
                           const StepTiming &timing, StreamTable &streams) {
  TimedOp timed;
  if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
    timed.kind = TimedOpKind::Collective;
    timed.stream = streams.getNumber(op);
    timed.seconds = timing.collectiveSeconds(collective);
    return timed;
  }
  if (auto copy = dyn_cast<HostCopyOpInterface>(op)) {
    timed.kind = TimedOpKind::Collective;
    timed.stream = streams.getNumber(op);
    timed.seconds = timing.hostCopySeconds(copy);
    return timed;
  }
  auto wait = dyn_cast<WaitOp>(op);
  if (!wait) {
    timed.seconds = timing.computeSeconds(op);
    return timed;
  }
  Operation *collective = wait.getFuture().getDefiningOp();
  timed.kind = TimedOpKind::Wait;
  timed.collective = graph.getNumber(collective);
  timed.stream = streams.getNumber(collective);
  return timed;
}

/// The operations that `op` reads from, ascending, each once.
static SmallVector<uint32_t> findProducers(Operation *op,
                                           const StepGraph &graph) {
  SmallVector<uint32_t> producers;
  forEachInput(op, [&](Value input) {
    Operation *producer = input.getDefiningOp();
    if (producer && producer->getBlock() == &graph.getBlock())
      producers.push_back(graph.getNumber(producer));
  });
  llvm::sort(producers);
  producers.erase(llvm::unique(producers), producers.end());
  return producers;
}

TimedStep regather::tg::buildTimedStep(const StepGraph &graph,
                                       const StepTiming &timing) {
  TimedStep step;
  TimedGraph &program = step.program;
  StreamTable streams;
  BufferTable buffers(program);
  std::optional<uint32_t> lastEffect;
  for (auto [i, op] : llvm::enumerate(graph.getOps())) {
    auto number = static_cast<uint32_t>(i);
    program.ops.push_back(makeTimedOp(op, graph, timing, streams));
    SmallVector<uint32_t> needed = findProducers(op, graph);
    // What is done for its effects stays in order.
    if (!isa<CollectiveOpInterface, HostCopyOpInterface, WaitOp>(op) &&
        !isMemoryEffectFree(op)) {
      if (lastEffect && !llvm::is_contained(needed, *lastEffect))
        needed.push_back(*lastEffect);
      lastEffect = number;
    }
    program.predecessors.push(needed);
    buffers.addOperation(op, number);
  }
  Block &block = graph.getBlock();
  if (block.mightHaveTerminator())
    buffers.addResults(block.getTerminator());
  buffers.finish();
  for (BlockArgument argument : block.getArguments())
    program.residentBytes += getValueBytes(argument);
  program.links = timing.links;
  program.streams = streams.getStreams(timing, program.links);
  step.streams = streams.takeGroups();
  return step;
}

std::vector<std::string>
regather::tg::getOperationNames(const StepGraph &graph) {
  std::vector<std::string> names;
  llvm::StringMap<unsigned> counts;
  for (Operation *op : graph.getOps()) {
    auto id = op->getAttrOfType<StringAttr>(kIdAttrName);
    std::string name =
        (id ? id.getValue() : op->getName().getStringRef()).str();
    if (unsigned count = ++counts[name]; count > 1) {
      std::string base = name + "#";
      // A name of the step may end like that.
      while (!counts.try_emplace(name = base + std::to_string(count), 1).second)
        ++count;
    }
    names.push_back(std::move(name));
  }
  return names;
}
