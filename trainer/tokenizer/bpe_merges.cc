// SPDX-License-Identifier: Apache-2.0

#include "trainer/tokenizer/bpe_merges.h"

#include <queue>
#include <tuple>

namespace weir::trainer {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

/// A token in a list from which merged ones are taken out.
struct Link {
  Token token;
  uint32_t before;
  uint32_t after;
};

/// Two adjacent tokens that may still be there when their turn has come.
struct Candidate {
  uint32_t rank;
  uint32_t place;  ///< of the left one
  Token left, right, merged;

  bool operator>(const Candidate& other) const {
    return std::tie(rank, place) > std::tie(other.rank, other.place);
  }
};

}  // namespace

void BpeMerges::add(Token left, Token right, Token merged) {
  merges_.try_emplace(key(left, right), Merge{static_cast<uint32_t>(merges_.size()), merged});
}

std::vector<Token> BpeMerges::apply(const std::vector<Token>& tokens) const {
  std::vector<Link> links;
  const auto count = static_cast<uint32_t>(tokens.size());
  for (uint32_t at = 0; at < count; ++at)
    links.push_back({tokens[at], at > 0 ? at - 1 : kNone, at + 1 < count ? at + 1 : kNone});
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
  const auto consider = [&](uint32_t place) {
    if (place == kNone || links[place].after == kNone) return;
    const Token left = links[place].token, right = links[links[place].after].token;
    const auto found = merges_.find(key(left, right));
    if (found != merges_.end())
      candidates.push({found->second.rank, place, left, right, found->second.merged});
  };
  for (uint32_t at = 0; at < count; ++at) consider(at);
  std::vector<bool> gone(count);
  while (!candidates.empty()) {
    const Candidate next = candidates.top();
    candidates.pop();
    Link& link = links[next.place];
    if (gone[next.place] || link.token != next.left || link.after == kNone ||
        links[link.after].token != next.right)
      continue;
    gone[link.after] = true;
    link.token = next.merged;
    link.after = links[link.after].after;
    if (link.after != kNone) links[link.after].before = next.place;
    consider(link.before);
    consider(next.place);
  }
  std::vector<Token> merged;
  for (uint32_t at = 0; at < count; ++at)
    if (!gone[at]) merged.push_back(links[at].token);
  return merged;
}

}  // namespace weir::trainer
