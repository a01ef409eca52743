// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/sharded.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "trainer/checkpoint/agree.h"
#include "trainer/run/checkpoint_words.h"
#include "trainer/run/shard_units.h"

namespace weir::trainer {
namespace {

/// The finaliser of SplitMix64 (Steele et al., 2014), twice.
uint64_t mixed(uint64_t place, uint64_t value) {
  const auto mix = [](uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  };
  return mix(mix(place + 0x9e3779b97f4a7c15) ^ value);
}

/// Returns on each rank when all have called it.
Status barrier(ncclComm_t world) {
  int32_t one = 1;
  return shard::checked(ncclAllReduce(&one, &one, 1, ncclInt32, ncclSum, world, nullptr),
                        "waiting for all ranks");
}

/// Another optimizer has saved other elements: says so before these are missed. Collective.
Status check_optimizer(const World& world, const std::string& folder, const std::vector<uint64_t>& now) {
  const auto newest = checkpoint::newest(folder);
  Status own;
  if (newest.ok() && optimizer_in(newest->contents.words) != optimizer_in(now))
    own = Status(Code::invalid_argument,
                 fmt::format("{} was written {}", newest->path,
                             compare_words(newest->contents.words, now, {}).status().message()));
  return checkpoint::agree(world.comm(), own);
}

}  // namespace

checkpoint::WholeModel Sharded::whole_model() const {
  checkpoint::WholeModel whole{units_in(model_, {0, model_.units().size()}),
                               static_cast<uint32_t>(units_.first),
                               outer_ == nullptr || outer_->group() == 0};
  for (size_t at = 0; at < whole.units.size(); ++at)
    whole.units[at].parameters = static_cast<size_t>(model_.units()[at]->parameters().whole_size());
  return whole;
}

std::vector<checkpoint::ShardArray> Sharded::saved_arrays() {
  std::vector<checkpoint::ShardArray> moments = {{"mean", {}}, {"variance", {}}};
  for (size_t at = 0; at < moments_.size(); ++at) {
    Moments& own = moments_[at];
    moments[0].units.emplace_back(own.mean.data(), static_cast<size_t>(own.mean.size()));
    moments[1].units.emplace_back(own.variance.data(), static_cast<size_t>(own.variance.size()));
    if (!muon_) continue;
    std::vector<shard::Range>& parts = moments[1].parts.emplace_back();
    if (!own.split) parts.push_back(shards_->shard_range(static_cast<int>(at)));
    for (const auto& [first, end] : own.vectors)
      parts.push_back({static_cast<size_t>(first), static_cast<size_t>(end - first)});
  }
  return outer_ != nullptr ? outer_->arrays(moments) : moments;
}

Result<Resumed> Sharded::resume(bool regrouped) {
  const auto from_peers = static_cast<Index>(commits_.standing().steps);
  if (!saver_) {
    if (!commits_.has_loaded()) commits_.begin(0);
    return Resumed{from_peers, {}};
  }
  const auto arrays = saved_arrays();
  WEIR_TRY(saver_->open(regrouped, checkpoint::bytes_to_save(*shards_, arrays, whole_model())));
  if (commits_.has_loaded()) return Resumed{from_peers, {}};
  WEIR_TRY(check_optimizer(world_, settings_.checkpoints, checkpoint_words(settings_, text_)));
  const auto loaded = [&] {
    const OuterParameters outer(outer_.get());
    return checkpoint::load_latest(world_.comm(), settings_.checkpoints, *shards_, arrays, whole_model(),
                                   settings_.checkpoints_local);
  }();
  WEIR_TRY(loaded.status());
  if (!loaded->has_value()) {
    commits_.begin(0);
    return Resumed();
  }
  Resumed resumed{static_cast<Index>((*loaded)->contents.step), (*loaded)->skipped};
  const auto changed =
      compare_words((*loaded)->contents.words, checkpoint_words(settings_, text_), settings_.allowed_changes);
  if (!changed.ok())
    return Status(changed.status().code(),
                  fmt::format("the checkpoint of step {} in {} was written {}", resumed.step,
                              settings_.checkpoints, changed.status().message()));
  if (!changed->empty())
    resumed.notes.push_back(fmt::format(
        "the checkpoint was written with another {}; the results differ from those of one uninterrupted run",
        *changed));
  // With other settings another fragment may be on its way, whose average the checkpoint does not have.
  if (outer_ != nullptr) WEIR_TRY(outer_->go_on(resumed.step - 1, changed->empty()));
  commits_.begin(resumed.step);
  return resumed;
}

Result<Resumed> Sharded::load(const std::string& path) {
  const OuterParameters outer(outer_.get());
  const auto loaded = checkpoint::load_latest(world_.comm(), path, *shards_, saved_arrays(), whole_model(),
                                              settings_.checkpoints_local);
  WEIR_TRY(loaded.status());
  if (!loaded->has_value())
    return Status(Code::invalid_argument,
                  fmt::format("{}: expected a checkpoint, or a folder with one", path));
  return Resumed{static_cast<Index>((*loaded)->contents.step), (*loaded)->skipped};
}

/// Each element is in the piece of one rank; the others add zero bits to it.
Result<std::vector<float>> Sharded::whole_unit(size_t at) {
  const OuterParameters outer(outer_.get());
  const auto elements = static_cast<size_t>(model_.units()[at]->parameters().whole_size());
  std::vector<uint32_t> bits(elements);
  if (whole_model().saved && at >= units_.first && at < units_.end) {
    const int own = static_cast<int>(at - units_.first);
    const shard::Range shard = shards_->shard_range(own);
    std::vector<float> values(shard.count);
    where_.copy(shards_->shard(own).data(), shard.count * sizeof(float), values.data());
    for (const shard::ContiguousRange& stretch :
         stretches_in(shards_->units()[static_cast<size_t>(own)], shards_->piece_range(own)))
      for (size_t place = 0; stretch.counts && place < stretch.count; ++place)
        bits[stretch.whole + place] = std::bit_cast<uint32_t>(values[stretch.first + place - shard.first]);
  }
  WEIR_TRY(where_.status());
  WEIR_TRY(shard::checked(
      ncclReduce(bits.data(), bits.data(), elements, ncclUint32, ncclSum, 0, world_.comm(), nullptr),
      "collecting parameters"));
  if (world_.rank() != 0) return std::vector<float>();
  std::vector<float> values(elements);
  std::ranges::transform(bits, values.begin(), [](uint32_t word) { return std::bit_cast<float>(word); });
  return values;
}

Status Sharded::save(Index steps) {
  if (!saver_) return {};
  WEIR_TRY(finish_saving());
  if (outer_ != nullptr) WEIR_TRY(outer_->settle());
  const OuterParameters outer(outer_.get());
  return checkpoint::start_saving(*saver_, *shards_, saved_arrays(), static_cast<uint64_t>(steps),
                                  checkpoint_words(settings_, text_), whole_model());
}

/// Completes the checkpoint once all ranks' files are written, so that it can be used before the next save
/// begins.
Status Sharded::complete_checkpoint() {
  if (!saver_ || !saver_->under_way()) return {};
  int32_t written = saver_->written() ? 1 : 0;
  WEIR_TRY(shard::checked(ncclAllReduce(&written, &written, 1, ncclInt32, ncclMin, world_.comm(), nullptr),
                          "checking for written files"));
  return written != 0 ? saver_->finish() : Status();
}

Status Sharded::finish_saving() { return saver_ && saver_->under_way() ? saver_->finish() : Status(); }

/// A sum over elements, each mixed with its position: the order of ranks, shards and parts does not matter.
Result<uint64_t> Sharded::digest() {
  uint64_t sum = 0;
  const uint64_t group = outer_ != nullptr ? static_cast<uint64_t>(outer_->group()) << 32 : 0;
  for (size_t at = 0; at < moments_.size(); ++at) {
    const int number = static_cast<int>(at);
    const shard::Range shard = shards_->shard_range(number);
    const auto own = stretches_in(shards_->units()[at], shards_->piece_range(number));
    const std::vector<float> spread = moments_[at].whole_variance(shard);
    std::vector<const float*> kept = {shards_->shard(number).data(), moments_[at].mean.data(),
                                      moments_[at].split ? spread.data() : moments_[at].variance.data()};
    if (outer_ != nullptr) std::ranges::copy(outer_->state(at), std::back_inserter(kept));
    std::vector<float> values(shard.count);
    for (uint64_t array = 0; array < kept.size(); ++array) {
      where_.copy(kept[array], shard.count * sizeof(float), values.data());
      for (const shard::ContiguousRange& stretch : own)
        for (size_t place = 0; stretch.counts && place < stretch.count; ++place)
          sum += mixed((units_.first + at) << 48 | array << 44 | (stretch.whole + place),
                       group | std::bit_cast<uint32_t>(values[stretch.first + place - shard.first]));
    }
  }
  WEIR_TRY(where_.status());
  WEIR_TRY(
      shard::checked(ncclAllReduce(&sum, &sum, 1, ncclUint64, ncclSum, world_.comm(), nullptr), "digest"));
  return sum;
}

/// Muon's update needs other ranks: those that fail meanwhile have no state that others can use.
Status Sharded::commit(bool finite) {
  const Commit commit = commits_.take();
  const bool is_update = commit.kind == Commit::Kind::update;
  if (is_update && finite) WEIR_TRY(update(commit.step, commit.norm));
  if (commit.kind == Commit::Kind::meeting) outer_->apply(commit.step);
  commits_.made(commit, finite, is_update && outer_ != nullptr && outer_->meets_after(commit.step));
  return {};
}

/// Groups meet after `step`.
Status Sharded::meet(Index step) {
  WEIR_TRY(outer_->receive(step));
  commits_.announce({Commit::Kind::meeting, step, 0});
  WEIR_TRY(barrier(world_.comm()));
  return commit(true);
}

Result<bool> Sharded::adopt(const checkpoint::LiveState* own, const Standing& standing) {
  {
    const OuterParameters outer(outer_.get());
    const auto loaded = checkpoint::load_live(world_.comm(), own, *shards_, saved_arrays(), whole_model());
    if (!loaded.ok() || !*loaded) return loaded;
  }
  commits_.follow(standing);
  commits_.announce({});
  WEIR_TRY(barrier(world_.comm()));
  WEIR_TRY(commit(true));
  if (outer_ == nullptr) return true;
  const Index last = static_cast<Index>(standing.steps) - 1;
  if (standing.meets != 0) WEIR_TRY(meet(last));
  WEIR_TRY(outer_->go_on(last, false));  // what was on its way may have been lost
  return true;
}

Result<checkpoint::LiveState> Sharded::live_state() {
  if (outer_ != nullptr) (void)outer_->settle();  // after a failure the exchange ends with an error
  const OuterParameters outer(outer_.get());
  return checkpoint::copy_state(*shards_, saved_arrays(), static_cast<uint64_t>(commits_.standing().steps),
                                whole_model());
}

}  // namespace weir::trainer
