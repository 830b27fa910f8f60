//===- Contention.cpp - Time with contention ------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Contention.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>

using namespace llvm;
using namespace regather;
using namespace regather::overlap;

ContentionClock::ContentionClock(const Graph &graph)
    : graph(graph), streams(graph.numStreams), numInFlight(graph.links.size()),
      earlierBegin(graph.size()), placeInStream(graph.size()) {}

bool ContentionClock::canBegin(uint32_t number) const {
  const Stream &stream = streams[number];
  if (stream.activity.isActive() || stream.numDone == stream.issued.size())
    return false;
  uint32_t next = earlierBegin[stream.issued[stream.numDone]];
  return llvm::all_of(graph.conflicts[number], [&](uint32_t other) {
    return streams[other].numDone >= earlier[next++];
  });
}

void ContentionClock::beginAll() {
  bool isChanged;
  do {
    isChanged = false;
    for (auto [number, stream] : enumerate(streams)) {
      if (!canBegin(number))
        continue;
      isChanged = true;
      double seconds = graph.seconds[stream.issued[stream.numDone]];
      if (seconds > 0)
        stream.activity.begin(seconds, now);
      else
        ++stream.numDone;
    }
  } while (isChanged);
}

void ContentionClock::setSpeeds() {
  llvm::fill(numInFlight, 0);
  double slowdown = 1;
  for (auto [number, stream] : enumerate(streams)) {
    if (!stream.activity.isActive())
      continue;
    uint32_t link = graph.linkOf[number];
    ++numInFlight[link];
    slowdown = std::max(slowdown, graph.links[link].computeSlowdown);
  }
  if (compute.isActive())
    compute.setSpeed(1 / slowdown, now);
  for (auto [number, stream] : enumerate(streams)) {
    if (!stream.activity.isActive())
      continue;
    uint32_t link = graph.linkOf[number];
    double factor = numInFlight[link];
    if (compute.isActive())
      factor *= graph.links[link].collectiveSlowdown;
    stream.activity.setSpeed(1 / factor, now);
  }
}

bool ContentionClock::goToNextEvent() {
  beginAll();
  setSpeeds();
  double next = std::numeric_limits<double>::infinity();
  if (compute.isActive())
    next = compute.getEnd();
  for (const Stream &stream : streams)
    if (stream.activity.isActive())
      next = std::min(next, stream.activity.getEnd());
  if (next == std::numeric_limits<double>::infinity())
    return false;
  now = next;
  if (compute.isActive() && compute.getEnd() <= now)
    compute.finish();
  for (Stream &stream : streams) {
    if (!stream.activity.isActive() || stream.activity.getEnd() > now)
      continue;
    stream.activity.finish();
    ++stream.numDone;
  }
  return true;
}

double ContentionClock::run(uint32_t op) {
  double before = now;
  if (graph.isStart(op)) {
    Stream &stream = streams[graph.streams[op]];
    placeInStream[op] = stream.issued.size();
    stream.issued.push_back(op);
    earlierBegin[op] = earlier.size();
    for (uint32_t other : graph.conflicts[graph.streams[op]])
      earlier.push_back(streams[other].issued.size());
    return 0;
  }
  if (graph.isWait(op)) {
    uint32_t start = graph.partner[op];
    Stream &stream = streams[graph.streams[start]];
    // A collective that takes no time is complete as soon as it can begin.
    if (stream.numDone <= placeInStream[start])
      beginAll();
    while (stream.numDone <= placeInStream[start])
      goToNextEvent();
    return now - before;
  }
  if (graph.seconds[op] == 0)
    return 0;
  compute.begin(graph.seconds[op], now);
  while (compute.isActive())
    goToNextEvent();
  return 0;
}

double ContentionClock::finish() {
  while (goToNextEvent()) {
  }
  return now;
}
