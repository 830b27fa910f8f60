//===- ScheduleBenchmark.cpp - How the scheduler scales -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: regather-schedule-bench --scale MAXIMUM | [--limit BYTES] FILE.json...
//
// Prints one JSON object a line: for synthetic sharded training steps of more
// and more layers, up to a number of operations, scheduled within 1.05 times
// the peak of the step as it is given; or for each file what its order takes,
// and what ours does. A file has `ops`, lists of a kind (`compute`,
// `collective`, `wait`), seconds, the stream of a collective or the collective
// of a wait, and predecessors, and `buffers`, lists of bytes, writer, whether
// it is live at the end, and users.
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/OverlapSchedule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <ctime>

#include <sys/resource.h>

using namespace llvm;
using namespace regather;

namespace {
/// A transformer of `numLayers` layers. Each is gathered right before its
/// forward and again before its backward; its gradients are reduced, waited for
/// and used to update its shard right after. With tensor parallelism, two
/// all-reduces in each half of a layer are on a stream of their own.
class StepBuilder {
public:
  StepBuilder(uint32_t numLayers, bool hasTensorParallel)
      : numLayers(numLayers), hasTensorParallel(hasTensorParallel) {
    program.streams = {{0, {}}, {1, {}}};
    program.links.resize(2);
  }

  TimedProgram build() {
    for (uint32_t layer = 0; layer != numLayers; ++layer)
      addForward();
    for (uint32_t layer = numLayers; layer-- != 0;)
      addBackward(layer);
    for (ArrayRef<uint32_t> list : needs)
      program.predecessors.push(list);
    for (ArrayRef<uint32_t> list : users)
      program.users.push(list);
    return std::move(program);
  }

private:
  static constexpr int64_t kMiB = int64_t(1) << 20;
  static constexpr uint32_t kOpsPerHalf = 40;

  uint32_t add(TimedOp op, ArrayRef<uint32_t> needed, int64_t bytes) {
    uint32_t number = program.ops.size();
    program.ops.push_back(op);
    program.buffers.push_back({bytes, number, false});
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
    starts.resize(program.ops.size());
    starts[wait] = start;
    return wait;
  }
  /// Whoever reads what a wait hands on keeps the buffer of the collective.
  void use(uint32_t op, uint32_t wait) {
    needs[op].push_back(wait);
    users[starts[wait]].push_back(op);
  }

