//===- KernelOutliner.cpp - Kernels and launches for groups ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelOutliner.h"

#include "regather/Dialect/TG/Steps/Policies.h"
#include "regather/Dialect/TG/Steps/StepGraph.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::kernels;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {
/// Where a value of a kernel has its rows.
using RowDim = std::optional<int64_t>;

/// Builds the kernel of one group, detached from the module.
class KernelBuilder {
public:
  KernelBuilder(const KernelGroups &groups, unsigned unit)
      : groups(groups), unit(unit), members(groups.getUnit(unit).members) {}

  OwningOpRef<KernelOp> build();

  /// The operands and results of the launch.
  SmallVector<Value> inputs, outputs;

private:
  void findInputs();
  void findOutputs();
  void cloneConstants(Operation *op, OpBuilder &builder, IRMapping &map);
  bool isConstant(Value value) const {
    Operation *def = value.getDefiningOp();
    return def && groups.isRepeated(def);
  }
  bool isInner(Value value) const {
    std::optional<unsigned> def = groups.getDefinition(value);
    return def && llvm::binary_search(members, *def);
  }

  const KernelGroups &groups;
  unsigned unit;
  ArrayRef<unsigned> members;
  /// A value that is read along two dimensions is taken twice. The dimension is
  /// -1 if there is none.
  llvm::MapVector<std::pair<Value, int64_t>, unsigned> arguments;
  SmallVector<RowDim> outputRows;
};
} // namespace

void KernelBuilder::findInputs() {
  for (unsigned op : members) {
    for (auto [operand, rows] : llvm::zip_equal(groups.getOp(op)->getOperands(),
                                                groups.getSplit(op).operands)) {
      if (isConstant(operand) || isInner(operand))
        continue;
      if (arguments.try_emplace({operand, rows.value_or(-1)}, inputs.size())
              .second)
        inputs.push_back(operand);
    }
  }
}

void KernelBuilder::findOutputs() {
  for (unsigned op : members)
    for (OpResult result : groups.getOp(op)->getResults())
      if (groups.isUsedOutside(result, unit)) {
        outputs.push_back(result);
        outputRows.push_back(
            groups.getSplit(op).results[result.getResultNumber()]);
      }
}

/// Constants that `op` reads, with the constants that those read.
void KernelBuilder::cloneConstants(Operation *op, OpBuilder &builder,
                                   IRMapping &map) {
  SmallVector<Operation *> pending;
  auto push = [&](Operation *reader) {
    forEachInput(reader, [&](Value value) {
      if (isConstant(value) && !map.contains(value))
        pending.push_back(value.getDefiningOp());
    });
  };
  push(op);
  while (!pending.empty()) {
    Operation *constant = pending.back();
    size_t size = pending.size();
    push(constant);
    if (pending.size() != size)
      continue;
    pending.pop_back();
    if (!map.contains(constant->getResult(0)))
      builder.clone(*constant, map);
  }
}

