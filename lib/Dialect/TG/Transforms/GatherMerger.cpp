//===- GatherMerger.cpp - One gather for one parameter --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Value numbering of the chains of parameters, in program order:
//
//   for each operation of a chain:
//     an operation:  replace it if one of the same phase computes the same
//     a gather:      for each member with the input, axes, dimension, phase and
//                    generation of an earlier one: read that one's wait, which
//                    moves up if it comes later; drop the member
//
//===----------------------------------------------------------------------===//

#include "GatherMerger.h"

#include "regather/Dialect/TG/Chains/ParameterChains.h"
#include "regather/Dialect/TG/Steps/Policies.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/DenseSet.h"

#define DEBUG_TYPE "tg-merge-gathers"

using namespace mlir;
using namespace regather::tg;

//===----------------------------------------------------------------------===//
// Operations that compute the same
//===----------------------------------------------------------------------===//

static constexpr OperationEquivalence::Flags kIgnored =
    OperationEquivalence::IgnoreLocations |
    OperationEquivalence::IgnoreDiscardableAttrs;

/// Attributes that say something about an operation, but not what it computes.
static bool isMark(StringRef name) {
  return name == kModuleAttrName || name == kIdAttrName ||
         name == kPolicyAttrName || name == kSavedResultsAttrName;
}

static bool haveEqualAttributes(Operation *lhs, Operation *rhs) {
  auto isOther = [](NamedAttribute attr) { return !isMark(attr.getName()); };
  auto left = llvm::make_filter_range(lhs->getDiscardableAttrs(), isOther);
  auto right = llvm::make_filter_range(rhs->getDiscardableAttrs(), isOther);
  return llvm::equal(left, right);
}

namespace {
/// Compares operations by what they compute, and by phase, which is among the
/// attributes.
struct ChainOpInfo : public llvm::DenseMapInfo<Operation *> {
  static unsigned getHashValue(Operation *op) {
    return OperationEquivalence::computeHash(
        op, OperationEquivalence::directHashValue,
        OperationEquivalence::ignoreHashValue, kIgnored);
  }
  static bool isEqual(Operation *lhs, Operation *rhs) {
    if (lhs == rhs)
      return true;
    if (lhs == getTombstoneKey() || lhs == getEmptyKey() ||
        rhs == getTombstoneKey() || rhs == getEmptyKey())
      return false;
    return haveEqualAttributes(lhs, rhs) &&
           OperationEquivalence::isEquivalentTo(
               lhs, rhs, OperationEquivalence::exactValueMatch, nullptr,
               kIgnored);
  }
};

/// What two members of gathers must agree on: input, mesh, axes, phase,
/// dimension, generation (-1 without one) and gathered type.
using MemberKey =
    std::tuple<Value, Attribute, Attribute, Attribute, int64_t, int64_t, Type>;

class GatherMerger {
public:
  GatherMerger(FunctionOpInterface func, OpBuilder::Listener *listener)
      : func(func), rewriter(func.getContext(), listener) {}

  FailureOr<MergedGathers> run();

private:
  /// An operation of a chain; the parameters of its members if it is a gather,
  /// null for members that gather something else.
  struct Visit {
    Operation *op;
    SmallVector<BlockArgument> parameters;
  };
  /// Where the tensor of a member arrives.
  struct Member {
    WaitOp wait;
    unsigned index;
  };

  /// Collects what is to be visited. Everything that needs the chains happens
  /// here, because rewrites invalidate them.
  std::vector<Visit> collect();
  LogicalResult visitChainOp(Operation *op);
  LogicalResult visitGather(AllGatherOp gather,
                            ArrayRef<BlockArgument> parameters);
  LogicalResult replaceMember(WaitOp wait, unsigned index, Member earlier);

  FunctionOpInterface func;
  IRRewriter rewriter;
  llvm::DenseSet<Operation *, ChainOpInfo> known;
  llvm::DenseMap<MemberKey, Member> members;
  /// Places of waits, which may move up.
  llvm::DenseMap<Operation *, unsigned> places;
  MergedGathers merged;
};
} // namespace

/// A constant counts if a chain reads it.
static bool isChainOp(Operation *op, const ParameterChains &chains) {
  if (isa<CollectiveOpInterface, WaitOp>(op) || op->getNumResults() == 0)
    return false;
  Value first = op->getResult(0);
  if (chains.getParameter(first))
    return true;
  return chains.isConstant(first) &&
         llvm::any_of(op->getUsers(), [&](Operation *user) {
           return user->getNumResults() > 0 &&
                  chains.getParameter(user->getResult(0));
         });
}

