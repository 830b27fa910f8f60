//===- EqualLayers.cpp - A few layers for many equal ones -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Steps/EqualLayers.h"

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;
using namespace regather::tg;

/// The first unit that is kept. The layers before it are another one: what all
/// share may be computed in the first layer.
static constexpr size_t kFirstKept = 1;
/// The least number of units to leave out.
static constexpr size_t kLeastLeftOut = 2;
/// The most layers that a unit is looked for with.
static constexpr size_t kMostUnitLayers = 8;

//===----------------------------------------------------------------------===//
// Counts
//===----------------------------------------------------------------------===//

double FoldedStep::countModule(StringRef module) const {
  bool isInLayer = llvm::any_of(layers, [&](StringRef layer) {
    StringRef rest = module;
    return rest.consume_front(layer) && (rest.empty() || rest.front() == '.');
  });
  return isInLayer
             ? static_cast<double>(numUnits) / static_cast<double>(numKept)
             : 1;
}

double FoldedStep::countOperation(Operation *op) const {
  auto module = op->getAttrOfType<StringAttr>(kModuleAttrName);
  return module ? countModule(module.getValue()) : 1;
}

/// The module of an argument, or its name, which begins with it.
static StringRef getPath(func::FuncOp func, unsigned argument) {
  for (StringRef attribute : {kModuleAttrName, kNameAttrName})
    if (auto text = func.getArgAttrOfType<StringAttr>(argument, attribute))
      return text.getValue();
  return "";
}

double FoldedStep::countArgument(unsigned argument) const {
  if (layers.empty())
    return 1;
  return countModule(getPath(func.get(), argument));
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

namespace {
struct Layer {
  std::vector<Operation *> operations;
  std::vector<unsigned> arguments;
};

/// The layers of the module that has most in layers.
struct LayerStack {
  std::string name;
  std::vector<Layer> layers;
};

/// Layers `begin` to `begin + length * units` in units of `length`.
struct Run {
  size_t begin = 0, length = 1, units = 0;
};
} // namespace

/// Splits `model.layers.7.wq` into `model.layers` and 7.
static std::optional<std::pair<StringRef, unsigned>> getLayer(StringRef path) {
  for (size_t begin = 0; begin < path.size();) {
    size_t end = std::min(path.find('.', begin), path.size());
    unsigned number = 0;
    if (!path.slice(begin, end).getAsInteger(10, number))
      return std::make_pair(path.take_front(begin == 0 ? 0 : begin - 1),
                            number);
    begin = end + 1;
  }
  return std::nullopt;
}

/// Autograd leaves some operations of backward without a module. What one layer
/// alone reads belongs to it.
static std::optional<unsigned>
findReader(Operation *op, const llvm::DenseMap<Operation *, unsigned> &layers) {
  std::optional<unsigned> reader;
  for (Operation *user : op->getUsers()) {
    auto it = layers.find(user);
    if (it == layers.end() || (reader && *reader != it->second))
      return std::nullopt;
    reader = it->second;
  }
  return reader;
}

/// Nothing if the layers are not numbered from 0 on.
static LayerStack findLayers(func::FuncOp func) {
  llvm::MapVector<StringRef, std::map<unsigned, size_t>> stacks;
  llvm::MapVector<StringRef, size_t> sizes;
  auto getOwn = [](Operation &op) {
    auto module = op.getAttrOfType<StringAttr>(kModuleAttrName);
    return module ? getLayer(module.getValue()) : std::nullopt;
  };
  Block &block = func.getBody().front();
  for (Operation &op : block.without_terminator())
    if (auto layer = getOwn(op)) {
      ++stacks[layer->first][layer->second];
      ++sizes[layer->first];
    }
  LayerStack found;
  auto *most = llvm::max_element(
      sizes, [](const auto &a, const auto &b) { return a.second < b.second; });
  if (most == sizes.end())
    return found;
  auto &byNumber = stacks[most->first];
  if (byNumber.rbegin()->first + 1 != byNumber.size())
    return found;
  found.name = most->first.str();
  found.layers.resize(byNumber.size());
  llvm::DenseMap<Operation *, unsigned> layers;
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    if (auto own = getOwn(op); own && own->first == most->first)
      layers[&op] = own->second;
    else if (!op.hasAttr(kModuleAttrName))
      if (std::optional<unsigned> reader = findReader(&op, layers))
        layers[&op] = *reader;
  }
  for (Operation &op : block.without_terminator())
    if (auto it = layers.find(&op); it != layers.end())
      found.layers[it->second].operations.push_back(&op);
  for (unsigned i = 0, e = func.getNumArguments(); i != e; ++i)
    if (auto layer = getLayer(getPath(func, i));
        layer && layer->first == most->first &&
        layer->second < found.layers.size())
      found.layers[layer->second].arguments.push_back(i);
  return found;
}

