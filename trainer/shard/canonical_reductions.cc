#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>

#include "trainer/shard/canonical.h"
#include "trainer/shard/reductions.h"

namespace weir::shard {
namespace {

class CanonicalReductions final : public Reductions {
 public:
  CanonicalReductions(ReductionSetup setup, Communicator world, Communicator replicas, Stream stream)
      : setup_(std::move(setup)),
        world_(std::move(world)),
        replicas_(std::move(replicas)),
        current_(setup_.units.size()),
        stream_(std::move(stream)) {}

  Status begin(const GrainPlan& plan) override {
    plan_ = plan;
    tree_ = GrainTree(plan.grains());
    local_.assign(setup_.units.size(), TreeSums(tree_, pool_));
    owned_.assign(setup_.units.size(), TreeSums(tree_, pool_));
    for (size_t unit = 0; unit < setup_.units.size(); ++unit) {
      const Cut& cut = setup_.cuts[unit];
      std::fill_n(setup_.shards[unit], cut.piece_length() * setup_.place().replicas, 0.0F);
    }
    return Status();
  }

  Result<std::span<float>> gradients(int unit) override {
    Floats& array = current_[unit];
    if (array.empty()) {
      array = pool_.take(setup_.cuts[unit].parameters());
      std::fill(array.begin(), array.end(), 0.0F);
    }
    return std::span<float>(array);
  }

  Status subtree_done(int unit, Node node) override {
    if (current_[unit].empty())
      return Status(Code::invalid_usage, fmt::format("a sub-tree of {} without gradients", name(unit)));
    const Status added = local_[unit].add(node, std::exchange(current_[unit], Floats()));
    return added.ok() ? added
                      : Status(added.code(), fmt::format("gradients of {}: {}", name(unit), added.message()));
  }

  Status reduce(int unit, int micro_batch) override {
    CanonicalShape shape;
    shape.rank = setup_.rank;
    for (int rank = 0; rank < plan_->ranks(); ++rank) {
      shape.roots.push_back(tree_.cover(plan_->of(rank, micro_batch)));
      shape.pieces.push_back(setup_.cuts[unit].piece(setup_.places[rank]));
    }
    Result<PassRecord::Mark> mark = setup_.record->start(stream_);
    if (!mark.ok()) return mark.status();
    Result<CanonicalReduction> reduction = CanonicalReduction::start(std::move(shape), local_[unit].take(),
                                                                     pool_, world_.handle(), stream_.cuda());
    if (!reduction.ok())
      return Status(reduction.status().code(),
                    fmt::format("reducing {}: {}", name(unit), reduction.status().message()));
    WEIR_TRY(setup_.record->stop(*mark, stream_));
    ++setup_.record->counts.reductions;
    setup_.record->counts.reduce_bytes += reduction->bytes_sent();
    const bool last = micro_batch + 1 == plan_->micro_batches();
    under_way_.push_back(UnderWay{unit, last, std::move(*reduction), std::move(*mark)});
    while (under_way_.size() > static_cast<size_t>(setup_.under_way)) WEIR_TRY(wait_for_oldest());
    return Status();
  }

  Status finish() override {
    while (!under_way_.empty()) WEIR_TRY(wait_for_oldest());
    for (auto& [unit, mark] : copies_) WEIR_TRY(wait(mark, unit));
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
    bool last;  ///< of the pass
    CanonicalReduction reduction;
    PassRecord::Mark mark;
  };

  const std::string& name(int unit) const { return setup_.units[unit].name; }

  Status wait(PassRecord::Mark& mark, int unit) {
    const uint64_t since = PassRecord::now_ns();
    WEIR_TRY(setup_.record->wait(mark, stream_, Kind::reduce, unit, ("reducing " + name(unit)).c_str()));
    setup_.record->waited(Kind::reduce, since);
    return Status();
  }

  Status wait_for_oldest() {
    UnderWay oldest = std::move(under_way_.front());
    under_way_.pop_front();
    WEIR_TRY(wait(oldest.mark, oldest.unit));
    WEIR_TRY(oldest.reduction.finish(owned_[oldest.unit]));
    return oldest.last ? complete(oldest.unit) : Status();
  }

  /// The sum of all grains: the own piece goes where it belongs in the shard, replicas give the others.
  Status complete(int unit) {
    const Cut& cut = setup_.cuts[unit];
    const Place& place = setup_.place();
    float* mine = setup_.shards[unit] + place.replica * cut.piece_length();
    for (auto& [node, sum] : owned_[unit].take()) {
      if (node != tree_.root())
        return Status(Code::internal_error, fmt::format("grains of {} are missing in its sum", name(unit)));
      std::copy(sum.begin(), sum.end(), mine);
      pool_.give(std::move(sum));
    }
    if (replicas_.handle() == nullptr) return Status();
    Result<PassRecord::Mark> mark = setup_.record->start(stream_);
    if (!mark.ok()) return mark.status();
    WEIR_TRY(checked(ncclAllGather(mine, setup_.shards[unit], cut.piece_length(), ncclFloat,
                                   replicas_.handle(), stream_.cuda()),
                     "reducing " + name(unit)));
    WEIR_TRY(setup_.record->stop(*mark, stream_));
    setup_.record->counts.reduce_bytes += (place.replicas - 1) * cut.piece_length() * sizeof(float);
    copies_.emplace_back(unit, std::move(*mark));
    return Status();
  }

  ReductionSetup setup_;
  Communicator world_;
  Communicator replicas_;
  FloatPool pool_;
  GrainTree tree_{1};
  std::optional<GrainPlan> plan_;
  std::vector<TreeSums> local_;  ///< by unit: of own grains, whole arrays
  std::vector<TreeSums> owned_;  ///< by unit: of all grains, own pieces
  std::vector<Floats> current_;  ///< by unit: what is being added up; empty: nothing
  std::deque<UnderWay> under_way_;
  std::vector<std::pair<int, PassRecord::Mark>> copies_;  ///< from replicas, under way; by unit
  Stream stream_;                                         ///< last: its end waits for what uses the rest
};

}  // namespace

Result<std::unique_ptr<Reductions>> canonical_reductions(ReductionSetup setup, Communicator world,
                                                         Communicator replicas) {
  Result<Stream> stream = Stream::make();
  if (!stream.ok()) return stream.status();
  return std::unique_ptr<Reductions>(std::make_unique<CanonicalReductions>(
      std::move(setup), std::move(world), std::move(replicas), std::move(*stream)));
}

}  // namespace weir::shard
