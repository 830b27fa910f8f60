//===- RankClasses.cpp - Ranks that do the same at the same time ----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Colour refinement: begin with one class, and as long as anything changes,
// tell groups apart by their placement and the classes of their ranks, and
// ranks by the classes of their groups.
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Simulator/RankClasses.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <map>
#include <numeric>

using namespace llvm;
using namespace regather;

namespace {
/// The groups of one stream.
struct StreamGroups {
  /// By group, its ranks.
  std::vector<std::vector<int64_t>> members;
  std::vector<uint32_t> placements;
  /// By rank.
  std::vector<uint32_t> groupOf;
  /// By group; numbered in the order of their first ranks.
  std::vector<uint32_t> classes;
};

class RankClassifier {
public:
  explicit RankClassifier(ArrayRef<int64_t> meshSizes)
      : sizes(meshSizes),
        numRanks(std::accumulate(meshSizes.begin(), meshSizes.end(), int64_t(1),
                                 std::multiplies<>())),
        classes(numRanks) {}

  void addStream(ArrayRef<unsigned> axes,
                 function_ref<uint32_t(ArrayRef<int64_t>)> place);
  void refine();
  RankClasses getResult() const;

private:
  void classifyGroups(StreamGroups &stream) const;
  bool classifyRanks();

  ArrayRef<int64_t> sizes;
  int64_t numRanks;
  std::vector<StreamGroups> streams;
  /// By rank; numbered in the order of their first ranks.
  std::vector<uint32_t> classes;
  uint32_t numClasses = 1;
};
} // namespace

void RankClassifier::addStream(
    ArrayRef<unsigned> axes, function_ref<uint32_t(ArrayRef<int64_t>)> place) {
  SmallVector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;)
    strides[i - 1] = strides[i] * sizes[i];
  StreamGroups stream;
  stream.groupOf.resize(numRanks);
  // A group is identified by its first rank, whose positions along `axes` are
  // 0.
  std::vector<uint32_t> numberOf(numRanks);
  for (int64_t rank = 0; rank != numRanks; ++rank) {
    int64_t first = rank;
    for (uint32_t axis : axes)
      first -= rank / strides[axis] % sizes[axis] * strides[axis];
    if (first == rank) {
      numberOf[rank] = stream.members.size();
      stream.members.emplace_back();
    }
    stream.groupOf[rank] = numberOf[first];
    stream.members[numberOf[first]].push_back(rank);
  }
  for (ArrayRef<int64_t> members : stream.members)
    stream.placements.push_back(place(members));
  streams.push_back(std::move(stream));
}

void RankClassifier::classifyGroups(StreamGroups &stream) const {
  std::map<std::vector<uint32_t>, uint32_t> numbers;
  stream.classes.clear();
  for (auto [members, placement] : zip(stream.members, stream.placements)) {
    std::vector<uint32_t> key;
    for (int64_t rank : members)
      key.push_back(classes[rank]);
    llvm::sort(key);
    key.push_back(placement);
    stream.classes.push_back(
        numbers.try_emplace(key, numbers.size()).first->second);
  }
}

bool RankClassifier::classifyRanks() {
  std::map<std::vector<uint32_t>, uint32_t> numbers;
  std::vector<uint32_t> next(numRanks);
  for (int64_t rank = 0; rank != numRanks; ++rank) {
    // Classes are only ever split.
    std::vector<uint32_t> key = {classes[rank]};
    for (const StreamGroups &stream : streams)
      key.push_back(stream.classes[stream.groupOf[rank]]);
    next[rank] = numbers.try_emplace(key, numbers.size()).first->second;
  }
  bool isChanged = numbers.size() != numClasses;
  numClasses = numbers.size();
  classes = std::move(next);
  return isChanged;
}

void RankClassifier::refine() {
  do {
    for (StreamGroups &stream : streams)
      classifyGroups(stream);
  } while (classifyRanks());
}

RankClasses RankClassifier::getResult() const {
  RankClasses result;
  result.ranks.resize(numClasses);
  for (int64_t rank = numRanks; rank-- > 0;) {
    RankClass &rankClass = result.ranks[classes[rank]];
    rankClass.firstRank = rank;
    ++rankClass.count;
    rankClass.groups.clear();
    for (const StreamGroups &stream : streams)
      rankClass.groups.push_back(stream.classes[stream.groupOf[rank]]);
  }
  for (const StreamGroups &stream : streams) {
    std::vector<GroupClass> &groups = result.groups.emplace_back();
    for (auto [group, number] : enumerate(stream.classes)) {
      if (number == groups.size()) {
        GroupClass &added = groups.emplace_back();
        for (int64_t rank : stream.members[group])
          added.rankClasses.push_back(classes[rank]);
        llvm::sort(added.rankClasses);
        added.rankClasses.erase(llvm::unique(added.rankClasses),
                                added.rankClasses.end());
        added.placement = stream.placements[group];
      }
      ++groups[number].count;
    }
  }
  return result;
}

RankClasses regather::findRankClasses(
    ArrayRef<int64_t> meshSizes, ArrayRef<std::vector<unsigned>> streamAxes,
    function_ref<uint32_t(uint32_t, ArrayRef<int64_t>)> place) {
  RankClassifier classifier(meshSizes);
  for (size_t stream = 0; stream != streamAxes.size(); ++stream)
    classifier.addStream(streamAxes[stream], [&](ArrayRef<int64_t> members) {
      return place(stream, members);
    });
  classifier.refine();
  return classifier.getResult();
}
