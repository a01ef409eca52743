#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>

#include "trainer/shard/reductions.h"

namespace weir::shard {
namespace {

class PlainReductions final : public Reductions {
 public:
  PlainReductions(ReductionSetup setup, Communicator shards, Communicator replicas, Stream stream)
      : setup_(std::move(setup)),
        shards_(std::move(shards)),
        replicas_(std::move(replicas)),
        current_(setup_.units.size(), kNone),
        stream_(std::move(stream)) {}

  /// Room for the gradients of the largest unit, `under_way` times.
  Status allocate() {
    if (shards_.handle() == nullptr) return Status();
    size_t most = 0;
    for (const Cut& cut : setup_.cuts) most = std::max(most, cut.padded());
    for (int i = 0; i < setup_.under_way; ++i) {
      Result<Memory> memory = Memory::allocate(most * sizeof(float));
      if (!memory.ok()) return memory.status();
      idle_.push_back(i);
      buffers_.push_back(std::move(*memory));
    }
    return Status();
  }

  Status begin(const GrainPlan& plan) override {
    micro_batches_ = plan.micro_batches();
    for (size_t unit = 0; unit < setup_.units.size(); ++unit)
      std::memset(setup_.shards[unit], 0, setup_.cuts[unit].shard_length() * sizeof(float));
    return Status();
  }

  Result<std::span<float>> gradients(int unit) override {
    const Cut& cut = setup_.cuts[unit];
    if (shards_.handle() == nullptr) return std::span<float>(setup_.shards[unit], cut.parameters());
    if (current_[unit] == kNone) {
      if (idle_.empty() && under_way_.empty())
        return Status(Code::invalid_usage,
                      "gradients of " + setup_.units[unit].name + " while those of others were not reduced");
      if (idle_.empty()) WEIR_TRY(wait_for_oldest());
      current_[unit] = idle_.back();
      idle_.pop_back();
      std::memset(buffers_[current_[unit]].data(), 0, cut.padded() * sizeof(float));
    }
    return std::span<float>(buffers_[current_[unit]].floats(), cut.parameters());
  }

  Status subtree_done(int, Node) override { return Status(); }

  Status reduce(int unit, int micro_batch) override {
    const bool last = micro_batch + 1 == micro_batches_;
    if (shards_.handle() == nullptr && (!last || replicas_.handle() == nullptr)) return Status();
    int buffer = kNone;
    if (shards_.handle() != nullptr) {
      if (Result<std::span<float>> there = gradients(unit); !there.ok()) return there.status();
      buffer = std::exchange(current_[unit], kNone);
      WEIR_TRY(add_what_came_before(unit, buffer));
    }
    Result<PassRecord::Mark> mark = setup_.record->start(stream_);
    if (!mark.ok()) return mark.status();
    WEIR_TRY(queue(unit, buffer, last));
    WEIR_TRY(setup_.record->stop(*mark, stream_));
    ++setup_.record->counts.reductions;
    under_way_.push_back(UnderWay{unit, buffer, std::move(*mark)});
    return Status();
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
  struct UnderWay {
    int unit;
    int buffer;
    PassRecord::Mark mark;
  };

  /// The sums of earlier micro-batches travel with the own part, so that the result replaces them.
  Status add_what_came_before(int unit, int buffer) {
    const auto same = [unit](const UnderWay& other) { return other.unit == unit; };
    while (std::any_of(under_way_.begin(), under_way_.end(), same)) WEIR_TRY(wait_for_oldest());
    const size_t length = setup_.cuts[unit].shard_length();
    float* own = buffers_[buffer].floats() + setup_.place().shard * length;
    const float* before = setup_.shards[unit];
    for (size_t i = 0; i < length; ++i) own[i] += before[i];
    return Status();
  }

  Status queue(int unit, int buffer, bool last) {
    const Place& place = setup_.place();
    const size_t length = setup_.cuts[unit].shard_length();
    float* shard = setup_.shards[unit];
    uint64_t& bytes = setup_.record->counts.reduce_bytes;
    const std::string what = "reducing " + setup_.units[unit].name;
    if (buffer != kNone) {
      WEIR_TRY(checked(ncclReduceScatter(buffers_[buffer].data(), shard, length, ncclFloat, ncclSum,
                                         shards_.handle(), stream_.cuda()),
                       what));
      bytes += (place.shards - 1) * length * sizeof(float);
    }
    if (last && replicas_.handle() != nullptr) {
      WEIR_TRY(checked(
          ncclAllReduce(shard, shard, length, ncclFloat, ncclSum, replicas_.handle(), stream_.cuda()), what));
      bytes += 2 * (place.replicas - 1) * length * sizeof(float) / place.replicas;
    }
    return Status();
  }

  Status wait_for_oldest() {
    UnderWay oldest = std::move(under_way_.front());
    under_way_.pop_front();
    const uint64_t since = PassRecord::now_ns();
    WEIR_TRY(setup_.record->wait(oldest.mark, stream_, Kind::reduce, oldest.unit,
                                 ("reducing " + setup_.units[oldest.unit].name).c_str()));
    setup_.record->waited(Kind::reduce, since);
    if (oldest.buffer != kNone) idle_.push_back(oldest.buffer);
    return Status();
  }

  ReductionSetup setup_;
  Communicator shards_;
  Communicator replicas_;
  std::vector<Memory> buffers_;  ///< whole units
  std::vector<int> idle_;        ///< of buffers_
  std::vector<int> current_;     ///< by unit: the buffer that is being filled
  std::deque<UnderWay> under_way_;
  int micro_batches_ = 1;
  Stream stream_;  ///< last: its end waits for what uses the rest
};

}  // namespace

Result<std::unique_ptr<Reductions>> plain_reductions(ReductionSetup setup, Communicator shards,
                                                     Communicator replicas) {
  Result<Stream> stream = Stream::make();
  if (!stream.ok()) return stream.status();
  auto made = std::make_unique<PlainReductions>(std::move(setup), std::move(shards), std::move(replicas),
                                                std::move(*stream));
  WEIR_TRY(made->allocate());
  return std::unique_ptr<Reductions>(std::move(made));
}

}  // namespace weir::shard
