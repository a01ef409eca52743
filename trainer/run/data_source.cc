// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/data_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <utility>

#include "trainer/data/json_lines.h"
#include "trainer/data/token_shard.h"

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
Result<Text> open_documents(const DataSource& source, const Tokenizer& tokenizer) {
  std::vector<Token> tokens;
  for (const std::string& path : source.files)
    WEIR_TRY(for_each_document(path, [&](std::string_view document) {
      if (const auto separator = tokenizer.separator()) tokens.push_back(*separator);
      const auto own = tokenizer.encode(document);
      WEIR_TRY(own.status());
      tokens.insert(tokens.end(), own->begin(), own->end());
      return Status();
    }));
  return Text(name_of(source.files), std::move(tokens), tokenizer.separator());
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

}  // namespace

Result<TrainingData> open_data(const DataSource& source) {
  const auto with = [](Result<Text> text,
                       std::shared_ptr<const Tokenizer> tokenizer) -> Result<TrainingData> {
    WEIR_TRY(text.status());
    return TrainingData{std::move(*text), std::move(tokenizer)};
  };
  const auto bytes = std::make_shared<const BytesAsTokens>();
  if (source.files.empty()) return with(open_bytes(source), bytes);
  const auto format = format_of(source);
  WEIR_TRY(format.status());
  if (*format == DataFormat::text) return with(open_bytes(source), bytes);
  if (*format == DataFormat::json_lines) return with(open_documents(source, *bytes), bytes);
  Result<Text> text = open_shards(source, *format);
  WEIR_TRY(text.status());
  const std::optional<Token> separator = text->separator();
  return with(std::move(text), std::make_shared<const TokenNumbers>(separator));
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
