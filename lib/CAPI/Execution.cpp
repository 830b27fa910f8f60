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
#include "regather/NativeEngine/GpuStepExecutable.h"
#include "regather/NativeEngine/StepExecutable.h"
#include "regather/StepAnalysis/MergeParts.h"
#include "regather/Support/LLVM/MakeFailure.h"

using namespace mlir;
using namespace regather;

struct RegatherExecutable {
  llvm::SourceMgr sources;
  std::shared_ptr<MLIRContext> context;
  OwningOpRef<ModuleOp> module;
  /// Where it runs: one of the two.
  std::unique_ptr<StepExecutable> step;
  std::shared_ptr<GpuStepExecutable> gpuStep;
  StepSignature signature;
  std::vector<std::vector<RegatherShard>> argumentShards, resultShards;

  const rg_program &getProgram() const {
    return gpuStep ? gpuStep->getProgram() : step->getProgram();
  }
  /// True for a result that lies in its argument.
  bool isInArgument(int64_t result) const {
    return gpuStep ? gpuStep->isUpdate(result)
                   : step->getArgumentOf(result).has_value();
  }
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
  request->step.ranks = given.transport ? given.transport->ranks
                        : given.store   ? given.store->ranks
                                        : 1;
  return given.hasRoomForAll ? request->step.withRoomForAll()
                             : std::move(request->step);
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
                            step.mesh->getIndexInGroup(rank, placement.axes)),
                        static_cast<uint32_t>(placement.axes.size()),
                        placement.axes.data()});
  }
  return shards;
}

/// Compiles for the CPU of this machine. Emits errors.
static LogicalResult compileForCpu(RegatherExecutable &executable,
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
  return success();
}

/// The number of a device such as cuda:1; -1 of cuda, none of cpu.
static Result<std::optional<int32_t>> parseDevice(const char *text) {
  StringRef name = text ? text : "cpu";
  if (name == "cpu")
    return std::optional<int32_t>();
  if (name == "cuda")
    return std::optional<int32_t>(-1);
  int32_t number = 0;
  if (name.consume_front("cuda:") && !name.getAsInteger(10, number) &&
      number >= 0)
    return std::optional<int32_t>(number);
  return makeFailure("unknown device '{0}'; devices are cpu, cuda and cuda:N",
                     text);
}

/// What is wrong with options that depend on where the step runs.
static Failure checkPlace(const RegatherExecutableOptions &given,
                          bool isOnGpu) {
  if (isOnGpu && given.transport)
    return makeFailure(
        "on GPUs ranks communicate by NCCL: expects a store, got "
        "a transport");
  if (!isOnGpu && given.store)
    return makeFailure("on processors ranks communicate by messages: expects a "
                       "transport, got a store");
  if (given.memoryOf && (!isOnGpu || !given.memoryOf->gpuStep))
    return makeFailure("on processors executables have no memory of arguments");
  return Failure();
}

/// Finds the device of a step and all that is missing to run there.
static Result<rg_gpu_device> findDevice(int32_t number, bool needsNccl) {
  rg_gpu_device device = {};
  std::unique_ptr<char, decltype(&std::free)> missing(
      rg_gpu_find_device(number, needsNccl ? 1 : 0, &device), std::free);
  if (missing)
    return Failure(missing.get());
  return device;
}

/// Compiles for a GPU and loads the step there. Emits errors.
static LogicalResult compileForGpu(RegatherExecutable &executable,
                                   StepOptions options,
                                   const RegatherExecutableOptions &given,
                                   const rg_gpu_device &device) {
  ModuleOp module = *executable.module;
  CompileOptions code;
  code.architectures = {nvptx::chooseGpuArchitecture(device.architecture)};
  if (!code.architectures.front())
    return module.emitError()
           << "device " << device.number << " is sm_" << device.architecture
           << ", but kernels are compiled for sm_80 and newer";
  code.cacheDirectory = getDefaultCacheDirectory();
  options.fitsDevice = true;
  options.expandsAttention = true;
  options.cluster = chooseCodeCluster(options, code, module);
  FailureOr<PreparedStep> prepared = prepareWholeStep(module, options);
  if (failed(prepared) ||
      failed(verifyNamedPasses(module, prepared->options, StepStage::Program)))
    return failure();
  ProgressListener progress;
  FailureOr<CompiledGpuStep> compiled =
      compileForGpus(*prepared, code, progress);
  if (failed(compiled))
    return failure();
  executable.signature = std::move(prepared->step.signature);
  GpuStepExecutable::Options gpu;
  gpu.context = executable.context;
  gpu.device = device.number;
  gpu.timeoutSeconds = given.timeoutSeconds;
  gpu.store = given.store;
  if (given.memoryOf)
    gpu.owner = given.memoryOf->gpuStep;
  Result<std::shared_ptr<GpuStepExecutable>> made = GpuStepExecutable::create(
      std::move(*compiled), executable.signature, gpu);
  if (!made)
    return module.emitError() << "cannot run the step: " << made.getMessage();
  executable.gpuStep = std::move(*made);
  return success();
}

