#include "algorithms/choice.h"

namespace weir::algorithms {
namespace {

// Bytes up to which latency counts more than bandwidth. One-shot sends every byte to every rank, so its share
// shrinks with the number of ranks.
constexpr size_t kOneShotBytes = 16 * 1024;
constexpr size_t kLatencyBytes = 64 * 1024;
constexpr int kManyRanks = 8;

std::string_view all_reduce(const Question& q) {
  if (q.island && q.ranks <= 64) return q.bytes <= kOneShotBytes ? "one_shot" : "two_shot";
  if (q.ranks <= kManyRanks && q.bytes * static_cast<size_t>(q.ranks) <= kOneShotBytes) return "one_shot";
  if (q.bytes <= kLatencyBytes) return q.ranks > 2 ? "double_tree" : "halving_doubling";
  return q.groups ? "hierarchical" : "ring";
}

}  // namespace

std::string_view choose(const Question& q) {
  const bool small = q.bytes <= kLatencyBytes;
  const bool few = q.ranks <= kManyRanks;
  switch (q.kind) {
    case Collective::all_reduce: return all_reduce(q);
    case Collective::reduce_scatter:
    case Collective::all_gather:
      if (small) return few ? "one_shot" : "halving_doubling";
      return q.groups ? "hierarchical" : "ring";
    case Collective::broadcast: return few ? "one_shot" : small ? "binomial" : "ring";
    case Collective::reduce: return few ? "one_shot" : small ? "binomial" : "ring";
    case Collective::gather:
    case Collective::scatter: return few || !small ? "one_shot" : "binomial";
    default: return few ? "one_shot" : "pairwise";
  }
}

}  // namespace weir::algorithms