/// True for what differs between equal layers.
static bool namesLayer(NamedAttribute attribute) {
  return attribute.getName() == kModuleAttrName ||
         attribute.getName() == kIdAttrName;
}

/// Of equal layers the same number.
static llvm::hash_code hashLayer(const Layer &layer) {
  llvm::hash_code hash =
      llvm::hash_combine(layer.operations.size(), layer.arguments.size());
  for (Operation *op : layer.operations) {
    hash = llvm::hash_combine(hash, op->getName().getAsOpaquePointer(),
                              op->getNumOperands());
    for (Type type : op->getResultTypes())
      hash = llvm::hash_combine(hash, type.getAsOpaquePointer());
    for (NamedAttribute attribute : op->getAttrDictionary())
      if (!namesLayer(attribute))
        hash =
            llvm::hash_combine(hash, attribute.getValue().getAsOpaquePointer());
  }
  return hash;
}

/// For each length of a unit the run that leaves out most layers, the one that
/// leaves out most of all first.
static SmallVector<Run> findRuns(const LayerStack &stack, size_t numKept) {
  SmallVector<size_t> hashes;
  for (const Layer &layer : stack.layers)
    hashes.push_back(hashLayer(layer));
  size_t last = hashes.empty() ? 0 : hashes.size() - 1;
  SmallVector<Run> runs;
  for (size_t length = 1; length <= kMostUnitLayers; ++length) {
    Run best;
    for (size_t begin = 0; begin + length <= hashes.size();) {
      size_t end = begin + length;
      while (end < hashes.size() && hashes[end] == hashes[end - length])
        ++end;
      size_t first = std::max(begin, kFirstKept), behind = std::min(end, last);
      size_t units = behind > first ? (behind - first) / length : 0;
      if (units > best.units)
        best = {first, length, units};
      begin = std::max(begin + 1, end + 1 - length);
    }
    if (best.units >= numKept + kLeastLeftOut)
      runs.push_back(best);
  }
  auto rank = [&](const Run &run) {
    auto leftOut = static_cast<int64_t>((run.units - numKept) * run.length);
    return std::make_pair(-leftOut, run.length);
  };
  llvm::sort(runs,
             [&](const Run &a, const Run &b) { return rank(a) < rank(b); });
  return runs;
}

namespace {
/// Where something stands: in which unit, and at which place of it.
struct LayerPlace {
  size_t unit, place;
};

class LayerFolder {
public:
  LayerFolder(func::FuncOp func, const LayerStack &stack, const Run &run,
              size_t numKept);

  bool canFold() const;
  /// Nothing if something reads a unit that is left out in a way of its own.
  /// `namesAll`: operations of layers that are in no module get that of their
  /// layer.
  std::optional<FoldedStep> fold(bool namesAll);

private:
  void findCrossings(const IRMapping &mapping, FoldedStep &folded) const;
  size_t getLast() const { return units.size() - 2; }
  bool isLeftOut(LayerPlace place) const {
    return place.unit > lastKept && place.unit <= getLast();
  }
  std::optional<LayerPlace> find(Value value) const;
  bool areEqual(Operation *a, Operation *b, size_t unit) const;
  bool readAlike(Value a, Value b, size_t unit) const;
  bool shareAlike(size_t place) const;
  /// What takes the place of an operand that is left out; null if it is
  /// unknown.
  Value findSubstitute(OpOperand &operand, LayerPlace from) const;

