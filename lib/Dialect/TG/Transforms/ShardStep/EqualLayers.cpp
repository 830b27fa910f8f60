//===- EqualLayers.cpp - One layer for many equal ones --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EqualLayers.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

/// The layer that stands for the others. What comes before it may be computed
/// in the first one for all.
static constexpr size_t kKeptLayer = 1;
/// The least number of layers to leave out.
static constexpr size_t kLeastLeftOut = 2;

//===----------------------------------------------------------------------===//
// Counts
//===----------------------------------------------------------------------===//

double FoldedStep::countModule(StringRef module) const {
  bool isInLayer = !layer.empty() && module.consume_front(layer) &&
                   (module.empty() || module.front() == '.');
  return isInLayer ? static_cast<double>(numLayers) : 1;
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
  if (layer.empty())
    return 1;
  return countModule(getPath(func.get(), argument));
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

namespace {
/// Where something stands: in which layer, and at which place of it.
struct LayerPlace {
  size_t layer, place;
};

struct LayerStack {
  SmallVector<std::vector<Operation *>> operations;
  SmallVector<std::vector<unsigned>> arguments;
};

class LayerFolder {
public:
  LayerFolder(const Step &step, StringRef stack, const LayerStack &layers);

  bool canFold() const;
  /// Nothing if something reads a layer that is left out in a way of its own.
  std::optional<FoldedStep> fold();

private:
  void findCrossings(const IRMapping &mapping, FoldedStep &folded) const;
  size_t getLast() const { return layers.operations.size() - 2; }
  bool isLeftOut(LayerPlace place) const {
    return place.layer > kKeptLayer && place.layer <= getLast();
  }
  std::optional<LayerPlace> find(Value value) const;
  bool areEqual(Operation *a, Operation *b, size_t layer) const;
  bool readAlike(Value a, Value b, size_t layer) const;
  bool shareAlike(size_t place) const;
  /// What takes the place of an operand that is left out; null if it is
  /// unknown.
  Value findSubstitute(OpOperand &operand, LayerPlace from) const;

  const Step &step;
  std::string stack;
  const LayerStack &layers;
  llvm::DenseMap<Operation *, LayerPlace> operations;
  llvm::DenseMap<Value, LayerPlace> arguments;
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

/// The layers of the module that has most in layers, and its name; none if they
/// are not numbered from 0 on.
static std::pair<std::string, LayerStack> findLayers(const Step &step) {
  llvm::MapVector<StringRef, std::map<unsigned, std::vector<Operation *>>>
      stacks;
  llvm::MapVector<StringRef, size_t> sizes;
  for (Operation *op : step.operations)
    if (auto module = op->getAttrOfType<StringAttr>(kModuleAttrName))
      if (auto layer = getLayer(module.getValue())) {
        stacks[layer->first][layer->second].push_back(op);
        ++sizes[layer->first];
      }
  std::pair<std::string, LayerStack> found;
  auto *most = llvm::max_element(
      sizes, [](const auto &a, const auto &b) { return a.second < b.second; });
  if (most == sizes.end())
    return found;
  auto &byNumber = stacks[most->first];
  if (byNumber.rbegin()->first + 1 != byNumber.size())
    return found;
  for (auto &[number, operations] : byNumber)
    found.second.operations.push_back(std::move(operations));
  found.second.arguments.resize(byNumber.size());
  for (unsigned i = 0, e = step.block->getNumArguments(); i != e; ++i)
    if (auto layer = getLayer(getPath(step.func, i));
        layer && layer->first == most->first && layer->second < byNumber.size())
      found.second.arguments[layer->second].push_back(i);
  found.first = most->first.str();
  return found;
}

LayerFolder::LayerFolder(const Step &step, StringRef stack,
                         const LayerStack &layers)
    : step(step), stack(stack), layers(layers) {
  for (auto [layer, members] : llvm::enumerate(layers.operations))
    for (auto [place, op] : llvm::enumerate(members))
      operations[op] = {layer, place};
  for (auto [layer, members] : llvm::enumerate(layers.arguments))
    for (auto [place, argument] : llvm::enumerate(members))
      arguments[step.block->getArgument(argument)] = {layer, place};
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

/// `a` is read in the layer that is kept, `b` at the same place of `layer`.
bool LayerFolder::readAlike(Value a, Value b, size_t layer) const {
  if (a == b)
    return true;
  std::optional<LayerPlace> from = find(a), to = find(b);
  if (!from || !to || a.getType() != b.getType() ||
      isa<BlockArgument>(a) != isa<BlockArgument>(b) ||
      from->layer + layer != to->layer + kKeptLayer)
    return false;
  auto result = dyn_cast<OpResult>(a);
  if (result && result.getResultNumber() != cast<OpResult>(b).getResultNumber())
    return false;
  // The first and the last layer may have other operations beside those that
  // all have.
  return from->place == to->place || from->layer < kKeptLayer ||
         to->layer > getLast();
}

bool LayerFolder::areEqual(Operation *a, Operation *b, size_t layer) const {
  if (a->getName() != b->getName() || a->getNumRegions() != 0 ||
      b->getNumRegions() != 0 || a->getResultTypes() != b->getResultTypes() ||
      a->getNumOperands() != b->getNumOperands())
    return false;
  auto isOwn = [](NamedAttribute attribute) {
    return attribute.getName() != kModuleAttrName &&
           attribute.getName() != kIdAttrName;
  };
  auto own = [&](Operation *op) {
    return llvm::make_filter_range(op->getAttrDictionary(), isOwn);
  };
  return llvm::equal(own(a), own(b)) &&
         llvm::all_of(llvm::zip_equal(a->getOperands(), b->getOperands()),
                      [&](auto operands) {
                        return readAlike(std::get<0>(operands),
                                         std::get<1>(operands), layer);
                      });
}

/// True if each operand of the operations at a place is one value for all of
/// their layers, or another one for each. What the first layer computes may be
/// read by all, but not by some in the place of what comes ahead of them.
bool LayerFolder::shareAlike(size_t place) const {
  Operation *kept = layers.operations[kKeptLayer][place];
  Operation *next = layers.operations[kKeptLayer + 1][place];
  for (size_t layer = kKeptLayer + 2; layer <= getLast(); ++layer)
    for (auto [a, b, c] :
         llvm::zip_equal(kept->getOperands(), next->getOperands(),
                         layers.operations[layer][place]->getOperands()))
      if ((a == b) != (a == c))
        return false;
  return true;
}

bool LayerFolder::canFold() const {
  if (layers.operations.size() < kKeptLayer + kLeastLeftOut + 2)
    return false;
  const std::vector<Operation *> &kept = layers.operations[kKeptLayer];
  for (size_t layer = kKeptLayer + 1; layer <= getLast(); ++layer) {
    const std::vector<Operation *> &other = layers.operations[layer];
    if (other.size() != kept.size() ||
        layers.arguments[layer].size() != layers.arguments[kKeptLayer].size())
      return false;
    for (auto [a, b] : llvm::zip_equal(kept, other))
      if (!areEqual(a, b, layer))
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
  if (user != operations.end() && user->second.layer == kKeptLayer) {
    // It reads what comes behind its layer, as the last equal one does.
    Operation *last = layers.operations[getLast()][user->second.place];
    Value other = last->getOperand(operand.getOperandNumber());
    std::optional<LayerPlace> place = find(other);
    return place && isLeftOut(*place) ? Value() : other;
  }
  auto result = dyn_cast<OpResult>(operand.get());
  if (!result || from.layer != getLast())
    return nullptr;
  return layers.operations[kKeptLayer][from.place]->getResult(
      result.getResultNumber());
}

/// The layer behind the one that is kept reads of it what that one reads of the
/// first, and gives to it what that one gets from behind.
void LayerFolder::findCrossings(const IRMapping &mapping,
                                FoldedStep &folded) const {
  auto add = [&](Operation *op, unsigned number, Value out) {
    std::pair<Value, Value> pair = {mapping.lookup(op)->getOperand(number),
                                    mapping.lookup(out)};
    if (pair.first != pair.second &&
        !llvm::is_contained(folded.crossings, pair))
      folded.crossings.push_back(pair);
  };
  for (auto [op, next] : llvm::zip_equal(layers.operations[kKeptLayer],
                                         layers.operations[kKeptLayer + 1]))
    for (auto [number, a, b] :
         llvm::enumerate(op->getOperands(), next->getOperands())) {
      std::optional<LayerPlace> from = find(a), to = find(b);
      if (to && to->layer == kKeptLayer && isa<OpResult>(b))
        add(op, number, b);
      else if (from && from->layer == kKeptLayer + 1 && isa<OpResult>(a))
        add(op, number,
            layers.operations[kKeptLayer][from->place]->getResult(
                cast<OpResult>(a).getResultNumber()));
    }
}

std::optional<FoldedStep> LayerFolder::fold() {
  func::FuncOp func = step.func;
  llvm::BitVector lostArguments(func.getNumArguments());
  for (size_t layer = kKeptLayer + 1; layer <= getLast(); ++layer)
    for (unsigned argument : layers.arguments[layer])
      lostArguments.set(argument);
  llvm::BitVector lostResults(func.getNumResults());
  for (unsigned i = 0, e = func.getNumResults(); i != e; ++i)
    if (RoleAttr role = step.getResultRole(i);
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
          (op == step.getTerminator() &&
           lostResults.test(operand.getOperandNumber())))
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
  for (Operation *op : step.operations)
    if (op->getNumRegions() != 0 || (!isLost(op) && !look(op)))
      return std::nullopt;
  if (!look(step.getTerminator()))
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
  Operation *terminator = mapping.lookup(step.getTerminator());
  terminator->eraseOperands(lostResults);
  (void)copy.eraseResults(lostResults);
  for (Operation *op : llvm::reverse(step.operations))
    if (isLost(op))
      mapping.lookup(op)->erase();
  (void)copy.eraseArguments(lostArguments);
  folded.layer =
      stack + (stack.empty() ? "" : ".") + std::to_string(kKeptLayer);
  folded.numLayers = static_cast<int64_t>(getLast() - kKeptLayer + 1);
  return folded;
}

FoldedStep regather::tg::spmd::foldEqualLayers(const Step &step) {
  auto [stack, layers] = findLayers(step);
  if (LayerFolder folder(step, stack, layers); folder.canFold())
    if (std::optional<FoldedStep> folded = folder.fold())
      return std::move(*folded);
  return copyStep(step);
}

FoldedStep regather::tg::spmd::copyStep(const Step &step) {
  FoldedStep whole;
  whole.func = func::FuncOp(step.func).clone();
  return whole;
}
