//===- KernelCompiler.cpp - Kernels to object files -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelCompiler.h"

#include "KernelFunction.h"
#include "KernelLowering.h"
#include "ScratchBuffers.h"

#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ExecutionEngine/Orc/CompileUtils.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/IPO/Internalize.h"

#include <dlfcn.h>

using namespace mlir;
using namespace regather;
using namespace regather::cpu;

/// How far LLVM optimises.
static constexpr unsigned kOptLevel = 2;

/// Describes the state of the program or shared library that `address` lies
/// in, such that it changes when that is built anew.
static void describeImage(const void *address, llvm::raw_ostream &os) {
  Dl_info info;
  llvm::sys::fs::file_status status;
  if (!dladdr(address, &info) || !info.dli_fname)
    return;
  std::string path = info.dli_fname;
  // The name of the program is what it was called by.
  if (llvm::sys::fs::status(path, status))
    path = llvm::sys::fs::getMainExecutable(nullptr, nullptr);
  if (!llvm::sys::fs::status(path, status))
    os << status.getSize() << ' '
       << status.getLastModificationTime().time_since_epoch().count() << '\n';
}

llvm::Expected<KernelTarget> KernelTarget::detectHost(int64_t blockBytes) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto machine = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!machine)
    return machine.takeError();
  std::vector<std::string> features = machine->getFeatures().getFeatures();
  llvm::sort(features);
  machine->setFeatures(llvm::join(features, ","));
  machine->setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  // What the linker of the JIT expects.
  machine->setRelocationModel(llvm::Reloc::PIC_);
  machine->setCodeModel(llvm::CodeModel::Small);

  std::string description;
  llvm::raw_string_ostream os(description);
  os << "LLVM " << LLVM_VERSION_STRING << ", O" << kOptLevel << '\n'
     << machine->getTargetTriple().str() << '\n'
     << machine->getCPU() << '\n'
     << machine->getFeatures().getString() << '\n'
     << blockBytes << '\n';
  // Regather, MLIR and LLVM may be in one file or in three.
  describeImage(reinterpret_cast<const void *>(&lowerKernelFunction), os);
  describeImage(reinterpret_cast<const void *>(&translateModuleToLLVMIR), os);
  describeImage(reinterpret_cast<const void *>(&llvm::sys::getHostCPUName), os);
  return KernelTarget(std::move(*machine), blockBytes, std::move(description));
}

std::string KernelTarget::getKey(llvm::StringRef text) const {
  llvm::BLAKE3 hasher;
  hasher.update(description);
  hasher.update(text);
  return llvm::toHex(hasher.final(), /*LowerCase=*/true);
}

KernelCompiler::KernelCompiler(const DialectRegistry &dialects,
                               const KernelTarget &target)
    : context(dialects, MLIRContext::Threading::DISABLED),
      machine(target.getMachine()), blockBytes(target.getBlockBytes()) {
  DialectRegistry translations;
  registerBuiltinDialectTranslation(translations);
  registerLLVMDialectTranslation(translations);
  context.appendDialectRegistry(translations);
}

/// Adds the function that a kernel is called by; all others become private.
static void addEntry(llvm::Module &module, llvm::StringRef name) {
  llvm::Function *kernel = module.getFunction(kKernelFunctionName);
  // Arguments are the buffers, two numbers and the scratch memory, and stay
  // so: in a function of its own, what is known of them is not lost.
  kernel->addFnAttr(llvm::Attribute::NoInline);
  llvm::LLVMContext &context = module.getContext();
  llvm::IRBuilder<> builder(context);
  llvm::Type *pointer = builder.getPtrTy(), *number = builder.getInt64Ty();
  auto *entry = llvm::Function::Create(
      llvm::FunctionType::get(builder.getInt32Ty(),
                              {pointer, number, number, pointer},
                              /*isVarArg=*/false),
      llvm::GlobalValue::ExternalLinkage, name, module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "", entry));
  unsigned numBuffers = kernel->arg_size() - 3;
  llvm::SmallVector<llvm::Value *> arguments;
  for (unsigned i = 0; i != numBuffers; ++i)
    arguments.push_back(builder.CreateLoad(
        pointer, builder.CreateConstGEP1_64(pointer, entry->getArg(0), i)));
  for (unsigned i : {1, 2, 3})
    arguments.push_back(entry->getArg(i));
  // A result may lie where an argument lies, but only if it is computed from it
  // element by element: then no access can move past the other.
  for (llvm::Argument &argument : kernel->args())
    if (argument.getType()->isPointerTy())
      argument.addAttr(llvm::Attribute::NoAlias);
  kernel->getArg(numBuffers + 2)
      ->addAttr(llvm::Attribute::getWithAlignment(
          context, llvm::Align(kScratchAlignment)));
  builder.CreateRet(builder.CreateCall(kernel, arguments));
  llvm::internalizeModule(
      module, [&](const llvm::GlobalValue &value) { return &value == entry; });
}

FailureOr<KernelShape> cpu::lowerKernel(tg::KernelOp kernel, ModuleOp module,
                                        int64_t blockBytes) {
  loadKernelDialects(kernel.getContext());
  BlockPlan plan = planBlocks(kernel, blockBytes);
  buildKernelFunction(module, kernel, plan);
  FailureOr<int64_t> scratchBytes = lowerKernelFunction(module);
  if (failed(scratchBytes))
    return failure();
  return KernelShape{plan.getNumBlocks(), *scratchBytes};
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
KernelCompiler::compile(llvm::StringRef text, llvm::StringRef name,
                        KernelShape &shape) {
  // Locations mean nothing here: the caller says which kernel it is.
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (message.empty() &&
        diagnostic.getSeverity() == DiagnosticSeverity::Error)
      message = diagnostic.str();
    return success();
  });
  auto source = parseSourceString<ModuleOp>(text, ParserConfig(&context));
  if (!source)
    return llvm::createStringError(message);
  OwningOpRef<ModuleOp> module = ModuleOp::create(source->getLoc());
  FailureOr<KernelShape> lowered =
      lowerKernel(*source->getOps<tg::KernelOp>().begin(), *module, blockBytes);
  if (failed(lowered))
    return llvm::createStringError(message);
  shape = *lowered;
  llvm::LLVMContext llvmContext;
  auto llvmModule = translateModuleToLLVMIR(*module, llvmContext, name);
  if (!llvmModule)
    return llvm::createStringError(message);

  auto target = machine.createTargetMachine();
  if (!target)
    return target.takeError();
  ExecutionEngine::setupTargetTripleAndDataLayout(llvmModule.get(),
                                                  target->get());
  addEntry(*llvmModule, name);
  auto optimize =
      makeOptimizingTransformer(kOptLevel, /*sizeLevel=*/0, target->get());
  if (llvm::Error error = optimize(llvmModule.get()))
    return error;
  return llvm::orc::SimpleCompiler(**target)(*llvmModule);
}
