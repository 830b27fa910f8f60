//===- Signature.cpp - Arguments and results of a sharded step ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Signature.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

SmallVector<ArgumentSource>
regather::tg::spmd::planArguments(const Step &step,
                                  ArrayRef<FlatBuffer> buffers) {
  llvm::DenseMap<unsigned, const FlatBuffer *> bufferOf;
  for (const FlatBuffer &buffer : buffers)
    for (unsigned number : buffer.parameters)
      bufferOf[step.parameters[number].argument] = &buffer;
  SmallVector<ArgumentSource> arguments;
  llvm::DenseSet<const FlatBuffer *> seen;
  func::FuncOp func = step.func;
  for (unsigned i = 0, e = func.getNumArguments(); i != e; ++i) {
    const FlatBuffer *buffer = bufferOf.lookup(i);
    if (!buffer || seen.insert(buffer).second)
      arguments.push_back({i, buffer});
  }
  return arguments;
}

/// The attributes of the argument that holds `buffer`.
static DictionaryAttr describeBuffer(const Step &step, const DataMesh &mesh,
                                     const FlatBuffer &buffer) {
  Builder builder(step.getContext());
  func::FuncOp func = step.func;
  NamedAttrList attrs;
  attrs.set(kRoleAttrName,
            RoleAttr::get(builder.getContext(), RoleKind::Parameter));
  attrs.set(kNameAttrName, builder.getStringAttr(buffer.name));
  MembersAttr members = getMembers(step, buffer);
  attrs.set(kMembersAttrName, members);
  if (!buffer.path.empty())
    attrs.set(kModuleAttrName, builder.getStringAttr(buffer.path));
  // Parameters come in registration order, those without a number last.
  if (int64_t first = members.getMembers().front().getRegistration();
      first >= 0)
    attrs.set(kRegistrationAttrName, builder.getI64IntegerAttr(first));
  auto type = RankedTensorType::get({buffer.getSize(mesh)}, buffer.stored);
  attrs.set(kPlacementAttrName,
            mesh.getPlacement(type, ValueState::getSplit(buffer.over, 0)));
  bool isDonated = llvm::all_of(buffer.parameters, [&](unsigned number) {
    return func.getArgAttr(step.parameters[number].argument, kDonatedAttrName);
  });
  if (isDonated)
    attrs.set(kDonatedAttrName, builder.getUnitAttr());
  return attrs.getDictionary(builder.getContext());
}

static DictionaryAttr describeArgument(const Step &step, const DataMesh &mesh,
                                       unsigned argument, ValueState state,
                                       bool isRenumbered) {
  Builder builder(step.getContext());
  func::FuncOp func = step.func;
  NamedAttrList attrs(func.getArgAttrDict(argument));
  if (isRenumbered && !attrs.get(kNameAttrName))
    attrs.set(kNameAttrName,
              builder.getStringAttr("arg" + std::to_string(argument)));
  // The argument that is still in its old place has the global type.
  auto type = dyn_cast<RankedTensorType>(func.getArgumentTypes()[argument]);
  if (type && step.hasOwnBatches && state.isSplit() &&
      state.group == Group::Data)
    type = mesh.getJointType(type);
  if (type)
    if (PlacementAttr placement = mesh.getPlacement(
            type, state,
            func.getArgAttrOfType<PlacementAttr>(argument, kPlacementAttrName)))
      attrs.set(kPlacementAttrName, placement);
  return attrs.getDictionary(builder.getContext());
}

/// The attributes of a result; `numbers` holds the new numbers of arguments.
static DictionaryAttr
describeResult(const Step &step, const ResultSource &source,
               const llvm::DenseMap<unsigned, unsigned> &numbers,
               bool isRenumbered) {
  Builder builder(step.getContext());
  func::FuncOp func = step.func;
  NamedAttrList attrs;
  if (!source.buffer)
    attrs = func.getResultAttrDict(source.result);
  RoleAttr role = step.getResultRole(source.result);
  if (role && role.namesArgument())
    attrs.set(kRoleAttrName, RoleAttr::get(builder.getContext(), role.getKind(),
                                           numbers.lookup(role.getArgument())));
  if (isRenumbered && !role && !attrs.get(kNameAttrName))
    attrs.set(kNameAttrName,
              builder.getStringAttr("result" + std::to_string(source.result)));
  if (source.placement)
    attrs.set(kPlacementAttrName, source.placement);
  return attrs.getDictionary(builder.getContext());
}

void regather::tg::spmd::replaceSignature(const Step &step,
                                          const DataMesh &mesh,
                                          ArrayRef<ArgumentSource> arguments,
                                          ArrayRef<ValueState> states,
                                          ArrayRef<ResultSource> results) {
  func::FuncOp func = step.func;
  llvm::DenseMap<unsigned, unsigned> numbers;
  SmallVector<DictionaryAttr> argumentAttrs, resultAttrs;
  for (auto [number, source] : llvm::enumerate(arguments)) {
    numbers[source.argument] = number;
    if (!source.buffer) {
      argumentAttrs.push_back(
          describeArgument(step, mesh, source.argument, states[source.argument],
                           arguments.size() != func.getNumArguments()));
      continue;
    }
    for (unsigned parameter : source.buffer->parameters)
      numbers[step.parameters[parameter].argument] = number;
    argumentAttrs.push_back(describeBuffer(step, mesh, *source.buffer));
  }
  for (const ResultSource &source : results)
    resultAttrs.push_back(describeResult(
        step, source, numbers, results.size() != func.getNumResults()));
  func.setType(
      FunctionType::get(func.getContext(), step.block->getArgumentTypes(),
                        TypeRange(step.getTerminator()->getOperandTypes())));
  func.setAllArgAttrs(argumentAttrs);
  func.setAllResultAttrs(resultAttrs);
}
