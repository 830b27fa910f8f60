//===- LaunchEnvironment.cpp - Which rank a process is --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchEnvironment.h"

#include <cstdlib>

using namespace regather::runtime;
using regather::Failure;
using regather::Result;

/// Ports that are derived from a job lie below those that systems hand out.
static constexpr int32_t kFirstPort = 20000, kNumPorts = 10000;
static constexpr size_t kMaxToken = 512;
static constexpr int32_t kMaxRanks = 1 << 20, kMaxPort = 65535;

namespace {
class EnvironmentParser {
public:
  explicit EnvironmentParser(const LaunchEnvironment::Reader &getVariable)
      : getVariable(getVariable) {}

  /// Fills `environment`.
  Failure parse();

  LaunchEnvironment environment;

private:
  bool has(const char *name) const {
    const char *text = getVariable(name);
    return text && *text;
  }
  std::string get(const char *name) const {
    return has(name) ? getVariable(name) : "";
  }
  Failure readNumber(const char *name, int32_t begin, int32_t end,
                     int32_t &number);
  Failure readRanks(const char *rank, const char *ranks, const char *localRank);
  Failure findAddress();
  Failure findPort();

  const LaunchEnvironment::Reader &getVariable;
  /// Identifies the job.
  std::string job;
};
} // namespace

/// Reads a variable that has to hold a number from `begin` to below `end`.
Failure EnvironmentParser::readNumber(const char *name, int32_t begin,
                                      int32_t end, int32_t &number) {
  std::string text = get(name);
  char *rest = nullptr;
  long value = std::strtol(text.c_str(), &rest, 10);
  if (!text.empty() && !*rest && value >= begin && value < end) {
    number = int32_t(value);
    return Failure();
  }
  return std::string(name) +
         (text.empty() ? " is not set" : " is '" + text + "'") +
         ", expected a number from " + std::to_string(begin) + " to " +
         std::to_string(end - 1);
}

Failure EnvironmentParser::readRanks(const char *rank, const char *ranks,
                                     const char *localRank) {
  if (Failure failure = readNumber(ranks, 1, kMaxRanks, environment.ranks))
    return failure;
  if (Failure failure =
          readNumber(rank, 0, environment.ranks, environment.rank))
    return failure;
  return readNumber(localRank, 0, environment.ranks, environment.localRank);
}

std::string regather::runtime::getFirstNode(const std::string &list) {
  size_t bracket = list.find('['), comma = list.find(',');
  if (bracket == std::string::npos || comma < bracket)
    return list.substr(0, comma);
  size_t end = list.find_first_of(",-]", bracket);
  if (end == std::string::npos)
    return list.substr(0, bracket);
  std::string name =
      list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1);
  // What follows the bracket belongs to each name.
  size_t close = list.find(']', end);
  if (close != std::string::npos)
    name += getFirstNode(list.substr(close + 1));
  return name;
}

Failure EnvironmentParser::findAddress() {
  if (has("MASTER_ADDR")) {
    environment.address = get("MASTER_ADDR");
    return Failure();
  }
  for (const char *list : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"})
    if (has(list)) {
      environment.address = getFirstNode(get(list));
      return Failure();
    }
  if (get("OMPI_COMM_WORLD_LOCAL_SIZE") == get("OMPI_COMM_WORLD_SIZE"))
    return Failure();
  return Failure(
      "the ranks are on several nodes, so MASTER_ADDR has to say the "
      "address of rank 0, as by 'mpirun -x MASTER_ADDR=...'");
}

/// FNV-1a: equal for all ranks of a job, and seldom for two jobs.
static uint32_t hash(const std::string &text) {
  uint32_t value = 2166136261u;
  for (char c : text)
    value = (value ^ static_cast<unsigned char>(c)) * 16777619u;
  return value;
}

Failure EnvironmentParser::findPort() {
  if (!has("MASTER_PORT")) {
    environment.port = kFirstPort + int32_t(hash(job) % kNumPorts);
    return Failure();
  }
  if (Failure failure =
          readNumber("MASTER_PORT", 1, kMaxPort + 1, environment.port))
    return failure;
  // On MASTER_PORT listens torchrun itself.
  if (get("TORCHELASTIC_USE_AGENT_STORE") == "True")
    environment.port += environment.port < kMaxPort ? 1 : -1;
  return Failure();
}

Failure EnvironmentParser::parse() {
  Failure failure;
  if (has("RANK") || has("WORLD_SIZE")) {
    failure = readRanks("RANK", "WORLD_SIZE", "LOCAL_RANK");
    job = get("TORCHELASTIC_RUN_ID");
  } else if (has("OMPI_COMM_WORLD_RANK")) {
    failure = readRanks("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                        "OMPI_COMM_WORLD_LOCAL_RANK");
    job = get("PMIX_NAMESPACE");
  } else if (has("SLURM_PROCID")) {
    failure = readRanks("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID");
    job = get("SLURM_JOB_ID") + "." + get("SLURM_STEP_ID");
  } else {
    return Failure();
  }
  if (failure)
    return failure;
  environment.token =
      has("REGATHER_JOB_TOKEN") ? get("REGATHER_JOB_TOKEN") : job;
  if (environment.token.size() > kMaxToken)
    return "REGATHER_JOB_TOKEN has " +
           std::to_string(environment.token.size()) +
           " characters, expected at most " + std::to_string(kMaxToken);
  environment.listenAddress = get("REGATHER_LISTEN_ADDRESS");
  if (has("TORCHELASTIC_RESTART_COUNT"))
    failure = readNumber("TORCHELASTIC_RESTART_COUNT", 0, kMaxRanks,
                         environment.restart);
  if (!failure)
    failure = findAddress();
  return failure ? failure : findPort();
}

Result<LaunchEnvironment> LaunchEnvironment::read(const Reader &getVariable) {
  EnvironmentParser parser(getVariable);
  if (Failure failure = parser.parse())
    return failure;
  return parser.environment;
}

Result<LaunchEnvironment> LaunchEnvironment::read() {
  return read([](const char *name) -> const char * { return getenv(name); });
}
