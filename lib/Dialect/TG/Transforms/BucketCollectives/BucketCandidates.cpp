//===- BucketCandidates.cpp - Collectives that can be merged --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BucketCandidates.h"

#include "regather/Dialect/TG/Chains/GradientChains.h"
#include "regather/Dialect/TG/Chains/ParameterChains.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::buckets;

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

static bool isEarly(Operation *op, const ParameterChains &chains) {
  if (op->getNumResults() == 0 || isa<CollectiveOpInterface, WaitOp>(op))
    return false;
  Value first = op->getResult(0);
  return chains.isConstant(first) ||
         (chains.getParameter(first) && !chains.isGathered(first));
}

Candidates regather::tg::buckets::findCandidates(FunctionOpInterface func,
                                                 const StepGraph &graph) {
  ParameterChains chains(func, graph);
  GradientChains gradients(func, graph);
  Candidates candidates;
  for (auto [number, op] : llvm::enumerate(graph.getOps())) {
    candidates.isEarly.push_back(isEarly(op, chains));
    if (!isa<AllGatherOp, ReduceScatterOp, AllReduceOp>(op))
      continue;
    auto collective = cast<CollectiveOpInterface>(op);
    Candidate candidate{
        collective, getWait(collective), static_cast<unsigned>(number), {}, {}};
    if (!candidate.wait || collective.getInputs().empty())
      continue;
    if (isa<AllGatherOp>(op))
      for (Value input : collective.getInputs())
        candidate.parameters.push_back(chains.getParameter(input));
    else
      candidate.parameters = gradients.getParameters(collective);
    if (auto mark = op->getAttrOfType<StringAttr>(kBucketAttrName))
      candidate.mark = mark.getValue();
    else if (llvm::is_contained(candidate.parameters, nullptr))
      continue;
    candidates.collectives.push_back(std::move(candidate));
  }
  return candidates;
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

static StringRef getParent(StringRef name) {
  return name.contains('.') ? name.rsplit('.').first : StringRef();
}

SmallVector<StringRef>
regather::tg::buckets::getModules(FunctionOpInterface func,
                                  BlockArgument parameter) {
  unsigned number = parameter.getArgNumber();
  SmallVector<StringRef> modules;
  if (auto flat = func.getArgAttrOfType<MembersAttr>(number, kMembersAttrName))
    for (MemberAttr member : flat.getMembers())
      modules.push_back(getParent(member.getName()));
  else if (auto module =
               func.getArgAttrOfType<StringAttr>(number, kModuleAttrName))
    modules.push_back(module.getValue());
  else if (auto name = func.getArgAttrOfType<StringAttr>(number, kNameAttrName))
    modules.push_back(getParent(name.getValue()));
  return modules;
}

int64_t regather::tg::buckets::getRegistration(FunctionOpInterface func,
                                               BlockArgument parameter) {
  constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
  if (!parameter)
    return kLast;
  unsigned number = parameter.getArgNumber();
  if (auto own =
          func.getArgAttrOfType<IntegerAttr>(number, kRegistrationAttrName))
    return own.getInt();
  int64_t first = kLast;
  if (auto flat = func.getArgAttrOfType<MembersAttr>(number, kMembersAttrName))
    for (MemberAttr member : flat.getMembers())
      if (member.getRegistration() >= 0)
        first = std::min(first, member.getRegistration());
  return first;
}

//===----------------------------------------------------------------------===//
// What can be one
//===----------------------------------------------------------------------===//

Attribute regather::tg::buckets::getElementTypes(CollectiveOpInterface op) {
  llvm::SmallSetVector<Attribute, 2> types;
  for (Value input : op.getInputs())
    types.insert(TypeAttr::get(getElementTypeOrSelf(input.getType())));
  if (types.size() == 1)
    return types.front();
  return ArrayAttr::get(op.getContext(), types.getArrayRef());
}

MergeKey::MergeKey(const Candidate &candidate) : name(candidate.op->getName()) {
  Operation *op = candidate.op;
  attributes = cast<DictionaryAttr>(op->getPropertiesAsAttribute());
  policy = op->getAttr(kPolicyAttrName);
  waitPolicy = candidate.wait->getAttr(kPolicyAttrName);
  if (!isa<AllGatherOp>(op))
    elementTypes = getElementTypes(candidate.op);
}

bool MergeKey::operator==(const MergeKey &other) const {
  return name == other.name && attributes == other.attributes &&
         policy == other.policy && waitPolicy == other.waitPolicy &&
         elementTypes == other.elementTypes;
}

/// The attribute as operations show it.
static std::string show(Attribute attr) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (!attr)
    stream << "none";
  else if (auto phase = dyn_cast<PhaseAttr>(attr))
    stream << stringifyPhase(phase.getValue());
  else if (auto reduction = dyn_cast<ReductionAttr>(attr))
    stream << stringifyReduction(reduction.getValue());
  else if (auto policy = dyn_cast<PolicyAttr>(attr))
    stream << stringifyPolicy(policy.getValue())
           << (policy.getPlanned() ? ", planned" : "");
  else if (auto axes = dyn_cast<AxesAttr>(attr))
    llvm::interleaveComma(axes.getNames(), stream << '[',
                          [&](StringAttr name) { stream << name.getValue(); }),
        stream << ']';
  else if (auto number = dyn_cast<IntegerAttr>(attr))
    stream << number.getValue();
  else
    attr.print(stream, /*elideType=*/true);
  return text;
}

std::string regather::tg::buckets::describeDifference(const MergeKey &a,
                                                      const MergeKey &b) {
  SmallVector<std::tuple<StringRef, Attribute, Attribute>> fields;
  auto add = [&](StringRef name) {
    fields.push_back({name, a.attributes.get(name), b.attributes.get(name)});
  };
  // The other differences follow from this one.
  add("phase");
  for (DictionaryAttr attributes : {a.attributes, b.attributes})
    for (NamedAttribute attr : attributes)
      add(attr.getName());
  fields.push_back({"element types", a.elementTypes, b.elementTypes});
  fields.push_back({"policies", a.policy, b.policy});
  fields.push_back({"policies of waits", a.waitPolicy, b.waitPolicy});
  for (auto [what, left, right] : fields)
    if (left != right)
      return (what + " " + show(left) + " and " + show(right) + " differ")
          .str();
  return "their elements cannot be aligned behind each other";
}

bool regather::tg::buckets::haveCommonLayout(ArrayRef<Candidate> candidates,
                                             ArrayRef<unsigned> gathers) {
  auto getBytes = [](Type element) {
    return getTensorBytes(RankedTensorType::get({1}, element));
  };
  llvm::SmallDenseSet<Type, 2> types;
  int64_t widest = 1;
  for (unsigned gather : gathers)
    for (Value input : candidates[gather].getInputs()) {
      Type element = getElementTypeOrSelf(input.getType());
      types.insert(element);
      widest = std::max(widest, getBytes(element));
    }
  if (types.size() == 1)
    return true;
  return llvm::all_of(gathers, [&](unsigned gather) {
    return llvm::all_of(candidates[gather].getInputs(), [&](Value input) {
      return getValueBytes(input) % widest == 0;
    });
  });
}
