// SPDX-License-Identifier: Apache-2.0

#include "tests/conform/collectives.h"

#include <algorithm>

namespace weir::conform {
namespace {

/// What rank r has at an element of its input: 0, 1 or 2, and 1 or 2 for products.
double given(const Case& one, int rank, size_t element) {
  const size_t mixed = static_cast<size_t>(rank) + element + static_cast<size_t>(one.round);
  return one.op == ncclProd ? static_cast<double>(1 + mixed % 2) : static_cast<double>(mixed % 3);
}

double reduced(const Case& one, int ranks, size_t element) {
  double all = given(one, 0, element);
  for (int rank = 1; rank < ranks; ++rank) {
    const double more = given(one, rank, element);
    if (one.op == ncclProd) all *= more;
    if (one.op == ncclSum || one.op == ncclAvg) all += more;
    if (one.op == ncclMax) all = std::max(all, more);
    if (one.op == ncclMin) all = std::min(all, more);
  }
  if (one.op != ncclAvg) return all;
  return one.type.is_float() ? all / ranks : std::floor(all / ranks);
}

/// Shares of an average are rounded each where the number of ranks is no power of two.
double tolerance(const Case& one, int ranks) {
  if (one.op != ncclAvg || !one.type.is_float() || !reduces(one.kind) || (ranks & (ranks - 1)) == 0) return 0;
  return 2 * ranks * std::ldexp(1, -one.type.mantissa - 1);
}

}  // namespace

const char* name_of(Kind kind) {
  constexpr const char* kNames[] = {"all-reduce", "reduce",         "broadcast",
                                    "all-gather", "reduce-scatter", "all-to-all",
                                    "gather",     "scatter",        "sends around the ring"};
  return kNames[static_cast<size_t>(kind)];
}

bool reduces(Kind kind) {
  return kind == Kind::all_reduce || kind == Kind::reduce || kind == Kind::reduce_scatter;
}

Player::Player(ncclComm_t comm, int rank, int ranks, size_t count, size_t element_bytes)
    : comm_(comm),
      rank_(rank),
      ranks_(ranks),
      root_(ranks / 2),
      in_(static_cast<size_t>(ranks) * count * element_bytes),
      out_(static_cast<size_t>(ranks) * count * element_bytes) {}

size_t Player::input_blocks(Kind kind) const {
  const bool all = kind == Kind::reduce_scatter || kind == Kind::all_to_all || kind == Kind::scatter;
  return all ? static_cast<size_t>(ranks_) : 1;
}
size_t Player::output_blocks(Kind kind) const {
  const bool all = kind == Kind::all_gather || kind == Kind::all_to_all || kind == Kind::gather;
  return all ? static_cast<size_t>(ranks_) : 1;
}
bool Player::has_input(Kind kind) const {
  return (kind != Kind::broadcast && kind != Kind::scatter) || rank_ == root_;
}
bool Player::has_output(Kind kind) const {
  return (kind != Kind::reduce && kind != Kind::gather) || rank_ == root_;
}

std::byte* Player::input(const Case& one) const {
  const size_t own = static_cast<size_t>(rank_) * one.count * one.type.bytes;
  const bool inside = one.kind == Kind::all_gather || (one.kind == Kind::gather && rank_ == root_);
  return in_.data() + (one.in_place && inside ? own : 0);
}
std::byte* Player::output(const Case& one) const {
  if (!one.in_place || one.kind == Kind::all_to_all || one.kind == Kind::ring) return out_.data();
  const size_t own = static_cast<size_t>(rank_) * one.count * one.type.bytes;
  const bool inside = one.kind == Kind::reduce_scatter || (one.kind == Kind::scatter && rank_ == root_);
  return in_.data() + (inside ? own : 0);
}

void Player::fill(const Case& one, cudaStream_t stream) const {
  const std::vector<std::byte> nothing(in_.bytes(), std::byte{0x11});
  in_.write(nothing, stream);
  out_.write(nothing, stream);
  if (!has_input(one.kind)) return;
  const size_t count = input_blocks(one.kind) * one.count;
  const auto values = encoded(one.type, count, [&](size_t i) { return given(one, rank_, i); });
  in_.write(values.data(), values.size(), stream, static_cast<size_t>(input(one) - in_.data()));
}

ncclResult_t Player::call(const Case& one, cudaStream_t stream) const {
  const void* const from = input(one);
  void* const to = output(one);
  const ncclDataType_t type = one.type.type;
  switch (one.kind) {
    case Kind::all_reduce: return ncclAllReduce(from, to, one.count, type, one.op, comm_, stream);
    case Kind::reduce: return ncclReduce(from, to, one.count, type, one.op, root_, comm_, stream);
    case Kind::broadcast: return ncclBroadcast(from, to, one.count, type, root_, comm_, stream);
    case Kind::all_gather: return ncclAllGather(from, to, one.count, type, comm_, stream);
    case Kind::reduce_scatter: return ncclReduceScatter(from, to, one.count, type, one.op, comm_, stream);
    case Kind::all_to_all: return ncclAlltoAll(from, to, one.count, type, comm_, stream);
    case Kind::gather: return ncclGather(from, to, one.count, type, root_, comm_, stream);
    case Kind::scatter: return ncclScatter(from, to, one.count, type, root_, comm_, stream);
    case Kind::ring: break;
  }
  ncclGroupStart();
  ncclSend(from, one.count, type, (rank_ + 1) % ranks_, comm_, stream);
  ncclRecv(to, one.count, type, (rank_ + ranks_ - 1) % ranks_, comm_, stream);
  return ncclGroupEnd();
}

double Player::expected(const Case& one, size_t element) const {
  const size_t block = one.count == 0 ? 0 : element / one.count;
  const size_t inside = one.count == 0 ? 0 : element % one.count;
  const size_t own_block = static_cast<size_t>(rank_) * one.count;
  switch (one.kind) {
    case Kind::all_reduce:
    case Kind::reduce: return reduced(one, ranks_, element);
    case Kind::reduce_scatter: return reduced(one, ranks_, own_block + element);
    case Kind::broadcast: return given(one, root_, element);
    case Kind::all_gather:
    case Kind::gather: return given(one, static_cast<int>(block), inside);
    case Kind::all_to_all: return given(one, static_cast<int>(block), own_block + inside);
    case Kind::scatter: return given(one, root_, own_block + element);
    case Kind::ring: break;
  }
  return given(one, (rank_ + ranks_ - 1) % ranks_, element);
}

std::string Player::check(const Case& one, cudaStream_t stream) const {
  const size_t count = output_blocks(one.kind) * one.count;
  std::vector<std::byte> got(count * one.type.bytes);
  const std::byte* const from = output(one);
  const bool in_input = one.in_place && one.kind != Kind::all_to_all && one.kind != Kind::ring;
  const Buffer& where = in_input ? in_ : out_;
  where.read(got.data(), got.size(), stream, static_cast<size_t>(from - where.data()));
  if (!has_output(one.kind)) return "";
  for (size_t i = 0; i < count; ++i) {
    const double wanted = expected(one, i), value = element(one.type, got, i);
    if (std::abs(value - wanted) <= tolerance(one, ranks_) * wanted) continue;
    return std::string(name_of(one.kind)) + " of " + std::to_string(one.count) + " " + one.type.name +
           ", operation " + std::to_string(one.op) + (one.in_place ? ", in place" : "") + ", rank " +
           std::to_string(rank_) + " of " + std::to_string(ranks_) + ": element " + std::to_string(i) +
           " is " + std::to_string(value) + ", expected " + std::to_string(wanted);
  }
  return "";
}

}  // namespace weir::conform
