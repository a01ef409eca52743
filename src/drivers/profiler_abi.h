// SPDX-License-Identifier: Apache-2.0
/// The binary interface of NCCL's profiler plugins, versions 1 to 7; for profiler.* only.
///
/// A plugin is a shared object that exports one table per version it supports, ncclProfiler_v1 and so on.
/// Every function returns an ncclResult_t (0: success). Layouts are those of NCCL 2.32 on 64-bit machines.
/// Tests: tests/library/profiler_test.cc
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <variant>

#include "src/drivers/plugin_file.h"

namespace weir::drivers::profiler_abi {

/// Kinds of events, as bits of the mask with which a plugin selects events.
inline constexpr int kGroup = 1 << 0;
inline constexpr int kCollective = 1 << 1;
inline constexpr int kPair = 1 << 2;  ///< one send or receive
inline constexpr int kProxy = 1 << 3;
inline constexpr int kStep = 1 << 4;
inline constexpr int kGroupCall = 1 << 8;  ///< this and the next two kinds exist from version 5 on
inline constexpr int kCollectiveCall = 1 << 9;
inline constexpr int kPairCall = 1 << 10;

/// States of a proxy event.
inline constexpr int kProxyInProgress = 19;  ///< the proxy has its first message; from version 4 on

/// States of a step event, in this order.
inline constexpr int kSendGpuWait = 8;        ///< the slot is being filled
inline constexpr int kSendPeerWait = 20;      ///< the sender waits for a free slot; from version 4 on
inline constexpr int kSendWait = 9;           ///< the network sends the message; has the number of bytes
inline constexpr int kReceiveWait = 10;       ///< the receiver waits for a message
inline constexpr int kReceiveFlushWait = 11;  ///< the message has arrived; has the number of bytes
inline constexpr int kReceiveGpuWait = 12;    ///< the receiver reads the message

struct GroupCall {
  bool captured;
  int depth;
};
struct CollectiveCall {
  const char* function;
  size_t count;
  const char* type;
  int root;
  void* stream;
  bool captured;
};
struct PairCall {
  const char* function;
  size_t count;
  const char* type;
  void* stream;
  bool captured;
};
struct Proxy {
  pid_t pid;
  uint8_t channel;
  int peer;
  int steps;
  int chunk_bytes;
  int sends;
};
struct Step {
  int step;
};

/// Before version 2, functions, types, algorithms and protocols have numbers.
struct CollectiveV1 {
  const char* name;
  uint64_t communicator;
  uint64_t sequence;
  uint8_t function;
  const void* input;
  void* output;
  size_t count;
  int root;
  uint8_t type;
  uint32_t operation;
  size_t traffic;
  uint8_t channels;
  uint8_t warps;
  uint8_t algorithm;
  uint8_t protocol;
  int collnet;
  int nvls;
};
struct PairV1 {
  const char* name;
  uint64_t communicator;
  uint8_t function;
  void* buffer;
  uint8_t type;
  size_t count;
  int peer;
};
struct CollectiveV2 {
  const char* name;
  uint64_t communicator;
  uint64_t sequence;
  const char* function;
  const void* input;
  void* output;
  size_t count;
  int root;
  const char* type;
  size_t traffic;
  uint8_t channels;
  uint8_t warps;
  const char* algorithm;
  const char* protocol;
};
struct PairV2 {
  const char* name;
  uint64_t communicator;
  const char* function;
  void* buffer;
  const char* type;
  size_t count;
  int peer;
};
struct CollectiveV3 {
  const char* name;
  uint64_t communicator;
  uint64_t sequence;
  const char* function;
  const void* input;
  void* output;
  size_t count;
  int root;
  const char* type;
  uint8_t channels;
  uint8_t warps;
  const char* algorithm;
  const char* protocol;
};
struct CollectiveV4 {
  uint64_t sequence;
  const char* function;
  const void* input;
  void* output;
  size_t count;
  int root;
  const char* type;
  uint8_t channels;
  uint8_t warps;
  const char* algorithm;
  const char* protocol;
};
struct PairV4 {
  const char* function;
  void* buffer;
  const char* type;
  size_t count;
  int peer;
  uint8_t channels;
};

/// Versions 1 to 4.
template <typename Collective, typename Pair>
struct OlderEvent {
  uint8_t kind;
  void* parent;
  int rank;
  union {
    Collective collective;
    Pair pair;
    Proxy proxy;
    Step step;
  };
};
using EventV1 = OlderEvent<CollectiveV1, PairV1>;
using EventV2 = OlderEvent<CollectiveV2, PairV2>;
using EventV3 = OlderEvent<CollectiveV3, PairV2>;
using EventV4 = OlderEvent<CollectiveV4, PairV4>;
static_assert(sizeof(EventV1) == 120 && offsetof(EventV1, collective) == 24);
static_assert(sizeof(CollectiveV1) == 96 && offsetof(CollectiveV1, channels) == 80 && sizeof(PairV1) == 56);
static_assert(sizeof(EventV2) == 128 && offsetof(CollectiveV2, algorithm) == 88 && sizeof(PairV2) == 56);
static_assert(sizeof(EventV3) == 120 && offsetof(CollectiveV3, algorithm) == 80);
static_assert(sizeof(EventV4) == 104 && offsetof(EventV4, rank) == 16 && offsetof(EventV4, collective) == 24);

struct CollectiveV5 {
  CollectiveV4 older;
  void* group;
};
struct PairV5 {
  PairV4 older;
  void* group;
};
/// Versions 5 and 6; 6 has events of copy engines, too, which are not larger.
struct EventV5 {
  uint64_t kind;
  void* parent;
  int rank;
  union {
    GroupCall group_call;
    CollectiveCall collective_call;
    PairCall pair_call;
    CollectiveV5 collective;
    PairV5 pair;
    Proxy proxy;
    Step step;
  };
};
static_assert(sizeof(EventV5) == 112 && offsetof(EventV5, rank) == 16 && offsetof(EventV5, collective) == 24);
static_assert(offsetof(CollectiveV5, group) == 80 && offsetof(PairV5, group) == 40);
static_assert(sizeof(Proxy) == 24 && sizeof(CollectiveCall) == 48 && sizeof(PairCall) == 40);

/// A number that the user passes with a call; 0: none.
struct CollectiveCallV7 {
  CollectiveCall older;
  uint64_t user_tag;
};
struct PairCallV7 {
  PairCall older;
  uint64_t user_tag;
};
struct CollectiveV7 {
  CollectiveV5 older;
  const char* kernel;
  bool symmetric;
  uint64_t user_tag;
};
struct PairV7 {
  PairV5 older;
  uint64_t user_tag;
};
struct EventV7 {
  uint64_t kind;
  void* parent;
  int rank;
  union {
    GroupCall group_call;
    CollectiveCallV7 collective_call;
    PairCallV7 pair_call;
    CollectiveV7 collective;
    PairV7 pair;
    Proxy proxy;
    Step step;
  };
};
static_assert(sizeof(EventV7) == 136 && offsetof(EventV7, collective) == 24);
static_assert(sizeof(CollectiveV7) == 112 && offsetof(CollectiveV7, user_tag) == 104);
static_assert(sizeof(PairV7) == 56 && sizeof(CollectiveCallV7) == 56 && sizeof(PairCallV7) == 48);

/// The argument of a state: up to version 3, in which steps have none, and from then on.
struct StateArgumentsV1 {
  size_t proxy_bytes;
  int proxy_steps;
};
static_assert(sizeof(StateArgumentsV1) == 16);
union StateArguments {
  size_t bytes;  ///< size of a step's message
  void* any;
};
static_assert(sizeof(StateArguments) == 8);

template <typename Init, typename EventType, typename Arguments = StateArguments>
struct Table {
  using Event = EventType;
  const char* name;
  Init* init;
  int (*start)(void* context, void** event, Event* description);
  int (*stop)(void* event);
  int (*record)(void* event, int state, Arguments* arguments);
  int (*finalize)(void* context);
};
using InitV1 = int(void** context, int* mask);
using InitV4 = int(void** context, int* mask, const char* name, uint64_t communicator, int nodes, int ranks,
                   int rank, PluginLogger* logger);
using InitV5 = int(void** context, uint64_t communicator, int* mask, const char* name, int nodes, int ranks,
                   int rank, PluginLogger* logger);
using TableV1 = Table<InitV1, EventV1, StateArgumentsV1>;
using TableV2 = Table<InitV1, EventV2, StateArgumentsV1>;
using TableV3 = Table<InitV1, EventV3, StateArgumentsV1>;
using TableV4 = Table<InitV4, EventV4>;
using TableV5 = Table<InitV5, EventV5>;
using TableV7 = Table<InitV5, EventV7>;
static_assert(sizeof(TableV1) == 48 && sizeof(TableV4) == 48 && sizeof(TableV7) == 48);

/// The table of a plugin, of the version that is used. 5 is 6, too.
using AnyTable = std::variant<const TableV1*, const TableV2*, const TableV3*, const TableV4*, const TableV5*,
                              const TableV7*>;

}  // namespace weir::drivers::profiler_abi
