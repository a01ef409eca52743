// SPDX-License-Identifier: Apache-2.0
/// NCCL net plugins: shared objects that implement a network, loaded as NCCL loads them.
///
/// Order of use: make a NetPlugin; the receiving side listens on a device and sends the handle to the sending
/// side by any means; the sender calls connect() and the receiver accept() repeatedly until both return a
/// connection; memory is enrolled per connection; requests are posted and tested. No call blocks. Objects
/// made from a plugin are destroyed before the plugin.
///
/// Errors have the code that the plugin returned, and a message that names plugin, device and call.
///
/// Thread safety: objects of one plugin may be used by several threads at once, each object by one at a time.
/// Tests: tests/transports/net_plugin_test.cc
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/drivers/library.h"
#include "src/drivers/matched.h"
#include "src/drivers/net_plugin_table.h"

namespace weir::drivers {

struct NetPluginSpec {
  std::string plugins;  ///< comma-separated list, as in NCCL_NET_PLUGIN; empty: libnccl-net.so if it exists
  std::string network;  ///< required name of the network, ignoring case; empty: any
  uint64_t communicator = 0;  ///< identifier passed to plugins from version 11 on
  int traffic_class = net_abi::kNoTrafficClass;
};

/// A device that can send and receive host memory.
struct NetDevice {
  int number = 0;  ///< the plugin's number of the device
  std::string name;
  std::string pci_path;  ///< sysfs path of the PCI device; may be empty
  uint64_t guid = 0;
  int port = 0;
  double gigabits_per_s = 0;
  double latency_us = 0;  ///< latency; 0: the plugin does not report it
  size_t most_bytes = 0;  ///< maximum size of one request
};

class NetPlugin final : public MatchedNetwork {
 public:
  /// Loads the first of the listed plugins that can be loaded, provides the wanted network and has a usable
  /// device. system_error if there is none; the message has a reason for each plugin. A plugin's code stays
  /// in the process permanently, because its threads may outlive the object. A plugin before version 11 also
  /// stays initialized, once for all communicators; of a later one the last context is kept until the next
  /// one is made.
  static Result<std::unique_ptr<NetPlugin>> load(const NetPluginSpec& spec);
  NetPlugin(const NetPlugin&) = delete;
  ~NetPlugin() override;

  std::string_view network() const { return table_.name; }
  int version() const { return table_.version; }
  /// Rail `number`: a device that shares its port with no earlier device. A plugin may list one NIC several
  /// times, once per address.
  const NetDevice& rail(size_t number) const { return rails_[number]; }

  size_t rails() const override { return rails_.size(); }
  std::string rail_text(size_t rail) const override { return "device " + rails_[rail].name; }
  size_t most_bytes(size_t rail) const override { return rails_[rail].most_bytes; }
  Result<std::unique_ptr<MatchedListener>> listen(size_t rail) override;
  Result<std::unique_ptr<MatchedConnector>> connector(size_t rail, BytesView handle,
                                                      BytesView address) override;

 private:
  using Handle = std::array<std::byte, net_abi::kHandleBytes>;
  class Connection;
  class Connector;
  class Listener;

  NetPlugin(Library library, const NetTable& table, std::string file, int traffic_class)
      : library_(std::move(library)), table_(table), file_(std::move(file)), traffic_class_(traffic_class) {}
  static Result<std::unique_ptr<NetPlugin>> start_newest(Library library, const std::string& file,
                                                         const NetPluginSpec& spec);
  Status start(const NetPluginSpec& spec);
  Status begin(uint64_t communicator);
  void finalize(void* context) const;
  Status find_rails();
  /// Converts the plugin's result of `call` to a Status.
  Status check(int result, const char* call, const NetDevice* device = nullptr) const;

  Library library_;
  NetTable table_;
  std::string file_;
  int traffic_class_;
  void* context_ = nullptr;
  bool started_ = false;  // true if context_ belongs to this communicator
  std::vector<NetDevice> rails_;
};

}  // namespace weir::drivers
