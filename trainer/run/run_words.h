// SPDX-License-Identifier: Apache-2.0
/// What a run says of its model, its text and its ranks.
/// Tests: tests/trainer/run_test.cc
#pragma once

#include <string>

#include "trainer/data/text.h"
#include "trainer/model/model.h"
#include "trainer/run/sharded.h"

namespace weir::trainer {

/// "1 rank", "2 ranks".
std::string plural(int count, const char* what);
/// "preset tiny", "model of the checkpoint".
std::string name_of(const Config& config);
std::string model_words(const Model& model);
/// "kjv.txt: 4137850 bytes, the last 413785 held out"; `between` is ": " there.
std::string text_words(const Text& text, const char* between);
/// How parameters and work are divided between the ranks.
std::string ranks_words(const Sharded& engine);
std::string memory_words(const Sharded& engine);

}  // namespace weir::trainer
