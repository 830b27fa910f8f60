//===- EnvironmentReader.cpp - What launchers say to ranks ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reader.h"

#include "Store/LaunchEnvironment.h"

#include <map>

using namespace regather;
using namespace regather::fuzz;
using namespace regather::runtime;

/// A line for each variable: `RANK=1`.
static std::string readEnvironmentBytes(std::string_view bytes) {
  std::map<std::string, std::string> variables;
  while (!bytes.empty()) {
    std::string_view line = bytes.substr(0, bytes.find('\n'));
    bytes.remove_prefix(std::min(line.size() + 1, bytes.size()));
    size_t sign = std::min(line.find('='), line.size());
    // The environment holds no zeros.
    variables[std::string(line.substr(0, sign))] =
        std::string(line.substr(std::min(sign + 1, line.size()))).c_str();
  }
  Result<LaunchEnvironment> environment =
      LaunchEnvironment::read([&](const char *name) -> const char * {
        auto it = variables.find(name);
        return it == variables.end() ? nullptr : it->second.c_str();
      });
  if (!environment)
    return environment.getMessage();
  if (environment->ranks < 1 || environment->rank < 0 ||
      environment->rank >= environment->ranks || environment->localRank < 0 ||
      environment->port < 0 || environment->port > 65535)
    reportFind("numbers that are none of a rank");
  return std::string();
}

const Reader regather::fuzz::environmentReader = {"environment",
                                                  readEnvironmentBytes};
