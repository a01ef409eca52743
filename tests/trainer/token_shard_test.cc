// SPDX-License-Identifier: Apache-2.0
// Files of tokens with and without a header, and what is wrong with some.
#include "trainer/data/token_shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <random>
#include <vector>

#include "tests/base/sanitized.h"
#include "tests/trainer/temporary_folder.h"
#include "trainer/data/text.h"

namespace weir::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A shard as llm.c's dev/data/data_common.py writes it.
template <typename Stored>
std::string shard_of(uint32_t magic, uint32_t version, const std::vector<Stored>& tokens) {
  std::vector<uint32_t> header(256);
  header[0] = magic;
  header[1] = version;
  header[2] = static_cast<uint32_t>(tokens.size());
  std::string bytes(reinterpret_cast<const char*>(header.data()), 1024);
  bytes.append(reinterpret_cast<const char*>(tokens.data()), tokens.size() * sizeof(Stored));
  return bytes;
}

class TokenShards : public ::testing::Test {
 protected:
  std::string put(const std::string& bytes) const {
    const std::string path = folder_.path() + "/shard.bin";
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  static std::vector<Token> tokens_of(const TokenShard& shard) {
    const Text text("shard", {shard});
    std::vector<Token> tokens(static_cast<size_t>(text.size()));
    text.copy(0, text.size(), tokens.data());
    return tokens;
  }

 private:
  checkpoint::TemporaryFolder folder_;
};

TEST_F(TokenShards, OfLlmCAreKnownByTheirHeader) {
  const std::string gpt2 = put(shard_of<uint16_t>(20240520, 1, {50256, 7, 65535}));
  EXPECT_TRUE(*is_llm_c_shard(gpt2));
  auto shard = open_llm_c_shard(gpt2);
  ASSERT_TRUE(shard.ok()) << shard.status().message();
  EXPECT_THAT(tokens_of(*shard), ElementsAre(50256, 7, 65535));
  EXPECT_EQ(shard->vocabulary, 50257);
  EXPECT_EQ(shard->separator, Token{50256});

  const std::string llama3 = put(shard_of<uint32_t>(20240801, 7, {128000, 100000}));
  EXPECT_TRUE(*is_llm_c_shard(llama3));
  shard = open_llm_c_shard(llama3);
  ASSERT_TRUE(shard.ok()) << shard.status().message();
  EXPECT_THAT(tokens_of(*shard), ElementsAre(128000, 100000));
  EXPECT_EQ(shard->vocabulary, 128256);
  EXPECT_EQ(shard->separator, Token{128000});
}

TEST_F(TokenShards, WithoutAHeaderAreTakenAsTheyAre) {
  const std::string path = put(std::string("\x01\x00\xff\xff\x07\x00\x00\x00", 8));
  EXPECT_FALSE(*is_llm_c_shard(path));
  EXPECT_THAT(tokens_of(*open_raw_shard(path, 2)), ElementsAre(1, 65535, 7, 0));
  EXPECT_THAT(tokens_of(*open_raw_shard(path, 4)), ElementsAre(0xffff0001, 7));
  EXPECT_EQ(open_raw_shard(path, 2)->vocabulary, 0);
}

TEST_F(TokenShards, OutliveTheirFile) {
  const std::string path = put(shard_of<uint16_t>(20240520, 1, {1, 2, 3}));
  const auto shard = open_llm_c_shard(path);
  std::remove(path.c_str());
  EXPECT_THAT(tokens_of(*shard), ElementsAre(1, 2, 3));
}

TEST_F(TokenShards, WhatIsWrongIsNamed) {
  const auto said = [&](const std::string& bytes) {
    const std::string path = put(bytes);
    return open_llm_c_shard(path).status().message().substr(path.size());
  };
  const std::string sound = shard_of<uint16_t>(20240520, 1, {1, 2, 3});
  EXPECT_EQ(said("text"),
            ": has no header of llm.c's; expected it to begin with the number 20240520 or 20240801");
  EXPECT_EQ(said(sound.substr(0, 100)), ": has 100 bytes; expected a header of 1024");
  EXPECT_EQ(said(shard_of<uint16_t>(20240520, 2, {1})),
            ": the header's version is 2; expected 1 with the magic number 20240520");
  EXPECT_EQ(said(sound.substr(0, 1028)),
            ": has 4 bytes after its header; expected 6, since the header says 3 tokens");
  EXPECT_EQ(said(sound + "x"), ": has 7 bytes after its header; expected 6, since the header says 3 tokens");
  EXPECT_EQ(said(""), ": is empty; expected a file of tokens");
  EXPECT_THAT(open_raw_shard(put("abc"), 2).status().message(),
              HasSubstr("has 3 bytes; expected a multiple of 2, since tokens have 16 bits"));
  EXPECT_THAT(open_llm_c_shard("/no/such").status().message(),
              HasSubstr("/no/such: the tokens cannot be read: No such file"));
  EXPECT_THAT(open_raw_shard("/", 2).status().message(), HasSubstr("/: is no regular file"));
  EXPECT_FALSE(*is_llm_c_shard("/no/such"));
}

TEST_F(TokenShards, ChangedOnesAreReadOrRefused) {
  const std::string sound = shard_of<uint32_t>(20240801, 7, {1, 2, 3, 4, 5});
  std::mt19937 random(1);
  for (int round = weir::testing::enough(500); round > 0; --round) {
    std::string bytes = sound;
    bytes[random() % 12] = static_cast<char>(random());
    if (random() % 2 == 0) bytes.resize(random() % bytes.size());
    const auto shard = open_llm_c_shard(put(bytes));
    EXPECT_NE(shard.ok(), !shard.status().message().empty());
  }
}

}  // namespace
}  // namespace weir::trainer
