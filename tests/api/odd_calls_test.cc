// SPDX-License-Identifier: Apache-2.0
// Strange but legal calls, drawn at random and compared with a model of one line per collective: buffers that
// touch, coincide or overlap, one buffer in several calls of a group, counts of zero, null pointers, and
// types mixed within a group. What is not legal is refused on all ranks, and no byte has changed.
#include <algorithm>
#include <array>
#include <cstring>
#include <random>

#include "tests/api/ranks.h"
#include "tests/base/sanitized.h"

namespace weir::api {
namespace {

constexpr size_t kOddElements = 64;  ///< of each type; few, so that buffers often overlap
using Numbers = std::array<int64_t, kOddElements>;

enum class Kind { all_reduce, reduce, broadcast, all_gather, reduce_scatter, gather, scatter, exchange };
constexpr int kKinds = 8;
constexpr std::array kTypes = {ncclUint8, ncclInt32, ncclInt64, ncclFloat32, ncclFloat64};
constexpr size_t kNone = SIZE_MAX;  ///< a null pointer

struct OddCall {
  Kind kind;
  size_t type;  // among kTypes, and among the buffers
  ncclRedOp_t op;
  size_t count;
  int root;
  std::array<size_t, kRanks> in, out;  // first elements; `exchange` sends to the next rank

  size_t in_blocks() const { return kind == Kind::reduce_scatter || kind == Kind::scatter ? kRanks : 1; }
  size_t out_blocks() const { return kind == Kind::all_gather || kind == Kind::gather ? kRanks : 1; }
  bool reads(int rank) const { return (kind != Kind::broadcast && kind != Kind::scatter) || rank == root; }
  bool writes(int rank) const { return (kind != Kind::reduce && kind != Kind::gather) || rank == root; }
  bool is_legal(int rank) const {
    const size_t from = in[static_cast<size_t>(rank)], to = out[static_cast<size_t>(rank)];
    if (count == 0 || !reads(rank) || !writes(rank)) return true;
    if (from + in_blocks() * count <= to || to + out_blocks() * count <= from) return true;
    const size_t own = static_cast<size_t>(rank) * count;
    return kind != Kind::exchange && from + (in_blocks() > 1 ? own : 0) == to + (out_blocks() > 1 ? own : 0);
  }
};

/// The buffers of a rank, one for each type.
struct Buffers {
  std::array<uint8_t, kOddElements> bytes;
  std::array<int32_t, kOddElements> words;
  std::array<int64_t, kOddElements> longs;
  std::array<float, kOddElements> floats;
  std::array<double, kOddElements> doubles;

  void* at(size_t type, size_t element) {
    if (element == kNone) return nullptr;
    switch (type) {
      case 0: return &bytes[element];
      case 1: return &words[element];
      case 2: return &longs[element];
      case 3: return &floats[element];
      default: return &doubles[element];
    }
  }
  void set(const std::vector<Numbers>& of_types) {
    for (size_t i = 0; i < kOddElements; ++i) {
      bytes[i] = static_cast<uint8_t>(of_types[0][i]);
      words[i] = static_cast<int32_t>(of_types[1][i]);
      longs[i] = of_types[2][i];
      floats[i] = static_cast<float>(of_types[3][i]);
      doubles[i] = static_cast<double>(of_types[4][i]);
    }
  }
  Numbers get(size_t type) {
    Numbers numbers;
    for (size_t i = 0; i < kOddElements; ++i) {
      const std::array<int64_t, 5> all = {bytes[i], words[i], longs[i], static_cast<int64_t>(floats[i]),
                                          static_cast<int64_t>(doubles[i])};
      numbers[i] = all[type];
    }
    return numbers;
  }
};

/// What all ranks hold of one type.
using Model = std::array<Numbers, kRanks>;

void apply(const OddCall& call, Model& model) {
  const Model before = model;
  const auto input = [&](size_t rank, size_t i) { return before[rank][call.in[rank] + i]; };
  const auto reduced = [&](size_t i) {
    int64_t result = input(0, i);
    for (size_t rank = 1; rank < kRanks; ++rank) {
      const int64_t next = input(rank, i);
      result = call.op == ncclSum   ? result + next
               : call.op == ncclMax ? std::max(result, next)
                                    : std::min(result, next);
    }
    return result;
  };
  const auto root = static_cast<size_t>(call.root);
  for (size_t rank = 0; rank < kRanks; ++rank) {
    if (!call.writes(static_cast<int>(rank))) continue;
    for (size_t i = 0; i < call.out_blocks() * call.count; ++i) {
      int64_t& to = model[rank][call.out[rank] + i];
      switch (call.kind) {
        case Kind::all_reduce:
        case Kind::reduce: to = reduced(i); break;
        case Kind::broadcast: to = input(root, i); break;
        case Kind::all_gather:
        case Kind::gather: to = input(i / call.count, i % call.count); break;
        case Kind::reduce_scatter: to = reduced(rank * call.count + i); break;
        case Kind::scatter: to = input(root, rank * call.count + i); break;
        case Kind::exchange: to = input((rank + kRanks - 1) % kRanks, i); break;
      }
    }
  }
}

ncclResult_t make(const OddCall& call, Buffers& buffers, ncclComm_t comm, int rank) {
  const auto r = static_cast<size_t>(rank);
  const void* const in = buffers.at(call.type, call.in[r]);
  void* const out = buffers.at(call.type, call.out[r]);
  const ncclDataType_t type = kTypes[call.type];
  switch (call.kind) {
    case Kind::all_reduce: return ncclAllReduce(in, out, call.count, type, call.op, comm, nullptr);
    case Kind::reduce: return ncclReduce(in, out, call.count, type, call.op, call.root, comm, nullptr);
    case Kind::broadcast: return ncclBroadcast(in, out, call.count, type, call.root, comm, nullptr);
    case Kind::all_gather: return ncclAllGather(in, out, call.count, type, comm, nullptr);
    case Kind::reduce_scatter: return ncclReduceScatter(in, out, call.count, type, call.op, comm, nullptr);
    case Kind::gather: return ncclGather(in, out, call.count, type, call.root, comm, nullptr);
    case Kind::scatter: return ncclScatter(in, out, call.count, type, call.root, comm, nullptr);
    case Kind::exchange: break;
  }
  ncclGroupStart();
  const ncclResult_t sent = ncclSend(in, call.count, type, (rank + 1) % kRanks, comm, nullptr);
  const ncclResult_t received = ncclRecv(out, call.count, type, (rank + kRanks - 1) % kRanks, comm, nullptr);
  const ncclResult_t ended = ncclGroupEnd();
  return sent != ncclSuccess ? sent : received != ncclSuccess ? received : ended;
}

/// The same on all ranks, by its seed.
class Draw {
 public:
  explicit Draw(uint32_t seed) : random_(seed) {}