/// The executable without its module. Emits errors.
static LogicalResult compile(RegatherExecutable &executable,
                             const StepOptions &options,
                             const RegatherExecutableOptions &given,
                             const std::optional<rg_gpu_device> &device) {
  if (failed(device ? compileForGpu(executable, options, given, *device)
                    : compileForCpu(executable, options, given)))
    return failure();
  const StepSignature &signature = executable.signature;
  int64_t rank = given.transport ? given.transport->rank
                 : given.store   ? given.store->rank
                                 : 0;
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
    Result<std::optional<int32_t>> number = parseDevice(options->device);
    if (!number)
      return capi::takeStatus(number.getFailure());
    if (Failure failure = checkPlace(*options, number->has_value()))
      return capi::takeStatus(failure);
    std::optional<rg_gpu_device> device;
    if (*number) {
      Result<rg_gpu_device> found = findDevice(**number, options->store);
      if (!found)
        return capi::takeStatus(found.getFailure());
      device = *found;
    }
    auto created = std::make_unique<RegatherExecutable>();
    created->context = createContext();
    Messages messages(created->context.get());
    created->module = readModule(
        llvm::MemoryBuffer::getMemBufferCopy(
            StringRef(document, size), options->name ? options->name : "step"),
        options->isCapture != 0, created->sources, *created->context);
    if (!created->module || failed(compile(*created, *step, *options, device)))
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
  const rg_value &table = executable->getProgram().arguments[number];
  return describe(executable->signature.arguments[number], table,
                  executable->argumentShards[number], table.donated);
}

RegatherValue regatherExecutableGetResult(const RegatherExecutable *executable,
                                          uint32_t number) {
  if (number >= regatherExecutableGetNumResults(executable))
    return {};
  return describe(executable->signature.results[number],
                  executable->getProgram().results[number],
                  executable->resultShards[number],
                  executable->isInArgument(number));
}

uint64_t regatherExecutableGetBytes(const RegatherExecutable *executable) {
  if (!executable)
    return 0;
  return static_cast<uint64_t>(executable->gpuStep
                                   ? executable->gpuStep->getBytes()
                                   : executable->step->getBytes());
}

int32_t regatherExecutableGetDevice(const RegatherExecutable *executable) {
  return executable && executable->gpuStep ? executable->gpuStep->getDevice()
                                           : -1;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

/// What is wrong with a copy of an argument.
static Failure checkCopy(const RegatherExecutable *executable,
                         uint32_t argument, const void *data) {
  if (!executable)
    return makeFailure("an argument is null");
  if (!executable->gpuStep)
    return makeFailure("on processors arguments lie in memory of the caller");
  uint32_t count = regatherExecutableGetNumArguments(executable);
  if (argument >= count)
    return makeFailure("there is no argument {0}: the step has {1}", argument,
                       count);
  if (!data && rg_value_bytes(&executable->getProgram().arguments[argument]))
    return makeFailure("an argument is null");
  return Failure();
}

RegatherStatus *regatherExecutableWrite(RegatherExecutable *executable,
                                        uint32_t argument, const void *data,
                                        int32_t isOnDevice) {
  Failure failure = checkCopy(executable, argument, data);
  if (!failure)
    failure = executable->gpuStep->write(argument, data, isOnDevice != 0);
  return capi::takeStatus(failure);
}

RegatherStatus *regatherExecutableRead(RegatherExecutable *executable,
                                       uint32_t argument, void *data) {
  Failure failure = checkCopy(executable, argument, data);
  if (!failure)
    failure = executable->gpuStep->read(argument, data);
  return capi::takeStatus(failure);
}

RegatherStatus *regatherExecutableRun(RegatherExecutable *executable,
                                      void *const *arguments,
                                      void *const *results) {
  if (!executable || !arguments || !results)
    return capi::takeStatus(makeFailure("an argument is null"));
  return capi::takeStatus(executable->gpuStep
                              ? executable->gpuStep->run(arguments, results)
                              : executable->step->run(arguments, results));
}
