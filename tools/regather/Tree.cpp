//===- Tree.cpp - regather tree -------------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "regather/Dialect/TG/Modules/ModulePattern.h"
#include "regather/Dialect/TG/Modules/ModuleTree.h"
#include "regather/Dialect/TG/Steps/StepGraph.h"
#include "regather/Driver/Clusters.h"
#include "regather/Driver/PrepareStep.h"
#include "regather/Pipelines/StepOptionText.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <functional>

using namespace mlir;
using namespace regather;
using namespace regather::tg;
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

/// The modules to show: the model, or what the patterns match.
static FailureOr<std::vector<unsigned>> findTops(ModuleOp module,
                                                 const ModuleNames &names) {
  if (patterns.empty())
    return std::vector<unsigned>{0};
  SmallVector<FunctionOpInterface> steps = getSteps(module);
  if (steps.empty())
    return module.emitError("expects a function whose modules --module names");
  std::vector<std::string> paths;
  for (unsigned number = 1; number < names.getNumModules(); ++number)
    paths.push_back(names.getPath(number));
  std::vector<StringRef> views(paths.begin(), paths.end());
  FailureOr<std::vector<PatternMatch>> matches =
      matchPatterns(steps.front(), "module",
                    std::vector<std::string>(patterns.begin(), patterns.end()),
                    views, "module");
  if (failed(matches))
    return failure();
  std::vector<unsigned> tops;
  for (auto [i, match] : llvm::enumerate(*matches))
    if (match.pattern && match.prefix == views[i])
      tops.push_back(i + 1);
  return tops;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static void writeWork(llvm::json::OStream &stream, const ModuleWork &work) {
  stream.attribute("ops", work.ops);
  stream.attribute("flops", work.flops);
  stream.attributeObject("collectives", [&] {
    for (auto [kind, count] : llvm::enumerate(work.collectives))
      if (count)
        stream.attribute(getCollectiveName(static_cast<CollectiveKind>(kind)),
                         count);
  });
  stream.attribute("collective_bytes", work.receivedBytes);
  if (clusterName.empty())
    return;
  stream.attribute("compute_seconds", work.computeSeconds);
  stream.attribute("collective_seconds", work.collectiveSeconds);
}

/// Recursive, as deep as names are nested: at most `kMaxDepth` levels.
static void writeModule(llvm::json::OStream &stream, const ModuleTree &tree,
                        unsigned module, unsigned levels) {
  const ModuleSummary &summary = tree.getSummary(module);
  stream.object([&] {
    stream.attribute("module", tree.getNames().getPath(module));
    stream.attributeObject("parameters", [&] {
      stream.attribute("count", summary.parameters.count);
      stream.attribute("elements", summary.parameters.elements);
      stream.attribute("bytes", summary.parameters.bytes);
      stream.attribute("bytes_per_rank", summary.parameters.bytesPerRank);
    });
    stream.attributeObject("phases", [&] {
      for (unsigned column = 0; column < kNumPhaseColumns; ++column)
        if (summary.work[column].ops)
          stream.attributeObject(getPhaseColumnName(column), [&] {
            writeWork(stream, summary.work[column]);
          });
    });
    stream.attributeArray("children", [&] {
      if (levels > 0)
        for (unsigned child : tree.getNames().getChildren(module))
          writeModule(stream, tree, child, levels - 1);
    });
  });
}

static void printJson(const ModuleTree &tree, ArrayRef<unsigned> tops) {
  llvm::json::OStream stream(llvm::outs(), /*IndentSize=*/2);
  stream.object([&] {
    stream.attribute("file", file.getValue());
    if (!clusterName.empty())
      stream.attribute("cluster", clusterName.getValue());
    stream.attributeArray("modules", [&] {
      for (unsigned top : tops)
        writeModule(stream, tree, top, depth);
    });
  });
  llvm::outs() << '\n';
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// Three digits and a letter: 1.23G.
static std::string format(double number) {
  StringRef letters = " kMGTPEZ";
  while (number >= 999.5 && letters.size() > 1) {
    number /= 1000;
    letters = letters.drop_front();
  }
  if (letters.front() == ' ')
    return llvm::formatv("{0}", static_cast<int64_t>(number));
  int digits = number < 9.995 ? 2 : number < 99.95 ? 1 : 0;
  std::string text = digits == 2   ? llvm::formatv("{0:f2}", number).str()
                     : digits == 1 ? llvm::formatv("{0:f1}", number).str()
                                   : llvm::formatv("{0:f0}", number).str();
  return text + letters.front();
}

namespace {
/// Prints lines of the tree under a heading of those phases that have
/// something.
class TextTree {
public:
  explicit TextTree(const ModuleTree &tree) : tree(tree) {}

  void print(ArrayRef<unsigned> tops);

private:
  struct Line {
    std::string name;
    ModuleSummary sum;
  };

  void add(const ModuleRun &run, const std::string &name, unsigned indent);
  void printHeading(size_t width) const;
  void printLine(const Line &line, size_t width) const;

  const ModuleTree &tree;
  std::vector<Line> lines;
  std::vector<unsigned> columns;
};
} // namespace

/// Recursive, as deep as names are nested.
void TextTree::add(const ModuleRun &run, const std::string &name,
                   unsigned indent) {
  Line line{std::string(2 * indent, ' ') + name, {}};
  // Modules that are alike have equal children, each of which stands for all.
  for (unsigned module : run.modules)
    line.sum += tree.getSummary(module);
  lines.push_back(std::move(line));
  if (indent >= depth)
    return;
  const ModuleNames &names = tree.getNames();
  auto areAlike = [&](unsigned first, unsigned second) {
    return !noFold && tree.areAlike(first, second);
  };
  // Runs go through the children in order, so that those of equal modules are
  // at the same places.
  size_t place = 0;
  for (ModuleRun &inner : foldChildren(names, run.modules.front(), areAlike)) {
    ModuleRun all{inner.name, {}};
    for (size_t end = place + inner.modules.size(); place < end; ++place)
      for (unsigned module : run.modules)
        all.modules.push_back(names.getChildren(module)[place]);
    add(all, all.name, indent + 1);
  }
}

void TextTree::printHeading(size_t width) const {
  std::string phases, columnNames;
  llvm::raw_string_ostream upper(phases), lower(columnNames);
  upper << llvm::left_justify("", width)
        << llvm::left_justify("  parameters", 22);
  lower << llvm::left_justify("module", width)
        << llvm::formatv("{0,12}{1,10}", "bytes", "per rank");
  for (unsigned column : columns) {
    upper << "  "
          << llvm::left_justify(getPhaseColumnName(column),
                                clusterName.empty() ? 31 : 51);
    lower << llvm::formatv("{0,8}{1,8}{2,7}{3,10}", "ops", "flops", "coll.",
                           "received");
    if (!clusterName.empty())
      lower << llvm::formatv("{0,10}{1,10}", "compute", "comm.");
  }
  llvm::outs() << StringRef(phases).rtrim() << '\n' << columnNames << '\n';
}

void TextTree::printLine(const Line &line, size_t width) const {
  const ModuleSummary &sum = line.sum;
  llvm::outs() << llvm::left_justify(line.name, width)
               << llvm::formatv(
                      "{0,12}{1,10}",
                      format(static_cast<double>(sum.parameters.bytes)),
                      format(static_cast<double>(sum.parameters.bytesPerRank)));
  for (unsigned column : columns) {
    const ModuleWork &work = sum.work[column];
    llvm::outs() << llvm::formatv(
        "{0,8}{1,8}{2,7}{3,10}", format(static_cast<double>(work.ops)),
        format(work.flops), work.getNumCollectives(),
        format(static_cast<double>(work.receivedBytes)));
    if (!clusterName.empty())
      llvm::outs() << llvm::formatv("{0,8:f2}ms{1,8:f2}ms",
                                    work.computeSeconds * 1e3,
                                    work.collectiveSeconds * 1e3);
  }
  llvm::outs() << '\n';
}

void TextTree::print(ArrayRef<unsigned> tops) {
  for (unsigned top : tops)
    add({"", {top}}, top == 0 ? "model" : tree.getNames().getPath(top), 0);
  for (unsigned column = 0; column < kNumPhaseColumns; ++column)
    if (llvm::any_of(lines, [&](const Line &line) {
          return line.sum.work[column].ops > 0;
        }))
      columns.push_back(column);
  size_t width = StringRef("module").size();
  for (const Line &line : lines)
    width = std::max(width, line.name.size());
  printHeading(width);
  for (const Line &line : lines)
    printLine(line, width);
}

/// Shards the step, if a mesh is asked for.
static LogicalResult shardStep(ModuleOp module) {
  if (mesh.empty() && replicateAxis.empty())
    return success();
  StepOptions options;
  options.asCaptured = true;
  const std::reference_wrapper<const cl::opt<std::string>> flags[] = {
      mesh, replicateAxis, batch};
  for (const cl::opt<std::string> &flag : flags)
    if (Failure failure = setStepOption(options, flag.ArgStr, flag.getValue(),
                                        "--" + flag.ArgStr.str()))
      return emitError(UnknownLoc::get(module.getContext()))
             << failure.getMessage();
  return success(succeeded(prepareStep(module, options)));
}

int regather::treeMain() {
  std::unique_ptr<InputFile> input = readInput(file);
  if (!input || failed(shardStep(*input->module)))
    return 1;
  std::optional<CostModel> model;
  FailureOr<StepCosts> costs = failure();
  if (!clusterName.empty()) {
    FailureOr<CostModel> loaded =
        loadCostModel(input->context.get(), clusterName);
    if (failed(loaded))
      return 1;
    model.emplace(std::move(*loaded));
    costs = StepCosts::create(*input->module, *model);
    if (failed(costs))
      return 1;
  }
  ModuleTree tree(*input->module, succeeded(costs) ? &*costs : nullptr);
  FailureOr<std::vector<unsigned>> tops =
      findTops(*input->module, tree.getNames());
  if (failed(tops))
    return 1;
  if (json)
    printJson(tree, *tops);
  else
    TextTree(tree).print(*tops);
  return 0;
}
