// SPDX-License-Identifier: Apache-2.0

#include "src/drivers/net_plugin.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "src/base/log.h"
#include "src/base/text.h"
#include "src/drivers/plugin_file.h"

namespace weir::drivers {
namespace {

constexpr size_t kMostPlugins = 14;
constexpr int kMostDevices = 1024;
constexpr int kUnknownSpeed = 10000;  // Mbit/s, as NCCL assumes
constexpr std::string_view kKind = "net";

/// Plugins need not support initialization, device queries and finalization from several threads at once, and
/// communicators of one process share the plugin.
std::mutex& life_mutex() {
  static std::mutex mutex;
  return mutex;
}

/// The initialization state of a plugin in this process.
struct Life {
  bool begun = false;          ///< whether a plugin before version 11 is initialized; stays true
  unsigned contexts = 0;       ///< number of communicators' contexts of a plugin from version 11 on
  std::optional<void*> spare;  ///< the last context, kept while no communicator has one
};

/// The state of a plugin, identified by its table, whose memory is never unmapped. REQUIRES: life_mutex() is
/// held. Never destroyed, because it owns contexts.
Life& life_of(const NetTable& table) {
  static auto& lives = *new std::map<const void*, Life>;
  return lives[table.own];
}

bool share_port(const NetDevice& a, const NetDevice& b) {
  return a.port == b.port && (a.guid != 0 ? a.guid == b.guid : a.name == b.name);
}

void add_reason(std::string& reasons, std::string_view reason) {
  reasons += fmt::format("{}{}", reasons.empty() ? "" : "; ", reason);
}

}  // namespace

Result<std::unique_ptr<NetPlugin>> NetPlugin::load(const NetPluginSpec& spec) {
  const std::string fallback = default_plugin(kKind);
  std::vector<std::string_view> names = split_list(spec.plugins);
  if (names.empty()) names.push_back(fallback);
  if (names.size() > kMostPlugins) {
    WEIR_INFO(net, "NCCL_NET_PLUGIN has {} names; only the first {} are used", names.size(), kMostPlugins);
    names.resize(kMostPlugins);
  }
  if (std::ranges::any_of(names, [](std::string_view name) { return equals_ignoring_case(name, "none"); }))
    return Status(Code::invalid_usage, "NCCL_NET_PLUGIN=none disables net plugins");
  std::string reasons;
  for (const std::string_view name : names) {
    std::string missing;
    for (const std::string& file : plugin_files(kKind, name)) {
      Result<Library> library = open_plugin(file);
      if (!library.ok() && is_missing(library.status(), file)) {
        missing += fmt::format("{}{}", missing.empty() ? "" : ", ", file);
        continue;
      }
      Status failed = library.status();
      if (library.ok()) {
        auto plugin = start_newest(std::move(*library), file, spec);
        if (plugin.ok()) return plugin;
        failed = plugin.status();
      } else {
        failed =
            Status(failed.code(), fmt::format("net plugin {} cannot be loaded: {}", file, failed.message()));
      }
      WEIR_INFO(net, "{}", failed.message());
      missing.clear();
      add_reason(reasons, failed.message());
      break;
    }
    if (!missing.empty()) add_reason(reasons, fmt::format("could not find {}", missing));
  }
  return Status(Code::system_error, fmt::format("no net plugin: {}", reasons));
}

Result<std::unique_ptr<NetPlugin>> NetPlugin::start_newest(Library library, const std::string& file,
                                                           const NetPluginSpec& spec) {
  for (int version = kNewestNetVersion; version >= kOldestNetVersion; --version) {
    const std::string symbol = fmt::format("ncclNetPlugin_v{}", version);
    const void* const table = library.find_data(symbol.c_str());
    if (table == nullptr) continue;
    const std::optional<NetTable> adapted = adapt_net_table(version, table);
    if (!adapted) {
      return Status(Code::system_error,
                    fmt::format("net plugin {}: the table {} lacks a name or a function", file, symbol));
    }
    std::unique_ptr<NetPlugin> plugin(new NetPlugin(std::move(library), *adapted, file, spec.traffic_class));
    WEIR_TRY(plugin->start(spec));
    return plugin;
  }
  return Status(Code::system_error, fmt::format("net plugin {} exports none of ncclNetPlugin_v{} to _v{}",
                                                file, kOldestNetVersion, kNewestNetVersion));
}

Status NetPlugin::start(const NetPluginSpec& spec) {
  if (!spec.network.empty() && !equals_ignoring_case(spec.network, table_.name)) {
    return Status(Code::system_error,
                  fmt::format("net plugin {} provides the network \"{}\"; expected \"{}\" (NCCL_NET)", file_,
                              table_.name, spec.network));
  }
  const std::scoped_lock lock(life_mutex());
  WEIR_TRY(begin(spec.communicator));
  WEIR_TRY(find_rails());
  for (const NetDevice& device : rails_) {
    WEIR_INFO(net, "net plugin {} ({}, version {}): device {} {}, {:g} Gbit/s", table_.name, file_,
              table_.version, device.number, device.name, device.gigabits_per_s);
  }
  return {};
}

/// NCCL initialises plugins before version 11 only once, so they may refuse a second initialization. Later
/// versions have a context per communicator, but some cannot initialise again after the last context was
/// finalized; so the last context is finalized only after the next one is made.
Status NetPlugin::begin(uint64_t communicator) {
  Life& life = life_of(table_);
  const bool has_contexts = table_.finalize != nullptr;
  if (!has_contexts && life.begun) return {};
  WEIR_TRY(check(table_.init(table_.own, &context_, communicator, traffic_class_, log_of_plugin), "init"));
  life.begun = true;
  if (!has_contexts) return {};
  started_ = true;
  ++life.contexts;
  if (life.spare) finalize(*std::exchange(life.spare, std::nullopt));
  return {};
}

void NetPlugin::finalize(void* context) const {
  const Status ended = check(table_.finalize(context), "finalize");
  if (!ended.ok()) WEIR_INFO(net, "{}", ended.message());
}

Status NetPlugin::find_rails() {
  int count = 0;
  WEIR_TRY(check(table_.devices(&count), "devices"));
  if (count <= 0)
    return Status(Code::system_error,
                  fmt::format("net plugin {} ({}) reports no devices", table_.name, file_));
  for (int number = 0; number < std::min(count, kMostDevices); ++number) {
    NetProperties properties;
    NetDevice device;
    device.number = number;
    WEIR_TRY(check(table_.properties(table_.own, number, properties), "getProperties", &device));
    if ((properties.pointers & net_abi::kHostPointers) == 0 ||
        properties.device_type != net_abi::kPlainDevice) {
      WEIR_INFO(net, "net plugin {}: device {} {} is not used because it does not support host memory",
                table_.name, number, properties.name);
      continue;
    }
    device.name = properties.name;
    device.pci_path = properties.pci_path;
    device.guid = properties.guid;
    device.port = properties.port;
    device.gigabits_per_s = (properties.speed > 0 ? properties.speed : kUnknownSpeed) / 1000.0;
    device.latency_us = std::max(0.0, double{properties.latency_us});
    device.most_bytes = properties.most_bytes > 0 ? properties.most_bytes : NetProperties().most_bytes;
    if (std::ranges::none_of(rails_, [&](const NetDevice& other) { return share_port(device, other); }))
      rails_.push_back(std::move(device));
  }
  if (!rails_.empty()) return {};
  return Status(Code::system_error, fmt::format("net plugin {} ({}) has no device that supports host memory",
                                                table_.name, file_));
}

NetPlugin::~NetPlugin() {
  if (!started_) return;
  const std::scoped_lock lock(life_mutex());
  Life& life = life_of(table_);
  if (--life.contexts == 0) {
    life.spare = context_;
  } else {
    finalize(context_);
  }
}

Status NetPlugin::check(int result, const char* call, const NetDevice* device) const {
  if (result == 0) return {};
  const std::string where =
      device == nullptr ? "" : fmt::format(", device {} {}", device->number, device->name);
  return plugin_result(
      result, fmt::format("net plugin {} ({}, version {}){}", table_.name, file_, table_.version, where),
      call);
}

/// One end of a connection, with the memory registered at it.
class NetPlugin::Connection final : public MatchedConnection {
 public:
  Connection(const NetPlugin& plugin, const NetDevice& device, bool sends, void* comm)
      : plugin_(plugin), device_(device), sends_(sends), comm_(comm) {}

