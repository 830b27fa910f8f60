//===- FxRandom.cpp - Random numbers of a captured graph ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FxRandom.h"

#include "regather/Dialect/TG/Nodes/RandomTargets.h"
#include "regather/Dialect/TG/Targets/NodeTargets.h"

using namespace mlir;
using namespace regather;
using namespace regather::fx;
using Kind = JsonValue::Kind;

bool FxRandom::isNeeded(ArrayRef<JsonValue> nodes) {
  return llvm::any_of(nodes, [](const JsonValue &node) {
    const JsonValue *target =
        node.is(Kind::Object) ? node.find("target") : nullptr;
    return target && target->is(Kind::String) &&
           nodes::isRandomTarget(target->getString());
  });
}

bool FxRandom::isRandom(const Call &call) {
  return nodes::isRandomTarget(call.target.getString());
}

void FxRandom::begin(Value seed, Value offset, OpBuilder &builder) {
  this->seed = seed;
  this->offset = offset;
  MLIRContext *context = builder.getContext();
  Attribute args[] = {tg::OperandAttr::get(context, 0),
                      builder.getI64IntegerAttr(1)};
  auto next = tg::NodeOp::create(builder, offset.getLoc(), offset.getType(),
                                 tg::getName(tg::NodeTarget::AtenAddScalar),
                                 offset, builder.getArrayAttr(args),
                                 /*kwargs=*/nullptr, /*effects=*/false);
  next->setAttr(tg::kPhaseAttrName,
                tg::PhaseAttr::get(context, tg::Phase::Forward));
  nextOffset = next->getResult(0);
}

LogicalResult FxRandom::addBits(const Call &call, CallArguments &arguments,
                                OpBuilder &builder) {
  StringRef target = call.target.getString();
  auto result = call.types.empty()
                    ? RankedTensorType()
                    : dyn_cast<RankedTensorType>(call.types.front());
  if (!result)
    return file.emitError(call.json)
           << "expects a tensor as the first result of \"" << target << '"';
  RankedTensorType type = nodes::getBitsType(target, result);
  if (!type)
    return file.emitError(call.target)
           << "\"" << target
           << "\" draws random numbers, but none are defined for it";

  auto bits = tg::RandomOp::create(builder, call.loc, type, seed, offset,
                                   /*first=*/nullptr, numStreams++);
  // The identity and the policy are those of the node that uses the bits.
  for (NamedAttribute named : call.attrs)
    if (named.getName() == tg::kModuleAttrName)
      bits->setDiscardableAttr(named.getName(), named.getValue());
  bits->setDiscardableAttr(tg::kPhaseAttrName, call.phase);

  MLIRContext *context = builder.getContext();
  auto operand = [&](size_t i) -> Attribute {
    return tg::OperandAttr::get(context, i);
  };
  size_t position = arguments.operands.size();
  if (!arguments.args)
    arguments.args = builder.getArrayAttr(llvm::map_to_vector(
        llvm::seq<size_t>(0, position), [&](size_t i) { return operand(i); }));
  arguments.operands.push_back(bits);
  NamedAttrList kwargs(arguments.kwargs);
  kwargs.set(nodes::kBitsName, operand(position));
  arguments.kwargs = kwargs.getDictionary(context);
  return success();
}
