// SPDX-License-Identifier: Apache-2.0

#include "algorithms/ir/symbolic.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <random>

namespace weir::ir {
namespace {

constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;

}  // namespace

RankSets::RankSets(int ranks, RankSetKind kind)
    : ranks_(ranks),
      kind_(kind),
      words_(kind == RankSetKind::exact ? (static_cast<size_t>(ranks) + 63) / 64 : 1) {
  bits_.resize((static_cast<size_t>(ranks) + 1) * words_);
  std::mt19937_64 random(0x77656972);
  for (size_t r = 0; r < static_cast<size_t>(ranks); ++r) {
    if (kind == RankSetKind::fingerprints) {
      bits_[r] = random() % kPrime;
      bits_[all()] = (bits_[all()] + bits_[r]) % kPrime;
      continue;
    }
    const uint64_t bit = uint64_t{1} << (r % 64);
    bits_[r * words_ + r / 64] |= bit;
    bits_[size_t{all()} * words_ + r / 64] |= bit;
  }
}

bool RankSets::disjoint(SetId a, SetId b) const {
  if (kind_ == RankSetKind::fingerprints) return true;
  const uint64_t *x = row(a), *y = row(b);
  for (size_t w = 0; w < words_; ++w) {
    if ((x[w] & y[w]) != 0) return false;
  }
  return true;
}

bool RankSets::equal(SetId a, SetId b) const {
  if (a == b) return true;
  const uint64_t *x = row(a), *y = row(b);
  for (size_t w = 0; w < words_; ++w) {
    if (x[w] != y[w]) return false;
  }
  return true;
}

SetId RankSets::join(SetId a, SetId b) {
  const size_t end = bits_.size();
  bits_.resize(end + words_);
  const uint64_t *x = row(a), *y = row(b);
  if (kind_ == RankSetKind::fingerprints)
    bits_[end] = (*x + *y) % kPrime;
  else
    for (size_t w = 0; w < words_; ++w) bits_[end + w] = x[w] | y[w];
  return static_cast<SetId>(end / words_);
}

Rank RankSets::common(SetId a, SetId b) const {
  if (kind_ == RankSetKind::fingerprints) return -1;
  for (size_t w = 0; w < words_; ++w) {
    if (const uint64_t bits = row(a)[w] & row(b)[w])
      return static_cast<Rank>(w * 64) + std::countr_zero(bits);
  }
  return -1;
}

Rank RankSets::missing(SetId a, SetId b) const {
  if (kind_ == RankSetKind::fingerprints) return -1;
  for (size_t w = 0; w < words_; ++w) {
    if (const uint64_t bits = row(a)[w] & ~row(b)[w])
      return static_cast<Rank>(w * 64) + std::countr_zero(bits);
  }
  return -1;
}

std::string RankSets::describe(SetId set) const {
  if (kind_ == RankSetKind::fingerprints && set < all()) return fmt::format("rank {}", set);
  if (kind_ == RankSetKind::fingerprints) return equal(set, all()) ? "all ranks" : "some ranks";
  const auto has = [&](int r) { return r < ranks_ && (row(set)[r / 64] >> (r % 64) & 1) != 0; };
  std::string list;
  int members = 0;
  for (int first = 0; first < ranks_; ++first) {
    if (!has(first)) continue;
    int last = first;
    while (has(last + 1)) ++last;
    list += fmt::format("{}{}", list.empty() ? "" : ", ", first);
    if (last > first) list += fmt::format("-{}", last);
    members += last - first + 1;
    first = last;
  }
  return (members == 1 ? "rank " : "ranks ") + list;
}

Contribution Symbols::expected(Rank rank, uint32_t index) const {
  const uint32_t block = index / shape_.chunks;
  const uint32_t part = index % shape_.chunks;
  const uint32_t own = static_cast<uint32_t>(rank) * shape_.chunks + part;
  switch (shape_.kind) {
    case Collective::all_reduce:
    case Collective::reduce: return {part, sets_.all()};
    case Collective::broadcast: return {part, sets_.single(shape_.root)};
    case Collective::all_gather:
    case Collective::gather: return {part, sets_.single(static_cast<Rank>(block))};
    case Collective::reduce_scatter: return {own, sets_.all()};
    case Collective::all_to_all: return {own, sets_.single(static_cast<Rank>(block))};
    case Collective::scatter: return {own, sets_.single(shape_.root)};
    case Collective::send_recv: break;
  }
  return {};
}

Symbols::Sum Symbols::add(Contribution with, Contribution from, Contribution& sum) {
  if (!with.present() || !from.present()) return Sum::nothing;
  if (with.chunk != from.chunk) return Sum::other_chunk;
  if (!sets_.disjoint(with.ranks, from.ranks)) return Sum::twice;
  sum = {with.chunk, sets_.join(with.ranks, from.ranks)};
  return Sum::right;
}

std::string Symbols::describe(Contribution value) const {
  if (!value.present()) return "nothing";
  return fmt::format("chunk {} of {}", value.chunk, sets_.describe(value.ranks));
}

std::string Symbols::refusal(Sum sum, Contribution with, Contribution from, Rank at) const {
  switch (sum) {
    case Sum::right: break;
    case Sum::nothing: return fmt::format("adds {} to {} at rank {}", describe(from), describe(with), at);
    case Sum::other_chunk:
      return fmt::format("adds {} to {} at rank {}: only equal chunks can be summed", describe(from),
                         describe(with), at);
    case Sum::twice:
      return fmt::format("adds rank {}'s share of chunk {} a second time at rank {}",
                         sets_.common(with.ranks, from.ranks), from.chunk, at);
  }
  return {};
}

std::string Symbols::difference(Contribution expected, Contribution got) const {
  if (!got.present()) return fmt::format("was never written, but must hold {}", describe(expected));
  if (got.chunk == expected.chunk) {
    if (const Rank lacks = sets_.missing(expected.ranks, got.ranks); lacks >= 0) {
      return fmt::format("lacks rank {}'s share: it holds {}, but must hold {}", lacks, describe(got),
                         describe(expected));
    }
  }
  return fmt::format("holds {}, but must hold {}", describe(got), describe(expected));
}

MemoryMap::MemoryMap(const Shape& shape, uint32_t scratch_chunks, Placement placement)
    : shape_(shape), scratch_chunks_(scratch_chunks), bases_(static_cast<size_t>(shape.ranks)) {
  for (Rank rank = 0; rank < shape.ranks; ++rank) {
    const uint64_t inputs = chunks(rank, Operand::Kind::input);
    const uint64_t outputs = chunks(rank, Operand::Kind::output);
    Bases& bases = bases_[static_cast<size_t>(rank)];
    if (placement == Placement::apart || inputs == 0 || outputs == 0) {
      bases.input = size_;
      bases.output = size_ + inputs;
      size_ += inputs + outputs;
    } else {
      // The smaller buffer is the rank's own block of the larger one.
      const size_t own = inputs == outputs ? 0 : size_t{shape.chunks} * static_cast<size_t>(rank);
      bases.input = inputs < outputs ? size_ + own : size_;
      bases.output = outputs < inputs ? size_ + own : size_;
      size_ += std::max(inputs, outputs);
    }
    bases.scratch = size_;
    size_ += scratch_chunks;
  }
}

uint64_t MemoryMap::chunks(Rank rank, Operand::Kind kind) const {
  switch (kind) {
    case Operand::Kind::input:
      return uint64_t{shape_.chunks} * static_cast<uint64_t>(input_blocks(shape_, rank));
    case Operand::Kind::output:
      return uint64_t{shape_.chunks} * static_cast<uint64_t>(output_blocks(shape_, rank));
    case Operand::Kind::scratch: return scratch_chunks_;
    case Operand::Kind::none:
    case Operand::Kind::value: break;
  }
  return 0;
}

std::vector<Contribution> MemoryMap::start(const Symbols& symbols) const {
  std::vector<Contribution> memory(size_);
  for (Rank rank = 0; rank < shape_.ranks; ++rank) {
    const size_t base = bases_[static_cast<size_t>(rank)].input;
    const auto inputs = static_cast<uint32_t>(chunks(rank, Operand::Kind::input));
    for (uint32_t c = 0; c < inputs; ++c) memory[base + c] = symbols.input(rank, c);
  }
  return memory;
}

}  // namespace weir::ir
