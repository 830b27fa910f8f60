//===- Fingerprint.cpp - What ranks have to agree on ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Steps/Fingerprint.h"

#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;

uint64_t tg::getCommunicationFingerprint(FunctionOpInterface func) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  func.walk([&](CollectiveOpInterface op) {
    stream << op->getName() << ' ';
    for (StringAttr name : op->getName().getAttributeNames())
      if (std::optional<Attribute> value = op->getInherentAttr(name);
          value && *value)
        stream << name.getValue() << '=' << *value << ' ';
    MeshOp mesh = lookupMesh(op, op.getMeshAttr());
    stream << mesh.getAxes() << ' ' << mesh.getSizesAttr() << ' ';
    llvm::interleaveComma(op.getInputs().getTypes(), stream);
    stream << " -> " << op.getFuture().getType() << '\n';
  });
  return llvm::xxh3_64bits(text);
}
