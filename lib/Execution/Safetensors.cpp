//===- Safetensors.cpp - Files of named tensors ---------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Safetensors.h"

#include "regather/Support/AtomicFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace regather;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

/// The format's own limit, which keeps a damaged length from being believed.
static constexpr uint64_t kMaxHeaderBytes = 100'000'000;

namespace {
struct DtypeInfo {
  StringRef name;
  unsigned bytes;
};
} // namespace

/// All types of the format; those that we cannot run can still be skipped.
static constexpr DtypeInfo kDtypes[] = {
    {"F64", 8},     {"F32", 4},     {"F16", 2},  {"BF16", 2},
    {"I64", 8},     {"I32", 4},     {"I16", 2},  {"I8", 1},
    {"U64", 8},     {"U32", 4},     {"U16", 2},  {"U8", 1},
    {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"BOOL", 1}, {"C64", 8}};

static StringRef getDtype(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return "F32";
  case ElementType::F64:
    return "F64";
  case ElementType::BF16:
    return "BF16";
  case ElementType::F16:
    return "F16";
  case ElementType::I1:
    return "BOOL";
  case ElementType::I8:
    return "I8";
  case ElementType::I16:
    return "I16";
  case ElementType::I32:
    return "I32";
  case ElementType::I64:
    return "I64";
  }
  llvm_unreachable("unknown element type");
}

template <typename... Args>
static Error makeError(const char *format, Args &&...args) {
  return llvm::createStringError(
      llvm::formatv(format, std::forward<Args>(args)...).str());
}

static std::string formatShape(llvm::ArrayRef<int64_t> shape) {
  std::string text = "[";
  llvm::raw_string_ostream stream(text);
  llvm::interleaveComma(shape, stream);
  return text + "]";
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

Expected<SafetensorsFile> SafetensorsFile::open(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return makeError("cannot read '{0}': {1}", path,
                     buffer.getError().message());
  SafetensorsFile file;
  file.path = path.str();
  file.buffer = std::move(*buffer);
  StringRef bytes = file.buffer->getBuffer();
  if (bytes.size() < 8)
    return makeError("'{0}' is not a safetensors file: expects at least 8 "
                     "bytes, got {1}",
                     path, bytes.size());
  uint64_t length = llvm::support::endian::read64le(bytes.data());
  if (length > kMaxHeaderBytes || length > bytes.size() - 8)
    return makeError("'{0}' is cut off or damaged: its header claims {1} "
                     "bytes, but {2} follow",
                     path, length, bytes.size() - 8);
  file.data = bytes.substr(8 + length);
  if (Error error = file.parseHeader(bytes.substr(8, length), file.data.size()))
    return std::move(error);
  return std::move(file);
}

/// What the JSON parser does not refuse: it recurses without limit, and of
/// equal names it keeps one.
static Error checkHeaderText(StringRef header, StringRef path) {
  // Tensors need three levels: the header, a tensor, its shape.
  constexpr int64_t kMaxDepth = 16;
  int64_t depth = 0;
  llvm::StringSet<> names;
  StringRef text;
  for (size_t i = 0; i < header.size(); ++i) {
    char c = header[i];
    if (c == '"') {
      size_t begin = i++;
      while (i < header.size() && header[i] != '"')
        i += header[i] == '\\' ? 2 : 1;
      text = header.slice(begin, i + 1);
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxDepth)
        return makeError("header of '{0}' is nested deeper than {1} levels",
                         path, kMaxDepth);
    } else if (c == '}' || c == ']') {
      --depth;
    } else if (c == ':' && depth == 1) {
      // The text of a name may hold escapes.
      Expected<llvm::json::Value> name = llvm::json::parse(text);
      if (!name) {
        // The parser of the whole header says where.
        llvm::consumeError(name.takeError());
        continue;
      }
      auto string = name->getAsString();
      if (string && !names.insert(*string).second)
        return makeError("header of '{0}' describes tensor \"{1}\" twice", path,
                         *string);
    }
  }
  return Error::success();
}

