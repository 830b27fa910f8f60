//===- AttentionPlan.cpp - Attention as cuDNN computes it -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionPlan.h"

#include "CudnnApi.h"

#include <algorithm>
#include <array>
#include <utility>

using namespace regather::runtime;

namespace {
struct NamedOperand {
  const char *name;
  const rg_attention_operand *operand;
};
} // namespace

/// All of the type of Q.
static std::vector<NamedOperand> getMatrices(const rg_attention_desc &desc) {
  std::vector<NamedOperand> operands = {
      {"Q", &desc.q}, {"K", &desc.k}, {"V", &desc.v}, {"O", &desc.o}};
  if (desc.backward)
    for (NamedOperand operand :
         {NamedOperand{"the gradient of O", &desc.grad_o},
          {"the gradient of Q", &desc.grad_q},
          {"the gradient of K", &desc.grad_k},
          {"the gradient of V", &desc.grad_v}})
      operands.push_back(operand);
  return operands;
}

/// Kernels of the library load 16 bytes at a time.
static constexpr int64_t kLoadBytes = 16;
static constexpr int64_t kLoadElements = 8;

static bool isAligned(const rg_attention_operand &operand,
                      const CudnnAttentionSite &site) {
  auto buffer = static_cast<size_t>(operand.buffer);
  return operand.offset % kLoadElements == 0 &&
         (buffer >= site.alignments.size() ||
          site.alignments[buffer] % kLoadBytes == 0);
}

/// Why a matrix does not lie as the library needs it; empty if it does.
static std::string findObstacle(const NamedOperand &named, int32_t type,
                                const CudnnAttentionSite &site) {
  const rg_attention_operand &operand = *named.operand;
  const int64_t *strides = operand.strides;
  std::string name = named.name;
  if (operand.dtype != type)
    return name + " has another type than Q";
  if (strides[3] != 1)
    return name + " has elements that do not follow each other";
  for (int i = 0; i < 3; ++i) {
    if (strides[i] <= 0)
      return name + " repeats elements";
    if (strides[i] % kLoadElements != 0)
      return name + " has a stride that is no multiple of 16 bytes";
  }
  if (!isAligned(operand, site))
    return name + " is not aligned to 16 bytes";
  return "";
}

/// L has to be dense: the library takes its strides, but not every engine heeds
/// them.
static bool isDense(const rg_attention_operand &logs,
                    const rg_attention_desc &desc) {
  return logs.strides[0] == desc.heads * desc.rows &&
         logs.strides[1] == desc.rows && logs.strides[2] == 1;
}

static int64_t getMaxWidth(const rg_attention_desc &desc,
                           const CudnnAttentionSite &site) {
  constexpr int64_t kMaxWidth = 128, kMaxWidthHopper = 256;
  return site.architecture == 90 && desc.width == desc.value_width
             ? kMaxWidthHopper
             : kMaxWidth;
}

