//===- NodeArguments.cpp - Arguments of a node by name --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Nodes/NodeArguments.h"

using namespace mlir;
using namespace regather;
using namespace regather::nodes;

bool regather::nodes::isSupportedElement(Type type) {
  return type.isSignlessInteger() || type.isF16() || type.isBF16() ||
         type.isF32() || type.isF64();
}

/// Arguments of factory functions that say nothing about values.
static bool isIgnored(StringRef name) {
  return llvm::is_contained({"device", "layout", "memory_format",
                             "non_blocking", "pin_memory", "dtype",
                             "sparse_grad"},
                            name);
}

NodeArguments::NodeArguments(tg::NodeOp node, tg::NodeTarget target,
                             bool isQuiet)
    : node(node), isQuiet(isQuiet) {
  tg::getInfo(target).parameters.split(names, ' ', /*MaxSplit=*/-1,
                                       /*KeepEmpty=*/false);
  checkNames();
}

void NodeArguments::checkNames() {
  size_t given =
      node.getArgs() ? node.getArgs()->size() : node.getNumOperands();
  if (given > names.size()) {
    (void)fail("expects at most " + Twine(names.size()) +
               " positional arguments, got " + Twine(given));
    return;
  }
  ArrayRef<StringRef> positional = ArrayRef(names).take_front(given);
  DictionaryAttr kwargs = node.getKwargsAttr();
  if (!kwargs)
    return;
  for (NamedAttribute named : kwargs.getValue()) {
    StringRef name = named.getName().getValue();
    if (llvm::is_contained(positional, name))
      (void)fail(name, "is given twice");
    else if (!isIgnored(name) && !llvm::is_contained(names, name))
      (void)fail(name, "is not one that the target has");
  }
}

LogicalResult NodeArguments::fail(StringRef name, const Twine &message) {
  return fail("argument \"" + name + "\" " + message);
}

LogicalResult NodeArguments::fail(const Twine &message) {
  if (!failedOnce && !isQuiet)
    node.emitError() << '"' << node.getTarget() << "\": " << message;
  failedOnce = true;
  return failure();
}

//===----------------------------------------------------------------------===//
// Finding
//===----------------------------------------------------------------------===//

Attribute NodeArguments::lookup(StringRef name) {
  Attribute attr;
  if (node.getKwargs())
    attr = node.getKwargs()->get(name);
  if (!attr) {
    size_t position = llvm::find(names, name) - names.begin();
    if (std::optional<ArrayAttr> args = node.getArgs()) {
      if (position < args->size())
        attr = (*args)[position];
    } else if (position < node.getNumOperands()) {
      attr = tg::OperandAttr::get(node.getContext(), position);
    }
  }
  return isa_and_nonnull<UnitAttr>(attr) ? Attribute() : attr;
}

