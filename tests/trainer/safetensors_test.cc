// SPDX-License-Identifier: Apache-2.0
// Files of tensors: what is written is read, and what is damaged is refused with a sentence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "tests/base/sanitized.h"
#include "tests/trainer/temporary_folder.h"
#include "trainer/exchange/safetensors_reader.h"
#include "trainer/exchange/safetensors_writer.h"

namespace weir::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Length, header and data, as in a file.
std::string file_of(const std::string& header, const std::string& data) {
  std::string text;
  for (int byte = 0; byte < 8; ++byte) text += static_cast<char>(header.size() >> (8 * byte) & 0xff);
  return text + header + data;
}

class Safetensors : public ::testing::Test {
 protected:
  std::string put(const std::string& content) const {
    std::ofstream(path_, std::ios::binary) << content;
    return path_;
  }
  /// The error of a file with this header, after its path.
  std::string refused(const std::string& header, size_t data_bytes) const {
    return refused_file(file_of(header, std::string(data_bytes, 'x')));
  }
  std::string refused_file(const std::string& content) const {
    const auto opened = SafetensorsReader::open(put(content));
    EXPECT_EQ(opened.status().code(), Code::invalid_argument);
    EXPECT_THAT(opened.status().message(), StartsWith(path_ + ": "));
    return opened.ok() ? "accepted" : opened.status().message().substr(path_.size() + 2);
  }

  checkpoint::TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/model.safetensors";
};

TEST_F(Safetensors, WhatIsWrittenIsRead) {
  const std::vector<float> first = {1, -2.5f, 3e30f, 0, -0.0f, 7}, second = {42};
  auto writer = SafetensorsWriter::create(
      path_, {{.name = "b \"x\"", .type = "", .shape = {2, 3}}, {.name = "a", .type = "", .shape = {1}}});
  ASSERT_TRUE(writer.ok()) << writer.status().message();
  ASSERT_TRUE(writer->write(first).ok());
  ASSERT_FALSE(SafetensorsReader::open(path_).ok()) << "not before it is complete";
  ASSERT_TRUE(writer->write(second).ok());
  ASSERT_TRUE(writer->finish().ok());
  const auto reader = SafetensorsReader::open(path_);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  EXPECT_EQ(*reader->read("b \"x\"", {2, 3}), first);
  EXPECT_EQ(*reader->read("a", {1}), second);
  EXPECT_TRUE(std::signbit((*reader->read("b \"x\"", {2, 3}))[4])) << "bits, not values";
  EXPECT_FALSE(reader->has("c"));
  EXPECT_EQ(reader->tensors()[0].first % 8, 0u);
}

TEST_F(Safetensors, AnUnfinishedFileLeavesNothing) {
  { EXPECT_TRUE(SafetensorsWriter::create(path_, {{.name = "a", .type = "", .shape = {1}}}).ok()); }
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  EXPECT_THAT(SafetensorsWriter::create("/no/such/file", {}).status().message(),
              HasSubstr("/no/such/file: the model cannot be written: No such file"));
}

TEST_F(Safetensors, OtherRealNumbersBecomeFloats) {
  const double wide[] = {1.5, -1e-3};
  const uint16_t half[] = {0x3c00, 0xc000, 0x0001, 0x7c00, 0x8000, 0x03ff}, brief[] = {0x3f80, 0xc000};
  std::string data(reinterpret_cast<const char*>(wide), sizeof wide);
  data.append(reinterpret_cast<const char*>(half), sizeof half);
  data.append(reinterpret_cast<const char*>(brief), sizeof brief);
  put(file_of(R"({"__metadata__":{"format":"pt"},"h":{"dtype":"F16","shape":[6],"data_offsets":[16,28]},)"
              R"("b":{"dtype":"BF16","shape":[2,1],"data_offsets":[28,32]},)"
              R"("w":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}}  )",
              data));
  const auto reader = SafetensorsReader::open(path_);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  EXPECT_THAT(*reader->read("w", {2}), ElementsAre(1.5f, -1e-3f));
  EXPECT_THAT(*reader->read("h", {6}),
              ElementsAre(1.0f, -2.0f, std::ldexp(1.0f, -24), INFINITY, -0.0f, std::ldexp(1023.0f, -24)));
  EXPECT_THAT(*reader->read("b", {2, 1}), ElementsAre(1.0f, -2.0f));
}

