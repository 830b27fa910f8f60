//===- ManifestCheck.cpp - Whether a manifest fits together ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ManifestCheck.h"

#include "../Tensors/StepText.h"

#include <algorithm>
#include <set>

using namespace regather;

/// Ranks are counted in 32 bits.
static constexpr int64_t kMaxRanks = INT32_MAX;

static Failure checkMesh(const StepSignature &step) {
  if (step.ranks < 1 || step.ranks > kMaxRanks)
    return Failure("it has " + std::to_string(step.ranks) + " ranks");
  if (!step.mesh)
    return Failure();
  int64_t ranks = 1;
  std::set<std::string> names;
  for (size_t i = 0; i < step.mesh->axes.size(); ++i) {
    const std::string &name = step.mesh->axes[i];
    int64_t size = step.mesh->sizes[i];
    if (!names.insert(name).second)
      return Failure("two axes are called " + quote(name));
    if (size < 1 || size > kMaxRanks / ranks)
      return Failure("axis " + quote(name) + " has " + std::to_string(size) +
                     " ranks");
    ranks *= size;
  }
  if (ranks != step.ranks)
    return Failure("its mesh has " + std::to_string(ranks) +
                   " ranks, but the step " + std::to_string(step.ranks));
  return Failure();
}

/// Checks that the shards of all ranks make up the global tensor.
static Failure checkPlacement(const StepValue &value,
                              const StepSignature &step) {
  size_t rank = value.localShape.size();
  if (value.globalShape.size() != rank)
    return Failure("has " + std::to_string(rank) +
                   " dimensions on each rank, but " +
                   std::to_string(value.globalShape.size()) + " in all");
  Shape shards(rank, 1);
  std::set<unsigned> used;
  for (const AxisPlacement &part : value.placement) {
    if (part.axes.empty())
      return Failure("is placed along no axis");
    int64_t count = 1;
    for (unsigned axis : part.axes) {
      if (!used.insert(axis).second)
        return Failure("is placed twice along axis " +
                       quote(step.mesh->axes[axis]));
      count *= step.mesh->sizes[axis];
    }
    if (!part.dim)
      continue;
    if (*part.dim < 0 || *part.dim >= static_cast<int64_t>(rank))
      return Failure("is cut along dimension " + std::to_string(*part.dim) +
                     " of " + std::to_string(rank));
    if (shards[*part.dim] != 1)
      return Failure("is cut twice along dimension " +
                     std::to_string(*part.dim));
    shards[*part.dim] = count;
  }
  for (size_t d = 0; d < rank; ++d) {
    int64_t whole = value.globalShape[d];
    int64_t expected = whole / shards[d] + (whole % shards[d] != 0);
    if (value.localShape[d] != expected)
      return Failure("has " + std::to_string(whole) + " in dimension " +
                     std::to_string(d) + ", of which each of " +
                     std::to_string(shards[d]) + " shards has " +
                     std::to_string(expected) + ", not " +
                     std::to_string(value.localShape[d]));
  }
  return Failure();
}

static Failure checkMembers(const StepValue &value) {
  if (!value.members.empty() && value.globalShape.size() != 1)
    return Failure("has members, but " +
                   std::to_string(value.globalShape.size()) + " dimensions");
  for (const StepMember &member : value.members) {
    int64_t size = value.globalShape.front();
    bool isShape = std::all_of(member.shape.begin(), member.shape.end(),
                               [](int64_t d) { return d >= 0; });
    if (!isShape || !isAddressable(member.shape, value.elementType) ||
        member.offset < 0 || member.offset > size ||
        getNumElements(member.shape) > size - member.offset)
      return Failure("has no room for member " + quote(member.name));
  }
  return Failure();
}

/// Checks that a value of a role that is one number is one.
static Failure checkScalar(const StepValue &value) {
  bool isInteger = value.role == Role::Step || value.role == Role::Overflow;
  if (!isInteger && value.role != Role::LearningRate &&
      value.role != Role::Loss)
    return Failure();
  if (getNumElements(value.localShape) != 1 || !value.members.empty())
    return Failure("is no single number, as its role demands");
  if (isInteger ? value.elementType != ElementType::I64
                : !isFloat(value.elementType))
    return Failure("has another type than its role demands");
  return Failure();
}

static Failure checkValue(const StepValue &value, const StepSignature &step) {
  for (const Shape *shape : {&value.localShape, &value.globalShape})
    if (std::any_of(shape->begin(), shape->end(),
                    [](int64_t d) { return d < 0; }) ||
        !isAddressable(*shape, value.elementType))
      return Failure("has a shape that no memory can hold");
  Failure failure = checkPlacement(value, step);
  if (!failure)
    failure = checkMembers(value);
  if (!failure)
    failure = checkScalar(value);
  return failure;
}

/// Checks the argument that a result belongs to.
static Failure checkOwner(const StepValue &result, const StepSignature &step) {
  bool isUpdate = result.role == Role::Update;
  if (!isUpdate && result.role != Role::Gradient)
    return Failure();
  if (result.argument < 0 ||
      result.argument >= static_cast<int64_t>(step.arguments.size()))
    return Failure("belongs to argument " + std::to_string(result.argument) +
                   " of " + std::to_string(step.arguments.size()));
  const StepValue &argument = step.arguments[result.argument];
  if (isUpdate && (result.elementType != argument.elementType ||
                   result.localShape != argument.localShape))
    return Failure("updates " + quote(argument.name) +
                   ", which has another type");
  return Failure();
}

/// Checks arguments, or results, and that files can tell them apart.
static Failure checkValues(const char *kind,
                           const std::vector<StepValue> &values,
                           const StepSignature &step) {
  std::set<std::string> names;
  for (const StepValue &value : values) {
    Failure failure = checkValue(value, step);
    if (!failure && kind[0] == 'r')
      failure = checkOwner(value, step);
    if (failure)
      return Failure(kind + (" " + quote(value.name)) + " " +
                     failure.getMessage());
    for (const StepValue &inFile : value.getFileValues())
      if (!names.insert(inFile.name).second)
        return Failure(std::string("two of its ") + kind + "s are called " +
                       quote(inFile.name));
  }
  return Failure();
}

Failure regather::checkSignature(const StepSignature &step) {
  Failure failure = checkMesh(step);
  if (!failure)
    failure = checkValues("argument", step.arguments, step);
  if (!failure)
    failure = checkValues("result", step.results, step);
  return failure;
}
