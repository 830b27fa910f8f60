//===- Interpreter.cpp - The engine that interprets -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The engine checks and compiles everything that the entry reaches before it
// runs anything, and emits the diagnostics of a run from the thread that called
// it, after the threads of the ranks have ended.
//
//===----------------------------------------------------------------------===//

#include "Compiler.h"
#include "RankThreads.h"

#include "regather/Dialect/TG/IR/TG.h"
#include "regather/StepAnalysis/AnalyzeStep.h"
#include "regather/StepAnalysis/CreateEngine.h"

using namespace mlir;
using namespace regather;
using namespace regather::interp;

namespace {
class Interpreter final : public Engine {
public:
  Interpreter(func::FuncOp entry, const EngineOptions &options)
      : entry(entry), options(options), compiler(options.ranks) {}

  std::string getName() const override { return "interpreter"; }

  /// Checks and compiles everything that the entry reaches.
  LogicalResult initialize();

  bool run(std::vector<RankValues> &arguments,
           std::vector<RankValues> &results) override;

private:
  LogicalResult checkEntry();
  LogicalResult checkMeshes();
  LogicalResult checkArguments(ArrayRef<RankValues> arguments);
  LogicalResult runRank(RankThreads &world, int64_t rank,
                        const RankValues &arguments, RankValues &results);

  func::FuncOp entry;
  EngineOptions options;
  Compiler compiler;
  const CompiledFunction *program = nullptr;
  uint64_t numRuns = 0;
};
} // namespace

/// The host's type of an argument or result; failure if it has none.
static FailureOr<ElementType> getHostType(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return getElementType(tensor.getElementType());
  return getElementType(type);
}

static ArrayRef<int64_t> getShape(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getShape() : ArrayRef<int64_t>();
}

/// The host knows fewer types than the interpreter, such as no i4.
LogicalResult Interpreter::checkEntry() {
  LogicalResult result = success();
  auto check = [&](TypeRange types, StringRef what) {
    for (auto [i, type] : llvm::enumerate(types))
      if (failed(getHostType(type)))
        result = emitError(entry.getLoc())
                 << what << ' ' << i << " of '" << entry.getSymName()
                 << "' has type " << type
                 << ", which cannot be passed in or out";
  };
  check(entry.getArgumentTypes(), "argument");
  check(entry.getResultTypes(), "result");
  return result;
}

/// Positions in groups are computed for the ranks of the run.
LogicalResult Interpreter::checkMeshes() {
  if (options.ranks < 1)
    return emitError(entry.getLoc())
           << "expects at least one rank, got " << options.ranks;
  LogicalResult result = success();
  auto module = entry->getParentOfType<ModuleOp>();
  if (!module)
    return success();
  for (tg::MeshOp mesh : module.getOps<tg::MeshOp>())
    if (mesh.getNumRanks() != options.ranks)
      result = emitError(mesh.getLoc())
               << "mesh '" << mesh.getSymName() << "' has "
               << mesh.getNumRanks() << " ranks, but the run has "
               << options.ranks;
  return result;
}

LogicalResult Interpreter::initialize() {
  if (failed(checkMeshes()))
    return failure();
  program = compiler.getFunction(entry);
  if (failed(compiler.emitErrors()))
    return failure();
  return checkEntry();
}

LogicalResult Interpreter::checkArguments(ArrayRef<RankValues> arguments) {
  if (static_cast<int64_t>(arguments.size()) != options.ranks)
    return emitError(entry.getLoc())
           << "expects arguments for " << options.ranks << " ranks, got "
           << arguments.size();
  for (auto [rank, values] : llvm::enumerate(arguments)) {
    if (values.size() != entry.getNumArguments())
      return emitError(entry.getLoc())
             << "expects " << entry.getNumArguments() << " arguments, got "
             << values.size() << " on rank " << rank;
    for (auto [i, value] : llvm::enumerate(values)) {
      Type type = entry.getArgumentTypes()[i];
      if (value.getType() != *getHostType(type) ||
          ArrayRef<int64_t>(value.getShape()) != getShape(type))
        return emitError(entry.getLoc())
               << "argument " << i << " on rank " << rank
               << " does not match its type " << type;
    }
  }
  return success();
}

LogicalResult Interpreter::runRank(RankThreads &world, int64_t rank,
                                   const RankValues &arguments,
                                   RankValues &results) {
  RuntimeValues values;
  for (auto [host, type] : llvm::zip(arguments, entry.getArgumentTypes())) {
    RuntimeValue &value = values.emplace_back();
    value.tensor = Tensor::fromHost(host);
    if (isa<RankedTensorType>(type))
      continue;
    value.bits = value.tensor->load(0);
    value.tensor = nullptr;
  }
  RankRun run{rank, world, /*callDepth=*/0};
  if (failed(program->run(run, values)))
    return failure();
  for (auto [value, type] : llvm::zip_equal(values, entry.getResultTypes())) {
    if (!value.tensor) {
      value.tensor = Tensor::create(*getScalarType(type), {});
      value.tensor->store(0, value.bits);
    }
    results.push_back(value.tensor->toHost(*getHostType(type)));
  }
  return success();
}

bool Interpreter::run(std::vector<RankValues> &arguments,
                      std::vector<RankValues> &results) {
  if (failed(checkArguments(arguments)))
    return false;
  results.assign(options.ranks, {});
  // Each step of a training run sees another interleaving.
  RankThreads world(options.ranks,
                    options.seed + 0xD1B54A32D192ED03 * numRuns++);
  std::vector<Report> reports = world.execute([&](int64_t rank) {
    return runRank(world, rank, arguments[rank], results[rank]);
  });
  for (Report &report : reports) {
    InFlightDiagnostic diag = emitError(report.loc) << report.message;
    for (auto &[loc, note] : report.notes)
      diag.attachNote(loc) << note;
  }
  return reports.empty();
}

std::unique_ptr<Engine>
regather::createInterpreter(func::FuncOp entry, const EngineOptions &options) {
  auto engine = std::make_unique<Interpreter>(entry, options);
  if (failed(engine->initialize()))
    return nullptr;
  return engine;
}
