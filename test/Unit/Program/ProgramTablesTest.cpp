//===- ProgramTablesTest.cpp - Tests of programs as tables ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Programs are run from the tables in memory and from the constant data that
// these become; both must do the same.
//
//===----------------------------------------------------------------------===//

#include "regather/Program/ProgramTables.h"

#include "regather/InitAll.h"
#include "regather/Runtime/Executor.h"

#include "mlir/Parser/Parser.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/TargetSelect.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace regather;

/// out = in + 1, for two numbers
static int32_t addOne(void *const *buffers, int64_t, int64_t, void *) {
  for (int i : {0, 1})
    static_cast<float *>(buffers[1])[i] =
        static_cast<const float *>(buffers[0])[i] + 1;
  return 0;
}

namespace {
class ProgramTablesTest : public ::testing::Test {
protected:
  ProgramTablesTest() {
    DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
  }

  void build(StringRef text) {
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    auto built =
        ProgramTables::build(*module->getOps<exec::ProgramOp>().begin());
    ASSERT_TRUE(succeeded(built));
    tables = std::move(*built);
    for (unsigned i = 0; i != tables->getKernels().size(); ++i)
      tables->setKernel(i, addOne, 1, 1, 0);
  }

  /// The tables as a compiled module holds them.
  const rg_program *load() {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    auto llvmContext = std::make_unique<llvm::LLVMContext>();
    auto data = std::make_unique<llvm::Module>("program", *llvmContext);
    std::vector<std::string> symbols(tables->getKernels().size(), "add_one");
    tables->emit(*data, symbols);
    jit = llvm::cantFail(llvm::orc::LLJITBuilder().create());
    llvm::cantFail(jit->getMainJITDylib().define(
        llvm::orc::absoluteSymbols({{jit->mangleAndIntern("add_one"),
                                     {llvm::orc::ExecutorAddr::fromPtr(&addOne),
                                      llvm::JITSymbolFlags::Exported}}})));
    data->setDataLayout(jit->getDataLayout());
    llvm::cantFail(jit->addIRModule(
        llvm::orc::ThreadSafeModule(std::move(data), std::move(llvmContext))));
    return llvm::cantFail(jit->lookup(RG_PROGRAM_SYMBOL))
        .toPtr<const rg_program *>();
  }

