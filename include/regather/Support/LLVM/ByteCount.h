//===- ByteCount.h - An option that is a number of bytes --------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_SUPPORT_LLVM_BYTECOUNT_H
#define REGATHER_SUPPORT_LLVM_BYTECOUNT_H

#include "regather/Support/LLVM/ParseBytes.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

namespace regather {

/// The type of options of passes that are read as `40GB`, `512MiB` or a number;
/// negative for none.
struct ByteCount {
  ByteCount(int64_t bytes = -1) : bytes(bytes) {}
  operator int64_t() const { return bytes; }

  int64_t bytes;
};

inline llvm::raw_ostream &operator<<(llvm::raw_ostream &os, ByteCount count) {
  return os << count.bytes;
}

} // namespace regather

namespace llvm::cl {
template <>
class parser<regather::ByteCount> : public basic_parser<regather::ByteCount> {
public:
  using basic_parser::basic_parser;

  /// True if the text is no number of bytes.
  bool parse(Option &option, StringRef, StringRef text,
             regather::ByteCount &value) {
    std::optional<int64_t> bytes = regather::parseBytes(text);
    if (!bytes && text != "-1")
      return option.error("'" + text +
                          "' value invalid for a number of bytes, such as "
                          "40GB or 512MiB!");
    value = bytes.value_or(-1);
    return false;
  }
  StringRef getValueName() const override { return "bytes"; }
  void printOptionDiff(const Option &option, regather::ByteCount value,
                       const OptionValue<regather::ByteCount> &,
                       size_t width) const {
    printOptionName(option, width);
    outs() << "= " << value << '\n';
  }
};
} // namespace llvm::cl

#endif // REGATHER_SUPPORT_LLVM_BYTECOUNT_H
