//===- StepInputs.cpp - Where the arguments of a run come from ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Training/StepInputs.h"

#include "regather/Execution/Training/ShardFolder.h"

#include "../Tensors/StepText.h"
#include "../Tensors/TensorParts.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <future>
#include <limits>
#include <thread>
#include <unistd.h>

using namespace regather;

Failure regather::parseRandomInputs(const std::string &text,
                                    InputOptions &options) {
  size_t comma = std::min(text.find(','), text.size());
  std::string mode = text.substr(std::min(comma + 1, text.size()));
  uint64_t value = 0;
  const char *end = text.data() + comma;
  auto [last, error] = std::from_chars(text.data(), end, value);
  if (comma == 0 || last != end || error != std::errc())
    return Failure("--random-inputs expects a seed, as in \"1\" or "
                   "\"1,integers\", got " +
                   quote(text));
  if (!mode.empty() && mode != "integers")
    return Failure("--random-inputs knows no mode " + quote(mode) +
                   ", only \"integers\"");
  options.randomSeed = value;
  options.integers = mode == "integers";
  return Failure();
}

//===----------------------------------------------------------------------===//
// Random tensors
//===----------------------------------------------------------------------===//

/// A counter-based generator: element i needs no element before it.
/// Source: splitmix64, Steele, Lea and Flood, OOPSLA 2014.
static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// Source: FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv.
static uint64_t hashName(const std::string &name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : name)
    hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

namespace {
/// Random numbers for the elements of one tensor.
class ElementGenerator {
public:
  ElementGenerator(const std::string &name, uint64_t seed)
      : key(mix(seed) ^ hashName(name)) {}

  /// Uniform in [0, 1), with 53 random bits.
  double uniform(int64_t i) const {
    return static_cast<double>(mix(key + mix(i)) >> 11) * 0x1.0p-53;
  }

private:
  uint64_t key;
};
} // namespace

/// Sum of the first and the last dimension: how many terms the GEMMs of a
/// weight sum in forward and backward.
static double getFan(const StepValue &value) {
  if (value.globalShape.size() < 2)
    return 0;
  return std::max<double>(1, static_cast<double>(value.globalShape.front() +
                                                 value.globalShape.back()));
}

static double getElement(const StepValue &value, double uniform,
                         bool integers) {
  if (!isFloat(value.elementType))
    return std::floor(uniform * (value.elementType == ElementType::I1 ? 2 : 4));
  bool isParameter = value.role == Role::Parameter;
  double fan = getFan(value);
  if (!integers) {
    if (value.globalShape.empty())
      return 0.01 * (1 - uniform);
    double bound = !isParameter ? 1.0 : fan == 0 ? 0.1 : std::sqrt(6 / fan);
    return bound * (2 * uniform - 1);
  }
  if (value.globalShape.empty())
    return 1.0 / 128;
  if (!isParameter)
    return std::floor(uniform * 5) - 2;
  // About two terms of each sum of a GEMM differ from zero.
  double share = fan == 0 ? 0.5 : std::min(0.5, 4 / fan);
  return uniform < share / 2 ? -1 : uniform < share ? 1 : 0;
}

/// Calls `body(begin, end)` for parts of `count` elements, on all processors if
/// there are many.
template <typename Body>
static void shareElements(int64_t count, const Body &body) {
  constexpr int64_t kMinPart = 1 << 20;
  int64_t parts = std::clamp<int64_t>(
      count / kMinPart, 1, std::max(1u, std::thread::hardware_concurrency()));
  auto getBegin = [&](int64_t part) {
    return part * (count / parts) + std::min(part, count % parts);
  };
  std::vector<std::future<void>> others;
  for (int64_t part = 1; part < parts; ++part)
    others.push_back(std::async([&body, &getBegin, part] {
      body(getBegin(part), getBegin(part + 1));
    }));
  body(0, getBegin(1));
  // A part for which there was no thread is computed only now.
  for (std::future<void> &other : others)
    other.get();
}

HostTensor regather::makeRandomTensor(const StepValue &value, uint64_t seed,
                                      bool integers) {
  HostTensor tensor = HostTensor::zeros(value.elementType, value.globalShape);
  if (value.role == Role::OptimizerState)
    return tensor;
  ElementGenerator generator(value.name, seed);
  shareElements(tensor.getNumElements(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i != end; ++i)
      tensor.setFromDouble(i,
                           getElement(value, generator.uniform(i), integers));
  });
  return tensor;
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

static int64_t countNaN(const HostTensor &tensor) {
  if (!isFloat(tensor.getType()))
    return 0;
  int64_t count = 0;
  for (int64_t i = 0, e = tensor.getNumElements(); i != e; ++i)
    count += std::isnan(tensor.getAsDouble(i));
  return count;
}