Attribute NodeArguments::require(StringRef name) {
  Attribute attr = lookup(name);
  if (!attr)
    (void)fail(name, "is missing");
  return attr;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

bool NodeArguments::isTensor(StringRef name) {
  return isa_and_nonnull<tg::OperandAttr>(lookup(name));
}

Tensor NodeArguments::readTensor(StringRef name, Attribute attr) {
  auto operand = dyn_cast<tg::OperandAttr>(attr);
  if (!operand) {
    (void)fail(name, "must be a tensor");
    return nullptr;
  }
  auto tensor = dyn_cast<Tensor>(node.getInputs()[operand.getIndex()]);
  if (!tensor) {
    (void)fail(name, "must be a tensor");
    return nullptr;
  }
  if (!isSupportedElement(tensor.getType().getElementType())) {
    std::string text;
    llvm::raw_string_ostream(text) << tensor.getType().getElementType();
    (void)fail(name, "has elements of type " + text +
                         ", which the conversion does not support");
    return nullptr;
  }
  return tensor;
}

Tensor NodeArguments::getTensor(StringRef name) {
  Attribute attr = require(name);
  return attr ? readTensor(name, attr) : nullptr;
}

Tensor NodeArguments::getOptionalTensor(StringRef name) {
  Attribute attr = lookup(name);
  return attr ? readTensor(name, attr) : nullptr;
}

SmallVector<Tensor> NodeArguments::getTensors(StringRef name) {
  SmallVector<Tensor> tensors;
  auto list = dyn_cast_or_null<ArrayAttr>(require(name));
  if (!list) {
    (void)fail(name, "must be a list of tensors");
    return tensors;
  }
  for (Attribute attr : list)
    tensors.push_back(isa<UnitAttr>(attr) ? nullptr : readTensor(name, attr));
  return tensors;
}

SmallVector<unsigned, 1> NodeArguments::getOperandNumbers(StringRef name) {
  SmallVector<unsigned, 1> numbers;
  Attribute attr = lookup(name);
  if (auto operand = dyn_cast_or_null<tg::OperandAttr>(attr))
    numbers.push_back(operand.getIndex());
  if (auto list = dyn_cast_or_null<ArrayAttr>(attr))
    for (Attribute element : list)
      if (auto operand = dyn_cast<tg::OperandAttr>(element))
        numbers.push_back(operand.getIndex());
  return numbers;
}

//===----------------------------------------------------------------------===//
// Numbers and strings
//===----------------------------------------------------------------------===//

TypedAttr NodeArguments::getNumber(StringRef name,
                                   std::optional<int64_t> standard) {
  TypedAttr placeholder = IntegerAttr::get(
      IntegerType::get(node.getContext(), 64), standard.value_or(0));
  Attribute attr = standard ? lookup(name) : require(name);
  if (!attr)
    return placeholder;
  if (isa<IntegerAttr, FloatAttr>(attr))
    return cast<TypedAttr>(attr);
  (void)fail(name, "must be a number");
  return placeholder;
}

/// The value of an integer or boolean; nothing for another attribute.
static std::optional<int64_t> readInt(Attribute attr) {
  auto integer = dyn_cast_or_null<IntegerAttr>(attr);
  if (!integer)
    return std::nullopt;
  return integer.getType().isInteger(1) ? integer.getValue().getZExtValue()
                                        : integer.getValue().getSExtValue();
}

int64_t NodeArguments::getInt(StringRef name, std::optional<int64_t> standard) {
  Attribute attr = standard ? lookup(name) : require(name);
  if (!attr)
    return standard.value_or(0);
  if (std::optional<int64_t> value = readInt(attr))
    return *value;
  (void)fail(name, "must be an integer");
  return 0;
}

double NodeArguments::getFloat(StringRef name, std::optional<double> standard) {
  Attribute attr = standard ? lookup(name) : require(name);
  if (!attr)
    return standard.value_or(0);
  if (auto number = dyn_cast<FloatAttr>(attr))
    return number.getValueAsDouble();
  if (std::optional<int64_t> value = readInt(attr))
    return static_cast<double>(*value);
  (void)fail(name, "must be a number");
  return 0;
}

bool NodeArguments::getBool(StringRef name, std::optional<bool> standard) {
  Attribute attr = standard ? lookup(name) : require(name);
  if (!attr)
    return standard.value_or(false);
  if (std::optional<int64_t> value = readInt(attr))
    return *value != 0;
  (void)fail(name, "must be a boolean");
  return false;
}

StringRef NodeArguments::getString(StringRef name, StringRef standard) {
  Attribute attr = lookup(name);
  if (!attr)
    return standard;
  if (auto string = dyn_cast<StringAttr>(attr))
    return string.getValue();
  (void)fail(name, "must be a string");
  return standard;
}

SmallVector<int64_t> NodeArguments::getInts(StringRef name) {
  SmallVector<int64_t> values;
  Attribute attr = require(name);
  if (!attr)
    return values;
  // One number may stand for a list of one.
  SmallVector<Attribute> elements(1, attr);
  if (auto list = dyn_cast<ArrayAttr>(attr))
    elements.assign(list.begin(), list.end());
  for (Attribute element : elements) {
    if (std::optional<int64_t> value = readInt(element)) {
      values.push_back(*value);
      continue;
    }
    (void)fail(name, "must be a list of integers");
    return {};
  }
  return values;
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

std::optional<int64_t> NodeArguments::normalizeDim(StringRef name, int64_t dim,
                                                   int64_t rank) {
  int64_t limit = std::max<int64_t>(rank, 1);
  if (dim >= -limit && dim < limit)
    return dim < 0 ? dim + limit : dim;
  (void)fail(name, "names dimension " + Twine(dim) + " of a tensor with " +
                       Twine(rank));
  return std::nullopt;
}

int64_t NodeArguments::getDim(StringRef name, int64_t rank,
                              std::optional<int64_t> standard) {
  return normalizeDim(name, getInt(name, standard), rank).value_or(0);
}

SmallVector<int64_t> NodeArguments::getDims(StringRef name, int64_t rank) {
  SmallVector<int64_t> dims;
  for (int64_t given : getInts(name)) {
    std::optional<int64_t> dim = normalizeDim(name, given, rank);
    if (!dim)
      return {};
    if (llvm::is_contained(dims, *dim)) {
      (void)fail(name, "names dimension " + Twine(*dim) + " twice");
      return {};
    }
    dims.push_back(*dim);
  }
  return dims;
}

SmallVector<int64_t> NodeArguments::getReducedDims(StringRef name,
                                                   int64_t rank) {
  SmallVector<int64_t> dims;
  if (has(name))
    dims = getDims(name, rank);
  if (rank == 0)
    return {};
  if (dims.empty())
    return llvm::to_vector(llvm::seq<int64_t>(0, rank));
  llvm::sort(dims);
  return dims;
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

static std::string describe(ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << '[';
  llvm::interleaveComma(shape, stream);
  stream << ']';
  return text;
}

LogicalResult NodeArguments::expectBroadcast(ArrayRef<Tensor> tensors,
                                             ArrayRef<int64_t> shape) {
  for (Tensor tensor : tensors) {
    if (!tensor)
      continue;
    ArrayRef<int64_t> own = tensor.getType().getShape();
    bool fits = own.size() <= shape.size();
    for (size_t i = 0; fits && i < own.size(); ++i)
      fits = own[i] == 1 || own[i] == shape[shape.size() - own.size() + i];
    if (!fits)
      return fail("shape " + describe(own) + " cannot be broadcast to " +
                  describe(shape));
  }
  return failure(hasFailed());
}

LogicalResult NodeArguments::expectRank(StringRef name, Tensor tensor,
                                        int64_t rank) {
  if (hasFailed())
    return failure();
  if (tensor.getType().getRank() == rank)
    return success();
  return fail(name, "must have " + Twine(rank) + " dimensions, got shape " +
                        describe(tensor.getType().getShape()));
}

LogicalResult NodeArguments::expectShape(StringRef name, Tensor tensor,
                                         ArrayRef<int64_t> shape) {
  if (hasFailed())
    return failure();
  if (tensor.getType().getShape() == shape)
    return success();
  return fail(name, "must have shape " + describe(shape) + ", got " +
                        describe(tensor.getType().getShape()));
}

LogicalResult NodeArguments::expectIndices(StringRef name, Tensor tensor) {
  if (hasFailed())
    return failure();
  Type element = tensor.getType().getElementType();
  if (element.isInteger() && !element.isInteger(1))
    return success();
  return fail(name, "must hold integers");
}
