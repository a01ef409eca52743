// SPDX-License-Identifier: Apache-2.0
// Byte-pair encoding: merges, words, and the files of tokenizers. What Hugging Face's own code makes of such
// files is in hugging_face_test.py.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "tests/base/sanitized.h"
#include "tests/trainer/temporary_folder.h"
#include "trainer/tokenizer/bpe_tokenizer.h"
#include "trainer/tokenizer/byte_letters.h"

namespace weir::trainer {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ByteLetters, AreReadBack) {
  std::string letters, bytes;
  for (int byte = 0; byte < 256; ++byte) {
    bytes += static_cast<char>(byte);
    letters += letter_of_byte(static_cast<uint8_t>(byte));
  }
  EXPECT_EQ(bytes_of_letters(letters), bytes);
  EXPECT_EQ(bytes_of_letters("\xe2\x96\x81"), std::nullopt);
  EXPECT_EQ(bytes_of_letters("\xc4"), std::nullopt);
}

TEST(BpeMerges, GoByRankAndFromLeftToRight) {
  BpeMerges merges;
  merges.add('a', 'b', 256);
  merges.add(256, 'c', 257);
  merges.add('b', 'c', 258);
  merges.add('a', 'a', 259);
  merges.add('b', 'c', 999);  // the first of equal ones counts
  const auto applied = [&](std::string_view text) {
    return merges.apply(std::vector<Token>(text.begin(), text.end()));
  };
  EXPECT_THAT(applied("abc"), ElementsAre(257)) << "ab comes before bc";
  EXPECT_THAT(applied("bcabc"), ElementsAre(258, 257));
  EXPECT_THAT(applied("aaaaa"), ElementsAre(259, 259, 'a'));
  EXPECT_THAT(applied("aab"), ElementsAre('a', 256));
  EXPECT_THAT(applied(""), ElementsAre());
  EXPECT_THAT(applied("x"), ElementsAre('x'));
}

/// As it is defined: the first merge that occurs anywhere, everywhere, again and again.
std::vector<Token> naive(const std::vector<std::array<Token, 3>>& merges, std::vector<Token> tokens) {
  for (bool found = true; found;) {
    found = false;
    for (const auto& [left, right, merged] : merges) {
      for (size_t at = 0; at + 1 < tokens.size(); ++at)
        if (tokens[at] == left && tokens[at + 1] == right) {
          tokens[at] = merged;
          tokens.erase(tokens.begin() + static_cast<ptrdiff_t>(at) + 1);
          found = true;
        }
      if (found) break;
    }
  }
  return tokens;
}

TEST(BpeMerges, AreThoseOfTheDefinition) {
  std::mt19937 random(1);
  for (int round = weir::testing::enough(300); round > 0; --round) {
    BpeMerges merges;
    std::vector<std::array<Token, 3>> all;
    std::set<std::pair<Token, Token>> known;
    for (Token merged = 3; merged < 12; ++merged) {
      const Token left = random() % merged, right = random() % merged;
      if (!known.emplace(left, right).second) continue;
      merges.add(left, right, merged);
      all.push_back({left, right, merged});
    }
    std::vector<Token> tokens(random() % 40);
    for (Token& token : tokens) token = random() % 3;
    EXPECT_EQ(merges.apply(tokens), naive(all, tokens));
  }
}

TEST(Splitters, CutAsGpt2Does) {
  const auto splitter = Splitter::create(kGpt2Words);
  ASSERT_TRUE(splitter.ok()) << splitter.status().message();
  const auto words = [&](std::string_view text) {
    std::vector<std::string_view> parts;
    EXPECT_TRUE(splitter->split(text, parts).ok());
    return std::vector<std::string>(parts.begin(), parts.end());
  };
  EXPECT_THAT(words("Hello world, it's 2024!\n\n  x"),
              ElementsAre("Hello", " world", ",", " it", "'s", " 2024", "!", "\n\n ", " x"));
  EXPECT_THAT(words("d\xc3\xa9j\xc3\xa0 vu\xc2\xa0 "), ElementsAre("d\xc3\xa9j\xc3\xa0", " vu", "\xc2\xa0 "));
  EXPECT_THAT(words(""), ElementsAre());
  EXPECT_THAT(words("a\xff"), ElementsAre("a", "\xff")) << "no UTF-8";
  EXPECT_THAT(Splitter::create("(a").status().message(),
              HasSubstr("the expression '(a' cannot be used: ICU says"));
}

