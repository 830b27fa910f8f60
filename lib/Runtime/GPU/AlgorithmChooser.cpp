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

/// Proposals that are timed.
static constexpr int kMaxProposals = 8;

/// How much longer an earlier proposal may take and still be preferred: times
/// differ by as much from run to run.
static constexpr double kTolerance = 1.02;

AlgorithmChooser::Choice
AlgorithmChooser::time(CublasLtProduct &product,
                       const std::vector<LtProposal> &proposals,
                       RecordedAlgorithm &chosen, std::string &message) {
  if (!timer) {
    timer = std::make_unique<ProductTimer>(driver);
    if (!timer->create(timingBytes, message))
      return Choice::Failed;
  }
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
  message = "cuBLASLt runs none of the algorithms that it proposes for " +
            product.getKey();
  return Choice::None;
}

AlgorithmChooser::Choice AlgorithmChooser::choose(CublasLtProduct &product,
                                                  std::string &message) {
  const bool isTimed = timingBytes > 0;
  const RecordedAlgorithm *known = file.find(product.getKey());
  LtProposal proposal;
  if (known && (known->isTimed() || !isTimed) &&
      product.accepts(known->algorithm, proposal)) {
    product.use(proposal);
    return Choice::Made;
  }
  std::vector<LtProposal> proposals;
  if (!product.propose(isTimed ? kMaxProposals : 1, proposals, message))
    return Choice::None;
  RecordedAlgorithm chosen;
  if (isTimed)
    if (Choice choice = time(product, proposals, chosen, message);
        choice != Choice::Made)
      return choice;
  proposal = proposals[static_cast<size_t>(chosen.proposal)];
  product.use(proposal);
  chosen.algorithm = proposal.algorithm;
  file.set(product.getKey(), std::move(chosen));
  return Choice::Made;
}
