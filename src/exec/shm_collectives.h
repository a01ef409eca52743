// SPDX-License-Identifier: Apache-2.0
/// The fast path of an island: collectives in which every rank hears from every rank, through exchange areas
/// that all can address.
///
/// It stands for these plans (algorithms/), and gives the same bits, because it folds in rank order as they
/// do:
///   all_reduce                          one_shot up to Limits::one_shot_bytes, two_shot above
///   all_gather, reduce_scatter, all_to_all   one_shot
///
/// How (stages and who may write what when: exchange_area.h):
///  * A few bytes travel inside the line that announces them (inline messages).
///  * More is copied into the rank's own half, block by block, and announced in its stage line; the others
///    read it there. The two-shot all-reduce folds its share of a block and announces the result in a second
///    stage.
///  * Where all ranks' buffers are allocations that all can map, nothing is copied: each rank folds its
///    share out of all inputs into all outputs, and a last stage tells that the buffers are the caller's
///    again. The first stage tells everybody where all the buffers are, so all take the same way without
///    asking.
///
/// Not thread-safe. advance() does not allocate or enter the kernel, but to map an allocation it sees for the
/// first time.
#pragma once

#include <vector>

#include "src/base/chunks.h"
#include "src/base/doorbell.h"
#include "src/exec/allocations.h"
#include "src/exec/exchange_area.h"
#include "src/exec/task.h"
#include "src/exec/work.h"

namespace weir::exec {

class ShmCollectives final : public Task {
 public:
  struct Limits {
    size_t one_shot_bytes = 16 * 1024;          ///< all_reduce: read by each rank from all others
    size_t direct_bytes = 4 * 1024;             ///< from here on, look for buffers that peers can map
    size_t block_bytes = 512 * 1024;            ///< staged at once, at most half an exchange area
    size_t streaming_bytes = 16 * 1024 * 1024;  ///< outputs from here on bypass the cache
  };
  static constexpr int kMostRanks = device::kMostSources;

  /// exchange areas and doorbells by rank; they outlive the object, as does `allocations`.
  ShmCollectives(Rank self, std::vector<ExchangeArea> exchange_areas, std::vector<Doorbell*> doorbells,
                 Allocations& allocations, const Limits& limits);

  /// Whether the exchange does this collective.
  static bool does(Collective kind) {
    return kind == Collective::all_reduce || kind == Collective::all_gather ||
           kind == Collective::reduce_scatter || kind == Collective::all_to_all;
  }

  /// Begins an operation; `work` stays where it is until that is done. REQUIRES: does(kind); the last one is
  /// done; work.count > 0.
  void start(Collective kind, const Work& work);

  Progress advance() override;
  Status serve(Rank& /*peer*/) override { return {}; }
  Status error() const override { return error_; }
  Rank waiting_for() const override { return awaited_; }

 private:
  enum class Phase : uint8_t {
    inline_messages,  ///< wait for everybody's few bytes
    inputs,           ///< wait for everybody's block, or for where their buffers are
    results,          ///< two-shot: wait for everybody's share of the block
    drain,            ///< wait until everybody has read or written the buffers
  };

  /// The buffers that a peer posted last, and where they are in this address space; null: nowhere.
  struct Buffers {
    Posted posted_input;
    Posted posted_output;
    const std::byte* input = nullptr;
    std::byte* output = nullptr;
  };

  void lay_out(Collective kind, const Work& work);
  void post_buffers();
  void send_inline_messages();
  bool all_inline_messages();
  void read_inline_messages();
  void post();
  bool all_posted();
  template <typename WordOf>
  bool hear_all(WordOf word_of);
  bool heard(Rank peer, uint64_t word);
  Status learn_buffers();
  Status find(Rank rank, const StageEntry& line, Buffers& found);
  void begin_block();
  void stage_inputs();
  void consume();
  void fold_share();
  void copy_result(Rank rank);
  void exchange_direct();
  bool next();

  bool folds() const { return reduces(kind_); }
  bool two_shot() const { return kind_ == Collective::all_reduce && total_ > limits_.one_shot_bytes; }
  bool by_destination() const {
    return kind_ == Collective::reduce_scatter || kind_ == Collective::all_to_all;
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
  size_t bytes(size_t elements) const { return elements * element_; }

  const Rank self_;
  const int ranks_;
  const std::vector<ExchangeArea> exchange_areas_;
  const std::vector<Doorbell*> doorbells_;
  Allocations& allocations_;
  const Limits limits_;
  const uint64_t everybody_;  ///< all bits of pending_

  const Work* work_ = nullptr;
  // Of the last operation, and what follows from them; most are like the one before.
  Collective kind_ = Collective::send_recv;
  size_t count_ = 0;
  DataType type_ = DataType::float32;
  size_t element_ = 4;
  size_t total_ = 0;    ///< bytes of a block of the call
  size_t largest_ = 0;  ///< bytes of the larger buffer
  size_t block_ = 0;    ///< elements of a block of this exchange
  Extent direct_share_;
  size_t done_ = 0;  ///< elements of the call's block before this one
  size_t now_ = 0;   ///< elements in this one
  device::Traffic traffic_ = device::Traffic::cached;
  Phase phase_ = Phase::inline_messages;
  uint32_t stage_ = 0;    ///< the last one posted
  uint64_t pending_ = 0;  ///< bit i: rank own + 1 + i was not heard from in this stage
  Rank awaited_ = 0;
  bool first_ = true;  ///< first block
  bool any_posted_ = false;
  bool direct_ = false;
  Posted own_input_;
  Posted own_output_;
  const std::byte* posted_input_ = nullptr;  ///< what own_input_ and own_output_ say; null: nothing yet
  const std::byte* posted_output_ = nullptr;
  uint64_t version_ = 0;                                             ///< of the allocations then
  std::vector<Buffers> buffers_;                                     ///< by rank
  alignas(64) std::byte own_inline_message_[InlineMessage::kBytes];  ///< own few bytes, scaled
  Status error_;
};

}  // namespace weir::exec
