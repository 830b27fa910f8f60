//===- LinkFit.h - Calibrate a link class -----------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_ANALYSIS_COST_LINKFIT_H
#define REGATHER_ANALYSIS_COST_LINKFIT_H

#include "regather/Analysis/Cost/Cluster.h"

namespace regather {

/// A collective that was measured on a group that uses one class of links.
struct LinkSample {
  CollectiveKind kind = CollectiveKind::AllGather;
  int64_t ranks = 0;
  double receivedBytes = 0;
  double seconds = 0;
};

/// The protocols of a link class.
struct LinkFit {
  std::vector<LinkProtocol> protocols;
  /// The largest |predicted / measured - 1| over the samples.
  double maxRelativeError = 0;
};

/// Finds at most `maxProtocols` protocols whose quickest one comes closest to
/// the samples. Where all make equally many steps, the latency of a collective
/// cannot be told apart from that of its hops, and both get a share. Fails on
/// samples without positive bytes and seconds, of fewer than two ranks, or
/// fewer than two.
///
/// Takes O(n^(maxProtocols - 1)) fits of n samples: for tables of some hundred
/// numbers.
llvm::Expected<LinkFit> fitLink(llvm::ArrayRef<LinkSample> samples,
                                unsigned maxProtocols = 3);

} // namespace regather

#endif // REGATHER_ANALYSIS_COST_LINKFIT_H
