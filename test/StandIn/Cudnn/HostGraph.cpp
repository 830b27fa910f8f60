//===- HostGraph.cpp - A graph of cuDNN on the host -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostGraph.h"

#include "regather/Support/Half.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

using namespace regather::runtime;

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

static int64_t getElementBytes(int type) {
  return type == kDnnF16 || type == kDnnBF16 ? 2 : 4;
}

int64_t HostTensor::getNumElements() const {
  return sizes[0] * sizes[1] * sizes[2] * sizes[3];
}

int64_t HostTensor::getNumSpanned() const {
  int64_t last = 0;
  for (size_t i = 0; i < sizes.size(); ++i)
    last += (sizes[i] - 1) * strides[i];
  return last + 1;
}

DeviceRange HostTensor::getRange(const void *data) const {
  return {reinterpret_cast<CuAddress>(data),
          uint64_t(getNumSpanned() * getElementBytes(type))};
}

/// Position in row-major order of an index; what has one element is repeated,
/// and heads that are fewer serve as many others each.
static size_t getPosition(const DnnShape &sizes, const DnnShape &index,
                          const DnnShape &range) {
  size_t position = 0;
  for (size_t i = 0; i < sizes.size(); ++i)
    position =
        position * size_t(sizes[i]) + size_t(index[i] / (range[i] / sizes[i]));
  return position;
}

/// Calls `visit` with each index, in row-major order.
template <typename Visit>
static void forEach(const DnnShape &sizes, Visit visit) {
  DnnShape index = {};
  for (index[0] = 0; index[0] < sizes[0]; ++index[0])
    for (index[1] = 0; index[1] < sizes[1]; ++index[1])
      for (index[2] = 0; index[2] < sizes[2]; ++index[2])
        for (index[3] = 0; index[3] < sizes[3]; ++index[3])
          visit(index);
}

static int64_t getOffset(const HostTensor &tensor, const DnnShape &index) {
  int64_t offset = 0;
  for (size_t i = 0; i < index.size(); ++i)
    offset += index[i] * tensor.strides[i];
  return offset;
}

static float roundTo(int type, float value) {
  switch (type) {
  case kDnnBF16:
    return fromBF16(toBF16(value));
  case kDnnF16:
    return fromF16(toF16(value));
  default:
    return value;
  }
}

static std::vector<float> load(const HostTensor &tensor, const void *data) {
  std::vector<float> values;
  values.reserve(size_t(tensor.getNumElements()));
  forEach(tensor.sizes, [&](const DnnShape &index) {
    int64_t offset = getOffset(tensor, index);
    if (tensor.type == kDnnF32)
      values.push_back(static_cast<const float *>(data)[offset]);
    else if (tensor.type == kDnnBF16)
      values.push_back(fromBF16(static_cast<const uint16_t *>(data)[offset]));
    else
      values.push_back(fromF16(static_cast<const uint16_t *>(data)[offset]));
  });
  return values;
}

