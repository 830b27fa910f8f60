//===- NcclGroup.h - A communicator of NCCL ---------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_NCCL_NCCLGROUP_H
#define REGATHER_LIB_RUNTIME_GPU_NCCL_NCCLGROUP_H

#include "GPU/Communication/PlanRunner.h"
#include "NcclApi.h"
#include "Store/RankStore.h"

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>

namespace regather::runtime {

/// One rank's side of a group. Calls return at once and are waited for here, so
/// that another thread can end them.
class NcclGroup {
public:
  /// What it is for: gathers by copy engines, where the library has them, or
  /// reductions.
  enum class Use { Move, Reduce };

  /// `policy` is kNcclPolicyZero or kNcclUndefined.
  NcclGroup(std::shared_ptr<const NcclApi> api, std::vector<int32_t> group,
            Use use, int policy)
      : api(std::move(api)), nccl(*this->api), group(std::move(group)),
        use(use), policy(policy) {}
  ~NcclGroup();
  NcclGroup(const NcclGroup &) = delete;

  /// Creates it together with the other ranks of the group. `name` is equal on
  /// all of them and is no other communicator's.
  Failure create(const std::string &name, int32_t rank, RankStore &store,
                 double seconds);
  /// Makes memory known, which all ranks do with as many bytes, and a name that
  /// is no other memory's.
  Failure registerMemory(CuAddress address, int64_t bytes,
                         const std::string &name, RankStore &store,
                         double seconds);

  /// Enqueues the exchange of a phase.
  Failure exchange(const PlanPhase &phase, const PlanMemory &memory,
                   CuStream stream);

  /// What the library has noticed, if something has failed.
  Failure poll();
  /// From now on nothing can be exchanged. True for the first call, after which
  /// `abort` has to be called.
  bool close() { return !isAborted.exchange(true); }
  /// Ends what is in flight. Blocks as long as a graph holds its collectives.
  void abort();

  const std::vector<int32_t> &getMembers() const { return group; }
  Use getUse() const { return use; }
  /// The number of the next collective.
  int64_t countCollective() { return ++numCollectives; }

private:
  Failure call(NcclResult result, const char *what);
  Failure await(const char *what, double seconds);
  Failure awaitAll(const char *what, const std::string &name, RankStore &store,
                   double seconds);
  NcclResult enqueue(const PlanPhase &phase, const PlanMemory &memory,
                     CuStream stream);
  NcclResult enqueue(const PlanCall &item, const PlanMemory &memory,
                     CuStream stream);
  std::string describeGroup() const;

  const std::shared_ptr<const NcclApi> api;
  const NcclApi &nccl;
  const std::vector<int32_t> group;
  const Use use;
  const int policy;
  /// Held while the handle is used. A thread that ends all waits for it only
  /// for a while.
  std::timed_mutex mutex;
  std::atomic<bool> isAborted{false};
  NcclComm comm = nullptr;
  /// The library writes them some time after they were asked for, so they stay
  /// where they are. Null where the ranks have no memory in common: buffers are
  /// then used as they are.
  std::deque<NcclWindow> windows;
  int64_t numCollectives = 0;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_NCCL_NCCLGROUP_H
