//===- FlatMembers.cpp - Flat values and the tensors in files -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Tensors/StepSignature.h"

#include <cstring>

using namespace regather;

std::vector<StepValue> StepValue::getFileValues() const {
  if (members.empty())
    return {*this};
  std::vector<StepValue> values;
  for (const StepMember &member : members) {
    StepValue &value = values.emplace_back();
    value.name = member.name;
    value.role = role;
    value.elementType = elementType;
    value.localShape = value.globalShape = member.shape;
  }
  return values;
}

HostTensor regather::joinMembers(const StepValue &value,
                                 const std::vector<HostTensor> &members) {
  HostTensor flat = HostTensor::zeros(value.elementType, value.globalShape);
  int64_t elementSize = getElementSize(value.elementType);
  for (size_t i = 0; i < members.size(); ++i)
    std::memcpy(flat.getData() + value.members[i].offset * elementSize,
                members[i].getData(), members[i].getNumBytes());
  return flat;
}

std::vector<HostTensor> regather::splitMembers(const StepValue &value,
                                               const HostTensor &global) {
  std::vector<HostTensor> tensors;
  int64_t elementSize = getElementSize(value.elementType);
  for (const StepMember &member : value.members) {
    HostTensor &tensor = tensors.emplace_back(
        HostTensor::uninitialized(value.elementType, member.shape));
    std::memcpy(tensor.getData(),
                global.getData() + member.offset * elementSize,
                tensor.getNumBytes());
  }
  return tensors;
}
