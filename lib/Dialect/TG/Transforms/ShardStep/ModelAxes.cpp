//===- ModelAxes.cpp - Axes that do not split the batch -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Transforms/ModelAxes.h"

#include "regather/Support/MeshText.h"

#include "llvm/ADT/STLExtras.h"

using llvm::ArrayRef;
using llvm::StringRef;

StringRef regather::tg::getAnnotatedAxis(StringRef annotation) {
  StringRef placement = annotation.rsplit('=').second.trim();
  if (!placement.consume_front("[") || !placement.contains(']'))
    return StringRef();
  return placement.split(']').first.trim();
}

std::vector<std::string>
regather::tg::findModelAxes(ArrayRef<std::string> mesh,
                            ArrayRef<std::string> annotations,
                            ArrayRef<std::string> dataAxes) {
  std::vector<std::string> axes;
  for (const std::string &text : mesh) {
    auto axis = parseMeshAxis(text);
    if (!axis)
      continue;
    StringRef name = axis->first;
    bool isNamed =
        llvm::any_of(annotations, [&](const std::string &annotation) {
          return getAnnotatedAxis(annotation) == name;
        });
    bool isKnown = llvm::is_contained({"tp", "cp", "ep"}, name) &&
                   !is_contained(dataAxes, name);
    if (isNamed || isKnown)
      axes.push_back(name.str());
  }
  return axes;
}
