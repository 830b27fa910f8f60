//===- Json.h - JSON with places and exact numbers --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reader of JSON text. llvm::json forgets two things that a captured graph
// needs: whether a number was written `1` or `1.0`, which are different
// arguments, and where in the file a value stood. It also recurses on nesting.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_IMPORT_JSON_H
#define REGATHER_LIB_IMPORT_JSON_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Allocator.h"
#include <optional>
#include <string>

namespace regather::fx {

struct JsonMember;

/// One value of a document. Small and immutable; what it refers to belongs to
/// the document and its text.
class JsonValue {
public:
  enum class Kind : uint8_t {
    Null,
    Boolean,
    Integer,
    Float,
    String,
    Array,
    Object
  };

  JsonValue() = default;
  JsonValue(Kind kind, size_t offset) : kind(kind), offset(offset) {}

  Kind getKind() const { return kind; }
  bool is(Kind expected) const { return kind == expected; }
  /// Where the value begins: bytes from the start of the text. No two values
  /// of a document begin at the same place.
  size_t getOffset() const { return offset; }

  bool getBoolean() const { return boolean; }
  int64_t getInteger() const { return integer; }
  double getFloat() const { return number; }
  llvm::StringRef getString() const { return {characters, size}; }
  llvm::ArrayRef<JsonValue> getElements() const { return {elements, size}; }
  inline llvm::ArrayRef<JsonMember> getMembers() const;

  /// The member called `key`, or null, also if this is no object. Linear in the
  /// members.
  const JsonValue *find(llvm::StringRef key) const;

private:
  friend class JsonParser;

  Kind kind = Kind::Null;
  size_t offset = 0;
  size_t size = 0;
  union {
    bool boolean;
    int64_t integer;
    double number;
    const char *characters;
    const JsonValue *elements;
    const JsonMember *members = nullptr;
  };
};

struct JsonMember {
  llvm::StringRef key;
  JsonValue value;
};

llvm::ArrayRef<JsonMember> JsonValue::getMembers() const {
  return {members, size};
}

/// "an integer", "an object": for messages.
llvm::StringRef describeKind(JsonValue::Kind kind);

/// Why a text is not JSON, and where.
struct JsonError {
  std::string message;
  size_t offset;
  /// The bracket that is still open, if that is what is wrong.
  std::optional<size_t> opened = std::nullopt;
};

/// A parsed text. Strings without escapes point into it, so it must live as
/// long as the document.
class JsonDocument {
public:
  /// Deeper nesting is an error, so that code that walks values may recurse.
  static constexpr size_t kMaxDepth = 200;

  /// Reads the whole text without recursion, in linear time.
  std::optional<JsonError> parse(llvm::StringRef text);

  const JsonValue &getRoot() const { return root; }

private:
  friend class JsonParser;

  llvm::BumpPtrAllocator allocator;
  JsonValue root;
};

} // namespace regather::fx

#endif // REGATHER_LIB_IMPORT_JSON_H
