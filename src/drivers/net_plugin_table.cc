// SPDX-License-Identifier: Apache-2.0

#include "src/drivers/net_plugin_table.h"

namespace weir::drivers {
namespace {

using net_abi::Configuration;
using net_abi::Table;

std::string text_of(const char* text) { return text != nullptr ? text : ""; }

/// Plugins may report events to a profiler; weir ignores them.
int ignore_event(void**, int, void*, int64_t, void*) { return 0; }

template <int version>
const Table<version>& table(const void* own) {
  return *static_cast<const Table<version>*>(own);
}

template <int version>
int init(const void* own, void** context, uint64_t communicator, int traffic_class, net_abi::Logger* logger) {
  if constexpr (version >= 11) {
    Configuration configuration{traffic_class};
    return table<version>(own).init(context, communicator, &configuration, logger, ignore_event);
  } else if constexpr (version == 10) {
    return table<version>(own).init(logger, ignore_event);
  } else {
    return table<version>(own).init(logger);
  }
}

template <int version>
int properties(const void* own, int device, NetProperties& into) {
  typename net_abi::Shape<version>::Properties raw{};
  const int result = table<version>(own).properties(device, &raw);
  if (result != 0) return result;
  const auto take = [&](const auto& from) {
    into.name = text_of(from.name);
    into.pci_path = text_of(from.pci_path);
    into.guid = from.guid;
    into.pointers = from.pointers;
    into.speed = from.speed;
    into.port = from.port;
    into.latency_us = from.latency;
    if constexpr (version >= 7) into.device_type = from.device_type;
    if constexpr (version >= 9) into.most_bytes = from.most_bytes;
  };
  if constexpr (version >= 11) {
    take(raw.older);
  } else {
    take(raw);
  }
  return 0;
}

template <int version>
int listen(const void* own, void* context, int device, void* handle, void** listener) {
  if constexpr (version >= 11) return table<version>(own).listen(context, device, handle, listener);
  if constexpr (version < 11) return table<version>(own).listen(device, handle, listener);
}

template <int version>
int connect(const void* own, void* context, int device, int traffic_class, void* handle, void** sender) {
  void* offload = nullptr;  // output that weir does not use
  if constexpr (version >= 11) {
    return table<version>(own).connect(context, device, handle, sender, &offload);
  } else if constexpr (version == 10) {
    Configuration configuration{traffic_class};
    return table<version>(own).connect(device, &configuration, handle, sender, &offload);
  } else if constexpr (version >= 7) {
    return table<version>(own).connect(device, handle, sender, &offload);
  } else {
    return table<version>(own).connect(device, handle, sender);
  }
}

template <int version>
int accept(const void* own, void* listener, void** receiver) {
  void* offload = nullptr;
  if constexpr (version >= 7) return table<version>(own).accept(listener, receiver, &offload);
  if constexpr (version < 7) return table<version>(own).accept(listener, receiver);
}

template <int version>
int register_memory(const void* own, void* comm, void* data, size_t bytes, void** region) {
  return table<version>(own).register_memory(
      comm, data, static_cast<typename net_abi::Shape<version>::RegionBytes>(bytes), net_abi::kHostMemory,
      region);
}

template <int version>
int send(const void* own, void* comm, void* data, size_t bytes, int tag, void* region, void** request) {
  const auto size = static_cast<typename net_abi::Shape<version>::Bytes>(bytes);
  if constexpr (version >= 10)
    return table<version>(own).send(comm, data, size, tag, region, nullptr, request);
  if constexpr (version < 10) return table<version>(own).send(comm, data, size, tag, region, request);
}

template <int version>
int receive(const void* own, void* comm, void* data, size_t bytes, int tag, void* region, void** request) {
  auto size = static_cast<typename net_abi::Shape<version>::Bytes>(bytes);
  if constexpr (version >= 10) {
    void* event = nullptr;
    return table<version>(own).receive(comm, 1, &data, &size, &tag, &region, &event, request);
  } else {
    return table<version>(own).receive(comm, 1, &data, &size, &tag, &region, request);
  }
}

template <int version>
std::optional<NetTable> adapt(const void* symbol) {
  const Table<version>& own = table<version>(symbol);
  NetTable adapted;
  adapted.version = version;
  adapted.name = own.name;
  adapted.own = symbol;
  if constexpr (version < 8) adapted.most_region_bytes = INT32_MAX;
  if constexpr (version < 7) adapted.most_requests = 8;
  adapted.init = init<version>;
  adapted.devices = own.devices;
  adapted.properties = properties<version>;
  adapted.listen = listen<version>;
  adapted.connect = connect<version>;
  adapted.accept = accept<version>;
  adapted.register_memory = register_memory<version>;
  adapted.deregister_memory = own.deregister_memory;
  adapted.send = send<version>;
  adapted.receive = receive<version>;
  adapted.test = own.test;
  adapted.close_sender = own.close_sender;
  adapted.close_receiver = own.close_receiver;
  adapted.close_listener = own.close_listener;
  if constexpr (version >= 11)
    adapted.finalize = static_cast<const net_abi::LongTable<version>*>(symbol)->finalize;
  const bool complete = own.name != nullptr && own.init != nullptr && own.devices != nullptr &&
                        own.properties != nullptr && own.listen != nullptr && own.connect != nullptr &&
                        own.accept != nullptr && own.register_memory != nullptr &&
                        own.deregister_memory != nullptr && own.send != nullptr && own.receive != nullptr &&
                        own.test != nullptr && own.close_sender != nullptr && own.close_receiver != nullptr &&
                        own.close_listener != nullptr && (version < 11 || adapted.finalize != nullptr);
  if (!complete) return std::nullopt;
  return adapted;
}

}  // namespace

std::optional<NetTable> adapt_net_table(int version, const void* symbol) {
  switch (version) {
    case 5: return adapt<5>(symbol);
    case 6: return adapt<6>(symbol);
    case 7: return adapt<7>(symbol);
    case 8: return adapt<8>(symbol);
    case 9: return adapt<9>(symbol);
    case 10: return adapt<10>(symbol);
    case 11: return adapt<11>(symbol);
    case 12: return adapt<12>(symbol);
    default: return std::nullopt;
  }
}

}  // namespace weir::drivers
