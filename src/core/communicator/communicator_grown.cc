// SPDX-License-Identifier: Apache-2.0
// Communicators with more ranks than their parent.
#include <fmt/format.h>

#include "src/base/bytes.h"
#include "src/core/bootstrap/bootstrap.h"
#include "src/core/communicator/communicator.h"
#include "src/core/communicator/resources.h"

namespace weir::core {
namespace {

/// What a rank of the parent was asked for.
struct Wish {
  int32_t ranks = 0;
  bool coordinates = false;
  std::array<std::byte, UniqueId::kBytes> id{};  ///< the coordinator's id
};

Status refused(const std::string& what) { return {Code::invalid_argument, "ncclCommGrow : " + what}; }

/// The id by which all meet. The same, or the same error, on all ranks.
Result<UniqueId> agreed_id(const std::vector<Wish>& wishes) {
  int coordinator = -1;
  for (size_t rank = 0; rank < wishes.size(); ++rank) {
    const int own = static_cast<int>(rank);
    if (wishes[rank].ranks != wishes[0].ranks)
      return refused(fmt::format("nRanks is {} on rank {}, but {} on rank 0; expected the same on all ranks",
                                 wishes[rank].ranks, rank, wishes[0].ranks));
    if (!wishes[rank].coordinates) continue;
    if (coordinator >= 0 && wishes[rank].id != wishes[static_cast<size_t>(coordinator)].id)
      return refused(fmt::format(
          "ranks {} and {} passed different ids; expected the id that one rank got from ncclCommGetUniqueId",
          coordinator, own));
    if (coordinator < 0) coordinator = own;
  }
  if (coordinator < 0)
    return refused(
        "no rank of the communicator passed an id; expected one of them to pass the id that it got from "
        "ncclCommGetUniqueId");
  return UniqueId::decode(wishes[static_cast<size_t>(coordinator)].id);
}

}  // namespace

Status Communicator::join_grown() {
  Communicator& parent = *grown_->parent;
  auto fresh = fresh_meeting(parent);
  WEIR_TRY(fresh.status());
  Bootstrap& bootstrap = *fresh != nullptr ? **fresh : *parent.resources_->bootstrap;
  Wish own;
  own.ranks = ranks_;
  own.coordinates = grown_->id.has_value();
  if (own.coordinates) own.id = grown_->id->encode();
  auto gathered = bootstrap.all_gather(ByteWriter().put(own).take());
  WEIR_TRY(gathered.status());
  std::vector<Wish> wishes;
  for (const Bytes& bytes : *gathered) wishes.push_back(ByteReader(bytes).get<Wish>());
  const Result<UniqueId> id = agreed_id(wishes);
  WEIR_TRY(id.status());
  return join_root(*id);
}

}  // namespace weir::core
