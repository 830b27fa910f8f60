//===- CutBenchmark.cpp - Seconds of minimum cuts -------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cuts the steps in the files that it is given as tg-partition would, and
// prints a JSON object for each: the size of the network, and medians of CPU
// seconds, of the cut alone and of PyTorch's rules with theirs.
//
//===----------------------------------------------------------------------===//

#include "Partition/PyTorchGraph.h"
#include "Partition/SavedValues.h"

#include "regather/Dialect/TG/Steps/StepEntry.h"
#include "regather/InitAll.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <ctime>

using namespace mlir;
using namespace regather;
using namespace regather::tg;

static constexpr unsigned kRounds = 11;

template <typename Function> static double getMedianSeconds(Function function) {
  std::vector<double> seconds;
  for (unsigned i = 0; i < kRounds; ++i) {
    auto start = std::chrono::steady_clock::now();
    function();
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count());
  }
  llvm::sort(seconds);
  return seconds[kRounds / 2];
}

static LogicalResult measure(func::FuncOp func) {
  StepGraph graph(func.getBody().front());
  ParameterChains chains(func, graph);
  FlowNetwork network = partition::buildCutNetwork({func, graph, chains});
  auto cut = [&] {
    Result<MinimumCut> cut = findMinimumCut(network);
    if (!cut)
      llvm::report_fatal_error(llvm::Twine(cut.getMessage()));
  };
  llvm::json::Object result{{"operations", int64_t(graph.getOps().size())},
                            {"network_nodes", int64_t(network.numNodes)},
                            {"network_edges", int64_t(network.edges.size())},
                            {"cut_seconds", getMedianSeconds(cut)}};
  FailureOr<partition::PyTorchGraph> joint =
      partition::buildPyTorchGraph(func, graph);
  if (failed(joint))
    return failure();
  result["match_pytorch_seconds"] = getMedianSeconds([&] {
    Result<PyTorchCut> cut = partitionLikePyTorch(joint->nodes);
    if (!cut)
      llvm::report_fatal_error(llvm::Twine(cut.getMessage()));
  });
  llvm::outs() << llvm::json::Value(std::move(result)) << '\n';
  return success();
}

int main(int argc, char **argv) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  for (int i = 1; i < argc; ++i) {
    OwningOpRef<ModuleOp> module =
        parseSourceFile<ModuleOp>(StringRef(argv[i]), &context);
    if (!module)
      return 1;
    FailureOr<func::FuncOp> step = findStep(*module, "one can be measured");
    if (failed(step) || !*step || failed(measure(*step)))
      return 1;
  }
  return 0;
}
