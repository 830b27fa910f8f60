//===- SafetensorsTest.cpp - Files of named tensors -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Tensors/Safetensors.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

#include <cstring>

using namespace regather;

namespace {
/// A file that disappears with the test.
class SafetensorsTest : public ::testing::Test {
protected:
  SafetensorsTest() {
    llvm::SmallString<64> name;
    EXPECT_FALSE(
        llvm::sys::fs::createTemporaryFile("regather", "safetensors", name));
    path = name.str();
  }
  ~SafetensorsTest() override { EXPECT_FALSE(llvm::sys::fs::remove(path)); }

  /// Writes a header with its length, and some data.
  void writeRaw(llvm::StringRef header, size_t dataBytes) {
    std::error_code error;
    llvm::raw_fd_ostream os(path, error);
    char length[8];
    llvm::support::endian::write64le(length, header.size());
    os.write(length, 8);
    os << header << std::string(dataBytes, '\0');
  }

  /// The message with which opening fails.
  std::string openError() {
    auto file = SafetensorsFile::open(path);
    EXPECT_FALSE(bool(file));
    return file ? "" : file.getMessage();
  }

  std::string path;
};
} // namespace

TEST_F(SafetensorsTest, RoundTrip) {
  HostTensor a = HostTensor::zeros(ElementType::BF16, {2, 3});
  for (int64_t i = 0; i < 6; ++i)
    a.setFromDouble(i, static_cast<double>(i) - 2.5);
  HostTensor scalar = HostTensor::zeros(ElementType::I64, {});
  scalar.setFromDouble(0, -7);
  HostTensor empty = HostTensor::zeros(ElementType::F32, {0, 4});
  ASSERT_FALSE(bool(writeSafetensors(
      path, {{"a", a}, {"scalar", scalar}, {"empty", empty}})));

  auto file = SafetensorsFile::open(path);
  ASSERT_TRUE(bool(file));
  EXPECT_TRUE(file->contains("empty"));
  auto read = file->read("a", ElementType::BF16, {2, 3});
  ASSERT_TRUE(bool(read));
  EXPECT_EQ(std::memcmp(read->getData(), a.getData(), a.getNumBytes()), 0);
  auto number = file->read("scalar", ElementType::I64, {});
  ASSERT_TRUE(bool(number));
  EXPECT_EQ(number->getAsInteger(0), -7);
}

TEST_F(SafetensorsTest, NamesWhatDiffers) {
  ASSERT_FALSE(bool(writeSafetensors(
      path, {{"w", HostTensor::zeros(ElementType::F32, {2, 3})}})));
  auto file = SafetensorsFile::open(path);
  ASSERT_TRUE(bool(file));
  std::string quoted = "'" + path + "'";
  EXPECT_EQ(file->read("v", ElementType::F32, {2, 3}).getMessage(),
            quoted + " has no tensor \"v\"");
  EXPECT_EQ(file->read("w", ElementType::F32, {3, 2}).getMessage(),
            "tensor \"w\" in " + quoted +
                " must have shape [3, 2], got [2, 3]");
  EXPECT_EQ(file->read("w", ElementType::BF16, {2, 3}).getMessage(),
            "tensor \"w\" in " + quoted + " must have dtype BF16, got F32");
}

TEST_F(SafetensorsTest, RejectsLyingHeaders) {
  writeRaw(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 4);
  EXPECT_NE(openError().find("data_offsets lie outside the 4 bytes"),
            std::string::npos);
  writeRaw(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4);
  EXPECT_NE(openError().find("shape [2] of F32 needs 8 bytes, but "
                             "data_offsets give 4"),
            std::string::npos);
  writeRaw(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},
               "b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
           4);
  EXPECT_NE(openError().find("data begins at 0, but the tensor before it ends "
                             "at 4"),
            std::string::npos);
  writeRaw(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 8);
  EXPECT_NE(openError().find("has 8 bytes of data, but its tensors end at 4"),
            std::string::npos);
  writeRaw(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],)"
           R"("data_offsets":[0,0]}})",
           0);
  EXPECT_NE(openError().find("shape is too large"), std::string::npos);
  writeRaw(R"({"a":{"dtype":"F33","shape":[],"data_offsets":[0,0]}})", 0);
  EXPECT_NE(openError().find("unknown dtype \"F33\""), std::string::npos);
  writeRaw("[]", 0);
  EXPECT_NE(openError().find("must be a JSON object"), std::string::npos);
}

// Near miss: a file without tensors, and one with metadata only, are valid.
TEST_F(SafetensorsTest, AcceptsEmptyFiles) {
  writeRaw("{}", 0);
  EXPECT_TRUE(bool(SafetensorsFile::open(path)));
  writeRaw(R"({"__metadata__":{"format":"pt"}}   )", 0);
  EXPECT_TRUE(bool(SafetensorsFile::open(path)));
}
