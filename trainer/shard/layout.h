// SPDX-License-Identifier: Apache-2.0
/// How flat parameters are cut into shards, and shards into pieces. Pure.
///
/// A unit is padded to `shards` equal shards of whole blocks. If replicas hold the same shard, it is divided
/// further into one piece per replica: the ranks of the world then own disjoint pieces of everything,
/// whatever the strategy. Padding is zero and not part of any range below.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace weir::shard {

/// Names and meanings are those of PyTorch's FSDP, except where another source is named.
enum class Strategy {
  no_shard,       ///< every rank keeps everything; gradients are all-reduced
  shard_grad_op,  ///< parameters are gathered once per step and kept until their last backward
  full_shard,     ///< parameters are gathered for every use
  hybrid_shard,   ///< full_shard inside a group of ranks, replicas across groups
  /// full_shard whose first gather of a step leaves a secondary copy in each group of ranks, from which the
  /// others are gathered: hpZ of ZeRO++ (Wang et al., 2023), not of FSDP.
  hpz,
};

/// Whether gathered parameters are released after every use.
constexpr bool reshards(Strategy strategy) {
  return strategy != Strategy::no_shard && strategy != Strategy::shard_grad_op;
}

/// The name, such as "NO_SHARD".
const char* name_of(Strategy strategy);

/// Elements [first, first + count).
struct Range {
  size_t first = 0;
  size_t count = 0;
  size_t end() const { return first + count; }
};

/// Elements that are contiguous both in a unit and in the unit of the whole model of which it is a slice.
struct ContiguousRange {
  size_t first = 0;
  size_t whole = 0;  ///< index of the first element in the whole model's unit
  size_t count = 0;
  bool counts = true;  ///< false: a copy of another slice's elements
};

/// One flat fp32 array of parameters that is gathered as a whole.
struct Unit {
  std::string name;
  size_t parameters = 0;
  std::vector<ContiguousRange> stretches = {};  ///< empty: the unit is not a slice
};

/// The parts of a unit's stretches that lie in a range of its elements.
std::vector<ContiguousRange> stretches_in(const Unit& unit, const Range& range);

/// The rank's shard, and which of its replicas the rank has.
struct Place {
  int shard = 0;
  int shards = 1;
  int replica = 0;
  int replicas = 1;
  int group = 0;       ///< with hpz: the ranks with one number share a secondary copy
  int group_rank = 0;  ///< with hpz: position among them
  int group_ranks = 1;
};

/// Number of elements whose squares are summed first for the norm of gradients; shards consist of whole
/// blocks.
constexpr size_t kNormBlock = 1024;

/// The division of one unit into shards and pieces.
class Cut {
 public:
  Cut(size_t parameters, int shards, int replicas);

  size_t parameters() const { return parameters_; }
  /// Elements per shard, including padding; a multiple of kNormBlock.
  size_t shard_length() const { return shard_length_; }
  /// Elements per piece, including padding; `replicas` pieces cover a shard, and the last ones may extend
  /// beyond it.
  size_t piece_length() const { return piece_length_; }
  size_t padded() const { return shard_length_ * static_cast<size_t>(shards_); }

  /// Parameters of a shard; empty if it consists of padding only.
  Range shard(int shard) const;
  /// Parameters that only `place` owns: its piece of its shard.
  Range piece(const Place& place) const;

 private:
  size_t parameters_;
  int shards_;
  size_t shard_length_;
  size_t piece_length_;
};

/// Positions of all ranks of a world; `group_of[rank]` identifies the shard group of a rank. Groups are
/// numbered in the order of their first ranks. invalid_argument if they differ in size.
Result<std::vector<Place>> places_of(const std::vector<int>& group_of);

}  // namespace weir::shard
