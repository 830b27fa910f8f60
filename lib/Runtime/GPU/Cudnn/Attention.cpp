//===- Attention.cpp - One attention by cuDNN -----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attention.h"

using namespace regather::runtime;
using regather::Failure;
using regather::Result;

Failure CudnnAttention::prepare(const rg_attention_desc &desc,
                                const CudnnAttentionPlan &plan,
                                const DnnEngineChoice &pinned) {
  Result<std::unique_ptr<CudnnAttentionGraph>> built =
      buildCudnnAttention(api, target, desc, plan.gradient);
  if (!built)
    return built.getFailure();
  graph = std::move(*built);
  auto attempt = [&](const DnnEngineChoice &wanted) {
    computation = std::make_unique<CudnnPlan>(api, target);
    return computation->prepare(graph->graph, wanted);
  };
  if (plan.engine.engine >= 0)
    return attempt(plan.engine);
  if (pinned.engine >= 0 && !attempt(pinned))
    return Failure();
  return attempt({});
}

DnnDescriptor CudnnAttention::getPack(const CuAddress *buffers,
                                      CuAddress workspace) {
  std::vector<CuAddress> addresses;
  std::vector<DnnTensor> numbers;
  for (DnnBoundTensor &tensor : graph->tensors) {
    numbers.push_back(tensor.tensor);
    if (tensor.space == DnnBoundTensor::Space::Scalar)
      // Memory of the host, which stays where it is.
      addresses.push_back(reinterpret_cast<CuAddress>(&tensor.value));
    else
      addresses.push_back((tensor.space == DnnBoundTensor::Space::Buffer
                               ? buffers[tensor.buffer]
                               : workspace) +
                          CuAddress(tensor.offset));
  }
  CuAddress own = workspace + CuAddress(graph->scratchBytes);
  addresses.push_back(own);
  auto [it, isNew] = knownPacks.try_emplace(addresses, nullptr);
  if (!isNew)
    return it->second;
  DnnDescriptor pack = packs.create(kDnnVariantPack);
  auto count = int64_t(numbers.size());
  packs.set(pack, kDnnPackIds, kDnnTypeInt64, count, numbers.data());
  // Addresses are as large as pointers.
  packs.set(pack, kDnnPackPointers, kDnnTypePointer, count, addresses.data());
  packs.set(pack, kDnnPackWorkspace, kDnnTypePointer, own);
  packs.finalize(pack);
  return it->second = packs.hasFailed() ? nullptr : pack;
}

Failure CudnnAttention::run(const CuAddress *buffers, CuAddress workspace,
                            CuStream stream) {
  DnnDescriptor pack = getPack(buffers, workspace);
  if (!pack)
    return "cuDNN does not take the addresses: " +
           packs.getFailure().getMessage();
  DnnStatus status = api.cudnnSetStream(target.handle, stream);
  if (status == kDnnSuccess)
    status =
        api.cudnnBackendExecute(target.handle, computation->getPlan(), pack);
  if (status == kDnnSuccess)
    return Failure();
  return "cuDNN has failed: " + api.describeError(status);
}
