// SPDX-License-Identifier: Apache-2.0

#include "trainer/tokenizer/bpe_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "trainer/tokenizer/byte_letters.h"

namespace weir::trainer {
namespace {

constexpr std::string_view kSpace = "\xe2\x96\x81";  // U+2581, which stands for a space

Result<std::string> content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string content(std::istreambuf_iterator<char>(file), {});
  if (file && !file.bad()) return content;
  return Status(Code::system_error,
                fmt::format("{}: the tokenizer cannot be read: {}", path, std::strerror(errno)));
}

/// The number of a token that stands for one byte, "<0x0A>"; -1: it is another token.
int byte_token(std::string_view text) {
  unsigned byte = 0;
  if (text.size() != 6 || std::sscanf(std::string(text).c_str(), "<0x%2X>", &byte) != 1) return -1;
  return static_cast<int>(byte);
}

std::string with_spaces(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const bool found = text.substr(at).starts_with(from);
    result += found ? to : text.substr(at, 1);
    at += found ? from.size() : 1;
  }
  return result;
}

/// Bytes of the letter in UTF-8 at the beginning of a text.
size_t letter_bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const size_t expected = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  return std::min(expected, text.size());
}

}  // namespace

Result<std::shared_ptr<const BpeTokenizer>> BpeTokenizer::open(const std::string& path) {
  std::error_code error;
  const bool is_folder = std::filesystem::is_directory(path, error);
  TokenizerFiles files{{"tokenizer.json", ""}};
  if (is_folder && !std::filesystem::exists(path + "/tokenizer.json", error))
    files = {{"vocab.json", ""}, {"merges.txt", ""}};
  for (TokenizerFile& file : files) {
    auto content = content_of(is_folder ? path + "/" + file.name : path);
    WEIR_TRY(content.status());
    file.content = std::move(*content);
  }
  const auto named = [&](const Status& status) {
    return Status(status.code(), path + ": " + status.message());
  };
  const auto definition = files.size() == 1 ? parse_tokenizer_json(files[0].content)
                                            : parse_gpt2_files(files[0].content, files[1].content);
  if (!definition.ok()) return named(definition.status());
  const std::shared_ptr<BpeTokenizer> tokenizer(new BpeTokenizer());
  const Status status = tokenizer->read(*definition);
  if (!status.ok()) return named(status);
  tokenizer->files_ = std::move(files);
  return std::shared_ptr<const BpeTokenizer>(tokenizer);
}

Result<std::shared_ptr<const BpeTokenizer>> BpeTokenizer::create(const BpeDefinition& definition) {
  const std::shared_ptr<BpeTokenizer> tokenizer(new BpeTokenizer());
  WEIR_TRY(tokenizer->read(definition));
  return std::shared_ptr<const BpeTokenizer>(tokenizer);
}

Status BpeTokenizer::read(const BpeDefinition& definition) {
  by_bytes_ = definition.by_bytes;
  begins_with_space_ = definition.begins_with_space;
  prefers_words_ = definition.prefers_words;
  separator_ = definition.separator();
  Token last = 0;
  for (const auto* tokens : {&definition.tokens, &definition.special})
    for (const auto& [text, token] : *tokens) last = std::max(last, token);
  texts_.resize(size_t{last} + 1);
  constexpr Token kMissing = UINT32_MAX;
  bytes_.assign(256, kMissing);
  for (const auto& [text, token] : definition.tokens) {
    if (definition.special.contains(text)) continue;
    const int byte = by_bytes_ ? -1 : byte_token(text);
    const auto bytes = by_bytes_ ? bytes_of_letters(text) : std::optional(with_spaces(text, kSpace, " "));
    if (!bytes) continue;  // no text has it
    texts_[token] = byte >= 0 ? std::string(1, static_cast<char>(byte)) : *bytes;
    if (byte < 0) tokens_[*bytes] = token;
    if (by_bytes_ && bytes->size() == 1) bytes_[static_cast<unsigned char>(bytes->front())] = token;
    if (byte >= 0) bytes_[static_cast<size_t>(byte)] = token;
  }
  for (size_t byte = 0; byte < bytes_.size(); ++byte)
    if (bytes_[byte] == kMissing)
      return Status(Code::invalid_argument,
                    fmt::format("the vocabulary has no token for the byte {}; expected one for each", byte));
  for (const auto& [left, right] : definition.merges)
    merges_.add(definition.tokens.at(left), definition.tokens.at(right), definition.tokens.at(left + right));
  for (const std::string& expression : definition.expressions) {
    auto splitter = Splitter::create(expression);
    WEIR_TRY(splitter.status());
    splitters_.push_back(std::move(*splitter));
  }
  return {};
}

Result<std::vector<Token>> BpeTokenizer::encode(std::string_view text) const {
  std::string with_space;
  if (begins_with_space_ && !text.empty() && !(by_bytes_ && text.starts_with(' '))) {
    with_space = " " + std::string(text);
    text = with_space;
  }
  std::vector<std::string_view> words{text};
  for (const Splitter& splitter : splitters_) {
    std::vector<std::string_view> parts;
    for (const std::string_view word : words) WEIR_TRY(splitter.split(word, parts));
    words = std::move(parts);
  }
  std::vector<Token> tokens;
  std::unordered_map<std::string_view, std::vector<Token>> known;  // most words occur many times
  for (const std::string_view word : words) {
    auto found = known.find(word);
    if (found == known.end()) found = known.emplace(word, encode_word(word)).first;
    tokens.insert(tokens.end(), found->second.begin(), found->second.end());
  }
  return tokens;
}

std::vector<Token> BpeTokenizer::encode_word(std::string_view word) const {
  if (prefers_words_)
    if (const auto found = tokens_.find(std::string(word)); found != tokens_.end()) return {found->second};
  return merges_.apply(letters_of(word));
}

/// The tokens that the merges begin with: bytes, or letters, and bytes where there is no token for a letter.
std::vector<Token> BpeTokenizer::letters_of(std::string_view word) const {
  std::vector<Token> letters;
  while (!word.empty()) {
    const size_t length = by_bytes_ ? 1 : letter_bytes(word);
    const auto found = by_bytes_ ? tokens_.end() : tokens_.find(std::string(word.substr(0, length)));
    if (found != tokens_.end())
      letters.push_back(found->second);
    else
      for (const char byte : word.substr(0, length))
        letters.push_back(bytes_[static_cast<unsigned char>(byte)]);
    word.remove_prefix(length);
  }
  return letters;
}

std::string BpeTokenizer::decode(std::span<const Token> tokens) const {
  std::string text;
  for (const Token token : tokens)
    if (token < texts_.size()) text += texts_[token];
  if (begins_with_space_ && text.starts_with(' ')) text.erase(0, 1);
  return text;
}

}  // namespace weir::trainer
