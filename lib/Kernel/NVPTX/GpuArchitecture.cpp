//===- GpuArchitecture.cpp - GPUs that code is made for -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/NVPTX/GpuArchitecture.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace regather;

static constexpr nvptx::GpuArchitecture kArchitectures[] = {
    {"sm_80", "+ptx80"}, {"sm_90a", "+ptx80"}, {"sm_100a", "+ptx86"}};

int nvptx::GpuArchitecture::getNumber() const {
  int number = 0;
  llvm::StringRef digits = name.drop_until(llvm::isDigit);
  digits.consumeInteger(10, number);
  return number;
}

llvm::ArrayRef<nvptx::GpuArchitecture> nvptx::getGpuArchitectures() {
  return kArchitectures;
}

const nvptx::GpuArchitecture *nvptx::findGpuArchitecture(llvm::StringRef name) {
  const auto *found =
      llvm::find_if(kArchitectures, [&](const GpuArchitecture &known) {
        return known.name == name;
      });
  return found == std::end(kArchitectures) ? nullptr : found;
}

const nvptx::GpuArchitecture *nvptx::chooseGpuArchitecture(int number) {
  const GpuArchitecture *best = nullptr;
  for (const GpuArchitecture &known : kArchitectures) {
    bool runs = known.isSpecific() ? known.getNumber() == number
                                   : known.getNumber() <= number;
    if (runs && (!best || best->getNumber() < known.getNumber()))
      best = &known;
  }
  return best;
}

llvm::Expected<std::vector<const nvptx::GpuArchitecture *>>
nvptx::parseGpuArchitectures(llvm::StringRef list) {
  std::vector<const GpuArchitecture *> architectures;
  for (llvm::StringRef name : llvm::split(list, ',')) {
    const GpuArchitecture *found = findGpuArchitecture(name);
    if (!found)
      return llvm::createStringError("unknown architecture '" + name + "'");
    if (llvm::is_contained(architectures, found))
      return llvm::createStringError("architecture '" + name +
                                     "' is named twice");
    architectures.push_back(found);
  }
  return architectures;
}
