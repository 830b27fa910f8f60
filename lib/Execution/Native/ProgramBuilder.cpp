//===- ProgramBuilder.cpp - Translate a step into instructions ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/ScopedPrinter.h"
#include "llvm/Support/xxhash.h"

#include <map>

using namespace mlir;
using namespace regather;
using namespace regather::native;
using namespace regather::tg;

namespace {
class ProgramBuilder {
public:
  explicit ProgramBuilder(KernelSet &kernels) : kernels(kernels) {}

  FailureOr<Program> build(func::FuncOp func);

private:
  void buildBlock(Block &block, InstructionBlock &out);
  void buildOp(Operation *op, InstructionBlock &out);
  void buildLaunch(Operation *op, Instruction &instruction);
  void buildProduct(const MatrixProductMatch &match, Instruction &instruction);
  void buildCollective(CollectiveOpInterface op, Instruction &instruction);
  void buildControl(Operation *op, Instruction &instruction);

  Slot addSlot(Value value);
  Slot getSlot(Value value) { return slots.lookup(value); }
  std::optional<SlotType> getSlotType(Type type);
  uint64_t getTag(CollectiveOpInterface op);
  unsigned getGroup(FlatSymbolRefAttr mesh, AxesAttr axes, Operation *op);
  void addUnsupported(const Twine &what, Location loc);

  KernelSet &kernels;
  Program program;
  llvm::DenseMap<Value, Slot> slots;
  /// What cannot be translated, with its first location and how often.
  std::map<std::string, std::pair<Location, int64_t>> unsupported;
};
} // namespace

/// True if ranks talk to each other inside `op`.
static bool communicates(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isa<CollectiveOpInterface, WaitOp, AxisIndexOp>(inner)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// True if `op` and everything in it can become a kernel.
static bool isCompute(Operation *op) {
  if (auto launch = dyn_cast<LaunchOp>(op))
    return llvm::all_of(launch.lookupKernel().getBody().front(),
                        [](Operation &inner) {
                          return isa<ReturnOp>(inner) || isCompute(&inner);
                        });
  if (isa<FlattenOp, UnflattenOp>(op))
    return true;
  return !op->walk([](Operation *inner) {
              return isa<arith::ArithDialect, linalg::LinalgDialect,
                         math::MathDialect, scf::SCFDialect,
                         tensor::TensorDialect>(inner->getDialect())
                         ? WalkResult::advance()
                         : WalkResult::interrupt();
            }).wasInterrupted();
}

void ProgramBuilder::addUnsupported(const Twine &what, Location loc) {
  ++unsupported.try_emplace(what.str(), loc, 0).first->second.second;
}

std::optional<SlotType> ProgramBuilder::getSlotType(Type type) {
  SlotType slot;
  Type element = type;
  if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    if (!tensor.hasStaticShape())
      return std::nullopt;
    slot.shape.assign(tensor.getShape().begin(), tensor.getShape().end());
    element = tensor.getElementType();
  }
  FailureOr<ElementType> elementType = getElementType(element);
  if (failed(elementType))
    return std::nullopt;
  slot.elementType = *elementType;
  if (!isAddressable(slot.shape, slot.elementType))
    return std::nullopt;
  return slot;
}

/// What makes the type of `value` impossible to run.
static std::string describeType(Value value) {
  std::string text = "value '";
  llvm::raw_string_ostream stream(text);
  value.printAsOperand(stream, OpPrintingFlags());
  stream << "' of type " << value.getType();
  auto shaped = dyn_cast<ShapedType>(value.getType());
  if (shaped && shaped.hasRank() && !shaped.hasStaticShape())
    stream << ", whose dimension "
           << llvm::find_if(shaped.getShape(), ShapedType::isDynamic) -
                  shaped.getShape().begin()
           << " is dynamic";
  return text;
}

Slot ProgramBuilder::addSlot(Value value) {
  SlotType type;
  if (!isa<FutureType>(value.getType())) {
    if (std::optional<SlotType> known = getSlotType(value.getType()))
      type = std::move(*known);
    else
      addUnsupported(describeType(value), value.getLoc());
  }
  Slot slot = program.slots.size();
  program.slots.push_back(std::move(type));
  slots[value] = slot;
  return slot;
}

