// SPDX-License-Identifier: Apache-2.0
/// The table of a net plugin in one form for all versions of the interface; for net_plugin*.cc only.
/// Tests: tests/transports/net_plugin_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "src/drivers/net_plugin_abi.h"

namespace weir::drivers {

/// The properties of a device that weir uses, with the values that NCCL assumes where a version lacks them.
struct NetProperties {
  std::string name;
  std::string pci_path;
  uint64_t guid = 0;
  int pointers = 0;
  int speed = 0;  ///< speed in Mbit/s as the plugin reports it
  int port = 0;
  float latency_us = 0;
  int device_type = net_abi::kPlainDevice;
  size_t most_bytes = size_t{1} << 30;
};

/// All functions return an ncclResult_t. Those with a parameter `own` are adapters between versions; the
/// others are the plugin's. NCCL's rules apply to the calls; the caller checks sizes against the limits here.
struct NetTable {
  int version = 0;
  const char* name = nullptr;  ///< name of the network
  const void* own = nullptr;   ///< the plugin's table
  size_t most_region_bytes = SIZE_MAX;
  unsigned most_requests = 32;  ///< maximum number of requests in flight per connection

  int (*init)(const void* own, void** context, uint64_t communicator, int traffic_class,
              net_abi::Logger* logger) = nullptr;
  int (*devices)(int* count) = nullptr;
  int (*properties)(const void* own, int device, NetProperties& into) = nullptr;
  int (*listen)(const void* own, void* context, int device, void* handle, void** listener) = nullptr;
  int (*connect)(const void* own, void* context, int device, int traffic_class, void* handle,
                 void** sender) = nullptr;
  int (*accept)(const void* own, void* listener, void** receiver) = nullptr;
  int (*register_memory)(const void* own, void* comm, void* data, size_t bytes, void** region) = nullptr;
  int (*deregister_memory)(void* comm, void* region) = nullptr;
  int (*send)(const void* own, void* comm, void* data, size_t bytes, int tag, void* region,
              void** request) = nullptr;
  int (*receive)(const void* own, void* comm, void* data, size_t bytes, int tag, void* region,
                 void** request) = nullptr;
  int (*test)(void* request, int* done, int* bytes) = nullptr;
  int (*close_sender)(void* comm) = nullptr;
  int (*close_receiver)(void* comm) = nullptr;
  int (*close_listener)(void* comm) = nullptr;
  int (*finalize)(void* context) = nullptr;  ///< ends a context; null before version 11
};

inline constexpr int kNewestNetVersion = 12;
inline constexpr int kOldestNetVersion = 5;

/// `symbol` is the address of ncclNetPlugin_v<version> in the plugin, which must stay loaded. nullopt if the
/// table lacks a function.
std::optional<NetTable> adapt_net_table(int version, const void* symbol);

}  // namespace weir::drivers
