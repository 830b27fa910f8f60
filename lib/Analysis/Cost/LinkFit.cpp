//===- LinkFit.cpp - Calibrate a link class -------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   for each division of the samples, by bytes, into at most three ranges:
//     fit one protocol to each range, relative errors squared
//     until nothing changes: give each sample to the protocol that is quickest
//                            for it, and fit again
//   keep what had the smallest largest error
//
// Quick protocols of low bandwidth win for small messages, so each protocol has
// one range, which the division finds.
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Cost/LinkFit.h"

#include "llvm/ADT/STLExtras.h"

#include <array>
#include <cmath>
#include <limits>
#include <tuple>

using namespace regather;

namespace {
/// A sample as a row of `latency + steps * hop + bytes * inverse bandwidth`.
struct Row {
  double steps, bytes, seconds;
};
/// Latency, hop and inverse bandwidth.
using Terms = std::array<double, 3>;
constexpr int kRefinements = 20;
/// Where nothing tells them apart, the latency of a collective counts as that
/// of so many hops; in the tables of NCCL it is that of 2.5 to 11.
constexpr double kHopsPerLatency = 7;
/// What that weighs, beside a relative error of one.
constexpr double kPriorWeight = 1e-3;

class LinkFitter {
public:
  LinkFitter(llvm::ArrayRef<LinkSample> samples);

  LinkFit run(unsigned maxProtocols);

private:
  void tryDivisions(llvm::SmallVectorImpl<size_t> &ends, unsigned protocols);
  void tryDivision(llvm::ArrayRef<size_t> ends);
  double getError(llvm::ArrayRef<Terms> lines) const;

  std::vector<Row> rows;
  std::vector<Terms> best;
  double bestError = std::numeric_limits<double>::infinity();
};
} // namespace

static double evaluate(const Terms &line, const Row &row) {
  return line[0] + row.steps * line[1] + row.bytes * line[2];
}

static size_t findQuickest(llvm::ArrayRef<Terms> lines, const Row &row) {
  size_t quickest = 0;
  for (size_t i = 1; i < lines.size(); ++i)
    if (evaluate(lines[i], row) < evaluate(lines[quickest], row))
      quickest = i;
  return quickest;
}

LinkFitter::LinkFitter(llvm::ArrayRef<LinkSample> samples) {
  for (const LinkSample &sample : samples) {
    double steps = static_cast<double>(sample.ranks - 1);
    if (sample.kind == CollectiveKind::AllReduce)
      steps *= 2;
    rows.push_back({steps, sample.receivedBytes, sample.seconds});
  }
  llvm::sort(rows, [](const Row &a, const Row &b) {
    return std::tie(a.bytes, a.steps, a.seconds) <
           std::tie(b.bytes, b.steps, b.seconds);
  });
}

/// Solves the normal equations of the terms in `used`; nothing if they are
/// dependent.
static std::optional<Terms> solve(llvm::ArrayRef<Row> rows,
                                  llvm::ArrayRef<unsigned> used) {
  size_t n = used.size();
  double matrix[3][4] = {};
  // Scaled so that all terms are about one, and rows weigh alike.
  double bytesScale = rows.back().bytes;
  auto addEquation = [&](Terms terms, double value) {
    for (size_t i = 0; i < n; ++i) {
      for (size_t k = 0; k < n; ++k)
        matrix[i][k] += terms[used[i]] * terms[used[k]];
      matrix[i][n] += terms[used[i]] * value;
    }
  };
  for (const Row &row : rows)
    addEquation({1 / row.seconds, row.steps / row.seconds,
                 row.bytes / bytesScale / row.seconds},
                1);
  double prior = kPriorWeight / rows.front().seconds;
  if (n == 3)
    addEquation({prior, -kHopsPerLatency * prior, 0}, 0);
  for (size_t i = 0; i < n; ++i) {
    size_t pivot = i;
    for (size_t k = i + 1; k < n; ++k)
      if (std::abs(matrix[k][i]) > std::abs(matrix[pivot][i]))
        pivot = k;
    std::swap(matrix[i], matrix[pivot]);
    if (std::abs(matrix[i][i]) < 1e-12 * std::abs(matrix[0][0]))
      return std::nullopt;
    for (size_t k = 0; k < n; ++k) {
      double factor = k == i ? 0 : matrix[k][i] / matrix[i][i];
      for (size_t column = i; column <= n; ++column)
        matrix[k][column] -= factor * matrix[i][column];
    }
  }
  Terms terms = {};
  for (size_t i = 0; i < n; ++i)
    terms[used[i]] = matrix[i][n] / matrix[i][i];
  terms[2] /= bytesScale;
  return terms;
}