  ~Connection() override {
    const NetTable& table = plugin_.table_;
    if (region_ != nullptr) note(plugin_.check(table.deregister_memory(comm_, region_), "deregMr", &device_));
    note(sends_ ? plugin_.check(table.close_sender(comm_), "closeSend", &device_)
                : plugin_.check(table.close_receiver(comm_), "closeRecv", &device_));
  }

  Status enroll(std::byte* memory, size_t bytes) override {
    const NetTable& table = plugin_.table_;
    if (bytes > table.most_region_bytes) {
      return Status(Code::invalid_argument,
                    fmt::format("net plugin {}: cannot register {} bytes; version {} of the interface "
                                "supports at most {}. Set WEIR_SLOTS or WEIR_SLOT_BYTES lower",
                                table.name, bytes, table.version, table.most_region_bytes));
    }
    return plugin_.check(table.register_memory(table.own, comm_, memory, bytes, &region_), "regMr", &device_);
  }

  Result<void*> post(std::byte* data, size_t bytes) override {
    const NetTable& table = plugin_.table_;
    void* request = nullptr;
    const int result = sends_ ? table.send(table.own, comm_, data, bytes, 0, region_, &request)
                              : table.receive(table.own, comm_, data, bytes, 0, region_, &request);
    WEIR_TRY(plugin_.check(result, sends_ ? "isend" : "irecv", &device_));
    return request;
  }

