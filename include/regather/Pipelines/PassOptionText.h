//===- PassOptionText.h - Options of passes as text -------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads texts such as `mode=auto effort=3` into the struct of options that
// mlir-tblgen declares for a pass, and prints such structs. regather-tblgen
// lists their fields: there is no other list. MLIR's own parser says that an
// option is wrong, but not what there is, nor where the user wrote it.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_PIPELINES_PASSOPTIONTEXT_H
#define REGATHER_PIPELINES_PASSOPTIONTEXT_H

#include "regather/Conversion/Passes.h"
#include "regather/Dialect/Exec/Transforms/Passes.h"
#include "regather/Dialect/TG/Transforms/Passes.h"
#include "regather/Support/Result.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/JSON.h"

#include <functional>

namespace regather {

#include "regather/Conversion/PassOptions.h.inc"

namespace exec {
#include "regather/Dialect/Exec/Transforms/PassOptions.h.inc"
} // namespace exec

namespace tg {
#include "regather/Dialect/TG/Transforms/PassOptions.h.inc"
} // namespace tg

/// The words for the values of an enumeration.
struct OptionChoices {
  std::vector<std::pair<std::string, int>> values;

  // What llvm::cl::values fills.
  OptionChoices &getParser() { return *this; }
  void addLiteralOption(llvm::StringRef name, int value, llvm::StringRef) {
    values.emplace_back(name, value);
  }
};

/// An option of a pass, as texts see it. Refers to the field that holds it.
struct OptionField {
  llvm::StringRef name;
  /// What a value looks like, such as "an integer"; empty if any text does.
  std::string expected;
  /// The words for the values of an enumeration.
  std::vector<std::string> choices;
  /// Sets the field; false, with the field as it was, for what is no value.
  std::function<bool(llvm::StringRef)> read;
  std::function<std::string()> print;
  /// A text, a truth value, a number, or a list.
  std::function<llvm::json::Value()> getJson;
};

OptionField makeField(llvm::StringRef name, std::string &value);
OptionField makeField(llvm::StringRef name, bool &value);
OptionField makeField(llvm::StringRef name, unsigned &value);
OptionField makeField(llvm::StringRef name, int64_t &value);
OptionField makeField(llvm::StringRef name, uint64_t &value);
OptionField makeField(llvm::StringRef name, double &value);
OptionField makeField(llvm::StringRef name, ByteCount &value);
OptionField makeField(llvm::StringRef name,
                      llvm::SmallVectorImpl<std::string> &values);
OptionField makeField(llvm::StringRef name,
                      llvm::SmallVectorImpl<double> &values);
OptionField makeField(llvm::StringRef name, const OptionChoices &choices,
                      std::function<int()> get, std::function<void(int)> set);

/// `name=value`. A name alone has an empty value.
struct PassOptionValue {
  std::string name, value;
};

/// Splits `a=1 b={x y}` at spaces where no bracket, quote or regular expression
/// (`/layers\.[0-3]/`) is open. Quotes, or braces, around a value are taken
/// off.
std::vector<PassOptionValue> splitPassOptions(llvm::StringRef text);

/// The options of one pass. Refers to the struct that holds them.
class PassOptionFields {
public:
  template <typename OptionsT>
  explicit PassOptionFields(OptionsT &options) : pass(getPassName(options)) {
    visitOptions(options, Collector{fields});
  }

  /// The pass, such as "tg-schedule".
  llvm::StringRef getPass() const { return pass; }
  llvm::ArrayRef<OptionField> getFields() const { return fields; }
  /// Null if there is no such option.
  const OptionField *find(llvm::StringRef name) const;

  /// Sets an option. Fails with a sentence that begins with `origin`, which
  /// says where the text is from.
  Failure set(const PassOptionValue &option, llvm::StringRef origin) const;
  /// Sets all that splitPassOptions finds in the text.
  Failure read(llvm::StringRef text, llvm::StringRef origin) const;

private:
  struct Collector {
    std::vector<OptionField> &fields;

    template <typename T> void operator()(llvm::StringRef name, T &value) {
      fields.push_back(makeField(name, value));
    }
    template <typename T, typename ValuesT>
    void operator()(llvm::StringRef name, T &value, const ValuesT &values) {
      OptionChoices choices;
      values.apply(choices);
      fields.push_back(makeField(
          name, choices, [&value] { return static_cast<int>(value); },
          [&value](int number) { value = static_cast<T>(number); }));
    }
  };

  llvm::StringRef pass;
  std::vector<OptionField> fields;
};

/// Prints what differs from `defaults`, as PassOptionFields::read takes it.
template <typename OptionsT>
std::string printPassOptions(OptionsT options, OptionsT defaults = {}) {
  PassOptionFields fields(options), ofDefaults(defaults);
  std::string text;
  for (auto [i, field] : llvm::enumerate(fields.getFields()))
    if (std::string value = field.print();
        value != ofDefaults.getFields()[i].print())
      text += (text.empty() ? "" : " ") + field.name.str() + "=" + value;
  return text;
}

} // namespace regather

#endif // REGATHER_PIPELINES_PASSOPTIONTEXT_H
