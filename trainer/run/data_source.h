// SPDX-License-Identifier: Apache-2.0
/// Where the text of a run comes from, and what its tokens are.
/// Tests: tests/trainer/data_source_test.cc
#pragma once

#include <nccl.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "trainer/data/text.h"
#include "trainer/run/host_text.h"
#include "trainer/run/settings.h"
#include "trainer/tokenizer/bpe_tokenizer.h"

namespace weir::trainer {

enum class DataFormat {
  automatic,   ///< a shard of llm.c if it has such a header, JSON lines if its name ends with .jsonl, else
               ///< text
  text,        ///< text for the tokenizer
  json_lines,  ///< documents
  llm_c,       ///< tokens with llm.c's header
  uint16,      ///< tokens of 16 bits without a header
  uint32,      ///< tokens of 32 bits without a header
};

struct DataSource {
  std::vector<std::string> files{};  ///< of one format; empty: the built-in text
  std::string tokenizer{};           ///< path of a tokenizer's files; empty: tokens are bytes
  DataFormat format = DataFormat::automatic;
  Index vocabulary = 0;  ///< that of a new model; 0: that of the tokens
  bool separates_documents = false;
};

struct TrainingData {
  Text text;
  std::shared_ptr<const Tokenizer> tokenizer;  ///< never null
  TokenizerFiles tokenizer_files{};            ///< empty: it has none
};

/// A source that is open. Its text is not yet there if it is to be encoded, which may take long.
struct OpenedSource {
  std::optional<Text> text;             ///< nothing: encode it
  std::optional<TextSource> to_encode;  ///< refers to the source and the tokenizer
  std::shared_ptr<const Tokenizer> tokenizer;
  TokenizerFiles tokenizer_files{};
};

/// Opens the files. `source` must outlive the result. Errors: files that cannot be read or are not of the
/// format; those of text that is to be encoded are found later.
Result<OpenedSource> open_source(const DataSource& source);

/// The text, encoded once per host. Collective.
Result<TrainingData> read_data(ncclComm_t world, OpenedSource opened);

/// Both for one process alone.
Result<TrainingData> open_data(const DataSource& source);

/// Takes the tokenizer of an imported model whose tokens are not bytes, if it is in the model's folder and no
/// other is given.
void use_imported_tokenizer(const Settings& settings, DataSource& source);

/// Completes the settings: the vocabulary of a new model (`is_new`: of a preset) is that of the tokens unless
/// given; attention separates documents if asked to. Errors: invalid_argument if the size of the vocabulary
/// is not known, tokens are not in it, the text is too short or documents cannot be told apart.
Status fit_settings(const DataSource& source, const TrainingData& data, bool is_new, Settings& settings);

}  // namespace weir::trainer
