// SPDX-License-Identifier: Apache-2.0

#include "trainer/checkpoint/live_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>
#include <utility>

#include "trainer/shard/calls.h"

namespace weir::checkpoint {
namespace {

constexpr size_t kBatchElements = size_t{8} << 20;  ///< that are in flight together, over all ranks

Status moved(ncclResult_t result) { return shard::checked(result, "getting state from other ranks"); }

/// "mean.2" is "mean" of group 2, and "mean" that of group 0.
std::pair<std::string, size_t> split_name(const std::string& name) {
  const size_t dot = name.rfind('.');
  size_t group = 0;
  if (dot == std::string::npos) return {name, 0};
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + dot + 1, end, group);
  if (error != std::errc() || stop != end) return {name, 0};
  return {name.substr(0, dot), group};
}

std::string name_in(const std::string& base, size_t group) {
  return group == 0 ? base : fmt::format("{}.{}", base, group);
}

/// That of the first rank that has one.
Result<Contents> share_contents(ncclComm_t world, const LiveState* own,
                                const std::vector<std::vector<Piece>>& held) {
  const auto first = std::ranges::find_if(held, [](const auto& pieces) { return !pieces.empty(); });
  const int from = static_cast<int>(first - held.begin());
  std::string text = own != nullptr ? text_of({own->contents, {}}) : "";
  uint64_t bytes = text.size();
  WEIR_TRY(moved(ncclBroadcast(&bytes, &bytes, 1, ncclUint64, from, world, nullptr)));
  text.resize(bytes);
  WEIR_TRY(moved(ncclBroadcast(text.data(), text.data(), bytes, ncclChar, from, world, nullptr)));
  auto parsed = parse_manifest(text);
  WEIR_TRY(parsed.status());
  return std::move(parsed->contents);
}

/// Whether the pieces of all ranks together have each element of each array.
std::vector<bool> complete_arrays(const Contents& contents, const std::vector<std::vector<Piece>>& held) {
  std::vector<Piece> all;
  for (const std::vector<Piece>& pieces : held) all.insert(all.end(), pieces.begin(), pieces.end());
  std::ranges::sort(all, {},
                    [](const Piece& piece) { return std::tuple(piece.array, piece.unit, piece.first); });
  std::vector<bool> complete(contents.arrays.size(), true);
  auto next = all.begin();
  for (uint32_t array = 0; array < complete.size(); ++array)
    for (uint32_t unit = 0; unit < contents.units.size(); ++unit) {
      uint64_t until = 0;
      for (; next != all.end() && next->array == array && next->unit == unit; ++next)
        if (next->first <= until) until = std::max(until, next->first + next->count);
      // Of partial arrays plan_moves() finds out whether all that is wanted is there.
      if (until < contents.units[unit].parameters && !is_partial(contents, array)) complete[array] = false;
    }
  return complete;
}

/// Where the values of this rank's own pieces are.
class Own {
 public:
  explicit Own(const LiveState* state) : state_(state) {
    size_t at = 0;
    if (state_ == nullptr) return;
    for (const Piece& piece : state_->pieces) {
      offsets_.push_back(at);
      at += piece.count;
    }
  }
  /// The first element of `wanted`, all of which is in one piece.
  const float* find(const Piece& wanted) const {
    for (size_t at = 0; at < offsets_.size(); ++at) {
      const Piece& piece = state_->pieces[at];
      if (piece.unit == wanted.unit && piece.array == wanted.array && piece.first <= wanted.first &&
          wanted.first + wanted.count <= piece.first + piece.count)
        return state_->values.data() + offsets_[at] + (wanted.first - piece.first);
    }
    return nullptr;
  }

 private:
  const LiveState* state_;
  std::vector<size_t> offsets_;
};

Status carry_out(ncclComm_t world, int rank, std::span<const Move> moves, const Own& own,
                 std::span<const ArrayRequest> requests) {
  const auto destination = [&](const Move& move) {
    const ArrayRequest& request = requests[move.request];
    return request.values.data() + (move.piece.first - request.first);
  };
  for (size_t at = 0; at < moves.size();) {
    size_t elements = 0;
    WEIR_TRY(moved(ncclGroupStart()));
    Status status;
    for (; at < moves.size() && elements < kBatchElements; ++at) {
      const Move& move = moves[at];
      if (move.from == move.to) {
        if (move.to == rank) std::copy_n(own.find(move.piece), move.piece.count, destination(move));
        continue;
      }
      elements += move.piece.count;
      if (move.from == rank && status.ok())
        status = moved(ncclSend(own.find(move.piece), move.piece.count, ncclFloat, move.to, world, nullptr));
      if (move.to == rank && status.ok())
        status = moved(ncclRecv(destination(move), move.piece.count, ncclFloat, move.from, world, nullptr));
    }
    const Status ended = moved(ncclGroupEnd());
    WEIR_TRY(status);
    WEIR_TRY(ended);
  }
  return {};
}

}  // namespace

