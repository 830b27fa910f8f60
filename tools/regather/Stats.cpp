//===- Stats.cpp - regather stats -----------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "regather/Driver/StepStatistics.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;
namespace cl = llvm::cl;

cl::SubCommand regather::statsCommand(
    "stats", "Count the operations, collectives and parameters of a module");

static cl::opt<std::string> file(cl::Positional, cl::desc("FILE"), cl::Required,
                                 cl::sub(statsCommand), cl::cat(getCategory()));
static cl::opt<bool> json("json", cl::desc("Print one JSON object on stdout"),
                          cl::sub(statsCommand), cl::cat(getCategory()));

static void printJson(const StepStatistics &stats) {
  llvm::json::OStream stream(llvm::outs(), /*IndentSize=*/2);
  stream.object([&] {
    stream.attribute("file", file.getValue());
    stream.attribute("ops", stats.ops);
    stream.attribute("nodes", stats.nodes);
    stream.attributeObject("ops_by_dialect", [&] {
      for (const auto &[dialect, count] : stats.opsByDialect)
        stream.attribute(dialect, count);
    });
    stream.attributeObject("ops_by_phase", [&] {
      for (const auto &[phase, count] : stats.opsByPhase)
        stream.attribute(phase, count);
    });
    stream.attributeObject("flops_by_phase", [&] {
      for (const auto &[phase, flops] : stats.flopsByPhase)
        stream.attribute(phase, flops);
    });
    writeCollectives(stream, stats);
    stream.attribute("gathered_bytes_across_boundary",
                     stats.boundary.gatheredBytes);
    stream.attribute("saved_bytes", stats.boundary.savedBytes);
    stream.attribute("recomputed_flops", stats.boundary.recomputedFlops);
    stream.attributeObject("parameters", [&] {
      stream.attribute("count", stats.parameters.count);
      stream.attribute("elements", stats.parameters.elements);
      stream.attribute("bytes", stats.parameters.bytes);
      stream.attribute("bytes_per_rank", stats.parameters.bytesPerRank);
    });
  });
  llvm::outs() << '\n';
}

static void printText(const StepStatistics &stats) {
  llvm::outs() << llvm::formatv("{0} operations", stats.ops);
  for (const auto &[dialect, count] : stats.opsByDialect)
    llvm::outs() << llvm::formatv("  {0} {1}", dialect, count);
  llvm::outs() << llvm::formatv(
      "\n{0} parameters, {1} elements, {2} bytes, {3} on each rank\n",
      stats.parameters.count, stats.parameters.elements, stats.parameters.bytes,
      stats.parameters.bytesPerRank);
  llvm::outs() << llvm::formatv(
      "{0} bytes live on to backward, {1} of them gathered parameters; {2} "
      "flops are computed again\n",
      stats.boundary.savedBytes, stats.boundary.gatheredBytes,
      stats.boundary.recomputedFlops);
  llvm::outs() << llvm::formatv("{0,-15} {1,-10} {2,-12} {3,6} {4,8} {5,16}\n",
                                "collective", "phase", "axes", "count",
                                "tensors", "bytes received");
  for (const auto &[key, count] : stats.collectives)
    llvm::outs() << llvm::formatv(
        "{0,-15} {1,-10} {2,-12} {3,6} {4,8} {5,16}\n", key.kind,
        stringifyPhase(key.phase), llvm::join(key.axes, ","), count.ops,
        count.tensors, count.bytes);
}

int regather::statsMain() {
  std::unique_ptr<InputFile> input = readInput(file);
  if (!input)
    return 1;
  StepStatistics stats = collectStatistics(*input->module);
  if (json)
    printJson(stats);
  else
    printText(stats);
  return 0;
}
