// SPDX-License-Identifier: Apache-2.0

#include "trainer/tokenizer/tokenizer.h"

#include <fmt/format.h>

#include <charconv>

namespace weir::trainer {

Result<std::vector<Token>> BytesAsTokens::encode(std::string_view text) const {
  std::vector<Token> tokens;
  tokens.reserve(text.size());
  for (const char byte : text) tokens.push_back(static_cast<uint8_t>(byte));
  return tokens;
}

std::string BytesAsTokens::decode(std::span<const Token> tokens) const {
  std::string text;
  for (const Token token : tokens)
    if (token < 256) text += static_cast<char>(token);
  return text;
}

Result<std::vector<Token>> TokenNumbers::encode(std::string_view text) const {
  std::vector<Token> tokens;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at != end;) {
    if (*at == ' ') {
      ++at;
      continue;
    }
    Token token = 0;
    const auto [after, error] = std::from_chars(at, end, token);
    if (error != std::errc() || (after != end && *after != ' '))
      return Status(
          Code::invalid_argument,
          fmt::format("'{}' is no number of a token; expected such numbers with spaces between, since "
                      "no --tokenizer was given",
                      std::string_view(at, static_cast<size_t>(end - at))));
    tokens.push_back(token);
    at = after;
  }
  return tokens;
}

std::string TokenNumbers::decode(std::span<const Token> tokens) const {
  std::string text;
  for (const Token token : tokens) text += fmt::format("{}{}", text.empty() ? "" : " ", token);
  return text;
}

}  // namespace weir::trainer
