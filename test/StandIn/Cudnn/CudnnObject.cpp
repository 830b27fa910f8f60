//===- CudnnObject.cpp - Descriptors of the stand-in for cuDNN ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudnnObject.h"

#include <algorithm>
#include <set>

using namespace regather::runtime;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

namespace {
struct AttributeRule {
  int descriptor, name, type;
  int64_t minCount, maxCount;
  bool isRequired;
};
} // namespace

static constexpr int64_t kMany = 1 << 20;

/// Which attributes descriptors have, from the documentation of the library.
static constexpr AttributeRule kRules[] = {
    {kDnnTensor, kDnnTensorId, kDnnTypeInt64, 1, 1, true},
    {kDnnTensor, kDnnTensorType, kDnnTypeDataType, 1, 1, true},
    {kDnnTensor, kDnnTensorAlignment, kDnnTypeInt64, 1, 1, true},
    {kDnnTensor, kDnnTensorSizes, kDnnTypeInt64, 1, 8, true},
    {kDnnTensor, kDnnTensorStrides, kDnnTypeInt64, 1, 8, true},
    {kDnnTensor, kDnnTensorIsVirtual, kDnnTypeBoolean, 1, 1, false},
    {kDnnTensor, kDnnTensorIsByValue, kDnnTypeBoolean, 1, 1, false},
    {kDnnPointwise, kDnnPointwiseMode, kDnnTypePointwiseMode, 1, 1, true},
    {kDnnPointwise, kDnnPointwiseMathType, kDnnTypeDataType, 1, 1, true},
    {kDnnPointwise, kDnnPointwiseAxis, kDnnTypeInt64, 1, 1, false},
    {kDnnPointwiseOperation, kDnnPointwiseDesc, kDnnTypeDescriptor, 1, 1, true},
    {kDnnPointwiseOperation, kDnnPointwiseX, kDnnTypeDescriptor, 1, 1, true},
    {kDnnPointwiseOperation, kDnnPointwiseB, kDnnTypeDescriptor, 1, 1, false},
    {kDnnPointwiseOperation, kDnnPointwiseT, kDnnTypeDescriptor, 1, 1, false},
    {kDnnPointwiseOperation, kDnnPointwiseY, kDnnTypeDescriptor, 1, 1, true},
    {kDnnMatmul, kDnnMatmulMathType, kDnnTypeDataType, 1, 1, true},
    {kDnnMatmulOperation, kDnnMatmulDesc, kDnnTypeDescriptor, 1, 1, true},
    {kDnnMatmulOperation, kDnnMatmulA, kDnnTypeDescriptor, 1, 1, true},
    {kDnnMatmulOperation, kDnnMatmulB, kDnnTypeDescriptor, 1, 1, true},
    {kDnnMatmulOperation, kDnnMatmulC, kDnnTypeDescriptor, 1, 1, true},
    {kDnnReduction, kDnnReductionOperator, kDnnTypeReductionOperator, 1, 1,
     true},
    {kDnnReduction, kDnnReductionMathType, kDnnTypeDataType, 1, 1, true},
    {kDnnReductionOperation, kDnnReductionDesc, kDnnTypeDescriptor, 1, 1, true},
    {kDnnReductionOperation, kDnnReductionX, kDnnTypeDescriptor, 1, 1, true},
    {kDnnReductionOperation, kDnnReductionY, kDnnTypeDescriptor, 1, 1, true},
    {kDnnReshapeOperation, kDnnReshapeX, kDnnTypeDescriptor, 1, 1, true},
    {kDnnReshapeOperation, kDnnReshapeY, kDnnTypeDescriptor, 1, 1, true},
    {kDnnOperationGraph, kDnnGraphHandle, kDnnTypeHandle, 1, 1, false},
    {kDnnOperationGraph, kDnnGraphOperations, kDnnTypeDescriptor, 1, kMany,
     true},
    {kDnnEngine, kDnnEngineGraph, kDnnTypeDescriptor, 1, 1, true},
    {kDnnEngine, kDnnEngineIndex, kDnnTypeInt64, 1, 1, true},
    {kDnnHeuristic, kDnnHeuristicGraph, kDnnTypeDescriptor, 1, 1, true},
    {kDnnHeuristic, kDnnHeuristicMode, kDnnTypeHeuristicMode, 1, 1, true},
    {kDnnKnobChoice, kDnnKnobType, kDnnTypeKnobType, 1, 1, true},
    {kDnnKnobChoice, kDnnKnobValue, kDnnTypeInt64, 1, 1, true},
    {kDnnEngineConfig, kDnnConfigEngine, kDnnTypeDescriptor, 1, 1, true},
    {kDnnEngineConfig, kDnnConfigKnobChoices, kDnnTypeDescriptor, 0, kMany,
     false},
    {kDnnExecutionPlan, kDnnPlanHandle, kDnnTypeHandle, 1, 1, true},
    {kDnnExecutionPlan, kDnnPlanConfig, kDnnTypeDescriptor, 1, 1, true},
    {kDnnVariantPack, kDnnPackIds, kDnnTypeInt64, 0, kMany, true},
    {kDnnVariantPack, kDnnPackPointers, kDnnTypePointer, 0, kMany, true},
    {kDnnVariantPack, kDnnPackWorkspace, kDnnTypePointer, 1, 1, true}};

static size_t getAttributeBytes(int type) {
  switch (type) {
  case kDnnTypeBoolean:
    return sizeof(bool);
  case kDnnTypeInt64:
  case kDnnTypeHandle:
  case kDnnTypePointer:
  case kDnnTypeDescriptor:
    return sizeof(int64_t);
  default:
    return sizeof(int32_t);
  }
}