static std::string findObstacle(const rg_attention_desc &desc,
                                const CudnnAttentionSite &site) {
  constexpr int kFirst = 80, kLast = 103;
  if (site.architecture < kFirst || site.architecture > kLast)
    return "only devices from sm_80 to sm_103 are known";
  if (desc.masked)
    return "it has a mask";
  if (desc.softcap != 0)
    return "its scores have a bound";
  if (std::min({desc.batch, desc.heads, desc.rows, desc.columns, desc.width,
                desc.value_width}) == 0)
    return "it is empty";
  for (int64_t width : {desc.width, desc.value_width}) {
    if (width % kLoadElements != 0)
      return "heads are " + std::to_string(width) +
             " elements wide, no multiple of 8";
    if (width > getMaxWidth(desc, site))
      return "heads are " + std::to_string(width) +
             " elements wide, more than " +
             std::to_string(getMaxWidth(desc, site));
  }
  if (desc.q.dtype != RG_BF16 && desc.q.dtype != RG_F16)
    return "Q is neither bf16 nor f16";
  for (const NamedOperand &operand : getMatrices(desc)) {
    std::string obstacle = findObstacle(operand, desc.q.dtype, site);
    if (!obstacle.empty())
      return obstacle;
  }
  bool hasLogs = desc.backward || desc.l.buffer >= 0;
  if (hasLogs && !isDense(desc.l, desc))
    return "L is not dense";
  constexpr int64_t kLogElements = kLoadBytes / 4;
  if (hasLogs && (desc.l.offset % kLogElements != 0 ||
                  (size_t(desc.l.buffer) < site.alignments.size() &&
                   site.alignments[size_t(desc.l.buffer)] % kLoadBytes != 0)))
    return "L is not aligned to 16 bytes";
  return "";
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

/// Of the workspace for gradients of scores, which is as large as the GEMM's
/// result of both lengths: above the first, other ways are taken where there
/// are some; above the second, it is not taken.
static constexpr int64_t kMuchScoreBytes = int64_t(256) << 20;
static constexpr int64_t kMaxScoreBytes = int64_t(1) << 30;

static int64_t getScoreBytes(const rg_attention_desc &desc) {
  constexpr int64_t kRows = 64, kColumns = 128, kBytes = 2;
  auto round = [](int64_t size, int64_t tile) {
    return (size + tile - 1) / tile * tile;
  };
  return desc.batch * desc.heads * round(desc.rows, kRows) *
         round(desc.columns, kColumns) * kBytes;
}

/// Which engines sum in one order is said by the library's frontend, by number.
static void planBackward(const rg_attention_desc &desc,
                         const CudnnAttentionSite &site,
                         CudnnAttentionPlan &plan) {
  constexpr size_t kWholeTiles = 91501, kBlackwellOrdered = 91800,
                   kBlackwellKnobs = 92300, kHopperOrdered = 92500;
  constexpr int kHopper = 90, kBlackwell = 100;
  constexpr int64_t kTile = 128;
  if (desc.columns % kTile != 0 && site.version < kWholeTiles) {
    plan.reason = "the number of columns is no multiple of 128, for which "
                  "cuDNN 9.15.1 is needed";
    return;
  }
  if (site.architecture >= kBlackwell) {
    constexpr int64_t kEngine = 5, kOldKernel = 31;
    if (site.version < kBlackwellOrdered)
      plan.reason = "the same bits in every run need cuDNN 9.18.0 on this "
                    "device";
    else if (site.version < kBlackwellKnobs)
      plan.engine = {kEngine,
                     {{kDnnKnobKernel, kOldKernel}, {kDnnKnobStages, 2}}};
    else
      plan.engine = {kEngine,
                     {{kDnnKnobTileM, 3},
                      {kDnnKnobTileN, 2},
                      {kDnnKnobKernel, 2},
                      {kDnnKnobStreamK, 0},
                      {kDnnKnobClusterM, 0},
                      {kDnnKnobStages, 2}}};
    return;
  }
  int64_t bytes = getScoreBytes(desc);
  if (bytes > kMuchScoreBytes && site.architecture == kHopper &&
      site.version >= kHopperOrdered) {
    constexpr int64_t kEngine = 6;
    plan.gradient = QueryGradient::Ordered;
    plan.engine = {kEngine,
                   {{kDnnKnobTileM, 2},
                    {kDnnKnobTileN, 1},
                    {kDnnKnobKernel, 2},
                    {kDnnKnobStreamK, 0},
                    {kDnnKnobClusterM, 0},
                    {kDnnKnobStages, 4}}};
  } else if (bytes > kMaxScoreBytes) {
    plan.reason = "the same bits in every run need a workspace of " +
                  std::to_string(bytes) + " bytes";
  }
}

template <size_t N>
static void setUnitStrides(rg_attention_operand &operand,
                           const std::array<int64_t, N> &sizes) {
  int64_t rowMajor = 1;
  for (size_t i = N; i-- > 0; rowMajor *= sizes[i])
    if (sizes[i] == 1)
      operand.strides[i] = rowMajor;
}

rg_attention_desc
regather::runtime::setUnitStrides(const rg_attention_desc &given) {
  rg_attention_desc desc = given;
  int64_t keyHeads = desc.heads / std::max<int64_t>(desc.groups, 1);
  std::array<int64_t, 4> q = {desc.batch, desc.heads, desc.rows, desc.width},
                         k = {desc.batch, keyHeads, desc.columns, desc.width},
                         v = {desc.batch, keyHeads, desc.columns,
                              desc.value_width},
                         o = {desc.batch, desc.heads, desc.rows,
                              desc.value_width};
  ::setUnitStrides(desc.q, q);
  ::setUnitStrides(desc.k, k);
  ::setUnitStrides(desc.v, v);
  ::setUnitStrides(desc.o, o);
  ::setUnitStrides<3>(desc.l, {desc.batch, desc.heads, desc.rows});
  ::setUnitStrides(desc.grad_o, o);
  ::setUnitStrides(desc.grad_q, q);
  ::setUnitStrides(desc.grad_k, k);
  ::setUnitStrides(desc.grad_v, v);
  return desc;
}

CudnnAttentionPlan
regather::runtime::planCudnnAttention(const rg_attention_desc &desc,
                                      const CudnnAttentionSite &site) {
  CudnnAttentionPlan plan;
  plan.reason = findObstacle(desc, site);
  if (plan.reason.empty() && desc.backward)
    planBackward(desc, site, plan);
  return plan;
}

std::string
regather::runtime::describeAttention(const rg_attention_desc &desc) {
  std::string text = desc.backward ? "backward" : "forward";
  text += desc.q.dtype == RG_F16 ? " f16" : " bf16";
  for (auto [name, number] : {std::pair("batch", desc.batch),
                              {"heads", desc.heads},
                              {"groups", desc.groups},
                              {"rows", desc.rows},
                              {"columns", desc.columns},
                              {"width", desc.width},
                              {"values", desc.value_width},
                              {"causal", int64_t(desc.causal != 0)},
                              {"logs", int64_t(desc.l.buffer >= 0)}})
    text += std::string(" ") + name + "=" + std::to_string(number);
  for (const NamedOperand &named : getMatrices(desc)) {
    text += text.back() == ']' ? "," : " strides=";
    const char *separator = "[";
    for (int i = 0; i < 3; ++i) {
      text += separator + std::to_string(named.operand->strides[i]);
      separator = ",";
    }
    text += "]";
  }
  return text;
}
