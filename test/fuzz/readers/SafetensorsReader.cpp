//===- SafetensorsReader.cpp - Files of tensors ---------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JsonMutation.h"
#include "MemoryFile.h"
#include "Reader.h"

#include "regather/Execution/Tensors/Safetensors.h"

#include <algorithm>
#include <cstring>

using namespace regather;
using namespace regather::fuzz;

/// What every file of the format begins with.
static constexpr size_t kLengthBytes = 8;

/// Reads all tensors under a type that a step might ask for.
static std::string readTensors(const SafetensorsFile &file) {
  constexpr ElementType kTypes[] = {
      ElementType::F32, ElementType::F64, ElementType::BF16,
      ElementType::F16, ElementType::I1,  ElementType::I8,
      ElementType::I16, ElementType::I32, ElementType::I64};
  std::string why;
  for (const std::string &name : file.getNames()) {
    const Shape *shape = file.getShape(name);
    if (!shape || !file.contains(name))
      reportFind("no tensor of a name that the file gave");
    for (ElementType type : kTypes) {
      Result<HostTensor> tensor = file.read(name, type, *shape);
      if (!tensor)
        why = tensor.getMessage();
      else if (tensor->getNumBytes() !=
               getNumElements(*shape) * getElementSize(type))
        reportFind("a tensor of another size than its shape");
    }
  }
  (void)file.getSegments();
  return why;
}

static std::string readSafetensorsBytes(std::string_view bytes) {
  static MemoryFile input;
  input.write(bytes);
  Result<SafetensorsFile> file = SafetensorsFile::open(input.getPath());
  if (file)
    return readTensors(*file);
  if (file.getMessage().empty())
    reportFind("an error without a message");
  return file.getMessage();
}

/// Changes the header as JSON, and mostly sets its length so that it fits.
static size_t mutateSafetensors(uint8_t *data, size_t size, size_t maxSize,
                                unsigned seed) {
  uint64_t length = 0;
  if (size >= kLengthBytes)
    std::memcpy(&length, data, kLengthBytes);
  if (seed % 4 == 0 || size < kLengthBytes || maxSize < size + kLengthBytes ||
      length > size - kLengthBytes)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::string tail(reinterpret_cast<char *>(data) + kLengthBytes + length,
                   size - kLengthBytes - length);
  length = mutateJson(data + kLengthBytes, length,
                      maxSize - kLengthBytes - tail.size(), seed / 4);
  std::memcpy(data, &length, kLengthBytes);
  std::copy(tail.begin(), tail.end(), data + kLengthBytes + length);
  return kLengthBytes + length + tail.size();
}

const Reader regather::fuzz::safetensorsReader = {
    "safetensors", readSafetensorsBytes, mutateSafetensors};