Error SafetensorsFile::parseHeader(StringRef header, uint64_t dataSize) {
  if (Error error = checkHeaderText(header, path))
    return error;
  Expected<llvm::json::Value> json = llvm::json::parse(header);
  if (!json)
    return makeError("header of '{0}' is not JSON: {1}", path,
                     llvm::toString(json.takeError()));
  const llvm::json::Object *object = json->getAsObject();
  if (!object)
    return makeError("header of '{0}' must be a JSON object", path);
  for (const auto &[key, value] : *object) {
    StringRef name = key;
    if (name == "__metadata__")
      continue;
    auto bad = [&, name = name](StringRef what) {
      return makeError("tensor \"{0}\" in '{1}': {2}", name, path, what);
    };
    const llvm::json::Object *fields = value.getAsObject();
    if (!fields)
      return bad("expects an object");
    auto dtype = fields->getString("dtype");
    const auto *info = llvm::find_if(kDtypes, [&](const DtypeInfo &info) {
      return dtype && info.name == *dtype;
    });
    if (info == std::end(kDtypes))
      return bad(dtype ? "unknown dtype \"" + dtype->str() + "\""
                       : std::string("has no dtype"));
    const llvm::json::Array *shape = fields->getArray("shape");
    const llvm::json::Array *offsets = fields->getArray("data_offsets");
    if (!shape || !offsets || offsets->size() != 2)
      return bad("expects a shape and two data_offsets");

    Entry entry;
    entry.dtype = dtype->str();
    uint64_t bytes = info->bytes;
    for (const llvm::json::Value &size : *shape) {
      std::optional<int64_t> number = size.getAsInteger();
      if (!number || *number < 0)
        return bad("shape must hold non-negative integers");
      entry.shape.push_back(*number);
      if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(*number), &bytes))
        return bad("shape is too large");
    }
    std::optional<uint64_t> begin = (*offsets)[0].getAsUINT64();
    std::optional<uint64_t> end = (*offsets)[1].getAsUINT64();
    if (!begin || !end || *begin > *end || *end > dataSize)
      return bad(llvm::formatv("data_offsets lie outside the {0} bytes of "
                               "data{1}",
                               dataSize,
                               end && *end > dataSize
                                   ? "; the file seems to be cut off"
                                   : "")
                     .str());
    if (*end - *begin != bytes)
      return bad(llvm::formatv("shape {0} of {1} needs {2} bytes, but "
                               "data_offsets give {3}",
                               formatShape(entry.shape), entry.dtype, bytes,
                               *end - *begin)
                     .str());
    entry.begin = *begin;
    entry.end = *end;
    entries[name] = std::move(entry);
    names.push_back(name.str());
  }
  return checkLayout(dataSize);
}

/// Two tensors that share bytes, or bytes that no tensor owns, mean that the
/// header does not describe this file.
Error SafetensorsFile::checkLayout(uint64_t dataSize) {
  llvm::sort(names, [&](const std::string &a, const std::string &b) {
    const Entry &left = entries[a], &right = entries[b];
    return std::tie(left.begin, left.end, a) <
           std::tie(right.begin, right.end, b);
  });
  uint64_t position = 0;
  for (const std::string &name : names) {
    const Entry &entry = entries[name];
    if (entry.begin != position)
      return makeError("tensor \"{0}\" in '{1}': data begins at {2}, but the "
                       "tensor before it ends at {3}",
                       name, path, entry.begin, position);
    position = entry.end;
  }
  if (position != dataSize)
    return makeError("'{0}' has {1} bytes of data, but its tensors end at {2}",
                     path, dataSize, position);
  return Error::success();
}

Expected<HostTensor>
SafetensorsFile::read(StringRef name, ElementType type,
                      llvm::ArrayRef<int64_t> shape) const {
  auto it = entries.find(name);
  if (it == entries.end())
    return makeError("'{0}' has no tensor \"{1}\"", path, name);
  const Entry &entry = it->second;
  // A step takes unsigned bytes as signless ones with the same bits.
  bool isByte = type == ElementType::I8 && entry.dtype == "U8";
  if (entry.dtype != getDtype(type) && !isByte)
    return makeError("tensor \"{0}\" in '{1}' must have dtype {2}, got {3}",
                     name, path, getDtype(type), entry.dtype);
  if (llvm::ArrayRef<int64_t>(entry.shape) != shape)
    return makeError("tensor \"{0}\" in '{1}' must have shape {2}, got {3}",
                     name, path, formatShape(shape), formatShape(entry.shape));
  HostTensor tensor = HostTensor::uninitialized(type, shape);
  std::memcpy(tensor.getData(), data.data() + entry.begin,
              entry.end - entry.begin);
  return tensor;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

Error regather::writeSafetensors(StringRef path,
                                 llvm::ArrayRef<NamedTensor> tensors) {
  std::string header;
  llvm::raw_string_ostream stream(header);
  llvm::json::OStream json(stream);
  int64_t offset = 0;
  json.object([&] {
    for (const auto &[name, tensor] : tensors)
      json.attributeObject(name, [&, &tensor = tensor] {
        json.attribute("dtype", getDtype(tensor.getType()));
        json.attributeArray("shape", [&] {
          for (int64_t size : tensor.getShape())
            json.value(size);
        });
        json.attributeArray("data_offsets", [&] {
          json.value(offset);
          json.value(offset += tensor.getNumBytes());
        });
      });
  });
  // Readers map the file: align the data for the widest element.
  header.append(llvm::offsetToAlignment(header.size(), llvm::Align(8)), ' ');
  return writeFileAtomically(path, [&](llvm::raw_ostream &os) {
    char length[8];
    llvm::support::endian::write64le(length, header.size());
    os.write(length, sizeof(length));
    os << header;
    for (const NamedTensor &named : tensors)
      os.write(reinterpret_cast<const char *>(named.tensor.getData()),
               named.tensor.getNumBytes());
  });
}
