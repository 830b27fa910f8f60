//===- AttentionRoutinesTest.cpp - Attention on GPUs against that on CPUs -===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuEmulator.h"
#include "regather/Support/Half.h"

#include "regather/InitAll.h"
#include "regather/Kernel/NVPTX/CompileRoutines.h"
#include "regather/Kernel/NVPTX/PtxFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace mlir;
using namespace regather;
using namespace regather::nvptx;

namespace {

/// Numbers of the buffers of a call.
enum Buffer { Q, K, V, Mask, O, L, GradO, GradQ, GradK, GradV, NumBuffers };

/// What a case differs in.
struct Shape {
  int64_t batch = 1, heads = 1, groups = 1, rows = 32, columns = 32;
  int64_t width = 32, valueWidth = 32;
  int32_t dtype = RG_F32;
  bool isCausal = false;
  float scale = 0.25f;
  /// -1 for none.
  int32_t maskType = -1;
  /// Rows between heads, as [batch, rows, heads, elements].
  bool hasHeadsInside = false;
};

struct alignas(16) Word {
  char bytes[16];
};
using Memory = std::vector<Word>;

class AttentionRoutinesTest : public testing::Test {
protected:
  AttentionRoutinesTest() {
    DialectRegistry dialects;
    registerAllDialects(dialects);
    context.appendDialectRegistry(dialects);
  }

  /// Computes forward, then backward from what the CPU has computed, on the
  /// CPU and emulated, in both orders of threads, and compares.
  void expectEqual(const Shape &shape);
  void compare(const rg_attention_desc &desc, ArrayRef<Buffer> results,
               int32_t dtype);

