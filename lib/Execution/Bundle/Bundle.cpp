//===- Bundle.cpp - A compiled step in a file -----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Bundle/Bundle.h"

#include "regather/Execution/Bundle/TargetMachine.h"
#include "regather/Support/AtomicFile.h"
#include "regather/Support/MappedFile.h"
#include "regather/Support/Sha256.h"

#include <cstring>
#include <dlfcn.h>
#include <sys/stat.h>

using namespace regather;

namespace {
/// The last bytes of the file. Little endian, as are the machines that this
/// runs on.
struct Trailer {
  char magic[8];
  uint32_t version;
  uint32_t reserved;
  uint64_t objectBytes;
  uint64_t manifestBytes;
  /// SHA-256 of all bytes before the trailer.
  Sha256::Digest digest;
};

/// The two parts of a bundle.
struct Parts {
  MappedFile file;
  std::string_view object, manifest;
};
} // namespace

/// How names of bundles end.
static constexpr std::string_view kEnding = ".rgb";

static constexpr char kMagic[] = {'R', 'G', 'B', 'U', 'N', 'D', 'L', 'E'};

static Sha256::Digest getDigest(std::string_view object,
                                std::string_view manifest) {
  Sha256 sha;
  sha.add(object);
  sha.add(manifest);
  return sha.finish();
}

Failure regather::writeBundle(const std::string &path, std::string_view object,
                              const Manifest &manifest) {
  std::string text = formatManifest(manifest);
  Trailer trailer = {};
  std::memcpy(trailer.magic, kMagic, sizeof(kMagic));
  trailer.version = kBundleVersion;
  trailer.objectBytes = object.size();
  trailer.manifestBytes = text.size();
  trailer.digest = getDigest(object, text);
  std::string_view end(reinterpret_cast<const char *>(&trailer),
                       sizeof(trailer));
  Failure failure = writeFileAtomically(path, {object, text, end});
  if (failure)
    return Failure("cannot write '" + path + "': " + failure.getMessage());
  return failure;
}

/// Opens a bundle and checks its trailer; messages do not name the file.
static Result<Parts> openParts(const std::string &path) {
  Result<MappedFile> file = MappedFile::open(path);
  if (!file)
    return file.getFailure();
  std::string_view bytes = file->getBytes();
  Trailer trailer = {};
  if (bytes.size() < sizeof(trailer))
    return Failure("it is cut off or no bundle: it has only " +
                   std::to_string(bytes.size()) + " bytes");
  size_t length = bytes.size() - sizeof(trailer);
  std::memcpy(&trailer, bytes.data() + length, sizeof(trailer));
  if (std::memcmp(trailer.magic, kMagic, sizeof(kMagic)) != 0)
    return Failure("it is cut off or no bundle: its end has no trailer");
  if (trailer.version != kBundleVersion)
    return Failure(
        "it is a bundle of version " + std::to_string(trailer.version) +
        ", but this program runs version " + std::to_string(kBundleVersion));
  if (trailer.objectBytes > length ||
      trailer.manifestBytes != length - trailer.objectBytes)
    return Failure("it is damaged: its trailer describes other sizes");
  Parts parts;
  parts.object = bytes.substr(0, trailer.objectBytes);
  parts.manifest = bytes.substr(trailer.objectBytes, trailer.manifestBytes);
  parts.file = std::move(*file);
  if (getDigest(parts.object, parts.manifest) != trailer.digest)
    return Failure("it is damaged: its SHA-256 is another one");
  return parts;
}

static Failure explain(const std::string &path, const std::string &why) {
  return Failure("cannot run bundle '" + path + "': " + why);
}

static Failure explain(const std::string &path, const Failure &failure) {
  return Failure(explain(path, failure.getMessage()).getMessage(),
                 failure.getCode());
}

/// Which file has a name now, and when it was last written: equal if it is the
/// same as before.
static std::string identify(const std::string &path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0)
    return "none";
  std::string text;
  for (int64_t number :
       {int64_t(status.st_dev), int64_t(status.st_ino), int64_t(status.st_size),
        int64_t(status.st_mtim.tv_sec), int64_t(status.st_mtim.tv_nsec)})
    text += std::to_string(number) + " ";
  return text;
}

