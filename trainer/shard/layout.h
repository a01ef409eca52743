// SPDX-License-Identifier: Apache-2.0
/// How flat parameters are cut into shards, and shards into pieces. Pure.
///
/// A unit is padded to `shards` equal shards of whole blocks. Where replicas hold the same shard, it is cut
/// further into one piece per replica: the ranks of the world then own disjoint pieces of everything,
/// whatever the strategy. Padding is zero and belongs to no range below.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weir/status.h"

namespace weir::shard {

/// Names and meaning are those of PyTorch's FSDP.
enum class Strategy {
  no_shard,       ///< every rank keeps everything; gradients are all-reduced
  shard_grad_op,  ///< parameters are gathered once per step and kept until their last backward
  full_shard,     ///< parameters are gathered for every use
  hybrid_shard,   ///< full_shard inside a group of ranks, replicas of it across groups
};

/// "NO_SHARD" and so on.
const char* name_of(Strategy strategy);
/// invalid_argument with the names there are.
Result<Strategy> strategy_named(std::string_view name);

/// What travels between ranks.
enum class Precision { float32, bfloat16 };

/// Elements [first, first + count).
struct Range {
  size_t first = 0;
  size_t count = 0;
  size_t end() const { return first + count; }
};

/// Elements that lie in a row in a unit, and in the unit of the whole model of which this one is a slice.
struct Stretch {
  size_t first = 0;
  size_t whole = 0;  ///< the first one's number there
  size_t count = 0;
  bool counts = true;  ///< false: a copy of what another slice has
};

/// One flat fp32 array of parameters that is gathered as a whole.
struct Unit {
  std::string name;
  size_t parameters = 0;
  std::vector<Stretch> stretches = {};  ///< empty: it is no slice
};

/// The parts of a unit's stretches that lie in a range of its elements.
std::vector<Stretch> stretches_in(const Unit& unit, const Range& range);

/// Which shard a rank has, and which of its replicas it is.
struct Place {
  int shard = 0;
  int shards = 1;
  int replica = 0;
  int replicas = 1;
};

/// Elements whose squares are summed first when the norm of gradients is taken; shards are whole blocks.
constexpr size_t kNormBlock = 1024;

/// How one unit is cut.
class Cut {
 public:
  Cut(size_t parameters, int shards, int replicas);

  size_t parameters() const { return parameters_; }
  /// Elements of each shard with its padding; a multiple of kNormBlock.
  size_t shard_length() const { return shard_length_; }
  /// Elements of each piece with its padding; `replicas` of them hold a shard, the last ones may go beyond
  /// it.
  size_t piece_length() const { return piece_length_; }
  size_t padded() const { return shard_length_ * static_cast<size_t>(shards_); }

  /// Parameters of a shard; empty where it is all padding.
  Range shard(int shard) const;
  /// Parameters that `place` owns alone: its piece of its shard.
  Range piece(const Place& place) const;

 private:
  size_t parameters_;
  int shards_;
  size_t shard_length_;
  size_t piece_length_;
};

/// Places of all ranks of a world where `group_of[rank]` names the shard group that a rank is in. Groups
/// count in the order of their first ranks. invalid_argument when they differ in size.
Result<std::vector<Place>> places_of(const std::vector<int>& group_of);

}  // namespace weir::shard