  MLIRContext context;
  std::vector<Memory> buffers;
};

rg_attention_operand makeOperand(Buffer buffer, int32_t dtype, int64_t heads,
                                 int64_t rows, int64_t width, bool inside) {
  if (inside)
    return {buffer, dtype, 0, {rows * heads * width, width, heads * width, 1}};
  return {buffer, dtype, 0, {heads * rows * width, rows * width, width, 1}};
}

rg_attention_desc makeDesc(const Shape &shape, bool backward) {
  rg_attention_desc desc = {};
  desc.batch = shape.batch;
  desc.heads = shape.heads;
  desc.groups = shape.groups;
  desc.rows = shape.rows;
  desc.columns = shape.columns;
  desc.width = shape.width;
  desc.value_width = shape.valueWidth;
  desc.scale = shape.scale;
  desc.causal = shape.isCausal;
  desc.masked = shape.maskType >= 0;
  desc.backward = backward;
  int64_t heads = shape.heads, keyHeads = shape.heads / shape.groups;
  auto make = [&](Buffer buffer, int64_t count, int64_t rows, int64_t width) {
    return makeOperand(buffer, shape.dtype, count, rows, width,
                       shape.hasHeadsInside);
  };
  desc.q = make(Q, heads, shape.rows, shape.width);
  desc.k = make(K, keyHeads, shape.columns, shape.width);
  desc.v = make(V, keyHeads, shape.columns, shape.valueWidth);
  desc.o = make(O, heads, shape.rows, shape.valueWidth);
  desc.l = {L, RG_F32, 0, {heads * shape.rows, shape.rows, 1, 1}};
  // One mask for all heads.
  desc.mask = {Mask,
               shape.maskType,
               0,
               {shape.rows * shape.columns, 0, shape.columns, 1}};
  if (backward) {
    desc.grad_o = make(GradO, heads, shape.rows, shape.valueWidth);
    desc.grad_q = make(GradQ, heads, shape.rows, shape.width);
    desc.grad_k = make(GradK, keyHeads, shape.columns, shape.width);
    desc.grad_v = make(GradV, keyHeads, shape.columns, shape.valueWidth);
  }
  return desc;
}

float readFloat(const Memory &memory, size_t i, int32_t dtype) {
  const void *bytes = memory.data();
  if (dtype == RG_F32)
    return static_cast<const float *>(bytes)[i];
  uint16_t half = static_cast<const uint16_t *>(bytes)[i];
  return dtype == RG_F16 ? runtime::fromF16(half) : runtime::fromBF16(half);
}

/// Numbers in ±1.
Memory draw(size_t count, int32_t dtype, std::mt19937 &random) {
  Memory memory(count / 4 + 1);
  void *bytes = memory.data();
  for (size_t i = 0; i != count; ++i) {
    float value = static_cast<float>(random() % 2001) / 1000 - 1;
    if (dtype == RG_I1)
      static_cast<char *>(bytes)[i] = static_cast<char>(random() % 3 != 0);
    else if (dtype == RG_F32)
      static_cast<float *>(bytes)[i] = value;
    else
      static_cast<uint16_t *>(bytes)[i] =
          dtype == RG_F16 ? runtime::toF16(value) : runtime::toBF16(value);
  }
  return memory;
}

void AttentionRoutinesTest::compare(const rg_attention_desc &desc,
                                    ArrayRef<Buffer> results, int32_t dtype) {
  std::vector<Memory> expected = buffers;
  std::vector<void *> pointers;
  for (Memory &memory : expected)
    pointers.push_back(memory.data());
  rg_attention *attention = nullptr;
  ASSERT_EQ(rg_attention_create(&desc, &attention), RG_OK);
  ASSERT_EQ(rg_attention_run(attention, pointers.data()), RG_OK);
  rg_attention_destroy(attention);

  auto text =
      printAttentionKernels(UnknownLoc::get(&context), desc, "attention");
  ASSERT_TRUE(succeeded(text));
  auto emulator = GpuEmulator::create(StringRef(*text));
  ASSERT_TRUE(bool(emulator)) << llvm::toString(emulator.takeError());
  for (ThreadOrder order : {ThreadOrder::Ascending, ThreadOrder::Descending}) {
    std::vector<Memory> actual = buffers;
    std::vector<void *> addresses;
    size_t count = desc.backward ? size_t(NumBuffers) : size_t(GradO);
    for (size_t i = 0; i != count; ++i)
      addresses.push_back(actual[i].data());
    llvm::Error error = (*emulator)->run(addresses, order);
    ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
    EXPECT_EQ((*emulator)->getBankConflicts(), 0);
    for (Buffer buffer : results) {
      int32_t type = buffer == L ? int32_t(RG_F32) : dtype;
      size_t numbers = expected[buffer].size() * (type == RG_F32 ? 4 : 8);
      float scale = 1;
      for (size_t i = 0; i != numbers; ++i) {
        float value = readFloat(expected[buffer], i, type);
        if (std::isfinite(value))
          scale = std::max(scale, std::abs(value));
      }
      for (size_t i = 0; i != numbers; ++i) {
        float a = readFloat(expected[buffer], i, type);
        float b = readFloat(actual[buffer], i, type);
        if (a == b || (std::isnan(a) && std::isnan(b)))
          continue;
        float tolerance = type == RG_F32   ? 2e-6f
                          : type == RG_F16 ? 1.5e-3f
                                           : 1e-2f;
        ASSERT_NEAR(a, b, scale * tolerance)
            << "element " << i << " of buffer " << buffer;
      }
    }
  }
  buffers = expected;
}

void AttentionRoutinesTest::expectEqual(const Shape &shape) {
  std::mt19937 random(1);
  size_t queries = shape.batch * shape.heads * shape.rows;
  size_t keys = shape.batch * (shape.heads / shape.groups) * shape.columns;
  auto make = [&](size_t vectors, int64_t width) {
    return draw(vectors * static_cast<size_t>(width), shape.dtype, random);
  };
  buffers.clear();
  buffers.push_back(make(queries, shape.width));
  buffers.push_back(make(keys, shape.width));
  buffers.push_back(make(keys, shape.valueWidth));
  buffers.push_back(draw(shape.batch * shape.rows * shape.columns,
                         shape.maskType < 0 ? int32_t(RG_F32) : shape.maskType,
                         random));
  buffers.push_back(make(queries, shape.valueWidth));
  buffers.push_back(draw(queries, RG_F32, random));
  buffers.push_back(make(queries, shape.valueWidth));
  buffers.push_back(make(queries, shape.width));
  buffers.push_back(make(keys, shape.width));
  buffers.push_back(make(keys, shape.valueWidth));
  ASSERT_NO_FATAL_FAILURE(compare(makeDesc(shape, false), {O, L}, shape.dtype))
      << "forward";
  ASSERT_NO_FATAL_FAILURE(
      compare(makeDesc(shape, true), {GradQ, GradK, GradV}, shape.dtype))
      << "backward";
}

TEST_F(AttentionRoutinesTest, ComputesOneHead) { expectEqual({}); }

TEST_F(AttentionRoutinesTest, IsCausal) {
  Shape shape;
  shape.rows = shape.columns = 70;
  shape.isCausal = true;
  expectEqual(shape);
}

TEST_F(AttentionRoutinesTest, ServesGroupsOfHeads) {
  Shape shape;
  shape.batch = 2;
  shape.heads = 2;
  shape.groups = 2;
  shape.isCausal = true;
  shape.hasHeadsInside = true;
  shape.rows = shape.columns = 40;
  expectEqual(shape);
}

TEST_F(AttentionRoutinesTest, ComputesOddSizesIn16Bits) {
  for (int32_t dtype : {RG_BF16, RG_F16}) {
    Shape shape;
    shape.dtype = dtype;
    shape.rows = 37;
    shape.columns = 33;
    shape.width = 40;
    shape.valueWidth = 126;
    expectEqual(shape);
    shape.isCausal = true;
    expectEqual(shape);
  }
}

// Widths with several pieces, and those for which a warp owns fewer rows; with
// tensor cores, tiles that are cut along the diagonal.
TEST_F(AttentionRoutinesTest, ComputesWideHeads) {
  for (int32_t dtype : {RG_F32, RG_BF16})
    for (int64_t width : {64, 128, 192}) {
      Shape shape;
      shape.dtype = dtype;
      shape.width = width;
      shape.valueWidth = width == 192 ? 128 : width;
      shape.isCausal = true;
      shape.rows = shape.columns = dtype == RG_F32 ? 32 : 80;
      expectEqual(shape);
    }
}

// Tensor cores: sizes that are no multiples of tiles, tiles that are hidden or
// cut, one and two fragments of rows, and widths with and without a remainder.
TEST_F(AttentionRoutinesTest, MultipliesFragments) {
  std::mt19937 random(2);
  const int64_t widths[] = {16, 48, 64, 80, 128, 256};
  for (auto [number, width] : llvm::enumerate(widths)) {
    Shape shape;
    shape.dtype = number % 3 != 0 ? RG_BF16 : RG_F16;
    shape.width = width;
    shape.valueWidth =
        random() % 2 != 0 ? width : widths[random() % std::size(widths)];
    shape.isCausal = number % 2 != 0;
    shape.hasHeadsInside = random() % 2 != 0;
    shape.groups = 1 + static_cast<int64_t>(random() % 2);
    shape.heads = shape.groups;
    shape.rows = 1 + static_cast<int64_t>(random() % 150);
    shape.columns = 1 + static_cast<int64_t>(random() % 100);
    SCOPED_TRACE(testing::Message()
                 << shape.rows << " x " << shape.columns << ", width " << width
                 << ", values " << shape.valueWidth);
    ASSERT_NO_FATAL_FAILURE(expectEqual(shape));
  }
}

// Maxima that are exceeded by much from tile to tile, and by little; and a
// scale below zero, with which the largest score is the smallest product.
TEST_F(AttentionRoutinesTest, KeepsMaximaThatAreExceededByLittle) {
  for (float scale : {4.0f, 1.0f, -1.0f}) {
    Shape shape;
    shape.dtype = RG_BF16;
    shape.rows = 80;
    shape.columns = 140;
    shape.width = shape.valueWidth = 80;
    shape.scale = scale;
    expectEqual(shape);
  }
}

// Where the scale comes first.
TEST_F(AttentionRoutinesTest, MasksFragments) {
  for (int32_t type : {RG_F32, RG_BF16, RG_F16, RG_I1}) {
    Shape shape;
    shape.dtype = type == RG_F16 ? RG_F16 : RG_BF16;
    shape.heads = 2;
    shape.rows = 70;
    shape.columns = 50;
    shape.maskType = type;
    shape.isCausal = type == RG_BF16;
    expectEqual(shape);
  }
}

TEST_F(AttentionRoutinesTest, AddsMasks) {
  for (int32_t type : {RG_F32, RG_BF16, RG_F16, RG_I1}) {
    Shape shape;
    shape.heads = 2;
    shape.rows = 20;
    shape.columns = 40;
    shape.maskType = type;
    expectEqual(shape);
  }
}

TEST_F(AttentionRoutinesTest, GivesZeroWhereNothingIsSeen) {
  Shape shape;
  shape.maskType = RG_I1;
  expectEqual(shape);
  // Row 3 sees nothing.
  memset(reinterpret_cast<char *>(buffers[Mask].data()) + 3 * shape.columns, 0,
         shape.columns);
  ASSERT_NO_FATAL_FAILURE(compare(makeDesc(shape, false), {O, L}, RG_F32));
  EXPECT_EQ(readFloat(buffers[O], 3 * shape.valueWidth, RG_F32), 0);
  EXPECT_EQ(readFloat(buffers[L], 3, RG_F32), -INFINITY);
  compare(makeDesc(shape, true), {GradQ, GradK, GradV}, RG_F32);
}

TEST_F(AttentionRoutinesTest, RejectsHeadsThatAreTooWide) {
  Shape shape;
  shape.width = 4096;
  ScopedDiagnosticHandler handler(&context, [](Diagnostic &diagnostic) {
    EXPECT_NE(diagnostic.str().find("needs"), std::string::npos)
        << diagnostic.str();
    EXPECT_NE(diagnostic.str().find("bytes of shared memory, but a block has"),
              std::string::npos)
        << diagnostic.str();
    return success();
  });
  EXPECT_TRUE(failed(printAttentionKernels(UnknownLoc::get(&context),
                                           makeDesc(shape, false), "wide")));
}

/// What ptxas says about a file of PTX; empty if there is no ptxas.
std::string assemble(StringRef ptx, const GpuArchitecture &architecture) {
  auto program = llvm::sys::findProgramByName("ptxas");
  if (!program)
    return "";
  llvm::SmallString<128> input, messages;
  int handle;
  EXPECT_FALSE(
      llvm::sys::fs::createTemporaryFile("attention", "ptx", handle, input));
  llvm::raw_fd_ostream(handle, /*shouldClose=*/true) << ptx;
  EXPECT_FALSE(
      llvm::sys::fs::createTemporaryFile("attention", "txt", messages));
  llvm::FileRemover removeInput(input), removeMessages(messages);
  std::string target = ("--gpu-name=" + architecture.name).str();
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(messages),
                                          StringRef(messages)};
  EXPECT_EQ(llvm::sys::ExecuteAndWait(
                *program, {*program, "-v", target, input, "-o", "/dev/null"},
                std::nullopt, redirects),
            0);
  auto text = llvm::MemoryBuffer::getFile(messages);
  return text ? (*text)->getBuffer().str() : "";
}

