//===- Result.h - Values or reasons -----------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_SUPPORT_RESULT_H
#define REGATHER_SUPPORT_RESULT_H

#include <optional>
#include <string>
#include <utility>

namespace regather {

/// Why something failed; true if it did. For code that links no LLVM. Costs no
/// allocation where nothing fails.
class [[nodiscard]] Failure {
public:
  Failure() = default;
  /// `code` tells kinds of failures apart where somebody has to: the runtime's
  /// are those of rg_status.
  Failure(std::string message, int code = 0)
      : message(std::move(message)), code(code) {}
  explicit operator bool() const { return message.has_value(); }
  const std::string &getMessage() const { return *message; }
  int getCode() const { return code; }

private:
  std::optional<std::string> message;
  int code = 0;
};

/// A value, or why there is none.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : value(std::move(value)) {}
  Result(Failure failure) : failure(std::move(failure)) {}

  explicit operator bool() const { return value.has_value(); }
  T &operator*() { return *value; }
  const T &operator*() const { return *value; }
  T *operator->() { return &*value; }
  const T *operator->() const { return &*value; }

  const Failure &getFailure() const { return failure; }
  const std::string &getMessage() const { return failure.getMessage(); }

private:
  std::optional<T> value;
  Failure failure;
};

} // namespace regather

#endif // REGATHER_SUPPORT_RESULT_H
