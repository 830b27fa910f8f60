//===- AlgorithmChooser.cpp - Choose how GEMMs are computed ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AlgorithmChooser.h"

#include <cmath>
#include <optional>

using namespace regather::runtime;

/// Proposals that are timed or tried.
static constexpr int kMaxProposals = 8;

/// How much longer an earlier proposal may take and still be preferred: times
/// differ by as much from run to run.
static constexpr double kTolerance = 1.02;

AlgorithmChooser::Choice AlgorithmChooser::openTimer(std::string &message) {
  if (timer)
    return Choice::Made;
  timer = std::make_unique<GemmTimer>(driver);
  return timer->create(timingBytes, message) ? Choice::Made : Choice::Failed;
}

static std::string describeFailure(const CublasLtGemm &gemm) {
  return "cuBLASLt runs none of the algorithms that it proposes for " +
         gemm.getKey();
}

AlgorithmChooser::Choice
AlgorithmChooser::tryOut(CublasLtGemm &gemm,
                         const std::vector<LtProposal> &proposals,
                         RecordedAlgorithm &chosen, std::string &message) {
  if (Choice choice = openTimer(message); choice != Choice::Made)
    return choice;
  for (size_t i = 0; i < proposals.size(); ++i) {
    bool isDone = false;
    auto work = [&](CuStream stream) {
      return gemm.runForTiming(proposals[i], timer->getMemory(), stream);
    };
    if (!timer->runOnce(work, isDone, message))
      return Choice::Failed;
    if (!isDone)
      continue;
    chosen.proposal = static_cast<int64_t>(i);
    tried.insert(gemm.getKey());
    return Choice::Made;
  }
  message = describeFailure(gemm);
  return Choice::None;
}

AlgorithmChooser::Choice
AlgorithmChooser::time(CublasLtGemm &gemm,
                       const std::vector<LtProposal> &proposals,
                       RecordedAlgorithm &chosen, std::string &message) {
  if (Choice choice = openTimer(message); choice != Choice::Made)
    return choice;
  std::optional<double> best;
  for (size_t i = 0; i < proposals.size(); ++i) {
    double microseconds = 0;
    auto work = [&](CuStream stream) {
      return gemm.runForTiming(proposals[i], timer->getMemory(), stream);
    };
    if (!timer->measure(work, microseconds, message))
      return Choice::Failed;
    chosen.microseconds.push_back(microseconds);
    if (std::isnan(microseconds) ||
        (best && microseconds * kTolerance >= *best))
      continue;
    best = microseconds;
    chosen.proposal = static_cast<int64_t>(i);
  }
  if (best)
    return Choice::Made;
  message = describeFailure(gemm);
  return Choice::None;
}

AlgorithmChooser::Choice AlgorithmChooser::choose(CublasLtGemm &gemm,
                                                  std::string &message) {
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
    Choice choice = Choice::Made;
    if (isTried)
      choice = tryOut(gemm, {proposal}, chosen, message);
    if (choice == Choice::Made)
      gemm.use(proposal);
    if (choice != Choice::None)
      return choice;
  }
  std::vector<LtProposal> proposals;
  if (!gemm.propose(isTimed || isTried ? kMaxProposals : 1, proposals, message))
    return Choice::None;
  Choice choice = Choice::Made;
  if (isTimed)
    choice = time(gemm, proposals, chosen, message);
  else if (isTried)
    choice = tryOut(gemm, proposals, chosen, message);
  if (choice != Choice::Made)
    return choice;
  proposal = proposals[static_cast<size_t>(chosen.proposal)];
  gemm.use(proposal);
  chosen.algorithm = proposal.algorithm;
  file.set(gemm.getKey(), std::move(chosen));
  return Choice::Made;
}
