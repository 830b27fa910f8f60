//===- StandInNccl.h - Communicators without a network ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state behind the library that stands in for NCCL: communicators between
// threads of one process, or between processes (NcclFolder.h). The k-th
// exchanges of all members of a group meet, are compared, and then the data is
// moved. Members of one that do not fit get an error that says so, where the
// library would hang or mix up data. Sums are rounded after each addition and
// begin at the rank after the owner, as in a ring, so that they are not those
// in rank order.
//
// REGATHER_STAND_IN_NCCL is the version (23007). REGATHER_STAND_IN_NCCL_FAULT
// makes a member fail: "hang:RANK:K" never comes to its k-th exchange, from 1
// on, and "error:RANK:K" has an asynchronous error in it; "stop:RANK:0" stops
// the process, as SIGSTOP does, when it makes a communicator.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_STANDIN_NCCL_STANDINNCCL_H
#define REGATHER_TEST_STANDIN_NCCL_STANDINNCCL_H

#include "GPU/Nccl/NcclApi.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace regather::runtime {

/// A routine between ncclGroupStart and ncclGroupEnd.
struct NcclOperation {
  enum class Kind {
    AllGather,
    ReduceScatter,
    AllReduce,
    Broadcast,
    Send,
    Recv
  };

  Kind kind;
  const char *source;
  char *target;
  size_t count;
  int type;
  int reduction;
  int peer; ///< or root
};

struct NcclGroup;
class NcclFolder;

/// The k-th exchange of a group.
struct NcclExchange {
  /// By position.
  std::vector<std::vector<NcclOperation>> operations;
  std::vector<bool> hasArrived;
  size_t numArrived = 0;
  bool isDone = false;
  size_t number = 0;
  /// Of members in other processes.
  std::deque<std::vector<char>> memory;
};

struct NcclCommTag {
  int64_t number = 0;
  std::shared_ptr<NcclGroup> group;
  int position = 0;
  bool isBlocking = true;
  bool isAborted = false;
  /// Graphs with exchanges of it have copies.
  std::shared_ptr<const char> captured = std::make_shared<const char>();
  NcclResult error = kNcclSuccess;
  size_t numExchanges = 0;
  /// The last one that was enqueued.
  std::shared_ptr<NcclExchange> last;
};

struct NcclGroup {
  ~NcclGroup();

  int ranks = 0;
  /// Null if all members are in this process.
  std::unique_ptr<NcclFolder> folder;
  std::vector<std::shared_ptr<NcclCommTag>> members;
  size_t numMembers = 0;
  std::map<size_t, std::shared_ptr<NcclExchange>> exchanges;
};

/// All communicators of the process; guarded by its mutex.
struct StandInNccl {
  static StandInNccl &get();

  /// Null if there is no such communicator.
  std::shared_ptr<NcclCommTag> find(NcclComm comm) const;
  std::shared_ptr<NcclCommTag> create(const std::string &id, int ranks,
                                      int position, NcclResult &result);
  void destroy(NcclComm comm, bool isAbort);

  /// Success, an error, or that something is not done.
  NcclResult getState(const NcclCommTag &comm);

  /// A member comes to its next exchange. With `isAwaited`, returns when all
  /// have and the data is moved.
  NcclResult arrive(const std::shared_ptr<NcclCommTag> &comm,
                    std::vector<NcclOperation> operations, bool isAwaited);

  /// Keeps the text for ncclGetLastError.
  NcclResult fail(NcclResult result, const std::string &text);

  /// Looks for what other processes have posted; carries the exchange out if
  /// all members have come.
  void advance(NcclGroup &group, NcclExchange &exchange);

  std::mutex mutex;
  std::condition_variable wake;
  std::map<NcclComm, std::shared_ptr<NcclCommTag>> comms;
  std::map<std::string, std::shared_ptr<NcclGroup>> groups;
  std::string lastError;
  int64_t numCreated = 0;
};

/// Bytes of an element.
size_t getNcclTypeSize(int type);

/// Bytes that an operation reads and writes on its member of a group.
size_t getSourceBytes(const NcclOperation &operation, int ranks);
size_t getTargetBytes(const NcclOperation &operation, int ranks);

/// What is wrong with the operations of all members; empty if they fit.
std::string
checkOperations(const std::vector<std::vector<NcclOperation>> &operations);

/// Moves the data of operations that fit.
void moveOperations(const std::vector<std::vector<NcclOperation>> &operations);

} // namespace regather::runtime

#endif // REGATHER_TEST_STANDIN_NCCL_STANDINNCCL_H
