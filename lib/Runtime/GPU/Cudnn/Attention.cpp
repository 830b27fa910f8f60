//===- Attention.cpp - One attention by cuDNN -----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attention.h"

using namespace regather::runtime;

bool CudnnAttention::prepare(const rg_attention_desc &desc,
                             const CudnnAttentionPlan &plan,
                             const DnnEngineChoice &pinned,
                             std::string &message) {
  graph = buildCudnnAttention(api, target, desc, plan.gradient, message);
  if (!graph)
    return false;
  auto attempt = [&](const DnnEngineChoice &wanted) {
    computation = std::make_unique<CudnnPlan>(api, target);
    return computation->prepare(graph->graph, wanted, message);
  };
  if (plan.engine.engine >= 0)
    return attempt(plan.engine);
  return (pinned.engine >= 0 && attempt(pinned)) || attempt({});
}

DnnDescriptor CudnnAttention::getPack(const CuAddress *buffers,
                                      CuAddress workspace,
                                      std::string &message) {
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
  message = packs.getError();
  return it->second = packs.hasFailed() ? nullptr : pack;
}

bool CudnnAttention::run(const CuAddress *buffers, CuAddress workspace,
                         CuStream stream, std::string &message) {
  DnnDescriptor pack = getPack(buffers, workspace, message);
  if (!pack) {
    message = "cuDNN does not take the addresses: " + message;
    return false;
  }
  DnnStatus status = api.cudnnSetStream(target.handle, stream);
  if (status == kDnnSuccess)
    status =
        api.cudnnBackendExecute(target.handle, computation->getPlan(), pack);
  if (status == kDnnSuccess)
    return true;
  message = "cuDNN has failed: " + api.describeError(status);
  return false;
}
