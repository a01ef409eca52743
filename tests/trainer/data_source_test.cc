// SPDX-License-Identifier: Apache-2.0
// Files of tokens and documents as the text of a run, and runs on them.
#include "trainer/run/data_source.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/cli/command.h"
#include "tests/trainer/small_tokenizer.h"
#include "tests/trainer/temporary_folder.h"

namespace weir::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<Token> tokens_of(const Text& text) {
  std::vector<Token> tokens(static_cast<size_t>(text.size()));
  text.copy(0, text.size(), tokens.data());
  return tokens;
}

class DataSources : public ::testing::Test {
 protected:
  const std::string& folder() const { return folder_.path(); }
  std::string put(const std::string& name, const std::string& bytes) const {
    const std::string path = folder_.path() + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  /// Tokens as llm.c has them for GPT-2's tokenizer: documents of seven tokens.
  std::string put_shard(const std::string& name, uint16_t count) const {
    std::vector<uint32_t> header(256);
    header[0] = 20240520;
    header[1] = 1;
    header[2] = count;
    std::string bytes(reinterpret_cast<const char*>(header.data()), 1024);
    for (uint16_t at = 0; at < count; ++at) {
      const auto token = static_cast<uint16_t>(at % 7 == 0 ? 50256 : at * 31 % 300);
      bytes.append(reinterpret_cast<const char*>(&token), 2);
    }
    return put(name, bytes);
  }

 private:
  checkpoint::TemporaryFolder folder_;
};

TEST_F(DataSources, AreKnownByHeaderAndName) {
  const auto opened = [](std::vector<std::string> files, DataFormat format = DataFormat::automatic) {
    auto data = open_data({.files = std::move(files), .format = format});
    EXPECT_TRUE(data.ok()) << data.status().message();
    return std::move(*data);
  };
  const std::string text = put("a.txt", "abc"), more = put("b.txt", "de");
  EXPECT_THAT(tokens_of(opened({text, more}).text), ElementsAre('a', 'b', 'c', 'd', 'e'));
  EXPECT_TRUE(opened({text}).text.is_bytes());
  const std::string documents = put("c.jsonl", "{\"text\": \"ab\"}\n{\"text\": \"\"}\n{\"text\": \"c\"}\n");
  const TrainingData lines = opened({documents});
  EXPECT_THAT(tokens_of(lines.text), ElementsAre(0, 'a', 'b', 0, 0, 'c'));
  EXPECT_EQ(lines.text.separator(), Token{0});
  EXPECT_EQ(opened({documents}, DataFormat::text).text.size(), 42);
  const TrainingData shards = opened({put_shard("d.bin", 3), put_shard("e.bin", 2)});
  EXPECT_THAT(tokens_of(shards.text), ElementsAre(50256, 31, 62, 50256, 31));
  EXPECT_EQ(shards.text.vocabulary(), 50257);
  EXPECT_EQ(shards.tokenizer->decode(std::vector<Token>{1, 2}), "1 2");
  EXPECT_EQ(opened({put_shard("d.bin", 4)}, DataFormat::uint32).text.size(), 258);
  EXPECT_EQ(opened({}).text.size(), 4137850);
  EXPECT_THAT(open_data({.files = {text, "/no/such"}}).status().message(), HasSubstr("/no/such: "));
}

TEST_F(DataSources, FitTheModelOrAreRefused) {
  DataSource source{.files = {put_shard("a.bin", 600)}};
  const auto data = open_data(source);
  ASSERT_TRUE(data.ok()) << data.status().message();
  Settings settings;
  settings.config.length = 16;
  ASSERT_TRUE(fit_settings(source, *data, true, settings).ok());
  EXPECT_EQ(settings.config.vocabulary, 50257);
  EXPECT_FALSE(settings.separator.has_value());
  source.separates_documents = true;
  source.vocabulary = 50304;
  ASSERT_TRUE(fit_settings(source, *data, true, settings).ok());
  EXPECT_EQ(settings.config.vocabulary, 50304);
  EXPECT_EQ(settings.separator, Token{50256});
  EXPECT_THAT(fit_settings({.vocabulary = 7}, *data, false, settings).message(),
              HasSubstr("--vocabulary is 7, but the model has 50304 tokens"));
  EXPECT_THAT(fit_settings({.vocabulary = 300}, *data, true, settings).message(),
              HasSubstr("token 0 is 50256; expected tokens below 300"));
  settings.config.length = 64;
  EXPECT_THAT(fit_settings({}, *data, true, settings).message(), HasSubstr("600 tokens are too few"));

  const Text bytes("bytes", std::vector<uint8_t>(2000));
  EXPECT_THAT(fit_settings({}, {bytes, std::make_shared<const BytesAsTokens>()}, false, settings).message(),
              HasSubstr("bytes: is a text of bytes, but the model has tokens out of 50257"));
  settings.config.length = 4;
  const DataSource raw{.files = {put("b.bin", std::string(200, '\0'))},
                       .format = DataFormat::uint16,
                       .separates_documents = true};
  const auto zeros = open_data(raw);
  EXPECT_THAT(
      fit_settings(raw, *zeros, true, settings).message(),
      HasSubstr("has tokens of which the vocabulary is not known; expected its size as --vocabulary"));
  settings.config.vocabulary = 300;
  EXPECT_THAT(fit_settings(raw, *zeros, false, settings).message(),
              HasSubstr("it is not known where documents begin"));
}

/// The digest of a short run.
std::string digest_of(const std::string& arguments) {
  const auto result = weir::testing::run_command(fmt::format(
      "'{}' --preset llama-tiny --blocks 1 --steps 3 --batch 5 --evaluation-sequences 4 --sample 3 "
      "--deterministic canonical {} 2>&1",
      WEIR_TRAIN_PROGRAM, arguments));
  EXPECT_EQ(result.code, 0) << result.text;
  const std::string words = "parameters and moments: ";
  const size_t at = result.text.find(words);
  EXPECT_NE(at, std::string::npos) << result.text;
  return at == std::string::npos ? result.text : result.text.substr(at + words.size(), 16);
}

TEST_F(DataSources, AreTheSameForAnyNumberOfRanks) {
  std::string tokens, lines;
  for (int at = 0; at < 3000; ++at) tokens += {static_cast<char>(at * 31 % 256), static_cast<char>(at % 2)};
  const std::string shard = "--data-format uint16 --vocabulary 512 --data " + put("a.bin", tokens);
  EXPECT_EQ(digest_of(shard), digest_of(shard + " --ranks 3 --micro-batch 1"));
  for (int at = 0; at < 300; ++at) lines += fmt::format("{{\"text\": \"line {}\"}}\n", at * at);
  const std::string documents = "--data " + put("b.jsonl", lines);
  const std::string before = digest_of(documents);
  const std::string apart = documents + " --separate-documents";
  const std::string other = digest_of(apart);
  EXPECT_NE(other, before) << "attention crosses documents";
  EXPECT_EQ(digest_of(apart + " --ranks 2 --pipeline 2 --recompute full"), other);
}

/// A tokenizer of bytes and two merges, whose documents begin with token 258.
TEST_F(DataSources, AreEncodedByTheTokenizerWhoseFilesGoWithTheModel) {
  const std::string tokenizer = put("tokenizer.json", some_tokenizer());
  const std::string lines = put("a.jsonl", "{\"text\": \"hey you\"}\n{\"text\": \"he\"}\n"),
                    text = put("b.txt", "hey");
  const auto data = open_data({.files = {lines}, .tokenizer = tokenizer});
  ASSERT_TRUE(data.ok()) << data.status().message();
  EXPECT_THAT(tokens_of(data->text), ElementsAre(258, 257, ' ', 'y', 'o', 'u', 258, 256));
  ASSERT_EQ(data->tokenizer_files.size(), 1u);
  EXPECT_EQ(data->tokenizer_files[0].content, some_tokenizer());
  EXPECT_THAT(tokens_of(open_data({.files = {text, text}, .tokenizer = tokenizer})->text),
              ElementsAre(258, 257, 258, 257));
  EXPECT_THAT(open_data({.tokenizer = lines}).status().message(), HasSubstr("a.jsonl: the file is not JSON"));

  const std::string model = folder() + "/model";
  std::string many;
  for (int at = 0; at < 300; ++at) many += fmt::format("{{\"text\": \"hey {}\"}}\n", at * at);
  const std::string documents = put("c.jsonl", many);
  digest_of(fmt::format("--data {} --tokenizer {} --export {}", documents, tokenizer, model));
  const auto imported = weir::testing::run_command(fmt::format(
      "'{}' --import {} --data {} --steps 1 --batch 2 --evaluation-sequences 2 --prompt hey --sample 2 2>&1",
      WEIR_TRAIN_PROGRAM, model, documents));
  EXPECT_EQ(imported.code, 0) << imported.text;
  EXPECT_THAT(imported.text, HasSubstr("tokens out of 259"));
  EXPECT_THAT(imported.text, HasSubstr("bits/token"));
  EXPECT_THAT(imported.text, HasSubstr("\nhey")) << "with the tokenizer of the imported folder";
}

TEST_F(DataSources, WhatCannotBeUsedEndsWithASentence) {
  const auto said = [](const std::string& arguments) {
    const auto result =
        weir::testing::run_command(fmt::format("'{}' {} 2>&1", WEIR_TRAIN_PROGRAM, arguments));
    EXPECT_EQ(result.code, 2) << result.text;
    return result.text;
  };
  const std::string shard = put_shard("a.bin", 3000);
  EXPECT_THAT(said("--preset tiny --prompt 'And so' --data " + shard),
              HasSubstr("--prompt: 'And so' is no number"));
  EXPECT_THAT(said("--preset tiny --separate-documents"), HasSubstr("it is not known where documents begin"));
  EXPECT_THAT(said("--preset tiny --data-format uint16 --data " + shard),
              HasSubstr("expected its size as --vocabulary"));
}

}  // namespace
}  // namespace weir::trainer
