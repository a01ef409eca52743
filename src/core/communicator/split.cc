// SPDX-License-Identifier: Apache-2.0
// Communicators over some ranks of their parent, by colour and key.
#include <fmt/format.h>

#include <algorithm>

#include "src/core/communicator/communicator.h"
#include "src/core/communicator/join.h"
#include "src/core/communicator/resources.h"

namespace weir::core {
namespace {

struct Member {
  int32_t color = 0;
  int32_t key = 0;
};

/// The parent's ranks of the same colour, by key, then by rank in the parent.
std::vector<Rank> members_of(const std::vector<Member>& all, int color) {
  std::vector<Rank> members;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].color == color) members.push_back(static_cast<Rank>(rank));
  }
  std::stable_sort(members.begin(), members.end(), [&](Rank a, Rank b) {
    return all[static_cast<size_t>(a)].key < all[static_cast<size_t>(b)].key;
  });
  return members;
}

}  // namespace

Result<JoinResult> join(Runtime& /*runtime*/, const SplitOrigin& from, const std::atomic<bool>& abort) {
  auto meeting = ParentBootstrap::of(*from.parent, abort);
  WEIR_TRY(meeting.status());
  Bootstrap& bootstrap = **meeting;
  const uint32_t number = ++from.parent->resources()->splits;
  const Member own{from.color, from.key};
  auto gathered = bootstrap.gather(ByteWriter().put(own).take());
  WEIR_TRY(gathered.status());
  if (from.color < 0) return JoinResult();
  std::vector<Member> all;
  for (const Bytes& bytes : (*gathered)->by_rank()) all.push_back(ByteReader(bytes).get<Member>());
  const uint64_t uid =
      uid_in_job(static_cast<uint32_t>(bootstrap.uid() >> 32),
                 hash_text(fmt::format("{:x} split {} color {}", bootstrap.uid(), number, from.color)));
  auto subset = Bootstrap::subset(bootstrap, members_of(all, from.color), uid, &abort);
  WEIR_TRY(subset.status());
  return JoinResult{from.parent->resources()->listener, std::move(*subset)};
}

}  // namespace weir::core
