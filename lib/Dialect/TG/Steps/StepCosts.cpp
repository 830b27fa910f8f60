//===- StepCosts.cpp - Seconds of a step's operations ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Steps/StepCosts.h"

#include "regather/Dialect/TG/Nodes/AttentionTargets.h"
#include "regather/Dialect/TG/Targets/NodeTargets.h"

#include "mlir/Interfaces/ControlFlowInterfaces.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;

CollectiveKind regather::tg::getCollectiveKind(CollectiveOpInterface op) {
  std::optional<CollectiveKind> kind =
      findCollectiveKind(op->getName().stripDialect());
  assert(kind && "the cost model knows all collectives by name");
  return *kind;
}

FailureOr<StepCosts> StepCosts::create(ModuleOp module,
                                       const CostModel &model) {
  for (MeshOp mesh : module.getOps<MeshOp>())
    if (Failure failure = model.getCluster().checkRanks(mesh.getNumRanks()))
      return mesh.emitError(failure.getMessage());
  if (model.getCluster().device.hostBandwidth > 0)
    return StepCosts(module, model);
  HostCopyOpInterface copy;
  module.walk([&](HostCopyOpInterface op) {
    copy = op;
    return WalkResult::interrupt();
  });
  if (copy)
    return copy.emitError() << "copies between device and host, but cluster \""
                            << model.getCluster().name
                            << "\" says nothing of a host ('device.host')";
  return StepCosts(module, model);
}

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

StringRef StepCosts::getTypeName(Type type) {
  std::string &name = typeNames[type];
  if (name.empty()) {
    llvm::raw_string_ostream stream(name);
    type.print(stream);
  }
  return name;
}

/// The element type of the first tensor that `op` reads or makes.
static Type getElementType(Operation *op) {
  for (TypeRange types :
       {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types)
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        return tensor.getElementType();
  return nullptr;
}

/// Of an operation that a library computes.
static WorkKind getWorkKind(Operation *op) {
  auto node = dyn_cast<NodeOp>(op);
  if (!node || getOperatorClass(node.getTarget()) != OperatorClass::Attention)
    return WorkKind::Matmul;
  std::optional<NodeTarget> target = findAttentionTarget(op);
  return target && isAttentionBackward(*target) ? WorkKind::AttentionBackward
                                                : WorkKind::Attention;
}

void StepCosts::addArithmetic(Operation *op, Arithmetic &sum) {
  double flops = getOpCost(op).flops;
  auto costed = dyn_cast<CostOpInterface>(op);
  if (!costed || !costed.isLibraryCall()) {
    sum.otherFlops += flops;
    return;
  }
  sum.kind = getWorkKind(op);
  sum.matmulType = getElementType(op);
  // Kernels leave out the half that the mask hides.
  sum.matmulFlops += isCausalAttention(op) ? flops / 2 : flops;
}

const StepCosts::Arithmetic &StepCosts::getKernelArithmetic(LaunchOp launch) {
  auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
  auto [it, isNew] = kernels.try_emplace(kernel);
  if (isNew && kernel)
    for (Operation &op : kernel.getBody().front().without_terminator())
      addArithmetic(&op, it->second);
  return it->second;
}

double StepCosts::getComputeSeconds(Operation *op) {
  if (isa<CollectiveOpInterface, HostCopyOpInterface, WaitOp>(op) ||
      op->hasTrait<OpTrait::ConstantLike>() ||
      op->hasTrait<OpTrait::IsTerminator>())
    return 0;
  if (isa<RegionBranchOpInterface>(op)) {
    double seconds = 0;
    for (Region &region : op->getRegions())
      for (Operation &inner : region.getOps())
        seconds += getComputeSeconds(&inner);
    return seconds;
  }
  Arithmetic arithmetic;
  double bytes = 0;
  if (auto launch = dyn_cast<LaunchOp>(op)) {
    arithmetic = getKernelArithmetic(launch);
    bytes = static_cast<double>(launch.getReadBytes()) +
            static_cast<double>(launch.getWrittenBytes());
  } else {
    OpCost cost = getOpCost(op);
    if (cost.view)
      return 0;
    addArithmetic(op, arithmetic);
    bytes = static_cast<double>(cost.readBytes) +
            static_cast<double>(cost.writtenBytes);
  }
  // The units work side by side.
  double seconds = model->computeSeconds(arithmetic.otherFlops, bytes, "");
  if (arithmetic.matmulType)
    seconds = std::max(seconds,
                       model->computeSeconds(arithmetic.matmulFlops, bytes,
                                             getTypeName(arithmetic.matmulType),
                                             arithmetic.kind));
  return seconds;
}

double StepCosts::getProductSeconds(Operation *op, double share) {
  Arithmetic arithmetic;
  addArithmetic(op, arithmetic);
  if (!arithmetic.matmulType)
    return 0;
  return model->computeSeconds(share * arithmetic.matmulFlops, 0,
                               getTypeName(arithmetic.matmulType),
                               arithmetic.kind);
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

GroupPlacement StepCosts::getGroup(CollectiveOpInterface op) {
  auto [it, isNew] = groups.try_emplace(
      std::pair<Attribute, Attribute>(op.getMeshAttr(), op.getAxesAttr()));
  if (!isNew)
    return it->second;
  auto mesh = symbols.lookup<MeshOp>(op.getMeshAttr().getValue());
  SmallVector<unsigned> axes;
  ArrayRef<StringAttr> names = mesh.getAxes().getNames();
  for (StringAttr axis : op.getAxesAttr().getNames())
    axes.push_back(llvm::find(names, axis) - names.begin());
  it->second = model->placeMeshGroup(mesh.getSizes(), axes);
  return it->second;
}

CollectiveEstimate StepCosts::getCollective(CollectiveOpInterface op) {
  GroupPlacement group = getGroup(op);
  double bytes = static_cast<double>(op.getReceivedBytes(group.ranks));
  return model->estimateCollective(getCollectiveKind(op), bytes, group);
}

//===----------------------------------------------------------------------===//
// Copies between device and host
//===----------------------------------------------------------------------===//

double StepCosts::getHostCopySeconds(HostCopyOpInterface op) const {
  return model->hostCopySeconds(
      static_cast<double>(getTensorBytes(op.getInputs().getTypes())));
}