  func::FuncOp func;
  const LayerStack &stack;
  Run run;
  size_t lastKept;
  /// What comes before the run, its units, and what comes behind.
  std::vector<Layer> units;
  llvm::DenseMap<Operation *, LayerPlace> operations;
  llvm::DenseMap<Value, LayerPlace> arguments;
};
} // namespace

LayerFolder::LayerFolder(func::FuncOp func, const LayerStack &stack,
                         const Run &run, size_t numKept)
    : func(func), stack(stack), run(run), lastKept(numKept) {
  units.resize(run.units + 2);
  size_t end = run.begin + run.length * run.units;
  for (auto [number, layer] : llvm::enumerate(stack.layers)) {
    size_t unit = 0;
    if (number >= run.begin)
      unit = number < end ? (number - run.begin) / run.length + kFirstKept
                          : run.units + 1;
    llvm::append_range(units[unit].operations, layer.operations);
    llvm::append_range(units[unit].arguments, layer.arguments);
  }
  for (auto [number, unit] : llvm::enumerate(units)) {
    for (auto [place, op] : llvm::enumerate(unit.operations))
      operations[op] = {number, place};
    for (auto [place, argument] : llvm::enumerate(unit.arguments))
      arguments[func.getArgument(argument)] = {number, place};
  }
}

std::optional<LayerPlace> LayerFolder::find(Value value) const {
  if (Operation *op = value.getDefiningOp()) {
    auto it = operations.find(op);
    return it == operations.end() ? std::nullopt : std::optional(it->second);
  }
  auto it = arguments.find(value);
  return it == arguments.end() ? std::nullopt : std::optional(it->second);
}

//===----------------------------------------------------------------------===//
// Equality
//===----------------------------------------------------------------------===//

/// `a` is read in the first unit that is kept, `b` at the same place of `unit`.
bool LayerFolder::readAlike(Value a, Value b, size_t unit) const {
  if (a == b)
    return true;
  std::optional<LayerPlace> from = find(a), to = find(b);
  if (!from || !to || a.getType() != b.getType() ||
      isa<BlockArgument>(a) != isa<BlockArgument>(b) ||
      from->unit + unit != to->unit + kFirstKept)
    return false;
  auto result = dyn_cast<OpResult>(a);
  if (result && result.getResultNumber() != cast<OpResult>(b).getResultNumber())
    return false;
  // What lies before and behind the units may have other operations beside
  // those that all have.
  return from->place == to->place || from->unit < kFirstKept ||
         to->unit > getLast();
}

bool LayerFolder::areEqual(Operation *a, Operation *b, size_t unit) const {
  if (a->getName() != b->getName() || a->getNumRegions() != 0 ||
      b->getNumRegions() != 0 || a->getResultTypes() != b->getResultTypes() ||
      a->getNumOperands() != b->getNumOperands())
    return false;
  auto own = [&](Operation *op) {
    return llvm::make_filter_range(
        op->getAttrDictionary(),
        [](NamedAttribute attribute) { return !namesLayer(attribute); });
  };
  return llvm::equal(own(a), own(b)) &&
         llvm::all_of(llvm::zip_equal(a->getOperands(), b->getOperands()),
                      [&](auto operands) {
                        return readAlike(std::get<0>(operands),
                                         std::get<1>(operands), unit);
                      });
}

/// True if each operand of the operations at a place is one value for all of
/// their units, or another one for each. What the first layer computes may be
/// read by all, but not by some in the place of what comes ahead of them.
bool LayerFolder::shareAlike(size_t place) const {
  Operation *kept = units[kFirstKept].operations[place];
  Operation *next = units[kFirstKept + 1].operations[place];
  for (size_t unit = kFirstKept + 2; unit <= getLast(); ++unit)
    for (auto [a, b, c] :
         llvm::zip_equal(kept->getOperands(), next->getOperands(),
                         units[unit].operations[place]->getOperands()))
      if ((a == b) != (a == c))
        return false;
  return true;
}

