//===- LoadStep.cpp - Code of a step in this process ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Program/LoadStep.h"

#include "llvm/ADT/StringSet.h"

using namespace regather;

llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>>
regather::loadStep(CompiledStep &step) {
  if (step.kernels.empty())
    return nullptr;
  auto created = llvm::orc::LLJITBuilder()
                     // Kernels have no initialisers.
                     .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                     .create();
  if (!created)
    return created.takeError();
  std::unique_ptr<llvm::orc::LLJIT> jit = std::move(*created);
  llvm::StringSet<> loaded;
  for (cpu::KernelCode &kernel : step.kernels)
    if (loaded.insert(kernel.symbol).second)
      if (llvm::Error error = jit->addObjectFile(std::move(kernel.object)))
        return error;
  for (auto [i, kernel] : llvm::enumerate(step.kernels)) {
    auto address = jit->lookup(kernel.symbol);
    if (!address)
      return address.takeError();
    step.tables->setKernel(i, address->toPtr<rg_kernel_function>(), kernel.rows,
                           kernel.grain, kernel.scratchBytes);
  }
  return jit;
}
