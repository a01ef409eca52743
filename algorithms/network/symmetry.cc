// SPDX-License-Identifier: Apache-2.0

#include "algorithms/network/symmetry.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "src/base/index.h"

namespace weir::algorithms {
namespace {

constexpr int kMostRounds = 32;

/// The finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
uint64_t mixed(uint64_t word) {
  word += 0x9e3779b97f4a7c15;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
  word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
  return word ^ (word >> 31);
}

/// Numbers values in the order of first appearance; returns their number.
size_t number_from_zero(const std::vector<uint64_t>& signatures, std::vector<int32_t>& colours) {
  std::unordered_map<uint64_t, int32_t> numbers;
  for (size_t node = 0; node < signatures.size(); ++node) {
    colours[node] = numbers.try_emplace(signatures[node], static_cast<int32_t>(numbers.size())).first->second;
  }
  return numbers.size();
}

}  // namespace

std::vector<int32_t> colours_of(const Network& network) {
  std::vector<uint64_t> signatures(at(network.nodes), 1);
  for (int32_t node : network.rank_nodes) signatures[at(node)] = 2;
  for (size_t node = 0; node < network.multicast.size(); ++node) {
    if (network.multicast[node] != 0) signatures[node] += 2;
  }
  std::vector<int32_t> colours(at(network.nodes));
  size_t count = number_from_zero(signatures, colours);
  for (int round = 0; round < kMostRounds; ++round) {
    for (size_t node = 0; node < colours.size(); ++node)
      signatures[node] = mixed(static_cast<uint64_t>(colours[node]));
    for (const Edge& edge : network.edges) {  // sums, because the order of neighbours does not matter
      const uint64_t width = mixed(static_cast<uint64_t>(edge.capacity));
      signatures[at(edge.to)] += mixed(width + static_cast<uint64_t>(colours[at(edge.from)]));
      signatures[at(edge.from)] += mixed(~width + static_cast<uint64_t>(colours[at(edge.to)]));
    }
    const size_t before = std::exchange(count, number_from_zero(signatures, colours));
    if (count == before) break;
  }
  return colours;
}

}  // namespace weir::algorithms
