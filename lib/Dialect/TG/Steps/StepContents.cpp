//===- StepContents.cpp - What a step consists of -------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Steps/StepContents.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace regather::tg;

void regather::tg::forEachStepOp(ModuleOp module,
                                 llvm::function_ref<void(Operation *)> visit) {
  for (auto func : module.getOps<func::FuncOp>())
    func.walk([&](Operation *op) {
      bool isInner = op->getParentOp() != func.getOperation() &&
                     !isa<RegionBranchOpInterface>(op->getParentOp());
      if (op != func && !isInner && !op->hasTrait<OpTrait::IsTerminator>())
        visit(op);
    });
}

/// The module that something called `name` belongs to.
static std::string getModuleOf(StringRef name) {
  return name.contains('.') ? name.rsplit('.').first.str() : "";
}

static ParameterBuffer readBuffer(func::FuncOp func, unsigned argument,
                                  RankedTensorType local) {
  ParameterBuffer buffer;
  buffer.bytesPerRank = getTensorBytes(local);
  auto name = func.getArgAttrOfType<StringAttr>(argument, kNameAttrName);
  auto module = func.getArgAttrOfType<StringAttr>(argument, kModuleAttrName);
  std::string ownName = name ? name.str() : "";
  buffer.module = module ? module.str() : getModuleOf(ownName);
  if (auto members =
          func.getArgAttrOfType<MembersAttr>(argument, kMembersAttrName)) {
    for (MemberAttr member : members.getMembers())
      buffer.parameters.push_back({member.getName().str(),
                                   getModuleOf(member.getName()),
                                   local.clone(member.getShape())});
    return buffer;
  }
  RankedTensorType global = local;
  if (auto placement =
          func.getArgAttrOfType<PlacementAttr>(argument, kPlacementAttrName))
    global = local.clone(*getGlobalShape(
        placement, local, lookupMesh(func, placement.getMesh())));
  buffer.parameters.push_back({ownName, buffer.module, global});
  return buffer;
}

/// True for the backward part of a partitioned step.
static bool takesSaved(func::FuncOp func) {
  for (unsigned i = 0, e = func.getNumArguments(); i != e; ++i)
    if (auto role = func.getArgAttrOfType<RoleAttr>(i, kRoleAttrName);
        role && role.getKind() == RoleKind::Saved)
      return true;
  return false;
}

void regather::tg::forEachParameterBuffer(
    ModuleOp module, llvm::function_ref<void(const ParameterBuffer &)> visit) {
  for (auto func : module.getOps<func::FuncOp>()) {
    if (takesSaved(func))
      continue;
    for (unsigned i = 0, e = func.getNumArguments(); i != e; ++i) {
      auto role = func.getArgAttrOfType<RoleAttr>(i, kRoleAttrName);
      auto local = dyn_cast<RankedTensorType>(func.getArgumentTypes()[i]);
      if (role && role.getKind() == RoleKind::Parameter && local &&
          local.hasStaticShape())
        visit(readBuffer(func, i, local));
    }
  }
}
