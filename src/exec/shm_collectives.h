// SPDX-License-Identifier: Apache-2.0
/// The fast path of an island: collectives in which every rank gets data from every rank, through exchange
/// areas that all ranks can address.
///
/// It replaces the following plans (algorithms/) and gives the same bits, because it also folds in rank
/// order:
///   all_reduce                          one_shot up to Limits::one_shot_bytes, two_shot above
///   all_gather, reduce_scatter, all_to_all   one_shot
///
/// How it works (exchange_area.h defines the stages and who may write what when):
///  * A few bytes are sent inside the cache line that announces them (inline messages).
///  * More bytes are copied to the rank's own half, block by block, and announced in its stage line; the
///  other
///    ranks read them there. In the two-shot all-reduce each rank folds its share of a block and announces
///    the result in a second stage.
///  * If the buffers of all ranks are allocations that all ranks can map, there are no copies: each rank
///  folds
///    its share of all inputs into all outputs, and in a last stage it announces that it no longer uses the
///    other ranks' buffers. The first stage announces the buffers of all ranks to all, so every rank makes
///    the same choice.
///  * Other large inputs go by rendezvous: ranks read them through the kernel
///    (transports/memory/memory_owner.h). If some rank cannot, it says so in the next stage; then all ranks
///    do what is missing with copies, and use no rendezvous any more. The all-reduce of two ranks copies: a
///    line that the other core has read costs more when it is next written, by the sum in place or by the
///    program, than the copy (docs/lab/changes.md).
///
/// Not thread-safe. advance() does not allocate, and makes system calls only to map an allocation at its
/// first use, and for rendezvous.
/// Tests: tests/exec/shm_collectives_test.cc
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "src/base/chunks.h"
#include "src/base/doorbell.h"
#include "src/device/handed_copies.h"
#include "src/exec/allocations.h"
#include "src/exec/exchange_area.h"
#include "src/exec/posted_buffers.h"
#include "src/exec/task.h"
#include "src/exec/work.h"
#include "transports/slot_array.h"

namespace weir::exec {

class ShmCollectives final : public Task {
 public:
  struct Limits {
    size_t one_shot_bytes = 16 * 1024;          ///< largest all_reduce in which each rank reads all inputs
    size_t direct_bytes = 4 * 1024;             ///< smallest buffer that is used directly if peers can map it
    size_t block_bytes = 512 * 1024;            ///< bytes staged at a time, at most half an exchange area
    size_t streaming_bytes = 16 * 1024 * 1024;  ///< smallest output that bypasses the cache
    size_t rendezvous_bytes = 0;                ///< smallest block read by rendezvous; 0: none is
    size_t most_rendezvous = SIZE_MAX;          ///< largest buffer that is copied by rendezvous
    size_t most_summed = 2 * 1024 * 1024;       ///< the same where inputs are summed
    float streaming_weight = 1;                 ///< of staged inputs: HandedCopies()

    /// For two ranks. One stage writes and reads as many bytes as two and waits once less; above, the sums of
    /// both take longer. Measurements: docs/lab/changes.md.
    void suit_two(bool on_own_cores) {
      one_shot_bytes = 32 * 1024;
      if (on_own_cores) streaming_weight = 0.7f;
    }
  };
  static constexpr int kMostRanks = device::kMostSources;

  /// `exchange_areas` and `doorbells` are indexed by rank; they and `allocations` must outlive the object.
  ShmCollectives(Rank self, std::vector<ExchangeArea> exchange_areas, std::vector<Doorbell*> doorbells,
                 Allocations& allocations, const Limits& limits);

  /// Whether this class supports the collective.
  static bool does(Collective kind) {
    return kind == Collective::all_reduce || kind == Collective::all_gather ||
           kind == Collective::reduce_scatter || kind == Collective::all_to_all;
  }

  /// Begins an operation; `work` must not move until the operation is done. REQUIRES: does(kind); the
  /// previous operation is done; work.count > 0.
  void start(Collective kind, const Work& work);