  size_t below(size_t limit) { return random_() % limit; }
  OddCall call() {
    OddCall call{.kind = static_cast<Kind>(below(kKinds)),
                 .type = below(kTypes.size()),
                 .op = std::array{ncclSum, ncclMax, ncclMin}[below(3)],
                 .count = below(4) == 0 ? 0 : below(9),
                 .root = static_cast<int>(below(kRanks)),
                 .in = {},
                 .out = {}};
    const size_t in_most = kOddElements - kRanks * call.count - 2, out_most = in_most;
    for (size_t rank = 0; rank < kRanks; ++rank) {
      const size_t own = rank * call.count;
      call.in[rank] = below(in_most);
      call.out[rank] = below(out_most);
      // In place, and next to that.
      if (below(2) == 0) call.out[rank] = call.in[rank];
      if (below(2) == 0 && call.in_blocks() > 1) call.out[rank] = std::min(call.in[rank] + own, out_most);
      if (below(2) == 0 && call.out_blocks() > 1) call.in[rank] = std::min(call.out[rank] + own, in_most);
    }
    if (call.in_blocks() == call.out_blocks() && below(2) == 0) {
      call.in.fill(call.in[0]);
      call.out.fill(call.in[0] + below(3));
    }
    if (call.count == 0 && below(2) == 0) call.in.fill(kNone);
    if (call.count == 0 && below(2) == 0) call.out.fill(kNone);
    return call;
  }
  Numbers numbers() {
    Numbers drawn;
    for (int64_t& number : drawn) number = static_cast<int64_t>(below(4));
    return drawn;
  }

 private:
  std::mt19937 random_;
};

struct Counts {
  int grouped = 0, single = 0, refused = 0;
};

/// One round of one rank.
void play(uint32_t seed, ncclComm_t comm, int rank, Counts& counts) {
  Draw draw(seed);
  std::vector<Model> models(kTypes.size());
  for (Model& model : models)
    for (Numbers& numbers : model) numbers = draw.numbers();
  std::vector<Numbers> own;
  for (const Model& model : models) own.push_back(model[static_cast<size_t>(rank)]);
  Buffers buffers{};
  buffers.set(own);
  const size_t wanted = 1 + draw.below(4);
  std::vector<OddCall> calls;
  bool refused = false;
  while (calls.size() < wanted && !refused) {
    const OddCall call = draw.call();
    int legal = 0;
    for (int peer = 0; peer < kRanks; ++peer) legal += call.is_legal(peer) ? 1 : 0;
    // Sends and receives are calls of their own, whose buffers nobody compares.
    refused = legal == 0 && calls.empty() && call.kind != Kind::exchange;
    if (legal == kRanks || refused) calls.push_back(call);
  }
  SCOPED_TRACE("seed " + std::to_string(seed));
  if (refused) {
    EXPECT_EQ(make(calls[0], buffers, comm, rank), ncclInvalidArgument);
    ++counts.refused;
  } else {
    const bool grouped = calls.size() > 1;
    ASSERT_EQ(grouped ? ncclGroupStart() : ncclSuccess, ncclSuccess);
    for (const OddCall& call : calls) {
      EXPECT_EQ(make(call, buffers, comm, rank), ncclSuccess) << last_sentence();
      apply(call, models[call.type]);
    }
    ASSERT_EQ(grouped ? ncclGroupEnd() : ncclSuccess, ncclSuccess) << last_sentence();
    ++(grouped ? counts.grouped : counts.single);
  }
  for (size_t type = 0; type < kTypes.size(); ++type) {
    const Numbers got = buffers.get(type);
    const Numbers& expected = models[type][static_cast<size_t>(rank)];
    EXPECT_EQ(got, expected) << "type " << kTypes[type] << " on rank " << rank;
  }
}

class OddCalls : public ::testing::TestWithParam<const char*> {};

TEST_P(OddCalls, GiveWhatTheModelGives) {
  setenv("WEIR_TRANSPORTS", GetParam(), 1);
  const uint32_t rounds = testing::enough(1500);
  with_ranks(kRanks, [&](ncclComm_t comm, int rank) {
    Counts counts;
    for (uint32_t seed = 1; seed <= rounds && !HasFailure(); ++seed) play(seed, comm, rank, counts);
    EXPECT_GT(std::min({counts.grouped, counts.single, counts.refused}), static_cast<int>(rounds / 50));
  });
  unsetenv("WEIR_TRANSPORTS");
}

INSTANTIATE_TEST_SUITE_P(Transports, OddCalls, ::testing::Values("loop", "tcp"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace weir::api
