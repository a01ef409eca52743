// SPDX-License-Identifier: Apache-2.0
/// The binary interface of NCCL's net plugins, versions 5 to 12, as far as a host of plugins needs it; for
/// net_plugin*.cc only.
///
/// A plugin is a shared object that exports one table per version it supports, ncclNetPlugin_v5 and so on.
/// Every function returns an ncclResult_t (0: success). Layouts are those of NCCL 2.30 on 64-bit machines.
/// Tests: tests/transports/net_plugin_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace weir::drivers::net_abi {

inline constexpr size_t kHandleBytes = 128;
inline constexpr int kHostPointers = 1;  ///< bit of `pointers`: host memory can be sent and received
inline constexpr int kHostMemory = 1;    ///< kind of memory passed to regMr
inline constexpr int kPlainDevice = 0;   ///< value of device_type: the plugin needs no GPU
inline constexpr int kNoTrafficClass = -1;

using Logger = void(int level, unsigned long flags, const char* place, int line, const char* format, ...);
using Profiler = int(void** event, int type, void* parent, int64_t plugin, void* data);

struct Configuration {
  int traffic_class;
};

template <int most>
struct VirtualDevice {
  int count;
  int members[most];
};

struct PropertiesV6 {
  char* name;
  char* pci_path;
  uint64_t guid;
  int pointers;
  int speed;  // speed in Mbit/s
  int port;
  float latency;  // latency in us
  int most_comms;
  int most_receives;
};
static_assert(sizeof(PropertiesV6) == 48 && offsetof(PropertiesV6, speed) == 28);

struct PropertiesV7 {
  char* name;
  char* pci_path;
  uint64_t guid;
  int pointers;
  int speed;
  int port;
  float latency;
  int most_comms;
  int most_receives;
  int device_type;
  int device_version;
};
static_assert(sizeof(PropertiesV7) == 56 && offsetof(PropertiesV7, device_type) == 48);

struct PropertiesV8 {
  char* name;
  char* pci_path;
  uint64_t guid;
  int pointers;
  int global_regions;
  int speed;
  int port;
  float latency;
  int most_comms;
  int most_receives;
  int device_type;
  int device_version;
};
static_assert(sizeof(PropertiesV8) == 64 && offsetof(PropertiesV8, device_type) == 52);

template <int most>
struct PropertiesV9 {
  char* name;
  char* pci_path;
  uint64_t guid;
  int pointers;
  int global_regions;
  int force_flush;
  int speed;
  int port;
  float latency;
  int most_comms;
  int most_receives;
  int device_type;
  int device_version;
  VirtualDevice<most> virtual_device;
  size_t most_bytes;  // maximum size of one send or receive between two ranks
  size_t most_collective_bytes;
};
static_assert(sizeof(PropertiesV9<4>) == 104 && offsetof(PropertiesV9<4>, most_bytes) == 88);

/// A struct whose newer fields follow the older ones.
template <int most, typename Newer>
struct PropertiesV11 {
  PropertiesV9<most> older;
  Newer newer;
};
struct NewerV11 {
  int most_multi_requests;
};
struct NewerV12 {
  int most_multi_requests;
  int16_t rail;
  int16_t plane;
};
static_assert(sizeof(PropertiesV11<4, NewerV11>) == 112);
static_assert(sizeof(PropertiesV11<8, NewerV12>) == 128);
static_assert(offsetof(PropertiesV9<8>, most_bytes) == 104);
using PropertiesV12 = PropertiesV11<8, NewerV12>;
static_assert(offsetof(PropertiesV12, newer) == 120);

// Functions whose parameters changed, by version.

template <int version>
struct Shape {
  template <bool condition, typename Then, typename Else>
  using If = std::conditional_t<condition, Then, Else>;

  using Properties =
      If<(version >= 12), PropertiesV11<8, NewerV12>,
         If<(version == 11), PropertiesV11<4, NewerV11>,
            If<(version >= 9), PropertiesV9<4>,
               If<(version == 8), PropertiesV8, If<(version == 7), PropertiesV7, PropertiesV6>>>>>;
  using RegionBytes = If<(version >= 8), size_t, int>;
  using Bytes = If<(version >= 9), size_t, int>;
  using Init = If<(version >= 11), int(void**, uint64_t, Configuration*, Logger*, Profiler*),
                  If<(version == 10), int(Logger*, Profiler*), int(Logger*)>>;
  using Listen = If<(version >= 11), int(void*, int, void*, void**), int(int, void*, void**)>;
  using Connect = If<(version >= 11), int(void*, int, void*, void**, void**),
                     If<(version == 10), int(int, Configuration*, void*, void**, void**),
                        If<(version >= 7), int(int, void*, void**, void**), int(int, void*, void**)>>>;
  using Accept = If<(version >= 7), int(void*, void**, void**), int(void*, void**)>;
  using Send = If<(version >= 10), int(void*, void*, Bytes, int, void*, void*, void**),
                  int(void*, void*, Bytes, int, void*, void**)>;
  using Receive = If<(version >= 10), int(void*, int, void**, Bytes*, int*, void**, void**, void**),
                     int(void*, int, void**, Bytes*, int*, void**, void**)>;
};

/// The beginning of the tables of all versions but 5, which lacks a function.
template <int version>
struct Table {
  const char* name;
  typename Shape<version>::Init* init;
  int (*devices)(int* count);
  int (*properties)(int device, typename Shape<version>::Properties* into);
  typename Shape<version>::Listen* listen;
  typename Shape<version>::Connect* connect;
  typename Shape<version>::Accept* accept;
  int (*register_memory)(void* comm, void* data, typename Shape<version>::RegionBytes bytes, int kind,
                         void** region);
  int (*register_dma_buffer)(void* comm, void* data, size_t bytes, int kind, uint64_t offset, int file,
                             void** region);
  int (*deregister_memory)(void* comm, void* region);
  typename Shape<version>::Send* send;
  typename Shape<version>::Receive* receive;
  int (*flush)(void* comm, int count, void** data, int* bytes, void** regions, void** request);
  int (*test)(void* request, int* done, int* bytes);
  int (*close_sender)(void* comm);
  int (*close_receiver)(void* comm);
  int (*close_listener)(void* comm);
};
static_assert(sizeof(Table<6>) == 136);

template <>
struct Table<5> {
  const char* name;
  Shape<5>::Init* init;
  int (*devices)(int* count);
  int (*properties)(int device, PropertiesV6* into);
  Shape<5>::Listen* listen;
  Shape<5>::Connect* connect;
  Shape<5>::Accept* accept;
  int (*register_memory)(void* comm, void* data, int bytes, int kind, void** region);
  int (*deregister_memory)(void* comm, void* region);
  Shape<5>::Send* send;
  Shape<5>::Receive* receive;
  int (*flush)(void* comm, int count, void** data, int* bytes, void** regions, void** request);
  int (*test)(void* request, int* done, int* bytes);
  int (*close_sender)(void* comm);
  int (*close_receiver)(void* comm);
  int (*close_listener)(void* comm);
};
static_assert(sizeof(Table<5>) == 128);

/// The tables of versions 11 and 12.
template <int version>
struct LongTable {
  Table<version> common;
  int (*device_region)(void* comm, void* region, void** device_region);
  int (*receive_consumed)(void* comm, int count, void* request);
  int (*make_virtual_device)(int* device, void* members);
  int (*finalize)(void* context);
  int (*set_attributes)(void* context, void* attributes);
};
static_assert(sizeof(LongTable<11>) == 176 && sizeof(LongTable<12>) == 176);

}  // namespace weir::drivers::net_abi