const char *CudnnObject::set(int name, int attributeType, int64_t count,
                             const void *elements) {
  const auto *rule = std::find_if(
      std::begin(kRules), std::end(kRules), [&](const AttributeRule &rule) {
        return rule.descriptor == type && rule.name == name;
      });
  if (rule == std::end(kRules))
    return "the descriptor has no such attribute";
  if (finalized)
    return "the descriptor is finalized";
  if (attributeType != rule->type)
    return "the attribute has another type";
  if (count < rule->minCount || count > rule->maxCount || !elements)
    return "the attribute has another number of elements";
  if (attributeType == kDnnTypeDescriptor)
    for (int64_t i = 0; i < count; ++i) {
      const auto *element = static_cast<const CudnnObject *>(
          static_cast<const DnnDescriptor *>(elements)[i]);
      if (!element || !element->isFinalized())
        return "a descriptor is not finalized";
    }
  const auto *bytes = static_cast<const char *>(elements);
  attributes[name] = {bytes,
                      bytes + size_t(count) * getAttributeBytes(attributeType)};
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Objects
//===----------------------------------------------------------------------===//

HostTensor CudnnObject::getTensor() const {
  HostTensor tensor;
  tensor.id = getOne<int64_t>(kDnnTensorId);
  tensor.type = getOne<int>(kDnnTensorType);
  tensor.alignment = getOne<int64_t>(kDnnTensorAlignment);
  std::vector<int64_t> sizes = get<int64_t>(kDnnTensorSizes);
  std::vector<int64_t> strides = get<int64_t>(kDnnTensorStrides);
  std::copy_n(sizes.begin(), std::min(sizes.size(), tensor.sizes.size()),
              tensor.sizes.begin());
  std::copy_n(strides.begin(), std::min(strides.size(), tensor.strides.size()),
              tensor.strides.begin());
  tensor.isVirtual = getOne<char>(kDnnTensorIsVirtual) != 0;
  tensor.isByValue = getOne<char>(kDnnTensorIsByValue) != 0;
  return tensor;
}

HostOperation CudnnObject::getOperation() const {
  HostOperation op;
  op.kind = type;
  auto assign = [this](HostTensor &operand, int name) {
    if (const CudnnObject *tensor = follow(name))
      operand = tensor->getTensor();
  };
  switch (type) {
  case kDnnMatmulOperation:
    assign(op.x, kDnnMatmulA);
    assign(op.b, kDnnMatmulB);
    assign(op.y, kDnnMatmulC);
    break;
  case kDnnReductionOperation:
    op.mode = follow(kDnnReductionDesc)->getOne<int>(kDnnReductionOperator);
    assign(op.x, kDnnReductionX);
    assign(op.y, kDnnReductionY);
    break;
  case kDnnReshapeOperation:
    assign(op.x, kDnnReshapeX);
    assign(op.y, kDnnReshapeY);
    break;
  default:
    op.mode = follow(kDnnPointwiseDesc)->getOne<int>(kDnnPointwiseMode);
    op.axis = follow(kDnnPointwiseDesc)->getOne<int64_t>(kDnnPointwiseAxis, -1);
    assign(op.x, kDnnPointwiseX);
    assign(op.b, kDnnPointwiseB);
    assign(op.t, kDnnPointwiseT);
    assign(op.y, kDnnPointwiseY);
  }
  return op;
}

HostGraph CudnnObject::getGraph() const {
  HostGraph graph;
  for (DnnDescriptor operation : get<DnnDescriptor>(kDnnGraphOperations))
    graph.operations.push_back(
        static_cast<const CudnnObject *>(operation)->getOperation());
  return graph;
}

//===----------------------------------------------------------------------===//
// Finalization
//===----------------------------------------------------------------------===//

static const char *findTensorProblem(const CudnnObject &object) {
  constexpr size_t kRank = DnnShape().size();
  HostTensor tensor = object.getTensor();
  if (object.get<int64_t>(kDnnTensorSizes).size() != kRank ||
      object.get<int64_t>(kDnnTensorStrides).size() != kRank)
    return "a tensor has not four dimensions";
  if (std::min_element(tensor.sizes.begin(), tensor.sizes.end())[0] < 1 ||
      std::min_element(tensor.strides.begin(), tensor.strides.end())[0] < 1)
    return "a size or a stride is not positive";
  if (tensor.alignment < 1 || (tensor.alignment & (tensor.alignment - 1)))
    return "an alignment is no power of two";
  if (tensor.isVirtual && tensor.isByValue)
    return "a virtual tensor is given by value";
  return nullptr;
}

static const char *findPackProblem(const CudnnObject &object) {
  std::vector<int64_t> ids = object.get<int64_t>(kDnnPackIds);
  if (ids.size() != object.get<void *>(kDnnPackPointers).size())
    return "not every tensor has a pointer";
  if (std::set<int64_t>(ids.begin(), ids.end()).size() != ids.size())
    return "a tensor has two pointers";
  return nullptr;
}

const char *CudnnObject::findProblem() const {
  for (const AttributeRule &rule : kRules)
    if (rule.descriptor == type && rule.isRequired &&
        !attributes.count(rule.name))
      return "a required attribute is missing";
  switch (type) {
  case kDnnTensor:
    return findTensorProblem(*this);
  case kDnnMatmulOperation:
  case kDnnPointwiseOperation:
  case kDnnReductionOperation:
  case kDnnReshapeOperation:
    return getOperation().findProblem();
  case kDnnOperationGraph:
    return getGraph().findProblem();
  case kDnnVariantPack:
    return findPackProblem(*this);
  default:
    return nullptr;
  }
}

const char *CudnnObject::finalize() {
  const char *problem = findProblem();
  finalized = !problem;
  return problem;
}
