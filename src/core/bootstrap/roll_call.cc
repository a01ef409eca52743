// SPDX-License-Identifier: Apache-2.0

#include "src/core/bootstrap/roll_call.h"

#include <fmt/format.h>

#include <utility>

#include "src/core/bootstrap/hello_check.h"

namespace weir::core {

using root_wire::Hello;
using root_wire::Purpose;

Status RollCall::check(const Hello& hello, TlsSettings::Mode encryption) const {
  return check_hello(hello, by_rank_, encryption);
}

Status RollCall::place(const Hello& hello) {
  const int place = hello.purpose == Purpose::joins ? hello.root : 0;
  if (came_ == 0) {  // a rank that only relays or declines may have said something else
    place_ = place;
    roots_ = hello.roots;
    share_ = share_of(place_, roots_, hello.ranks);
    by_rank_.resize(static_cast<size_t>(hello.ranks));
    is_told_.resize(by_rank_.size());
  }
  if (place == place_) return {};
  return Status(Code::invalid_argument,
                fmt::format("{} came to the root of unique id {} of {} as if it were that of id {}",
                            hello.peer.describe(hello.rank), place_ + 1, roots_, place + 1));
}

const Hello& RollCall::add(Hello hello) {
  const Hello& added = hellos_.emplace_back(std::move(hello));
  by_rank_[static_cast<size_t>(added.rank)] = &added;
  ++came_;
  return added;
}

Status RollCall::take_relayed(Hello hello, const Hello& relay, TlsSettings::Mode encryption) {
  WEIR_TRY(check(hello, encryption));
  if (hello.root != relay.root || hello.root == 0 || !at_first_root()) {
    return Status(Code::remote_error,
                  fmt::format("{} has relayed a hello of {}, which belongs to another root",
                              relay.peer.describe(relay.rank), hello.peer.describe(hello.rank)));
  }
  if (came_ == 0) {
    Hello here = hello;
    here.purpose = Purpose::relays;
    WEIR_TRY(place(here));
  }
  (void)add(std::move(hello));
  return {};
}

void RollCall::note_told(const std::optional<Hello>& hello) {
  if (!hello || hello->rank < 0 || static_cast<size_t>(hello->rank) >= is_told_.size()) return;
  const auto rank = static_cast<size_t>(hello->rank);
  if (is_told_[rank]) return;
  is_told_[rank] = true;
  ++told_;
}

bool RollCall::misses(const Hello& hello) const {
  const bool fits = hello.ranks == static_cast<int>(ranks()) && hello.rank >= 0 && hello.rank < hello.ranks;
  return fits && by_rank_[static_cast<size_t>(hello.rank)] == nullptr;
}

Status RollCall::missing_within(int64_t limit_ms) const {
  const size_t missing = expected() - came_;
  return Status(Code::remote_error,
                fmt::format("{} of {} ranks have not joined within {:.0f} s (WEIR_INIT_TIMEOUT): {} {}",
                            missing, ranks(), static_cast<double>(limit_ms) / 1e3,
                            missing == 1 ? "rank" : "ranks", list_missing(by_rank_)));
}

std::vector<root_wire::Listeners::Entry> RollCall::listeners() const {
  std::vector<root_wire::Listeners::Entry> out;
  for (const Hello* hello : by_rank_) out.push_back(root_wire::Listeners::Entry::of(hello->peer));
  return out;
}

}  // namespace weir::core
