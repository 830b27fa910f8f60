//===- GpuEmulator.cpp - Functions of the gpu dialect on the CPU ----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuEmulator.h"

#include "BlockFibres.h"

#include "regather/Kernel/NVPTX/CompileKernels.h"
#include "regather/Kernel/Transforms/HostConversions.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "llvm/Support/TargetSelect.h"

using namespace mlir;
using namespace regather;
using namespace regather::nvptx;

namespace {
/// Writes a `gpu.func` as a function that each thread calls. Shared memory
/// becomes arguments, and what only a GPU can do calls of functions.
class ThreadFunctionBuilder {
public:
  ThreadFunctionBuilder(gpu::GPUFuncOp source, ModuleOp module,
                        int64_t dynamicBytes)
      : source(source), module(module), dynamicBytes(dynamicBytes),
        b(source.getLoc(), source.getContext()) {}

  void build(std::vector<size_t> &sharedBytes);

private:
  Value call(Operation *op, StringRef name, ValueRange operands,
             TypeRange results);
  void replace(Operation *op);
  void replaceShuffle(gpu::ShuffleOp op);
  Value getAddress(Operation *op, Value memory, Value place);
  /// The 32 bits of a register.
  Value getBits(Value value);
  Value receive(Operation *op, int32_t number, Type type);
  void replaceCopy(nvgpu::DeviceAsyncCopyOp op);
  void replaceLoad(nvgpu::LdMatrixOp op);
  void replaceProduct(NVVM::MmaOp op);
  bool replaceForWarps(Operation *op);

  gpu::GPUFuncOp source;
  ModuleOp module;
  int64_t dynamicBytes;
  ImplicitLocOpBuilder b;
  Value dynamicMemory;
};
} // namespace

Value ThreadFunctionBuilder::call(Operation *op, StringRef name,
                                  ValueRange operands, TypeRange results) {
  if (!module.lookupSymbol(name)) {
    b.setInsertionPointToStart(module.getBody());
    func::FuncOp::create(b, name,
                         b.getFunctionType(operands.getTypes(), results))
        .setPrivate();
  }
  b.setInsertionPoint(op);
  auto made = func::CallOp::create(b, name, results, operands);
  return results.empty() ? Value() : made.getResult(0);
}

void ThreadFunctionBuilder::replaceShuffle(gpu::ShuffleOp op) {
  b.setInsertionPoint(op);
  Type type = op.getValue().getType();
  Type bits = b.getIntegerType(type.getIntOrFloatBitWidth());
  Value value = op.getValue();
  if (bits != type)
    value = arith::BitcastOp::create(b, bits, value);
  if (!bits.isInteger(64))
    value = arith::ExtUIOp::create(b, b.getI64Type(), value);
  value =
      call(op, "emulateShuffleXor", {value, op.getOffset()}, b.getI64Type());
  if (!bits.isInteger(64))
    value = arith::TruncIOp::create(b, bits, value);
  if (bits != type)
    value = arith::BitcastOp::create(b, type, value);
  op.getShuffleResult().replaceAllUsesWith(value);
  op.erase();
}

//===----------------------------------------------------------------------===//
// Tensor cores
//===----------------------------------------------------------------------===//

Value ThreadFunctionBuilder::getAddress(Operation *op, Value memory,
                                        Value place) {
  b.setInsertionPoint(op);
  auto type = cast<MemRefType>(memory.getType());
  Value begin = memref::ExtractAlignedPointerAsIndexOp::create(b, memory);
  Value bytes =
      arith::ConstantIndexOp::create(b, type.getElementTypeBitWidth() / 8);
  return arith::AddIOp::create(b, begin,
                               arith::MulIOp::create(b, place, bytes));
}

Value ThreadFunctionBuilder::getBits(Value value) {
  return LLVM::BitcastOp::create(b, b.getI32Type(), value);
}

