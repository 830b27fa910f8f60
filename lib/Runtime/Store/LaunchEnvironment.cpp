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

/// Ports that are derived from a job lie below those that systems hand out.
static constexpr int32_t kFirstPort = 20000, kNumPorts = 10000;
static constexpr size_t kMaxToken = 512;
static constexpr int32_t kMaxRanks = 1 << 20, kMaxPort = 65535;

namespace {
class EnvironmentParser {
public:
  EnvironmentParser(const LaunchEnvironment::Reader &getVariable,
                    std::string &message)
      : getVariable(getVariable), message(message) {}

  bool parse(LaunchEnvironment &environment);

private:
  bool has(const char *name) const {
    const char *text = getVariable(name);
    return text && *text;
  }
  std::string get(const char *name) const {
    return has(name) ? getVariable(name) : "";
  }
  bool readNumber(const char *name, int32_t begin, int32_t end,
                  int32_t &number);
  bool readRanks(const char *rank, const char *ranks, const char *localRank,
                 LaunchEnvironment &environment);
  bool findAddress(LaunchEnvironment &environment);
  bool findPort(LaunchEnvironment &environment);

  const LaunchEnvironment::Reader &getVariable;
  std::string &message;
  /// Identifies the job.
  std::string job;
};
} // namespace

/// Reads a variable that has to hold a number from `begin` to below `end`.
bool EnvironmentParser::readNumber(const char *name, int32_t begin, int32_t end,
                                   int32_t &number) {
  std::string text = get(name);
  char *rest = nullptr;
  long value = std::strtol(text.c_str(), &rest, 10);
  if (!text.empty() && !*rest && value >= begin && value < end) {
    number = int32_t(value);
    return true;
  }
  message = std::string(name) +
            (text.empty() ? " is not set" : " is '" + text + "'") +
            ", expected a number from " + std::to_string(begin) + " to " +
            std::to_string(end - 1);
  return false;
}

bool EnvironmentParser::readRanks(const char *rank, const char *ranks,
                                  const char *localRank,
                                  LaunchEnvironment &environment) {
  return readNumber(ranks, 1, kMaxRanks, environment.ranks) &&
         readNumber(rank, 0, environment.ranks, environment.rank) &&
         readNumber(localRank, 0, environment.ranks, environment.localRank);
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

bool EnvironmentParser::findAddress(LaunchEnvironment &environment) {
  if (has("MASTER_ADDR")) {
    environment.address = get("MASTER_ADDR");
    return true;
  }
  for (const char *list : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"})
    if (has(list)) {
      environment.address = getFirstNode(get(list));
      return true;
    }
  if (get("OMPI_COMM_WORLD_LOCAL_SIZE") == get("OMPI_COMM_WORLD_SIZE"))
    return true;
  message = "the ranks are on several nodes, so MASTER_ADDR has to say the "
            "address of rank 0, as by 'mpirun -x MASTER_ADDR=...'";
  return false;
}

/// FNV-1a: equal for all ranks of a job, and seldom for two jobs.
static uint32_t hash(const std::string &text) {
  uint32_t value = 2166136261u;
  for (char c : text)
    value = (value ^ static_cast<unsigned char>(c)) * 16777619u;
  return value;
}

bool EnvironmentParser::findPort(LaunchEnvironment &environment) {
  if (!has("MASTER_PORT")) {
    environment.port = kFirstPort + int32_t(hash(job) % kNumPorts);
    return true;
  }
  if (!readNumber("MASTER_PORT", 1, kMaxPort + 1, environment.port))
    return false;
  // On MASTER_PORT listens torchrun itself.
  if (get("TORCHELASTIC_USE_AGENT_STORE") == "True")
    environment.port += environment.port < kMaxPort ? 1 : -1;
  return true;
}

bool EnvironmentParser::parse(LaunchEnvironment &environment) {
  if (has("RANK") || has("WORLD_SIZE")) {
    if (!readRanks("RANK", "WORLD_SIZE", "LOCAL_RANK", environment))
      return false;
    job = get("TORCHELASTIC_RUN_ID");
  } else if (has("OMPI_COMM_WORLD_RANK")) {
    if (!readRanks("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                   "OMPI_COMM_WORLD_LOCAL_RANK", environment))
      return false;
    job = get("PMIX_NAMESPACE");
  } else if (has("SLURM_PROCID")) {
    if (!readRanks("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID",
                   environment))
      return false;
    job = get("SLURM_JOB_ID") + "." + get("SLURM_STEP_ID");
  } else {
    return true;
  }
  environment.token =
      has("REGATHER_JOB_TOKEN") ? get("REGATHER_JOB_TOKEN") : job;
  if (environment.token.size() > kMaxToken) {
    message = "REGATHER_JOB_TOKEN has " +
              std::to_string(environment.token.size()) +
              " characters, expected at most " + std::to_string(kMaxToken);
    return false;
  }
  if (has("TORCHELASTIC_RESTART_COUNT") &&
      !readNumber("TORCHELASTIC_RESTART_COUNT", 0, kMaxRanks,
                  environment.restart))
    return false;
  return findAddress(environment) && findPort(environment);
}

bool LaunchEnvironment::read(const Reader &getVariable, std::string &message) {
  *this = {};
  return EnvironmentParser(getVariable, message).parse(*this);
}

bool LaunchEnvironment::read(std::string &message) {
  return read([](const char *name) -> const char * { return getenv(name); },
              message);
}
