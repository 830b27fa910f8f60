//===- KernelSet.cpp - Distinct compute functions of a step ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelSet.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Alignment.h"

using namespace mlir;
using namespace regather;
using namespace regather::native;

bool regather::native::isRepeatedInKernels(Operation *op) {
  return op->getNumOperands() == 0 && op->getNumResults() == 1 &&
         (op->hasTrait<OpTrait::ConstantLike>() || isa<tensor::EmptyOp>(op));
}

KernelSet::KernelSet(MLIRContext *context)
    : module(ModuleOp::create(UnknownLoc::get(context))) {
  context->loadDialect<tensor::TensorDialect, tg::TGDialect>();
}

/// Values from outside that `op` or its regions read, in order of first use.
static void collectInputs(Operation *op, SetVector<Value> &values) {
  values.insert(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
}

unsigned KernelSet::add(Operation *op, SmallVectorImpl<Value> &inputs) {
  SetVector<Value> used;
  collectInputs(op, used);
  for (Value value : used)
    if (Operation *def = value.getDefiningOp();
        !def || !isRepeatedInKernels(def))
      inputs.push_back(value);

  tg::KernelOp kernel = build(op, inputs);
  // Equal text without locations means equal kernels.
  std::string key;
  llvm::raw_string_ostream stream(key);
  kernel->print(stream, OpPrintingFlags().printGenericOpForm());
  auto [it, inserted] = kernels.try_emplace(key, numKernels);
  if (!inserted) {
    kernel.erase();
    return it->second;
  }
  kernel.setSymName("kernel_" + std::to_string(numKernels));
  return numKernels++;
}

/// A tensor of rank 0 for a scalar; other types as they are.
static Type getTensorType(Type type) {
  return isa<RankedTensorType>(type) ? type : RankedTensorType::get({}, type);
}

/// Clones `op`, or the body of the kernel that it launches; the results.
static SmallVector<Value> cloneCompute(OpBuilder &builder, Operation *op,
                                       IRMapping &map) {
  auto launch = dyn_cast<tg::LaunchOp>(op);
  if (!launch)
    return llvm::to_vector_of<Value>(builder.clone(*op, map)->getResults());
  tg::KernelOp kernel = launch.lookupKernel();
  Block &body = kernel.getBody().front();
  for (auto [argument, input] :
       llvm::zip(body.getArguments(), launch.getInputs()))
    map.map(argument, map.lookup(input));
  for (Operation &inner : body.without_terminator())
    builder.clone(inner, map);
  return llvm::map_to_vector(
      body.getTerminator()->getOperands(),
      [&](Value value) { return map.lookupOrDefault(value); });
}

/// The attributes of the arguments or results of a kernel that `op` launches.
static ArrayAttr getLaunchedAttrs(Operation *op, bool ofResults) {
  auto launch = dyn_cast<tg::LaunchOp>(op);
  if (!launch)
    return nullptr;
  tg::KernelOp kernel = launch.lookupKernel();
  return ofResults ? kernel.getResAttrsAttr() : kernel.getArgAttrsAttr();
}

tg::KernelOp KernelSet::build(Operation *op, ArrayRef<Value> inputs) {
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  Location loc = op->getLoc();
  SmallVector<Type> inputTypes, outputTypes;
  for (Value input : inputs)
    inputTypes.push_back(getTensorType(input.getType()));
  for (Type type : op->getResultTypes())
    outputTypes.push_back(getTensorType(type));
  auto kernel = tg::KernelOp::create(
      builder, loc, "kernel", builder.getFunctionType(inputTypes, outputTypes),
      /*arg_attrs=*/nullptr, getLaunchedAttrs(op, /*ofResults=*/true));
  // A launch may pass one value twice, and constants are repeated.
  if (inputs == ArrayRef<Value>(llvm::to_vector(op->getOperands())))
    if (ArrayAttr attrs = getLaunchedAttrs(op, /*ofResults=*/false))
      kernel.setArgAttrsAttr(attrs);
  Block &block = kernel.getBody().emplaceBlock();
  for (auto [input, type] : llvm::zip(inputs, inputTypes))
    block.addArgument(type, input.getLoc());
  builder.setInsertionPointToEnd(&block);

  IRMapping map;
  for (auto [input, argument] : llvm::zip(inputs, block.getArguments()))
    map.map(input, isa<RankedTensorType>(input.getType())
                       ? Value(argument)
                       : tensor::ExtractOp::create(builder, loc, argument));
  SetVector<Value> used;
  collectInputs(op, used);
  for (Value value : used)
    if (!map.contains(value))
      map.map(value, builder.clone(*value.getDefiningOp())->getResult(0));

  SmallVector<Value> outputs;
  for (Value result : cloneCompute(builder, op, map)) {
    if (!isa<RankedTensorType>(result.getType()))
      result = tensor::FromElementsOp::create(
          builder, loc, cast<RankedTensorType>(getTensorType(result.getType())),
          result);
    outputs.push_back(result);
  }
  tg::ReturnOp::create(builder, loc, outputs);
  kernel->walk([](Operation *inner) {
    SmallVector<StringAttr> names;
    for (NamedAttribute attr : inner->getDiscardableAttrs())
      if (attr.getName().getValue().starts_with("tg."))
        names.push_back(attr.getName());
    for (StringAttr name : names)
      inner->removeDiscardableAttr(name);
  });
  return kernel;
}

LogicalResult KernelSet::compile(const EngineOptions &options) {
  cpu::KernelCompileOptions compileOptions;
  compileOptions.threads = options.compileThreads;
  compileOptions.cacheDirectory = options.cacheDirectory;
  compileOptions.onKernelReady = options.onKernelReady;
  FailureOr<std::vector<cpu::KernelCode>> compiled =
      cpu::compileKernels(llvm::to_vector(module->getOps<tg::KernelOp>()),
                          compileOptions, statistics);
  if (failed(compiled))
    return failure();
  codes = std::move(*compiled);
  if (llvm::Error error = load())
    return module->emitError()
           << "cannot load the kernels: " << llvm::toString(std::move(error));
  return success();
}

llvm::Error KernelSet::load() {
  if (codes.empty())
    return llvm::Error::success();
  auto created = llvm::orc::LLJITBuilder()
                     // Kernels have no initialisers.
                     .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                     .create();
  if (!created)
    return created.takeError();
  jit = std::move(*created);
  llvm::StringSet<> loaded;
  for (cpu::KernelCode &code : codes)
    if (loaded.insert(code.symbol).second)
      if (llvm::Error error = jit->addObjectFile(std::move(code.object)))
        return error;
  for (const cpu::KernelCode &code : codes) {
    auto address = jit->lookup(code.symbol);
    if (!address)
      return address.takeError();
    functions.push_back(address->toPtr<cpu::KernelFunction>());
  }
  return llvm::Error::success();
}

bool KernelSet::run(unsigned kernel, ArrayRef<void *> buffers,
                    std::vector<char> &scratch) const {
  const cpu::KernelCode &code = codes[kernel];
  constexpr size_t alignment = 64;
  if (scratch.size() < code.scratchBytes + alignment)
    scratch.resize(code.scratchBytes + alignment);
  auto address = llvm::alignAddr(scratch.data(), llvm::Align(alignment));
  return functions[kernel](buffers.data(), 0, code.rows,
                           reinterpret_cast<void *>(address)) == 0;
}
