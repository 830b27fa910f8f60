//===- PlacementBoundTest.cpp - No placement undercuts the bound ----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `tg-shard-step` bounds the cost of all placements. Here placements are
// carried out, all of a small step and some of a larger one, and none costs
// less.
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/IR/TG.h"
#include "regather/Dialect/TG/Transforms/Passes.h"
#include "regather/Import/ImportFx.h"
#include "regather/InitAll.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "gtest/gtest.h"

#include <map>
#include <random>

using namespace mlir;
using namespace regather;

/// Digits that are printed.
static constexpr double kPrinted = 1e-6;

namespace {
/// Numbers of remarks, as `placement-bound.bound`.
using Numbers = std::map<std::string, double>;

class NumberStreamer : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit NumberStreamer(Numbers &numbers) : numbers(numbers) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    for (const remark::detail::Remark::Arg &arg : remark.getArgs()) {
      double number = 0;
      if (!StringRef(arg.val).getAsDouble(number))
        numbers[(remark.getRemarkName() + "." + arg.key).str()] = number;
    }
  }

private:
  Numbers &numbers;
};

class PlacementBoundTest : public ::testing::Test {
protected:
  PlacementBoundTest() : context(makeRegistry()) {
    context.loadAllAvailableDialects();
  }

  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    regather::registerAllDialects(registry);
    return registry;
  }

  /// What the pass says of a copy of the step.
  Numbers run(ModuleOp step, StringRef mesh,
              const std::vector<std::string> &shard, StringRef cluster) {
    Numbers numbers;
    remark::RemarkCategories categories;
    categories.analysis = "tg-shard-step";
    (void)remark::enableOptimizationRemarks(
        context, std::make_unique<NumberStreamer>(numbers),
        std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
    // An axis that splits nothing is a warning.
    ScopedDiagnosticHandler quiet(&context, [](Diagnostic &diagnostic) {
      return success(diagnostic.getSeverity() != DiagnosticSeverity::Error);
    });
    OwningOpRef<ModuleOp> copy = step.clone();
    tg::ShardStepPassOptions options;
    for (StringRef axis : llvm::split(mesh, ','))
      options.mesh.push_back(axis.str());
    options.shard.assign(shard.begin(), shard.end());
    options.cluster = cluster.str();
    PassManager pm(&context);
    pm.addPass(tg::createShardStepPass(options));
    bool isCut = succeeded(pm.run(*copy));
    context.setRemarkEngine(nullptr);
    return isCut ? numbers : Numbers();
  }

  /// Expects placements to cost no less than the bound: all of them, or
  /// `sampled` ones that are drawn.
  void expectBound(ModuleOp step, StringRef mesh, StringRef cluster,
                   unsigned sampled = 0);

  MLIRContext context;
};

/// The ways to place the matrices of a step, each or pattern by pattern.
std::vector<std::vector<std::string>> listOptions(ModuleOp step,
                                                  bool byPattern) {
  std::map<std::string, int64_t> patterns;
  func::FuncOp func = *step.getOps<func::FuncOp>().begin();
  for (unsigned i = 0, e = func.getNumArguments(); i != e; ++i) {
    auto role = func.getArgAttrOfType<tg::RoleAttr>(i, tg::kRoleAttrName);
    auto type = cast<RankedTensorType>(func.getArgumentTypes()[i]);
    if (!role || role.getKind() != tg::RoleKind::Parameter ||
        type.getRank() < 2)
      continue;
    SmallVector<StringRef> parts;
    func.getArgAttrOfType<StringAttr>(i, tg::kNameAttrName)
        .getValue()
        .split(parts, '.');
    for (StringRef &part : parts)
      if (byPattern && llvm::all_of(part, llvm::isDigit))
        part = "*";
    patterns[llvm::join(parts, ".")] = type.getRank();
  }
  std::vector<std::vector<std::string>> options;
  for (const auto &[pattern, rank] : patterns) {
    options.push_back({""});
    for (int64_t dim = 0; dim != rank; ++dim)
      options.back().push_back(pattern + "=[tp] shard " + std::to_string(dim));
  }
  return options;
}

