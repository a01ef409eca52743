// SPDX-License-Identifier: Apache-2.0
/// The binary interface of NCCL's tuner plugins, versions 2 to 6; for tuner.* only.
///
/// A plugin is a shared object that exports one table per version it supports, ncclTunerPlugin_v2 and so on.
/// Every function returns an ncclResult_t (0: success). Layouts are those of NCCL 2.32 on 64-bit machines.
/// Tests: tests/drivers/tuner_test.cc
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/drivers/plugin_file.h"

namespace weir::drivers::tuner_abi {

inline constexpr int kAlgorithms = 7;
inline constexpr int kProtocols = 3;
inline constexpr int kLinks = 3;        ///< number of link kinds: NVLink, PCI, network
inline constexpr int kGenerations = 4;  ///< number of GPU generations: Volta, Ampere, Hopper, Blackwell
inline constexpr int kScales = 3;       ///< number of scales: one node, two, more

struct Domains {
  int count;
  int least_ranks;
  int most_ranks;
};
static_assert(sizeof(Domains) == 12);

/// The constants of NCCL's cost model, in us and in GB/s per channel. A plugin may change them.
struct Constants {
  double base_latencies[kAlgorithms][kProtocols];
  double link_latencies[kLinks][kAlgorithms][kProtocols];
  double most_ll[kGenerations][kScales];
  double most_ring_ll128[kGenerations][kScales];
  double most_tree_ll128[kGenerations][kScales];
  double most_tree[kGenerations][kScales];
  double most_nvls_tree[kGenerations][kScales];
};
static_assert(sizeof(Constants) == 1152 && offsetof(Constants, link_latencies) == 168);
static_assert(offsetof(Constants, most_ll) == 672 && offsetof(Constants, most_nvls_tree) == 1056);

/// The plugin's function that fills the table of costs, float[kAlgorithms][kProtocols], which is passed as if
/// it were an array of pointers.
using Ask = int(void* context, int function, size_t bytes, int operations, float** costs, int algorithms,
                int protocols, int registered, int* channels);

/// Version 3: likewise, without `registered`.
using AskV3 = int(void* context, int function, size_t bytes, int operations, float** costs, int algorithms,
                  int protocols, int* channels);
/// Version 2: the plugin names an algorithm and a protocol, or leaves -1. It is told whether there are
/// algorithms that use CollNet and NVLS.
using AskV2 = int(void* context, int function, size_t bytes, int collnet, int nvls, int operations,
                  int* algorithm, int* protocol, int* channels);

template <typename AskType>
struct OlderTable {
  const char* name;
  int (*init)(size_t ranks, size_t nodes, PluginLogger* logger, void** context);
  AskType* ask;
  int (*finalize)(void* context);
};
using TableV2 = OlderTable<AskV2>;
using TableV3 = OlderTable<AskV3>;
using TableV4 = OlderTable<Ask>;
static_assert(sizeof(TableV4) == 32 && offsetof(TableV4, ask) == 16);

struct TableV5 {
  const char* name;
  int (*init)(void** context, uint64_t communicator, size_t ranks, size_t nodes, PluginLogger* logger,
              Domains* domains, Constants* constants);
  Ask* ask;
  int (*finalize)(void* context);
};
static_assert(sizeof(TableV5) == 32 && offsetof(TableV5, ask) == 16);

/// The plugin's function that may change `chunk`, the bytes of one message of a channel.
using AskChunk = int(void* context, int function, size_t bytes, int algorithm, int protocol, int channels,
                     size_t* chunk);

struct TableV6 : TableV5 {
  AskChunk* ask_chunk;  ///< may be null
};
static_assert(sizeof(TableV6) == 40);

}  // namespace weir::drivers::tuner_abi