Result<Manifest> regather::readManifest(const std::string &path) {
  std::string file = identify(path);
  Result<Parts> parts = openParts(path);
  if (!parts)
    return explain(path, parts.getMessage());
  Result<Manifest> manifest = parseManifest(parts->manifest);
  if (!manifest)
    return explain(path, manifest.getMessage());
  manifest->file = std::move(file);
  return manifest;
}

/// Loads the shared object of a bundle. What is loaded is opened by its name
/// once more, and has to be what was checked.
static Result<void *> openLibrary(const std::string &path,
                                  const Manifest &manifest) {
  Failure replaced("it was replaced after it had been checked");
  if (identify(path) != manifest.file)
    return replaced;
  // A name without a slash would be searched for elsewhere.
  std::string name = path.find('/') == std::string::npos ? "./" + path : path;
  void *library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return Failure(dlerror());
  if (identify(path) != manifest.file)
    return replaced;
  return library;
}

/// The tables of a kind in the shared object of a bundle.
template <typename T>
static Result<const T *> findTables(void *library, const char *symbol) {
  const void *tables = dlsym(library, symbol);
  if (!tables)
    return Failure("it holds no program");
  return static_cast<const T *>(tables);
}

/// True if the tables take and give what the manifest says.
static bool agree(const rg_value *values, int64_t count,
                  const std::vector<StepValue> &described) {
  if (count != static_cast<int64_t>(described.size()))
    return false;
  for (size_t i = 0; i < described.size(); ++i)
    if (values[i].dtype != static_cast<int32_t>(described[i].elementType) ||
        Shape(values[i].shape, values[i].shape + values[i].rank) !=
            described[i].localShape)
      return false;
  return true;
}

static Failure checkTables(const rg_program &program,
                           const StepSignature &step) {
  // The runtime says what is wrong with tables of another version.
  if (program.version != RG_PROGRAM_VERSION)
    return Failure();
  if (!agree(program.arguments, program.argument_count, step.arguments) ||
      !agree(program.results, program.result_count, step.results))
    return Failure("its manifest describes another step");
  return Failure();
}

/// Adds to a message what runs at an instruction.
static CpuEngine::Reporter
makeReporter(const rg_program &program,
             std::function<void(const std::string &)> report) {
  return [report = std::move(report), &program](const std::string &message,
                                                int64_t instruction) {
    const char *description =
        instruction < 0 ? nullptr
                        : program.instructions[instruction].description;
    // A collective that is not done is in the message already.
    bool isNew = description && message.find(description) == std::string::npos;
    report(message + (isNew ? std::string(" (") + description + ')' : ""));
  };
}

void BundleOptions::setRanks(int64_t ranks) {
  executor.ranks = gpu.ranks = static_cast<int32_t>(ranks);
}

BundleOptions regather::makeBundleOptions(const RunFlags &flags) {
  BundleOptions options;
  options.setRanks(flags.ranks.value_or(0));
  rg_executor_options &executor = options.executor;
  rg_gpu_executor_options &gpu = options.gpu;
  executor.timeout_seconds = flags.timeout.value_or(RunFlags::kDefaultTimeout);
  if (flags.timeout)
    gpu.setup_timeout_seconds = gpu.first_timeout_seconds =
        gpu.timeout_seconds = *flags.timeout;
  executor.threads = flags.threads;
  executor.watch_arena = gpu.watch_arena = flags.options.checkPlan;
  executor.record_spans = gpu.record_spans = flags.options.needsSpans();
  options.profiles = flags.options.profile.isAsked;
  CommunicatorOptions communicator =
      flags.communicator.value_or(CommunicatorOptions());
  executor.check_messages = communicator.isChecked;
  executor.latency_seconds = communicator.latencySeconds;
  executor.bandwidth = communicator.bandwidth;
  executor.host_bandwidth = communicator.hostBandwidth;
  gpu.one_rank_of_job = communicator.kind == CommunicatorKind::Nccl;
  gpu.reproducible = communicator.isReproducible;
  gpu.device = flags.device;
  options.job = flags.job;
  if (flags.job)
    executor.transport = flags.job->getTransport();
  if (flags.timesAlgorithms)
    gpu.algorithms = *flags.timesAlgorithms ? RG_GPU_ALGORITHMS_TIMED
                                            : RG_GPU_ALGORITHMS_FIRST;
  return options;
}

