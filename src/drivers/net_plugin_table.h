// SPDX-License-Identifier: Apache-2.0
/// The table of a net plugin in one shape, whatever version of the interface it has; for net_plugin*.cc only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "src/drivers/net_plugin_abi.h"

namespace weir::drivers {

/// What is wanted of the properties of a device, with the values that NCCL takes where a version has none.
struct NetProperties {
  std::string name;
  std::string pci_path;
  uint64_t guid = 0;
  int pointers = 0;
  int speed = 0;  ///< Mbit/s, as given
  int port = 0;
  float latency_us = 0;
  int device_type = net_abi::kPlainDevice;
  size_t most_bytes = size_t{1} << 30;
};

/// All functions return an ncclResult_t. Those that take `own` stand between versions; the others are the
/// plugin's. Rules of the calls are NCCL's; sizes are checked by the caller against the limits here.
struct NetTable {
  int version = 0;
  const char* name = nullptr;  ///< of the network
  const void* own = nullptr;   ///< the plugin's table
  size_t most_region_bytes = SIZE_MAX;
  unsigned most_requests = 32;  ///< under way per connection

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
  int (*finalize)(void* context) = nullptr;  ///< null before version 11
};

inline constexpr int kNewestNetVersion = 12;
inline constexpr int kOldestNetVersion = 6;

/// `symbol`: what ncclNetPlugin_v<version> is in the plugin, which must stay loaded. Nothing, if a function
/// is missing in it.
std::optional<NetTable> adapt_net_table(int version, const void* symbol);

}  // namespace weir::drivers
