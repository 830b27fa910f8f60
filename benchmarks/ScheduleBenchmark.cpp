//===- ScheduleBenchmark.cpp - How the scheduler scales -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: regather-schedule-bench --scale MAXIMUM |
//        [--limit BYTES] [--buckets] FILE.json...
//
// Prints one JSON object a line: for synthetic sharded training steps of more
// and more layers, up to a number of operations, scheduled within 1.05 times
// the peak of the step as it is given; or for each file what its order takes,
// and what ours does; with `--buckets`, of the step with buckets that are
// chosen for it. Seconds are those of choosing and scheduling. A file has
// `ops`, lists of a kind (`compute`, `collective`, `wait`), seconds, the stream
// of a collective or the collective of a wait, predecessors, and what a
// collective carries that may be merged; and `buffers`, lists of bytes, writer,
// whether it is live at the end, and users.
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Buckets/BucketChoice.h"
#include "regather/Analysis/OverlapSchedule/OverlapSchedule.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <ctime>

#include <sys/resource.h>

using namespace llvm;
using namespace regather;

namespace {
/// A collective takes a latency and its bytes over a bandwidth.
struct LinkSpeed {
  double latency = 0;
  double bandwidth = 0;
};

/// A step, and what may be merged in it.
struct BenchStep {
  BucketChoiceProblem choice;
  /// By collective that may be merged.
  std::vector<LinkSpeed> speeds;
  /// By module: bytes of its gathered parameters, the most of which a bucket
  /// may have.
  StringMap<int64_t> unitBytes;

  void add(const CollectiveOps &ops, const SizedCollective &sized,
           const LinkSpeed &speed, StringRef unit) {
    // A tenth of the time is latency.
    constexpr double kSaturation = 0.9;
    choice.collectives.push_back(ops);
    speeds.push_back(speed);
    SizedCollective &added = choice.sizes.collectives.emplace_back(sized);
    added.saturatingBytes =
        speed.latency * speed.bandwidth * kSaturation / (1 - kSaturation);
    int64_t &bytes = unitBytes[unit] += sized.wholeBytes;
    choice.sizes.maxBytes = std::max(choice.sizes.maxBytes, bytes);
  }
};

/// A transformer of `numLayers` layers. The parameters of each are gathered
/// right before its forward and again before its backward; its gradients are
/// reduced, waited for and used to update their shards right after. With tensor
/// parallelism, two all-reduces in each half of a layer are on a stream of
/// their own.
class StepBuilder {
public:
  StepBuilder(uint32_t numLayers, bool hasTensorParallel)
      : numLayers(numLayers), hasTensorParallel(hasTensorParallel) {
    graph.streams = {{0, {}}, {1, {}}};
    graph.links.resize(2);
  }

  BenchStep build() {
    for (uint32_t layer = 0; layer != numLayers; ++layer)
      addForward();
    for (uint32_t layer = numLayers; layer-- != 0;)
      addBackward(layer);
    for (ArrayRef<uint32_t> list : needs)
      graph.predecessors.push(list);
    for (ArrayRef<uint32_t> list : users)
      graph.users.push(list);
    result.choice.isEarly.resize(graph.ops.size());
    for (uint32_t op = 0; op != graph.ops.size(); ++op)
      result.choice.isEarly[op] = graph.ops[op].kind == TimedOpKind::Compute &&
                                  graph.predecessors[op].empty();
    result.choice.graph = std::move(graph);
    return std::move(result);
  }

  static uint32_t getOpsPerLayer(bool hasTensorParallel) {
    return 2 * kOpsPerHalf + 6 * kParameters + 4 * kParameters +
           (hasTensorParallel ? 12 : 0);
  }

private:
  static constexpr int64_t kMiB = int64_t(1) << 20;
  static constexpr uint32_t kOpsPerHalf = 40;
  static constexpr uint32_t kParameters = 8;
  static constexpr double kLatency = 0.03 / 1024;
  /// Of the gathered parameters of a layer.
  static constexpr int64_t kLayerBytes = 436 * kMiB;

