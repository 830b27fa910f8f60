//===- Safetensors.cpp - Files of named tensors ---------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Tensors/Safetensors.h"

#include "StepText.h"

#include "regather/Support/AtomicFile.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <set>
#include <tuple>

using namespace regather;
using Json = nlohmann::json;

/// The format's own limit, which keeps a damaged length from being believed.
static constexpr uint64_t kMaxHeaderBytes = 100'000'000;

namespace {
struct DtypeInfo {
  const char *name;
  unsigned bytes;
};
} // namespace

/// All types of the format; those that we cannot run can still be skipped.
static constexpr DtypeInfo kDtypes[] = {
    {"F64", 8},     {"F32", 4},     {"F16", 2},  {"BF16", 2},
    {"I64", 8},     {"I32", 4},     {"I16", 2},  {"I8", 1},
    {"U64", 8},     {"U32", 4},     {"U16", 2},  {"U8", 1},
    {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"BOOL", 1}, {"C64", 8}};

static const char *getDtype(ElementType type) {
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
  return "";
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// The format is little endian, as are the machines that this runs on.
static uint64_t readLength(std::string_view bytes) {
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof(length));
  return length;
}

Result<SafetensorsFile> SafetensorsFile::open(const std::string &path) {
  Result<MappedFile> mapped = MappedFile::open(path);
  if (!mapped)
    return Failure("cannot read '" + path + "': " + mapped.getMessage());
  SafetensorsFile file;
  file.path = path;
  file.file = std::move(*mapped);
  std::string_view bytes = file.file.getBytes();
  if (bytes.size() < 8)
    return Failure("'" + path +
                   "' is not a safetensors file: expects at least 8 bytes, "
                   "got " +
                   std::to_string(bytes.size()));
  uint64_t length = readLength(bytes);
  if (length > kMaxHeaderBytes || length > bytes.size() - 8)
    return Failure("'" + path + "' is cut off or damaged: its header claims " +
                   std::to_string(length) + " bytes, but " +
                   std::to_string(bytes.size() - 8) + " follow");
  file.data = bytes.substr(8 + length);
  if (Failure failure =
          file.parseHeader(bytes.substr(8, length), file.data.size()))
    return failure;
  return file;
}

namespace {
/// Finds what a parser of JSON lets pass: names that occur twice, and nesting
/// that nobody needs.
class HeaderChecks {
public:
  explicit HeaderChecks(const std::string &path) : path(path) {}

  bool check(int depth, Json::parse_event_t event, const Json &value) {
    // Tensors need three levels: the header, a tensor, its shape.
    constexpr int kMaxDepth = 16;
    if (depth > kMaxDepth && !failure)
      failure = Failure("header of '" + path + "' is nested deeper than " +
                        std::to_string(kMaxDepth) + " levels");
    if (event == Json::parse_event_t::key && depth == 1) {
      std::string name = value.get<std::string>();
      if (!names.insert(name).second && !failure)
        failure = Failure("header of '" + path + "' describes tensor " +
                          quote(name) + " twice");
    }
    // What is too deep is not kept.
    return depth <= kMaxDepth;
  }
  const Failure &getFailure() const { return failure; }

private:
  const std::string &path;
  std::set<std::string> names;
  Failure failure;
};
} // namespace

/// The array of non-negative integers in a field; nothing if it is none.
static std::optional<std::vector<uint64_t>> getNumbers(const Json &fields,
                                                       const char *name) {
  auto it = fields.find(name);
  if (it == fields.end() || !it->is_array())
    return std::nullopt;
  std::vector<uint64_t> numbers;
  for (const Json &number : *it) {
    if (!number.is_number_unsigned())
      return std::nullopt;
    numbers.push_back(number.get<uint64_t>());
  }
  return numbers;
}

Failure SafetensorsFile::parseHeader(std::string_view header,
                                     uint64_t dataSize) {
  HeaderChecks checks(path);
  Json json;
  try {
    json = Json::parse(header,
                       [&](int depth, Json::parse_event_t event, Json &value) {
                         return checks.check(depth, event, value);
                       });
  } catch (const Json::exception &error) {
    // Too deep a nesting often has no end either.
    if (checks.getFailure())
      return checks.getFailure();
    return Failure("header of '" + path + "' is not JSON: " + error.what());
  }
  if (checks.getFailure())
    return checks.getFailure();
  if (!json.is_object())
    return Failure("header of '" + path + "' must be a JSON object");
  for (const auto &[name, fields] : json.items()) {
    if (name == "__metadata__") {
      for (const auto &[key, text] : fields.items())
        if (text.is_string())
          metadata[key] = text.get<std::string>();
      continue;
    }
    Entry entry;
    std::string problem = readEntry(fields, dataSize, entry);
    if (!problem.empty())
      return Failure("tensor " + quote(name) + " in '" + path +
                     "': " + problem);
    entries[name] = std::move(entry);
    names.push_back(name);
  }
  return checkLayout(dataSize);
}

