//===- TextBatchesTest.cpp - Batches of a text ----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Training/TextBatches.h"
#include "regather/InitAll.h"
#include "regather/StepAnalysis/AnalyzeStep.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace regather;

static const char *kInput = "{tg.role = #tg.role<input>, tg.name = ";
static const char *kSharded =
    "{tg.placement = #tg.placement<@mesh [[dp] = "
    "shard 0]>, tg.role = #tg.role<input>, tg.name = ";

namespace {
class TextBatchesTest : public ::testing::Test {
protected:
  TextBatchesTest() : context(makeRegistry()) {
    EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("text", "txt", path));
    remover.setFile(path);
  }

  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }

  void parse(StringRef arguments) {
    module = parseSourceString<ModuleOp>(
        llvm::formatv("tg.mesh @mesh [dp = 2]\n"
                      "func.func @f({0}) {{ return }",
                      arguments)
            .str(),
        &context);
    ASSERT_TRUE(module);
    step = analyzeStep(*module, "", std::nullopt)->signature;
  }

  /// Two inputs of 2 x 3, each rank holding one row.
  void parseTokensAndLabels() {
    parse(llvm::formatv("%a: tensor<1x3xi64> {0}\"t\"}, "
                        "%b: tensor<1x3xi32> {0}\"l\"}",
                        kSharded)
              .str());
  }

  Result<TextBatches> open(StringRef text, StringRef names = "") {
    std::error_code error;
    llvm::raw_fd_ostream(path, error) << text;
    EXPECT_FALSE(error);
    return TextBatches::create(step, path.str().str(), names.str());
  }

  std::string getError(StringRef text, StringRef names = "") {
    Result<TextBatches> batches = open(text, names);
    return batches ? "" : batches.getMessage();
  }

  static std::string toText(const HostTensor &tensor) {
    std::string text;
    for (int64_t i = 0, e = tensor.getNumElements(); i != e; ++i)
      text.push_back(static_cast<char>(tensor.getAsInteger(i)));
    return text;
  }

  llvm::SmallString<64> path;
  llvm::FileRemover remover;
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  StepSignature step;
};
} // namespace

TEST_F(TextBatchesTest, LabelsAreOneByteAhead) {
  parseTokensAndLabels();
  Result<TextBatches> batches = open("abcdefghijklm");
  ASSERT_TRUE(static_cast<bool>(batches));
  EXPECT_EQ(batches->getTokensPerStep(), 6);
  EXPECT_EQ(toText(batches->makeTensor(0, 0)), "abcdef");
  EXPECT_EQ(toText(batches->makeTensor(0, 1)), "bcdefg");
  EXPECT_EQ(toText(batches->makeTensor(1, 0)), "ghijkl");
  EXPECT_EQ(toText(batches->makeTensor(1, 1)), "hijklm");
}

// Ten bytes have three windows of three bytes with a byte after each.
TEST_F(TextBatchesTest, BeginsAgainAfterTheLastWindow) {
  parseTokensAndLabels();
  Result<TextBatches> batches = open("abcdefghij");
  ASSERT_TRUE(static_cast<bool>(batches));
  EXPECT_EQ(toText(batches->makeTensor(1, 0)), "ghiabc");
  EXPECT_EQ(toText(batches->makeTensor(1, 1)), "hijbcd");
  EXPECT_EQ(toText(batches->makeTensor(3, 0)), "abcdef");
}

// One byte less, and the third window has no label for its last token.
TEST_F(TextBatchesTest, LastWindowNeedsAByteAfterIt) {
  parseTokensAndLabels();
  Result<TextBatches> batches = open("abcdefghi");
  ASSERT_TRUE(static_cast<bool>(batches));
  EXPECT_EQ(toText(batches->makeTensor(1, 0)), "abcdef");
}

TEST_F(TextBatchesTest, EachRankGetsItsRows) {
  parseTokensAndLabels();
  Result<TextBatches> batches = open("abcdefg");
  ASSERT_TRUE(static_cast<bool>(batches));
  std::vector<RankValues> ranks(2, RankValues(2));
  batches->fill(0, ranks);
  EXPECT_EQ(toText(ranks[0][0]), "abc");
  EXPECT_EQ(toText(ranks[1][0]), "def");
  EXPECT_EQ(toText(ranks[1][1]), "efg");
  EXPECT_EQ(ranks[0][0].getType(), ElementType::I64);
  EXPECT_EQ(ranks[0][1].getType(), ElementType::I32);
}

TEST_F(TextBatchesTest, BytesAreNotNegative) {
  parseTokensAndLabels();
  Result<TextBatches> batches = open("\xff\xff\xff\xff\xff\xff\xff");
  ASSERT_TRUE(static_cast<bool>(batches));
  EXPECT_EQ(batches->makeTensor(0, 0).getAsInteger(0), 255);
}

TEST_F(TextBatchesTest, RejectsATextShorterThanABatch) {
  parseTokensAndLabels();
  EXPECT_EQ(getError("abcdefg"), "");
  EXPECT_EQ(getError("abcdef"),
            ("text '" + path +
             "' has 6 bytes, but one batch of 2 sequences of 3 bytes needs 7")
                .str());
}

TEST_F(TextBatchesTest, FindsInputsByName) {
  parse(llvm::formatv("%a: tensor<2x3xi64> {0}\"x\"}, %b: tensor<2x3xi64> "
                      "{0}\"l\"}, %c: tensor<2x3xi64> {0}\"t\"}",
                      kInput)
            .str());
  EXPECT_NE(getError("abcdefg").find("\"x\" [2, 3] of integers"),
            std::string::npos);
  Result<TextBatches> batches = open("abcdefg", "t,l");
  ASSERT_TRUE(static_cast<bool>(batches));
  EXPECT_EQ(batches->getArguments(), (std::array<unsigned, 2>{2, 1}));
  for (StringRef wrong : {"t", "t,", "t,t", "t,l,x"})
    EXPECT_NE(getError("abcdefg", wrong).find("expects two names"),
              std::string::npos);
  EXPECT_NE(getError("abcdefg", "t,y").find("names \"y\""), std::string::npos);
}

TEST_F(TextBatchesTest, RejectsInputsThatDoNotFit) {
  for (StringRef second : {"2x4xi64", "2x3xf32", "2x3xi8", "2x3x1xi64"}) {
    parse(llvm::formatv("%a: tensor<2x3xi64> {0}\"t\"}, %b: tensor<{1}> "
                        "{0}\"l\"}",
                        kInput, second)
              .str());
    EXPECT_NE(getError("abcdefghi").find("two integer inputs of one shape"),
              std::string::npos)
        << second.str();
    EXPECT_NE(getError("abcdefghi", "t,l").find("of one shape"),
              std::string::npos)
        << second.str();
  }
}