// Without the assembler, the text is looked at alone.
TEST_F(AttentionRoutinesTest, AssemblesWithoutSpills) {
  std::vector<rg_attention_desc> descs;
  for (int64_t width : {64, 128})
    for (bool backward : {false, true}) {
      Shape shape;
      shape.dtype = width == 64 ? RG_F16 : RG_BF16;
      shape.heads = 32;
      shape.groups = 4;
      shape.rows = shape.columns = 4096;
      shape.width = shape.valueWidth = width;
      shape.isCausal = true;
      descs.push_back(makeDesc(shape, backward));
    }
  // f32 has no tensor cores.
  Shape single;
  single.width = single.valueWidth = 64;
  descs.push_back(makeDesc(single, false));
  for (const GpuArchitecture &architecture : getGpuArchitectures()) {
    KernelCompileOptions options;
    options.architecture = &architecture;
    kernel::KernelStatistics statistics;
    auto codes = compileAttentions(UnknownLoc::get(&context), descs, options,
                                   statistics);
    ASSERT_TRUE(succeeded(codes));
    EXPECT_NE(codes->back().ptx.find("ld.global.nc.v"), std::string::npos);
    for (const KernelCode &code : *codes) {
      bool isHalf = &code != &codes->back();
      for (StringRef opcode : {"mma.sync.aligned.m16n8k16", "ldmatrix.sync",
                               "cp.async.cg.shared.global"})
        EXPECT_EQ(StringRef(code.ptx).contains(opcode), isHalf) << opcode.str();
      EXPECT_EQ(code.ptx.find(".local"), std::string::npos);
      EXPECT_EQ(code.ptx.find("atom."), std::string::npos);
    }
    std::string report = assemble(joinPtx(*codes), architecture);
    size_t spills = 0, none = 0;
    for (StringRef rest = report;;) {
      auto [before, after] = rest.split("bytes spill stores");
      if (after.empty())
        break;
      ++spills;
      none += before.ends_with(" 0 ");
      rest = after;
    }
    EXPECT_EQ(spills, none) << report;
    // Three forward, and two launches for each of the two backward.
    EXPECT_EQ(spills, report.empty() ? 0u : 7u) << report;
  }
}

} // namespace
