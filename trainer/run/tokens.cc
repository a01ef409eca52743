// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/tokens.h"

#include <algorithm>

#include "trainer/data/samples.h"

namespace weir::trainer {

Result<Tokens> Tokens::make(Index sequences, const Settings& settings, const shard::Arrays& where) {
  Tokens tokens(settings, where);
  const auto rows = static_cast<size_t>(sequences * settings.config.length);
  tokens.inputs_.resize(rows);
  tokens.targets_.resize(rows);
  tokens.losses_.resize(rows);
  if (settings.separator) tokens.starts_.resize(rows);
  if (where.gpu() == nullptr) return tokens;
  static_assert(sizeof(Token) == sizeof(float));
  auto there = Array::make(static_cast<Index>(4 * rows), where.gpu());
  WEIR_TRY(there.status());
  tokens.there_ = std::move(*there);
  return tokens;
}

Batch Tokens::batch(shard::GrainRange sequences) {
  const bool on_gpu = where_.gpu() != nullptr;
  float* const there = there_.data();
  const auto* const tokens = reinterpret_cast<const Token*>(there);
  const auto rows = static_cast<Index>(inputs_.size());
  return {.sequences = static_cast<Index>(sequences.count()),
          .length = length_,
          .first = static_cast<Index>(sequences.first),
          .tokens = on_gpu ? tokens + rows : inputs_.data(),
          .targets = on_gpu ? tokens + 2 * rows : targets_.data(),
          .starts = starts_.empty() ? nullptr
                    : on_gpu        ? tokens + 3 * rows
                                    : starts_.data(),
          .losses = on_gpu ? there : losses_.data(),
          .loss_scale = 1,
          .by_sequence = by_sequence_};
}

/// Copies the sequence that begins there.
void Tokens::copy(const Text& text, Index begin, Index sequence) {
  const Index at = sequence * length_;
  text.copy(begin, length_, inputs_.data() + at);
  text.copy(begin + 1, length_, targets_.data() + at);
  if (starts_.empty()) return;
  Token start = 0;
  for (Index place = 0; place < length_; ++place) {
    if (inputs_[static_cast<size_t>(at + place)] == *separator_) start = static_cast<Token>(place);
    starts_[static_cast<size_t>(at + place)] = start;
  }
}

Status Tokens::draw(const Text& text, Index step, const Batch& batch) {
  for (Index sequence = 0; sequence < batch.sequences; ++sequence)
    copy(text, sample_begin(seed_, step, batch.first + sequence, text.training_size(), length_), sequence);
  return bring();
}

Status Tokens::draw_held_out(const Text& text, Index count, const Batch& batch) {
  for (Index sequence = 0; sequence < batch.sequences; ++sequence)
    copy(
        text,
        text.training_size() + evaluation_begin(batch.first + sequence, count, text.held_out_size(), length_),
        sequence);
  return bring();
}

Status Tokens::put(std::span<const Token> tokens) {
  std::fill(inputs_.begin(), inputs_.begin() + length_, Token{0});
  std::ranges::copy(tokens, inputs_.begin());
  std::ranges::fill(starts_, Token{0});
  return bring();
}

/// Copies them to the GPU.
Status Tokens::bring() {
  if (where_.gpu() == nullptr) return {};
  const size_t rows = inputs_.size();
  float* there = there_.data() + rows;
  for (const std::vector<Token>* tokens : {&inputs_, &targets_, &starts_}) {
    where_.copy(tokens->data(), tokens->size() * sizeof(Token), there);
    there += rows;
  }
  return where_.status();
}

Status Tokens::append_losses(const Batch& batch, std::vector<float>& sums) {
  if (where_.gpu() != nullptr)
    where_.copy(batch.losses, static_cast<size_t>(batch.rows()) * sizeof(float), losses_.data());
  for (Index sequence = 0; sequence < batch.sequences; ++sequence) {
    double sum = 0;
    for (Index at = 0; at < length_; ++at)
      sum += static_cast<double>(losses_[static_cast<size_t>(sequence * length_ + at)]);
    sums.push_back(static_cast<float>(sum));
  }
  return where_.status();
}

}  // namespace weir::trainer