/// All bytes, and what is given.
json gpt2_file(const std::vector<std::string>& merges) {
  json vocabulary = json::object();
  for (int byte = 0; byte < 256; ++byte) vocabulary[letter_of_byte(static_cast<uint8_t>(byte))] = byte;
  json lines = json::array();
  for (const std::string& merge : merges) {
    std::string merged = merge;
    merged.erase(merged.find(' '), 1);
    vocabulary.emplace(merged, vocabulary.size());
    lines.push_back(merge);
  }
  const size_t end = vocabulary.size();
  vocabulary["<|endoftext|>"] = end;
  return {{"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", lines}}},
          {"added_tokens", {{{"id", end}, {"content", "<|endoftext|>"}, {"special", true}}}},
          {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}}};
}

/// Llama 2's form: letters, bytes for the rest, and U+2581 for spaces.
json llama_file() {
  json vocabulary = {{"<unk>", 0}, {"<s>", 1}, {"</s>", 2}};
  for (int byte = 0; byte < 256; ++byte) vocabulary[fmt::format("<0x{:02X}>", byte)] = 3 + byte;
  for (const char* text : {"\u2581", "a", "b", "\u00e9", "\u2581a", "\u2581ab"})
    vocabulary.emplace(text, vocabulary.size());
  return {{"model",
           {{"type", "BPE"},
            {"byte_fallback", true},
            {"vocab", vocabulary},
            {"merges", {"\u2581 a", json::array({"\u2581a", "b"})}}}},
          {"added_tokens",
           {{{"id", 1}, {"content", "<s>"}, {"special", true}},
            {{"id", 2}, {"content", "</s>"}, {"special", true}}}},
          {"normalizer",
           {{"type", "Sequence"},
            {"normalizers",
             {{{"type", "Prepend"}, {"prepend", "\u2581"}},
              {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}}}}}}};
}

std::shared_ptr<const BpeTokenizer> tokenizer_of(const json& file) {
  const auto definition = parse_tokenizer_json(file.dump());
  EXPECT_TRUE(definition.ok()) << definition.status().message();
  auto tokenizer = BpeTokenizer::create(*definition);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  return *tokenizer;
}

TEST(BpeTokenizers, OfGpt2EncodeAndDecode) {
  const auto tokenizer = tokenizer_of(gpt2_file({"h e", "\u0120 he", "he y"}));
  EXPECT_THAT(*tokenizer->encode("hey hey"), ElementsAre(258, 257, 'y')) << "words do not touch";
  EXPECT_EQ(tokenizer->vocabulary(), 260);
  EXPECT_EQ(tokenizer->separator(), Token{259});
  EXPECT_THAT(*tokenizer->encode("<|e"), ElementsAre('<', '|', 'e'));
  std::string every;
  for (int byte = 0; byte < 256; ++byte) every += {static_cast<char>(byte), 'h', 'e', 'y', ' '};
  EXPECT_EQ(tokenizer->decode(*tokenizer->encode(every)), every);
  EXPECT_EQ(tokenizer->decode(std::vector<Token>{258, 259, 5000}), "hey") << "special ones have no text";
}

TEST(BpeTokenizers, OfLlamaEncodeAndDecode) {
  const auto tokenizer = tokenizer_of(llama_file());
  EXPECT_THAT(*tokenizer->encode("ab a\xc3\xa9\n"), ElementsAre(264, 263, 262, 3 + '\n'));
  EXPECT_EQ(tokenizer->separator(), Token{1});
  EXPECT_THAT(*tokenizer->encode(""), ElementsAre());
  for (const std::string text : {"ab a\xc3\xa9\n", "  a", "z\xf0\x9f\x98\x80\xff", "<0x41>"})
    EXPECT_EQ(tokenizer->decode(*tokenizer->encode(text)), text);
}

TEST(BpeTokenizers, MayPreferWholeWords) {
  json file = gpt2_file({"b c", "a b", "ab c"});
  EXPECT_THAT(*tokenizer_of(file)->encode("abc"), ElementsAre('a', 256));
  file["model"]["ignore_merges"] = true;
  EXPECT_THAT(*tokenizer_of(file)->encode("abc"), ElementsAre(258));
  EXPECT_THAT(*tokenizer_of(file)->encode("abcab"), ElementsAre('a', 256, 257));
}