Value ThreadFunctionBuilder::receive(Operation *op, int32_t number, Type type) {
  Value index = arith::ConstantIntOp::create(b, number, /*width=*/32);
  Value bits = call(op, "emulateReceived", index, b.getI32Type());
  return LLVM::BitcastOp::create(b, type, bits);
}

void ThreadFunctionBuilder::replaceCopy(nvgpu::DeviceAsyncCopyOp op) {
  Value target = getAddress(op, op.getDst(), op.getDstIndices().front());
  Value source = getAddress(op, op.getSrc(), op.getSrcIndices().front());
  Value count = op.getSrcElements();
  if (!count)
    count =
        arith::ConstantIndexOp::create(b, op.getDstElements().getSExtValue());
  Value width = arith::ConstantIndexOp::create(
      b, op.getSrc().getType().getElementTypeBitWidth() / 8);
  Value bytes = arith::MulIOp::create(b, count, width);
  call(op, "emulateCopy", {target, source, bytes}, {});
  op.erase();
}

void ThreadFunctionBuilder::replaceLoad(nvgpu::LdMatrixOp op) {
  Value address = getAddress(op, op.getSrcMemref(), op.getIndices().front());
  call(op, op.getTranspose() ? "emulateLoadTransposed" : "emulateLoadMatrices",
       address, {});
  auto type = op.getRes().getType();
  Type element = VectorType::get(type.getDimSize(1), type.getElementType());
  Value result = arith::ConstantOp::create(b, b.getZeroAttr(type));
  for (int32_t i = 0; i != 4; ++i)
    result = vector::InsertOp::create(b, receive(op, i, element), result, i);
  op.replaceAllUsesWith(result);
  op.erase();
}

void ThreadFunctionBuilder::replaceProduct(NVVM::MmaOp op) {
  b.setInsertionPoint(op);
  SmallVector<Value> registers;
  for (Value value : op.getOperands())
    registers.push_back(getBits(value));
  bool isF16 = op.getMultiplicandAPtxType() == NVVM::MMATypes::f16;
  call(op, isF16 ? "emulateMultiplyF16" : "emulateMultiplyBF16", registers, {});
  SmallVector<Value> sums;
  for (int32_t i = 0; i != 4; ++i)
    sums.push_back(receive(op, i, b.getF32Type()));
  for (Operation *user : llvm::make_early_inc_range(op->getUsers())) {
    auto extract = cast<LLVM::ExtractValueOp>(user);
    extract.replaceAllUsesWith(sums[extract.getPosition().front()]);
    // The walk comes to it.
    extract.getContainerMutable().assign(
        LLVM::PoisonOp::create(b, op.getType()));
  }
  op.erase();
}