bool LayerFolder::canFold() const {
  const std::vector<Operation *> &kept = units[kFirstKept].operations;
  for (size_t unit = kFirstKept + 1; unit <= getLast(); ++unit) {
    const std::vector<Operation *> &other = units[unit].operations;
    if (other.size() != kept.size() ||
        units[unit].arguments.size() != units[kFirstKept].arguments.size())
      return false;
    for (auto [a, b] : llvm::zip_equal(kept, other))
      if (!areEqual(a, b, unit))
        return false;
  }
  return llvm::all_of(llvm::seq(kept.size()),
                      [&](size_t place) { return shareAlike(place); });
}

//===----------------------------------------------------------------------===//
// Folding
//===----------------------------------------------------------------------===//

Value LayerFolder::findSubstitute(OpOperand &operand, LayerPlace from) const {
  auto user = operations.find(operand.getOwner());
  if (user != operations.end() && user->second.unit == lastKept) {
    // It reads what comes behind its unit, as the last equal one does.
    Operation *last = units[getLast()].operations[user->second.place];
    Value other = last->getOperand(operand.getOperandNumber());
    std::optional<LayerPlace> place = find(other);
    return place && isLeftOut(*place) ? Value() : other;
  }
  auto result = dyn_cast<OpResult>(operand.get());
  if (!result || from.unit != getLast())
    return nullptr;
  return units[lastKept].operations[from.place]->getResult(
      result.getResultNumber());
}

/// The unit behind the first one reads of it what that one reads of the layer
/// before, and gives to it what that one gets from behind.
void LayerFolder::findCrossings(const IRMapping &mapping,
                                FoldedStep &folded) const {
  auto add = [&](Operation *op, unsigned number, Value out) {
    std::pair<Value, Value> pair = {mapping.lookup(op)->getOperand(number),
                                    mapping.lookup(out)};
    if (pair.first != pair.second &&
        !llvm::is_contained(folded.crossings, pair))
      folded.crossings.push_back(pair);
  };
  for (auto [op, next] : llvm::zip_equal(units[kFirstKept].operations,
                                         units[kFirstKept + 1].operations))
    for (auto [number, a, b] :
         llvm::enumerate(op->getOperands(), next->getOperands())) {
      std::optional<LayerPlace> from = find(a), to = find(b);
      if (to && to->unit == kFirstKept && isa<OpResult>(b))
        add(op, number, b);
      else if (from && from->unit == kFirstKept + 1 && isa<OpResult>(a))
        add(op, number,
            units[kFirstKept].operations[from->place]->getResult(
                cast<OpResult>(a).getResultNumber()));
    }
}