static Failure checkOptions(const Manifest &manifest,
                            const BundleOptions &options) {
  bool isForCpu = manifest.device.empty();
  if (isForCpu && options.gpu.one_rank_of_job)
    return Failure("--comm=nccl needs a bundle for GPUs");
  if (!isForCpu && options.job)
    return Failure("--comm=mpi needs a bundle for processors");
  if (!isForCpu && options.profiles)
    return Failure("--profile needs a bundle for processors");
  return Failure();
}

/// The file next to a bundle that keeps the algorithms of its GEMMs:
/// `step.algorithms.json` for `step.rgb`.
static std::string getAlgorithmFile(const std::string &path, bool isRoomy) {
  size_t length = path.size() - (isBundle(path) ? kEnding.size() : 0);
  return path.substr(0, length) +
         (isRoomy ? ".roomy.algorithms.json" : ".algorithms.json");
}

namespace {
/// The code of a bundle, loaded when it is first asked for. Its second program
/// is then there even if the file is written anew.
class BundleCode {
public:
  BundleCode(std::string path, Manifest manifest, BundleOptions options,
             std::function<void(const std::string &)> report)
      : path(std::move(path)), manifest(std::move(manifest)),
        options(std::move(options)), report(std::move(report)) {}

  const Manifest &getManifest() const { return manifest; }
  Result<std::unique_ptr<Engine>> createEngine() {
    return create(manifest.step, /*isRoomy=*/false);
  }
  Result<RoomyStep> createRoomy();

private:
  Result<std::unique_ptr<Engine>> create(const StepSignature &step,
                                         bool isRoomy);
  Result<std::unique_ptr<Engine>> createForCpu(const StepSignature &step,
                                               bool isRoomy);
  Result<std::unique_ptr<Engine>> createForGpu(const StepSignature &step,
                                               bool isRoomy);
  Failure open();

  std::string path;
  Manifest manifest;
  BundleOptions options;
  std::function<void(const std::string &)> report;
  void *library = nullptr;
};
} // namespace

Failure BundleCode::open() {
  if (library)
    return Failure();
  if (Failure failure = checkHost(manifest.machine, manifest.features))
    return failure;
  if (Failure failure = checkOptions(manifest, options))
    return failure;
  Result<void *> opened = openLibrary(path, manifest);
  if (!opened)
    return opened.getFailure();
  library = *opened;
  return Failure();
}

Result<std::unique_ptr<Engine>>
BundleCode::createForCpu(const StepSignature &step, bool isRoomy) {
  auto program = findTables<rg_program>(
      library, isRoomy ? RG_ROOMY_PROGRAM_SYMBOL : RG_PROGRAM_SYMBOL);
  if (!program)
    return program.getFailure();
  if (Failure failure = checkTables(**program, step))
    return failure;
  auto engine = CpuEngine::create(**program, options.executor,
                                  makeReporter(**program, report));
  if (!engine)
    return engine.getFailure();
  return std::unique_ptr<Engine>(std::move(*engine));
}

