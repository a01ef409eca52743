// SPDX-License-Identifier: Apache-2.0

#include <weir/quantized.h>

#include <algorithm>
#include <deque>
#include <optional>

#include "trainer/shard/arrays.h"
#include "trainer/shard/reductions.h"

namespace weir::shard {
namespace {

class PlainReductions final : public Reductions {
 public:
  PlainReductions(ReductionSetup setup, Communicator shards, Communicator replicas, Stream stream)
      : setup_(std::move(setup)),
        arrays_(setup_.gpu),
        shards_(std::move(shards)),
        replicas_(std::move(replicas)),
        current_(setup_.units.size(), kNone),
        stream_(std::move(stream)) {}

  /// Allocates buffers for the gradients of the largest unit, `under_way` of them.
  Status allocate() {
    size_t most = 0;
    for (const Cut& cut : setup_.cuts) most = std::max(most, cut.padded());
    for (int i = 0; i < setup_.under_way; ++i) {
      if (shards_.handle() != nullptr) WEIR_TRY(add_memory(buffers_, most * sizeof(float)));
      if (half()) WEIR_TRY(add_memory(halves_, most * sizeof(uint16_t)));
      idle_.push_back(i);
    }
    return Status();
  }

  Status begin(const GrainPlan& plan) override {
    micro_batches_ = plan.micro_batches();
    for (size_t unit = 0; unit < setup_.units.size(); ++unit)
      arrays_.clear(setup_.shards[unit], setup_.cuts[unit].shard_length());
    return arrays_.status();
  }

  Result<std::span<float>> gradients(int unit) override {
    const Cut& cut = setup_.cuts[unit];
    if (shards_.handle() == nullptr) return std::span<float>(setup_.shards[unit], cut.parameters());
    if (current_[unit] == kNone) {
      Result<int> room = take_room(unit);
      if (!room.ok()) return room.status();
      current_[unit] = *room;
      arrays_.clear(buffers_[current_[unit]].floats(), cut.padded());
    }
    return std::span<float>(buffers_[current_[unit]].floats(), cut.parameters());
  }

  Status close(int, GrainRange) override { return Status(); }

  Status reduce(int unit, int micro_batch) override {
    const bool last = micro_batch + 1 == micro_batches_;
    const bool across = last && replicas_.handle() != nullptr;
    if (shards_.handle() == nullptr) return across ? reduce_across(unit) : Status();
    if (Result<std::span<float>> there = gradients(unit); !there.ok()) return there.status();
    const int room = std::exchange(current_[unit], kNone);
    if (half()) return scatter_halves(unit, room, across);
    if (quantized()) return scatter_quantized(unit, room, across);
    WEIR_TRY(add_what_came_before(unit, room));
    return queue({unit, room, false, false}, [&] {
      WEIR_TRY(scatter(unit, buffers_[room].data(), setup_.shards[unit]));
      return across ? all_reduce(unit, setup_.shards[unit]) : Status();
    });
  }

  Status finish() override {
    while (!under_way_.empty()) WEIR_TRY(wait_for_oldest());
    return Status();
  }

  void abort() override {
    shards_.abort();
    replicas_.abort();
  }

 private:
  static constexpr int kNone = -1;
  struct Reduction {
    int unit;
    int room;        ///< index of its buffer in buffers_ and halves_; or kNone
    bool scattered;  ///< it is reduce-scattered, not as fp32, among the ranks that share a copy
    bool across;     ///< afterwards it is reduced among replicas
  };
  struct UnderWay {
    Reduction what;
    PassRecord::Mark mark;
  };

  bool alone() const { return shards_.handle() == nullptr && replicas_.handle() == nullptr; }
  bool half() const { return setup_.precision == Precision::bfloat16 && !alone(); }
  bool quantized() const { return is_quantized(setup_.precision) && !alone(); }
  std::string name(int unit) const { return "reducing " + setup_.units[unit].name; }
  uint16_t* halves(int room) { return reinterpret_cast<uint16_t*>(halves_[room].data()); }

