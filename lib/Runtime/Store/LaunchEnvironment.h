//===- LaunchEnvironment.h - Which rank a process is ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// torchrun, mpirun of Open MPI and srun of Slurm say by environment variables
// which rank a process is, and where rank 0 is found.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_STORE_LAUNCHENVIRONMENT_H
#define REGATHER_LIB_RUNTIME_STORE_LAUNCHENVIRONMENT_H

#include "regather/Support/Result.h"

#include <cstdint>
#include <functional>
#include <string>

namespace regather::runtime {

struct LaunchEnvironment {
  int32_t rank = 0;
  int32_t ranks = 1;
  /// Among the processes of its node: the number of its device.
  int32_t localRank = 0;
  /// Where rank 0 listens.
  std::string address = "127.0.0.1";
  int32_t port = 0;
  /// Where it listens if not at that address, which may lead to it by way of
  /// another machine; empty if it does.
  std::string listenAddress;
  /// How often the launcher has begun anew.
  int32_t restart = 0;
  /// What processes of the same job know, and others should not: what the user
  /// has chosen, else what the launcher calls the job. Empty if it has no name.
  std::string token;

  /// The address that stands for all interfaces.
  static constexpr const char *kAnyInterface = "*";
  const std::string &getListenAddress() const {
    return listenAddress.empty() ? address : listenAddress;
  }

  /// The value of a variable; null if there is none.
  using Reader = std::function<const char *(const char *)>;

  /// Reads the variables. Without any of them, the process is the only rank.
  static Result<LaunchEnvironment> read(const Reader &getVariable);
  static Result<LaunchEnvironment> read();
};

/// The first node of a list as Slurm writes it: "node07" of "node[07-09,12],x".
std::string getFirstNode(const std::string &list);

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_STORE_LAUNCHENVIRONMENT_H
