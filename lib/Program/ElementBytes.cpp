//===- ElementBytes.cpp - Elements as the runtime stores them -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementBytes.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"

#include <cstring>

using namespace mlir;
using namespace regather;

rg_dtype regather::getDtype(Type type) {
  if (type.isF32())
    return RG_F32;
  if (type.isF64())
    return RG_F64;
  if (type.isBF16())
    return RG_BF16;
  if (type.isF16())
    return RG_F16;
  if (type.isIndex())
    return RG_I64;
  switch (type.isInteger() ? type.getIntOrFloatBitWidth() : 0) {
  case 1:
    return RG_I1;
  case 8:
    return RG_I8;
  case 16:
    return RG_I16;
  case 32:
    return RG_I32;
  case 64:
    return RG_I64;
  default:
    // The runtime refuses tables that hold it.
    return RG_DTYPE_AUTO;
  }
}

std::vector<char> regather::getElementBytes(ElementsAttr elements) {
  ShapedType type = elements.getShapedType();
  Type element = type.getElementType();
  size_t size = rg_dtype_size(getDtype(element));
  auto count = static_cast<size_t>(type.getNumElements());
  // Stored as they are, unless elements are bits or all are one.
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(elements))
    if (AsmResourceBlob *blob = resource.getRawHandle().getBlob();
        blob && blob->getData().size() == count * size)
      return std::vector<char>(blob->getData().begin(), blob->getData().end());
  if (auto dense = dyn_cast<DenseElementsAttr>(elements))
    if (!dense.isSplat() && !element.isInteger(1) &&
        dense.getRawData().size() == count * size)
      return std::vector<char>(dense.getRawData().begin(),
                               dense.getRawData().end());
  std::vector<char> bytes;
  bytes.reserve(count * size);
  auto append = [&](const APInt &bits) {
    uint64_t word = bits.getZExtValue();
    const char *first = reinterpret_cast<const char *>(&word);
    bytes.insert(bytes.end(), first, first + size);
  };
  if (isa<FloatType>(element))
    for (const APFloat &value : elements.getValues<APFloat>())
      append(value.bitcastToAPInt());
  else
    for (const APInt &value : elements.getValues<APInt>())
      append(value);
  return bytes;
}
