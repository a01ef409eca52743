// SPDX-License-Identifier: Apache-2.0

#include "trainer/tokenizer/tokenizer_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "trainer/tokenizer/splitter.h"

namespace weir::trainer {
namespace {

using nlohmann::json;

constexpr const char* kSpaceLetter = "\xe2\x96\x81";  // U+2581
constexpr uint64_t kMostTokens = uint64_t{1} << 20;

Status wrong(std::string sentence) { return Status(Code::invalid_argument, std::move(sentence)); }

const json& member(const json& object, const char* name) {
  static const json kNull;
  const auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() ? *found : kNull;
}

bool flag(const json& object, const char* name, bool otherwise) {
  const json& value = member(object, name);
  return value.is_boolean() ? value.get<bool>() : otherwise;
}

std::string text_in(const json& object, const char* name) {
  const json& value = member(object, name);
  return value.is_string() ? value.get<std::string>() : std::string();
}

Status read_tokens(const json& all, const char* what, BpeDefinition& bpe) {
  if (!all.is_object() || all.empty())
    return wrong(fmt::format("{} is {}; expected an object with tokens", what,
                             all.empty() ? "empty" : all.type_name()));
  for (const auto& [text, number] : all.items()) {
    if (!number.is_number_unsigned() || number.get<uint64_t>() >= kMostTokens)
      return wrong(fmt::format("the number of token '{}' is {}; expected one below {}", text,
                               number.is_structured() ? number.type_name() : number.dump(), kMostTokens));
    bpe.tokens[text] = number.get<Token>();
  }
  return {};
}

Status add_merge(std::string left, std::string right, BpeDefinition& bpe) {
  for (const std::string& text : {left, right, left + right})
    if (!bpe.tokens.contains(text))
      return wrong(fmt::format("merge {} is of '{}' and '{}', but '{}' is not in the vocabulary",
                               bpe.merges.size(), left, right, text));
  bpe.merges.emplace_back(std::move(left), std::move(right));
  return {};
}

/// "left right"
Status add_line(std::string_view line, BpeDefinition& bpe) {
  const size_t space = line.find(' ');
  if (space == std::string_view::npos || space == 0 || space + 1 == line.size())
    return wrong(
        fmt::format("merge {} is '{}'; expected two tokens with a space between", bpe.merges.size(), line));
  return add_merge(std::string(line.substr(0, space)), std::string(line.substr(space + 1)), bpe);
}

Status read_merges(const json& all, BpeDefinition& bpe) {
  if (!all.is_array()) return wrong(fmt::format("model.merges is {}; expected a list", all.type_name()));
  for (const json& merge : all) {
    if (merge.is_string()) {
      WEIR_TRY(add_line(merge.get_ref<const std::string&>(), bpe));
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      WEIR_TRY(add_merge(merge[0].get<std::string>(), merge[1].get<std::string>(), bpe));
    } else {
      return wrong(fmt::format("merge {} is {}; expected two tokens", bpe.merges.size(), merge.type_name()));
    }
  }
  return {};
}

Status read_model(const json& model, BpeDefinition& bpe) {
  const json& type = member(model, "type");
  if (!type.is_null() && type != "BPE")
    return wrong(
        fmt::format("model.type is {}; expected \"BPE\"", type.is_string() ? type.dump() : type.type_name()));
  for (const char* name : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (!text_in(model, name).empty())
      return wrong(fmt::format("model.{} is '{}'; expected none", name, text_in(model, name)));
  WEIR_TRY(read_tokens(member(model, "vocab"), "model.vocab", bpe));
  bpe.prefers_words = flag(model, "ignore_merges", false);
  return read_merges(member(model, "merges"), bpe);
}

Status read_added(const json& added, BpeDefinition& bpe) {
  if (!added.is_array()) return {};
  for (const json& token : added) {
    const std::string text = text_in(token, "content");
    const json& number = member(token, "id");
    if (text.empty() || !number.is_number_unsigned() || number.get<uint64_t>() >= kMostTokens)
      return wrong("an entry of added_tokens has no content, or no id");
    if (!flag(token, "special", false))
      return wrong(fmt::format("the added token '{}' is not special; expected only special ones", text));
    bpe.special[text] = number.get<Token>();
  }
  return {};
}

/// Llama 2's: a letter for each space, one of them before the text.
Status read_normalizer(const json& step, BpeDefinition& bpe) {
  if (step.is_null()) return {};
  const std::string type = text_in(step, "type");
  if (type == "Sequence") {
    for (const json& one : member(step, "normalizers")) WEIR_TRY(read_normalizer(one, bpe));
    return {};
  }
  if (type == "Prepend" && text_in(step, "prepend") == kSpaceLetter) {
    bpe.begins_with_space = true;
    return {};
  }
  if (type == "Replace" && text_in(member(step, "pattern"), "String") == " " &&
      text_in(step, "content") == kSpaceLetter) {
    bpe.by_bytes = false;
    return {};
  }
  return wrong(fmt::format(
      "the normalizer '{}' is not one of GPT-2's or Llama's; expected none, or U+2581 for spaces", type));
}

Status read_words(const json& step, BpeDefinition& bpe) {
  if (step.is_null()) return {};
  const std::string type = text_in(step, "type");
  if (type == "Sequence") {
    for (const json& one : member(step, "pretokenizers")) WEIR_TRY(read_words(one, bpe));
    return {};
  }
  if (type == "ByteLevel") {
    bpe.begins_with_space = flag(step, "add_prefix_space", true);
    if (flag(step, "use_regex", true)) bpe.expressions.emplace_back(kGpt2Words);
    return {};
  }
  const std::string expression = text_in(member(step, "pattern"), "Regex");
  if (type == "Split" && text_in(step, "behavior") == "Isolated" && !flag(step, "invert", false) &&
      !expression.empty()) {
    bpe.expressions.push_back(expression);
    return {};
  }
  if (type == "Metaspace" && text_in(step, "replacement") == kSpaceLetter && !flag(step, "split", true)) {
    bpe.by_bytes = false;
    bpe.begins_with_space = text_in(step, "prepend_scheme") != "never";
    return {};
  }
  return wrong(
      fmt::format("the pre_tokenizer '{}' is not one of GPT-2's or Llama's; expected ByteLevel, Split by an "
                  "expression, or Metaspace without splitting",
                  type));
}

/// A token for each byte.
Status check_bytes(const BpeDefinition& bpe) {
  if (bpe.by_bytes) return {};
  for (int byte = 0; byte < 256; ++byte)
    if (const std::string name = fmt::format("<0x{:02X}>", byte); !bpe.tokens.contains(name))
      return wrong(fmt::format("the vocabulary has no token '{}'; expected one for each byte", name));
  return {};
}

Result<json> parse(std::string_view text, const char* what) {
  try {
    json all = json::parse(text);
    if (all.is_object()) return all;
    return wrong(fmt::format("{} is JSON's {}; expected an object", what, all.type_name()));
  } catch (const json::exception& error) {
    return wrong(fmt::format("{} is not JSON: {}", what, error.what()));
  }
}

}  // namespace

std::optional<Token> BpeDefinition::separator() const {
  for (const char* name : {"<|endoftext|>", "<|begin_of_text|>", "<s>", "<|bos|>"})
    if (const auto found = special.find(name); found != special.end()) return found->second;
  return std::nullopt;
}

Result<BpeDefinition> parse_tokenizer_json(std::string_view text) {
  const auto all = parse(text, "the file");
  WEIR_TRY(all.status());
  BpeDefinition bpe;
  WEIR_TRY(read_model(member(*all, "model"), bpe));
  WEIR_TRY(read_added(member(*all, "added_tokens"), bpe));
  WEIR_TRY(read_normalizer(member(*all, "normalizer"), bpe));
  WEIR_TRY(read_words(member(*all, "pre_tokenizer"), bpe));
  WEIR_TRY(check_bytes(bpe));
  return bpe;
}

Result<BpeDefinition> parse_gpt2_files(std::string_view vocabulary, std::string_view merges) {
  const auto all = parse(vocabulary, "the vocabulary");
  WEIR_TRY(all.status());
  BpeDefinition bpe;
  bpe.expressions.emplace_back(kGpt2Words);
  WEIR_TRY(read_tokens(*all, "the vocabulary", bpe));
  if (const auto found = bpe.tokens.find("<|endoftext|>"); found != bpe.tokens.end())
    bpe.special.insert(*found);
  while (!merges.empty()) {
    std::string_view line = merges.substr(0, merges.find('\n'));
    merges.remove_prefix(std::min(merges.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty() && !line.starts_with("#version")) WEIR_TRY(add_line(line, bpe));
  }
  return bpe;
}

}  // namespace weir::trainer