  /// Runs one step in which argument i of rank r begins with r + i, and returns
  /// the floats of each result of the last rank.
  static std::vector<std::vector<float>> run(const rg_program &program) {
    rg_executor *executor = nullptr;
    rg_executor_options options = {};
    EXPECT_EQ(rg_executor_create(&program, &options, &executor), RG_OK)
        << rg_executor_error(executor);
    int32_t ranks = rg_executor_ranks(executor);
    std::vector<std::vector<std::vector<float>>> values(ranks);
    std::vector<std::vector<void *>> lists(ranks);
    std::vector<void *const *> arguments;
    for (int32_t rank = 0; rank < ranks; ++rank) {
      for (int64_t i = 0; i < program.argument_count; ++i)
        values[rank].push_back(
            std::vector<float>(rg_value_bytes(&program.arguments[i]) / 4,
                               static_cast<float>(rank + i)));
      for (std::vector<float> &value : values[rank])
        lists[rank].push_back(value.data());
      arguments.push_back(lists[rank].data());
    }
    EXPECT_EQ(rg_executor_run(executor, arguments.data(), nullptr), RG_OK)
        << rg_executor_error(executor);
    std::vector<std::vector<float>> results;
    for (int64_t i = 0; i < program.result_count; ++i) {
      const auto *data = static_cast<const float *>(
          rg_executor_result(executor, ranks - 1, i));
      results.emplace_back(data,
                           data + rg_value_bytes(&program.results[i]) / 4);
    }
    rg_executor_destroy(executor);
    return results;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::unique_ptr<ProgramTables> tables;
  std::unique_ptr<llvm::orc::LLJIT> jit;
};
} // namespace

TEST_F(ProgramTablesTest, RunAsTheyAreAndAsData) {
  build(R"(
tg.mesh @mesh [dp = 2, tp = 2]
tg.kernel @kernel(%x: tensor<2xf32>) -> tensor<2xf32> {
  tg.return %x : tensor<2xf32>
}
exec.program @step(%w: memref<2xf32> {tg.donated, tg.name = "w"},
                   %x: memref<2xf32>)
    -> (memref<4xf32>, memref<2xf32>, memref<3xf32>)
    attributes {streams = 2, arena = 192, alignment = 64} {
  %dp = exec.communicator on @mesh [dp]
  %c = exec.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %a = exec.slice 0 : memref<2xf32>
  %all = exec.slice 64 : memref<4xf32>
  exec.launch @kernel(%x) to (%a) stream 0 : (memref<2xf32>) -> memref<2xf32>
  %ready = exec.record stream 0
  exec.wait %ready stream 1
  exec.collective all_gather dim 0 (%a) to (%all) over %dp stream 1
      : (memref<2xf32>) -> memref<4xf32>
  %gathered = exec.record stream 1
  exec.wait %gathered stream 0
  %part = exec.view %all[4] : memref<4xf32> to memref<2xf32>
  exec.copy %part to %w stream 0 : memref<2xf32>
  %rest = exec.view %w[4] : memref<2xf32> to memref<f32>
  exec.fill %rest with 8.0 : f32 stream 0 : memref<f32>
  exec.return %all, %w, %c : memref<4xf32>, memref<2xf32>, memref<3xf32>
}
)");
  const rg_program &program = tables->get();
  EXPECT_EQ(program.ranks, 4);
  EXPECT_STREQ(program.arguments[0].name, "w");
  // Rank 3 meets rank 1: their x begins with 4 and 2.
  std::vector<std::vector<float>> expected = {{3, 3, 5, 5}, {3, 8}, {1, 2, 3}};
  EXPECT_EQ(run(program), expected);
  const rg_program *data = load();
  EXPECT_EQ(run(*data), expected);
  for (int64_t i = 0; i < program.instruction_count; ++i)
    EXPECT_STREQ(data->instructions[i].description,
                 program.instructions[i].description);
}

TEST_F(ProgramTablesTest, KeepControlFlow) {
  build(R"(
tg.kernel @kernel(%x: tensor<2xf32>) -> tensor<2xf32> {
  tg.return %x : tensor<2xf32>
}
exec.program @step(%x: memref<2xf32>) -> (memref<2xf32>, memref<f32>)
    attributes {streams = 1, arena = 256} {
  %zero = exec.constant dense<0> : tensor<index>
  %two = exec.constant dense<2> : tensor<index>
  %five = exec.constant dense<5> : tensor<index>
  %no = exec.constant dense<false> : tensor<i1>
  %yes = exec.constant dense<true> : tensor<i1>
  %a = exec.slice 0 : memref<2xf32>
  %b = exec.slice 64 : memref<f32>
  %i = exec.slice 128 : memref<index>
  %j = exec.slice 192 : memref<index>
  exec.fill %a with 10.0 : f32 stream 0 : memref<2xf32>
  exec.fill %b with 1.0 : f32 stream 0 : memref<f32>
  exec.for %i = %zero to %five step %two : memref<index> {
    exec.for %j = %zero to %two step %two : memref<index> {
      exec.if %yes {
        exec.launch @kernel(%a) to (%a) stream 0
            : (memref<2xf32>) -> memref<2xf32>
      } else {
        exec.fill %a with 0.0 : f32 stream 0 : memref<2xf32>
      }
    }
  }
  exec.if %no {
    exec.fill %a with 0.0 : f32 stream 0 : memref<2xf32>
  } else {
    exec.fill %b with 2.0 : f32 stream 0 : memref<f32>
  }
  exec.if %no {
    exec.fill %b with 3.0 : f32 stream 0 : memref<f32>
  }
  exec.return %a, %b : memref<2xf32>, memref<f32>
}
)");
  std::vector<std::vector<float>> expected = {{13, 13}, {2}};
  EXPECT_EQ(run(tables->get()), expected);
  EXPECT_EQ(run(*load()), expected);
}

TEST_F(ProgramTablesTest, HoldConstantsOfAllTypes) {
  build(R"(
exec.program @step() -> (memref<9xi1>, memref<2xbf16>, memref<3xindex>,
                         memref<4xi8>, memref<0xf32>)
    attributes {streams = 1, arena = 0} {
  %bits = exec.constant dense<[true, false, true, false, false, false, false,
                               false, true]> : tensor<9xi1>
  %bf16 = exec.constant dense<[1.0, -2.0]> : tensor<2xbf16>
  %index = exec.constant dense<[1, -1, 7]> : tensor<3xindex>
  %splat = exec.constant dense<-3> : tensor<4xi8>
  %none = exec.constant dense<> : tensor<0xf32>
  exec.return %bits, %bf16, %index, %splat, %none : memref<9xi1>,
      memref<2xbf16>, memref<3xindex>, memref<4xi8>, memref<0xf32>
}
)");
  std::vector<std::string> expected = {
      std::string("\1\0\1\0\0\0\0\0\1", 9), std::string("\x80\x3f\0\xc0", 4),
      std::string("\1\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff"
                  "\7\0\0\0\0\0\0\0",
                  24),
      "\xfd\xfd\xfd\xfd", ""};
  for (const rg_program *program : {&tables->get(), load()})
    for (int64_t i = 0; i < program->result_count; ++i) {
      const rg_constant &constant =
          program->constants[program->results[i].slice.index];
      EXPECT_EQ(
          std::string(static_cast<const char *>(constant.data), constant.bytes),
          expected[i]);
    }
}

TEST_F(ProgramTablesTest, NeedAPlan) {
  auto parsed = parseSourceString<ModuleOp>(
      "exec.program @step() attributes {streams = 1} { exec.return }",
      &context);
  ScopedDiagnosticHandler handler(&context, [](Diagnostic &diagnostic) {
    EXPECT_EQ(diagnostic.str(),
              "the memory of program \"step\" is not planned");
    return success();
  });
  EXPECT_TRUE(
      failed(ProgramTables::build(*parsed->getOps<exec::ProgramOp>().begin())));
}

// A launch is a call of a library if its kernel says so, whatever the body is.
TEST_F(ProgramTablesTest, LibraryCallsAreEntriesOfTables) {
  build(R"(
tg.kernel @gemm(%x: tensor<3x4xbf16>, %y: tensor<2x4x5xbf16>, %b: tensor<5xf32>) -> tensor<2x3x5xbf16>
    attributes {library_call = #tg.gemm<
        m = 3, n = 5, k = 4, batch = [2], a = <0 strides[0, 4, 1]>, b = <1 strides[20, 5, 1]>,
        c = <3 strides[15, 5, 1]>, addends = [<2 strides[0, 0, 1]>], relu = true, alpha = 0.1 : f32>} {
  %z = tensor.empty() : tensor<2x3x5xbf16>
  tg.return %z : tensor<2x3x5xbf16>
}
tg.kernel @attention(%q: tensor<24xf32>, %m: tensor<2x2xi1>) -> tensor<1x2x2x4xf32>
    attributes {library_call = #tg.attention<
        batch = 1, heads = 2, groups = 2, rows = 2, columns = 2, width = 4, value_width = 4, scale = 0.5 : f32,
        q = <0 at 8 strides[16, 8, 4, 1]>, k = <0 strides[8, 8, 4, 1]>, v = <0 strides[8, 8, 4, 1]>,
        mask = <1 strides[0, 0, 2, 1]>, o = <2 strides[16, 8, 4, 1]>>} {
  %z = tensor.empty() : tensor<1x2x2x4xf32>
  tg.return %z : tensor<1x2x2x4xf32>
}
tg.kernel @generated(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %y = tg.node "aten.mm.default"(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  tg.return %y : tensor<4x4xf32>
}
exec.program @step(%x: memref<3x4xbf16>, %y: memref<2x4x5xbf16>, %b: memref<5xf32>, %q: memref<24xf32>,
                   %m: memref<2x2xi1>, %g: memref<4x4xf32>)
    attributes {streams = 1, arena = 256, alignment = 64} {
  %c = exec.slice 0 : memref<2x3x5xbf16>
  %o = exec.slice 64 : memref<1x2x2x4xf32>
  %r = exec.slice 128 : memref<4x4xf32>
  exec.launch @gemm(%x, %y, %b) to (%c) stream 0 : (memref<3x4xbf16>, memref<2x4x5xbf16>, memref<5xf32>) -> memref<2x3x5xbf16>
  exec.launch @attention(%q, %m) to (%o) stream 0 : (memref<24xf32>, memref<2x2xi1>) -> memref<1x2x2x4xf32>
  exec.launch @generated(%g) to (%r) stream 0 : (memref<4x4xf32>) -> memref<4x4xf32>
  exec.launch @gemm(%x, %y, %b) to (%c) stream 0 : (memref<3x4xbf16>, memref<2x4x5xbf16>, memref<5xf32>) -> memref<2x3x5xbf16>
  exec.return
})");
  const rg_program &program = tables->get();
  ASSERT_EQ(program.instruction_count, 4);
  std::vector<rg_opcode> opcodes = {RG_OP_GEMM, RG_OP_ATTENTION, RG_OP_LAUNCH,
                                    RG_OP_GEMM};
  for (size_t i = 0; i < opcodes.size(); ++i) {
    EXPECT_EQ(program.instructions[i].opcode, opcodes[i]);
    EXPECT_EQ(program.instructions[i].index, 0);
  }
  ASSERT_EQ(program.gemm_count, 1);
  const rg_gemm_desc &gemm = program.gemms[0];
  EXPECT_EQ(gemm.m, 3);
  EXPECT_EQ(gemm.n, 5);
  EXPECT_EQ(gemm.k, 4);
  EXPECT_EQ(gemm.batch_rank, 1);
  EXPECT_EQ(gemm.batch_sizes[0], 2);
  EXPECT_EQ(gemm.a.batch_strides[0], 0);
  EXPECT_EQ(gemm.b.dtype, RG_BF16);
  EXPECT_EQ(gemm.b.buffer, 1);
  EXPECT_EQ(gemm.b.strides[0], 5);
  EXPECT_EQ(gemm.b.strides[1], 1);
  EXPECT_EQ(gemm.b.batch_strides[0], 20);
  EXPECT_EQ(gemm.c.buffer, 3);
  EXPECT_EQ(gemm.c.dtype, RG_BF16);
  ASSERT_EQ(gemm.addend_count, 1);
  EXPECT_EQ(gemm.addends[0].dtype, RG_F32);
  EXPECT_EQ(gemm.addends[0].strides[1], 1);
  EXPECT_EQ(gemm.addends[1].strides[1], 0);
  EXPECT_EQ(gemm.relu, 1);
  EXPECT_EQ(gemm.alpha, 0.1F);
  ASSERT_EQ(program.attention_count, 1);
  const rg_attention_desc &attention = program.attentions[0];
  EXPECT_EQ(attention.groups, 2);
  EXPECT_EQ(attention.value_width, 4);
  EXPECT_EQ(attention.scale, 0.5F);
  EXPECT_EQ(attention.causal, 0);
  EXPECT_EQ(attention.masked, 1);
  EXPECT_EQ(attention.backward, 0);
  EXPECT_EQ(attention.q.offset, 8);
  EXPECT_EQ(attention.q.strides[1], 8);
  EXPECT_EQ(attention.mask.dtype, RG_I1);
  EXPECT_EQ(attention.o.buffer, 2);
  EXPECT_EQ(attention.l.buffer, -1);
  EXPECT_EQ(attention.grad_o.buffer, 0);
}