Result<std::vector<std::vector<Piece>>> gather_pieces(ncclComm_t world, std::span<const Piece> own) {
  int rank = 0, ranks = 0;
  WEIR_TRY(moved(ncclCommUserRank(world, &rank)));
  WEIR_TRY(moved(ncclCommCount(world, &ranks)));
  std::vector<uint64_t> counts(static_cast<size_t>(ranks));
  counts[static_cast<size_t>(rank)] = own.size();
  WEIR_TRY(
      moved(ncclAllGather(&counts[static_cast<size_t>(rank)], counts.data(), 1, ncclUint64, world, nullptr)));
  const size_t most = *std::ranges::max_element(counts);
  std::vector<Piece> all(most * counts.size());
  Piece* const mine = all.data() + static_cast<size_t>(rank) * most;
  std::ranges::copy(own, mine);
  WEIR_TRY(moved(ncclAllGather(mine, all.data(), most * sizeof(Piece), ncclChar, world, nullptr)));
  std::vector<std::vector<Piece>> found;
  for (size_t each = 0; each < counts.size(); ++each) {
    const auto begin = all.begin() + static_cast<ptrdiff_t>(each * most);
    found.emplace_back(begin, begin + static_cast<ptrdiff_t>(counts[each]));
  }
  return found;
}

Result<std::vector<size_t>> sources_of(std::span<const std::string> found, const std::vector<bool>& complete,
                                       std::span<const std::string> wanted) {
  const auto number_of = [&](const std::string& name) {
    return static_cast<size_t>(std::ranges::find(found, name) - found.begin());
  };
  std::map<std::string, size_t> groups_of;  // key: arrays that each group has
  for (const std::string& name : found) {
    const auto [base, group] = split_name(name);
    if (group > 0) groups_of[base] = std::max(groups_of[base], group + 1);
  }
  std::vector<size_t> groups;  // those that can go on
  for (size_t group = 0; !groups_of.empty() && group < groups_of.begin()->second; ++group) {
    const bool whole = std::ranges::all_of(groups_of, [&](const auto& each) {
      const size_t at = number_of(name_in(each.first, group));
      return at < found.size() && complete[at];
    });
    if (whole) groups.push_back(group);
  }
  std::vector<size_t> sources;
  for (const std::string& name : wanted) {
    const auto [base, group] = split_name(name);
    size_t source = number_of(base);
    if (groups_of.contains(base))
      source = groups.empty() ? source : number_of(name_in(base, groups[group % groups.size()]));
    else if (source == found.size() && base == "local_parameters")
      source = number_of("parameters");
    if (source == found.size()) {
      sources.push_back(SIZE_MAX);
      continue;
    }
    if (!complete[source])
      return Status(Code::invalid_argument, fmt::format("no rank has all of the array '{}'", name));
    sources.push_back(source);
  }
  return sources;
}

Result<std::vector<Move>> plan_moves(std::span<const std::vector<Piece>> held,
                                     std::span<const std::vector<Piece>> wanted) {
  using Key = std::pair<uint32_t, uint32_t>;
  struct Holder {
    int rank;
    Piece piece;
  };
  std::map<Key, std::vector<Holder>> holders;
  for (size_t rank = 0; rank < held.size(); ++rank)
    for (const Piece& piece : held[rank])
      holders[{piece.unit, piece.array}].push_back({static_cast<int>(rank), piece});
  std::vector<uint64_t> load(held.size());  // elements that each rank sends
  std::vector<Move> moves;
  for (size_t rank = 0; rank < wanted.size(); ++rank)
    for (size_t request = 0; request < wanted[rank].size(); ++request) {
      const Piece& want = wanted[rank][request];
      const int own = static_cast<int>(rank);
      for (uint64_t at = want.first; at < want.first + want.count;) {
        const Holder* best = nullptr;
        for (const Holder& holder : holders[{want.unit, want.array}]) {
          if (at < holder.piece.first || at >= holder.piece.first + holder.piece.count) continue;
          if (best == nullptr || holder.rank == own ||
              (best->rank != own &&
               load[static_cast<size_t>(holder.rank)] < load[static_cast<size_t>(best->rank)]))
            best = &holder;
        }
        if (best == nullptr)
          return Status(Code::invalid_argument,
                        fmt::format("no rank has element {} of unit {}", at, want.unit));
        const uint64_t end = std::min(want.first + want.count, best->piece.first + best->piece.count);
        if (best->rank != own) load[static_cast<size_t>(best->rank)] += end - at;
        moves.push_back({best->rank, own, request, {want.unit, want.array, at, end - at}});
        at = end;
      }
    }
  return moves;
}

Result<bool> load_from_peers(ncclComm_t world, const LiveState* own, const Contents& expected,
                             std::span<const ArrayRequest> requests) {
  int rank = 0;
  WEIR_TRY(moved(ncclCommUserRank(world, &rank)));
  const auto held =
      gather_pieces(world, own != nullptr ? std::span<const Piece>(own->pieces) : std::span<const Piece>());
  WEIR_TRY(held.status());
  if (std::ranges::all_of(*held, [](const auto& pieces) { return pieces.empty(); })) return false;
  const auto contents = share_contents(world, own, *held);
  WEIR_TRY(contents.status());
  Contents units = expected;
  units.arrays.clear();
  WEIR_TRY(check_same(*contents, units, "the state of the other ranks"));
  const auto sources = sources_of(contents->arrays, complete_arrays(*contents, *held), expected.arrays);
  if (!sources.ok()) return false;
  std::vector<Piece> wants;
  for (const ArrayRequest& request : requests) {
    const size_t source = (*sources)[request.array];
    const bool stays = source == SIZE_MAX;
    wants.push_back({request.unit, static_cast<uint32_t>(stays ? 0 : source), request.first,
                     stays ? 0 : request.values.size()});
  }
  const auto wanted = gather_pieces(world, wants);
  WEIR_TRY(wanted.status());
  const auto moves = plan_moves(*held, *wanted);
  if (!moves.ok()) return false;
  WEIR_TRY(carry_out(world, rank, *moves, Own(own), requests));
  return true;
}

}  // namespace weir::checkpoint
