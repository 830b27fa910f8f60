//===- NcclFolder.h - Members of a group in other processes -----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// If REGATHER_STAND_IN_NCCL_FOLDER names a folder, the members of a group may
// be processes of one machine. They meet in files of the folder: each puts down
// what it does in an exchange, with the bytes that it sends, and carries the
// exchange out for itself when it has read what all others do.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_STANDIN_NCCL_NCCLFOLDER_H
#define REGATHER_TEST_STANDIN_NCCL_NCCLFOLDER_H

#include "StandInNccl.h"

namespace regather::runtime {

class NcclFolder {
public:
  /// Null if all members are in this process.
  static std::unique_ptr<NcclFolder> open(const std::string &id, int ranks);

  /// False if another member has the position.
  bool join(int position);
  bool isComplete();

  void post(size_t exchange, int position,
            const std::vector<NcclOperation> &operations);
  /// What another member has posted, with memory for its targets, both in
  /// `memory`. False if it has not yet.
  bool read(size_t exchange, int position,
            std::vector<NcclOperation> &operations,
            std::deque<std::vector<char>> &memory) const;
  /// Removes what a member has posted.
  void remove(size_t exchange, int position) const;

private:
  NcclFolder(std::string prefix, int ranks)
      : prefix(std::move(prefix)), ranks(ranks) {}
  std::string getPath(const std::string &what, int position) const;

  std::string prefix;
  int ranks;
  bool wasComplete = false;
};

} // namespace regather::runtime

#endif // REGATHER_TEST_STANDIN_NCCL_NCCLFOLDER_H