void PlacementBoundTest::expectBound(ModuleOp step, StringRef mesh,
                                     StringRef cluster, unsigned sampled) {
  Numbers searched = run(step, mesh, {}, cluster);
  ASSERT_TRUE(searched.count("placement-bound.bound")) << mesh.str();
  double bound = searched["placement-bound.bound"];
  EXPECT_GT(bound, 0);
  EXPECT_LE(bound, searched["placement-bound.cost"] * (1 + kPrinted));
  EXPECT_LE(bound, searched["placement-bound.relaxed"] * (1 + kPrinted));
  double least = searched["placement-bound.cost"];
  std::vector<std::vector<std::string>> options =
      listOptions(step, /*byPattern=*/sampled != 0);
  // Where no cut takes less time, bytes have decided.
  bool countsSeconds = searched["placement-cost.seconds"] > 0;
  size_t numChoices = 1;
  for (const std::vector<std::string> &group : options)
    numChoices *= group.size();
  std::mt19937_64 random(1);
  for (size_t i = 1; i != (sampled ? sampled + 1 : numChoices); ++i) {
    size_t number = sampled ? random() : i;
    std::vector<std::string> shard;
    for (const std::vector<std::string> &group : options) {
      const std::string &option = group[number % group.size()];
      number /= group.size();
      if (!option.empty())
        shard.push_back(option);
    }
    Numbers numbers = run(step, mesh, shard, cluster);
    // What cannot be placed so costs nothing.
    if (!numbers.count("annotated-cost.cost"))
      continue;
    double cost = countsSeconds ? numbers["annotated-cost.seconds"]
                                : numbers["annotated-cost.sent_bytes"] +
                                      numbers["annotated-cost.kept_bytes"] +
                                      numbers["annotated-cost.flops"] / 1000;
    EXPECT_LE(bound, cost * (1 + kPrinted))
        << mesh.str() << ' ' << llvm::join(shard, " ");
    least = std::min(least, cost);
  }
  // The search misses little of what it could have found.
  EXPECT_LE(searched["placement-bound.cost"], 1.1 * least) << mesh.str();
}
} // namespace

static constexpr const char *kExamples = REGATHER_EXAMPLES;

TEST_F(PlacementBoundTest, HoldsForAllPlacementsOfAPerceptron) {
  auto step =
      parseSourceFile<ModuleOp>(std::string(kExamples) + "/mlp.mlir", &context);
  ASSERT_TRUE(step);
  for (StringRef cluster : {"", "h100-8"})
    for (StringRef mesh : {"tp:2", "dp:2,tp:4"})
      expectBound(*step, mesh, cluster);
}

/// Layers of two matrices and a sum, of which all but the first and the last
/// are folded.
static std::string printLayers(unsigned numLayers) {
  std::string arguments, body, last = "%x";
  llvm::raw_string_ostream args(arguments), ops(body);
  for (unsigned i = 0; i != numLayers; ++i) {
    std::string layer = "layers." + std::to_string(i);
    auto addArgument = [&](StringRef name, StringRef type) {
      args << '%' << name << i << ": " << type
           << " {tg.role = #tg.role<parameter>, tg.name = \"" << layer << '.'
           << name << ".weight\", tg.module = \"" << layer << '.' << name
           << "\"}, ";
    };
    auto addNode = [&](StringRef result, StringRef target, StringRef operands,
                       StringRef type) {
      ops << '%' << result << i << " = tg.node \"" << target << "\"("
          << operands << ") {tg.module = \"" << layer
          << "\", tg.phase = #tg.phase<forward>} "
          << ": " << type << '\n';
    };
    std::string n = std::to_string(i);
    addArgument("up", "tensor<64x256xf32>");
    addArgument("down", "tensor<256x64xf32>");
    addNode("a", "aten.mm.default", last + ", %up" + n,
            "(tensor<32x64xf32>, tensor<64x256xf32>) -> tensor<32x256xf32>");
    addNode("b", "aten.relu.default", "%a" + n,
            "(tensor<32x256xf32>) -> tensor<32x256xf32>");
    addNode("c", "aten.mm.default", "%b" + n + ", %down" + n,
            "(tensor<32x256xf32>, tensor<256x64xf32>) -> tensor<32x64xf32>");
    addNode("d", "aten.add.Tensor", last + ", %c" + n,
            "(tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>");
    last = "%d" + n;
  }
  return "func.func @step(" + arguments +
         "%x: tensor<32x64xf32> {tg.role = #tg.role<input>, tg.name = "
         "\"x\"}) -> tensor<32x64xf32> {\n" +
         body + "return " + last + " : tensor<32x64xf32>\n}";
}

TEST_F(PlacementBoundTest, HoldsForLayersThatStandForOthers) {
  auto step =
      parseSourceString<ModuleOp>(printLayers(/*numLayers=*/8), &context);
  ASSERT_TRUE(step);
  EXPECT_EQ(run(*step, "tp:2", {}, "")["placement-cost.tied_layers"], 6);
  for (StringRef mesh : {"tp:2", "dp:2,tp:4"})
    expectBound(*step, mesh, "", /*sampled=*/20);
}

TEST_F(PlacementBoundTest, HoldsForPlacementsOfALlama) {
  auto file = llvm::MemoryBuffer::getFile(std::string(kExamples) +
                                          "/llama3-debug.fx.json");
  ASSERT_TRUE(file);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*file), llvm::SMLoc());
  OwningOpRef<ModuleOp> step = importFx(sources, &context);
  ASSERT_TRUE(step);
  expectBound(*step, "tp:2", "h100-8", /*sampled=*/20);
  expectBound(*step, "dp:2,tp:4", "", /*sampled=*/10);
}