  Progress advance() override;
  Status serve(Rank& /*peer*/) override { return {}; }
  Status error() const override { return error_; }
  Rank waiting_for() const override { return awaited_; }
  int rings_needed() const override { return std::max(1, std::popcount(pending_)); }

 private:
  enum class Phase : uint8_t {
    inline_messages,  ///< wait for the inline messages of all ranks
    inputs,           ///< wait for the blocks of all ranks, or for the addresses of their buffers
    results,          ///< two-shot: wait for the folded shares of all ranks
    drain,            ///< wait until all ranks have finished with the buffers
  };

  /// Parameters of the last operation and values computed from them, kept because most operations equal the
  /// previous one.
  struct CallShape {
    Collective kind = Collective::send_recv;
    size_t count = 0;
    DataType type = DataType::float32;
    size_t element = 4;
    size_t total = 0;    ///< bytes of a block of the call
    size_t largest = 0;  ///< bytes of the larger buffer
    size_t block = 0;    ///< elements of a block of this exchange
    Extent direct_share;
    device::Traffic traffic = device::Traffic::cached;
    bool direct = false;
  };

  void lay_out(Collective kind, const Work& work);
  PostedBuffers::Own own_buffers() const;
  void send_inline_messages();
  bool all_inline_messages();
  void read_inline_messages();
  void post();
  bool all_posted();
  template <typename WordOf>
  bool hear_all(WordOf word_of);
  bool heard(Rank peer, uint64_t word);
  bool begin_again();
  void begin_block();
  void stage_inputs();
  void consume();
  void fold_share();
  void copy_result(Rank rank);
  void take(Rank rank, std::byte* target, size_t staged_offset, size_t buffer_offset);
  void exchange_direct();
  void sum_inputs(std::byte* target, Extent elements, device::Traffic traffic, size_t staged_offset,
                  size_t buffer_offset);
  bool next();

  bool folds() const { return reduces(call_.kind); }
  bool two_shot() const {
    return call_.kind == Collective::all_reduce && call_.total > limits_.one_shot_bytes;
  }
  bool by_destination() const {
    return call_.kind == Collective::reduce_scatter || call_.kind == Collective::all_to_all;
  }
  Extent share(Rank rank) const;
  Rank after_self(int distance) const {
    const Rank rank = self_ + 1 + distance;
    return rank < ranks_ ? rank : rank - ranks_;
  }
  void stage_copy(std::byte* to, const std::byte* from, size_t count);
  const std::byte* input_of(Rank rank, size_t staged_offset, size_t buffer_offset) const;
  template <typename SourceOf>
  void fold(std::byte* target, size_t count, device::Traffic traffic, SourceOf source_of);
  size_t bytes(size_t elements) const { return elements * call_.element; }

  const Rank self_;
  const int ranks_;
  const std::vector<ExchangeArea> exchange_areas_;
  const std::vector<Doorbell*> doorbells_;
  Limits limits_;
  const uint64_t everybody_;  ///< value of pending_ with the bits of all other ranks

  const Work* work_ = nullptr;
  CallShape call_;
  size_t done_ = 0;  ///< elements of the call's block that are done
  size_t now_ = 0;   ///< elements in the current block of the exchange
  Phase phase_ = Phase::inline_messages;
  uint32_t stage_ = 0;    ///< number of the last posted stage
  uint64_t pending_ = 0;  ///< bit i: rank self + 1 + i has not posted this stage
  Rank awaited_ = 0;
  bool first_ = true;              ///< whether this is the first block
  size_t summed_ = 0;              ///< elements of this rank's part, of a block if two-shot, that are summed
  std::optional<SlotArray> read_;  ///< what was read by rendezvous to be summed, by rank
  device::HandedCopies handed_copies_;
  PostedBuffers posted_;
  alignas(64) std::byte own_inline_message_[InlineMessage::kBytes];  ///< own inline message after scaling
  Status error_;
};

}  // namespace weir::exec
