//===- ShardingBenchmark.cpp - Contest instances --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: regather-iopddl-bench FILE --seconds=N
//
// Solves an instance of the ASPLOS 2025 contest on intra-operator parallelism,
// JSON that may be packed by gzip, and prints one JSON object: `cost`, `bound`,
// which no choice within the memory undercuts, `seconds` of all, reading
// included, and `solution`, a strategy for each node. Work is counted: as much
// as a machine of average speed does in that time, so that results repeat; a
// slower machine stops at the clock.
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Sharding/ShardingReader.h"
#include "regather/Analysis/Sharding/ShardingSolver.h"

#include "regather/Support/LLVM/MakeFailure.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <zlib.h>

#include <cerrno>
#include <cstring>

using namespace llvm;
using namespace regather;

static cl::opt<std::string> file(cl::Positional, cl::Required,
                                 cl::desc("FILE (.json or .json.gz)"));
static cl::opt<double> seconds("seconds", cl::init(60), cl::value_desc("N"),
                               cl::desc("Seconds to take at most"));

/// The text of a file, unpacked if it is packed.
static Result<std::string> readText(const std::string &path) {
  errno = 0;
  gzFile input = gzopen(path.c_str(), "rb");
  if (!input)
    return Failure(errno ? std::strerror(errno) : "cannot be opened");
  constexpr unsigned kChunk = 1 << 20;
  std::string text;
  int got = 0;
  do {
    size_t size = text.size();
    text.resize(size + kChunk);
    got = gzread(input, text.data() + size, kChunk);
    text.resize(size + std::max(got, 0));
  } while (got > 0);
  int code = Z_OK;
  std::string why = gzerror(input, &code);
  if (code == Z_ERRNO)
    why = std::strerror(errno);
  // A packed file that was cut off is noticed when it is closed.
  int closed = gzclose_r(input);
  if (code == Z_OK && closed == Z_BUF_ERROR)
    why = "unexpected end of file";
  if (code != Z_OK || closed != Z_OK)
    return Failure(why);
  return text;
}

/// Prints what was found, or returns why nothing was.
static Failure solve(std::chrono::steady_clock::time_point start) {
  using Seconds = std::chrono::duration<double>;
  // Work in a second, and the part of the time that is left to the end of it.
  constexpr double kWorkPerSecond = 6e8;
  constexpr double kReserve = 0.02;
  Result<std::string> text = readText(file);
  if (!text)
    return text.getFailure();
  Result<ShardingProblem> problem = readShardingProblem(*text);
  if (!problem)
    return problem.getFailure();
  text->clear();
  text->shrink_to_fit();
  ShardingSolverOptions options;
  options.work = seconds * kWorkPerSecond;
  options.deadline =
      start + std::chrono::duration_cast<std::chrono::nanoseconds>(
                  Seconds(seconds * (1 - kReserve)));
  Result<ShardingSolution> solution = solveSharding(*problem, options);
  if (!solution)
    return solution.getFailure();
  Seconds taken = std::chrono::steady_clock::now() - start;
  json::OStream out(outs());
  out.object([&] {
    out.attribute("cost", solution->value.cost);
    out.attribute("bound", solution->bound);
    out.attributeBegin("seconds");
    out.rawValue(formatv("{0:F3}", taken.count()).str());
    out.attributeEnd();
    out.attributeArray("solution", [&] {
      for (uint32_t strategy : solution->strategies)
        out.value(strategy);
    });
  });
  outs() << "\n";
  return {};
}

int main(int argc, char **argv) {
  auto start = std::chrono::steady_clock::now();
  cl::ParseCommandLineOptions(argc, argv,
                              "Solves a contest instance on sharding\n");
  // More would not fit into the clock.
  constexpr double kMostSeconds = 1e6;
  if (!(seconds > 0 && seconds <= kMostSeconds)) {
    errs() << "error: --seconds must be above 0 and at most 1000000, got "
           << seconds << "\n";
    return 1;
  }
  if (Failure failure = solve(start)) {
    errs() << "error: " << file << ": " << failure.getMessage() << "\n";
    return 1;
  }
  return 0;
}
