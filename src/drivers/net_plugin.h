// SPDX-License-Identifier: Apache-2.0
/// Net plugins of NCCL: shared objects that bring a network, loaded as NCCL does.
///
/// Order of life: a NetPlugin; the receiving side listens on a device; the handle goes to the sending side,
/// by whatever way; there connect() and here accept() are called in turn until both gave a connection; memory
/// is enrolled per connection; requests are posted and tested. Nothing blocks. What was made from a plugin is
/// destroyed before it.
///
/// Errors carry the code that the plugin gave, and a sentence that names plugin, device and call.
///
/// Thread safety: objects of one plugin may be used by several threads at once, each object by one at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/drivers/library.h"
#include "src/drivers/matched.h"
#include "src/drivers/net_plugin_table.h"
#include "weir/status.h"

namespace weir::drivers {

struct NetPluginSpec {
  std::string
      plugins;  ///< list with commas, as NCCL_NET_PLUGIN has it; empty: libnccl-net.so if there is one
  std::string network;        ///< the name it must have, in any case; empty: any
  uint64_t communicator = 0;  ///< told to plugins from version 11 on
  int traffic_class = net_abi::kNoTrafficClass;
};

/// A device that can send and receive host memory.
struct NetDevice {
  int number = 0;  ///< of the plugin
  std::string name;
  std::string pci_path;  ///< may be empty
  uint64_t guid = 0;
  int port = 0;
  double gigabits_per_s = 0;
  double latency_us = 0;  ///< 0: the plugin does not say
  size_t most_bytes = 0;  ///< of one request
};

class NetPlugin final : public MatchedNetwork {
 public:
  /// The first of the listed plugins that can be loaded, is called as wanted, and has a device. system_error
  /// where there is none; the sentence has a reason for each. A plugin's code stays in the process for good:
  /// its threads may outlive it. So does what a plugin before version 11 has begun, once for all
  /// communicators, and the last context of a later one, until the next begins.
  static Result<std::unique_ptr<NetPlugin>> load(const NetPluginSpec& spec);
  NetPlugin(const NetPlugin&) = delete;
  ~NetPlugin() override;

  std::string_view network() const { return table_.name; }
  int version() const { return table_.version; }
  /// A device that shares its port with no earlier one: a plugin may list one NIC once per address.
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
  /// Success, or what the plugin's result of `call` means.
  Status check(int result, const char* call, const NetDevice* device = nullptr) const;

  Library library_;
  NetTable table_;
  std::string file_;
  int traffic_class_;
  void* context_ = nullptr;
  bool started_ = false;  // context_ is of this communicator
  std::vector<NetDevice> rails_;
};

}  // namespace weir::drivers
