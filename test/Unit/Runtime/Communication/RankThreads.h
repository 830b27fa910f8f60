//===- RankThreads.h - Ranks as threads of a test ---------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_UNIT_RUNTIME_COMMUNICATION_RANKTHREADS_H
#define REGATHER_TEST_UNIT_RUNTIME_COMMUNICATION_RANKTHREADS_H

#include "regather/Runtime/Runtime.h"

#include "gtest/gtest.h"

#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace regather::test {

using Shape = std::vector<int64_t>;

/// A world that is destroyed at the end of the scope.
class TestWorld {
public:
  explicit TestWorld(int32_t ranks, double timeoutSeconds = 0,
                     int32_t workers = 3, double latencySeconds = 0,
                     double bandwidth = 0)
      : ranks(ranks) {
    rg_world_options options = {ranks, workers, timeoutSeconds, latencySeconds,
                                bandwidth};
    EXPECT_EQ(rg_world_create(&options, &world), RG_OK);
  }
  ~TestWorld() { rg_world_destroy(world); }
  TestWorld(const TestWorld &) = delete;

  rg_world *get() const { return world; }
  std::string getError() const { return rg_world_error(world); }

  rg_comm *getComm(int32_t rank, std::vector<int32_t> members = {}) const {
    if (members.empty()) {
      members.resize(ranks);
      std::iota(members.begin(), members.end(), 0);
    }
    rg_comm *comm = nullptr;
    EXPECT_EQ(rg_comm_get(world, rank, members.data(), int32_t(members.size()),
                          &comm),
              RG_OK);
    return comm;
  }

  /// Runs `body` once for each rank, on a thread of its own, and finishes the
  /// rank afterwards.
  void run(const std::function<void(int32_t)> &body) const {
    std::vector<std::thread> threads;
    for (int32_t rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        body(rank);
        rg_rank_finish(world, rank);
      });
    for (std::thread &thread : threads)
      thread.join();
  }

private:
  rg_world *world = nullptr;
  int32_t ranks;
};

inline int64_t getNumElements(const Shape &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1),
                         std::multiplies<int64_t>());
}

/// A dense tensor of elements that are stored as `T`.
template <typename T> struct Tensor {
  Shape shape;
  std::vector<T> data;

  explicit Tensor(Shape shape, T value = T())
      : shape(std::move(shape)), data(getNumElements(this->shape), value) {}

  int64_t getOffset(const Shape &index) const {
    int64_t offset = 0;
    for (size_t dim = 0; dim < shape.size(); ++dim)
      offset = offset * shape[dim] + index[dim];
    return offset;
  }
  T &operator[](const Shape &index) { return data[getOffset(index)]; }
  const T &operator[](const Shape &index) const {
    return data[getOffset(index)];
  }

  /// Calls `callback` with every index in row-major order.
  void forEach(const std::function<void(const Shape &)> &callback) const {
    Shape index(shape.size());
    for (size_t i = 0; i < data.size(); ++i) {
      int64_t rest = int64_t(i);
      for (size_t dim = shape.size(); dim-- > 0; rest /= shape[dim])
        index[dim] = rest % shape[dim];
      callback(index);
    }
  }
};

template <typename T>
rg_member getMember(rg_dtype dtype, const Tensor<T> &input, Tensor<T> &output) {
  return {dtype,
          int32_t(input.shape.size()),
          input.shape.data(),
          output.shape.data(),
          input.data.data(),
          output.data.data()};
}

inline rg_collective getCollective(rg_kind kind, const rg_member *members,
                                   int64_t count) {
  rg_collective collective = {};
  collective.kind = kind;
  collective.accumulate = RG_DTYPE_AUTO;
  collective.members = members;
  collective.member_count = count;
  collective.name = "test";
  return collective;
}

/// Starts a collective and waits for it.
inline rg_status runCollective(rg_comm *comm, const rg_collective &collective) {
  rg_future *future = nullptr;
  rg_status status = rg_start(comm, &collective, &future);
  if (status != RG_OK)
    return status;
  return rg_wait(future);
}

} // namespace regather::test

#endif // REGATHER_TEST_UNIT_RUNTIME_COMMUNICATION_RANKTHREADS_H