unsigned ProgramBuilder::getGroup(FlatSymbolRefAttr symbol, AxesAttr axes,
                                  Operation *op) {
  MeshOp mesh = lookupMesh(op, symbol);
  for (auto [i, group] : llvm::enumerate(program.groups))
    if (group.mesh == mesh && group.axes == axes)
      return i;
  program.groups.push_back({mesh, axes});
  return program.groups.size() - 1;
}

void ProgramBuilder::buildLaunch(Operation *op, Instruction &instruction) {
  SmallVector<Value> inputs;
  instruction.kernel = kernels.add(op, inputs);
  for (Value input : inputs)
    instruction.inputs.push_back(getSlot(input));
}

void ProgramBuilder::buildProduct(const MatrixProductMatch &match,
                                  Instruction &instruction) {
  instruction.kind = Instruction::Kind::Product;
  instruction.product = program.products.add(match.desc);
  for (Value input : match.inputs)
    instruction.inputs.push_back(getSlot(input));
}

/// The value that `value` is a view, a cast or a gathered copy of.
static Value getRoot(Value value) {
  for (Operation *def = value.getDefiningOp();
       def && def->getNumOperands() == 1 && def->getNumRegions() == 0;
       def = value.getDefiningOp())
    value = def->getOperand(0);
  return value;
}

/// Two branches of rank-dependent control flow may hold the same collective
/// twice. Operations stand for each other if the captured graph does not tell
/// them apart and they send copies of the same values of the step.
uint64_t ProgramBuilder::getTag(CollectiveOpInterface op) {
  std::string identity;
  llvm::raw_string_ostream stream(identity);
  for (StringRef name : {kIdAttrName, kModuleAttrName})
    stream << op->getAttr(name) << ' ';
  stream << stringifyPhase(op.getPhase()) << ' '
         << op.getGeneration().value_or(-1);
  for (Value input : op.getInputs()) {
    Value root = getRoot(input);
    bool isGlobal = isa<func::FuncOp>(root.getParentBlock()->getParentOp());
    stream << ' ' << (isGlobal ? getSlot(root) + 1 : 0);
  }
  return llvm::xxh3_64bits(identity);
}

void ProgramBuilder::buildCollective(CollectiveOpInterface op,
                                     Instruction &instruction) {
  instruction.kind = Instruction::Kind::Start;
  instruction.collective = program.collectives.size();
  for (Value input : op.getInputs())
    instruction.inputs.push_back(getSlot(input));
  Collective collective;
  collective.op = op;
  collective.tag = getTag(op);
  collective.group = getGroup(op.getMeshAttr(), op.getAxesAttr(), op);
  llvm::raw_string_ostream stream(collective.description);
  stream << op->getName() << " at ";
  if (auto file = op.getLoc()->findInstanceOf<FileLineColLoc>())
    stream << file.getFilename().getValue() << ':' << file.getLine() << ':'
           << file.getColumn();
  else
    stream << op.getLoc();
  for (Type type : op.getFuture().getType().getTensors())
    collective.results.push_back(getSlotType(type).value_or(SlotType()));
  program.collectives.push_back(std::move(collective));
}

void ProgramBuilder::buildControl(Operation *op, Instruction &instruction) {
  instruction.kind =
      isa<scf::IfOp>(op) ? Instruction::Kind::If : Instruction::Kind::For;
  for (Value operand : op->getOperands())
    instruction.inputs.push_back(getSlot(operand));
  for (Region &region : op->getRegions()) {
    InstructionBlock &block = instruction.blocks.emplace_back();
    if (!region.empty())
      buildBlock(region.front(), block);
  }
}

