//===- BucketMerger.cpp - Make one collective of several ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BucketMerger.h"

#include "regather/Dialect/TG/Steps/Policies.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::buckets;

//===----------------------------------------------------------------------===//
// Dependencies
//===----------------------------------------------------------------------===//

static bool isCommunication(Operation *op) {
  return isa<CollectiveOpInterface, WaitOp>(op);
}

static bool communicatesInside(Operation *op) {
  return op->getNumRegions() > 0 && op->walk([](Operation *inner) {
                                        return isCommunication(inner)
                                                   ? WalkResult::interrupt()
                                                   : WalkResult::advance();
                                      }).wasInterrupted();
}

/// True for operations that communication must not cross.
static bool isBarrier(Operation *op) {
  return !isCommunication(op) &&
         (!isMemoryEffectFree(op) || communicatesInside(op));
}

DependencyGraph regather::tg::buckets::getDependencies(const StepGraph &graph) {
  DependencyGraph dependencies;
  std::optional<unsigned> barrier;
  /// Communication since the last barrier.
  SmallVector<unsigned> since;
  for (auto [number, op] : llvm::enumerate(graph.getOps())) {
    dependencies.addOp();
    forEachInput(op, [&](Value input) {
      Operation *def = input.getDefiningOp();
      if (def && def->getBlock() == &graph.getBlock())
        dependencies.addSource(graph.getNumber(def));
    });
    bool closes = isBarrier(op);
    if (!closes && !isCommunication(op))
      continue;
    if (barrier)
      dependencies.addSource(*barrier);
    if (!closes) {
      since.push_back(number);
      continue;
    }
    for (unsigned before : since)
      dependencies.addSource(before);
    since.clear();
    barrier = number;
  }
  return dependencies;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// The path of the innermost module that all of `paths` are in.
static StringRef getCommonModule(ArrayRef<StringRef> paths) {
  StringRef common = paths.front();
  for (StringRef path : paths.drop_front())
    while (common != path &&
           !(path.starts_with(common) &&
             path.drop_front(common.size()).starts_with(".")) &&
           !common.empty())
      common = common.contains('.') ? common.rsplit('.').first : StringRef();
  return common;
}

/// The values of attribute `name` of those of `ops` that have it.
static SmallVector<StringRef> getStrings(ArrayRef<Operation *> ops,
                                         StringRef name) {
  SmallVector<StringRef> values;
  for (Operation *op : ops)
    if (auto attr = op->getAttrOfType<StringAttr>(name))
      values.push_back(attr.getValue());
  return values;
}

/// The attributes in which `ops` agree, with their ids and the innermost module
/// that holds them all.
static DictionaryAttr mergeAttributes(ArrayRef<Operation *> ops) {
  Builder builder(ops.front()->getContext());
  NamedAttrList merged;
  for (NamedAttribute attr : ops.front()->getDiscardableAttrs())
    if (llvm::all_of(ops, [&](Operation *op) {
          return op->getDiscardableAttr(attr.getName()) == attr.getValue();
        }))
      merged.append(attr);
  merged.erase(kSavedResultsAttrName);
  SmallVector<StringRef> ids = getStrings(ops, kIdAttrName);
  if (!ids.empty())
    merged.set(kIdAttrName, builder.getStringAttr(llvm::join(ids, ",")));
  SmallVector<StringRef> modules = getStrings(ops, kModuleAttrName);
  StringRef common =
      modules.size() == ops.size() ? getCommonModule(modules) : StringRef();
  if (!common.empty())
    merged.set(kModuleAttrName, builder.getStringAttr(common));
  return merged.getDictionary(builder.getContext());
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

namespace {
/// A tensor that a merged collective carries.
struct Payload {
  /// Registration, argument, and place among all members.
  std::tuple<int64_t, unsigned, unsigned> key;
  CollectiveOpInterface op;
  WaitOp wait;
  unsigned member;
};
} // namespace

static SmallVector<Payload> getPayload(FunctionOpInterface func,
                                       ArrayRef<Candidate> candidates,
                                       ArrayRef<uint32_t> members) {
  SmallVector<Payload> payload;
  for (uint32_t number : members) {
    const Candidate &candidate = candidates[number];
    for (auto [i, parameter] : llvm::enumerate(candidate.parameters))
      payload.push_back(
          {{getRegistration(func, parameter),
            parameter ? parameter.getArgNumber() : 0, payload.size()},
           candidate.op,
           candidate.wait,
           static_cast<unsigned>(i)});
  }
  llvm::sort(payload,
             [](const Payload &a, const Payload &b) { return a.key < b.key; });
  return payload;
}

/// Makes a collective like `model` with other members.
static Operation *createLike(OpBuilder &builder, Location loc,
                             CollectiveOpInterface model, ValueRange inputs,
                             TypeRange types) {
  SmallVector<Type> members(types);
  OperationState state(loc, model->getName().getStringRef(), inputs,
                       FutureType::get(model.getContext(), members),
                       model->getAttrs());
  return builder.create(state);
}

static Location fuseLocations(ArrayRef<Operation *> ops) {
  SmallVector<Location> locations;
  for (Operation *op : ops)
    locations.push_back(op->getLoc());
  return FusedLoc::get(ops.front()->getContext(), locations);
}

namespace {
/// A collective that stands for several.
struct Merged {
  std::string name;
  SmallVector<Payload> payload;
  /// What it stands for, in the order of the payload.
  SetVector<Operation *> starts, waits;
  Operation *start = nullptr;
};
} // namespace

static void createStart(OpBuilder &builder, Merged &merged) {
  SmallVector<Value> inputs;
  SmallVector<Type> types;
  for (Payload &part : merged.payload) {
    inputs.push_back(part.op.getInputs()[part.member]);
    types.push_back(part.wait.getTensors()[part.member].getType());
  }
  merged.start = createLike(builder, fuseLocations(merged.starts.getArrayRef()),
                            cast<CollectiveOpInterface>(merged.starts.front()),
                            inputs, types);
  merged.start->setDiscardableAttrs(
      mergeAttributes(merged.starts.getArrayRef()));
  if (!merged.name.empty())
    merged.start->setAttr(kBucketAttrName, builder.getStringAttr(merged.name));
}

static void createWait(OpBuilder &builder, Merged &merged) {
  auto wait = WaitOp::create(builder, fuseLocations(merged.waits.getArrayRef()),
                             merged.start->getResult(0));
  wait->setDiscardableAttrs(mergeAttributes(merged.waits.getArrayRef()));
  for (auto [i, part] : llvm::enumerate(merged.payload)) {
    part.wait.getTensors()[part.member].replaceAllUsesWith(
        wait.getTensors()[i]);
    if (isRecordedSaved(part.wait, part.member))
      recordSaved(wait, i);
  }
}

void regather::tg::buckets::mergeBuckets(FunctionOpInterface func,
                                         const StepGraph &graph,
                                         const DependencyGraph &dependencies,
                                         const Candidates &found,
                                         ArrayRef<WantedBucket> wanted,
                                         const std::vector<BucketPart> &parts) {
  ArrayRef<Candidate> candidates = found.collectives;
  std::vector<CollectiveOps> collectives;
  for (const Candidate &candidate : candidates)
    collectives.push_back({candidate.number, graph.getNumber(candidate.wait)});
  std::vector<Merged> merged;
  // By operation that leads a start or a wait.
  llvm::DenseMap<unsigned, unsigned> starts, waits;
  for (const BucketPart &part : parts) {
    if (part.members.size() < 2)
      continue;
    starts[collectives[part.members.front()].start] = merged.size();
    waits[collectives[part.members.front()].wait] = merged.size();
    Merged &bucket = merged.emplace_back();
    bucket.name = wanted[part.bucket].name;
    bucket.payload = getPayload(func, candidates, part.members);
    for (const Payload &tensor : bucket.payload) {
      bucket.starts.insert(tensor.op);
      bucket.waits.insert(tensor.wait);
    }
  }
  if (merged.empty())
    return;
  std::vector<uint32_t> order =
      orderBuckets(dependencies, collectives, parts, found.isEarly);
  Operation *end = graph.getBlock().getTerminator();
  OpBuilder builder(end);
  for (uint32_t number : order) {
    if (auto it = starts.find(number); it != starts.end())
      createStart(builder, merged[it->second]);
    else if (auto it = waits.find(number); it != waits.end())
      createWait(builder, merged[it->second]);
    else
      graph.getOps()[number]->moveBefore(end);
  }
  for (Merged &bucket : merged) {
    for (Operation *wait : bucket.waits)
      wait->erase();
    for (Operation *start : bucket.starts)
      start->erase();
  }
}

void regather::tg::buckets::takeApart(const Candidate &candidate,
                                      ArrayRef<SmallVector<unsigned>> groups) {
  CollectiveOpInterface op = candidate.op;
  WaitOp wait = candidate.wait;
  for (ArrayRef<unsigned> group : groups) {
    SmallVector<Value> inputs;
    SmallVector<Type> types;
    for (unsigned member : group) {
      inputs.push_back(op.getInputs()[member]);
      types.push_back(op.getFuture().getType().getTensors()[member]);
    }
    OpBuilder builder(op);
    Operation *start = createLike(builder, op.getLoc(), op, inputs, types);
    builder.setInsertionPoint(wait);
    auto newWait = WaitOp::create(builder, wait.getLoc(), start->getResult(0));
    newWait->setDiscardableAttrs(wait->getDiscardableAttrDictionary());
    newWait->removeAttr(kSavedResultsAttrName);
    for (auto [i, member] : llvm::enumerate(group)) {
      wait.getTensors()[member].replaceAllUsesWith(newWait.getTensors()[i]);
      if (isRecordedSaved(wait, member))
        recordSaved(newWait, i);
    }
  }
  wait.erase();
  op.erase();
}