OwningOpRef<KernelOp> KernelBuilder::build() {
  findInputs();
  findOutputs();
  MLIRContext *context = groups.getOp(members.front())->getContext();
  OpBuilder builder(context);
  SmallVector<Location> locations;
  for (unsigned op : members)
    locations.push_back(groups.getOp(op)->getLoc());
  Location loc = builder.getFusedLoc(locations);
  auto type = builder.getFunctionType(TypeRange(ValueRange(inputs)),
                                      TypeRange(ValueRange(outputs)));
  OwningOpRef<KernelOp> kernel = KernelOp::create(builder, loc, "kernel", type);
  Block &body = kernel->getBody().emplaceBlock();
  for (Value input : inputs)
    body.addArgument(input.getType(), input.getLoc());
  builder.setInsertionPointToEnd(&body);
  IRMapping map;
  for (unsigned op : members) {
    Operation *member = groups.getOp(op);
    cloneConstants(member, builder, map);
    Operation *clone = builder.clone(*member, map);
    for (auto [operand, rows, copy] :
         llvm::zip_equal(member->getOperands(), groups.getSplit(op).operands,
                         clone->getOpOperands()))
      if (auto it = arguments.find({operand, rows.value_or(-1)});
          it != arguments.end())
        copy.set(body.getArgument(it->second));
  }
  ReturnOp::create(builder, loc, llvm::map_to_vector(outputs, [&](Value value) {
                     return map.lookup(value);
                   }));
  dropOrigins(*kernel);
  for (const auto &[key, number] : arguments)
    if (key.second >= 0)
      kernel->setArgAttr(number, kRowsAttrName,
                         builder.getI64IntegerAttr(key.second));
  for (auto [number, rows] : llvm::enumerate(outputRows))
    if (rows)
      kernel->setResultAttr(number, kRowsAttrName,
                            builder.getI64IntegerAttr(*rows));
  return kernel;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// The module that all members are in, or null.
static StringAttr getCommonModule(const KernelGroups &groups,
                                  const Unit &unit) {
  SmallVector<StringRef> common;
  for (auto [i, op] : llvm::enumerate(unit.members)) {
    auto path = groups.getOp(op)->getAttrOfType<StringAttr>(kModuleAttrName);
    SmallVector<StringRef> parts;
    if (path && !path.getValue().empty())
      path.getValue().split(parts, '.');
    if (i == 0)
      common = parts;
    auto [end, ignored] =
        std::mismatch(common.begin(), common.end(), parts.begin(), parts.end());
    common.truncate(end - common.begin());
  }
  if (common.empty())
    return nullptr;
  return StringAttr::get(groups.getOp(unit.members.front())->getContext(),
                         llvm::join(common, "."));
}

void KernelOutliner::launch(OpBuilder &builder, const KernelGroups &groups,
                            unsigned number) {
  const Unit &unit = groups.getUnit(number);
  KernelBuilder kernelBuilder(groups, number);
  OwningOpRef<KernelOp> built = kernelBuilder.build();
  // Nobody reads the results of the group, so that it needs no kernel.
  if (kernelBuilder.outputs.empty())
    return;
  Location loc = built->getLoc();
  SmallVector<Operation *> members;
  for (unsigned op : unit.members)
    members.push_back(groups.getOp(op));
  KernelOp kernel = table.findOrInsert(std::move(built), members);
  auto launch = LaunchOp::create(
      builder, loc, TypeRange(ValueRange(kernelBuilder.outputs)),
      FlatSymbolRefAttr::get(kernel.getSymNameAttr()), kernelBuilder.inputs);
  Operation *first = groups.getOp(unit.members.front());
  if (auto phase = first->getAttr(kPhaseAttrName))
    launch->setAttr(kPhaseAttrName, phase);
  if (StringAttr module = getCommonModule(groups, unit))
    launch->setAttr(kModuleAttrName, module);
  if (unit.members.size() == 1) {
    for (StringRef name : {StringRef(kIdAttrName), StringRef(kPolicyAttrName)})
      if (Attribute value = first->getAttr(name))
        launch->setAttr(name, value);
    keepSavedResults(first, launch, kernelBuilder.outputs);
  }
  keepOffloadMarks(launch, kernelBuilder.outputs);
  for (auto [value, result] :
       llvm::zip_equal(kernelBuilder.outputs, launch.getOutputs()))
    value.replaceAllUsesWith(result);
  ++numLaunches;
  numOps += static_cast<int64_t>(unit.members.size());
}

void KernelOutliner::outline(Block &block, const KernelGroups &groups) {
  Operation *end = block.getTerminator();
  OpBuilder builder(end);
  SmallVector<Operation *> replaced, constants;
  for (unsigned number : groups.getOrder()) {
    const Unit &unit = groups.getUnit(number);
    if (unit.isKernel) {
      launch(builder, groups, number);
      for (unsigned op : unit.members)
        replaced.push_back(groups.getOp(op));
      continue;
    }
    for (unsigned op : unit.members) {
      groups.getOp(op)->moveBefore(end);
      if (groups.isRepeated(groups.getOp(op)))
        constants.push_back(groups.getOp(op));
    }
  }
  for (Operation *op : replaced)
    op->dropAllReferences();
  for (Operation *op : replaced)
    op->erase();
  for (Operation *op : llvm::reverse(constants))
    if (isOpTriviallyDead(op))
      op->erase();
}