  Result<bool> test(void* request, int& bytes) override {
    int done = 0;
    WEIR_TRY(plugin_.check(plugin_.table_.test(request, &done, &bytes), "test", &device_));
    return done != 0;
  }

  /// A request that a plugin reports as done needs no flush.
  Result<bool> flushed() override { return true; }

  unsigned most_requests() const override { return plugin_.table_.most_requests; }

 private:
  static void note(const Status& status) {
    if (!status.ok()) WEIR_INFO(net, "{}", status.message());
  }

  const NetPlugin& plugin_;
  const NetDevice& device_;
  const bool sends_;
  void* const comm_;
  void* region_ = nullptr;
};

/// The handle contains the plugin's state between calls, so its address must not change.
class NetPlugin::Connector final : public MatchedConnector {
 public:
  Connector(const NetPlugin& plugin, const NetDevice& device, BytesView handle)
      : plugin_(plugin), device_(device) {
    std::ranges::copy(handle, handle_.begin());
  }

  Result<std::unique_ptr<MatchedConnection>> connect() override {
    const NetTable& table = plugin_.table_;
    void* comm = nullptr;
    WEIR_TRY(plugin_.check(table.connect(table.own, plugin_.context_, device_.number, plugin_.traffic_class_,
                                         handle_.data(), &comm),
                           "connect", &device_));
    std::unique_ptr<MatchedConnection> connection;
    if (comm != nullptr) connection = std::make_unique<Connection>(plugin_, device_, true, comm);
    return connection;
  }

 private:
  const NetPlugin& plugin_;
  const NetDevice& device_;
  alignas(16) Handle handle_{};
};

class NetPlugin::Listener final : public MatchedListener {
 public:
  Listener(const NetPlugin& plugin, const NetDevice& device) : plugin_(plugin), device_(device) {}

  ~Listener() override {
    if (listener_ == nullptr) return;
    const Status closed = plugin_.check(plugin_.table_.close_listener(listener_), "closeListen", &device_);
    if (!closed.ok()) WEIR_INFO(net, "{}", closed.message());
  }

  Status open() {
    const NetTable& table = plugin_.table_;
    WEIR_TRY(
        plugin_.check(table.listen(table.own, plugin_.context_, device_.number, handle_.data(), &listener_),
                      "listen", &device_));
    if (listener_ != nullptr) return {};
    return Status(Code::internal_error,
                  fmt::format("net plugin {}, device {} {}: listen() succeeded but returned no listener",
                              table.name, device_.number, device_.name));
  }

  BytesView handle() const override { return handle_; }

  Result<std::unique_ptr<MatchedConnection>> accept() override {
    const NetTable& table = plugin_.table_;
    void* comm = nullptr;
    WEIR_TRY(plugin_.check(table.accept(table.own, listener_, &comm), "accept", &device_));
    std::unique_ptr<MatchedConnection> connection;
    if (comm != nullptr) connection = std::make_unique<Connection>(plugin_, device_, false, comm);
    return connection;
  }

 private:
  const NetPlugin& plugin_;
  const NetDevice& device_;
  alignas(16) Handle handle_{};
  void* listener_ = nullptr;
};

Result<std::unique_ptr<MatchedListener>> NetPlugin::listen(size_t rail) {
  auto listener = std::make_unique<Listener>(*this, rails_[rail]);
  WEIR_TRY(listener->open());
  return std::unique_ptr<MatchedListener>(std::move(listener));
}

Result<std::unique_ptr<MatchedConnector>> NetPlugin::connector(size_t rail, BytesView handle, BytesView) {
  if (handle.size() == net_abi::kHandleBytes)
    return std::unique_ptr<MatchedConnector>(std::make_unique<Connector>(*this, rails_[rail], handle));
  return Status(Code::remote_error, fmt::format("a handle of a net plugin has {} bytes; expected {}",
                                                handle.size(), net_abi::kHandleBytes));
}

}  // namespace weir::drivers