  Status add_memory(std::vector<Memory>& arrays, size_t bytes) {
    Result<Memory> memory = Memory::allocate(bytes, setup_.gpu);
    if (!memory.ok()) return memory.status();
    arrays.push_back(std::move(*memory));
    return Status();
  }

  Result<int> take_room(int unit) {
    while (idle_.empty()) {
      if (under_way_.empty())
        return Status(Code::invalid_usage,
                      "gradients of " + setup_.units[unit].name + " while those of others were not reduced");
      WEIR_TRY(wait_for_oldest());
    }
    const int room = idle_.back();
    idle_.pop_back();
    return room;
  }

  /// The sums of earlier micro-batches are sent with this rank's own part, so that the result replaces them.
  Status add_what_came_before(int unit, int room) {
    const auto same = [unit](const UnderWay& other) { return other.what.unit == unit; };
    while (std::any_of(under_way_.begin(), under_way_.end(), same)) WEIR_TRY(wait_for_oldest());
    const size_t length = setup_.cuts[unit].shard_length();
    arrays_.add(setup_.shards[unit], length, own_part(unit, room));
    return arrays_.status();
  }

  /// Queues the calls of `calls` as one reduction.
  template <typename Calls>
  Status queue(const Reduction& reduction, Calls calls) {
    Result<PassRecord::Mark> mark = setup_.record->start(stream_);
    if (!mark.ok()) return mark.status();
    WEIR_TRY(calls());
    WEIR_TRY(setup_.record->stop(*mark, stream_));
    ++setup_.record->counts.reductions;
    under_way_.push_back({reduction, std::move(*mark)});
    return Status();
  }

  Status scatter(int unit, const void* from, void* to) {
    const size_t length = setup_.cuts[unit].shard_length();
    setup_.record->counts.reduce_bytes += (setup_.place().shards - 1) * wire_bytes(setup_.precision, length);
    return checked(ncclReduceScatter(from, to, length, type(), ncclSum, shards_.handle(), stream_.cuda()),
                   name(unit));
  }

  Status all_reduce(int unit, void* shard) {
    const size_t length = setup_.cuts[unit].shard_length();
    const size_t replicas = setup_.place().replicas;
    setup_.record->counts.reduce_bytes +=
        2 * (replicas - 1) * wire_bytes(setup_.precision, length) / replicas;
    if (quantized()) {
      auto* const sums = static_cast<float*>(shard);
      return checked(weirQuantizedAllReduce(sums, sums, length, quantized_format(setup_.precision), 0,
                                            replicas_.handle(), stream_.handle()),
                     name(unit));
    }
    return checked(ncclAllReduce(shard, shard, length, type(), ncclSum, replicas_.handle(), stream_.cuda()),
                   name(unit));
  }

  ncclDataType_t type() const { return half() ? ncclBfloat16 : ncclFloat; }

  /// The rank's own part of a unit arrives as bf16, and is added to the shard in fp32.
  Status scatter_halves(int unit, int room, bool across) {
    const Cut& cut = setup_.cuts[unit];
    const float* from = buffers_[room].floats();
    arrays_.to_halves(from, cut.padded(), halves(room));
    return queue({unit, room, true, across}, [&] {
      return scatter(unit, halves(room), halves(room) + setup_.place().shard * cut.shard_length());
    });
  }

  /// The rank's own part of the unit, in a buffer.
  float* own_part(int unit, int room) {
    return buffers_[room].floats() + setup_.place().shard * setup_.cuts[unit].shard_length();
  }