Result<std::unique_ptr<Engine>>
BundleCode::createForGpu(const StepSignature &step, bool isRoomy) {
  auto gpu = findTables<rg_gpu_program>(
      library, isRoomy ? RG_ROOMY_GPU_PROGRAM_SYMBOL : RG_GPU_PROGRAM_SYMBOL);
  if (!gpu)
    return gpu.getFailure();
  if ((*gpu)->version == RG_GPU_PROGRAM_VERSION)
    if (Failure failure = checkTables(*(*gpu)->program, step))
      return failure;
  std::string algorithmFile = getAlgorithmFile(path, isRoomy);
  rg_gpu_executor_options gpuOptions = options.gpu;
  gpuOptions.default_algorithm_file = algorithmFile.c_str();
  auto engine = GpuEngine::create(**gpu, step, gpuOptions,
                                  makeReporter(*(*gpu)->program, report));
  if (!engine)
    return engine.getFailure();
  if (std::string note = (*engine)->getNote();
      !note.empty() && options.reportNote)
    options.reportNote(note);
  return std::unique_ptr<Engine>(std::move(*engine));
}

Result<std::unique_ptr<Engine>> BundleCode::create(const StepSignature &step,
                                                   bool isRoomy) {
  if (Failure failure = open())
    return explain(path, failure.getMessage());
  auto engine = manifest.device.empty() ? createForCpu(step, isRoomy)
                                        : createForGpu(step, isRoomy);
  if (!engine)
    return explain(path, engine.getMessage());
  return engine;
}

Result<RoomyStep> BundleCode::createRoomy() {
  RoomyStep roomy;
  roomy.step = manifest.step;
  unsigned overflow = *manifest.step.overflow;
  roomy.step.results.erase(roomy.step.results.begin() + overflow);
  roomy.step.overflow.reset();
  if (roomy.step.loss && *roomy.step.loss > overflow)
    --*roomy.step.loss;
  auto engine = create(roomy.step, /*isRoomy=*/true);
  if (!engine)
    return engine.getFailure();
  roomy.engine = std::move(*engine);
  return roomy;
}

Result<std::unique_ptr<Engine>>
regather::loadBundle(const std::string &path, const Manifest &manifest,
                     const BundleOptions &options,
                     const std::function<void(const std::string &)> &report) {
  return BundleCode(path, manifest, options, report).createEngine();
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

bool regather::isBundle(const std::string &path) {
  return path.size() > kEnding.size() &&
         path.compare(path.size() - kEnding.size(), kEnding.size(), kEnding) ==
             0;
}

/// A bundle without communication runs on any number of ranks.
static Failure chooseRanks(StepSignature &step, int32_t ranks,
                           const MpiJob *job) {
  if (job && step.mesh)
    return job->checkRanks(step.ranks, "it was compiled for");
  if (job)
    ranks = job->getNumRanks();
  if (ranks == 0 || ranks == step.ranks)
    return Failure();
  if (step.mesh)
    return Failure("it was compiled for " + std::to_string(step.ranks) +
                   " ranks, but --ranks asks for " + std::to_string(ranks));
  step.ranks = ranks;
  return Failure();
}

Result<RunSubject> regather::describeBundle(
    const std::string &path, BundleOptions options,
    const std::function<void(const std::string &)> &reportError) {
  Result<Manifest> read = readManifest(path);
  if (!read)
    return read.getFailure();
  Failure failure = checkHost(read->machine, read->features);
  if (!failure)
    failure =
        chooseRanks(read->step, options.executor.ranks, options.job.get());
  if (failure)
    return explain(path, failure);
  int64_t ranks = read->step.ranks;
  options.setRanks(ranks);
  auto code = std::make_shared<BundleCode>(path, std::move(*read), options,
                                           reportError);
  const Manifest &manifest = code->getManifest();
  RunSubject subject{manifest.step, manifest.program.collectives,
                     [code] { return code->createEngine(); }, reportError};
  // Ranks that NCCL connects find each other once.
  if (manifest.roomy && !options.gpu.one_rank_of_job)
    subject.createRoomy = [code] { return code->createRoomy(); };
  if (options.job)
    subject.onlyRank = options.job->getRank();
  if (options.gpu.one_rank_of_job) {
    // What is wrong with the environment is said when the engine is loaded.
    int32_t rank = rg_gpu_job_rank();
    subject.onlyRank = rank >= 0 && rank < ranks ? rank : 0;
  }
  return subject;
}