static void store(const HostTensor &tensor, const std::vector<float> &values,
                  void *data) {
  auto value = values.begin();
  forEach(tensor.sizes, [&](const DnnShape &index) {
    int64_t offset = getOffset(tensor, index);
    if (tensor.type == kDnnF32)
      static_cast<float *>(data)[offset] = *value++;
    else
      static_cast<uint16_t *>(data)[offset] =
          tensor.type == kDnnBF16 ? toBF16(*value++) : toF16(*value++);
  });
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// True if each size of a part divides that of the whole.
static bool divides(const DnnShape &part, const DnnShape &whole) {
  for (size_t i = 0; i < part.size(); ++i)
    if (whole[i] % part[i] != 0)
      return false;
  return true;
}

/// True if each size is 1 or that of the whole.
static bool broadcasts(const DnnShape &part, const DnnShape &whole) {
  for (size_t i = 0; i < part.size(); ++i)
    if (part[i] != 1 && part[i] != whole[i])
      return false;
  return true;
}

static int getNumInputs(int mode) {
  switch (mode) {
  case kDnnSelect:
    return 3;
  case kDnnExp:
  case kDnnLog:
  case kDnnIdentity:
  case kDnnIndexAlong:
    return 1;
  default:
    return 2;
  }
}

static const char *findMatmulProblem(const HostOperation &op) {
  const DnnShape &a = op.x.sizes, &b = op.b.sizes, &c = op.y.sizes;
  if (a[0] != c[0] || a[1] != c[1] || c[0] % b[0] != 0 || c[1] % b[1] != 0)
    return "batches of a product do not go together";
  if (a[2] != c[2] || b[3] != c[3] || a[3] != b[2])
    return "sizes of a product do not go together";
  return nullptr;
}

static const char *findPointwiseProblem(const HostOperation &op) {
  int inputs = 1 + int(op.has(op.b)) + int(op.has(op.t));
  if (inputs != getNumInputs(op.mode))
    return "a pointwise operation has another number of inputs";
  if ((op.mode == kDnnIndexAlong) != (op.axis >= 0))
    return "only indices are taken along an axis";
  if (op.x.sizes != op.y.sizes)
    return "a pointwise operation changes sizes";
  for (const HostTensor *operand : {&op.b, &op.t})
    if (op.has(*operand) && !broadcasts(operand->sizes, op.y.sizes))
      return "an operand of a pointwise operation has other sizes";
  if (op.mode == kDnnSelect && op.t.type != kDnnBoolean)
    return "what selects is no truth value";
  return nullptr;
}

const char *HostOperation::findProblem() const {
  switch (kind) {
  case kDnnMatmulOperation:
    return findMatmulProblem(*this);
  case kDnnPointwiseOperation:
    return findPointwiseProblem(*this);
  case kDnnReductionOperation:
    return divides(y.sizes, x.sizes) ? nullptr : "sizes do not reduce evenly";
  default:
    return x.getNumElements() == y.getNumElements() &&
                   x.getNumSpanned() == y.getNumSpanned()
               ? nullptr
               : "a reshape is no view of its input";
  }
}

const char *HostGraph::findProblem() const {
  std::set<int64_t> written;
  for (const HostOperation &op : operations) {
    if (op.y.isByValue)
      return "an operation writes a number that is given by value";
    if (!written.insert(op.y.id).second)
      return "two operations write one tensor";
  }
  for (const HostOperation &op : operations)
    for (const HostTensor *operand : {&op.x, &op.b, &op.t})
      if (operand->isVirtual && !written.count(operand->id))
        return "nothing writes a virtual tensor";
  return nullptr;
}

std::map<int64_t, HostTensor> HostGraph::getTensors() const {
  std::map<int64_t, HostTensor> tensors;
  for (const HostOperation &op : operations)
    for (const HostTensor *tensor : {&op.x, &op.b, &op.t, &op.y})
      if (tensor->id && !tensor->isVirtual)
        tensors[tensor->id] = *tensor;
  return tensors;
}

bool HostGraph::isWritten(int64_t id) const {
  return std::any_of(operations.begin(), operations.end(),
                     [id](const HostOperation &op) { return op.y.id == id; });
}

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

using Values = std::vector<float>;

static Values multiply(const HostOperation &op, const Values &a,
                       const Values &b) {
  const DnnShape &sizes = op.y.sizes;
  size_t depth = size_t(op.x.sizes[3]), width = size_t(sizes[3]);
  Values c;
  c.reserve(size_t(op.y.getNumElements()));
  std::vector<double> row(width);
  // Rows of A and C follow each other; B may have fewer heads.
  DnnShape range = {sizes[0], sizes[1], op.b.sizes[2], op.b.sizes[3]};
  const float *factor = a.data();
  forEach({sizes[0], sizes[1], sizes[2], 1}, [&](const DnnShape &index) {
    const float *matrix =
        &b[getPosition(op.b.sizes, {index[0], index[1], 0, 0}, range)];
    std::fill(row.begin(), row.end(), 0);
    for (size_t k = 0; k < depth; ++k, ++factor)
      for (size_t j = 0; j < width; ++j)
        row[j] += double(*factor) * matrix[k * width + j];
    c.insert(c.end(), row.begin(), row.end());
  });
  return c;
}

static float apply(const HostOperation &op, float x, float b, float t,
                   const DnnShape &index) {
  switch (op.mode) {
  case kDnnAdd:
    return x + b;
  case kDnnSub:
    return x - b;
  case kDnnMul:
    return x * b;
  case kDnnDiv:
    return x / b;
  case kDnnExp:
    return std::exp(x);
  case kDnnLog:
    return std::log(x);
  case kDnnIdentity:
    return x;
  case kDnnGreaterOrEqual:
    return x >= b ? 1 : 0;
  case kDnnIndexAlong:
    return float(index[size_t(op.axis)]);
  case kDnnSelect:
    return t != 0 ? x : b;
  default:
    return std::numeric_limits<float>::quiet_NaN();
  }
}

static Values reduce(const HostOperation &op, const Values &x) {
  bool isMax = op.mode == kDnnReduceMax;
  std::vector<double> sums(size_t(op.y.getNumElements()),
                           isMax ? -std::numeric_limits<double>::infinity()
                                 : 0);
  size_t position = 0;
  forEach(op.x.sizes, [&](const DnnShape &index) {
    double &sum = sums[getPosition(op.y.sizes, index, op.x.sizes)];
    double value = x[position++];
    sum = isMax ? std::max(sum, value) : sum + value;
  });
  return {sums.begin(), sums.end()};
}

/// Through memory, where both have their strides.
static Values reshape(const HostOperation &op, const Values &x) {
  Values memory(size_t(op.x.getNumSpanned()));
  Values y;
  size_t position = 0;
  forEach(op.x.sizes, [&](const DnnShape &index) {
    memory[size_t(getOffset(op.x, index))] = x[position++];
  });
  forEach(op.y.sizes, [&](const DnnShape &index) {
    y.push_back(memory[size_t(getOffset(op.y, index))]);
  });
  return y;
}

static Values compute(const HostOperation &op, const Values &x, const Values &b,
                      const Values &t) {
  switch (op.kind) {
  case kDnnMatmulOperation:
    return multiply(op, x, b);
  case kDnnReductionOperation:
    return reduce(op, x);
  case kDnnReshapeOperation:
    return reshape(op, x);
  default:
    break;
  }
  Values y;
  y.reserve(x.size());
  auto get = [&](const HostTensor &tensor, const Values &values,
                 const DnnShape &index) {
    return op.has(tensor) ? values[getPosition(tensor.sizes, index, op.y.sizes)]
                          : 0;
  };
  forEach(op.y.sizes, [&](const DnnShape &index) {
    y.push_back(apply(op, x[y.size()], get(op.b, b, index), get(op.t, t, index),
                      index));
  });
  return y;
}

void HostGraph::run(const std::map<int64_t, void *> &pointers,
                    const std::map<int64_t, float> &scalars) const {
  std::map<int64_t, Values> values;
  for (const auto &[id, scalar] : scalars)
    values[id] = {scalar};
  for (const auto &[id, tensor] : getTensors())
    if (!tensor.isByValue && !isWritten(id))
      values[id] = load(tensor, pointers.at(id));
  // The library orders operations itself.
  std::vector<const HostOperation *> waiting;
  for (const HostOperation &op : operations)
    waiting.push_back(&op);
  while (!waiting.empty()) {
    auto isReady = [&](const HostOperation *op) {
      for (const HostTensor *operand : {&op->x, &op->b, &op->t})
        if (op->has(*operand) && !values.count(operand->id))
          return false;
      return true;
    };
    auto next = std::find_if(waiting.begin(), waiting.end(), isReady);
    if (next == waiting.end())
      return;
    const HostOperation &op = **next;
    waiting.erase(next);
    Values result =
        compute(op, values[op.x.id], values[op.b.id], values[op.t.id]);
    for (float &value : result)
      value = roundTo(op.y.type, value);
    if (!op.y.isVirtual)
      store(op.y, result, pointers.at(op.y.id));
    values[op.y.id] = std::move(result);
  }
}
