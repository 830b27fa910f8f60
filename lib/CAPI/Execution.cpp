//===- Execution.cpp - Steps on memory of the caller ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather-c/Execution.h"

#include "Guard.h"
#include "Options.h"
#include "Status.h"

#include "regather/Driver/CreateStepEngine.h"
#include "regather/Driver/ReadModule.h"
#include "regather/NativeEngine/StepExecutable.h"
#include "regather/StepAnalysis/MergeParts.h"
#include "regather/Support/LLVM/MakeFailure.h"

using namespace mlir;
using namespace regather;

struct RegatherExecutable {
  llvm::SourceMgr sources;
  std::unique_ptr<MLIRContext> context;
  OwningOpRef<ModuleOp> module;
  std::unique_ptr<StepExecutable> step;
  StepSignature signature;
  std::vector<std::vector<RegatherShard>> argumentShards, resultShards;
};

namespace {
/// Collects what is said about a document.
class Messages {
public:
  explicit Messages(MLIRContext *context)
      : handler(context, [this](Diagnostic &diagnostic) {
          add(diagnostic);
          return success();
        }) {}

  RegatherStatus *getStatus() {
    return capi::takeStatus(
        Failure(text.empty() ? "the step cannot be compiled" : text));
  }

private:
  void add(Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return;
    llvm::raw_string_ostream stream(text);
    if (!text.empty())
      stream << '\n';
    print(diagnostic, stream);
    for (Diagnostic &note : diagnostic.getNotes()) {
      stream << "\n  note: ";
      print(note, stream);
    }
  }

  static void print(Diagnostic &diagnostic, llvm::raw_ostream &stream) {
    if (auto place = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>())
      stream << place.getFilename().getValue() << ':' << place.getLine() << ':'
             << place.getColumn() << ": ";
    stream << diagnostic.str();
  }

  std::string text;
  ScopedDiagnosticHandler handler;
};
} // namespace

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

static Result<StepOptions> readOptions(const RegatherExecutableOptions &given) {
  if (given.threads < 0)
    return makeFailure("expects a number of threads, got {0}", given.threads);
  if (!(given.timeoutSeconds >= 0))
    return makeFailure("expects a timeout of seconds, got {0}",
                       given.timeoutSeconds);
  Result<CommandRequest> request =
      capi::readOptions(Command::Execute, {given.numOptions, given.options});
  if (!request)
    return request.getFailure();
  request->step.ranks = given.transport ? given.transport->ranks : 1;
  return std::move(request->step);
}

static std::vector<std::vector<RegatherShard>>
getShards(const std::vector<StepValue> &values, const StepSignature &step,
          int64_t rank) {
  std::vector<std::vector<RegatherShard>> shards;
  for (const StepValue &value : values) {
    std::vector<RegatherShard> &list = shards.emplace_back();
    for (const AxisPlacement &placement : value.placement)
      if (placement.dim)
        list.push_back({static_cast<uint32_t>(*placement.dim),
                        static_cast<uint32_t>(
                            step.mesh->getGroup(rank, placement.axes).size()),
                        static_cast<uint32_t>(
                            step.mesh->getIndexInGroup(rank, placement.axes))});
  }
  return shards;
}

/// The executable without its module. Emits errors.
static LogicalResult compile(RegatherExecutable &executable,
                             const StepOptions &options,
                             const RegatherExecutableOptions &given) {
  FailureOr<PreparedStep> prepared =
      prepareRun(*executable.module, options, EngineKind::Cpu);
  if (failed(prepared))
    return failure();
  FailureOr<AnalyzedStep> whole = mergeParts(prepared->step);
  if (failed(whole))
    return failure();
  ProgramOptions program = prepared->options.getProgram();
  EngineOptions engine;
  engine.ranks = options.ranks.value_or(1);
  engine.threads = given.threads;
  if (given.timeoutSeconds > 0)
    engine.timeoutSeconds = given.timeoutSeconds;
  engine.cacheDirectory = getDefaultCacheDirectory();
  engine.program = &program;
  FailureOr<std::unique_ptr<StepExecutable>> step =
      StepExecutable::create(whole->entry, engine, given.transport);
  if (failed(step))
    return failure();
  executable.step = std::move(*step);
  executable.signature = std::move(whole->signature);
  const StepSignature &signature = executable.signature;
  int64_t rank = given.transport ? given.transport->rank : 0;
  executable.argumentShards = getShards(signature.arguments, signature, rank);
  executable.resultShards = getShards(signature.results, signature, rank);
  return success();
}

