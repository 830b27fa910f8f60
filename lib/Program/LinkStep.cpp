//===- LinkStep.cpp - A compiled step as a shared object ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Program/LinkStep.h"

#include "regather/Support/AtomicFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ExecutionEngine/Orc/CompileUtils.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

using namespace regather;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

/// The object file of the tables that `emit` adds to a module.
static Expected<std::unique_ptr<llvm::MemoryBuffer>>
compileTables(llvm::function_ref<void(llvm::Module &)> emit) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return builder.takeError();
  builder->setRelocationModel(llvm::Reloc::PIC_);
  builder->setCodeModel(llvm::CodeModel::Small);
  auto machine = builder->createTargetMachine();
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  llvm::Module module("program", context);
  module.setTargetTriple((*machine)->getTargetTriple());
  module.setDataLayout((*machine)->createDataLayout());
  emit(module);
  return llvm::orc::SimpleCompiler(**machine)(module);
}

static Expected<std::string> findLinker(StringRef linker) {
  if (!linker.empty()) {
    if (llvm::sys::fs::can_execute(linker))
      return linker.str();
    return llvm::createStringError("cannot run linker '" + linker + "'");
  }
  if (llvm::sys::fs::can_execute(REGATHER_LLD))
    return REGATHER_LLD;
  for (StringRef name : {"ld.lld-22", "ld.lld"})
    if (auto path = llvm::sys::findProgramByName(name))
      return *path;
  return llvm::createStringError(
      "cannot find the linker lld (ld.lld-22 or ld.lld) in PATH; install it, "
      "or give its path with --linker");
}

static Error writeFile(const std::string &path, StringRef bytes) {
  if (Failure failure = writeFileAtomically(path, {bytes}, FileKind::Internal))
    return llvm::createStringError("cannot write '" + path +
                                   "': " + failure.getMessage());
  return Error::success();
}

namespace {
/// A folder that disappears.
class TemporaryFolder {
public:
  ~TemporaryFolder() {
    // What cannot be removed is left to the system's own cleaning.
    if (!path.empty())
      llvm::consumeError(
          llvm::errorCodeToError(llvm::sys::fs::remove_directories(path)));
  }
  Error create() {
    return llvm::errorCodeToError(
        llvm::sys::fs::createUniqueDirectory("regather-link", path));
  }
  std::string getPath(const llvm::Twine &name) const {
    llvm::SmallString<128> file(path);
    llvm::sys::path::append(file, name);
    return file.str().str();
  }

private:
  llvm::SmallString<128> path;
};
} // namespace

static Error runLinker(StringRef linker, const TemporaryFolder &folder,
                       llvm::ArrayRef<std::string> objects) {
  // Thousands of names do not fit into a command line.
  std::string response;
  for (const std::string &object : objects)
    response += "\"" + object + "\"\n";
  std::string responsePath = folder.getPath("objects");
  if (Error error = writeFile(responsePath, response))
    return error;
  std::string output = folder.getPath("step.so");
  std::string messages = folder.getPath("messages");
  std::string fromFile = "@" + responsePath;
  // Undefined symbols are those of the C library.
  llvm::SmallVector<StringRef> arguments = {linker,
                                            "-shared",
                                            "-o",
                                            output,
                                            "--build-id=none",
                                            "-z",
                                            "now",
                                            "--soname=regather-step",
                                            fromFile};
  std::string failure;
  int code = llvm::sys::ExecuteAndWait(
      linker, arguments, /*Env=*/std::nullopt,
      {StringRef(""), StringRef(messages), StringRef(messages)},
      /*SecondsToWait=*/0, /*MemoryLimit=*/0, &failure);
  if (code == 0)
    return Error::success();
  if (auto text = llvm::MemoryBuffer::getFile(messages);
      text && failure.empty())
    failure = (*text)->getBuffer().rtrim().str();
  return llvm::createStringError("linker '" + linker + "' failed: " + failure);
}