  uint32_t add(TimedOp op, ArrayRef<uint32_t> needed, int64_t bytes) {
    uint32_t number = graph.ops.size();
    graph.ops.push_back(op);
    graph.buffers.push_back({bytes, number, false});
    needs.emplace_back(needed);
    users.emplace_back();
    for (uint32_t need : needed)
      users[need].push_back(number);
    return number;
  }
  uint32_t compute(double milliseconds, ArrayRef<uint32_t> needed,
                   int64_t bytes) {
    return add({TimedOpKind::Compute, 0, 0, milliseconds / 1024}, needed,
               bytes);
  }
  /// Starts a collective and waits for it right away.
  uint32_t communicate(uint32_t stream, double milliseconds,
                       ArrayRef<uint32_t> needed, int64_t bytes) {
    uint32_t start =
        add({TimedOpKind::Collective, stream, 0, milliseconds / 1024}, needed,
            bytes);
    uint32_t wait = add({TimedOpKind::Wait, stream, start, 0}, start, 0);
    for (uint32_t need : needed)
      users[need].push_back(wait);
    starts.resize(graph.ops.size());
    starts[wait] = start;
    return wait;
  }
  /// Whoever reads what a wait hands on keeps the buffer of the collective.
  void use(uint32_t op, uint32_t wait) {
    needs[op].push_back(wait);
    users[starts[wait]].push_back(op);
  }

  /// One of the parameters, or gradients, of a layer, which take so long in
  /// all.
  uint32_t communicatePart(bool isGather, double milliseconds, uint32_t needed,
                           int64_t bytes) {
    milliseconds /= kParameters;
    uint32_t wait = communicate(0, kLatency * 1024 + milliseconds, needed,
                                bytes / kParameters);
    SizedCollective sized;
    sized.key = isGather;
    sized.isGather = isGather;
    sized.receivedBytes = double(kLayerBytes) / kParameters;
    sized.wholeBytes = kLayerBytes / kParameters;
    result.add({starts[wait], wait}, sized,
               {kLatency, sized.receivedBytes / milliseconds * 1024},
               (isGather ? "gather " : "reduce ") + std::to_string(numUnits));
    return wait;
  }
  std::vector<uint32_t> gather() {
    std::vector<uint32_t> waits;
    ++numUnits;
    for (uint32_t i = 0; i != kParameters; ++i) {
      uint32_t cast = compute(0.02 / kParameters, {}, 54 * kMiB / kParameters);
      waits.push_back(
          communicatePart(/*isGather=*/true, 2.0, cast, kLayerBytes));
    }
    return waits;
  }

  uint32_t addChain(double milliseconds, ArrayRef<uint32_t> gathered,
                    int64_t bytes, SmallVectorImpl<uint32_t> &chain) {
    for (uint32_t i = 0; i != kOpsPerHalf; ++i) {
      SmallVector<uint32_t> needed;
      if (last)
        needed.push_back(*last);
      last = compute(milliseconds, needed, bytes);
      use(*last, gathered[i * kParameters / kOpsPerHalf]);
      chain.push_back(*last);
      if (hasTensorParallel && i % 20 == 19) {
        uint32_t wait = communicate(1, 0.5, *last, bytes);
        last = compute(0.01, {}, bytes);
        use(*last, wait);
      }
    }
    return *last;
  }
  void addForward() {
    addChain(0.1, gather(), 16 * kMiB, saved.emplace_back());
  }
  void addBackward(uint32_t layer) {
    SmallVector<uint32_t> chain;
    addChain(0.1, gather(), 16 * kMiB, chain);
    // What belongs to the weights hangs off the chain.
    for (auto [i, op] : enumerate(chain)) {
      users[saved[layer][saved[layer].size() - 1 - i]].push_back(op);
      if (i % (kOpsPerHalf / kParameters) != 0)
        continue;
      uint32_t gradient =
          compute(4.0 / kParameters, {op}, 2 * kLayerBytes / kParameters);
      uint32_t reduced =
          communicatePart(/*isGather=*/false, 4.0, gradient, kLayerBytes / 4);
      uint32_t update = compute(0.2 / kParameters, {}, 0);
      use(update, reduced);
    }
  }

  uint32_t numLayers;
  bool hasTensorParallel;
  /// Layers, forward and backward apart.
  uint32_t numUnits = 0;
  BenchStep result;
  TimedGraph graph;
  std::vector<SmallVector<uint32_t>> needs, users;
  std::vector<uint32_t> starts;
  std::vector<SmallVector<uint32_t>> saved;
  std::optional<uint32_t> last;
};
} // namespace

static double toRatio(int64_t bytes, int64_t of) {
  return static_cast<double>(bytes) / static_cast<double>(of);
}

