//===- GemmRoutinesTest.cpp - Products on GPUs against those on CPUs ------===//
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
#include "regather/Runtime/GpuProgram.h"

#include "gtest/gtest.h"

#include <cstring>
#include <random>

using namespace mlir;
using namespace regather;
using namespace regather::nvptx;

namespace {

struct alignas(16) Word {
  char bytes[16];
};
using Memory = std::vector<Word>;

constexpr size_t kBuffers = 5, kWords = 4096;

/// What only generated kernels compute.
class GemmRoutinesTest : public testing::Test {
protected:
  GemmRoutinesTest() {
    DialectRegistry dialects;
    registerAllDialects(dialects);
    context.appendDialectRegistry(dialects);
  }

  /// Runs a product of small integers, for which sums are exact in any order,
  /// on the CPU and emulated, and compares all bits.
  void expectEqual(const rg_gemm_desc &desc);
  bool usesTensorCores(const rg_gemm_desc &desc);
  /// The elements of C, emulated, of numbers whose sums depend on their order.
  /// The factors are drawn as those of `drawn`.
  std::vector<float> multiply(const rg_gemm_desc &desc,
                              const rg_gemm_desc &drawn);

  MLIRContext context;
  /// Words of a buffer.
  size_t words = kWords;
};

/// [m, k] times [k, n], in row-major order.
rg_gemm_desc makeDesc(int64_t m, int64_t n, int64_t k, int32_t dtype = RG_F32) {
  rg_gemm_desc desc = {};
  desc.m = m;
  desc.n = n;
  desc.k = k;
  desc.alpha = 1;
  desc.a = {0, dtype, 0, {k, 1}, {}};
  desc.b = {1, dtype, 0, {n, 1}, {}};
  desc.c = {2, dtype, 0, {n, 1}, {}};
  return desc;
}

Memory draw(int32_t dtype, size_t words, std::mt19937 &random) {
  Memory memory(words);
  void *data = memory.data();
  size_t width = dtype == RG_F32 ? 4 : 2;
  for (size_t i = 0; i != words * sizeof(Word) / width; ++i) {
    float value = static_cast<float>(random() % 7) - 3;
    if (dtype == RG_F32)
      static_cast<float *>(data)[i] = value;
    else
      static_cast<uint16_t *>(data)[i] =
          dtype == RG_F16 ? runtime::toF16(value) : runtime::toBF16(value);
  }
  return memory;
}

/// Calls `check` with the place and the size of each element of C.
void forEachResult(const rg_gemm_desc &desc,
                   llvm::function_ref<void(size_t, size_t)> check) {
  size_t bytes = desc.c.dtype == RG_F32 ? 4 : 2;
  int64_t count = desc.m * desc.n;
  for (int64_t i = 0; i < desc.batch_rank; ++i)
    count *= desc.batch_sizes[i];
  for (int64_t number = 0; number < count; ++number) {
    int64_t place = desc.c.offset + number % desc.n * desc.c.strides[1] +
                    number / desc.n % desc.m * desc.c.strides[0];
    int64_t rest = number / desc.n / desc.m;
    for (int64_t i = desc.batch_rank; i-- > 0; rest /= desc.batch_sizes[i])
      place += rest % desc.batch_sizes[i] * desc.c.batch_strides[i];
    check(static_cast<size_t>(place) * bytes, bytes);
  }
}

void GemmRoutinesTest::expectEqual(const rg_gemm_desc &desc) {
  EXPECT_NE(rg_gpu_gemm_obstacle(&desc), nullptr);
  std::mt19937 random(1);
  int32_t dtypes[kBuffers] = {desc.a.dtype, desc.b.dtype, desc.c.dtype, RG_F32,
                              RG_F32};
  for (int32_t i = 0; i < desc.addend_count; ++i)
    dtypes[desc.addends[i].buffer] = desc.addends[i].dtype;
  std::vector<Memory> expected;
  std::vector<void *> pointers;
  for (int32_t dtype : dtypes)
    expected.push_back(draw(dtype, words, random));
  const std::vector<Memory> before = expected;
  for (Memory &memory : expected)
    pointers.push_back(memory.data());
  rg_gemm *gemm = nullptr;
  ASSERT_EQ(rg_gemm_create(&desc, &gemm), RG_OK);
  ASSERT_EQ(rg_gemm_run(gemm, pointers.data()), RG_OK);
  rg_gemm_destroy(gemm);

  auto text = printGemmKernel(UnknownLoc::get(&context), desc, "product");
  ASSERT_TRUE(succeeded(text));
  auto emulator = GpuEmulator::create(StringRef(*text));
  ASSERT_TRUE(bool(emulator)) << llvm::toString(emulator.takeError());
  for (ThreadOrder order : {ThreadOrder::Ascending, ThreadOrder::Descending}) {
    std::vector<Memory> actual = before;
    std::vector<void *> addresses;
    for (size_t i = 0, e = 3 + size_t(desc.addend_count); i != e; ++i)
      addresses.push_back(actual[i].data());
    llvm::Error error = (*emulator)->run(addresses, order);
    ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
    EXPECT_EQ((*emulator)->getBankConflicts(), 0);
    forEachResult(desc, [&](size_t byte, size_t bytes) {
      EXPECT_EQ(memcmp(reinterpret_cast<char *>(actual[2].data()) + byte,
                       reinterpret_cast<char *>(expected[2].data()) + byte,
                       bytes),
                0)
          << "byte " << byte;
    });
  }
}

TEST_F(GemmRoutinesTest, ReadsFactorsWithGaps) {
  for (int32_t dtype : {RG_F32, RG_BF16, RG_F16}) {
    rg_gemm_desc desc = makeDesc(37, 70, 21, dtype);
    desc.a = {0, dtype, 3, {50, 2}, {}};
    expectEqual(desc);
    desc = makeDesc(64, 64, 32, dtype);
    desc.b = {1, dtype, 0, {2, 130}, {}};
    expectEqual(desc);
  }
}

TEST_F(GemmRoutinesTest, WritesResultsWithGaps) {
  rg_gemm_desc desc = makeDesc(9, 70, 5);
  desc.c = {2, RG_F32, 1, {150, 2}, {}};
  expectEqual(desc);
}

TEST_F(GemmRoutinesTest, AddsWhatHasAnotherType) {
  rg_gemm_desc desc = makeDesc(20, 30, 40, RG_BF16);
  desc.alpha = 0.5f;
  desc.relu = 1;
  desc.addends[0] = {3, RG_F32, 7, {0, 1}, {}};
  desc.addends[1] = {4, RG_BF16, 0, {1, 20}, {}};
  desc.addend_count = 2;
  expectEqual(desc);
}

TEST_F(GemmRoutinesTest, AddsTwoTensors) {
  rg_gemm_desc desc = makeDesc(20, 30, 40);
  desc.addends[0] = desc.c;
  desc.addends[0].buffer = 3;
  desc.addends[1] = {4, RG_F32, 0, {1, 0}, {}};
  desc.addend_count = 2;
  expectEqual(desc);
}

TEST_F(GemmRoutinesTest, NarrowsResultsOfF32) {
  for (int32_t dtype : {RG_BF16, RG_F16}) {
    rg_gemm_desc desc = makeDesc(5, 6, 7);
    desc.c.dtype = dtype;
    expectEqual(desc);
  }
}

bool GemmRoutinesTest::usesTensorCores(const rg_gemm_desc &desc) {
  auto text = printGemmKernel(UnknownLoc::get(&context), desc, "product");
  return succeeded(text) && StringRef(*text).contains("nvvm.mma.sync");
}

/// A product of 16-bit floats that no library computes: it adds two tensors.
rg_gemm_desc makeHalfDesc(int64_t m, int64_t n, int64_t k,
                          int32_t dtype = RG_BF16) {
  rg_gemm_desc desc = makeDesc(m, n, k, dtype);
  desc.addends[0] = {3, RG_F32, 7, {0, 1}, {}};
  desc.addends[1] = {4, dtype, 0, {n, 1}, {}};
  desc.addend_count = 2;
  return desc;
}

// Factors that lie along rows and along columns, with sizes that are and are no
// multiples of tiles and blocks.
TEST_F(GemmRoutinesTest, MultipliesFragments) {
  for (bool isLeftTransposed : {false, true})
    for (bool isRightTransposed : {false, true})
      for (int64_t size : {64, 72}) {
        int32_t dtype = size == 64 ? RG_BF16 : RG_F16;
        rg_gemm_desc desc = makeHalfDesc(size, 2 * size, size + 40, dtype);
        if (isLeftTransposed)
          desc.a = {0, dtype, 8, {1, size}, {}};
        if (isRightTransposed)
          desc.b = {1, dtype, 16, {1, desc.k + 8}, {}};
        EXPECT_TRUE(usesTensorCores(desc));
        ASSERT_NO_FATAL_FAILURE(expectEqual(desc));
      }
}

// Tiles of 128 rows and columns.
TEST_F(GemmRoutinesTest, MultipliesManyFragments) {
  rg_gemm_desc desc = makeHalfDesc(72, 8136, 40);
  words = size_t(1) << 17;
  EXPECT_TRUE(usesTensorCores(desc));
  expectEqual(desc);
}

TEST_F(GemmRoutinesTest, MultipliesBatchesOfFragments) {
  rg_gemm_desc desc = makeHalfDesc(16, 24, 8);
  desc.alpha = 0.5f;
  desc.relu = 1;
  desc.batch_rank = 2;
  desc.batch_sizes[0] = 2;
  desc.batch_sizes[1] = 3;
  desc.a.batch_strides[0] = 128;
  desc.b.batch_strides[1] = 192;
  desc.c.batch_strides[0] = 3 * 384;
  desc.c.batch_strides[1] = 384;
  EXPECT_TRUE(usesTensorCores(desc));
  expectEqual(desc);
}

/// Layouts of the factors of a product, of which only those of `desc` itself
/// can be copied in pieces of 16 bytes.
std::vector<rg_gemm_desc> getLayouts(const rg_gemm_desc &desc) {
  std::vector<rg_gemm_desc> layouts(6, desc);
  layouts[1].a.offset = 3;
  layouts[2].b.strides[0] = desc.n + 1;
  layouts[3].a = {0, desc.a.dtype, 1, {1, desc.m + 1}, {}};
  layouts[4].b = {1, desc.b.dtype, 0, {2, 2 * desc.k + 2}, {}};
  layouts[5].a = {0, desc.a.dtype, 0, {3 * desc.k, 3}, {}};
  return layouts;
}

// Of a factor whose rows are not aligned, threads copy elements.
TEST_F(GemmRoutinesTest, MultipliesFragmentsOfAnyRows) {
  for (const rg_gemm_desc &desc : getLayouts(makeHalfDesc(24, 80, 40))) {
    EXPECT_TRUE(usesTensorCores(desc));
    ASSERT_NO_FATAL_FAILURE(expectEqual(desc));
  }
  rg_gemm_desc odd = makeHalfDesc(17, 65, 35);
  EXPECT_TRUE(usesTensorCores(odd));
  expectEqual(odd);
  EXPECT_FALSE(usesTensorCores(makeDesc(16, 16, 16)));
}

/// Any numbers, at the places of a factor of m x k.
void fill(Memory &memory, const rg_gemm_operand &operand, int64_t m, int64_t k,
          uint32_t seed) {
  std::mt19937 random(seed);
  for (int64_t row = 0; row < m; ++row)
    for (int64_t step = 0; step < k; ++step) {
      float value = static_cast<float>(random() % 2001) / 1000 - 1;
      auto place =
          static_cast<size_t>(operand.offset + row * operand.strides[0] +
                              step * operand.strides[1]);
      void *data = memory.data();
      if (operand.dtype == RG_F32)
        static_cast<float *>(data)[place] = value;
      else
        static_cast<uint16_t *>(data)[place] = runtime::toBF16(value);
    }
}

std::vector<float> GemmRoutinesTest::multiply(const rg_gemm_desc &desc,
                                              const rg_gemm_desc &drawn) {
  auto text = printGemmKernel(UnknownLoc::get(&context), desc, "product");
  EXPECT_TRUE(succeeded(text));
  auto emulator = GpuEmulator::create(StringRef(*text));
  EXPECT_TRUE(bool(emulator));
  std::vector<Memory> memory(3, Memory(words));
  fill(memory[0], drawn.a, drawn.m, drawn.k, 1);
  fill(memory[1], drawn.b, drawn.k, drawn.n, 2);
  std::vector<void *> addresses;
  for (Memory &buffer : memory)
    addresses.push_back(buffer.data());
  llvm::Error error = (*emulator)->run(addresses, ThreadOrder::Ascending);
  EXPECT_FALSE(bool(error)) << llvm::toString(std::move(error));
  std::vector<float> result;
  forEachResult(desc, [&](size_t byte, size_t) {
    result.push_back(
        reinterpret_cast<const float *>(memory[2].data())[byte / 4]);
  });
  return result;
}

/// A product of bf16 as f32.
rg_gemm_desc makeWideDesc(int64_t m, int64_t n, int64_t k) {
  rg_gemm_desc desc = makeDesc(m, n, k, RG_BF16);
  desc.c.dtype = RG_F32;
  return desc;
}

// Where rows lie does not decide about their sums.
TEST_F(GemmRoutinesTest, SumsInOneOrderWhateverTheLayout) {
  std::vector<rg_gemm_desc> layouts = getLayouts(makeWideDesc(24, 80, 40));
  std::vector<float> expected = multiply(layouts.front(), layouts.front());
  for (const rg_gemm_desc &desc : layouts)
    EXPECT_EQ(multiply(desc, desc), expected);
  // Nor how many there are.
  rg_gemm_desc few = makeWideDesc(3, 80, 40);
  expected.resize(3 * 80);
  EXPECT_EQ(multiply(few, few), expected);
}

// That over three segments is the first one plus the sum of the others.
TEST_F(GemmRoutinesTest, AddsSegmentsAsATree) {
  for (bool isWide : {true, false})
    for (int64_t depth : {8, 13, 40}) {
      constexpr int64_t count = 3;
      rg_gemm_desc desc = isWide ? makeDesc(37, 70, count * depth)
                                 : makeWideDesc(37, 70, count * depth);
      std::vector<std::vector<float>> sums;
      for (int64_t i = 0; i < count; ++i) {
        rg_gemm_desc segment = desc;
        segment.k = depth;
        segment.a.offset = i * depth;
        segment.b.offset = i * depth * desc.b.strides[0];
        sums.push_back(multiply(segment, desc));
        if (!isWide)
          for (float &sum : sums.back())
            sum = runtime::fromBF16(runtime::toBF16(sum));
      }
      std::vector<float> expected;
      for (size_t i = 0; i < sums[0].size(); ++i)
        expected.push_back(sums[0][i] + (sums[1][i] + sums[2][i]));
      desc.segments = count;
      desc.segment_dtype = isWide ? RG_F32 : RG_BF16;
      EXPECT_EQ(multiply(desc, desc), expected) << isWide << ' ' << depth;
    }
}

TEST_F(GemmRoutinesTest, AddsSoManySegments) {
  rg_gemm_desc desc = makeDesc(4, 4, 130);
  desc.segments = 65;
  EXPECT_TRUE(
      failed(printGemmKernel(UnknownLoc::get(&context), desc, "product")));
}

TEST_F(GemmRoutinesTest, ComputesBatches) {
  rg_gemm_desc desc = makeDesc(5, 6, 7);
  desc.a.strides[0] = 14;
  desc.a.strides[1] = 2;
  desc.batch_rank = 2;
  desc.batch_sizes[0] = 2;
  desc.batch_sizes[1] = 3;
  const int64_t left[] = {3 * 70, 70}, right[] = {0, 42}, result[] = {90, 30};
  std::copy(left, left + 2, desc.a.batch_strides);
  std::copy(right, right + 2, desc.b.batch_strides);
  std::copy(result, result + 2, desc.c.batch_strides);
  expectEqual(desc);
}

TEST_F(GemmRoutinesTest, ClearsTheResultOfAnEmptySum) {
  expectEqual(makeDesc(5, 6, 0));
}

// Only products that cuBLASLt does not compute get code; all do in an elastic
// step.
TEST_F(GemmRoutinesTest, CompilesWhatIsLeft) {
  rg_gemm_desc strided = makeDesc(64, 64, 64);
  strided.a.strides[0] = 256;
  strided.a.strides[1] = 2;
  const rg_gemm_desc descs[] = {makeDesc(64, 64, 64), strided,
                                makeHalfDesc(4096, 4096, 4096)};
  for (const GpuArchitecture &architecture : getGpuArchitectures()) {
    KernelCompileOptions options;
    options.architecture = &architecture;
    kernel::KernelStatistics statistics;
    auto codes =
        compileGemms(UnknownLoc::get(&context), descs, options, statistics);
    ASSERT_TRUE(succeeded(codes));
    EXPECT_FALSE((*codes)[0]);
    ASSERT_TRUE((*codes)[1]);
    EXPECT_NE((*codes)[1]->ptx.find("ld.shared.v4"), std::string::npos);
    EXPECT_EQ((*codes)[1]->ptx.find(".local"), std::string::npos);
    ASSERT_TRUE((*codes)[2]);
    for (StringRef opcode : {"mma.sync.aligned.m16n8k16", "ldmatrix.sync",
                             "cp.async.cg.shared.global"})
      EXPECT_TRUE(StringRef((*codes)[2]->ptx).contains(opcode)) << opcode.str();
    EXPECT_EQ((*codes)[2]->ptx.find(".local"), std::string::npos);
    options.elastic = true;
    auto all = compileGemms(UnknownLoc::get(&context),
                            ArrayRef(descs).take_front(), options, statistics);
    EXPECT_TRUE(succeeded(all) && all->front());
  }
}

} // namespace