void ProgramBuilder::buildOp(Operation *op, InstructionBlock &out) {
  if (isRepeatedInKernels(op)) {
    // Kernels repeat it; anything else needs it in memory.
    bool onlyInKernels = llvm::all_of(op->getUsers(), [&](Operation *user) {
      Operation *top = op->getBlock()->findAncestorOpInBlock(*user);
      return !top->hasTrait<OpTrait::IsTerminator>() && isCompute(top) &&
             !(isa<linalg::LinalgOp>(top) && matchMatrixProduct(top));
    });
    if (onlyInKernels)
      return;
  }
  if (isInitOfProductsOnly(op))
    return;
  Instruction instruction;
  instruction.op = op;
  if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
    buildCollective(collective, instruction);
  } else if (auto wait = dyn_cast<WaitOp>(op)) {
    instruction.kind = Instruction::Kind::Wait;
    instruction.inputs.push_back(getSlot(wait.getFuture()));
  } else if (auto index = dyn_cast<AxisIndexOp>(op)) {
    instruction.kind = Instruction::Kind::AxisIndex;
    instruction.group = getGroup(index.getMeshAttr(), index.getAxes(), op);
  } else if (auto match = matchMatrixProduct(op)) {
    buildProduct(*match, instruction);
  } else if (isCompute(op)) {
    buildLaunch(op, instruction);
  } else if (isa<scf::IfOp, scf::ForOp>(op)) {
    buildControl(op, instruction);
  } else {
    std::string name = "'" + op->getName().getStringRef().str() + "'";
    if (auto node = dyn_cast<NodeOp>(op))
      name += " \"" + node.getTarget().str() + "\"";
    else if (auto call = dyn_cast<func::CallOp>(op))
      name += " of \"" + call.getCallee().str() +
              "\", which has no body or calls itself";
    else if (op->getNumRegions() > 0 && communicates(op))
      name += " around collectives";
    addUnsupported(name, op->getLoc());
  }
  for (Value result : op->getResults())
    instruction.outputs.push_back(addSlot(result));
  out.instructions.push_back(std::move(instruction));
}

/// The last instruction of the block that reads each slot, nested reads
/// included, frees it. Slots from outside the block are left to their owner.
static void markDead(InstructionBlock &block) {
  llvm::DenseSet<Slot> seen(block.yields.begin(), block.yields.end());
  llvm::DenseSet<Slot> owned(block.arguments.begin(), block.arguments.end());
  for (const Instruction &instruction : block.instructions)
    owned.insert(instruction.outputs.begin(), instruction.outputs.end());
  for (Instruction &instruction : llvm::reverse(block.instructions)) {
    auto visit = [&](Slot slot) {
      if (owned.contains(slot) && seen.insert(slot).second)
        instruction.dead.push_back(slot);
    };
    llvm::for_each(instruction.outputs, visit);
    llvm::for_each(instruction.inputs, visit);
    // Depth is the nesting of the source; a list avoids recursion on it.
    SmallVector<const InstructionBlock *> nested;
    for (const InstructionBlock &inner : instruction.blocks)
      nested.push_back(&inner);
    while (!nested.empty()) {
      const InstructionBlock *inner = nested.pop_back_val();
      llvm::for_each(inner->yields, visit);
      for (const Instruction &read : inner->instructions) {
        llvm::for_each(read.inputs, visit);
        for (const InstructionBlock &deeper : read.blocks)
          nested.push_back(&deeper);
      }
    }
  }
}

void ProgramBuilder::buildBlock(Block &block, InstructionBlock &out) {
  for (BlockArgument argument : block.getArguments())
    out.arguments.push_back(addSlot(argument));
  for (Operation &op : block.without_terminator())
    buildOp(&op, out);
  for (Value value : block.getTerminator()->getOperands())
    out.yields.push_back(getSlot(value));
  markDead(out);
}

FailureOr<Program> ProgramBuilder::build(func::FuncOp func) {
  if (!func.getBody().hasOneBlock())
    return func.emitError() << "a step must have one block, got "
                            << func.getBody().getBlocks().size();
  buildBlock(func.front(), program.body);
  for (auto &[what, where] : unsupported)
    emitError(where.first) << "the native engine cannot run " << what << " ("
                           << where.second
                           << (where.second == 1 ? " use)" : " uses)");
  if (!unsupported.empty())
    return failure();
  return std::move(program);
}

FailureOr<Program> regather::native::buildProgram(func::FuncOp func,
                                                  KernelSet &kernels) {
  return ProgramBuilder(kernels).build(func);
}
