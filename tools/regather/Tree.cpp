//===- Tree.cpp - regather tree -------------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "regather/Driver/DescribeModules.h"
#include "regather/Pipelines/StepOptionText.h"

#include <functional>

using namespace regather;
namespace cl = llvm::cl;

cl::SubCommand regather::treeCommand("tree",
                                     "Show what each module of the model does");

static cl::opt<std::string> file(cl::Positional, cl::desc("FILE"), cl::Required,
                                 cl::sub(treeCommand), cl::cat(getCategory()));
static cl::opt<bool> json("json",
                          cl::desc("Print one JSON object on stdout; repeated "
                                   "modules are not folded"),
                          cl::sub(treeCommand), cl::cat(getCategory()));
static cl::opt<unsigned> depth("depth",
                               cl::desc("Levels to show below the model, or "
                                        "below each module of --module"),
                               cl::value_desc("N"),
                               cl::init(ModuleNames::kMaxDepth),
                               cl::sub(treeCommand), cl::cat(getCategory()));
static cl::opt<bool> noFold("no-fold",
                            cl::desc("Show each of several equal modules"),
                            cl::sub(treeCommand), cl::cat(getCategory()));
static cl::opt<std::string>
    mesh("mesh",
         cl::desc("Shard the parameters of a step without a mesh over this one "
                  "first, to see what is communicated"),
         cl::value_desc("AXIS:SIZE,..."), cl::sub(treeCommand),
         cl::cat(getCategory()));
static cl::opt<std::string> replicateAxis(
    "replicate-axis", cl::desc("Axis of --mesh that holds copies of shards"),
    cl::value_desc("AXIS"), cl::sub(treeCommand), cl::cat(getCategory()));
static cl::opt<std::string>
    batch("batch",
          cl::desc("With --mesh, whose batch the step has: global, per-rank, "
                   "or auto (default), which is global if the ranks divide it"),
          cl::value_desc("BATCH"), cl::init("auto"), cl::sub(treeCommand),
          cl::cat(getCategory()));
static cl::list<std::string>
    patterns("module",
             cl::desc("Show the modules that a pattern matches, such as "
                      "layers.*, as options of passes take it"),
             cl::value_desc("PATTERN"), cl::sub(treeCommand),
             cl::cat(getCategory()));
static cl::opt<std::string>
    clusterName("cluster",
                cl::desc("Estimate seconds on a cluster: a name, such as "
                         "h100-8, or a file"),
                cl::value_desc("NAME"), cl::sub(treeCommand),
                cl::cat(getCategory()));

static Result<ModulesRequest> readFlags() {
  ModulesRequest request;
  request.file = file;
  request.cluster = clusterName;
  request.patterns.assign(patterns.begin(), patterns.end());
  request.step.asCaptured = true;
  const std::reference_wrapper<const cl::opt<std::string>> flags[] = {
      mesh, replicateAxis, batch};
  for (const cl::opt<std::string> &flag : flags)
    if (Failure failure =
            setStepOption(request.step, flag.ArgStr, flag.getValue(),
                          "--" + flag.ArgStr.str()))
      return failure;
  return request;
}

int regather::treeMain() {
  Result<ModulesRequest> request = readFlags();
  if (!request)
    return reportError(request.getMessage());
  std::unique_ptr<InputFile> input = readInput(file);
  if (!input)
    return 1;
  llvm::FailureOr<ModuleDescription> description =
      describeModules(*input->module, *request);
  if (failed(description))
    return 1;
  llvm::outs() << (json ? formatJson(*description, depth)
                        : formatText(*description, depth, !noFold));
  return 0;
}