/// Tensors of the file that no argument is called after: likely a misspelling.
/// Names of results are none: a file that --outputs wrote is read as it is.
static void warnOfUnused(const StepSignature &step, const TensorSource &file,
                         const std::string &path,
                         std::vector<std::string> &warnings) {
  std::set<std::string> used;
  for (const auto *values : {&step.arguments, &step.results})
    for (const StepValue &value : *values)
      for (const StepValue &inFile : value.getFileValues())
        used.insert(inFile.name);
  std::vector<std::string> unused;
  for (const std::string &name : file.getNames())
    if (!used.count(name))
      unused.push_back(quote(name));
  if (!unused.empty())
    warnings.push_back("no argument is called after " +
                       std::to_string(unused.size()) + " of the tensors in '" +
                       path + "': " + join(unused));
}

HostTensor regather::makeStepNumber(int64_t number) {
  HostTensor tensor = HostTensor::uninitialized(ElementType::I64, {});
  std::memcpy(tensor.getData(), &number, sizeof(number));
  return tensor;
}

namespace {
/// Finds a value for each argument, and collects what is wrong, so that all of
/// it can be mended at once.
class InputReader {
public:
  InputReader(const StepSignature &step, const InputOptions &options,
              const TensorSource *file)
      : step(step), options(options), file(file) {}

  /// Nothing, after an error, if the argument has no value.
  std::optional<HostTensor> read(const StepValue &value);
  /// The same for a flat argument, of which each member needs a value.
  std::optional<HostTensor> readFlat(const StepValue &value);
  /// The same for the part of one rank, without what it has no part of.
  std::optional<HostTensor> readFlatPart(const StepValue &value,
                                         const TensorPart &part);
  /// The same for an argument with role `rng`: a seed or an offset.
  std::optional<HostTensor> readRng(const StepValue &value, bool isSeed);

  /// Whether some of the argument's elements are drawn at random.
  bool isDrawn(const StepValue &value) const;
  bool hasErrors() const { return !errors.empty() || !missing.empty(); }
  /// All errors as one, which names all arguments without a value.
  Failure takeErrors();
  /// Names of inputs that hold NaN, and how many.
  const std::vector<std::string> &getInputsWithNaN() const { return withNaN; }

private:
  std::optional<HostTensor> readFile(const StepValue &value);
  /// Finds out whether a member has a value, as `read` does. False if not.
  bool check(const StepValue &value);
  std::optional<HostTensor> readStepNumber(const StepValue &value);
  std::optional<HostTensor> readLearningRate(const StepValue &value);
  std::optional<HostTensor> readState(const StepValue &value);
  bool isInFile(const StepValue &value) const {
    return file && file->contains(value.name);
  }

  const StepSignature &step;
  const InputOptions &options;
  const TensorSource *file;
  std::vector<std::string> errors, missing, missingStates, withNaN;
  bool hasStates = false;
};
} // namespace

std::optional<HostTensor> InputReader::readFile(const StepValue &value) {
  Result<HostTensor> tensor =
      file->read(value.name, value.elementType, value.globalShape);
  if (!tensor) {
    errors.push_back(tensor.getMessage());
    return std::nullopt;
  }
  if (int64_t count = countNaN(*tensor))
    withNaN.push_back(quote(value.name) + " (" + std::to_string(count) +
                      " of " + std::to_string(tensor->getNumElements()) +
                      " elements)");
  return std::move(*tensor);
}

std::optional<HostTensor> InputReader::readStepNumber(const StepValue &value) {
  if (!isInFile(value))
    return makeStepNumber(options.firstStep);
  errors.push_back("argument \"" + value.name +
                   "\" is the number of the step: give --first-step, not a "
                   "tensor of --inputs");
  return std::nullopt;
}

std::optional<HostTensor>
InputReader::readLearningRate(const StepValue &value) {
  if (options.learningRate) {
    HostTensor tensor =
        HostTensor::uninitialized(value.elementType, value.globalShape);
    tensor.setFromDouble(0, *options.learningRate);
    return tensor;
  }
  if (isInFile(value))
    return readFile(value);
  errors.push_back("the step needs a learning rate: give --learning-rate, or "
                   "\"" +
                   value.name + "\" in --inputs");
  return std::nullopt;
}

std::optional<HostTensor> InputReader::readState(const StepValue &value) {
  if (isInFile(value)) {
    hasStates = true;
    return readFile(value);
  }
  missingStates.push_back("\"" + value.name + "\"");
  return HostTensor::zeros(value.elementType, value.globalShape);
}

