//===- AlgorithmChooser.cpp - Choose how products are computed ------------===//
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
  timer = std::make_unique<ProductTimer>(driver);
  return timer->create(timingBytes, message) ? Choice::Made : Choice::Failed;
}

static std::string describeFailure(const CublasLtProduct &product) {
  return "cuBLASLt runs none of the algorithms that it proposes for " +
         product.getKey();
}

AlgorithmChooser::Choice
AlgorithmChooser::tryOut(CublasLtProduct &product,
                         const std::vector<LtProposal> &proposals,
                         RecordedAlgorithm &chosen, std::string &message) {
  if (Choice choice = openTimer(message); choice != Choice::Made)
    return choice;
  for (size_t i = 0; i < proposals.size(); ++i) {
    bool isDone = false;
    auto work = [&](CuStream stream) {
      return product.runForTiming(proposals[i], timer->getMemory(), stream);
    };
    if (!timer->runOnce(work, isDone, message))
      return Choice::Failed;
    if (!isDone)
      continue;
    chosen.proposal = static_cast<int64_t>(i);
    tried.insert(product.getKey());
    return Choice::Made;
  }
  message = describeFailure(product);
  return Choice::None;
}

AlgorithmChooser::Choice
AlgorithmChooser::time(CublasLtProduct &product,
                       const std::vector<LtProposal> &proposals,
                       RecordedAlgorithm &chosen, std::string &message) {
  if (Choice choice = openTimer(message); choice != Choice::Made)
    return choice;
  std::optional<double> best;
  for (size_t i = 0; i < proposals.size(); ++i) {
    double microseconds = 0;
    auto work = [&](CuStream stream) {
      return product.runForTiming(proposals[i], timer->getMemory(), stream);
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
  message = describeFailure(product);
  return Choice::None;
}

AlgorithmChooser::Choice AlgorithmChooser::choose(CublasLtProduct &product,
                                                  std::string &message) {
  const bool isTimed = mode == Mode::Timed;
  const RecordedAlgorithm *known = file.find(product.getKey());
  // What was timed has run.
  const bool isTried = mode != Mode::Given && product.isLarge() && !isTimed &&
                       !(known && known->isTimed()) &&
                       tried.count(product.getKey()) == 0;
  RecordedAlgorithm chosen;
  LtProposal proposal;
  if (known && (known->isTimed() || !isTimed) &&
      product.accepts(known->algorithm, proposal)) {
    Choice choice = Choice::Made;
    if (isTried)
      choice = tryOut(product, {proposal}, chosen, message);
    if (choice == Choice::Made)
      product.use(proposal);
    if (choice != Choice::None)
      return choice;
  }
  std::vector<LtProposal> proposals;
  if (!product.propose(isTimed || isTried ? kMaxProposals : 1, proposals,
                       message))
    return Choice::None;
  Choice choice = Choice::Made;
  if (isTimed)
    choice = time(product, proposals, chosen, message);
  else if (isTried)
    choice = tryOut(product, proposals, chosen, message);
  if (choice != Choice::Made)
    return choice;
  proposal = proposals[static_cast<size_t>(chosen.proposal)];
  product.use(proposal);
  chosen.algorithm = proposal.algorithm;
  file.set(product.getKey(), std::move(chosen));
  return Choice::Made;
}
