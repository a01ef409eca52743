// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>

#include "trainer/shard/arrays.h"
#include "trainer/shard/reductions.h"

namespace weir::shard {
namespace {

/// One sum per unit over the grains of the global batch, which the library adds in the order of their tree.
/// The sums are in host memory; a GPU's gradients of each grain are copied there.
class CanonicalReductions final : public Reductions {
 public:
  CanonicalReductions(ReductionSetup setup, Communicator world, Communicator replicas, Stream stream,
                      Stream between_replicas)
      : setup_(std::move(setup)),
        world_(std::move(world)),
        replicas_(std::move(replicas)),
        arrays_(setup_.gpu),
        stream_(std::move(stream)),
        between_replicas_(std::move(between_replicas)) {}

  Status make_sums() {
    for (size_t unit = 0; unit < setup_.units.size(); ++unit) {
      const Cut& cut = setup_.cuts[unit];
      std::vector<weirElementRange_t> pieces;
      for (const Place& place : setup_.places) {
        const Range piece = cut.piece(place);
        pieces.push_back({piece.first, piece.count});
      }
      Result<GrainSum> sum = GrainSum::make(world_.handle(), cut.parameters(), pieces);
      if (!sum.ok()) return sum.status();
      sums_.push_back(std::move(*sum));
    }
    if (setup_.gpu == nullptr) return Status();
    size_t largest = 0;
    for (const Cut& cut : setup_.cuts) largest = std::max(largest, cut.parameters());
    Result<Memory> grain = Memory::allocate(largest * sizeof(float), setup_.gpu);
    if (!grain.ok()) return grain.status();
    grain_ = std::move(*grain);
    return Status();
  }

  Status begin(const GrainPlan& plan) override {
    plan_ = plan;
    for (size_t unit = 0; unit < sums_.size(); ++unit)
      WEIR_TRY(checked(weirGrainSumBegin(sums_[unit].handle(), plan.grains()), name(unit)));
    for (size_t unit = 0; unit < setup_.units.size(); ++unit) {
      const Cut& cut = setup_.cuts[unit];
      arrays_.clear(setup_.shards[unit], cut.piece_length() * setup_.place().replicas);
    }
    return arrays_.status();
  }

  Result<std::span<float>> gradients(int unit) override {
    const size_t count = setup_.cuts[unit].parameters();
    WEIR_TRY(checked(weirGrainSumOpen(sums_[unit].handle(), &opened_), name(unit)));
    if (setup_.gpu == nullptr) return std::span<float>(opened_, count);
    arrays_.clear(grain_.floats(), count);
    return std::span<float>(grain_.floats(), count);
  }

  Status close(int unit, GrainRange grains) override {
    if (setup_.gpu != nullptr) {
      arrays_.copy(grain_.floats(), setup_.cuts[unit].parameters() * sizeof(float), opened_);
      WEIR_TRY(arrays_.status());
    }
    return checked(weirGrainSumClose(sums_[unit].handle(), grains.first, grains.end),
                   "gradients of " + name(unit));
  }

  Status reduce(int unit, int micro_batch) override {
    std::vector<weirGrainRange_t> ranges;
    for (int rank = 0; rank < plan_->ranks(); ++rank) {
      const GrainRange range = plan_->of(rank, micro_batch);
      ranges.push_back({range.first, range.end});
    }
    Result<PassRecord::Mark> mark = setup_.record->start(stream_);
    if (!mark.ok()) return mark.status();
    size_t sent = 0;
    WEIR_TRY(checked(weirGrainSumExchange(sums_[unit].handle(), ranges.data(), stream_.handle(), &sent),
                     "reducing " + name(unit)));
    WEIR_TRY(setup_.record->stop(*mark, stream_));
    ++setup_.record->counts.reductions;
    setup_.record->counts.reduce_bytes += sent;
    under_way_.push_back(UnderWay{unit, micro_batch + 1 == plan_->micro_batches(), std::move(*mark)});
    while (under_way_.size() > static_cast<size_t>(setup_.under_way)) WEIR_TRY(wait_for_oldest());
    return Status();
  }

  Status finish() override {
    while (!under_way_.empty()) WEIR_TRY(wait_for_oldest());
    for (auto& [unit, mark] : copies_) WEIR_TRY(wait(mark, unit, between_replicas_));
    copies_.clear();
    return Status();
  }

