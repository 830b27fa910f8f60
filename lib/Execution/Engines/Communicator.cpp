//===- Communicator.cpp - How ranks reach each other ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Engines/Communicator.h"

#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <sstream>

using namespace regather;

using Units = std::map<std::string, double>;

static const Units &getSecondUnits() {
  static const Units units = {
      {"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
  return units;
}

static const Units &getBandwidthUnits() {
  static const Units units = {
      {"", 1},       {"B/s", 1},        {"kB/s", 1e3},    {"MB/s", 1e6},
      {"GB/s", 1e9}, {"Mb/s", 1e6 / 8}, {"Gb/s", 1e9 / 8}};
  return units;
}

/// A number with one of `units`; nothing if it is neither finite nor positive.
static std::optional<double> readQuantity(const std::string &text,
                                          const Units &units) {
  char *end = nullptr;
  double number = std::strtod(text.c_str(), &end);
  auto unit = units.find(end);
  if (end == text.c_str() || unit == units.end() || !std::isfinite(number) ||
      number <= 0)
    return std::nullopt;
  return number * unit->second;
}

Result<CommunicatorOptions>
regather::parseCommunicator(const std::string &text) {
  CommunicatorOptions options;
  auto fail = [&](const std::string &why) {
    return Failure("--comm " + why + ", got \"" + text + "\"");
  };
  std::istringstream parts(text);
  std::string part;
  if (!std::getline(parts, part, ','))
    part.clear();
  if (part == "nccl") {
    options.kind = CommunicatorKind::Nccl;
    while (std::getline(parts, part, ','))
      if (part == "reproducible")
        options.isReproducible = true;
      else
        return fail("with nccl knows reproducible, not \"" + part + "\"");
    return options;
  }
  if (part == "mpi") {
    options.kind = CommunicatorKind::Mpi;
    while (std::getline(parts, part, ','))
      if (part == "checked")
        options.isChecked = true;
      else
        return fail("with mpi knows checked, not \"" + part + "\"");
    return options;
  }
  if (part != "threads")
    return fail("expects threads, with latency=SECONDS, "
                "bandwidth=BYTES_PER_SECOND or "
                "host-bandwidth=BYTES_PER_SECOND behind commas, mpi or nccl");
  while (std::getline(parts, part, ',')) {
    size_t equals = part.find('=');
    std::string name = part.substr(0, equals);
    if (equals == std::string::npos ||
        (name != "latency" && name != "bandwidth" && name != "host-bandwidth"))
      return fail("knows latency, bandwidth and host-bandwidth, not \"" + part +
                  "\"");
    bool isLatency = name == "latency";
    std::optional<double> value =
        readQuantity(part.substr(equals + 1),
                     isLatency ? getSecondUnits() : getBandwidthUnits());
    if (!value)
      return fail(isLatency ? "expects a positive latency such as 50us"
                            : "expects a positive bandwidth such as 10GB/s");
    (isLatency             ? options.latencySeconds
     : name == "bandwidth" ? options.bandwidth
                           : options.hostBandwidth) = *value;
  }
  return options;
}