  /// The sums arrive in the rank's own part of the buffer; they are added to those of earlier micro-batches,
  /// which would lose by being rounded again.
  Status scatter_quantized(int unit, int room, bool across) {
    const size_t length = setup_.cuts[unit].shard_length();
    return queue({unit, room, true, across}, [&] {
      setup_.record->counts.reduce_bytes +=
          (setup_.place().shards - 1) * wire_bytes(setup_.precision, length);
      return checked(weirQuantizedReduceScatter(buffers_[room].floats(), own_part(unit, room), length,
                                                quantized_format(setup_.precision), 0, shards_.handle(),
                                                stream_.handle()),
                     name(unit));
    });
  }

  /// Adds up the sums of the replicas.
  Status reduce_across(int unit) {
    if (!half())
      return queue({unit, kNone, false, false}, [&] { return all_reduce(unit, setup_.shards[unit]); });
    Result<int> room = take_room(unit);
    if (!room.ok()) return room.status();
    return halves_across(unit, *room);
  }

  Status halves_across(int unit, int room) {
    const size_t length = setup_.cuts[unit].shard_length();
    arrays_.to_halves(setup_.shards[unit], length, halves(room));
    arrays_.clear(setup_.shards[unit], length);
    return queue({unit, room, false, false}, [&] { return all_reduce(unit, halves(room)); });
  }

  /// Adds results that arrived as bf16 to the shard.
  void take_halves(const Reduction& reduction) {
    const size_t length = setup_.cuts[reduction.unit].shard_length();
    const uint16_t* from = halves(reduction.room) + (reduction.scattered ? setup_.place().shard * length : 0);
    arrays_.add_halves(from, length, setup_.shards[reduction.unit]);
  }

  Status wait_for_oldest() {
    UnderWay oldest = std::move(under_way_.front());
    under_way_.pop_front();
    const Reduction& what = oldest.what;
    const uint64_t since = PassRecord::now_ns();
    WEIR_TRY(setup_.record->wait(oldest.mark, stream_, Kind::reduce, what.unit, name(what.unit).c_str()));
    setup_.record->waited(Kind::reduce, since);
    WEIR_TRY(shards_.status(name(what.unit)));
    WEIR_TRY(replicas_.status(name(what.unit)));
    if (half()) take_halves(what);
    if (quantized() && what.scattered)
      arrays_.add(own_part(what.unit, what.room), setup_.cuts[what.unit].shard_length(),
                  setup_.shards[what.unit]);
    WEIR_TRY(arrays_.status());
    if (what.across && half()) return halves_across(what.unit, what.room);
    if (what.room != kNone) idle_.push_back(what.room);
    return what.across ? reduce_across(what.unit) : Status();
  }

  ReductionSetup setup_;
  Arrays arrays_;
  Communicator shards_;
  Communicator replicas_;
  std::vector<Memory> buffers_;  ///< buffers for whole units
  std::vector<Memory> halves_;   ///< bf16 copies of buffers_, if gradients are sent as bf16
  std::vector<int> idle_;        ///< indices of unused buffers_ and halves_
  std::vector<int> current_;     ///< index: unit; the buffer that is being filled
  std::deque<UnderWay> under_way_;
  int micro_batches_ = 1;
  Stream stream_;  ///< last member: its destructor waits for operations that use the others
};

}  // namespace

size_t bytes_under_way(const Place& place, Precision precision) {
  const bool halves = precision == Precision::bfloat16 && place.shards * place.replicas > 1;
  return (place.shards > 1 ? sizeof(float) : 0) + (halves ? sizeof(uint16_t) : 0);
}

Result<std::unique_ptr<Reductions>> plain_reductions(ReductionSetup setup, Communicator shards,
                                                     Communicator replicas) {
  Result<Stream> stream = Stream::make(setup.gpu);
  if (!stream.ok()) return stream.status();
  auto made = std::make_unique<PlainReductions>(std::move(setup), std::move(shards), std::move(replicas),
                                                std::move(*stream));
  WEIR_TRY(made->allocate());
  return std::unique_ptr<Reductions>(std::move(made));
}

}  // namespace weir::shard
