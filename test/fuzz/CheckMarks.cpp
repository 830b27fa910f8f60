//===- CheckMarks.cpp - What passes do about marks ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckMarks.h"

#include "regather/Dialect/TG/Transforms/Passes.h"
#include "regather/Pipelines/PassOptionText.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace mlir;
using namespace regather;
using namespace regather::fuzz;
using namespace regather::tg;

static std::vector<Operation *> listOps(ModuleOp module) {
  std::vector<Operation *> ops;
  module.walk([&](Operation *op) { ops.push_back(op); });
  return ops;
}

/// Of a pass that adds marks and changes nothing else.
static std::string checkKept(ModuleOp before, ModuleOp after) {
  std::vector<Operation *> from = listOps(before), to = listOps(after);
  if (from.size() != to.size())
    return "";
  for (auto [old, op] : llvm::zip_equal(from, to))
    if (Attribute mark = old->getAttr(kPolicyAttrName);
        mark && op->getAttr(kPolicyAttrName) != mark)
      return llvm::formatv("the policy of '{0}' has become another one",
                           old->getName());
  return "";
}

//===----------------------------------------------------------------------===//
// What must be saved
//===----------------------------------------------------------------------===//

/// True if backward may compute it anew whatever is said: numbers, and what is
/// made of constants.
static bool isFree(Operation *op) {
  return op->getNumOperands() == 0 ||
         !llvm::all_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
}

/// How often operations of each id lie in backward.
static llvm::StringMap<unsigned> countBackward(ModuleOp module) {
  llvm::StringMap<unsigned> counts;
  module.walk([&](NodeOp op) {
    if (auto id = op->getAttrOfType<StringAttr>(kIdAttrName);
        id && getPhase(op) == Phase::Backward)
      ++counts[id];
  });
  return counts;
}

/// `replays`: a record counts, and of marks only those of the model.
static std::string checkSaved(ModuleOp before, ModuleOp after, bool replays) {
  llvm::StringMap<unsigned> marked, numbers;
  before.walk([&](NodeOp op) {
    auto id = op->getAttrOfType<StringAttr>(kIdAttrName);
    if (!id)
      return;
    ++numbers[id];
    auto policy = op->getAttrOfType<PolicyAttr>(kPolicyAttrName);
    marked[id] += policy && policy.getValue() == Policy::MustSave &&
                  !(replays && policy.getPlanned()) &&
                  getPhase(op) == Phase::Forward && !isFree(op);
  });
  llvm::StringMap<unsigned> old = countBackward(before);
  for (const auto &entry : countBackward(after)) {
    StringRef id = entry.first();
    // An id may be that of several operations.
    if (numbers.lookup(id) == 1 && marked.lookup(id) == 1 &&
        entry.second > old.lookup(id))
      return llvm::formatv(
          "'{0}' must be saved, but backward computes it again", id);
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// The argument that a value is a cast or a view of; null if it is of none.
static BlockArgument findArgument(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (op->getNumOperands() != 1 || op->getNumRegions() != 0)
      return nullptr;
    value = op->getOperand(0);
  }
  return cast<BlockArgument>(value);
}

using Counts = std::map<std::string, unsigned>;

/// By name, how often backward gathers each parameter that is marked so.
static Counts countGathers(ModuleOp module, ReshardKind kind) {
  Counts counts;
  for (auto func : module.getOps<func::FuncOp>())
    func.walk([&](AllGatherOp gather) {
      if (gather.getPhase() != Phase::Backward)
        return;
      for (Value input : gather.getInputs()) {
        BlockArgument argument = findArgument(input);
        if (!argument || argument.getOwner() != &func.front())
          continue;
        unsigned number = argument.getArgNumber();
        auto mark =
            func.getArgAttrOfType<ReshardAttr>(number, kReshardAttrName);
        auto name = func.getArgAttrOfType<StringAttr>(number, kNameAttrName);
        if (mark && name && mark.getKind() == kind)
          ++counts[name.str()];
      }
    });
  return counts;
}

static std::string checkNever(ModuleOp before, ModuleOp after) {
  // Marks that the pass gives count, too.
  Counts old = countGathers(before, ReshardKind::Never);
  Counts all = countGathers(after, ReshardKind::Never);
  for (auto func : before.getOps<func::FuncOp>())
    for (unsigned i = 0; i != func.getNumArguments(); ++i) {
      auto name = func.getArgAttrOfType<StringAttr>(i, kNameAttrName);
      auto mark = func.getArgAttrOfType<ReshardAttr>(i, kReshardAttrName);
      if (name && mark && mark.getKind() == ReshardKind::Never &&
          all[name.str()] > old[name.str()])
        return llvm::formatv("parameter \"{0}\" is never to be released, but "
                             "backward gathers it again",
                             name.getValue());
    }
  return "";
}

/// The parameters of modules that options name, without a pattern.
static std::string checkReshard(ModuleOp before, ModuleOp after,
                                StringRef text) {
  ReshardAfterForwardPassOptions options;
  if (PassOptionFields(options).read(text, "") || options.group != 0)
    return "";
  // Of several, the first one that matches counts.
  if (options.modules.size() != 1)
    return "";
  auto [module, word] = StringRef(options.modules.front()).rsplit(':');
  ReshardKind kind =
      word == "always" ? ReshardKind::Always : ReshardKind::Never;
  for (auto func : after.getOps<func::FuncOp>()) {
    auto old = before.lookupSymbol<func::FuncOp>(func.getName());
    for (unsigned i = 0; old && i != func.getNumArguments(); ++i) {
      auto own = func.getArgAttrOfType<StringAttr>(i, kModuleAttrName);
      auto mark = func.getArgAttrOfType<ReshardAttr>(i, kReshardAttrName);
      if (own && mark && own.getValue() == module &&
          !old.getArgAttr(i, kReshardAttrName) && mark.getKind() != kind)
        return llvm::formatv("argument {0} of module \"{1}\" is not marked as "
                             "the option says",
                             i, module);
    }
  }
  return "";
}

std::string regather::fuzz::checkMarks(ModuleOp before, ModuleOp after,
                                       const PassCall &call) {
  if (call.pass == "tg-apply-policy")
    return checkKept(before, after);
  if (call.pass == "tg-reshard-after-forward")
    if (std::string wrong = checkReshard(before, after, call.options);
        !wrong.empty())
      return wrong;
  if (call.pass != "tg-partition" && call.pass != "tg-rematerialize" &&
      call.pass != "tg-reshard-after-forward")
    return "";
  std::string wrong = checkNever(before, after);
  bool replays = call.pass == "tg-partition" &&
                 StringRef(call.options).contains("mode=replay");
  return wrong.empty() ? checkSaved(before, after, replays) : wrong;
}
