// SPDX-License-Identifier: Apache-2.0
/// The binary interface of NCCL's profiler plugins, versions 4 and 5; for profiler.* only.
///
/// A plugin is a shared object that exports one table per version it supports, ncclProfiler_v5 and _v4. Every
/// function returns an ncclResult_t (0: success). Layouts are those of NCCL 2.28 on 64-bit machines.
/// Tests: tests/library/profiler_test.cc
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

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
inline constexpr int kProxyInProgress = 19;  ///< the proxy has its first message

/// States of a step event, in this order.
inline constexpr int kSendGpuWait = 8;        ///< the slot is being filled
inline constexpr int kSendPeerWait = 20;      ///< the sender waits for a free slot at the receiver
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
struct EventV4 {
  uint8_t kind;
  void* parent;
  int rank;
  union {
    CollectiveV4 collective;
    PairV4 pair;
    Proxy proxy;
    Step step;
  };
};
static_assert(sizeof(EventV4) == 104 && offsetof(EventV4, rank) == 16 && offsetof(EventV4, collective) == 24);

struct CollectiveV5 {
  CollectiveV4 older;
  void* group;
};
struct PairV5 {
  PairV4 older;
  void* group;
};
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

/// The argument of a state.
union StateArguments {
  size_t bytes;  ///< size of a step's message
  void* any;
};
static_assert(sizeof(StateArguments) == 8);

template <typename Init, typename Event>
struct Table {
  const char* name;
  Init* init;
  int (*start)(void* context, void** event, Event* description);
  int (*stop)(void* event);
  int (*record)(void* event, int state, StateArguments* arguments);
  int (*finalize)(void* context);
};
using InitV4 = int(void** context, int* mask, const char* name, uint64_t communicator, int nodes, int ranks,
                   int rank, PluginLogger* logger);
using InitV5 = int(void** context, uint64_t communicator, int* mask, const char* name, int nodes, int ranks,
                   int rank, PluginLogger* logger);
using TableV4 = Table<InitV4, EventV4>;
using TableV5 = Table<InitV5, EventV5>;
static_assert(sizeof(TableV4) == 48 && sizeof(TableV5) == 48);

}  // namespace weir::drivers::profiler_abi
