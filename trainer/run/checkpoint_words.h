// SPDX-License-Identifier: Apache-2.0
/// The numbers of this program in a checkpoint: what the results depend on, and the shape of the model. Pure.
/// Tests: tests/trainer/checkpoint_words_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "trainer/data/text.h"
#include "trainer/run/settings.h"

namespace weir::trainer {

/// Checkpoints of earlier versions have only the first of them: three, ten, fourteen, sixteen or 23.
std::vector<uint64_t> checkpoint_words(const Settings& settings, const Text& text);

/// XXH3 of the text's tokens as they are stored, over the checksums of its files if there are several.
uint64_t checksum_of(const Text& text);

/// Compares the words of a checkpoint with those of the run that goes on with it, apart from the shape of the
/// model. `allowed`: names of options that may differ, of changeable_options(). The result is a list of what
/// differs and may, "steps (100, now 200), --seed (1, now 9)"; empty: nothing. invalid_argument otherwise:
/// the end of a sentence that begins with "was written".
Result<std::string> compare_words(std::span<const uint64_t> before, std::span<const uint64_t> now,
                                  std::span<const std::string> allowed);

/// Options with which a run may go on in another way than before, without the dashes.
std::vector<std::string> changeable_options();

/// XXH3 of the tokenizer's files, which are in the checkpoint; 0: there are none.
uint64_t tokenizer_in(std::span<const uint64_t> words);
uint64_t checksum_of(const TokenizerFiles& files);

/// That of the run; AdamW in earlier versions.
Optimizer optimizer_in(std::span<const uint64_t> words);
/// The shape of the model; nothing if the words are those of an earlier version, or make no sense.
std::optional<Config> config_in(std::span<const uint64_t> words);

}  // namespace weir::trainer