/// The step with buckets that are chosen for it.
static TimedGraph chooseBuckets(BenchStep &step, json::Object &fields) {
  BucketChoiceProblem &problem = step.choice;
  problem.sizes.getSeconds = [&](uint32_t i, double bytes) {
    return step.speeds[i].latency + bytes / step.speeds[i].bandwidth;
  };
  BucketChoice choice = chooseScheduledBuckets(problem);
  fields["judged"] = choice.numJudged;
  std::vector<BucketPart> parts = cutCyclicBuckets(
      getDependencies(problem.graph), problem.collectives, choice.buckets);
  return mergeCollectives(
      problem.graph, problem.collectives, parts, problem.isEarly,
      [&](const BucketPart &part) {
        double bytes = 0;
        for (uint32_t member : part.members)
          bytes += problem.sizes.collectives[member].receivedBytes;
        return problem.sizes.getSeconds(part.members.front(), bytes);
      });
}

/// Schedules a step and prints what comes out; `fields` come first.
static bool measure(BenchStep &step, bool hasBuckets,
                    const OverlapOptions &options, json::Object fields) {
  // Of the one core that it takes, whatever else runs.
  std::clock_t begin = std::clock();
  auto getSeconds = [&] {
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  TimedGraph merged;
  if (hasBuckets) {
    step.choice.memoryLimit = options.memoryLimit;
    merged = chooseBuckets(step, fields);
    fields["bucket_seconds"] = getSeconds();
  }
  const TimedGraph &graph = hasBuckets ? merged : step.choice.graph;
  Result<OverlapSchedule> schedule = scheduleOverlap(graph, options);
  double seconds = getSeconds();
  if (!schedule) {
    errs() << schedule.getMessage() << '\n';
    return false;
  }
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  uint32_t numCollectives = llvm::count_if(graph.ops, [](const TimedOp &op) {
    return op.kind == TimedOpKind::Collective;
  });
  fields["ops"] = step.choice.graph.ops.size();
  fields["collectives"] = numCollectives;
  fields["seconds"] = seconds;
  fields["strategy"] = schedule->strategy;
  fields["bound_ms"] = schedule->lowerBound * 1e3;
  const StepBounds &bounds = schedule->bounds;
  fields["compute_ms"] = bounds.computeSeconds * 1e3;
  fields["link_ms"] = *llvm::max_element(bounds.linkSeconds) * 1e3;
  fields["path_ms"] = bounds.pathSeconds * 1e3;
  fields["hidden"] = schedule->getHiddenPart();
  fields["peak_ratio"] =
      toRatio(schedule->score.peakBytes, schedule->given.peakBytes);
  fields["resident_gib"] = static_cast<double>(usage.ru_maxrss) / 1048576;
  auto addScore = [&](StringRef name, const ScheduleScore &score) {
    fields[name] = json::Object{{"step_ms", score.seconds * 1e3},
                                {"exposed_ms", score.exposedSeconds * 1e3},
                                {"peak_bytes", score.peakBytes}};
  };
  addScore("given", schedule->given);
  addScore("ours", schedule->score);
  outs() << json::Value(std::move(fields)) << '\n';
  outs().flush();
  return true;
}

static bool measureScale(uint32_t numLayers, bool hasTensorParallel) {
  BenchStep step = StepBuilder(numLayers, hasTensorParallel).build();
  const TimedGraph &graph = step.choice.graph;
  OverlapOptions options;
  options.memoryLimit =
      computeMemoryCurve(graph, graph.getStepOrder()).peakBytes / 100 * 105;
  return measure(step, /*hasBuckets=*/true, options,
                 json::Object{{"tensor_parallel", hasTensorParallel}});
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static SmallVector<uint32_t> readNumbers(const json::Value &value) {
  SmallVector<uint32_t> numbers;
  for (const json::Value &number : *value.getAsArray())
    numbers.push_back(*number.getAsInteger());
  return numbers;
}

/// The files come from bench_schedule.py.
static std::optional<BenchStep> readStep(StringRef path) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> file = MemoryBuffer::getFile(path);
  if (!file) {
    errs() << "cannot read " << path << ": " << file.getError().message()
           << '\n';
    return std::nullopt;
  }
  Expected<json::Value> value = json::parse((*file)->getBuffer());
  if (!value) {
    errs() << path << ": " << toString(value.takeError()) << '\n';
    return std::nullopt;
  }
  BenchStep step;
  TimedGraph &graph = step.choice.graph;
  StringMap<uint32_t> keys;
  // By start, the place of what may be merged.
  DenseMap<uint32_t, size_t> mergeable;
  const json::Object &object = *value->getAsObject();
  for (const json::Value &entry : *object.getArray("ops")) {
    const json::Array &fields = *entry.getAsArray();
    TimedOp op;
    op.seconds = *fields[1].getAsNumber();
    uint32_t number = *fields[2].getAsInteger();
    StringRef kind = *fields[0].getAsString();
    if (kind == "collective") {
      op.kind = TimedOpKind::Collective;
      op.stream = number;
      const json::Object *entry =
          fields.size() > 4 ? fields[4].getAsObject() : nullptr;
      if (entry) {
        SizedCollective sized;
        sized.stream = number;
        sized.key = keys.try_emplace(*entry->getString("key"), keys.size())
                        .first->second;
        sized.isGather = *entry->getBoolean("gather");
        sized.receivedBytes = *entry->getNumber("received");
        sized.wholeBytes = *entry->getInteger("whole");
        uint32_t start = graph.ops.size();
        mergeable[start] = step.speeds.size();
        step.add({start, start}, sized,
                 {*entry->getNumber("latency"), *entry->getNumber("bandwidth")},
                 *entry->getString("unit"));
      }
    } else if (kind == "wait") {
      op.kind = TimedOpKind::Wait;
      op.collective = number;
      op.stream = graph.ops[number].stream;
      if (auto it = mergeable.find(number); it != mergeable.end())
        step.choice.collectives[it->second].wait = graph.ops.size();
    }
    SmallVector<uint32_t> needed = readNumbers(fields[3]);
    step.choice.isEarly.push_back(op.kind == TimedOpKind::Compute &&
                                  llvm::all_of(needed, [&](uint32_t other) {
                                    return step.choice.isEarly[other];
                                  }));
    graph.ops.push_back(op);
    graph.predecessors.push(needed);
  }
  for (const json::Value &entry : *object.getArray("buffers")) {
    const json::Array &fields = *entry.getAsArray();
    graph.buffers.push_back({*fields[0].getAsInteger(),
                             static_cast<uint32_t>(*fields[1].getAsInteger()),
                             *fields[2].getAsBoolean()});
    graph.users.push(readNumbers(fields[3]));
  }
  graph.residentBytes = *object.getInteger("resident_bytes");
  for (int64_t stream = 0; stream != *object.getInteger("streams"); ++stream) {
    graph.streams.push_back({static_cast<uint32_t>(stream), {}});
    graph.links.emplace_back();
  }
  return step;
}

static bool measureFile(StringRef path, std::optional<int64_t> limit,
                        bool hasBuckets) {
  std::optional<BenchStep> step = readStep(path);
  if (!step)
    return false;
  OverlapOptions options;
  options.memoryLimit = limit;
  return measure(*step, hasBuckets, options, json::Object{{"file", path}});
}

int main(int argc, char **argv) {
  SmallVector<StringRef> words(argv + 1, argv + argc);
  uint64_t maximum = 0;
  if (words.size() == 2 && words[0] == "--scale" &&
      !words[1].getAsInteger(10, maximum)) {
    for (bool hasTensorParallel : {false, true})
      for (uint64_t ops = maximum >> 10; ops <= maximum; ops *= 2)
        if (!measureScale(ops / StepBuilder::getOpsPerLayer(hasTensorParallel) +
                              1,
                          hasTensorParallel))
          return 1;
    return 0;
  }
  std::optional<int64_t> limit;
  ArrayRef<StringRef> files = words;
  int64_t bytes = 0;
  if (files.size() > 2 && files[0] == "--limit" &&
      !files[1].getAsInteger(10, bytes)) {
    limit = bytes;
    files = files.drop_front(2);
  }
  bool hasBuckets = !files.empty() && files.front() == "--buckets";
  files = files.drop_front(hasBuckets);
  if (files.empty() || files.front().starts_with("--")) {
    errs() << "usage: regather-schedule-bench --scale MAXIMUM | "
              "[--limit BYTES] [--buckets] FILE.json...\n";
    return 1;
  }
  return llvm::all_of(files,
                      [&](StringRef file) {
                        return measureFile(file, limit, hasBuckets);
                      })
             ? 0
             : 1;
}