std::vector<GatherMerger::Visit> GatherMerger::collect() {
  StepGraph graph(func.getFunctionBody().front());
  ParameterChains chains(func, graph);
  std::vector<Visit> visits;
  for (Operation *op : graph.getOps()) {
    if (isa<WaitOp>(op))
      places[op] = graph.getNumber(op);
    auto gather = dyn_cast<AllGatherOp>(op);
    if (!gather && !isChainOp(op, chains))
      continue;
    Visit visit{op, {}};
    if (gather)
      for (Value input : gather.getInputs())
        visit.parameters.push_back(chains.getParameter(input));
    visits.push_back(std::move(visit));
  }
  return visits;
}

FailureOr<MergedGathers> GatherMerger::run() {
  for (const Visit &visit : collect()) {
    auto gather = dyn_cast<AllGatherOp>(visit.op);
    if (failed(gather ? visitGather(gather, visit.parameters)
                      : visitChainOp(visit.op)))
      return failure();
  }
  return merged;
}

LogicalResult GatherMerger::visitChainOp(Operation *op) {
  auto [it, inserted] = known.insert(op);
  if (inserted)
    return success();
  if (failed(combinePolicies(*it, op)))
    return failure();
  for (unsigned i = 0, e = op->getNumResults(); i != e; ++i)
    if (isRecordedSaved(op, i))
      recordSaved(*it, i);
  rewriter.replaceOp(op, *it);
  ++merged.ops;
  return success();
}

LogicalResult GatherMerger::replaceMember(WaitOp wait, unsigned index,
                                          Member earlier) {
  if (failed(combinePolicies(earlier.wait.getFuture().getDefiningOp(),
                             wait.getFuture().getDefiningOp())) ||
      failed(combinePolicies(earlier.wait, wait)))
    return failure();
  if (isRecordedSaved(wait, index))
    recordSaved(earlier.wait, earlier.index);
  if (places[earlier.wait] > places[wait]) {
    rewriter.moveOpBefore(earlier.wait, wait);
    places[earlier.wait] = places[wait];
  }
  rewriter.replaceAllUsesWith(wait.getTensors()[index],
                              earlier.wait.getTensors()[earlier.index]);
  ++merged.gathers;
  return success();
}

LogicalResult GatherMerger::visitGather(AllGatherOp gather,
                                        ArrayRef<BlockArgument> parameters) {
  WaitOp wait = getWait(gather);
  if (!wait)
    return success();
  SmallVector<unsigned> kept;
  SmallVector<MemberKey> keys;
  for (auto [i, input] : llvm::enumerate(gather.getInputs())) {
    keys.emplace_back(input, gather.getMeshAttr(), gather.getAxesAttr(),
                      gather.getPhaseAttr(), gather.getDim(),
                      gather.getGeneration() ? int64_t(*gather.getGeneration())
                                             : -1,
                      gather.getFuture().getType().getTensors()[i]);
    auto it = parameters[i] ? members.find(keys[i]) : members.end();
    if (it == members.end()) {
      kept.push_back(i);
      continue;
    }
    if (failed(replaceMember(wait, i, it->second)))
      return failure();
    int64_t bytes = getValueBytes(wait.getTensors()[i]);
    merged.bytes += bytes;
    remark::passed(
        gather.getLoc(),
        remark::RemarkOpts::name("gather-merged").category(DEBUG_TYPE))
        << remark::reason("\"{0}\" is gathered before, in the same phase",
                          getParameterName(func, parameters[i]))
        << remark::metric("bytes", bytes);
  }
  if (kept.empty()) {
    rewriter.eraseOp(wait);
    rewriter.eraseOp(gather);
    return success();
  }
  if (kept.size() < parameters.size()) {
    unsigned place = places[wait];
    wait = keepMembers(gather, kept, rewriter);
    places[wait] = place;
  }
  for (auto [position, i] : llvm::enumerate(kept))
    if (parameters[i])
      members.try_emplace(keys[i],
                          Member{wait, static_cast<unsigned>(position)});
  return success();
}

FailureOr<MergedGathers>
regather::tg::mergeGathers(FunctionOpInterface func,
                           OpBuilder::Listener *listener) {
  return GatherMerger(func, listener).run();
}
