//===- CalibrateMachine.cpp - Measure this machine as a cluster -----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The engine itself runs the probes, so that what is measured is what steps are
// made of. All ranks compute at the same time, as they do in a step.
//
//===----------------------------------------------------------------------===//

#include "regather/Driver/CalibrateMachine.h"

#include "ProbeSteps.h"

#include "regather/Driver/CreateStepEngine.h"
#include "regather/Driver/ReadModule.h"
#include "regather/Execution/Training/StepInputs.h"
#include "regather/Support/LLVM/MakeFailure.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <thread>
#include <tuple>
#include <unistd.h>

using namespace mlir;
using namespace regather;

/// The elements of the shards that collectives move, of f32.
static constexpr int64_t kShardSizes[] = {1 << 8, 1 << 14, 1 << 17, 1 << 20};
static constexpr double kElementBytes = 4;
/// What one repetition over a slow link may take, and all of them.
static constexpr double kRepetitionSeconds = 1, kMostSeconds = 60;

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

namespace {
/// By run and rank, what was done.
using Record = std::vector<std::vector<std::vector<RunSpan>>>;
} // namespace

/// Runs a probe several times, after once to warm up.
static Result<Record> runProbe(const std::string &text, const char *name,
                               const CalibrationRequest &request,
                               ProgressListener &progress) {
  std::unique_ptr<MLIRContext> context = createContext();
  std::string errors;
  ScopedDiagnosticHandler handler(context.get(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      errors += (errors.empty() ? "" : "; ") + diagnostic.str();
    return success();
  });
  auto fail = [&] {
    return makeFailure("the machine cannot be measured by {0}: {1}", name,
                       errors);
  };
  llvm::SourceMgr sources;
  OwningOpRef<ModuleOp> module =
      readModule(llvm::MemoryBuffer::getMemBufferCopy(text, name),
                 /*isCapture=*/false, sources, *context);
  if (!module)
    return fail();
  StepOptions options;
  options.ranks = request.ranks;
  options.asCaptured = true;
  FailureOr<PreparedStep> prepared =
      prepareRun(*module, options, EngineKind::Cpu);
  if (failed(prepared))
    return fail();
  EngineOptions engineOptions;
  engineOptions.threads = request.threads;
  engineOptions.communicator = request.communicator;
  engineOptions.recordSpans = true;
  engineOptions.cacheDirectory = request.cacheDirectory;
  std::unique_ptr<Engine> engine =
      createStepEngine(*prepared, EngineKind::Cpu, engineOptions, progress);
  if (!engine)
    return fail();
  InputOptions inputs;
  inputs.randomSeed = 1;
  std::vector<std::string> warnings;
  auto arguments = makeInputs(prepared->step.signature, inputs, warnings);
  if (!arguments)
    return arguments.getFailure();

  Record record;
  progress.begin("measuring");
  for (int64_t i = 0; i <= request.repetitions; ++i) {
    std::vector<RankValues> results;
    if (!engine->run(*arguments, results)) {
      progress.end();
      return fail();
    }
    if (i > 0)
      record.push_back(engine->getSpans());
    progress.advance(i, request.repetitions);
  }
  progress.end();
  return record;
}

