//===- ReductionKernel.cpp - Reductions in rank order on GPUs -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReductionKernel.h"

using namespace regather::runtime;

namespace {

/// The type in which a kernel computes, as PTX names it.
struct Accumulator {
  const char *name;       ///< as rg_dtype_name does
  const char *suffix;     ///< of arithmetic
  const char *bits;       ///< of logic and selection
  const char *notANumber; ///< the one NaN that results have
};

constexpr Accumulator kF32 = {"f32", "f32", "f32", "0f7FC00000"};
constexpr Accumulator kF64 = {"f64", "f64", "f64", "0d7FF8000000000000"};
constexpr Accumulator kS32 = {"i32", "s32", "b32", nullptr};
constexpr Accumulator kS64 = {"i64", "s64", "b64", nullptr};

/// How an element is read and written. The text computes %acc or %next from
/// memory at %address, with $ for the register; `store` writes %acc.
struct Element {
  rg_dtype dtype;
  const Accumulator &accumulator;
  const char *load;
  const char *store;
};

// A conversion of a NaN gives another NaN than on the host, so it is selected
// by itself; %nan says that %acc is one.
constexpr Element kElements[] = {
    {RG_F32, kF32, "  ld.global.f32 $, [%address];\n",
     "  st.global.f32 [%address], %acc;\n"},
    {RG_F32, kF64,
     "  ld.global.f32 %single, [%address];\n"
     "  cvt.f64.f32 $, %single;\n",
     "  cvt.rn.f32.f64 %single, %acc;\n"
     "  selp.f32 %single, 0f7FC00000, %single, %nan;\n"
     "  st.global.f32 [%address], %single;\n"},
    {RG_F64, kF64, "  ld.global.f64 $, [%address];\n",
     "  st.global.f64 [%address], %acc;\n"},
    {RG_BF16, kF32,
     "  ld.global.u16 %word, [%address];\n"
     "  shl.b32 %word, %word, 16;\n"
     "  mov.b32 $, %word;\n",
     "  cvt.rn.bf16.f32 %half, %acc;\n"
     "  selp.b16 %half, 0x7FC0, %half, %nan;\n"
     "  st.global.b16 [%address], %half;\n"},
    // Rounding to odd first makes the second rounding the only one that counts.
    {RG_BF16, kF64,
     "  ld.global.u16 %word, [%address];\n"
     "  shl.b32 %word, %word, 16;\n"
     "  mov.b32 %single, %word;\n"
     "  cvt.f64.f32 $, %single;\n",
     "  cvt.rz.f32.f64 %single, %acc;\n"
     "  cvt.f64.f32 %next, %single;\n"
     "  mov.b32 %word, %single;\n"
     "  or.b32 %odd, %word, 1;\n"
     "  setp.ne.f64 %inexact, %next, %acc;\n"
     "  selp.b32 %word, %odd, %word, %inexact;\n"
     "  mov.b32 %single, %word;\n"
     "  cvt.rn.bf16.f32 %half, %single;\n"
     "  selp.b16 %half, 0x7FC0, %half, %nan;\n"
     "  st.global.b16 [%address], %half;\n"},
    {RG_F16, kF32,
     "  ld.global.b16 %half, [%address];\n"
     "  cvt.f32.f16 $, %half;\n",
     "  cvt.rn.f16.f32 %half, %acc;\n"
     "  selp.b16 %half, 0x7E00, %half, %nan;\n"
     "  st.global.b16 [%address], %half;\n"},
    {RG_F16, kF64,
     "  ld.global.b16 %half, [%address];\n"
     "  cvt.f64.f16 $, %half;\n",
     "  cvt.rn.f16.f64 %half, %acc;\n"
     "  selp.b16 %half, 0x7E00, %half, %nan;\n"
     "  st.global.b16 [%address], %half;\n"},
    {RG_I1, kS32, "  ld.global.u8 $, [%address];\n",
     "  st.global.u8 [%address], %acc;\n"},
    {RG_I8, kS32, "  ld.global.s8 $, [%address];\n",
     "  st.global.u8 [%address], %acc;\n"},
    {RG_I16, kS32, "  ld.global.s16 $, [%address];\n",
     "  st.global.u16 [%address], %acc;\n"},
    {RG_I32, kS32, "  ld.global.s32 $, [%address];\n",
     "  st.global.s32 [%address], %acc;\n"},
    {RG_I64, kS64, "  ld.global.s64 $, [%address];\n",
     "  st.global.s64 [%address], %acc;\n"},
};

const char *getReductionName(rg_reduction reduction) {
  return reduction == RG_SUM ? "sum" : reduction == RG_AVG ? "avg" : "max";
}

std::string getName(rg_reduction reduction, const Element &element) {
  return std::string("regather_reduce_") + getReductionName(reduction) + "_" +
         rg_dtype_name(element.dtype) + "_" + element.accumulator.name;
}

/// Replaces each $ by a register.
std::string load(const Element &element, const char *into) {
  std::string text;
  for (const char *c = element.load; *c; ++c)
    if (*c == '$')
      text += into;
    else
      text += *c;
  return text;
}

/// Combines %acc with %next.
std::string combine(rg_reduction reduction, const Element &element) {
  const Accumulator &type = element.accumulator;
  if (element.dtype == RG_I1)
    return reduction == RG_MAX ? "  or.b32 %acc, %acc, %next;\n"
                               : "  xor.b32 %acc, %acc, %next;\n";
  std::string suffix = std::string(".") + type.suffix;
  std::string operands = " %acc, %acc, %next;\n";
  if (!type.notANumber)
    return (reduction == RG_MAX ? "  max" : "  add") + suffix + operands;
  if (reduction != RG_MAX)
    return "  add.rn" + suffix + operands;
  // A maximum with a NaN is the other operand in PTX, +0 is above -0 as here.
  return "  setp.nan" + suffix + " %nan, %acc, %next;\n  max" + suffix +
         operands + "  selp" + suffix + " %acc, " + type.notANumber +
         ", %acc, %nan;\n";
}

/// Divides a sum, and replaces every NaN by one.
std::string finish(rg_reduction reduction, const Accumulator &type) {
  if (!type.notANumber)
    return "";
  std::string suffix = std::string(".") + type.suffix;
  std::string text;
  if (reduction == RG_AVG)
    text += "  cvt.rn" + suffix + ".u64 %next, %ranks;\n  div.rn" + suffix +
            " %acc, %acc, %next;\n";
  return text + "  setp.nan" + suffix + " %nan, %acc, %acc;\n  selp" + suffix +
         " %acc, " + type.notANumber + ", %acc, %nan;\n";
}

std::string writeKernel(rg_reduction reduction, const Element &element) {
  const Accumulator &type = element.accumulator;
  std::string size = std::to_string(rg_dtype_size(element.dtype));
  std::string text;
  text += "\n.visible .entry " + getName(reduction, element) +
          "(\n"
          "  .param .u64 target_parameter, .param .u64 first_parameter,\n"
          "  .param .u64 stride_parameter, .param .u64 ranks_parameter,\n"
          "  .param .u64 count_parameter)\n"
          "{\n"
          "  .reg .pred %nan, %inexact, %done;\n"
          "  .reg .b16 %half;\n"
          "  .reg .b32 %word, %odd, %thread, %threads, %block, %blocks;\n"
          "  .reg .b64 %index, %step, %address, %source, %rank;\n"
          "  .reg .b64 %target, %first, %stride, %ranks, %count;\n"
          "  .reg .f32 %single;\n";
  text += std::string("  .reg .") + type.suffix + " %acc, %next;\n";
  text += "  ld.param.u64 %target, [target_parameter];\n"
          "  ld.param.u64 %first, [first_parameter];\n"
          "  ld.param.u64 %stride, [stride_parameter];\n"
          "  ld.param.u64 %ranks, [ranks_parameter];\n"
          "  ld.param.u64 %count, [count_parameter];\n"
          "  cvta.to.global.u64 %target, %target;\n"
          "  cvta.to.global.u64 %first, %first;\n"
          "  mov.u32 %thread, %tid.x;\n"
          "  mov.u32 %threads, %ntid.x;\n"
          "  mov.u32 %block, %ctaid.x;\n"
          "  mov.u32 %blocks, %nctaid.x;\n"
          "  mul.wide.u32 %step, %threads, %blocks;\n"
          "  mul.wide.u32 %index, %block, %threads;\n"
          "  cvt.u64.u32 %rank, %thread;\n"
          "  add.u64 %index, %index, %rank;\n"
          "elements:\n"
          "  setp.ge.u64 %done, %index, %count;\n"
          "  @%done bra end;\n"
          "  mad.lo.u64 %source, %index, " +
          size +
          ", %first;\n"
          "  mov.u64 %address, %source;\n";
  text += load(element, "%acc");
  text += "  mov.u64 %rank, 1;\n"
          "contributions:\n"
          "  setp.ge.u64 %done, %rank, %ranks;\n"
          "  @%done bra reduced;\n"
          "  add.u64 %address, %address, %stride;\n";
  text += load(element, "%next");
  text += combine(reduction, element);
  text += "  add.u64 %rank, %rank, 1;\n"
          "  bra contributions;\n"
          "reduced:\n";
  text += finish(reduction, type);
  text += "  mad.lo.u64 %address, %index, " + size + ", %target;\n";
  text += element.store;
  text += "  add.u64 %index, %index, %step;\n"
          "  bra elements;\n"
          "end:\n"
          "  ret;\n"
          "}\n";
  return text;
}

} // namespace

std::string
regather::runtime::getReductionKernelName(const ReductionType &type) {
  for (const Element &element : kElements) {
    bool isFloat = element.accumulator.notANumber != nullptr;
    bool isWide = &element.accumulator == &kF64;
    bool wantsWide = type.accumulate == RG_F64 || type.dtype == RG_F64;
    if (element.dtype == type.dtype && (!isFloat || isWide == wantsWide))
      return getName(type.reduction, element);
  }
  return "";
}

std::string regather::runtime::writeReductionKernels() {
  std::string text = ".version 7.0\n.target sm_80\n.address_size 64\n";
  for (const Element &element : kElements)
    for (rg_reduction reduction : {RG_SUM, RG_AVG, RG_MAX})
      if (reduction != RG_AVG || element.accumulator.notANumber)
        text += writeKernel(reduction, element);
  return text;
}
