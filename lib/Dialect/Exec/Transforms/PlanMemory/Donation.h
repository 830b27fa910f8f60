//===- Donation.h - Updates in the memory of arguments ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_EXEC_TRANSFORMS_PLANMEMORY_DONATION_H
#define REGATHER_LIB_DIALECT_EXEC_TRANSFORMS_PLANMEMORY_DONATION_H

#include "InPlaceOutputs.h"

namespace regather::exec {

/// What became of the updates of donated arguments.
struct DonationResult {
  int64_t numDonated = 0, numCopied = 0;
  bool changed() const { return numDonated + numCopied > 0; }
};

/// Brings the updates of donated arguments into their memory: computes them
/// there, if the lifetimes say that the old value is not needed any more, or
/// copies them at the end. An update that is written in parts takes the memory
/// over if that is true of each part. What lies on the host is not copied; it
/// stays where it was made. `accesses` and `lifetimes` are out of date then.
DonationResult donateArguments(ProgramOp program,
                               const ProgramAccesses &accesses,
                               llvm::ArrayRef<BufferLifetime> lifetimes,
                               InPlaceOutputs &inPlace);

} // namespace regather::exec

#endif // REGATHER_LIB_DIALECT_EXEC_TRANSFORMS_PLANMEMORY_DONATION_H