TEST_F(Safetensors, WhatIsNotExpectedIsNamed) {
  put(file_of(R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
              R"("n":{"dtype":"I64","shape":[],"data_offsets":[24,32]}})",
              std::string(32, '\0')));
  const auto reader = SafetensorsReader::open(path_);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  const auto said = [&](const char* name, const std::vector<uint64_t>& shape) {
    return reader->read(name, shape).status().message().substr(path_.size() + 2);
  };
  EXPECT_EQ(said("a", {3, 2}), "tensor 'a' has shape [2, 3]; expected [3, 2]");
  EXPECT_EQ(said("b", {3, 2}), "has no tensor 'b'; expected one of shape [3, 2]");
  EXPECT_EQ(said("n", {}), "tensor 'n' has dtype I64; expected F32, F64, F16 or BF16");
}

TEST_F(Safetensors, DamageIsNamed) {
  EXPECT_EQ(refused_file("abc"), "3 bytes are too few; expected 8 bytes with the length of the header");
  EXPECT_EQ(refused_file(file_of(std::string(20, ' '), "").substr(0, 20)),
            "the header has 20 bytes by the file's first 8 bytes; expected at most 12");
  EXPECT_EQ(refused_file(std::string(8, '\xff') + "{}"),
            "the header has 18446744073709551615 bytes by the file's first 8 bytes; expected at most 2");
  EXPECT_THAT(refused("{\"a\":", 0), StartsWith("the header is not JSON: "));
  EXPECT_THAT(refused(std::string(100'000, '['), 0), StartsWith("the header is not JSON: "));
  EXPECT_THAT(refused("{\"a\":{\"dtype\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}}", 0),
              StartsWith("tensor 'a' has no dtype; "));
  EXPECT_EQ(refused("[1]", 0), "the header is JSON's array; expected an object");
  EXPECT_EQ(refused(R"({"a":7})", 0), "the entry of tensor 'a' is number; expected an object");
  EXPECT_EQ(refused(R"({"a":{"shape":[1],"data_offsets":[0,4]}})", 4),
            "tensor 'a' has no dtype; expected a string such as \"F32\"");
  EXPECT_THAT(refused(R"({"a":{"dtype":"F33","shape":[1],"data_offsets":[0,4]}})", 4),
              StartsWith("tensor 'a' has the unknown dtype 'F33'; expected one of BOOL, U8, "));
  EXPECT_EQ(refused(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4),
            "tensor 'a' has no shape; expected a list of numbers from 0");
  EXPECT_EQ(refused(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4),
            "tensor 'a' has no data_offsets; expected a list of its first byte and the first one after it");
  EXPECT_EQ(refused(R"({"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,12]}})", 12),
            "tensor 'a' has 12 bytes by its data_offsets; its shape [2, 2] of F32 takes 16");
  EXPECT_EQ(
      refused(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0),
      "tensor 'a' has 0 bytes by its data_offsets; its shape [4294967296, 4294967296] of F32 takes more "
      "than fit into 64 bits");
  EXPECT_EQ(refused(R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}})", 1),
            "tensor 'a' has 1 bytes by its data_offsets; its shape [3] of F4 takes no whole number of bytes");
}

