//===- KernelCompiler.cpp - Kernels to object files -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelCompiler.h"

#include "KernelSet.h"

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
using namespace regather::native;

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

llvm::Expected<KernelTarget> KernelTarget::detectHost() {
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
     << machine->getFeatures().getString() << '\n';
  // Regather, MLIR and LLVM may be in one file or in three.
  describeImage(reinterpret_cast<const void *>(&lowerKernels), os);
  describeImage(reinterpret_cast<const void *>(&translateModuleToLLVMIR), os);
  describeImage(reinterpret_cast<const void *>(&llvm::sys::getHostCPUName), os);
  return KernelTarget(std::move(*machine), std::move(description));
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
      machine(target.getMachine()) {
  DialectRegistry translations;
  registerBuiltinDialectTranslation(translations);
  registerLLVMDialectTranslation(translations);
  context.appendDialectRegistry(translations);
}

/// Adds the function that a kernel is called by; all others become private.
static llvm::Error addEntry(llvm::Module &module, llvm::StringRef name) {
  llvm::Function *kernel = module.getFunction("_mlir_ciface_kernel");
  if (!kernel || !kernel->getReturnType()->isVoidTy())
    return llvm::createStringError("a kernel has no results in memory");
  llvm::LLVMContext &context = module.getContext();
  llvm::IRBuilder<> builder(context);
  llvm::Type *pointer = builder.getPtrTy();
  auto *entry = llvm::Function::Create(
      llvm::FunctionType::get(builder.getVoidTy(), pointer, /*isVarArg=*/false),
      llvm::GlobalValue::ExternalLinkage, name, module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "", entry));
  llvm::SmallVector<llvm::Value *> arguments;
  for (llvm::Argument &parameter : kernel->args()) {
    llvm::Value *place = builder.CreateConstGEP1_64(pointer, entry->getArg(0),
                                                    parameter.getArgNo());
    arguments.push_back(builder.CreateLoad(parameter.getType(),
                                           builder.CreateLoad(pointer, place)));
  }
  builder.CreateCall(kernel, arguments);
  builder.CreateRetVoid();
  llvm::internalizeModule(
      module, [&](const llvm::GlobalValue &value) { return &value == entry; });
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
KernelCompiler::compile(llvm::StringRef text, llvm::StringRef name) {
  // Locations mean nothing here: the caller says which kernel it is.
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (message.empty() &&
        diagnostic.getSeverity() == DiagnosticSeverity::Error)
      message = diagnostic.str();
    return success();
  });
  auto module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
  if (!module || failed(lowerKernels(*module)))
    return llvm::createStringError(message);
  llvm::LLVMContext llvmContext;
  auto llvmModule = translateModuleToLLVMIR(*module, llvmContext, name);
  if (!llvmModule)
    return llvm::createStringError(message);

  auto target = machine.createTargetMachine();
  if (!target)
    return target.takeError();
  if (llvm::Error error = addEntry(*llvmModule, name))
    return error;
  ExecutionEngine::setupTargetTripleAndDataLayout(llvmModule.get(),
                                                  target->get());
  auto optimize =
      makeOptimizingTransformer(kOptLevel, /*sizeLevel=*/0, target->get());
  if (llvm::Error error = optimize(llvmModule.get()))
    return error;
  return llvm::orc::SimpleCompiler(**target)(*llvmModule);
}