/// The terms of one protocol, none of them negative: those that would be are
/// left out, latency first.
static std::optional<Terms> fit(llvm::ArrayRef<Row> rows) {
  if (rows.size() < 2)
    return std::nullopt;
  static constexpr unsigned kTerms[] = {0, 1, 2};
  for (unsigned first = 0; first < 3; ++first)
    if (std::optional<Terms> terms =
            solve(rows, llvm::ArrayRef(kTerms).drop_front(first)))
      if (llvm::all_of(*terms, [](double term) { return term >= 0; }) &&
          (*terms)[2] > 0)
        return terms;
  return std::nullopt;
}

double LinkFitter::getError(llvm::ArrayRef<Terms> lines) const {
  double error = 0;
  for (const Row &row : rows) {
    double predicted = evaluate(lines[findQuickest(lines, row)], row);
    error = std::max(error, std::abs(predicted / row.seconds - 1));
  }
  return error;
}

void LinkFitter::tryDivision(llvm::ArrayRef<size_t> ends) {
  // The protocol of each row.
  std::vector<size_t> owners;
  for (auto [protocol, end] : llvm::enumerate(ends))
    owners.resize(end, protocol);
  for (int round = 0; round < kRefinements; ++round) {
    std::vector<Terms> lines;
    for (size_t protocol = 0; protocol < ends.size(); ++protocol) {
      std::vector<Row> part;
      for (auto [row, owner] : llvm::zip_equal(rows, owners))
        if (owner == protocol)
          part.push_back(row);
      std::optional<Terms> line = fit(part);
      if (!line)
        return;
      lines.push_back(*line);
    }
    double error = getError(lines);
    if (error < bestError) {
      bestError = error;
      best = lines;
    }
    std::vector<size_t> quickest;
    for (const Row &row : rows)
      quickest.push_back(findQuickest(lines, row));
    if (quickest == owners)
      return;
    owners = std::move(quickest);
  }
}

/// All ways to end `protocols` ranges behind those in `ends`.
void LinkFitter::tryDivisions(llvm::SmallVectorImpl<size_t> &ends,
                              unsigned protocols) {
  if (protocols == 1) {
    ends.push_back(rows.size());
    tryDivision(ends);
    ends.pop_back();
    return;
  }
  size_t begin = ends.empty() ? 0 : ends.back();
  for (size_t end = begin + 2; end + 2 * (protocols - 1) <= rows.size();
       ++end) {
    ends.push_back(end);
    tryDivisions(ends, protocols - 1);
    ends.pop_back();
  }
}

LinkFit LinkFitter::run(unsigned maxProtocols) {
  for (unsigned protocols = 1; protocols <= maxProtocols; ++protocols) {
    llvm::SmallVector<size_t, 4> ends;
    tryDivisions(ends, protocols);
  }
  LinkFit result;
  result.maxRelativeError = bestError;
  for (const Terms &line : best)
    result.protocols.push_back(
        {"protocol_" + std::to_string(result.protocols.size()), line[0],
         line[1], 1 / line[2]});
  return result;
}

llvm::Expected<LinkFit> regather::fitLink(llvm::ArrayRef<LinkSample> samples,
                                          unsigned maxProtocols) {
  if (samples.size() < 2)
    return llvm::createStringError("expects two or more samples, got %zu",
                                   samples.size());
  for (auto [i, sample] : llvm::enumerate(samples))
    if (sample.ranks < 2 || !(sample.receivedBytes > 0) ||
        !(sample.seconds > 0) || !std::isfinite(sample.receivedBytes) ||
        !std::isfinite(sample.seconds))
      return llvm::createStringError(
          "sample %zu expects two or more ranks, positive bytes and positive "
          "seconds",
          size_t(i));
  LinkFit fit = LinkFitter(samples).run(maxProtocols);
  if (fit.protocols.empty())
    return llvm::createStringError(
        "no bandwidth above zero explains the samples");
  return fit;
}
