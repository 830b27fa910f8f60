//===- Safetensors.h - Files of named tensors -------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Reads and writes the safetensors format: eight bytes with the length of a
// JSON header (little endian), the header, and the bytes of all tensors.
// Source: the format section of https://github.com/huggingface/safetensors.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_EXECUTION_TENSORS_SAFETENSORS_H
#define REGATHER_EXECUTION_TENSORS_SAFETENSORS_H

#include "regather/Execution/Tensors/HostTensor.h"

#include "regather/Support/MappedFile.h"
#include "regather/Support/Result.h"

#include <nlohmann/json_fwd.hpp>

#include <map>

namespace regather {

struct NamedTensor {
  std::string name;
  HostTensor tensor;
};

/// The key under which a file says how many segments the batch has of the
/// elastic step that saved it; absent for all others.
inline constexpr const char *kElasticKey = "regather.elastic";
/// The same for its elastic axes of the model, such as tp:4.
inline constexpr const char *kElasticAxesKey = "regather.elastic-axes";

/// Global tensors by name.
class TensorSource {
public:
  virtual ~TensorSource() = default;

  virtual bool contains(const std::string &name) const = 0;

  /// Names of all tensors, in a fixed order.
  virtual const std::vector<std::string> &getNames() const = 0;

  /// The segments of the elastic step that saved them; 0 for all others.
  virtual int64_t getSegments() const { return 0; }
  /// Its elastic axes of the model, such as tp:4; empty if there is none.
  virtual std::string getElasticAxes() const { return ""; }

  /// Copies the tensor called `name`, whose type and global shape must be as
  /// given.
  virtual Result<HostTensor> read(const std::string &name, ElementType type,
                                  const Shape &shape) const = 0;
};

/// A safetensors file that was opened for reading. The header is checked as a
/// whole when the file is opened: types and shapes make sense, and the tensors
/// cover the file without gap or overlap.
class SafetensorsFile : public TensorSource {
public:
  /// Maps `path`. Errors name the file, and the tensor where there is one.
  static Result<SafetensorsFile> open(const std::string &path);

  bool contains(const std::string &name) const override {
    return entries.count(name) != 0;
  }

  /// Names of all tensors, in the order of their data.
  const std::vector<std::string> &getNames() const override { return names; }

  int64_t getSegments() const override;
  std::string getElasticAxes() const override;

  Result<HostTensor> read(const std::string &name, ElementType type,
                          const Shape &shape) const override;

  /// The shape of the tensor called `name`; null if there is none.
  const Shape *getShape(const std::string &name) const;

  /// Text that the writer of the file added under this key; null if there is
  /// none.
  const std::string *getMetadata(const std::string &key) const;

  const std::string &getPath() const { return path; }

private:
  struct Entry {
    std::string dtype;
    Shape shape;
    uint64_t begin = 0;
    uint64_t end = 0;
  };
  /// Returns what is wrong with the description of a tensor.
  static std::string readEntry(const nlohmann::json &fields, uint64_t dataSize,
                               Entry &entry);
  Failure parseHeader(std::string_view header, uint64_t dataSize);
  Failure checkLayout(uint64_t dataSize);

  std::string path;
  MappedFile file;
  std::string_view data;
  std::map<std::string, Entry> entries;
  std::map<std::string, std::string> metadata;
  std::vector<std::string> names;
};

/// Writes `tensors` in the given order, and texts by their keys. The file
/// appears under its name when it is complete; names are unique.
Failure
writeSafetensors(const std::string &path,
                 const std::vector<NamedTensor> &tensors,
                 const std::map<std::string, std::string> &metadata = {});

} // namespace regather

#endif // REGATHER_EXECUTION_TENSORS_SAFETENSORS_H
