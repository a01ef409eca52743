// SPDX-License-Identifier: Apache-2.0
/// A network on paper for tests of measurements: hosts on leaves with uplinks, leaves in pods. The pairs of a
/// round share links fairly; figures carry noise from a seed.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "topology/model/measured.h"
#include "topology/model/tournament.h"

namespace weir::topology::testing {

struct PretendNetwork {
  std::vector<int> leaf_of;         ///< by host
  std::vector<double> nic;          ///< GB/s, by host
  double oversubscription = 1;      ///< of each leaf; 0: uplinks without limit
  std::vector<int> pod_of;          ///< by leaf; empty: one pod
  double pod_oversubscription = 1;  ///< of what its leaves have up
  double inside_us = 2;
  double across_us = 2;
  double other_pod_us = 2;
  double noise = 0.02;       ///< of each figure, relative
  double lasting_noise = 0;  ///< of each pair, the same in all repetitions
  uint64_t seed = 1;

  static PretendNetwork of(const std::vector<int>& sizes, double oversubscription) {
    PretendNetwork network;
    for (size_t leaf = 0; leaf < sizes.size(); ++leaf)
      network.leaf_of.insert(network.leaf_of.end(), static_cast<size_t>(sizes[leaf]), static_cast<int>(leaf));
    network.nic.assign(network.leaf_of.size(), 10);
    network.oversubscription = oversubscription;
    return network;
  }
  /// Hosts in another order, so that nothing follows from neighbourhood.
  void shuffle() {
    std::mt19937_64 random(seed);
    for (size_t left = leaf_of.size(); left > 1; --left)
      std::swap(leaf_of[left - 1], leaf_of[random() % left]);
  }

  Measured measure(int repetitions) const;

 private:
  int pod(size_t host) const { return pod_of.empty() ? 0 : pod_of[static_cast<size_t>(leaf_of[host])]; }
  std::vector<double> share(const std::vector<std::pair<size_t, size_t>>& pairs) const;
};

/// What each pair gets when all are at work: the pairs at the tightest link first.
inline std::vector<double> PretendNetwork::share(const std::vector<std::pair<size_t, size_t>>& pairs) const {
  const size_t leaves = static_cast<size_t>(*std::max_element(leaf_of.begin(), leaf_of.end())) + 1;
  const size_t hosts = leaf_of.size();
  std::vector<double> left(nic);
  left.resize(hosts + 2 * leaves, 0);  // then leaves' uplinks, then pods'
  for (size_t host = 0; host < hosts; ++host) left[hosts + static_cast<size_t>(leaf_of[host])] += nic[host];
  for (size_t leaf = 0; leaf < leaves; ++leaf) {
    double& up = left[hosts + leaf];
    up = oversubscription > 0 ? std::max(nic[0], up / oversubscription) : 1e9;
    if (!pod_of.empty())
      left[hosts + leaves + static_cast<size_t>(pod_of[leaf])] += up / pod_oversubscription;
  }
  std::vector<std::vector<size_t>> used;
  for (const auto& [a, b] : pairs) {
    std::vector<size_t>& links = used.emplace_back(std::vector<size_t>{a, b});
    if (leaf_of[a] != leaf_of[b])
      for (const size_t host : {a, b}) links.push_back(hosts + static_cast<size_t>(leaf_of[host]));
    if (pod(a) != pod(b))
      for (const size_t host : {a, b}) links.push_back(hosts + leaves + static_cast<size_t>(pod(host)));
  }
  std::vector<double> rates(pairs.size());
  for (size_t done = 0; done < pairs.size();) {
    std::vector<int> users(left.size());
    for (size_t i = 0; i < pairs.size(); ++i)
      if (rates[i] == 0)
        for (const size_t link : used[i]) ++users[link];
    size_t tightest = left.size();
    for (size_t link = 0; link < left.size(); ++link)
      if (users[link] > 0 &&
          (tightest == left.size() || left[link] / users[link] < left[tightest] / users[tightest]))
        tightest = link;
    const double rate = left[tightest] / users[tightest];
    for (size_t i = 0; i < pairs.size(); ++i) {
      if (rates[i] != 0 || std::find(used[i].begin(), used[i].end(), tightest) == used[i].end()) continue;
      rates[i] = rate;
      ++done;
      for (const size_t link : used[i]) left[link] -= rate;
    }
  }
  return rates;
}

inline Measured PretendNetwork::measure(int repetitions) const {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  const auto noisy = [&](double amount) { return std::exp(amount * normal(random)); };
  const size_t n = leaf_of.size();
  Measured measured;
  for (size_t host = 0; host < n; ++host) measured.hosts.push_back(fmt::format("host{}", host));
  measured.alone_gb_per_s.resize(n);
  for (size_t host = 0; n > 1 && host < n; ++host) {
    const size_t next = (host + 1) % n;
    const double rate = share({{host, next}})[0] * noisy(noise);
    for (const size_t end : {host, next})
      measured.alone_gb_per_s[end] = std::max(measured.alone_gb_per_s[end], rate);
  }
  std::vector<double> lasting(n * n);
  for (double& factor : lasting) factor = noisy(lasting_noise);
  for (int i = 0; i < repetitions; ++i) {
    MeasuredRepetition one{std::vector<double>(n * n, 1), std::vector<double>(n * n, 1)};
    const Tournament tournament(static_cast<int>(n), i);
    for (int round = 0; round < tournament.rounds(); ++round) {
      std::vector<std::pair<size_t, size_t>> pairs;
      for (size_t a = 0; a < n; ++a)
        if (const int b = tournament.partner(round, static_cast<int>(a)); b > static_cast<int>(a))
          pairs.emplace_back(a, static_cast<size_t>(b));
      const std::vector<double> rates = share(pairs);
      for (size_t at = 0; at < pairs.size(); ++at) {
        const auto [a, b] = pairs[at];
        const double us = leaf_of[a] == leaf_of[b] ? inside_us : pod(a) == pod(b) ? across_us : other_pod_us;
        const size_t there = measured.pair(a, b);
        const size_t back = measured.pair(b, a);
        one.gb_per_s[there] = one.gb_per_s[back] = rates[at] * noisy(noise) * lasting[there];
        one.latency_us[there] = one.latency_us[back] = us * noisy(noise) * lasting[there];
      }
    }
    measured.repetitions.push_back(std::move(one));
  }
  return measured;
}

}  // namespace weir::topology::testing
