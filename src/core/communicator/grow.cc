// SPDX-License-Identifier: Apache-2.0
// Communicators with more ranks than their parent.
#include <fmt/format.h>

#include "src/base/bytes.h"
#include "src/core/communicator/communicator.h"
#include "src/core/communicator/join.h"

namespace weir::core {
namespace {

/// What a rank of the parent was called with.
struct Proposal {
  int32_t ranks = 0;
  bool coordinates = false;
  std::array<std::byte, UniqueId::kBytes> id{};  ///< the coordinator's id
};

Status refused(const std::string& what) { return {Code::invalid_argument, "ncclCommGrow : " + what}; }

/// The id by which all meet. The same, or the same error, on all ranks.
Result<UniqueId> agreed_id(const std::vector<Proposal>& proposals) {
  int coordinator = -1;
  for (size_t rank = 0; rank < proposals.size(); ++rank) {
    const int own = static_cast<int>(rank);
    if (proposals[rank].ranks != proposals[0].ranks)
      return refused(fmt::format("nRanks is {} on rank {}, but {} on rank 0; expected the same on all ranks",
                                 proposals[rank].ranks, rank, proposals[0].ranks));
    if (!proposals[rank].coordinates) continue;
    if (coordinator >= 0 && proposals[rank].id != proposals[static_cast<size_t>(coordinator)].id)
      return refused(fmt::format(
          "ranks {} and {} passed different ids; expected the id that one rank got from ncclCommGetUniqueId",
          coordinator, own));
    if (coordinator < 0) coordinator = own;
  }
  if (coordinator < 0)
    return refused(
        "no rank of the communicator passed an id; expected one of them to pass the id that it got from "
        "ncclCommGetUniqueId");
  return UniqueId::decode(proposals[static_cast<size_t>(coordinator)].id);
}

}  // namespace

Result<JoinResult> join(Runtime& runtime, const GrowOrigin& from, const std::atomic<bool>& abort) {
  auto meeting = ParentBootstrap::of(*from.parent, abort);
  WEIR_TRY(meeting.status());
  Proposal own;
  own.ranks = from.ranks;
  own.coordinates = from.id.has_value();
  if (own.coordinates) own.id = from.id->encode();
  auto gathered = (**meeting).all_gather(ByteWriter().put(own).take());
  WEIR_TRY(gathered.status());
  std::vector<Proposal> proposals;
  for (const Bytes& bytes : *gathered) proposals.push_back(ByteReader(bytes).get<Proposal>());
  const Result<UniqueId> id = agreed_id(proposals);
  WEIR_TRY(id.status());
  return join(runtime, IdOrigin{*id, from.ranks, from.parent->rank()}, abort);
}

}  // namespace weir::core
