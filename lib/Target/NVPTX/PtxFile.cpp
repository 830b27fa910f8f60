//===- PtxFile.cpp - Files of PTX -----------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Target/NVPTX/PtxFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
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

llvm::Expected<std::string>
nvptx::assemblePtx(StringRef text, const GpuArchitecture &architecture,
                   StringRef ptxas) {
  auto program = findPtxas(ptxas);
  if (!program)
    return program.takeError();
  llvm::SmallString<128> input, output, messages;
  int handle;
  for (auto [path, suffix] :
       {std::pair(&input, "ptx"), {&output, "cubin"}, {&messages, "txt"}})
    if (std::error_code error = llvm::sys::fs::createTemporaryFile(
            "regather", suffix, handle, *path))
      return llvm::createStringError("cannot make a temporary file: " +
                                     error.message());
    else
      llvm::consumeError(
          llvm::errorCodeToError(llvm::sys::fs::closeFile(handle)));
  llvm::FileRemover removeInput(input), removeOutput(output),
      removeMessages(messages);
  {
    std::error_code error;
    llvm::raw_fd_ostream os(input, error);
    os << text;
    os.close();
    if (error || os.has_error()) {
      os.clear_error();
      return llvm::createStringError("cannot write '" + input + "'");
    }
  }
  std::string target = ("--gpu-name=" + architecture.name).str();
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(messages),
                                          StringRef(messages)};
  int status = llvm::sys::ExecuteAndWait(
      *program, {*program, target, input, "-o", output}, std::nullopt,
      redirects);
  if (status != 0)
    return llvm::createStringError("ptxas has failed: " +
                                   StringRef(readFile(messages)).trim());
  return readFile(output);
}