bool ThreadFunctionBuilder::replaceForWarps(Operation *op) {
  auto callIntrinsic = dyn_cast<LLVM::CallIntrinsicOp>(op);
  if (auto copy = dyn_cast<nvgpu::DeviceAsyncCopyOp>(op)) {
    replaceCopy(copy);
  } else if (isa<NVVM::CpAsyncCommitGroupOp>(op)) {
    call(op, "emulateCommitCopies", {}, {});
    op->erase();
  } else if (auto wait = dyn_cast<NVVM::CpAsyncWaitGroupOp>(op)) {
    b.setInsertionPoint(op);
    Value groups = arith::ConstantIntOp::create(b, wait.getN(), /*width=*/32);
    call(op, "emulateWaitForCopies", groups, {});
    op->erase();
  } else if (auto load = dyn_cast<nvgpu::LdMatrixOp>(op)) {
    replaceLoad(load);
  } else if (auto product = dyn_cast<NVVM::MmaOp>(op)) {
    replaceProduct(product);
  } else if (callIntrinsic &&
             callIntrinsic.getIntrin() == "llvm.nvvm.ex2.approx.ftz") {
    op->replaceAllUsesWith(
        ValueRange(call(op, "emulateExp2", op->getOperands(), b.getF32Type())));
    op->erase();
  } else {
    return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// All operations
//===----------------------------------------------------------------------===//

void ThreadFunctionBuilder::replace(Operation *op) {
  if (replaceForWarps(op))
    return;
  for (Value result : op->getResults())
    if (auto type = dyn_cast<MemRefType>(result.getType());
        type && type.getMemorySpace())
      result.setType(MemRefType::get(type.getShape(), type.getElementType(),
                                     type.getLayout()));
  if (isa<gpu::ThreadIdOp, gpu::BlockIdOp>(op)) {
    StringRef name =
        isa<gpu::ThreadIdOp>(op) ? "emulateThreadId" : "emulateBlockId";
    op->replaceAllUsesWith(ValueRange(call(op, name, {}, b.getIndexType())));
    op->erase();
  } else if (isa<gpu::BarrierOp>(op)) {
    call(op, "emulateBarrier", {}, {});
    op->erase();
  } else if (isa<LLVM::Trap>(op)) {
    call(op, "emulateTrap", {}, {});
    op->erase();
  } else if (auto shuffle = dyn_cast<gpu::ShuffleOp>(op)) {
    replaceShuffle(shuffle);
  } else if (isa<memref::MemorySpaceCastOp>(op)) {
    op->replaceAllUsesWith(op->getOperands());
    op->erase();
  } else if (isa<gpu::DynamicSharedMemoryOp>(op)) {
    op->replaceAllUsesWith(ValueRange(dynamicMemory));
    op->erase();
  } else if (isa<gpu::ReturnOp>(op)) {
    b.setInsertionPoint(op);
    func::ReturnOp::create(b);
    op->erase();
  } else if (auto global = dyn_cast<memref::GetGlobalOp>(op)) {
    Operation *symbol =
        SymbolTable::lookupNearestSymbolFrom(source, global.getNameAttr());
    if (symbol)
      symbol->moveBefore(&module.getBody()->front());
  }
}

void ThreadFunctionBuilder::build(std::vector<size_t> &sharedBytes) {
  Block &body = source.getBody().front();
  SmallVector<Type> types(source.getArgumentTypes());
  for (BlockArgument argument :
       body.getArguments().drop_front(source.getNumArguments())) {
    auto type = cast<MemRefType>(argument.getType());
    argument.setType(MemRefType::get(type.getShape(), type.getElementType()));
    types.push_back(argument.getType());
    sharedBytes.push_back(type.getNumElements() *
                          llvm::divideCeil(type.getElementTypeBitWidth(), 8));
  }
  if (dynamicBytes != 0) {
    types.push_back(MemRefType::get(dynamicBytes, b.getI8Type()));
    dynamicMemory = body.addArgument(types.back(), source.getLoc());
    sharedBytes.push_back(dynamicBytes);
  }
  b.setInsertionPointToEnd(module.getBody());
  auto func = func::FuncOp::create(b, source.getName(),
                                   b.getFunctionType(types, TypeRange()));
  SmallVector<Operation *> ops;
  body.walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops)
    replace(op);
  func.getBody().takeBody(source.getBody());
}

static void buildPipeline(OpPassManager &pm) {
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  pm.addPass(arith::createArithExpandOpsPass(expand));
  kernel::addHostConversions(pm);
}

/// True for memory that no other thread touches, and for constants.
static bool isPrivate(Value address) {
  while (auto view = address.getDefiningOp<LLVM::GEPOp>())
    address = view.getBase();
  Operation *def = address.getDefiningOp();
  return isa_and_present<LLVM::AddressOfOp, LLVM::AllocaOp>(def);
}

static int64_t getBytes(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getNumElements() * getBytes(vector.getElementType());
  return type.isIntOrFloat()
             ? int64_t(llvm::divideCeil(type.getIntOrFloatBitWidth(), 8))
             : int64_t(sizeof(void *));
}

/// Calls `emulateAccess` before each access to memory.
static void watchAccesses(ModuleOp module) {
  ImplicitLocOpBuilder b(module.getLoc(), module.getContext());
  b.setInsertionPointToStart(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(module.getContext());
  auto watcher = LLVM::LLVMFuncOp::create(
      b, "emulateAccess",
      LLVM::LLVMFunctionType::get(
          LLVM::LLVMVoidType::get(module.getContext()),
          {pointer, b.getI64Type(), b.getI64Type(), b.getI32Type()}));
  auto watch = [&](Operation *op, Value address, Type type,
                   std::optional<uint64_t> alignment, AccessKind kind) {
    if (isPrivate(address))
      return;
    b.setInsertionPoint(op);
    auto makeNumber = [&](Type type, int64_t value) -> Value {
      return LLVM::ConstantOp::create(b, type, b.getIntegerAttr(type, value));
    };
    // What the type asks for, if the operation does not say.
    int64_t natural = getBytes(getElementTypeOrSelf(type));
    auto needed = static_cast<int64_t>(alignment.value_or(natural));
    LLVM::CallOp::create(
        b, watcher,
        ValueRange{address, makeNumber(b.getI64Type(), getBytes(type)),
                   makeNumber(b.getI64Type(), needed),
                   makeNumber(b.getI32Type(), static_cast<int32_t>(kind))});
  };
  module.walk([&](Operation *op) {
    if (auto load = dyn_cast<LLVM::LoadOp>(op))
      watch(op, load.getAddr(), load.getType(), load.getAlignment(),
            AccessKind::Read);
    else if (auto store = dyn_cast<LLVM::StoreOp>(op))
      watch(op, store.getAddr(), store.getValue().getType(),
            store.getAlignment(), AccessKind::Write);
    else if (auto atomic = dyn_cast<LLVM::AtomicRMWOp>(op))
      watch(op, atomic.getPtr(), atomic.getType(), atomic.getAlignment(),
            AccessKind::Atomic);
  });
}

static llvm::orc::SymbolMap getSymbols(llvm::orc::MangleAndInterner interner) {
  llvm::orc::SymbolMap symbols;
  auto add = [&](StringRef name, auto *function) {
    symbols[interner(name)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                               llvm::JITSymbolFlags::Exported};
  };
  add("emulateThreadId", &emulateThreadId);
  add("emulateBlockId", &emulateBlockId);
  add("emulateBarrier", &emulateBarrier);
  add("emulateShuffleXor", &emulateShuffleXor);
  add("emulateLoadMatrices", &emulateLoadMatrices);
  add("emulateLoadTransposed", &emulateLoadTransposed);
  add("emulateMultiplyBF16", &emulateMultiplyBF16);
  add("emulateMultiplyF16", &emulateMultiplyF16);
  add("emulateReceived", &emulateReceived);
  add("emulateCopy", &emulateCopy);
  add("emulateCommitCopies", &emulateCommitCopies);
  add("emulateWaitForCopies", &emulateWaitForCopies);
  add("emulateExp2", &emulateExp2);
  add("emulateTrap", &emulateTrap);
  add("emulateAccess", &emulateAccess);
  return symbols;
}

llvm::Expected<std::unique_ptr<GpuEmulator>>
GpuEmulator::create(tg::KernelOp kernel) {
  FailureOr<std::string> text = printGpuKernel(kernel, "kernel");
  if (failed(text))
    return llvm::createStringError("the kernel cannot be lowered");
  return create(*text);
}

llvm::Expected<std::unique_ptr<GpuEmulator>>
GpuEmulator::create(StringRef text) {
  auto emulator = std::make_unique<GpuEmulator>();
  MLIRContext &context = emulator->context;
  DialectRegistry registry;
  registry.insert<affine::AffineDialect, arith::ArithDialect, func::FuncDialect,
                  gpu::GPUDialect, LLVM::LLVMDialect, math::MathDialect,
                  memref::MemRefDialect, nvgpu::NVGPUDialect, NVVM::NVVMDialect,
                  scf::SCFDialect, tg::TGDialect, vector::VectorDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  auto parsed = parseSourceString<ModuleOp>(text, ParserConfig(&context));
  if (!parsed)
    return llvm::createStringError("the lowered kernel cannot be parsed");
  gpu::GPUModuleOp source = *parsed->getOps<gpu::GPUModuleOp>().begin();
  emulator->plan = getLaunchPlan(source);
  gpu::GPUFuncOp first = *source.getOps<gpu::GPUFuncOp>().begin();
  for (BlockArgument argument :
       first.getArguments().take_front(first.getNumArguments())) {
    auto type = cast<MemRefType>(argument.getType());
    emulator->buffers.emplace_back(
        type.getNumElements() * getBytes(type.getElementType()),
        bool(first.getArgAttr(argument.getArgNumber(),
                              LLVM::LLVMDialect::getReadonlyAttrName())));
  }
  OwningOpRef<ModuleOp> module = ModuleOp::create(source.getLoc());
  auto funcs = llvm::to_vector(source.getOps<gpu::GPUFuncOp>());
  for (auto [func, launch] : llvm::zip_equal(funcs, emulator->plan.launches))
    ThreadFunctionBuilder(func, *module, launch.dynamicSharedBytes)
        .build(emulator->sharedBytes.emplace_back());
  PassManager pm(&context);
  buildPipeline(pm);
  if (failed(pm.run(*module)))
    return llvm::createStringError("the kernel cannot be lowered for the CPU");
  watchAccesses(*module);
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  ExecutionEngineOptions options;
  auto optimize = makeOptimizingTransformer(/*optLevel=*/1, /*sizeLevel=*/0,
                                            /*targetMachine=*/nullptr);
  options.transformer = optimize;
  auto engine = ExecutionEngine::create(*module, options);
  if (!engine)
    return engine.takeError();
  emulator->engine = std::move(*engine);
  emulator->engine->registerSymbols(getSymbols);
  return emulator;
}

llvm::Error GpuEmulator::run(ArrayRef<void *> memory, ThreadOrder order) {
  MemoryMonitor monitor;
  std::vector<void *> global;
  for (auto [number, pointer] : llvm::enumerate(memory)) {
    auto [bytes, isReadOnly] = buffers[number];
    auto first = llvm::find(memory, pointer);
    if (first != memory.begin() + number) {
      global.push_back(global[first - memory.begin()]);
      continue;
    }
    bool isInPlace = llvm::is_contained(memory.drop_front(number + 1), pointer);
    auto kind = !isReadOnly ? MemoryMonitor::Kind::Global
                : isInPlace ? MemoryMonitor::Kind::InPlace
                            : MemoryMonitor::Kind::Argument;
    char *copy =
        monitor.allocate("buffer " + std::to_string(number), bytes, kind);
    if (isReadOnly)
      memcpy(copy, pointer, bytes);
    global.push_back(copy);
  }
  if (plan.scratchBytes != 0)
    global.push_back(monitor.allocate("the scratch memory", plan.scratchBytes,
                                      MemoryMonitor::Kind::Global));
  for (auto [launch, shared] : llvm::zip_equal(plan.launches, sharedBytes)) {
    auto thread = engine->lookupPacked(launch.symbol);
    if (!thread)
      return thread.takeError();
    std::vector<void *> values = global;
    for (auto [number, bytes] : llvm::enumerate(shared))
      values.push_back(
          monitor.allocate("shared memory " + std::to_string(number), bytes,
                           MemoryMonitor::Kind::Shared));
    std::vector<void *> arguments;
    for (void *&value : values)
      arguments.push_back(static_cast<void *>(&value));
    monitor.beginLaunch();
    for (int64_t block = 0; block != launch.blocks; ++block)
      if (llvm::Error error = runBlock(block, launch.threads, order, monitor,
                                       [&] { (*thread)(arguments.data()); }))
        return error;
  }
  bankConflicts += monitor.getBankConflicts();
  for (auto [number, pointer] : llvm::enumerate(memory))
    if (!buffers[number].second)
      memcpy(pointer, global[number], buffers[number].first);
  return llvm::Error::success();
}
