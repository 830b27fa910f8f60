//===- GpuEmulator.cpp - Kernels for GPUs, run from their PTX -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuEmulator.h"

#include "StandIn/Ptx/MemoryMonitor.h"

#include "regather/Kernel/NVPTX/CompileGpuKernels.h"
#include "regather/Kernel/NVPTX/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace regather;
using namespace regather::nvptx;
using runtime::MemoryMonitor;

llvm::Expected<std::unique_ptr<GpuEmulator>>
GpuEmulator::create(tg::KernelOp kernel) {
  FailureOr<std::string> text = printGpuKernel(kernel, "kernel");
  if (failed(text))
    return llvm::createStringError("the kernel cannot be lowered");
  return create(*text);
}

static size_t getBytes(MemRefType type) {
  return size_t(type.getNumElements()) *
         llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

/// The PTX of a module of functions of the gpu dialect, by the passes that the
/// product runs.
static llvm::Expected<std::string> compileToPtx(ModuleOp module) {
  PassManager pm(module.getContext());
  PtxPipelineOptions options;
  options.architecture = getGpuArchitectures().front().name.str();
  options.libdevice = findLibdevice();
  buildPtxPipeline(pm, options);
  if (failed(pm.run(module)))
    return llvm::createStringError("the module cannot be compiled");
  gpu::BinaryOp binary = *module.getOps<gpu::BinaryOp>().begin();
  return cast<gpu::ObjectAttr>(binary.getObjects()[0])
      .getObject()
      .getValue()
      .str();
}

llvm::Expected<std::unique_ptr<GpuEmulator>>
GpuEmulator::create(StringRef text) {
  auto emulator = std::make_unique<GpuEmulator>();
  DialectRegistry registry;
  registry.insert<affine::AffineDialect, arith::ArithDialect, gpu::GPUDialect,
                  LLVM::LLVMDialect, math::MathDialect, memref::MemRefDialect,
                  nvgpu::NVGPUDialect, NVVM::NVVMDialect, scf::SCFDialect,
                  tg::TGDialect, vector::VectorDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  auto parsed = parseSourceString<ModuleOp>(text, ParserConfig(&context));
  if (!parsed)
    return llvm::createStringError("the lowered kernel cannot be parsed");
  gpu::GPUModuleOp module = *parsed->getOps<gpu::GPUModuleOp>().begin();
  emulator->plan = getLaunchPlan(module);
  gpu::GPUFuncOp first = *module.getOps<gpu::GPUFuncOp>().begin();
  for (BlockArgument argument :
       first.getArguments().take_front(first.getNumArguments()))
    emulator->buffers.emplace_back(
        getBytes(cast<MemRefType>(argument.getType())),
        bool(first.getArgAttr(argument.getArgNumber(),
                              LLVM::LLVMDialect::getReadonlyAttrName())));
  auto ptx = compileToPtx(*parsed);
  if (!ptx)
    return ptx.takeError();
  emulator->code = runtime::readPtx(*ptx);
  for (const Launch &launch : emulator->plan.launches)
    if (emulator->code->functions.count(launch.symbol) == 0)
      return llvm::createStringError("there is no entry '%s' in\n%s",
                                     launch.symbol.c_str(), ptx->c_str());
  return emulator;
}

llvm::Error GpuEmulator::run(ArrayRef<void *> memory, ThreadOrder order) {
  MemoryMonitor monitor;
  std::vector<std::byte *> places;
  for (auto [number, pointer] : llvm::enumerate(memory)) {
    auto [bytes, isReadOnly] = buffers[number];
    auto first = llvm::find(memory, pointer);
    if (first != memory.begin() + number) {
      places.push_back(places[first - memory.begin()]);
      continue;
    }
    bool isInPlace = llvm::is_contained(memory.drop_front(number + 1), pointer);
    auto kind = !isReadOnly ? MemoryMonitor::Kind::Global
                : isInPlace ? MemoryMonitor::Kind::InPlace
                            : MemoryMonitor::Kind::Argument;
    std::byte *copy =
        monitor.allocate("buffer " + std::to_string(number), bytes, kind);
    if (isReadOnly)
      memcpy(copy, pointer, bytes);
    places.push_back(copy);
  }
  if (plan.scratchBytes != 0)
    places.push_back(monitor.allocate("the scratch memory", plan.scratchBytes,
                                      MemoryMonitor::Kind::Global));
  for (const Launch &launch : plan.launches) {
    runtime::PtxLaunch work = {
        launch.blocks, launch.threads, launch.dynamicSharedBytes, {}, {}};
    for (std::byte *place : places)
      work.parameters.push_back(reinterpret_cast<uintptr_t>(place));
    for (const std::unique_ptr<std::string> &table : code->constants)
      work.memory.push_back(
          {reinterpret_cast<uintptr_t>(table->data()), table->size()});
    work.order = order;
    work.monitor = &monitor;
    std::string problem =
        runtime::runPtx(*code->functions.find(launch.symbol)->second, work);
    if (!problem.empty())
      return llvm::createStringError(problem);
  }
  bankConflicts += monitor.getBankConflicts();
  for (auto [number, pointer] : llvm::enumerate(memory))
    if (!buffers[number].second)
      memcpy(pointer, places[number], buffers[number].first);
  return llvm::Error::success();
}