  uint32_t addChain(double milliseconds, uint32_t gathered, int64_t bytes,
                    uint32_t divisor, SmallVectorImpl<uint32_t> &chain) {
    for (uint32_t i = 0; i != kOpsPerHalf / divisor; ++i) {
      SmallVector<uint32_t> needed;
      if (last)
        needed.push_back(*last);
      last = compute(milliseconds, needed, bytes);
      use(*last, gathered);
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
    uint32_t cast = compute(0.02, {}, 54 * kMiB);
    uint32_t gathered = communicate(0, 2.0, cast, 436 * kMiB);
    addChain(0.1, gathered, 16 * kMiB, 1, saved.emplace_back());
  }
  void addBackward(uint32_t layer) {
    uint32_t cast = compute(0.02, {}, 54 * kMiB);
    uint32_t gathered = communicate(0, 2.0, cast, 436 * kMiB);
    SmallVector<uint32_t> chain;
    addChain(0.1, gathered, 16 * kMiB, 1, chain);
    // What belongs to the weights hangs off the chain.
    SmallVector<uint32_t> gradients;
    for (auto [i, op] : enumerate(chain)) {
      users[saved[layer][saved[layer].size() - 1 - i]].push_back(op);
      if (i % 4 == 0)
        gradients.push_back(compute(0.4, {op}, 87 * kMiB));
    }
    uint32_t reduced = communicate(0, 4.0, gradients, 109 * kMiB);
    uint32_t update = compute(0.2, {}, 0);
    use(update, reduced);
  }

  uint32_t numLayers;
  bool hasTensorParallel;
  TimedProgram program;
  std::vector<SmallVector<uint32_t>> needs, users;
  std::vector<uint32_t> starts;
  std::vector<SmallVector<uint32_t>> saved;
  std::optional<uint32_t> last;
};
} // namespace

static double toRatio(int64_t bytes, int64_t of) {
  return static_cast<double>(bytes) / static_cast<double>(of);
}

/// Schedules a program and prints what comes out; `fields` come first.
static bool measure(const TimedProgram &program, const OverlapOptions &options,
                    json::Object fields) {
  // Of the one core that it takes, whatever else runs.
  std::clock_t begin = std::clock();
  Expected<OverlapSchedule> schedule = scheduleOverlap(program, options);
  double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  if (!schedule) {
    errs() << toString(schedule.takeError()) << '\n';
    return false;
  }
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  fields["ops"] = program.ops.size();
  fields["seconds"] = seconds;
  fields["strategy"] = schedule->strategy;
  fields["bound_ms"] = schedule->lowerBound * 1e3;
  fields["classic_bound_ms"] = schedule->bounds.getSeconds() * 1e3;
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
  TimedProgram program = StepBuilder(numLayers, hasTensorParallel).build();
  OverlapOptions options;
  options.memoryLimit =
      computeMemoryCurve(program, program.getStepOrder()).peakBytes / 100 * 105;
  return measure(program, options,
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
static std::optional<TimedProgram> readProgram(StringRef path) {
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
  TimedProgram program;
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
    } else if (kind == "wait") {
      op.kind = TimedOpKind::Wait;
      op.collective = number;
      op.stream = program.ops[number].stream;
    }
    program.ops.push_back(op);
    program.predecessors.push(readNumbers(fields[3]));
  }
  for (const json::Value &entry : *object.getArray("buffers")) {
    const json::Array &fields = *entry.getAsArray();
    program.buffers.push_back({*fields[0].getAsInteger(),
                               static_cast<uint32_t>(*fields[1].getAsInteger()),
                               *fields[2].getAsBoolean()});
    program.users.push(readNumbers(fields[3]));
  }
  program.residentBytes = *object.getInteger("resident_bytes");
  for (int64_t stream = 0; stream != *object.getInteger("streams"); ++stream) {
    program.streams.push_back({static_cast<uint32_t>(stream), {}});
    program.links.emplace_back();
  }
  return program;
}

static bool measureFile(StringRef path, std::optional<int64_t> limit) {
  std::optional<TimedProgram> program = readProgram(path);
  if (!program)
    return false;
  OverlapOptions options;
  options.memoryLimit = limit;
  return measure(*program, options, json::Object{{"file", path}});
}

int main(int argc, char **argv) {
  SmallVector<StringRef> words(argv + 1, argv + argc);
  uint64_t maximum = 0;
  if (words.size() == 2 && words[0] == "--scale" &&
      !words[1].getAsInteger(10, maximum)) {
    for (bool hasTensorParallel : {false, true})
      for (uint64_t ops = maximum >> 10; ops <= maximum; ops *= 2)
        if (!measureScale(ops / (hasTensorParallel ? 114 : 98) + 1,
                          hasTensorParallel))
          return 1;
    return 0;
  }
  std::optional<int64_t> limit;
  ArrayRef<StringRef> files = words;
  int64_t bytes = 0;
  if (words.size() > 2 && words[0] == "--limit" &&
      !words[1].getAsInteger(10, bytes)) {
    limit = bytes;
    files = files.drop_front(2);
  }
  if (files.empty() || files.front().starts_with("--")) {
    errs() << "usage: regather-schedule-bench --scale MAXIMUM | "
              "[--limit BYTES] FILE.json...\n";
    return 1;
  }
  return llvm::all_of(files,
                      [&](StringRef file) { return measureFile(file, limit); })
             ? 0
             : 1;
}
