//===- AlgorithmChooser.cpp - Choose how GEMMs are computed ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AlgorithmChooser.h"

#include <cmath>

using namespace regather::runtime;
using regather::Failure;
using regather::Result;

/// Proposals that are timed or tried.
static constexpr int kMaxProposals = 8;

/// How much longer an earlier proposal may take and still be preferred: times
/// differ by as much from run to run.
static constexpr double kTolerance = 1.02;

/// The library has an algorithm.
static constexpr std::nullopt_t kMade = std::nullopt;

Failure AlgorithmChooser::openTimer() {
  if (timer)
    return Failure();
  timer = std::make_unique<GemmTimer>(driver);
  return timer->create(timingBytes);
}

static std::optional<std::string> describeFailure(const CublasLtGemm &gemm) {
  return "cuBLASLt runs none of the algorithms that it proposes for " +
         gemm.getKey();
}

AlgorithmChooser::Choice
AlgorithmChooser::tryOut(CublasLtGemm &gemm,
                         const std::vector<LtProposal> &proposals,
                         RecordedAlgorithm &chosen) {
  if (Failure failure = openTimer())
    return failure;
  for (size_t i = 0; i < proposals.size(); ++i) {
    auto work = [&](CuStream stream) {
      return gemm.runForTiming(proposals[i], timer->getMemory(), stream);
    };
    Result<bool> isDone = timer->runOnce(work);
    if (!isDone)
      return isDone.getFailure();
    if (!*isDone)
      continue;
    chosen.proposal = static_cast<int64_t>(i);
    tried.insert(gemm.getKey());
    return Choice(kMade);
  }
  return describeFailure(gemm);
}

AlgorithmChooser::Choice
AlgorithmChooser::time(CublasLtGemm &gemm,
                       const std::vector<LtProposal> &proposals,
                       RecordedAlgorithm &chosen) {
  if (Failure failure = openTimer())
    return failure;
  std::optional<double> best;
  for (size_t i = 0; i < proposals.size(); ++i) {
    auto work = [&](CuStream stream) {
      return gemm.runForTiming(proposals[i], timer->getMemory(), stream);
    };
    Result<double> microseconds = timer->measure(work);
    if (!microseconds)
      return microseconds.getFailure();
    chosen.microseconds.push_back(*microseconds);
    if (std::isnan(*microseconds) ||
        (best && *microseconds * kTolerance >= *best))
      continue;
    best = *microseconds;
    chosen.proposal = static_cast<int64_t>(i);
  }
  if (best)
    return Choice(kMade);
  return describeFailure(gemm);
}

AlgorithmChooser::Choice AlgorithmChooser::choose(CublasLtGemm &gemm) {
  const bool isTimed = mode == Mode::Timed;
  const RecordedAlgorithm *known = file.find(gemm.getKey());
  // What was timed has run.
  const bool isTried = mode != Mode::Given && gemm.isLarge() && !isTimed &&
                       !(known && known->isTimed()) &&
                       tried.count(gemm.getKey()) == 0;
  RecordedAlgorithm chosen;
  LtProposal proposal;
  if (known && (known->isTimed() || !isTimed) &&
      gemm.accepts(known->algorithm, proposal)) {
    Choice choice = isTried ? tryOut(gemm, {proposal}, chosen) : Choice(kMade);
    if (choice && !*choice)
      gemm.use(proposal);
    if (!choice || !*choice)
      return choice;
  }
  Result<std::vector<LtProposal>> proposals =
      gemm.propose(isTimed || isTried ? kMaxProposals : 1);
  if (!proposals)
    return std::optional<std::string>(proposals.getMessage());
  Choice choice = isTimed   ? time(gemm, *proposals, chosen)
                  : isTried ? tryOut(gemm, *proposals, chosen)
                            : Choice(kMade);
  if (!choice || *choice)
    return choice;
  proposal = (*proposals)[static_cast<size_t>(chosen.proposal)];
  gemm.use(proposal);
  chosen.algorithm = proposal.algorithm;
  file.set(gemm.getKey(), std::move(chosen));
  return Choice(kMade);
}