std::string SafetensorsFile::readEntry(const Json &fields, uint64_t dataSize,
                                       Entry &entry) {
  if (!fields.is_object())
    return "expects an object";
  auto dtype = fields.find("dtype");
  if (dtype == fields.end() || !dtype->is_string())
    return "has no dtype";
  entry.dtype = dtype->get<std::string>();
  const auto *info =
      std::find_if(std::begin(kDtypes), std::end(kDtypes),
                   [&](const DtypeInfo &i) { return i.name == entry.dtype; });
  if (info == std::end(kDtypes))
    return "unknown dtype " + quote(entry.dtype);
  auto offsets = fields.find("data_offsets");
  if (!fields.contains("shape") || !fields["shape"].is_array() ||
      offsets == fields.end() || !offsets->is_array() || offsets->size() != 2)
    return "expects a shape and two data_offsets";

  auto shape = getNumbers(fields, "shape");
  if (!shape)
    return "shape must hold non-negative integers";
  uint64_t bytes = info->bytes;
  for (uint64_t size : *shape) {
    if (size > INT64_MAX || __builtin_mul_overflow(bytes, size, &bytes))
      return "shape is too large";
    entry.shape.push_back(static_cast<int64_t>(size));
  }
  auto range = getNumbers(fields, "data_offsets");
  if (!range || (*range)[0] > (*range)[1] || (*range)[1] > dataSize)
    return "data_offsets lie outside the " + std::to_string(dataSize) +
           " bytes of data" +
           (range && (*range)[1] > dataSize ? "; the file seems to be cut off"
                                            : "");
  entry.begin = (*range)[0];
  entry.end = (*range)[1];
  if (entry.end - entry.begin != bytes)
    return "shape " + formatShape(entry.shape) + " of " + entry.dtype +
           " needs " + std::to_string(bytes) +
           " bytes, but data_offsets give " +
           std::to_string(entry.end - entry.begin);
  return "";
}

Failure SafetensorsFile::checkLayout(uint64_t dataSize) {
  std::sort(names.begin(), names.end(),
            [&](const std::string &a, const std::string &b) {
              const Entry &left = entries[a], &right = entries[b];
              return std::tie(left.begin, left.end, a) <
                     std::tie(right.begin, right.end, b);
            });
  uint64_t position = 0;
  for (const std::string &name : names) {
    const Entry &entry = entries[name];
    if (entry.begin != position)
      return Failure("tensor " + quote(name) + " in '" + path +
                     "': data begins at " + std::to_string(entry.begin) +
                     ", but the tensor before it ends at " +
                     std::to_string(position));
    position = entry.end;
  }
  if (position != dataSize)
    return Failure("'" + path + "' has " + std::to_string(dataSize) +
                   " bytes of data, but its tensors end at " +
                   std::to_string(position));
  return Failure();
}

Result<HostTensor> SafetensorsFile::read(const std::string &name,
                                         ElementType type,
                                         const Shape &shape) const {
  std::string who = "tensor " + quote(name) + " in '" + path + "'";
  auto it = entries.find(name);
  if (it == entries.end())
    return Failure("'" + path + "' has no tensor " + quote(name));
  const Entry &entry = it->second;
  // A step takes unsigned bytes as signless ones with the same bits.
  bool isByte = type == ElementType::I8 && entry.dtype == "U8";
  if (entry.dtype != getDtype(type) && !isByte)
    return Failure(who + " must have dtype " + getDtype(type) + ", got " +
                   entry.dtype);
  if (entry.shape != shape)
    return Failure(who + " must have shape " + formatShape(shape) + ", got " +
                   formatShape(entry.shape));
  HostTensor tensor = HostTensor::uninitialized(type, shape);
  std::memcpy(tensor.getData(), data.data() + entry.begin,
              entry.end - entry.begin);
  return tensor;
}

const Shape *SafetensorsFile::getShape(const std::string &name) const {
  auto it = entries.find(name);
  return it == entries.end() ? nullptr : &it->second.shape;
}

const std::string *SafetensorsFile::getMetadata(const std::string &key) const {
  auto it = metadata.find(key);
  return it == metadata.end() ? nullptr : &it->second;
}

int64_t SafetensorsFile::getSegments() const {
  const std::string *text = getMetadata(kElasticKey);
  int64_t segments = 0;
  if (text)
    std::from_chars(text->data(), text->data() + text->size(), segments);
  return segments;
}

std::string SafetensorsFile::getElasticAxes() const {
  const std::string *text = getMetadata(kElasticAxesKey);
  return text ? *text : std::string();
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

Failure
regather::writeSafetensors(const std::string &path,
                           const std::vector<NamedTensor> &tensors,
                           const std::map<std::string, std::string> &metadata) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!metadata.empty())
    json["__metadata__"] = metadata;
  int64_t offset = 0;
  for (const auto &[name, tensor] : tensors) {
    int64_t begin = offset;
    offset += tensor.getNumBytes();
    json[name] = {{"dtype", getDtype(tensor.getType())},
                  {"shape", tensor.getShape()},
                  {"data_offsets", {begin, offset}}};
  }
  std::string header = json.dump();
  // Readers map the file: align the data for the widest element.
  header.append((8 - header.size() % 8) % 8, ' ');
  uint64_t size = header.size();
  std::vector<std::string_view> parts = {
      {reinterpret_cast<const char *>(&size), sizeof(size)}, header};
  for (const NamedTensor &named : tensors)
    parts.push_back({reinterpret_cast<const char *>(named.tensor.getData()),
                     static_cast<size_t>(named.tensor.getNumBytes())});
  return writeFileAtomically(path, parts);
}
