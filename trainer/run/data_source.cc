// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/data_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "trainer/data/json_lines.h"
#include "trainer/data/token_shard.h"
#include "trainer/exchange/imported_model.h"

namespace weir::trainer {
namespace {

Result<DataFormat> format_of(const DataSource& source) {
  if (source.format != DataFormat::automatic) return source.format;
  const std::string& first = source.files.front();
  const auto is_shard = is_llm_c_shard(first);
  WEIR_TRY(is_shard.status());
  if (*is_shard) return DataFormat::llm_c;
  return first.ends_with(".jsonl") ? DataFormat::json_lines : DataFormat::text;
}

std::string name_of(const std::vector<std::string>& files) {
  if (files.empty()) return {};
  return files.size() == 1 ? files.front() : fmt::format("{} and {} more", files.front(), files.size() - 1);
}

Result<Text> open_shards(const DataSource& source, DataFormat format) {
  std::vector<TokenShard> shards;
  for (const std::string& path : source.files) {
    auto shard = format == DataFormat::llm_c ? open_llm_c_shard(path)
                                             : open_raw_shard(path, format == DataFormat::uint16 ? 2 : 4);
    WEIR_TRY(shard.status());
    if (!shards.empty() && shard->vocabulary != shards.front().vocabulary)
      return Status(Code::invalid_argument,
                    fmt::format("{} has tokens of another tokenizer than {}; expected files of one", path,
                                source.files.front()));
    shards.push_back(std::move(*shard));
  }
  return Text(name_of(source.files), shards);
}

/// The documents of JSON lines, each behind a separator.
Result<std::vector<Token>> encode_documents(const DataSource& source, const Tokenizer& tokenizer) {
  std::vector<Token> tokens;
  for (const std::string& path : source.files)
    WEIR_TRY(for_each_document(path, [&](std::string_view document) {
      if (const auto separator = tokenizer.separator()) tokens.push_back(*separator);
      const auto own = tokenizer.encode(document);
      WEIR_TRY(own.status());
      tokens.insert(tokens.end(), own->begin(), own->end());
      return Status();
    }));
  return tokens;
}

/// Bytes of several files, one after the other.
Result<Text> open_bytes(const DataSource& source) {
  Result<Text> text = source.files.empty() ? Text::built_in() : Text::from_file(source.files.front());
  if (!text.ok() || source.files.size() <= 1) return text;
  std::vector<uint8_t> all;
  for (const std::string& path : source.files) {
    const auto one = Text::from_file(path);
    WEIR_TRY(one.status());
    all.insert(all.end(), one->bytes().begin(), one->bytes().end());
  }
  return Text(name_of(source.files), std::move(all));
}

/// Text in tokens; each file is a document.
Result<std::vector<Token>> encode_files(const DataSource& source, const Tokenizer& tokenizer) {
  std::vector<Token> tokens;
  const size_t count = std::max<size_t>(source.files.size(), 1);
  for (size_t at = 0; at < count; ++at) {
    const auto text = source.files.empty() ? Text::built_in() : Text::from_file(source.files[at]);
    WEIR_TRY(text.status());
    const auto bytes = text->bytes();
    if (const auto separator = tokenizer.separator()) tokens.push_back(*separator);
    const auto own = tokenizer.encode({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    WEIR_TRY(own.status());
    tokens.insert(tokens.end(), own->begin(), own->end());
  }
  return tokens;
}

}  // namespace

Result<OpenedSource> open_source(const DataSource& source) {
  OpenedSource opened;
  opened.tokenizer = std::make_shared<const BytesAsTokens>();
  if (!source.tokenizer.empty()) {
    const auto bpe = BpeTokenizer::open(source.tokenizer);
    WEIR_TRY(bpe.status());
    opened.tokenizer = *bpe;
    opened.tokenizer_files = (*bpe)->files();
  }
  const auto format = source.files.empty() ? Result<DataFormat>(DataFormat::text) : format_of(source);
  WEIR_TRY(format.status());
  const bool is_text = *format == DataFormat::text, is_lines = *format == DataFormat::json_lines;
  if (is_lines || (is_text && !opened.tokenizer_files.empty())) {
    const auto encode = is_lines ? encode_documents : encode_files;
    opened.to_encode = TextSource{
        source.files.empty() ? Text::kBuiltIn : name_of(source.files), opened.tokenizer->separator(),
        [&source, encode, tokenizer = opened.tokenizer] { return encode(source, *tokenizer); }};
    return opened;
  }
  auto text = is_text ? open_bytes(source) : open_shards(source, *format);
  WEIR_TRY(text.status());
  opened.text = std::move(*text);
  if (!is_text && opened.tokenizer_files.empty())
    opened.tokenizer = std::make_shared<const TokenNumbers>(opened.text->separator());
  return opened;
}

Result<TrainingData> read_data(ncclComm_t world, OpenedSource opened) {
  auto encoded = text_of_host(world, opened.to_encode);
  WEIR_TRY(encoded.status());
  if (!opened.text) opened.text = std::move(*encoded);
  return TrainingData{std::move(*opened.text), std::move(opened.tokenizer),
                      std::move(opened.tokenizer_files)};
}

Result<TrainingData> open_data(const DataSource& source) {
  auto opened = open_source(source);
  WEIR_TRY(opened.status());
  if (opened->to_encode) {
    const TextSource& text = *opened->to_encode;
    auto tokens = text.encode();
    WEIR_TRY(tokens.status());
    opened->text.emplace(text.name, std::move(*tokens), text.separator);
  }
  return TrainingData{std::move(*opened->text), std::move(opened->tokenizer),
                      std::move(opened->tokenizer_files)};
}

void use_imported_tokenizer(const Settings& settings, DataSource& source) {
  if (settings.imported == nullptr || !source.tokenizer.empty() || settings.config.vocabulary == kBytes)
    return;
  const std::string& folder = settings.imported->folder();
  std::error_code error;
  for (const char* name : {"/tokenizer.json", "/vocab.json"})
    if (std::filesystem::exists(folder + name, error)) source.tokenizer = folder;
}

Status fit_settings(const DataSource& source, const TrainingData& data, bool is_new, Settings& settings) {
  const auto wrong = [](std::string what) { return Status(Code::invalid_argument, std::move(what)); };
  const Text& text = data.text;
  Config& config = settings.config;
  if (is_new) {
    const Index known = data.tokenizer->vocabulary() > 0 ? data.tokenizer->vocabulary() : text.vocabulary();
    config.vocabulary = source.vocabulary > 0 ? source.vocabulary : known;
    if (config.vocabulary == 0)
      return wrong(
          fmt::format("{}: has tokens of which the vocabulary is not known; expected its size as "
                      "--vocabulary",
                      text.name()));
  } else if (source.vocabulary > 0 && source.vocabulary != config.vocabulary) {
    return wrong(
        fmt::format("--vocabulary is {}, but the model has {} tokens; expected it only for new models",
                    source.vocabulary, config.vocabulary));
  }
  if (!is_new && text.is_bytes() && config.vocabulary != kBytes)
    return wrong(
        fmt::format("{}: is a text of bytes, but the model has tokens out of {}; expected --data of such "
                    "tokens",
                    text.name(), config.vocabulary));
  WEIR_TRY(text.check_length(config.length));
  WEIR_TRY(text.check_vocabulary(config.vocabulary));
  if (!source.separates_documents) return {};
  settings.separator = text.separator();
  if (!settings.separator)
    return wrong(
        fmt::format("--separate-documents: in {} it is not known where documents begin; expected "
                    "--data in llm.c's format or in JSON lines",
                    text.name()));
  return {};
}

}  // namespace weir::trainer