std::optional<FoldedStep> LayerFolder::fold(bool namesAll) {
  Block *block = &func.getBody().front();
  Operation *terminator = block->getTerminator();
  llvm::BitVector lostArguments(func.getNumArguments());
  for (size_t unit = lastKept + 1; unit <= getLast(); ++unit)
    for (unsigned argument : units[unit].arguments)
      lostArguments.set(argument);
  llvm::BitVector lostResults(func.getNumResults());
  for (unsigned i = 0, e = func.getNumResults(); i != e; ++i)
    if (RoleAttr role = func.getResultAttrOfType<RoleAttr>(i, kRoleAttrName);
        role && role.namesArgument() && lostArguments.test(role.getArgument()))
      lostResults.set(i);

  // Nothing is copied before it is known that nothing stands in the way.
  auto isLost = [&](Operation *op) {
    auto it = operations.find(op);
    return it != operations.end() && isLeftOut(it->second);
  };
  std::vector<std::pair<OpOperand *, Value>> substitutes;
  auto look = [&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands()) {
      std::optional<LayerPlace> from = find(operand.get());
      if (!from || !isLeftOut(*from) ||
          (op == terminator && lostResults.test(operand.getOperandNumber())))
        continue;
      Value other = findSubstitute(operand, *from);
      if (!other || other.getType() != operand.get().getType())
        return false;
      // What takes its place may come later than it does.
      if (Operation *def = other.getDefiningOp();
          def && !def->isBeforeInBlock(op))
        return false;
      substitutes.emplace_back(&operand, other);
    }
    return true;
  };
  for (Operation &op : *block)
    if (op.getNumRegions() != 0 || (!isLost(&op) && !look(&op)))
      return std::nullopt;

  FoldedStep folded;
  IRMapping mapping;
  folded.func = cast<func::FuncOp>(func->clone(mapping));
  for (auto [operand, value] : substitutes)
    mapping.lookup(operand->getOwner())
        ->setOperand(operand->getOperandNumber(), mapping.lookup(value));
  findCrossings(mapping, folded);
  func::FuncOp copy = *folded.func;
  SmallVector<int64_t> numbers;
  for (unsigned i = 0, e = lostArguments.size(), number = 0; i != e; ++i)
    numbers.push_back(lostArguments.test(i) ? -1 : number++);
  for (unsigned i = 0, e = func.getNumResults(); i != e; ++i)
    if (auto role = copy.getResultAttrOfType<RoleAttr>(i, kRoleAttrName);
        role && role.namesArgument() && !lostResults.test(i))
      copy.setResultAttr(i, kRoleAttrName,
                         RoleAttr::get(copy.getContext(), role.getKind(),
                                       numbers[role.getArgument()]));
  mapping.lookup(terminator)->eraseOperands(lostResults);
  (void)copy.eraseResults(lostResults);
  for (Operation &op : llvm::reverse(*block))
    if (isLost(&op))
      mapping.lookup(&op)->erase();
  (void)copy.eraseArguments(lostArguments);
  for (size_t layer = run.begin; layer != run.begin + run.length * lastKept;
       ++layer) {
    std::string name =
        stack.name + (stack.name.empty() ? "" : ".") + std::to_string(layer);
    for (Operation *op : stack.layers[layer].operations)
      if (namesAll && !op->hasAttr(kModuleAttrName))
        mapping.lookup(op)->setAttr(kModuleAttrName,
                                    StringAttr::get(func.getContext(), name));
    folded.layers.push_back(std::move(name));
  }
  folded.numUnits = static_cast<int64_t>(run.units);
  folded.numKept = static_cast<int64_t>(lastKept);
  folded.unitLayers = static_cast<int64_t>(run.length);
  folded.outerLayers =
      static_cast<int64_t>(stack.layers.size() - run.length * run.units);
  return folded;
}

static std::optional<FoldedStep> foldLayers(func::FuncOp func, int64_t numKept,
                                            bool namesAll) {
  LayerStack stack = findLayers(func);
  auto kept = static_cast<size_t>(numKept);
  for (const Run &run : findRuns(stack, kept))
    if (LayerFolder folder(func, stack, run, kept); folder.canFold())
      if (std::optional<FoldedStep> folded = folder.fold(namesAll))
        return folded;
  return std::nullopt;
}

FoldedStep regather::tg::foldEqualLayers(func::FuncOp func) {
  if (auto folded = foldLayers(func, /*numKept=*/1, /*namesAll=*/true))
    return std::move(*folded);
  return copyStep(func);
}

FoldedStep regather::tg::copyStep(func::FuncOp func) {
  FoldedStep whole;
  whole.func = func.clone();
  return whole;
}

std::optional<FoldedModule>
regather::tg::foldModule(ModuleOp module, func::FuncOp entry, int64_t numKept) {
  auto folded = foldLayers(entry, numKept, /*namesAll=*/false);
  if (!folded)
    return std::nullopt;
  IRMapping mapping;
  FoldedModule made{cast<ModuleOp>(module->clone(mapping)), folded->numUnits,
                    folded->numKept, folded->unitLayers, folded->outerLayers};
  Operation *whole = mapping.lookup(entry.getOperation());
  whole->getBlock()->getOperations().insert(whole->getIterator(),
                                            folded->func.release());
  whole->erase();
  return made;
}
