//===- regather-fuzz.cpp - Random steps against the interpreter -----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IsolatedCase.h"
#include "RandomCase.h"

#include "regather/InitAll.h"

#include "mlir/IR/DialectRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace regather;
using namespace regather::fuzz;
namespace cl = llvm::cl;

static cl::SubCommand runCommand("run", "Run cases, a line of JSON each");
static cl::SubCommand showCommand("show", "Write the step and plan of a case");
static cl::SubCommand checkCommand("check",
                                   "Check a step; 1 if it shows a fault");

static cl::opt<uint64_t> firstCase("first",
                                   cl::desc("Number of the first case"),
                                   cl::sub(runCommand), cl::sub(showCommand));
static cl::opt<uint64_t> caseCount("count", cl::desc("How many"), cl::init(1),
                                   cl::sub(runCommand));
static cl::opt<uint64_t> caseStride("stride", cl::desc("From case to case"),
                                    cl::init(1), cl::sub(runCommand));
static cl::opt<std::string> captures("captures",
                                     cl::desc("Folder of captured steps"),
                                     cl::sub(runCommand), cl::sub(showCommand));
static cl::opt<bool>
    compilesAll("compile-all",
                cl::desc("Run every case compiled, with optimised kernels"),
                cl::sub(runCommand), cl::sub(showCommand));
static cl::opt<unsigned> caseSeconds("seconds", cl::desc("Limit of one case"),
                                     cl::init(60), cl::sub(runCommand),
                                     cl::sub(checkCommand));
static cl::opt<bool> showsPlan("plan-only", cl::desc("Write the plan alone"),
                               cl::sub(showCommand));
static cl::opt<std::string> file(cl::Positional, cl::desc("FILE"),
                                 cl::sub(checkCommand));
static cl::opt<std::string> planFile("plan", cl::desc("How to check it"),
                                     cl::sub(checkCommand));
static cl::opt<std::string>
    kind("kind", cl::desc("The fault that is looked for; any if empty"),
         cl::sub(checkCommand));

static RandomCase drawCase(uint64_t number, ArrayRef<Capture> known,
                           MLIRContext &context) {
  RandomCase drawn = makeRandomCase(number, known, context);
  if (compilesAll)
    drawn.plan.compiles = drawn.plan.optimizes = true;
  return drawn;
}

static int runCases(MLIRContext &context) {
  std::vector<Capture> known = readCaptures(captures);
  for (uint64_t i = 0; i != caseCount; ++i) {
    uint64_t number = firstCase + i * caseStride;
    std::string origin = "generated";
    CheckOutcome outcome = runIsolated(caseSeconds, [&] {
      RandomCase drawn = drawCase(number, known, context);
      return checkStep(drawn.text, drawn.plan, context);
    });
    llvm::outs() << printOutcome(outcome, number, origin) << '\n';
    llvm::outs().flush();
  }
  return 0;
}

static int showCase(MLIRContext &context) {
  RandomCase drawn = drawCase(firstCase, readCaptures(captures), context);
  if (!showsPlan)
    llvm::outs() << drawn.text;
  else
    llvm::outs() << drawn.plan.print();
  return 0;
}

static std::optional<std::string> readFile(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (buffer)
    return (*buffer)->getBuffer().str();
  llvm::errs() << "regather-fuzz: cannot read " << path << ": "
               << buffer.getError().message() << '\n';
  return std::nullopt;
}

static int checkFile(MLIRContext &context) {
  std::optional<std::string> text = readFile(file), plan = readFile(planFile);
  if (!text || !plan)
    return 2;
  Result<CheckPlan> parsed = parsePlan(*plan);
  if (!parsed) {
    llvm::errs() << "regather-fuzz: " << parsed.getMessage() << '\n';
    return 2;
  }
  CheckOutcome outcome = runIsolated(
      caseSeconds, [&] { return checkStep(*text, *parsed, context); });
  llvm::outs() << printOutcome(outcome, 0, file) << '\n';
  bool isFound = kind.empty() ? !outcome.kind.empty() : outcome.kind == kind;
  return isFound ? 1 : 0;
}

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "Regather: fuzzing of steps\n");
  DialectRegistry registry;
  regather::registerAllDialects(registry);
  regather::registerAllPasses();
  // Threads do not survive a fork.
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  if (runCommand)
    return runCases(context);
  if (showCommand)
    return showCase(context);
  if (checkCommand)
    return checkFile(context);
  llvm::errs() << "regather-fuzz: expects a command: run, show or check\n";
  return 2;
}
