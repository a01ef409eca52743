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
  if (where.gpu() == nullptr) return tokens;
  auto there =
      Array::make(static_cast<Index>(rows + (2 * rows + sizeof(float) - 1) / sizeof(float)), where.gpu());
  WEIR_TRY(there.status());
  tokens.there_ = std::move(*there);
  return tokens;
}

Batch Tokens::batch(shard::GrainRange sequences) {
  const bool on_gpu = where_.gpu() != nullptr;
  float* const there = there_.data();
  const auto rows = static_cast<Index>(inputs_.size());
  return {.sequences = static_cast<Index>(sequences.count()),
          .length = length_,
          .first = static_cast<Index>(sequences.first),
          .tokens = on_gpu ? reinterpret_cast<const uint8_t*>(there + rows) : inputs_.data(),
          .targets = on_gpu ? reinterpret_cast<const uint8_t*>(there + rows) + rows : targets_.data(),
          .losses = on_gpu ? there : losses_.data(),
          .loss_scale = 1,
          .by_sequence = by_sequence_};
}

Status Tokens::draw(const Text& text, Index step, const Batch& batch) {
  const auto bytes = text.training();
  for (Index sequence = 0; sequence < batch.sequences; ++sequence) {
    const Index begin =
        sample_begin(seed_, step, batch.first + sequence, static_cast<Index>(bytes.size()), length_);
    const Index at = sequence * length_;
    copy_sample(bytes, begin, length_, inputs_.data() + at, targets_.data() + at);
  }
  return bring();
}

Status Tokens::draw_held_out(const Text& text, Index count, const Batch& batch) {
  const auto bytes = text.held_out();
  for (Index sequence = 0; sequence < batch.sequences; ++sequence) {
    const Index begin =
        evaluation_begin(batch.first + sequence, count, static_cast<Index>(bytes.size()), length_);
    const Index at = sequence * length_;
    copy_sample(bytes, begin, length_, inputs_.data() + at, targets_.data() + at);
  }
  return bring();
}

Status Tokens::put(std::span<const char> bytes) {
  std::fill(inputs_.begin(), inputs_.begin() + length_, uint8_t{0});
  std::ranges::copy(bytes, inputs_.begin());
  return bring();
}

/// Copies them to the GPU.
Status Tokens::bring() {
  if (where_.gpu() == nullptr) return {};
  const size_t rows = inputs_.size();
  auto* const there = reinterpret_cast<uint8_t*>(there_.data() + rows);
  where_.copy(inputs_.data(), rows, there);
  where_.copy(targets_.data(), rows, there + rows);
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
