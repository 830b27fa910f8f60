//===- PtxFile.cpp - Files of PTX -----------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/NVPTX/PtxFile.h"

#include "regather/Kernel/Compilation/KernelCache.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace regather;
using llvm::StringRef;

/// What each file begins with: version, architecture and the size of addresses.
static std::pair<StringRef, StringRef> splitHeader(StringRef ptx) {
  constexpr llvm::StringLiteral last = ".address_size 64\n";
  size_t end = ptx.find(last);
  if (end == StringRef::npos)
    return {"", ptx};
  end += last.size();
  return {ptx.take_front(end), ptx.drop_front(end)};
}

std::string nvptx::joinPtx(llvm::ArrayRef<KernelCode> kernels) {
  std::string text;
  llvm::StringSet<> symbols;
  for (const KernelCode &kernel : kernels) {
    auto [header, code] = splitHeader(kernel.ptx);
    if (text.empty())
      text = header;
    if (symbols.insert(kernel.getSymbol()).second)
      text += code;
  }
  return text;
}

static llvm::Expected<std::string> findPtxas(StringRef ptxas) {
  if (!ptxas.empty()) {
    if (llvm::sys::fs::can_execute(ptxas))
      return ptxas.str();
    return llvm::createStringError("cannot run ptxas '" + ptxas + "'");
  }
  if (auto path = llvm::sys::findProgramByName("ptxas"))
    return *path;
  if (auto path =
          llvm::sys::findProgramByName("ptxas", {"/usr/local/cuda/bin"}))
    return *path;
  return llvm::createStringError(
      "cannot find ptxas in PATH; install the CUDA toolkit, give its path with "
      "--ptxas, or write PTX");
}

bool nvptx::hasPtxas() {
  auto path = findPtxas("");
  if (path)
    return true;
  llvm::consumeError(path.takeError());
  return false;
}

/// The contents of a file; empty if it cannot be read.
static std::string readFile(StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  return file ? (*file)->getBuffer().str() : "";
}

namespace {
/// Files of one run of ptxas, which are removed afterwards.
class TemporaryFiles {
public:
  ~TemporaryFiles() {
    // A file that cannot be removed is left to the system.
    for (const std::string &path : paths)
      llvm::consumeError(llvm::errorCodeToError(llvm::sys::fs::remove(path)));
  }

  llvm::Expected<std::string> create(StringRef suffix, StringRef text = "") {
    int handle = -1;
    llvm::SmallString<128> path;
    if (std::error_code error = llvm::sys::fs::createTemporaryFile(
            "regather", suffix, handle, path))
      return llvm::createStringError("cannot make a temporary file: " +
                                     error.message());
    paths.push_back(path.str().str());
    llvm::raw_fd_ostream os(handle, /*shouldClose=*/true);
    os << text;
    os.close();
    if (os.has_error()) {
      os.clear_error();
      return llvm::createStringError("cannot write '" + path + "'");
    }
    return paths.back();
  }

private:
  std::vector<std::string> paths;
};
} // namespace

/// Runs ptxas; what it says.
static llvm::Expected<std::string> runPtxas(StringRef program,
                                            llvm::ArrayRef<StringRef> arguments,
                                            TemporaryFiles &files) {
  auto messages = files.create("txt");
  if (!messages)
    return messages.takeError();
  llvm::SmallVector<StringRef> command = {program};
  command.append(arguments.begin(), arguments.end());
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(*messages),
                                          StringRef(*messages)};
  // Why it could not be run, or the signal that has ended it.
  std::string reason;
  int status = llvm::sys::ExecuteAndWait(
      program, command, std::nullopt, redirects,
      /*SecondsToWait=*/0, /*MemoryLimit=*/0, &reason);
  std::string text = readFile(*messages);
  if (status == 0)
    return text;
  if (reason.empty())
    reason = "exit code " + std::to_string(status);
  return llvm::createStringError("ptxas has failed (" + StringRef(reason) +
                                 "): " + StringRef(text).trim());
}

namespace {
/// Machine code, and what ptxas says of it.
struct AssembledPtx {
  std::string code, messages;
};
} // namespace

static llvm::Expected<AssembledPtx>
runAssembler(StringRef program, StringRef text,
             const nvptx::GpuArchitecture &architecture,
             TemporaryFiles &files) {
  auto input = files.create("ptx", text);
  if (!input)
    return input.takeError();
  auto output = files.create("cubin");
  if (!output)
    return output.takeError();
  std::string target = ("--gpu-name=" + architecture.name).str();
  auto messages =
      runPtxas(program, {target, *input, "-o", *output, "-v"}, files);
  if (!messages)
    return messages.takeError();
  return AssembledPtx{readFile(*output), std::move(*messages)};
}

llvm::Expected<std::string>
nvptx::assemblePtx(StringRef text, const KernelCompileOptions &options,
                   StringRef ptxas, kernel::KernelStatistics &statistics,
                   AssemblyReport *report) {
  auto program = findPtxas(ptxas);
  if (!program)
    return program.takeError();
  auto finish = [&](AssembledPtx assembled) {
    if (report)
      *report = parseAssemblyReport(assembled.messages);
    return std::move(assembled.code);
  };
  TemporaryFiles files;
  const GpuArchitecture &architecture = *options.architecture;
  if (options.cacheDirectory.empty()) {
    auto assembled = runAssembler(*program, text, architecture, files);
    if (!assembled)
      return assembled.takeError();
    return finish(std::move(*assembled));
  }
  // The version is part of the key, since releases assemble differently.
  auto version = runPtxas(*program, {"--version"}, files);
  if (!version)
    return version.takeError();
  kernel::KernelCache cache(options.cacheDirectory);
  auto getKey = [&](StringRef kind) {
    return kernel::hashText(
        (kind + "\n" + *version + architecture.name + "\n").str(), text);
  };
  std::string codeKey = getKey("cubin"), messagesKey = getKey("messages");
  if (auto code = cache.lookup(codeKey))
    if (auto messages = cache.lookup(messagesKey))
      return finish({code->getBuffer().str(), messages->getBuffer().str()});
  auto assembled = runAssembler(*program, text, architecture, files);
  if (!assembled)
    return assembled.takeError();
  llvm::Error error = cache.store(codeKey, assembled->code);
  // An empty entry would count as missing.
  if (!error)
    error = cache.store(messagesKey, assembled->messages + "\n");
  if (error)
    statistics.cacheError = llvm::toString(std::move(error));
  else
    cache.prune(kernel::KernelCache::kPruneInterval);
  return finish(std::move(*assembled));
}
