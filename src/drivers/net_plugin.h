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
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/drivers/library.h"
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

using NetHandle = std::array<std::byte, net_abi::kHandleBytes>;

class NetPlugin;

/// One end of a connection, with the memory enrolled at it. Closes on destruction; with requests under way
/// the plugin decides what becomes of them.
class NetConnection {
 public:
  enum class Side : uint8_t { sender, receiver };

  NetConnection(const NetPlugin& plugin, const NetDevice& device, Side side, void* comm)
      : plugin_(&plugin), device_(&device), side_(side), comm_(comm) {}
  NetConnection(NetConnection&& other) noexcept;
  NetConnection& operator=(NetConnection&&) = delete;
  ~NetConnection();

  /// Once. The memory outlives the connection.
  Status enroll(std::byte* memory, size_t bytes);
  /// Posts a request for bytes of the enrolled memory; null: not now, call again. Sends match receives in the
  /// order of posting; a receive may be longer than its send.
  Result<void*> post(std::byte* data, size_t bytes);
  /// Whether a request is done; true once, then it is gone. `bytes` stays where the plugin does not tell.
  Result<bool> test(void* request, int& bytes);

  const NetDevice& device() const { return *device_; }
  /// Requests that may be under way at once.
  unsigned most_requests() const;

 private:
  const NetPlugin* plugin_;
  const NetDevice* device_;
  Side side_;
  void* comm_;
  void* region_ = nullptr;
};

/// The way to a NetListener. The handle keeps the plugin's state between calls: it stays where it is.
class NetConnector {
 public:
  NetConnector(const NetPlugin& plugin, const NetDevice& device, const NetHandle& handle)
      : plugin_(&plugin), device_(&device), handle_(std::make_unique<NetHandle>(handle)) {}

  /// Nothing: call again.
  Result<std::optional<NetConnection>> connect();

 private:
  const NetPlugin* plugin_;
  const NetDevice* device_;
  std::unique_ptr<NetHandle> handle_;
};

class NetListener {
 public:
  static Result<NetListener> open(const NetPlugin& plugin, const NetDevice& device);
  NetListener(NetListener&& other) noexcept;
  NetListener& operator=(NetListener&&) = delete;
  ~NetListener();

  const NetHandle& handle() const { return handle_; }
  /// The next connection. Nothing: call again.
  Result<std::optional<NetConnection>> accept();

 private:
  NetListener(const NetPlugin& plugin, const NetDevice& device) : plugin_(&plugin), device_(&device) {}

  const NetPlugin* plugin_;
  const NetDevice* device_;
  NetHandle handle_{};
  void* listener_ = nullptr;
};

class NetPlugin {
 public:
  /// The first of the listed plugins that can be loaded, is called as wanted, and has a device. system_error
  /// where there is none; the sentence has a reason for each. A plugin's code stays in the process for good:
  /// its threads may outlive it.
  static Result<std::unique_ptr<NetPlugin>> load(const NetPluginSpec& spec);
  NetPlugin(const NetPlugin&) = delete;
  ~NetPlugin();

  std::string_view network() const { return table_.name; }
  int version() const { return table_.version; }
  /// At least one.
  std::span<const NetDevice> devices() const { return devices_; }

 private:
  friend NetConnection;
  friend NetConnector;
  friend NetListener;

  NetPlugin(Library library, const NetTable& table, std::string file, int traffic_class)
      : library_(std::move(library)), table_(table), file_(std::move(file)), traffic_class_(traffic_class) {}
  static Result<std::unique_ptr<NetPlugin>> start_newest(Library library, const std::string& file,
                                                         const NetPluginSpec& spec);
  Status start(const NetPluginSpec& spec);
  Status find_devices();
  /// Success, or what the plugin's result of `call` means.
  Status check(int result, const char* call, const NetDevice* device = nullptr) const;

  Library library_;
  NetTable table_;
  std::string file_;
  int traffic_class_;
  void* context_ = nullptr;
  bool started_ = false;
  std::vector<NetDevice> devices_;
};

}  // namespace weir::drivers
