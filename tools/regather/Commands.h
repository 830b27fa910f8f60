//===- Commands.h - Subcommands of regather ---------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TOOLS_REGATHER_COMMANDS_H
#define REGATHER_TOOLS_REGATHER_COMMANDS_H

#include "regather/Driver/ProgressListener.h"
#include "regather/Driver/SourceDiagnostics.h"
#include "regather/Execution/Training/Progress.h"
#include "regather/Support/Result.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"

namespace regather {

/// A module and what its diagnostics need to show the source.
struct InputFile {
  std::unique_ptr<mlir::MLIRContext> context;
  llvm::SourceMgr sourceMgr;
  std::unique_ptr<SourceDiagnostics> diagnostics;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Reads a file; see readModule. Null, with errors printed, if it cannot.
std::unique_ptr<InputFile> readInput(llvm::StringRef path);

/// Prints `error: message` on stderr and returns the exit code of a failure.
int reportError(const llvm::Twine &message);

/// Writes a file, none if `path` is empty. Prints an error if that fails.
bool writeFile(const std::string &path, llvm::StringRef text);

/// An error for each of these options that is given without the name of a file.
Failure rejectEmpty(llvm::ArrayRef<const llvm::cl::opt<std::string> *> options);

/// The same; and true if files can be written where they say. Prints an error
/// for each where that is not so, before long work whose result would be lost.
bool canWrite(llvm::ArrayRef<const llvm::cl::opt<std::string> *> options);

/// True if --quiet asks for no progress; all subcommands take it.
bool isQuiet();

/// Shows the progress of the driver.
class ShownProgress : public ProgressListener {
public:
  ShownProgress() : progress(isQuiet()) {}

  void begin(const char *what) override { progress.begin(what); }
  void advance(int64_t done, int64_t total) override {
    progress.advance(done, total);
  }
  void end() override { progress.end(); }

  Progress progress;
};

/// Options of this tool, as opposed to those of the libraries it links.
llvm::cl::OptionCategory &getCategory();

/// `regather run`: executes a step on all ranks of its mesh.
extern llvm::cl::SubCommand runCommand;
int runMain();

/// `regather calibrate`: measures this machine as a cluster.
extern llvm::cl::SubCommand calibrateCommand;
int calibrateMain();

/// `regather compile`: compiles a step into a bundle.
extern llvm::cl::SubCommand compileCommand;
int compileMain();

/// `regather check-calls`: proves the order of recorded calls.
extern llvm::cl::SubCommand checkCallsCommand;
int checkCallsMain();

/// `regather manifest`: prints what a bundle says about itself.
extern llvm::cl::SubCommand manifestCommand;
int manifestMain();

/// `regather report`: shows, as a page, what was decided about a step.
extern llvm::cl::SubCommand reportCommand;
int reportMain();

/// `regather simulate`: predicts the timeline of a step on a cluster.
extern llvm::cl::SubCommand simulateCommand;
int simulateMain();

/// `regather plan`: looks for the quickest mesh.
extern llvm::cl::SubCommand planCommand;
int planMain();

/// `regather stats`: counts operations, collectives and parameters.
extern llvm::cl::SubCommand statsCommand;
int statsMain();

/// `regather tree`: shows what each module of the model does.
extern llvm::cl::SubCommand treeCommand;
int treeMain();

} // namespace regather

#endif // REGATHER_TOOLS_REGATHER_COMMANDS_H
