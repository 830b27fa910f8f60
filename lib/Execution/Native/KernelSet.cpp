//===- KernelSet.cpp - Distinct compute functions of a step ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelSet.h"

#include "BoundsChecks.h"

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"

using namespace mlir;
using namespace regather::native;

bool regather::native::isRepeatedInKernels(Operation *op) {
  return op->getNumOperands() == 0 && op->getNumResults() == 1 &&
         (op->hasTrait<OpTrait::ConstantLike>() || isa<tensor::EmptyOp>(op));
}

KernelSet::KernelSet(MLIRContext *context)
    : module(ModuleOp::create(UnknownLoc::get(context))) {
  context->loadDialect<func::FuncDialect, bufferization::BufferizationDialect,
                       linalg::LinalgDialect, tensor::TensorDialect,
                       LLVM::LLVMDialect>();
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

  func::FuncOp func = build(op, inputs);
  // Equal text without locations means equal kernels.
  std::string key;
  llvm::raw_string_ostream stream(key);
  func.print(stream, OpPrintingFlags().printGenericOpForm());
  auto [it, inserted] = kernels.try_emplace(key, numKernels);
  if (!inserted) {
    func.erase();
    return it->second;
  }
  func.setName("kernel_" + std::to_string(numKernels));
  return numKernels++;
}

/// A tensor of rank 0 for a scalar; other types as they are.
static Type getTensorType(Type type) {
  return isa<RankedTensorType>(type) ? type : RankedTensorType::get({}, type);
}

/// Clones `op`, or the body of the kernel that it launches; the results.
static SmallVector<Value> cloneCompute(OpBuilder &builder, Operation *op,
                                       IRMapping &map) {
  auto launch = dyn_cast<regather::tg::LaunchOp>(op);
  if (!launch)
    return llvm::to_vector_of<Value>(builder.clone(*op, map)->getResults());
  regather::tg::KernelOp kernel = launch.lookupKernel();
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

func::FuncOp KernelSet::build(Operation *op, ArrayRef<Value> inputs) {
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  Location loc = op->getLoc();
  SmallVector<Type> inputTypes, outputTypes;
  for (Value input : inputs)
    inputTypes.push_back(getTensorType(input.getType()));
  for (Type type : op->getResultTypes())
    outputTypes.push_back(getTensorType(type));
  auto func = func::FuncOp::create(
      builder, loc, "kernel", builder.getFunctionType(inputTypes, outputTypes));
  func->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(),
                builder.getUnitAttr());
  Block *block = func.addEntryBlock();
  builder.setInsertionPointToEnd(block);

  IRMapping map;
  for (auto [input, argument] : llvm::zip(inputs, block->getArguments())) {
    // The step keeps its own copy of every value.
    func.setArgAttr(argument.getArgNumber(),
                    bufferization::BufferizationDialect::kWritableAttrName,
                    builder.getBoolAttr(false));
    map.map(input, isa<RankedTensorType>(input.getType())
                       ? Value(argument)
                       : tensor::ExtractOp::create(builder, loc, argument));
  }
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
    // A view of an input must not leave the function: copy it. Nor may two
    // results be one.
    Operation *def = result.getDefiningOp();
    if (!isa_and_nonnull<DestinationStyleOpInterface, regather::tg::FlattenOp>(
            def) ||
        llvm::is_contained(outputs, result)) {
      auto type = cast<RankedTensorType>(result.getType());
      Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                            type.getElementType());
      result = linalg::CopyOp::create(builder, loc, result, empty).getResult(0);
    }
    outputs.push_back(result);
  }
  func::ReturnOp::create(builder, loc, outputs);
  // Decisions on the graph do not change what a kernel computes.
  func.walk([](Operation *inner) {
    SmallVector<StringAttr> names;
    for (NamedAttribute attr : inner->getDiscardableAttrs())
      if (attr.getName().getValue().starts_with("tg."))
        names.push_back(attr.getName());
    for (StringAttr name : names)
      inner->removeDiscardableAttr(name);
  });
  return func;
}

/// A module that holds a copy of `func` alone, under a name that does not
/// depend on the other kernels.
static OwningOpRef<ModuleOp> isolate(func::FuncOp func) {
  OwningOpRef<ModuleOp> module(ModuleOp::create(func.getLoc()));
  func::FuncOp copy = func.clone();
  copy.setName("kernel");
  module->push_back(copy);
  return module;
}

LogicalResult KernelSet::compile(const EngineOptions &options) {
  std::vector<std::string> texts;
  for (auto func : module->getOps<func::FuncOp>()) {
    llvm::raw_string_ostream stream(texts.emplace_back());
    isolate(func)->print(stream, OpPrintingFlags().printGenericOpForm());
  }
  auto fail = [&](llvm::Error error) {
    return module->emitError() << "cannot compile the kernels: "
                               << llvm::toString(std::move(error));
  };
  auto target = KernelTarget::detectHost();
  if (!target)
    return fail(target.takeError());
  std::vector<CompiledKernel> compiled =
      compileKernels(texts, module->getContext()->getDialectRegistry(), *target,
                     options, statistics);
  LogicalResult result = success();
  for (auto [index, kernel] : llvm::enumerate(compiled))
    if (!kernel.object)
      result = explainFailure(index, kernel.error);
  if (failed(result))
    return failure();
  if (llvm::Error error = load(compiled))
    return fail(std::move(error));
  return success();
}

/// Emits why a kernel cannot be compiled. Its text has no locations: lower the
/// function itself, which has them.
LogicalResult KernelSet::explainFailure(unsigned kernel, StringRef message) {
  auto func = *std::next(module->getOps<func::FuncOp>().begin(), kernel);
  if (failed(lowerKernels(*isolate(func))))
    return failure();
  return func.emitError() << "cannot compile the kernel: " << message;
}

llvm::Error KernelSet::load(MutableArrayRef<CompiledKernel> compiled) {
  auto created = llvm::orc::LLJITBuilder()
                     // Kernels have no initialisers.
                     .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                     .create();
  if (!created)
    return created.takeError();
  jit = std::move(*created);
  if (llvm::Error error =
          jit->getMainJITDylib().define(llvm::orc::absoluteSymbols(
              {{jit->mangleAndIntern(kReportOutOfBounds),
                {llvm::orc::ExecutorAddr::fromPtr(&reportOutOfBounds),
                 llvm::JITSymbolFlags::Exported}}})))
    return error;
  for (CompiledKernel &kernel : compiled)
    if (llvm::Error error = jit->addObjectFile(std::move(kernel.object)))
      return error;
  for (const CompiledKernel &kernel : compiled) {
    auto address = jit->lookup(kernel.name);
    if (!address)
      return address.takeError();
    functions.push_back(address->toPtr<Function>());
  }
  return llvm::Error::success();
}