RegatherStatus *
regatherExecutableCreate(const char *document, size_t size,
                         const RegatherExecutableOptions *options,
                         RegatherExecutable **executable) {
  return capi::guard([&]() -> RegatherStatus * {
    if (!document || !options || !executable)
      return capi::takeStatus(makeFailure("an argument is null"));
    Result<StepOptions> step = readOptions(*options);
    if (!step)
      return capi::takeStatus(step.getFailure());
    auto created = std::make_unique<RegatherExecutable>();
    created->context = createContext();
    Messages messages(created->context.get());
    created->module = readModule(
        llvm::MemoryBuffer::getMemBufferCopy(
            StringRef(document, size), options->name ? options->name : "step"),
        options->isCapture != 0, created->sources, *created->context);
    if (!created->module || failed(compile(*created, *step, *options)))
      return messages.getStatus();
    // Threads that only compile.
    created->context->disableMultithreading();
    *executable = created.release();
    return nullptr;
  });
}

void regatherExecutableDestroy(RegatherExecutable *executable) {
  delete executable;
}

//===----------------------------------------------------------------------===//
// Signature
//===----------------------------------------------------------------------===//

static const char *getElementTypeName(int32_t dtype) {
  switch (dtype) {
  case RG_F32:
    return "f32";
  case RG_F64:
    return "f64";
  case RG_F16:
    return "f16";
  case RG_BF16:
    return "bf16";
  case RG_I1:
    return "i1";
  case RG_I8:
    return "i8";
  case RG_I16:
    return "i16";
  case RG_I32:
    return "i32";
  case RG_I64:
    return "i64";
  default:
    return "";
  }
}

static const char *getRoleName(std::optional<Role> role) {
  return role ? tg::stringifyRoleKind(static_cast<tg::RoleKind>(*role)).data()
              : "";
}

static RegatherValue describe(const StepValue &value, const rg_value &table,
                              const std::vector<RegatherShard> &shards,
                              bool isDonated) {
  RegatherValue described = {};
  described.name = value.name.c_str();
  described.elementType = getElementTypeName(table.dtype);
  described.role = getRoleName(value.role);
  described.argument = static_cast<int32_t>(value.argument);
  described.isDonated = isDonated;
  described.rank = static_cast<uint32_t>(table.rank);
  described.shape = table.shape;
  described.bytes = static_cast<uint64_t>(rg_value_bytes(&table));
  described.globalShape = value.globalShape.data();
  described.numShards = static_cast<uint32_t>(shards.size());
  described.shards = shards.data();
  described.isPartial =
      llvm::any_of(value.placement, [](const AxisPlacement &placement) {
        return !placement.dim;
      });
  return described;
}

uint32_t
regatherExecutableGetNumArguments(const RegatherExecutable *executable) {
  return executable ? executable->signature.arguments.size() : 0;
}

uint32_t regatherExecutableGetNumResults(const RegatherExecutable *executable) {
  return executable ? executable->signature.results.size() : 0;
}

RegatherValue
regatherExecutableGetArgument(const RegatherExecutable *executable,
                              uint32_t number) {
  if (number >= regatherExecutableGetNumArguments(executable))
    return {};
  const rg_value &table = executable->step->getProgram().arguments[number];
  return describe(executable->signature.arguments[number], table,
                  executable->argumentShards[number], table.donated);
}

RegatherValue regatherExecutableGetResult(const RegatherExecutable *executable,
                                          uint32_t number) {
  if (number >= regatherExecutableGetNumResults(executable))
    return {};
  return describe(executable->signature.results[number],
                  executable->step->getProgram().results[number],
                  executable->resultShards[number],
                  executable->step->getArgumentOf(number).has_value());
}

uint64_t regatherExecutableGetBytes(const RegatherExecutable *executable) {
  return executable ? static_cast<uint64_t>(executable->step->getBytes()) : 0;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

RegatherStatus *regatherExecutableRun(RegatherExecutable *executable,
                                      void *const *arguments,
                                      void *const *results) {
  if (!executable || !arguments || !results)
    return capi::takeStatus(makeFailure("an argument is null"));
  return capi::takeStatus(executable->step->run(arguments, results));
}