  void abort() override {
    world_.abort();
    replicas_.abort();
  }

 private:
  struct UnderWay {
    int unit;
    bool last;  ///< whether it is the last reduction of the pass
    PassRecord::Mark mark;
  };

  const std::string& name(size_t unit) const { return setup_.units[unit].name; }

  Status wait(PassRecord::Mark& mark, int unit, const Stream& stream) {
    const uint64_t since = PassRecord::now_ns();
    WEIR_TRY(setup_.record->wait(mark, stream, Kind::reduce, unit, ("reducing " + name(unit)).c_str()));
    setup_.record->waited(Kind::reduce, since);
    return Status();
  }

  Status wait_for_oldest() {
    UnderWay oldest = std::move(under_way_.front());
    under_way_.pop_front();
    WEIR_TRY(wait(oldest.mark, oldest.unit, stream_));
    WEIR_TRY(checked(weirGrainSumSettle(sums_[oldest.unit].handle()), "reducing " + name(oldest.unit)));
    return oldest.last ? complete(oldest.unit) : Status();
  }

  /// After the sum over all grains, the rank's own piece is copied into the shard; replicas send the others.
  Status complete(int unit) {
    const Cut& cut = setup_.cuts[unit];
    const Place& place = setup_.place();
    float* mine = setup_.shards[unit] + place.replica * cut.piece_length();
    WEIR_TRY(bring_sum(unit, mine));
    if (replicas_.handle() == nullptr) return Status();
    Result<PassRecord::Mark> mark = setup_.record->start(between_replicas_);
    if (!mark.ok()) return mark.status();
    WEIR_TRY(checked(ncclAllGather(mine, setup_.shards[unit], cut.piece_length(), ncclFloat,
                                   replicas_.handle(), between_replicas_.cuda()),
                     "reducing " + name(unit)));
    WEIR_TRY(setup_.record->stop(*mark, between_replicas_));
    setup_.record->counts.reduce_bytes += (place.replicas - 1) * cut.piece_length() * sizeof(float);
    copies_.emplace_back(unit, std::move(*mark));
    return Status();
  }

  Status bring_sum(int unit, float* mine) {
    const auto finish = [&](float* to) {
      return checked(weirGrainSumFinish(sums_[unit].handle(), to), "reducing " + name(unit));
    };
    const size_t count = setup_.cuts[unit].piece(setup_.place()).count;
    // Nothing is written to `mine` where the piece is empty; an empty vector's address could be null.
    if (setup_.gpu == nullptr || count == 0) return finish(mine);
    std::vector<float> sum(count);
    WEIR_TRY(finish(sum.data()));
    arrays_.copy(sum.data(), sum.size() * sizeof(float), mine);
    return arrays_.status();
  }

  ReductionSetup setup_;
  Communicator world_;
  Communicator replicas_;
  std::vector<GrainSum> sums_;  ///< index: unit; destroyed before their communicator
  std::optional<GrainPlan> plan_;
  std::deque<UnderWay> under_way_;
  std::vector<std::pair<int, PassRecord::Mark>> copies_;  ///< copies from replicas in flight, with their unit
  Arrays arrays_;
  float* opened_ = nullptr;  ///< the library's array for the open grain
  Memory grain_;             ///< GPU array with the gradients of the open grain
  Stream stream_;            ///< stream of exchanges; its destructor waits for them
  Stream between_replicas_;  ///< stream in the memory of the shards
};

}  // namespace

Result<std::unique_ptr<Reductions>> canonical_reductions(ReductionSetup setup, Communicator world,
                                                         Communicator replicas) {
  Result<Stream> stream = Stream::make();
  if (!stream.ok()) return stream.status();
  Result<Stream> between_replicas = Stream::make(setup.gpu);
  if (!between_replicas.ok()) return between_replicas.status();
  auto made = std::make_unique<CanonicalReductions>(std::move(setup), std::move(world), std::move(replicas),
                                                    std::move(*stream), std::move(*between_replicas));
  WEIR_TRY(made->make_sums());
  return std::unique_ptr<Reductions>(std::move(made));
}

}  // namespace weir::shard
