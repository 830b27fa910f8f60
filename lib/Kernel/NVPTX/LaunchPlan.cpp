//===- LaunchPlan.cpp - How a kernel is launched --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/NVPTX/LaunchPlan.h"

#include "regather/Dialect/TG/IR/KernelAttributes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace regather;
namespace json = llvm::json;

nvptx::LaunchPlan nvptx::getLaunchPlan(mlir::gpu::GPUModuleOp module) {
  LaunchPlan plan;
  for (auto func : module.getOps<mlir::gpu::GPUFuncOp>()) {
    auto getBytes = [&](llvm::StringRef name) {
      auto bytes = func->getAttrOfType<mlir::IntegerAttr>(name);
      return bytes ? bytes.getInt() : 0;
    };
    plan.launches.push_back({func.getName().str(),
                             func.getKnownGridSize()->front(),
                             func.getKnownBlockSize()->front(),
                             getBytes(tg::kDynamicSharedBytesAttrName)});
    plan.scratchBytes =
        std::max(plan.scratchBytes, getBytes(tg::kScratchBytesAttrName));
  }
  return plan;
}

json::Object nvptx::toJSON(const LaunchPlan &plan) {
  json::Array launches;
  for (const Launch &launch : plan.launches)
    launches.push_back(json::Object{
        {"symbol", launch.symbol},
        {"blocks", launch.blocks},
        {"threads", launch.threads},
        {"dynamic_shared_bytes", launch.dynamicSharedBytes},
    });
  return json::Object{{"launches", std::move(launches)},
                      {"scratch_bytes", plan.scratchBytes}};
}

namespace regather::nvptx {
static bool fromJSON(const json::Value &value, Launch &launch,
                     json::Path path) {
  json::ObjectMapper object(value, path);
  return object && object.map("symbol", launch.symbol) &&
         object.map("blocks", launch.blocks) &&
         object.map("threads", launch.threads) &&
         object.map("dynamic_shared_bytes", launch.dynamicSharedBytes);
}
} // namespace regather::nvptx

bool nvptx::fromJSON(const json::Value &value, LaunchPlan &plan,
                     json::Path path) {
  json::ObjectMapper object(value, path);
  return object && object.map("launches", plan.launches) &&
         object.map("scratch_bytes", plan.scratchBytes);
}
