// SPDX-License-Identifier: Apache-2.0

#include "trainer/shard/gathers.h"

#include <fmt/format.h>
#include <weir/quantized.h>

#include <algorithm>
#include <numeric>

namespace weir::shard {
namespace {

/// Bytes of memory for gathers without a limit in bytes: all units at once.
size_t all_at_once(const std::vector<Cut>& cuts, Precision precision) {
  return std::accumulate(cuts.begin(), cuts.end(), size_t{0},
                         [&](size_t sum, const Cut& cut) { return sum + Gathers::bytes_of(cut, precision); });
}

Status check_limit(const std::vector<Unit>& units, const std::vector<Cut>& cuts,
                   const GatherOptions& options) {
  const LimiterOptions& limiter = options.limiter;
  if (options.forward_prefetch < 0 || options.backward_prefetch < 0 || limiter.gathers < 0)
    return Status(Code::invalid_argument, "prefetch depths and the number of gathers must be 0 or more");
  if (limiter.kind == Limit::off || limiter.bytes == 0) return Status();
  if (const size_t need = all_at_once(cuts, options.precision); !options.reshard && need > limiter.bytes)
    return Status(Code::invalid_argument, fmt::format("the limit for gathered parameters is {} bytes, but "
                                                      "all units, which SHARD_GRAD_OP keeps, take {} bytes",
                                                      limiter.bytes, need));
  if (!options.reshard) return Status();
  for (size_t unit = 0; unit < units.size(); ++unit)
    if (const size_t need = Gathers::bytes_of(cuts[unit], options.precision); need > limiter.bytes)
      return Status(Code::invalid_argument,
                    fmt::format("the limit for gathered parameters is {} bytes, but {} alone takes {} bytes",
                                limiter.bytes, units[unit].name, need));
  return Status();
}

}  // namespace

size_t Gathers::bytes_of(const Cut& cut, Precision precision) {
  return Arena::rounded(cut.padded() * (precision == Precision::bfloat16 ? 6 : 4));
}

Gathers::Gathers(std::vector<Unit> units, std::vector<Cut> cuts, std::vector<float*> masters,
                 Communicator comm, Communicator group, const GatherOptions& options, PassRecord& record,
                 Stream stream, std::optional<Arena> arena)
    : units_(std::move(units)),
      cuts_(std::move(cuts)),
      masters_(std::move(masters)),
      comm_(std::move(comm)),
      group_(std::move(group)),
      options_(options),
      record_(&record),
      arena_(std::move(arena)),
      limiter_(options.reshard ? options.limiter : LimiterOptions{Limit::off, 0, 0}),
      residents_(units_.size()),
      arrays_(options.gpu),
      secondary_(group_.handle() != nullptr ? units_.size() : 0),
      has_secondary_(units_.size()),
      halves_(options.precision == Precision::bfloat16 ? units_.size() : 0),
      stream_(std::move(stream)) {}

Result<Gathers> Gathers::make(std::vector<Unit> units, std::vector<Cut> cuts, std::vector<float*> masters,
                              Communicator comm, Communicator group, const GatherOptions& options,
                              PassRecord& record) {
  const bool needs_memory = comm.handle() != nullptr || options.precision != Precision::float32;
  if (needs_memory) WEIR_TRY(check_limit(units, cuts, options));
  Result<Stream> stream = Stream::make(options.gpu);
  if (!stream.ok()) return stream.status();
  std::optional<Arena> arena;
  if (needs_memory) {
    size_t bytes = all_at_once(cuts, options.precision);
    const LimiterOptions& limiter = options.limiter;
    if (options.reshard && limiter.kind != Limit::off && limiter.bytes != 0)
      bytes = std::min(bytes, limiter.bytes / Arena::kAlignment * Arena::kAlignment);
    Result<Arena> made = Arena::make(bytes, options.gpu);
    if (!made.ok()) return made.status();
    arena.emplace(std::move(*made));
  }
  return Gathers(std::move(units), std::move(cuts), std::move(masters), std::move(comm), std::move(group),
                 options, record, std::move(*stream), std::move(arena));
}

uint16_t* Gathers::wire(int unit) const {
  return reinterpret_cast<uint16_t*>(residents_[unit].block + cuts_[unit].padded() * sizeof(float));
}

Status Gathers::begin(const Visits& visits) {
  visits_ = visits;
  has_secondary_.assign(units_.size(), false);  // parameters may have changed
  position_ = 0;
  next_ = 0;
  return prefetch(0);
}

Status Gathers::check(int unit, const char* function) const {
  if (finished()) return Status(Code::invalid_usage, fmt::format("{}: the pass is over", function));
  const Visit now = visit();
  if (now.unit != unit)
    return Status(
        Code::invalid_usage,
        fmt::format("{} of unit {}; expected unit {} ({}), {} of micro-batch {}", function, unit, now.unit,
                    units_[now.unit].name, now.backward ? "backward" : "forward", now.micro_batch));
  return Status();
}

Result<std::span<const float>> Gathers::gathered(int unit) {
  WEIR_TRY(check(unit, "gathered"));
  if (!visiting_) {
    visiting_ = true;
    WEIR_TRY(
        prefetch(position_ + (visit().backward ? options_.backward_prefetch : options_.forward_prefetch)));
  }
  const size_t length = cuts_[unit].parameters();
  if (!needs_memory()) return std::span<const float>(masters_[unit], length);
  WEIR_TRY(wait(unit));
  return std::span<const float>(reinterpret_cast<const float*>(residents_[unit].block), length);
}

Status Gathers::release(int unit) {
  WEIR_TRY(check(unit, "release"));
  if (!visiting_)
    return Status(Code::invalid_usage, fmt::format("release of {} without gathered", units_[unit].name));
  const bool keep = visits_.stays(position_) || (!options_.reshard && !visits_.is_last(position_));
  visiting_ = false;
  Resident& resident = residents_[unit];
  if (!keep && resident.queued) {
    arena_->give(resident.block);
    limiter_.release(bytes_of(cuts_[unit], options_.precision));
    resident = Resident();
  }
  ++position_;
  if (finished()) return Status();
  // Gathers that were held back may be admitted now.
  return prefetch(position_ - 1 +
                  (visit().backward ? options_.backward_prefetch : options_.forward_prefetch));
}

Status Gathers::prefetch(int until) {
  if (!needs_memory()) return Status();
  next_ = std::max(next_, position_);
  const int last = std::min(std::max(until, position_), visits_.count() - 1);
  for (; next_ <= last; ++next_) {
    Result<bool> admitted = queue(next_);
    if (!admitted.ok()) return admitted.status();
    if (!*admitted) return Status();
  }
  return Status();
}

Result<bool> Gathers::queue(int position) {
  const int unit = visits_.at(position).unit;
  Resident& resident = residents_[unit];
  // Still gathered from the visit before. If a visit in between releases it, this position is tried again
  // after that.
  if (resident.queued) return !options_.reshard || position == position_ || visits_.stays(position - 1);
  const size_t bytes = bytes_of(cuts_[unit], options_.precision);
  char* block = arena_->take(bytes);
  if (!limiter_.admit(asked_, bytes, block != nullptr)) {
    if (block != nullptr) arena_->give(block);
    return false;
  }
  ++asked_;
  resident.block = block;
  resident.queued = true;
  if (options_.precision == Precision::bfloat16 && !has_secondary_[unit]) WEIR_TRY(make_halves(unit));
  if (!shared()) return true;
  Result<PassRecord::Mark> mark = record_->start(stream_);
  if (!mark.ok()) return mark.status();
  WEIR_TRY(send(unit));
  WEIR_TRY(record_->stop(*mark, stream_));
  resident.mark = std::move(*mark);
  const Cut& cut = cuts_[unit];
  ++record_->counts.gathers;
  if (has_secondary_[unit]) {
    const size_t part = cut.padded() / options_.place.group_ranks;
    record_->counts.gather_bytes += (cut.padded() - part) * sizeof(float);
    return true;
  }
  const size_t others = cut.padded() / cut.shard_length() - 1;
  record_->counts.gather_bytes += others * wire_bytes(options_.precision, cut.shard_length());
  return true;
}

/// Queues the all-gather of a unit.
Status Gathers::send(int unit) {
  const std::string what = "gathering " + units_[unit].name;
  const size_t length = cuts_[unit].shard_length();
  auto* const block = reinterpret_cast<float*>(residents_[unit].block);
  if (has_secondary_[unit])
    return checked(
        ncclAllGather(secondary_[unit].data(), block, cuts_[unit].padded() / options_.place.group_ranks,
                      ncclFloat, group_.handle(), stream_.cuda()),
        what);
  if (is_quantized(options_.precision))
    return checked(weirQuantizedAllGather(masters_[unit], block, length, quantized_format(options_.precision),
                                          0, comm_.handle(), stream_.handle()),
                   what);
  if (options_.precision == Precision::bfloat16)
    return checked(
        ncclAllGather(halves_[unit].data(), wire(unit), length, ncclBfloat16, comm_.handle(), stream_.cuda()),
        what);
  return checked(ncclAllGather(masters_[unit], block, length, ncclFloat, comm_.handle(), stream_.cuda()),
                 what);
}

/// The rank's own shard, rounded to bf16.
Status Gathers::make_halves(int unit) {
  const size_t length = cuts_[unit].shard_length();
  if (halves_[unit].data() == nullptr) {
    Result<Memory> memory = Memory::allocate(length * sizeof(uint16_t), options_.gpu);
    WEIR_TRY(memory.status());
    halves_[unit] = std::move(*memory);
  }
  arrays_.to_halves(masters_[unit], length, reinterpret_cast<uint16_t*>(halves_[unit].data()));
  return arrays_.status();
}

Status Gathers::wait(int unit) {
  Resident& resident = residents_[unit];
  if (!resident.queued)
    return Status(
        Code::internal_error,
        fmt::format("no memory to gather {}, although no other unit is gathered", units_[unit].name));
  if (resident.arrived) return Status();
  if (resident.mark) {
    const uint64_t since = PassRecord::now_ns();
    WEIR_TRY(record_->wait(*resident.mark, stream_, Kind::gather, unit,
                           ("gathering " + units_[unit].name).c_str()));
    record_->waited(Kind::gather, since);
    WEIR_TRY(comm_.status("gathering " + units_[unit].name));
    WEIR_TRY(group_.status("gathering " + units_[unit].name));
  }
  if (is_quantized(options_.precision) && !shared()) {
    WEIR_TRY(checked(weirQuantizedRound(masters_[unit], reinterpret_cast<float*>(resident.block),
                                        cuts_[unit].parameters(), quantized_format(options_.precision), 0),
                     "rounding " + units_[unit].name));
  }
  if (options_.precision == Precision::bfloat16 && !has_secondary_[unit]) {
    const uint16_t* from = shared() ? wire(unit) : reinterpret_cast<const uint16_t*>(halves_[unit].data());
    arrays_.from_halves(from, cuts_[unit].parameters(), reinterpret_cast<float*>(resident.block));
  }
  if (group_.handle() != nullptr && !has_secondary_[unit]) WEIR_TRY(keep_secondary(unit));
  resident.arrived = true;
  return arrays_.status();
}

/// Keeps this rank's part of a unit that was gathered over all ranks, as it is used.
Status Gathers::keep_secondary(int unit) {
  const size_t bytes = cuts_[unit].padded() / options_.place.group_ranks * sizeof(float);
  if (secondary_[unit].data() == nullptr) {
    Result<Memory> memory = Memory::allocate(bytes, options_.gpu);
    WEIR_TRY(memory.status());
    secondary_[unit] = std::move(*memory);
  }
  arrays_.copy(residents_[unit].block + bytes * options_.place.group_rank, bytes, secondary_[unit].data());
  has_secondary_[unit] = true;
  return arrays_.status();
}

size_t Gathers::secondary_bytes() const {
  if (group_.handle() == nullptr) return 0;
  size_t bytes = 0;
  for (const Cut& cut : cuts_) bytes += cut.padded() / options_.place.group_ranks * sizeof(float);
  return bytes;
}

void Gathers::abort() {
  comm_.abort();
  group_.abort();
}

}  // namespace weir::shard