std::optional<HostTensor> InputReader::readRng(const StepValue &value,
                                               bool isSeed) {
  if (!isSeed || !options.rngSeed)
    return isInFile(value)
               ? readFile(value)
               : HostTensor::zeros(value.elementType, value.globalShape);
  if (value.elementType != ElementType::I64) {
    errors.push_back("--rng-seed: argument \"" + value.name +
                     "\" does not hold i64");
    return std::nullopt;
  }
  HostTensor tensor =
      HostTensor::uninitialized(value.elementType, value.globalShape);
  std::fill_n(reinterpret_cast<int64_t *>(tensor.getData()),
              tensor.getNumElements(), *options.rngSeed);
  return tensor;
}

std::optional<HostTensor> InputReader::read(const StepValue &value) {
  if (value.role == Role::Step)
    return readStepNumber(value);
  if (value.role == Role::LearningRate)
    return readLearningRate(value);
  if (value.role == Role::OptimizerState)
    return readState(value);
  if (isInFile(value))
    return readFile(value);
  if (options.randomSeed)
    return makeRandomTensor(value, *options.randomSeed, options.integers);
  missing.push_back("\"" + value.name + "\"");
  return std::nullopt;
}

std::optional<HostTensor> InputReader::readFlat(const StepValue &value) {
  std::vector<HostTensor> members;
  for (const StepValue &member : value.getFileValues())
    if (std::optional<HostTensor> tensor = read(member))
      members.push_back(std::move(*tensor));
  if (members.size() != value.members.size())
    return std::nullopt;
  return joinMembers(value, members);
}

bool InputReader::isDrawn(const StepValue &value) const {
  if (!options.randomSeed)
    return false;
  for (const StepValue &member : value.getFileValues()) {
    bool hasOtherValue =
        member.role == Role::Step || member.role == Role::LearningRate ||
        member.role == Role::OptimizerState || member.role == Role::Rng;
    if (!hasOtherValue && !isInFile(member))
      return true;
  }
  return false;
}

bool InputReader::check(const StepValue &value) {
  if (isInFile(value)) {
    hasStates |= value.role == Role::OptimizerState;
    return true;
  }
  if (value.role == Role::OptimizerState) {
    missingStates.push_back(quote(value.name));
    return true;
  }
  if (!options.randomSeed)
    missing.push_back(quote(value.name));
  return options.randomSeed.has_value();
}

std::optional<HostTensor> InputReader::readFlatPart(const StepValue &value,
                                                    const TensorPart &part) {
  HostTensor local = HostTensor::zeros(value.elementType, value.localShape);
  int64_t elementSize = getElementSize(value.elementType);
  int64_t first = part.offsets[0], last = first + part.sizes[0];
  bool isComplete = true;
  std::vector<StepValue> members = value.getFileValues();
  for (size_t i = 0; i < members.size(); ++i) {
    int64_t offset = value.members[i].offset;
    int64_t begin = std::max(first, offset);
    int64_t end =
        std::min(last, offset + getNumElements(members[i].globalShape));
    if (begin >= end) {
      isComplete &= check(members[i]);
      continue;
    }
    std::optional<HostTensor> tensor = read(members[i]);
    isComplete &= tensor.has_value();
    if (tensor)
      std::memcpy(local.getData() + (begin - first) * elementSize,
                  tensor->getData() + (begin - offset) * elementSize,
                  static_cast<size_t>((end - begin) * elementSize));
  }
  return isComplete ? std::optional(local) : std::nullopt;
}

/// How many tensors files hold of the arguments.
static size_t countFileValues(const StepSignature &step) {
  size_t count = 0;
  for (const StepValue &value : step.arguments)
    count += std::max<size_t>(value.members.size(), 1);
  return count;
}

Failure InputReader::takeErrors() {
  std::string count = std::to_string(missing.size()) + " of " +
                      std::to_string(countFileValues(step)) + " arguments";
  if (!missing.empty() && file)
    errors.push_back("'" + options.file + "' has no tensor for " + count +
                     ": " + join(missing) +
                     "; give --random-inputs to draw what is missing");
  else if (!missing.empty())
    errors.push_back(count + " have no value: " + join(missing) +
                     "; give --inputs or --random-inputs");
  if (hasStates && !missingStates.empty())
    errors.push_back("'" + options.file +
                     "' holds some optimizer states, but not " +
                     join(missingStates));
  bool hasLearningRate = std::any_of(
      step.arguments.begin(), step.arguments.end(),
      [](const StepValue &value) { return value.role == Role::LearningRate; });
  if (options.learningRate && !hasLearningRate)
    errors.push_back("--learning-rate is given, but no argument of the step "
                     "has role \"learning_rate\"");
  return errors.empty() ? Failure() : Failure(join(errors, "\n"));
}

/// Numbers of the arguments that seed random numbers: those with role `rng`
/// that the step does not update.
static std::set<int64_t> findSeeds(const StepSignature &step) {
  std::set<int64_t> seeds;
  for (size_t i = 0; i < step.arguments.size(); ++i)
    if (step.arguments[i].role == Role::Rng)
      seeds.insert(static_cast<int64_t>(i));
  for (const StepValue &value : step.results)
    if (value.role == Role::Update)
      seeds.erase(value.argument);
  return seeds;
}