/// Links files with the given contents.
static Expected<std::unique_ptr<llvm::MemoryBuffer>>
link(llvm::ArrayRef<StringRef> files, StringRef linker) {
  Expected<std::string> path = findLinker(linker);
  if (!path)
    return path.takeError();
  TemporaryFolder folder;
  if (Error error = folder.create())
    return std::move(error);
  std::vector<std::string> objects;
  for (StringRef file : files) {
    objects.push_back(
        folder.getPath("part" + std::to_string(objects.size()) + ".o"));
    if (Error error = writeFile(objects.back(), file))
      return std::move(error);
  }
  if (Error error = runLinker(*path, folder, objects))
    return std::move(error);
  auto object = llvm::MemoryBuffer::getFile(folder.getPath("step.so"),
                                            /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!object)
    return llvm::errorCodeToError(object.getError());
  // The file is about to disappear.
  return llvm::MemoryBuffer::getMemBufferCopy((*object)->getBuffer());
}

/// The tables of a step that calls its kernels by their symbols.
static Expected<std::unique_ptr<llvm::MemoryBuffer>>
compileTables(CompiledStep &step, StringRef symbol) {
  std::vector<std::string> symbols;
  for (const cpu::KernelCode &kernel : step.kernels)
    symbols.push_back(kernel.symbol);
  return compileTables([&](llvm::Module &module) {
    step.tables->emit(module, symbols, symbol);
  });
}

static Expected<std::unique_ptr<llvm::MemoryBuffer>>
compileTables(CompiledGpuStep &step, StringRef symbol) {
  return compileTables([&](llvm::Module &module) {
    step.tables->emit(module, step.codes, symbol);
  });
}

/// Those of a step and, if there is one, of the one that runs it again.
template <typename StepT>
static Expected<std::vector<std::unique_ptr<llvm::MemoryBuffer>>>
compileAllTables(StepT &step, StringRef symbol, StepT *roomy,
                 StringRef roomySymbol) {
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> all;
  const std::pair<StepT *, StringRef> steps[] = {{&step, symbol},
                                                 {roomy, roomySymbol}};
  for (auto [one, name] : steps) {
    if (!one)
      continue;
    auto tables = compileTables(*one, name);
    if (!tables)
      return tables.takeError();
    all.push_back(std::move(*tables));
  }
  return all;
}

static std::vector<StringRef>
getBuffers(const std::vector<std::unique_ptr<llvm::MemoryBuffer>> &files) {
  std::vector<StringRef> buffers;
  for (const std::unique_ptr<llvm::MemoryBuffer> &file : files)
    buffers.push_back(file->getBuffer());
  return buffers;
}

Expected<std::unique_ptr<llvm::MemoryBuffer>>
regather::linkStep(CompiledStep &step, CompiledStep *roomy, StringRef linker) {
  auto tables =
      compileAllTables(step, RG_PROGRAM_SYMBOL, roomy, RG_ROOMY_PROGRAM_SYMBOL);
  if (!tables)
    return tables.takeError();
  std::vector<StringRef> files = getBuffers(*tables);
  llvm::StringSet<> linked;
  for (const CompiledStep *one : {&step, roomy}) {
    if (!one)
      continue;
    for (const cpu::KernelCode &kernel : one->kernels)
      if (linked.insert(kernel.symbol).second)
        files.push_back(kernel.object->getBuffer());
  }
  return link(files, linker);
}

Expected<std::unique_ptr<llvm::MemoryBuffer>>
regather::linkStep(CompiledGpuStep &step, CompiledGpuStep *roomy,
                   StringRef linker) {
  auto tables = compileAllTables(step, RG_GPU_PROGRAM_SYMBOL, roomy,
                                 RG_ROOMY_GPU_PROGRAM_SYMBOL);
  if (!tables)
    return tables.takeError();
  return link(getBuffers(*tables), linker);
}