TEST(BpeTokenizers, AreReadFromEitherKindOfFile) {
  const checkpoint::TemporaryFolder folder;
  const json file = gpt2_file({"h e", "he y"});
  std::ofstream(folder.path() + "/vocab.json") << file["model"]["vocab"].dump();
  std::ofstream(folder.path() + "/merges.txt") << "#version: 0.2\nh e\r\nhe y\n";
  const auto older = BpeTokenizer::open(folder.path());
  ASSERT_TRUE(older.ok()) << older.status().message();
  EXPECT_THAT(*(*older)->encode("hey"), ElementsAre(257));
  EXPECT_EQ((*older)->separator(), Token{258});
  EXPECT_EQ((*older)->files().size(), 2u);
  std::ofstream(folder.path() + "/tokenizer.json") << file.dump();
  for (const std::string& path : {folder.path(), folder.path() + "/tokenizer.json"}) {
    const auto newer = BpeTokenizer::open(path);
    ASSERT_TRUE(newer.ok()) << newer.status().message();
    EXPECT_THAT(*(*newer)->encode("hey"), ElementsAre(257));
    ASSERT_EQ((*newer)->files().size(), 1u);
    EXPECT_EQ((*newer)->files()[0].name, "tokenizer.json");
  }
  EXPECT_THAT(BpeTokenizer::open("/no/such").status().message(),
              HasSubstr("/no/such: the tokenizer cannot be read"));
}

TEST(TokenizerFiles, OfAnotherFormAreRefused) {
  const auto said = [](json file, const std::string& place, const json& value) {
    file[json::json_pointer(place)] = value;
    const auto definition = parse_tokenizer_json(file.dump());
    if (!definition.ok()) return definition.status().message();
    return BpeTokenizer::create(*definition).status().message();
  };
  const json gpt2 = gpt2_file({"h e"}), llama = llama_file();
  EXPECT_EQ(said(gpt2, "/model/type", "Unigram"), "model.type is \"Unigram\"; expected \"BPE\"");
  EXPECT_EQ(said(gpt2, "/model/vocab", json::object()),
            "model.vocab is empty; expected an object with tokens");
  EXPECT_EQ(said(gpt2, "/model/vocab/h", -1), "the number of token 'h' is -1; expected one below 1048576");
  EXPECT_EQ(said(gpt2, "/model/merges", "h e"), "model.merges is string; expected a list");
  EXPECT_EQ(said(gpt2, "/model/merges/0", "he"), "merge 0 is 'he'; expected two tokens with a space between");
  EXPECT_EQ(said(gpt2, "/model/merges/0", "h y"),
            "merge 0 is of 'h' and 'y', but 'hy' is not in the vocabulary");
  EXPECT_EQ(said(gpt2, "/model/end_of_word_suffix", "</w>"),
            "model.end_of_word_suffix is '</w>'; expected none");
  EXPECT_EQ(said(gpt2, "/added_tokens/0/special", false),
            "the added token '<|endoftext|>' is not special; expected only special ones");
  EXPECT_THAT(said(gpt2, "/normalizer", {{"type", "NFC"}}), HasSubstr("the normalizer 'NFC' is not one of"));
  EXPECT_THAT(said(gpt2, "/pre_tokenizer", {{"type", "Whitespace"}}),
              HasSubstr("the pre_tokenizer 'Whitespace' is not one of"));
  EXPECT_THAT(said(gpt2, "/pre_tokenizer",
                   {{"type", "Split"}, {"behavior", "Isolated"}, {"pattern", {{"Regex", "[a"}}}}),
              HasSubstr("the expression '[a' cannot be used"));
  json without = llama;
  without["model"]["vocab"].erase("<0x41>");
  EXPECT_EQ(parse_tokenizer_json(without.dump()).status().message(),
            "the vocabulary has no token '<0x41>'; expected one for each byte");
  without = gpt2;
  without["model"]["vocab"].erase("z");
  EXPECT_EQ(said(without, "/model/type", "BPE"),
            "the vocabulary has no token for the byte 122; expected one for each");
  EXPECT_THAT(parse_tokenizer_json("{").status().message(), HasSubstr("the file is not JSON: "));
  EXPECT_EQ(parse_tokenizer_json("[]").status().message(), "the file is JSON's array; expected an object");
  EXPECT_THAT(parse_gpt2_files("{\"a\": 0}", "a b").status().message(),
              HasSubstr("'b' is not in the vocabulary"));
}

TEST(TokenizerFiles, ChangedOnesAreReadOrRefused) {
  const std::string sound = llama_file().dump();
  std::mt19937 random(1);
  for (int round = weir::testing::enough(1000); round > 0; --round) {
    std::string text = sound;
    text.replace(random() % text.size(), random() % 4, sound.substr(random() % sound.size(), random() % 6));
    const auto definition = parse_tokenizer_json(text);
    EXPECT_NE(definition.ok(), !definition.status().message().empty());
    if (!definition.ok()) continue;
    const auto tokenizer = BpeTokenizer::create(*definition);
    if (tokenizer.ok()) (void)(*tokenizer)->encode("ab a");
  }
}

}  // namespace
}  // namespace weir::trainer