/// What this process would hold, before it allocates any of it.
static Failure verifyFitsMachine(const StepSignature &step,
                                 const InputOptions &options) {
  int64_t bytes = 0;
  for (const StepValue &value : step.arguments)
    if (__builtin_add_overflow(bytes,
                               getNumElements(value.localShape) *
                                   getElementSize(value.elementType),
                               &bytes))
      bytes = std::numeric_limits<int64_t>::max();
  int64_t ranks = options.onlyRank ? 1 : step.ranks;
  int64_t memory = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) *
                   static_cast<int64_t>(sysconf(_SC_PAGE_SIZE));
  if (bytes <= memory / ranks)
    return {};
  return Failure("arguments need " + std::to_string(bytes) +
                 " bytes on each of " + std::to_string(ranks) +
                 " ranks, but this machine has " + std::to_string(memory));
}

/// What an elastic step saved goes on in a step with the same trees.
static Failure verifySameSegments(const StepSignature &step,
                                  const TensorSource &file,
                                  const std::string &path) {
  if (!file.getSegments())
    return Failure();
  auto refuse = [&](const std::string &saved, const std::string &own) {
    return Failure("'" + path + "' was saved by a step with " + saved +
                   ", but this one has " + own + ", whose losses differ");
  };
  auto print = [](const std::string &option, const std::string &text,
                  bool isGiven) {
    return isGiven ? option + "=" + text : "no " + option;
  };
  if (file.getSegments() != step.segments)
    return refuse("--elastic=" + std::to_string(file.getSegments()),
                  step.segments ? "--elastic=" + std::to_string(step.segments)
                                : "none");
  std::string axes = file.getElasticAxes();
  if (axes != step.elasticAxes)
    return refuse(
        print("--elastic-axes", axes, !axes.empty()),
        print("--elastic-axes", step.elasticAxes, !step.elasticAxes.empty()));
  return Failure();
}

Result<std::vector<RankValues>>
regather::makeInputs(const StepSignature &step, const InputOptions &options,
                     std::vector<std::string> &warnings) {
  if (Failure failure = verifyFitsMachine(step, options))
    return failure;
  std::unique_ptr<TensorSource> file;
  if (!options.file.empty()) {
    Result<std::unique_ptr<TensorSource>> opened =
        openTensorSource(options.file);
    if (!opened)
      return opened.getFailure();
    file = std::move(*opened);
    if (Failure failure = verifySameSegments(step, *file, options.file))
      return failure;
    warnOfUnused(step, *file, options.file, warnings);
  }
  InputReader reader(step, options, file.get());
  std::vector<RankValues> ranks(step.ranks);
  std::set<int64_t> seeds = findSeeds(step);
  if (options.rngSeed && seeds.empty())
    warnings.push_back("--rng-seed has no effect: no argument is a seed");
  for (int64_t rank = 0; rank != step.ranks; ++rank)
    if (rank == options.onlyRank.value_or(rank))
      ranks[rank].resize(step.arguments.size());
  // What is drawn comes last, so that nobody waits for it to be told what is
  // missing.
  std::vector<size_t> order, drawn;
  for (size_t i = 0; i != step.arguments.size(); ++i)
    (reader.isDrawn(step.arguments[i]) ? drawn : order).push_back(i);
  size_t firstDrawn = order.size();
  order.insert(order.end(), drawn.begin(), drawn.end());
  for (size_t place = 0; place != order.size(); ++place) {
    if (place == firstDrawn && reader.hasErrors())
      break;
    size_t i = order[place];
    const StepValue &value = step.arguments[i];
    bool isSeed = seeds.count(static_cast<int64_t>(i)) != 0;
    if (options.onlyRank && !value.members.empty() && !getPartial(value)) {
      if (auto local = reader.readFlatPart(
              value, getPart(value, step, *options.onlyRank)))
        ranks[*options.onlyRank][i] = std::move(*local);
      continue;
    }
    std::optional<HostTensor> global =
        options.fed.count(static_cast<unsigned>(i))
            ? HostTensor::zeros(value.elementType, value.globalShape)
        : !value.members.empty()  ? reader.readFlat(value)
        : value.role == Role::Rng ? reader.readRng(value, isSeed)
                                  : reader.read(value);
    if (!global)
      continue;
    for (int64_t rank = 0; rank != step.ranks; ++rank)
      if (rank == options.onlyRank.value_or(rank))
        ranks[rank][i] = shardTensor(*global, value, step, rank);
  }
  if (Failure failure = reader.takeErrors())
    return failure;
  if (!reader.getInputsWithNaN().empty())
    warnings.push_back("inputs hold NaN: " + join(reader.getInputsWithNaN()));
  return ranks;
}
