// SPDX-License-Identifier: Apache-2.0
/// The numbers of this program in a checkpoint: what the results depend on, and the shape of the model. Pure.
/// Tests: tests/trainer/checkpoint_words_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trainer/data/text.h"
#include "trainer/run/settings.h"

namespace weir::trainer {

/// Checkpoints of earlier versions have only the first of them: three, ten, fourteen or
/// sixteen.
std::vector<uint64_t> checkpoint_words(const Settings& settings, const Text& text);

/// XXH3 of the text's tokens as they are stored, over the checksums of its files if there are several.
uint64_t checksum_of(const Text& text);

/// "seed (1, now 9), text": what differs between the words of a checkpoint and those of this run, apart from
/// the shape of the model; empty: nothing.
std::string changed_words(std::span<const uint64_t> before, std::span<const uint64_t> now);

/// XXH3 of the tokenizer's files, which are in the checkpoint; 0: there are none.
uint64_t tokenizer_in(std::span<const uint64_t> words);
uint64_t checksum_of(const TokenizerFiles& files);

/// The shape of the model; nothing if the words are those of an earlier version, or make no sense.
std::optional<Config> config_in(std::span<const uint64_t> words);

}  // namespace weir::trainer
