// SPDX-License-Identifier: Apache-2.0

#include "algorithms/cost/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "algorithms/cost/growth.h"
#include "src/base/text.h"

namespace weir::cost {
namespace {

constexpr double kMostMoves = 100'000;  // maximum number of moves of a plan with many ranks
constexpr int kMostNested = 1024;       // maximum number of ranks of plans over groups and rings
constexpr double kHair = 1.01;          // times within this factor count as equal
constexpr double kLeastTile = 64;       // tiles begin at cache lines: with less space a message does not fit
constexpr int kMostDivisor = 4;         // maximum divisor of tiles
constexpr size_t kLeastCut = 64 << 10;  // minimum size of messages for which tiles are made smaller, in bytes

/// A plan's profile, and its number of moves.
struct Made {
  Profile profile;
  double moves = 0;
};

std::optional<Made> make(const algorithms::Entry& entry, const Environment& around, int places) {
  const uint32_t chunks = algorithms::default_chunks(entry, places, around.layout);
  const auto plan = algorithms::emit(entry.algorithm, {entry.kind, places, 0, chunks}, around.layout);
  if (!plan.ok()) return std::nullopt;
  const auto moves = static_cast<double>(plan->moves.size());
  if (places == around.ranks()) return Made{profile_of(*plan, around), moves};
  return Made{profile_of(*plan, first_places(around, places)), moves};
}

std::optional<Profile> profile_for(const algorithms::Entry& entry, const Environment& around) {
  const int ranks = around.ranks();
  int doublings = 0;
  if (algorithms::needs_layout(entry, around.layout)) {  // groups and rings cannot be extrapolated
    const auto made = ranks <= kMostNested ? make(entry, around, ranks) : std::nullopt;
    return made ? std::optional(made->profile) : std::nullopt;
  }
  while (std::ldexp(CostTable::kMostRanks, doublings) < ranks) ++doublings;
  if (doublings > 0) {
    std::optional<Made> three[3];
    for (int i = 0; i < 3; ++i) {
      three[i] = make(entry, around, static_cast<int>(std::ceil(std::ldexp(ranks, i - 2 - doublings))));
      if (!three[i]) return std::nullopt;
    }
    const double moves = three[2]->moves * std::pow(three[2]->moves / three[1]->moves, doublings);
    if (moves > kMostMoves) return grown(three[0]->profile, three[1]->profile, three[2]->profile, doublings);
  }
  const auto made = make(entry, around, ranks);
  return made ? std::optional(made->profile) : std::nullopt;
}

std::pair<float, float> burden_of(const Profile& profile) {
  return {static_cast<float>(profile.across / profile.chunks),
          static_cast<float>(profile.busiest / profile.chunks)};
}

int most_divisor(const Profile& profile, size_t slot_bytes) {
  int divisor = 1;
  while (divisor < kMostDivisor && slot_bytes / (2 * static_cast<size_t>(divisor)) >= kLeastCut &&
         profile.tile_bytes / (2 * divisor) >= kLeastTile)
    divisor *= 2;
  return divisor;
}

/// Whether times can be predicted from it.
bool is_sound(const Profile& profile) {
  for (const double figure :
       {profile.first.seconds, profile.first.per_byte, profile.further.seconds, profile.further.per_byte,
        profile.load.seconds, profile.load.per_byte, profile.shared, profile.busiest, profile.across,
        profile.merging, profile.unasked, profile.tile_bytes, profile.chunks})
    if (!std::isfinite(figure)) return false;
  return profile.chunks >= 1 && profile.tile_bytes >= kLeastTile;
}

/// A size as programs accept it: "64K".
std::string size_words(size_t bytes) {
  constexpr const char* kUnits[] = {"", "K", "M", "G", "T"};
  size_t unit = 0;
  for (; bytes >= 1024 && bytes % 1024 == 0 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1024;
  return fmt::format("{}{}", bytes, kUnits[unit]);
}

}  // namespace

CostTable::CostTable(std::vector<Candidate> candidates) : candidates_(std::move(candidates)) {
  for (size_t c = 0; c < kClasses; ++c) {
    const double bytes = c == 0 ? 0 : std::ldexp(1, static_cast<int>(c) - 1);
    choices_[c] = choose(bytes);
  }
}

CostTable::CostTable(Collective kind, const Environment& around, const Allowed& allowed)
    : CostTable(candidates_for(kind, around, allowed)) {}

std::vector<CostTable::Candidate> CostTable::candidates_for(Collective kind, const Environment& around,
                                                            const Allowed& allowed) {
  std::vector<Candidate> candidates;
  for (const algorithms::Entry& entry : algorithms::catalogue()) {
    if (entry.kind != kind || (allowed ? !allowed(entry) : algorithms::is_for_rank_order(entry))) continue;
    if (entry.pulls && around.scratch_bytes == 0) continue;
    const auto profile = profile_for(entry, around);
    if (!profile || profile->tile_bytes < kLeastTile) continue;
    candidates.push_back({&entry, *profile, most_divisor(*profile, around.slot_bytes), burden_of(*profile)});
  }
  return candidates;
}

Bytes CostTable::encode() const {
  ByteWriter out;
  for (const Candidate& candidate : candidates_) {
    out.put(static_cast<uint32_t>(candidate.entry - algorithms::catalogue().data()));
    out.put(candidate.most_divisor).put(candidate.profile);
  }
  return out.take();
}

std::optional<CostTable> CostTable::decode(BytesView bytes) {
  std::vector<Candidate> candidates;
  for (ByteReader in(bytes); in.remaining() > 0;) {
    const auto entry = in.get<uint32_t>();
    const int divisor = in.get<int>();
    const auto profile = in.get<Profile>();
    const bool right = in.ok() && entry < algorithms::catalogue().size() && divisor >= 1 &&
                       divisor <= kMostDivisor && is_sound(profile);
    if (!right) return std::nullopt;
    candidates.push_back({&algorithms::catalogue()[entry], profile, divisor, burden_of(profile)});
  }
  return CostTable(std::move(candidates));
}

/// A single pass leaves links idle while its bytes are copied and summed: two passes hide that for each
/// other. The model includes neither this loss nor the gain, only the additional messages.
int CostTable::Candidate::least_divisor(double bytes) const {
  const double chunk = bytes / profile.chunks;
  int divisor = 1;
  if (chunk <= profile.tile_bytes / most_divisor) return divisor;  // one pass for any tile size
  while (chunk <= profile.tile_bytes / divisor) divisor *= 2;
  return divisor;
}

Estimate CostTable::Candidate::estimate(double bytes) const {
  Estimate best{entry, predict(profile, bytes)};
  for (int divisor = 2; divisor <= most_divisor; divisor *= 2) {
    const double seconds = predict(profile, bytes, divisor);
    if (seconds * kHair < best.seconds) best = {entry, seconds, divisor};
  }
  best.tile_divisor = std::max(best.tile_divisor, least_divisor(bytes));
  return best;
}

double CostTable::Candidate::unmerged_seconds(double bytes) const {
  Candidate alone = *this;
  alone.profile.merging = 0;
  return alone.estimate(bytes).seconds;
}

Choice CostTable::choose(double bytes) const {
  std::vector<Estimate> estimates;
  for (const Candidate& candidate : candidates_) estimates.push_back(candidate.estimate(bytes));
  if (estimates.empty()) return {};
  const auto quickest = std::ranges::min_element(estimates, {}, &Estimate::seconds);
  const double enough = quickest->seconds * kHair;
  const Candidate& first = candidates_[static_cast<size_t>(quickest - estimates.begin())];
  size_t best = candidates_.size();
  for (size_t i = 0; i < candidates_.size(); ++i) {
    const Candidate& candidate = candidates_[i];
    const bool spares = candidate.burden < first.burden;
    if ((spares ? candidate.unmerged_seconds(bytes) : estimates[i].seconds) > enough) continue;
    const auto better = [&](size_t than) {
      return std::pair(candidates_[i].burden, estimates[i].seconds) <
             std::pair(candidates_[than].burden, estimates[than].seconds);
    };
    if (best == candidates_.size() || better(best)) best = i;
  }
  Choice choice{estimates[best], {}};
  for (size_t i = 0; i < candidates_.size(); ++i) {
    const bool sooner = choice.runner_up.entry == nullptr || estimates[i].seconds < choice.runner_up.seconds;
    if (i != best && sooner) choice.runner_up = estimates[i];
  }
  return choice;
}

std::vector<Row> CostTable::rows() const {
  std::vector<Row> rows;
  for (size_t c = 1; c < kClasses; ++c) {
    const size_t least = size_t{1} << (c - 1);
    const Choice& choice = choices_[c];
    if (choice.best.entry == nullptr) break;
    const bool continues = !rows.empty() && rows.back().at_least.best.entry == choice.best.entry &&
                           rows.back().at_least.best.tile_divisor == choice.best.tile_divisor;
    if (!continues) rows.push_back({least, 0, choice, {}});
    rows.back().most = 2 * least - 1;
    rows.back().at_most = choice;
  }
  return rows;
}

Estimate CostTable::estimate(std::string_view algorithm, size_t bytes) const {
  for (const Candidate& candidate : candidates_)
    if (candidate.entry->algorithm == algorithm) return candidate.estimate(static_cast<double>(bytes));
  return {};
}

size_t CostTable::tile_bytes(std::string_view algorithm) const {
  for (const Candidate& candidate : candidates_)
    if (candidate.entry->algorithm == algorithm) return static_cast<size_t>(candidate.profile.tile_bytes);
  return 0;
}

double CostTable::seconds(std::string_view algorithm, size_t bytes) const {
  const Estimate found = estimate(algorithm, bytes);
  return found.entry != nullptr ? found.seconds : -1;
}

std::vector<std::string> lines_of(const CostTable& table) {
  std::vector<std::string> lines;
  const std::vector<Row> rows = table.rows();
  for (const Row& row : rows) {
    const Choice& first = row.at_least;
    std::string line = fmt::format("from {:>5}  {:<16} {:>9}", size_words(row.least),
                                   first.best.entry->algorithm, seconds_words(first.best.seconds));
    if (first.best.tile_divisor > 1) line += fmt::format("  in tiles of 1/{}", first.best.tile_divisor);
    if (first.runner_up.entry != nullptr) {
      line += fmt::format("  then {} {}", first.runner_up.entry->algorithm,
                          seconds_words(first.runner_up.seconds));
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace weir::cost