static double takeMedian(std::vector<double> values) {
  auto *middle = values.data() + values.size() / 2;
  std::nth_element(values.data(), middle, values.data() + values.size());
  return *middle;
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

namespace {
/// Seconds by size, of which there may be several for each.
class Samples {
public:
  void add(double size, double seconds) { bySize[size].push_back(seconds); }
  bool isEmpty() const { return bySize.empty(); }

  /// The mean of each size; noise does not make more work take less time.
  std::vector<std::pair<double, double>> getPoints() const {
    std::vector<std::pair<double, double>> points;
    double longest = 1e-9;
    for (const auto &[size, seconds] : bySize) {
      double sum = 0;
      for (double each : seconds)
        sum += each;
      longest = std::max(longest, sum / static_cast<double>(seconds.size()));
      points.emplace_back(size, longest);
    }
    return points;
  }

private:
  std::map<double, std::vector<double>> bySize;
};

/// What was measured of computation.
struct Computation {
  /// Of f32 and of bf16, by FLOPs.
  Samples gemm[2], attention[2];
  /// By bytes.
  Samples kernels;
  double vectorFlops = 0;
  double launchSeconds = 0;
};
} // namespace

static Computation sumUpComputation(const Record &record) {
  // Equal kernels have one name, wherever they are called.
  using Kernel = std::tuple<std::string, RunWork, bool, double, int64_t>;
  std::map<Kernel, std::vector<double>> kernels;
  std::vector<double> gaps, totals;
  for (const auto &ranks : record)
    for (const std::vector<RunSpan> &spans : ranks) {
      const RunSpan *last = nullptr;
      double total = 0;
      for (const RunSpan &span : spans) {
        if (span.kind != RunSpan::Kind::Computation)
          continue;
        kernels[{span.name, span.work, span.isNarrow, span.flops, span.bytes}]
            .push_back(span.end - span.begin);
        if (last)
          gaps.push_back(std::max(0.0, span.begin - last->end));
        last = &span;
        total += span.end - span.begin;
      }
      totals.push_back(total);
    }
  Computation result;
  if (!gaps.empty())
    result.launchSeconds = takeMedian(std::move(gaps));
  // A kernel that another program interrupts is no median, but a step has some
  // of them: all kernels together take longer than their medians.
  double expected = 0;
  for (const auto &entry : kernels)
    expected += takeMedian(entry.second) *
                static_cast<double>(entry.second.size()) /
                static_cast<double>(totals.size());
  double slowdown =
      expected > 0 ? std::max(1.0, takeMedian(totals) / expected) : 1;
  for (auto &[kernel, times] : kernels) {
    auto [name, work, isNarrow, flops, bytes] = kernel;
    double seconds = slowdown * takeMedian(std::move(times));
    if (work == RunWork::Gemm && flops > 0)
      result.gemm[isNarrow].add(flops, seconds);
    else if (work == RunWork::Attention && flops > 0)
      result.attention[isNarrow].add(flops, seconds);
    else if (work == RunWork::Kernel && flops > static_cast<double>(bytes))
      result.vectorFlops = std::max(result.vectorFlops, flops / seconds);
    else if (work == RunWork::Kernel && bytes > 0)
      result.kernels.add(static_cast<double>(bytes), seconds);
  }
  return result;
}

/// The rate of the largest size, or the highest of all.
static double getRate(const Samples &samples, bool isHighest) {
  double rate = 0;
  for (auto [size, seconds] : samples.getPoints())
    rate = isHighest ? std::max(rate, size / seconds) : size / seconds;
  return rate;
}

static Failure fillDevice(Device &device, const Computation &measured) {
  if (measured.gemm[0].isEmpty() || measured.gemm[1].isEmpty() ||
      measured.attention[0].isEmpty() || measured.kernels.isEmpty() ||
      measured.vectorFlops <= 0)
    return Failure(
        "the machine has run no GEMM, attention or kernel that could "
        "be measured");
  const char *types[] = {"f32", "bf16"};
  for (int i = 0; i < 2; ++i) {
    device.peakFlops[types[i]] = getRate(measured.gemm[i], /*isHighest=*/true);
    device.measured.push_back(
        {WorkKind::Matmul, types[i], measured.gemm[i].getPoints()});
    if (!measured.attention[i].isEmpty())
      device.measured.push_back(
          {WorkKind::Attention, types[i], measured.attention[i].getPoints()});
  }
  device.measured.push_back(
      {WorkKind::Other, "", measured.kernels.getPoints()});
  device.vectorFlops = measured.vectorFlops;
  device.matmulEfficiency = 1;
  device.attentionEfficiency =
      std::clamp(getRate(measured.attention[0], /*isHighest=*/true) /
                     device.peakFlops["f32"],
                 1e-3, 1.0);
  // Beyond the caches, where the largest kernel is.
  device.memoryBandwidth = getRate(measured.kernels, /*isHighest=*/false);
  device.memoryEfficiency = 1;
  device.launchSeconds = measured.launchSeconds;
  return Failure();
}

//===----------------------------------------------------------------------===//
// Links
//===----------------------------------------------------------------------===//

static double getReceivedBytes(CollectiveKind kind, int64_t shardSize,
                               int64_t ranks) {
  double bytes = kElementBytes * static_cast<double>(shardSize * (ranks - 1));
  return kind == CollectiveKind::AllReduce ? 2 * bytes : bytes;
}

/// Those of kShardSizes that do not take too long over the link, but two at
/// least.
static Result<std::vector<int64_t>>
chooseShardSizes(const CalibrationRequest &request) {
  const CommunicatorOptions &link = request.communicator;
  std::vector<int64_t> sizes;
  double seconds = 0;
  for (int64_t size : kShardSizes) {
    double bytes =
        4 * getReceivedBytes(CollectiveKind::AllGather, size, request.ranks);
    double next = 3 * link.latencySeconds +
                  (link.bandwidth > 0 ? bytes / link.bandwidth : 0);
    if (sizes.size() >= 2 && seconds + next > kRepetitionSeconds)
      break;
    sizes.push_back(size);
    seconds += next;
  }
  double all = seconds * static_cast<double>(request.repetitions + 1);
  if (!(all <= kMostSeconds))
    return makeFailure(
        "collectives over a link of {0} s and {1} would take {2:f0} s, and a "
        "minute is allowed: calibrate over a faster link or with fewer "
        "repetitions",
        link.latencySeconds,
        link.bandwidth > 0 ? llvm::formatv("{0} B/s", link.bandwidth).str()
                           : "unlimited bandwidth",
        all);
  return sizes;
}

/// Of the group, the time is that from when its last rank had begun.
static Failure fillLinks(Cluster &cluster, const Record &record,
                         llvm::ArrayRef<int64_t> sizes,
                         const CalibrationRequest &request) {
  static constexpr CollectiveKind kKinds[] = {CollectiveKind::AllGather,
                                              CollectiveKind::ReduceScatter,
                                              CollectiveKind::AllReduce};
  std::map<std::pair<CollectiveKind, size_t>, std::vector<double>> times;
  for (const auto &ranks : record)
    for (const std::vector<RunSpan> &spans : ranks) {
      std::map<CollectiveKind, size_t> counts;
      for (const RunSpan &span : spans) {
        if (span.kind != RunSpan::Kind::Communication)
          continue;
        llvm::StringRef name = span.name;
        name.consume_front("tg.");
        if (std::optional<CollectiveKind> kind = findCollectiveKind(name))
          times[{*kind, counts[*kind]++}].push_back(span.end - span.begin);
      }
    }
  LinkClass link;
  bool isInjected = request.communicator.latencySeconds > 0 ||
                    request.communicator.bandwidth > 0;
  link.name = isInjected ? "injected" : "memory";
  for (CollectiveKind kind : kKinds) {
    Samples samples;
    for (auto [i, size] : llvm::enumerate(sizes)) {
      auto found = times.find({kind, i});
      if (found == times.end())
        return makeFailure("the ranks have run no {0} that could be measured",
                           getCollectiveName(kind));
      samples.add(getReceivedBytes(kind, size, request.ranks),
                  takeMedian(found->second));
    }
    MeasuredTable table;
    table.kind = kind;
    table.ranks = table.ranksPerNode = request.ranks;
    table.points = samples.getPoints();
    cluster.measured.push_back(std::move(table));
  }
  // For groups and collectives without a table.
  llvm::ArrayRef<std::pair<double, double>> points =
      cluster.measured.front().points;
  auto [fewest, least] = points.front();
  auto [most, longest] = points.back();
  double perByte = std::max(longest - least, 1e-9) / (most - fewest);
  LinkProtocol protocol;
  protocol.name = "measured";
  protocol.latencySeconds = std::max(0.0, least - fewest * perByte);
  protocol.bandwidth = std::clamp(1 / perByte, 1e3, 1e15);
  link.protocols.push_back(protocol);
  cluster.links.push_back(std::move(link));
  cluster.algorithms = {CollectiveAlgorithm::Ring};
  return Failure();
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

static Failure checkRequest(const CalibrationRequest &request) {
  if (request.ranks < 2 || request.ranks > CalibrationRequest::kMostRanks)
    return makeFailure("ranks must be between 2, since a cluster has links, "
                       "and {0}, got {1}",
                       CalibrationRequest::kMostRanks, request.ranks);
  if (request.threads < 0)
    return makeFailure("threads must be at least 0, got {0}", request.threads);
  if (request.repetitions < 1 ||
      request.repetitions > CalibrationRequest::kMostRepetitions)
    return makeFailure("repetitions must be between 1 and {0}, got {1}",
                       CalibrationRequest::kMostRepetitions,
                       request.repetitions);
  if (request.communicator.kind != CommunicatorKind::Threads)
    return Failure("only ranks on threads of this machine are measured, over "
                   "threads[,latency=..][,bandwidth=..]; GPUs and networks "
                   "are not supported");
  return Failure();
}

Result<Cluster> regather::calibrateMachine(const CalibrationRequest &request,
                                           ProgressListener &progress) {
  if (Failure failure = checkRequest(request))
    return failure;
  Result<std::vector<int64_t>> sizes = chooseShardSizes(request);
  if (!sizes)
    return sizes.getFailure();
  Result<Record> computation = runProbe(
      makeComputationProbe(), "the probe of computation", request, progress);
  if (!computation)
    return computation.getFailure();
  Result<Record> collectives =
      runProbe(makeCollectiveProbe(request.ranks, *sizes),
               "the probe of collectives", request, progress);
  if (!collectives)
    return collectives.getFailure();
  Cluster cluster;
  cluster.name = "calibrated";
  Device &device = cluster.device;
  device.name = "a rank of this machine";
  if (Failure failure = fillDevice(device, sumUpComputation(*computation)))
    return failure;
  if (Failure failure = fillLinks(cluster, *collectives, *sizes, request))
    return failure;
  device.memoryBytes = static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                       static_cast<double>(sysconf(_SC_PAGE_SIZE)) /
                       static_cast<double>(request.ranks);
  // A copy by another thread, which reads and writes.
  device.hostMemoryBytes = device.memoryBytes;
  device.hostBandwidth = request.communicator.hostBandwidth > 0
                             ? request.communicator.hostBandwidth
                             : device.memoryBandwidth / 2;
  return cluster;
}

std::string regather::formatCalibration(const Cluster &cluster,
                                        const CalibrationRequest &request) {
  std::string threads = request.threads ? llvm::itostr(request.threads)
                                        : std::string("the machine's share of");
  return formatCluster(
      cluster,
      llvm::formatv("Measured by regather calibrate: {0} ranks at once, {1} "
                    "threads each, medians of {2} repetitions. The host is the "
                    "same memory: half the bandwidth of a copy beyond the "
                    "caches, unless a link to it was injected.",
                    request.ranks, threads, request.repetitions)
          .str());
}

std::string regather::formatCalibrationText(const Cluster &cluster) {
  const Device &device = cluster.device;
  const LinkProtocol &link = cluster.links.front().protocols.front();
  return llvm::formatv(
             "GEMM            {0:f1} GFLOP/s in f32, {1:f1} in bf16\n"
             "attention       {2:f1} GFLOP/s in f32\n"
             "kernels         {3:f1} GFLOP/s, {4:f1} GB/s beyond the caches, "
             "{5:f2} us before each\n"
             "collectives     {6:f1} us, {7:f3} GB/s received by each rank\n",
             device.peakFlops.lookup("f32") / 1e9,
             device.peakFlops.lookup("bf16") / 1e9,
             device.peakFlops.lookup("f32") * device.attentionEfficiency / 1e9,
             device.vectorFlops / 1e9, device.memoryBandwidth / 1e9,
             device.launchSeconds * 1e6, link.latencySeconds * 1e6,
             link.bandwidth / 1e9)
      .str();
}