TEST_F(Safetensors, BytesThatDoNotMatchTheDataAreNamed) {
  const auto two = [](int a, int a_end, int b, int b_end) {
    return fmt::format(R"({{"a":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}},)"
                       R"("b":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}}}})",
                       a_end - a, a, a_end, b_end - b, b, b_end);
  };
  EXPECT_EQ(refused(two(0, 4, 4, 8), 7),
            "tensor 'b' is in bytes 4 to 8 of the data; the file has 7 bytes of it");
  EXPECT_EQ(refused(two(0, 4, 3, 8), 8),
            "tensor 'b' begins at byte 3 of the data, where tensor 'a' ends only at byte 4");
  EXPECT_EQ(refused(two(4, 8, 0, 3), 8), "bytes 3 to 4 of the data, before tensor 'a', belong to no tensor");
  EXPECT_EQ(refused(two(0, 4, 4, 8), 9), "the file has 9 bytes of data; expected 8, where tensor 'b' ends");
  EXPECT_EQ(refused("{}", 1), "the file has 1 bytes of data; expected 0, where the header ends");
  EXPECT_EQ(refused(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                    R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                    1),
            "the header has two tensors 'a'");
}

TEST_F(Safetensors, WhatCannotBeOpenedIsNamed) {
  EXPECT_EQ(SafetensorsReader::open("/no/such/file").status().message(),
            "/no/such/file: the model cannot be opened: No such file or directory");
  EXPECT_EQ(SafetensorsReader::open(folder_.path()).status().message(),
            folder_.path() + ": is no regular file");
  const std::string pipe = folder_.path() + "/pipe";  // that nobody writes to
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(SafetensorsReader::open(pipe).status().message(), pipe + ": is no regular file");
  put(file_of(R"({"a":{"dtype":"F32","shape":[100000],"data_offsets":[0,400000]}})",
              std::string(400'000, '1')));
  const auto reader = SafetensorsReader::open(path_);
  std::filesystem::resize_file(path_, 20'000);
  EXPECT_THAT(reader->read("a", {100'000}).status().message(), HasSubstr("the file has become shorter"));
}

/// A file with a few random changes: bytes, pieces, lengths, digits.
std::string changed(std::string text, std::mt19937& random) {
  const auto below = [&](size_t limit) { return random() % std::max<size_t>(limit, 1); };
  for (size_t changes = 1 + below(3); changes > 0 && !text.empty(); --changes) {
    const size_t at = below(2) == 0 ? below(text.size()) : below(std::min<size_t>(text.size(), 300));
    switch (below(6)) {
      case 0: text[at] = static_cast<char>(random()); break;
      case 1: text.erase(at, 1 + below(9)); break;
      case 2: text.insert(at, text.substr(below(text.size()), 1 + below(9))); break;
      case 3: text.resize(at); break;
      case 4: text[below(std::min<size_t>(8, text.size()))] = static_cast<char>(random()); break;
      default:
        if (const size_t digit = text.find_first_of("0123456789", at); digit != std::string::npos)
          text[digit] = static_cast<char>('0' + random() % 10);
    }
  }
  return text;
}

TEST_F(Safetensors, ChangedFilesAreReadOrRefused) {
  std::string data(6 * 4 + 2 * 8 + 4 * 2 + 3, '\1');
  const std::string sound =
      file_of(R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
              R"("w":{"dtype":"F64","shape":[2],"data_offsets":[24,40]},)"
              R"("h":{"dtype":"BF16","shape":[2,2],"data_offsets":[40,48]},)"
              R"("m":{"dtype":"BOOL","shape":[3],"data_offsets":[48,51]}}     )",
              data);
  ASSERT_TRUE(SafetensorsReader::open(put(sound)).ok());
  std::mt19937 random(1);
  int refusals = 0;
  const int rounds = weir::testing::enough(5000);
  for (int round = 0; round < rounds; ++round) {
    const auto reader = SafetensorsReader::open(put(changed(sound, random)));
    if (!reader.ok()) {
      ++refusals;
      EXPECT_THAT(reader.status().message(), StartsWith(path_ + ": "));
      continue;
    }
    for (const TensorEntry& tensor : reader->tensors()) {
      const auto values = reader->read(tensor.name, tensor.shape);
      if (values.ok()) {
        EXPECT_EQ(values->size(), tensor.elements());
      }
    }
  }
  EXPECT_GT(refusals, rounds / 3);
  EXPECT_LT(refusals, rounds) << "changes of elements alone cannot be seen";
}

}  // namespace
}  // namespace weir::trainer
