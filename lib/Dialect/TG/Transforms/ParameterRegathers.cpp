//===- ParameterRegathers.cpp - Gather again in backward ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParameterRegathers.h"

#include "BackwardCopies.h"
#include "SubgroupGathers.h"

#include "regather/Dialect/TG/Steps/Policies.h"

using namespace mlir;
using namespace regather::tg;

ReshardAttr regather::tg::getReshard(FunctionOpInterface func,
                                     BlockArgument parameter) {
  return func.getArgAttrOfType<ReshardAttr>(parameter.getArgNumber(),
                                            kReshardAttrName);
}

/// True if the chain of which `value` is a part may be computed again from
/// there on.
static bool isRepeated(FunctionOpInterface func, const ParameterChains &chains,
                       Value value) {
  BlockArgument parameter = chains.getParameter(value);
  ReshardAttr reshard = parameter ? getReshard(func, parameter) : nullptr;
  return reshard && reshard.getKind() != ReshardKind::Never &&
         !isMarkedSaved(value);
}

bool regather::tg::isReleased(FunctionOpInterface func,
                              const ParameterChains &chains, Value value) {
  return chains.isGathered(value) && isRepeated(func, chains, value);
}

/// Lets copied gathers run in the groups that `tg.reshard` asks for.
static LogicalResult useSubgroups(FunctionOpInterface func,
                                  const ParameterChains &chains,
                                  const BackwardCopies &copies) {
  SubgroupGathers subgroups(func);
  for (auto [original, copy] : copies.getCopies()) {
    auto gather = dyn_cast<AllGatherOp>(original);
    if (!gather)
      continue;
    SmallVector<SubgroupGathers::Member> members;
    for (auto [i, member] : llvm::enumerate(copies.getCopiedMembers(gather))) {
      Value input = gather.getInputs()[member];
      ReshardAttr reshard = getReshard(func, chains.getParameter(input));
      if (reshard.getKind() == ReshardKind::Group && !chains.isGathered(input))
        members.push_back(
            {member, static_cast<unsigned>(i), reshard.getRanks()});
    }
    if (!members.empty() &&
        failed(subgroups.replace(gather, cast<AllGatherOp>(copy), members)))
      return failure();
  }
  return success();
}

FailureOr<Regathers>
regather::tg::regatherParameters(FunctionOpInterface func) {
  StepGraph graph(func.getFunctionBody().front());
  ParameterChains chains(func, graph);
  BackwardCopies copies(
      graph, [&](Value value) { return isReleased(func, chains, value); },
      [&](Value value) {
        return chains.isConstant(value) || isRepeated(func, chains, value);
      });
  copies.run();
  Regathers regathers;
  for (auto [original, copy] : copies.getCopies()) {
    if (auto gather = dyn_cast<AllGatherOp>(copy))
      regathers.gathers += gather.getInputs().size();
    else
      ++regathers.ops;
  }
  if (failed(useSubgroups(func, chains, copies)))
    return failure();
  copies.eraseDeadOriginals();
  return regathers;
}
