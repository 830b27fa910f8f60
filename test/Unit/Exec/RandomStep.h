//===- RandomStep.h - Steps for tests of programs ---------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_UNIT_EXEC_RANDOMSTEP_H
#define REGATHER_TEST_UNIT_EXEC_RANDOMSTEP_H

#include <cstdint>
#include <string>

namespace regather::test {

/// The text of a module with a step of launches, collectives, flat tensors,
/// views, branches and loops, which updates some of its arguments. Collectives
/// are waited for at once, later, or never.
std::string makeRandomStep(uint64_t seed);

} // namespace regather::test

#endif // REGATHER_TEST_UNIT_EXEC_RANDOMSTEP_H
