// SPDX-License-Identifier: Apache-2.0
/// The symbolic values with which verify() and the program check compute.
///
/// A chunk of memory holds nothing, or a Contribution: one chunk of the input, summed over a set of ranks. A
/// copy keeps it; a sum needs the same input chunk and disjoint sets, so that nothing is counted twice. Both
/// checks take the definition of a collective from the same place: Symbols::input and Symbols::expected.
///
/// Values without locks: one thread at a time. No call fails; the caller limits the sizes.
/// Tests: tests/ir/symbolic_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/ir/plan.h"

namespace weir::ir {

/// Identifies a set of ranks within one RankSets.
using SetId = uint32_t;

struct Contribution {
  static constexpr uint32_t kNothing = UINT32_MAX;
  uint32_t chunk = kNothing;  ///< number of the input chunk: block * Shape::chunks + part
  SetId ranks = 0;            ///< the ranks whose input is summed

  bool present() const { return chunk != kNothing; }
};

/// How sets of ranks are kept. `exact`: one bit per rank. `fingerprints`: the sum of the ranks' keys, which
/// are random numbers modulo a prime near 2^61. Memory is constant per set, but of two sets that differ one
/// in 2^61 pairs looks equal, and shares that are counted twice show only at the end, by a wrong sum (the
/// test of Freivalds and Schwartz for linear identities).
enum class RankSetKind : uint8_t { exact, fingerprints };

/// Sets of ranks as rows of words. Sets are never changed, so that copying a set means copying its
/// identifier.
class RankSets {
 public:
  explicit RankSets(int ranks, RankSetKind kind = RankSetKind::exact);

  SetId single(Rank rank) const { return static_cast<SetId>(rank); }
  SetId all() const { return static_cast<SetId>(ranks_); }
  /// Whether no rank is in both; always true of fingerprints.
  bool disjoint(SetId a, SetId b) const;
  bool equal(SetId a, SetId b) const;
  SetId join(SetId a, SetId b);
  /// The lowest rank in both sets, or in `a` but not in `b`; -1 if there is none, or if fingerprints do not
  /// tell.
  Rank common(SetId a, SetId b) const;
  Rank missing(SetId a, SetId b) const;
  /// The text, such as "rank 3" or "ranks 0-2, 5".
  std::string describe(SetId set) const;

 private:
  const uint64_t* row(SetId set) const { return bits_.data() + size_t{set} * words_; }

  int ranks_;
  RankSetKind kind_;
  size_t words_;
  std::vector<uint64_t> bits_;
};

/// The contents of a collective's chunks at the start, and their required contents at the end.
class Symbols {
 public:
  explicit Symbols(const Shape& shape, RankSetKind kind = RankSetKind::exact)
      : shape_(shape), sets_(shape.ranks, kind) {}

  /// The contents of chunk `index` of the rank's input at the start.
  Contribution input(Rank rank, uint32_t index) const { return {index, sets_.single(rank)}; }
  /// The required contents of chunk `index` of the rank's output at the end.
  Contribution expected(Rank rank, uint32_t index) const;

  enum class Sum : uint8_t { right, nothing, other_chunk, twice };
  /// sum = with (+) from, if that is valid; otherwise `sum` is unchanged.
  Sum add(Contribution with, Contribution from, Contribution& sum);
  bool equal(Contribution a, Contribution b) const {
    return a.chunk == b.chunk && (!a.present() || sets_.equal(a.ranks, b.ranks));
  }
  /// The text, such as "nothing" or "chunk 5 of ranks 0-2".
  std::string describe(Contribution value) const;
  /// Why add() refused, as the end of a sentence about `who` ("move 17"), at a rank.
  std::string refusal(Sum sum, Contribution with, Contribution from, Rank at) const;
  /// How `got` differs from the expected chunk of an output; REQUIRES: it differs.
  std::string difference(Contribution expected, Contribution got) const;

 private:
  Shape shape_;
  RankSets sets_;
};

/// The relative position of the two buffers of a rank.
enum class Placement : uint8_t { apart, in_place };

/// Whether the collective can be called in place.
constexpr bool has_in_place(Collective kind) {
  return kind != Collective::all_to_all && kind != Collective::send_recv;
}

/// Numbers every chunk of memory of every rank; chunks that share memory have the same number.
class MemoryMap {
 public:
  /// REQUIRES: a shape that verify() accepts; has_in_place(shape.kind) for Placement::in_place.
  MemoryMap(const Shape& shape, uint32_t scratch_chunks, Placement placement);

  /// The number of the operand's first chunk. REQUIRES: operand.in_memory() and in range.
  size_t place(Rank rank, Operand operand) const {
    const Bases& b = bases_[static_cast<size_t>(rank)];
    const size_t base = operand.kind == Operand::Kind::input    ? b.input
                        : operand.kind == Operand::Kind::output ? b.output
                                                                : b.scratch;
    return base + operand.index;
  }
  size_t size() const { return size_; }
  /// Number of chunks of the rank's buffer; 0 for none and value.
  uint64_t chunks(Rank rank, Operand::Kind kind) const;
  /// All memory before the first move: inputs in their positions, nothing elsewhere.
  std::vector<Contribution> start(const Symbols& symbols) const;

 private:
  struct Bases {
    size_t input, output, scratch;
  };
  Shape shape_;
  uint32_t scratch_chunks_;
  std::vector<Bases> bases_;
  size_t size_ = 0;
};

}  // namespace weir::ir
