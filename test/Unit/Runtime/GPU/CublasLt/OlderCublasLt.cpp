//===- OlderCublasLt.cpp - The stand-in by the name of an older library ---===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whoever looks up a function here finds that of the stand-in, which this
// library needs.
//
//===----------------------------------------------------------------------===//
