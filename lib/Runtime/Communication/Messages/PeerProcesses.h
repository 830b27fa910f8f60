//===- PeerProcesses.h - Which processes have ended -------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_COMMUNICATION_MESSAGES_PEERPROCESSES_H
#define REGATHER_LIB_RUNTIME_COMMUNICATION_MESSAGES_PEERPROCESSES_H

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace regather::runtime {

/// Where a rank runs, as ranks tell each other.
struct ProcessIdentity {
  /// Equal for processes that see each other's numbers: those of one machine,
  /// and of one container.
  uint64_t machine = 0;
  int64_t process = 0;

  static ProcessIdentity getOwn();
};

/// "rank 1", or "ranks 1, 3".
std::string formatRanks(const std::set<int32_t> &ranks);

/// Watches the processes of other ranks on this machine. Where memory carries
/// the messages, nothing else tells that a process was killed or stopped. Of
/// other machines nothing is known.
class PeerProcesses {
public:
  PeerProcesses() = default;
  ~PeerProcesses();
  PeerProcesses(const PeerProcesses &) = delete;

  /// Watches a rank, unless it is on another machine, in this process, or the
  /// system cannot.
  void watch(int32_t rank, const ProcessIdentity &identity);

  /// The ranks whose processes have ended, however. Never blocks.
  std::set<int32_t> findEnded() const;

  /// What a time-out adds, whomever a rank was waiting for: "; the process of
  /// rank 2 is stopped", as a signal or a debugger stops one; "" if there is
  /// none. Never blocks.
  std::string describeStopped() const;

private:
  struct Process {
    /// A descriptor, which stays its own when the number is given to another
    /// process.
    int file;
    int64_t number;
  };
  std::map<int32_t, Process> watched;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_COMMUNICATION_MESSAGES_PEERPROCESSES_H
