#include "src/drivers/net_plugin.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <utility>

#include "src/base/log.h"
#include "src/base/text.h"

namespace weir::drivers {
namespace {

constexpr size_t kMostPlugins = 14;
constexpr int kMostDevices = 1024;
constexpr int kUnknownSpeed = 10000;  // Mbit/s, as NCCL takes it
constexpr std::string_view kDefault = "libnccl-net.so";

/// Starting, listing devices and ending are not for several threads at once, as NCCL has it; communicators of
/// one process share the plugin.
std::mutex& life_mutex() {
  static std::mutex mutex;
  return mutex;
}

/// A plugin's line goes into the log as if it were ours; flags are the bits of NCCL's subsystems, which are
/// those of Subsystem.
void log_line(int level, unsigned long flags, const char* place, int line, const char* format, ...) {
  constexpr int kWarn = 2, kInfo = 3, kTrace = 5;
  const auto on = [&](const std::atomic<uint32_t>& mask) {
    return (mask.load(std::memory_order_relaxed) & flags) != 0;
  };
  const bool wanted = level == kWarn || (level == kInfo && on(log_detail::info_mask)) ||
                      (level == kTrace && on(log_detail::trace_mask));
  if (!wanted || format == nullptr) return;
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  if (length < 0) return;
  const char* const from = place != nullptr ? place : "net plugin";
  if (level == kWarn) log_detail::warn(from, line, text);
  if (level == kInfo) log_detail::info(text);
  if (level == kTrace) log_detail::trace(from, line, text);
}

/// In the words of nccl.h.
std::string_view result_words(int result) {
  constexpr std::string_view kWords[] = {"success",        "device error",     "system or network error",
                                         "internal error", "invalid argument", "invalid usage",
                                         "remote error",   "in progress"};
  return result >= 0 && result < 8 ? kWords[result] : "unknown result";
}

/// The files that a name of NCCL_NET_PLUGIN may mean.
std::vector<std::string> files_of(std::string_view name) {
  std::vector<std::string> files{std::string(name)};
  const bool is_file =
      name.find('/') != std::string_view::npos || (name.starts_with("lib") && name.ends_with(".so"));
  if (name == kDefault) files.emplace_back("librccl-net.so");
  if (is_file) return files;
  for (const char* prefix : {"libnccl-net-", "librccl-net-"})
    files.push_back(fmt::format("{}{}.so", prefix, name));
  return files;
}

Result<Library> open_library(const std::string& file) {
  return equals_ignoring_case(file, "STATIC_PLUGIN") ? Library::open_program()
                                                     : Library::open_for_good(file.c_str());
}

/// The file itself, not one that it needs.
bool is_missing(const Status& status, const std::string& file) {
  return status.message().starts_with(file) && status.message().find("No such file") != std::string::npos;
}

void add_reason(std::string& reasons, std::string_view reason) {
  reasons += fmt::format("{}{}", reasons.empty() ? "" : "; ", reason);
}

}  // namespace

Result<std::unique_ptr<NetPlugin>> NetPlugin::load(const NetPluginSpec& spec) {
  std::vector<std::string_view> names = split_list(spec.plugins);
  if (names.empty()) names.push_back(kDefault);
  if (names.size() > kMostPlugins) {
    WEIR_INFO(net, "NCCL_NET_PLUGIN has {} names; the first {} count", names.size(), kMostPlugins);
    names.resize(kMostPlugins);
  }
  if (std::ranges::any_of(names, [](std::string_view name) { return equals_ignoring_case(name, "none"); }))
    return Status(Code::invalid_usage, "NCCL_NET_PLUGIN=none forbids net plugins");
  const std::scoped_lock lock(life_mutex());
  std::string reasons;
  for (const std::string_view name : names) {
    std::string missing;
    for (const std::string& file : files_of(name)) {
      Result<Library> library = open_library(file);
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
                    fmt::format("net plugin {} has a {} that lacks a name or a function", file, symbol));
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
                  fmt::format("net plugin {} brings the network \"{}\", and \"{}\" is asked for (NCCL_NET)",
                              file_, table_.name, spec.network));
  }
  WEIR_TRY(check(table_.init(table_.own, &context_, spec.communicator, traffic_class_, log_line), "init"));
  started_ = true;
  WEIR_TRY(find_devices());
  for (const NetDevice& device : devices_) {
    WEIR_INFO(net, "net plugin {} ({}, version {}): device {} {}, {:g} Gbit/s", table_.name, file_,
              table_.version, device.number, device.name, device.gigabits_per_s);
  }
  return {};
}

Status NetPlugin::find_devices() {
  int count = 0;
  WEIR_TRY(check(table_.devices(&count), "devices"));
  if (count <= 0)
    return Status(Code::system_error, fmt::format("net plugin {} ({}) has no device", table_.name, file_));
  for (int number = 0; number < std::min(count, kMostDevices); ++number) {
    NetProperties properties;
    NetDevice device;
    device.number = number;
    WEIR_TRY(check(table_.properties(table_.own, number, properties), "getProperties", &device));
    if ((properties.pointers & net_abi::kHostPointers) == 0 ||
        properties.device_type != net_abi::kPlainDevice) {
      WEIR_INFO(net, "net plugin {}: device {} {} is not used, since it does not take host memory",
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
    devices_.push_back(std::move(device));
  }
  if (!devices_.empty()) return {};
  return Status(Code::system_error,
                fmt::format("net plugin {} ({}) has no device for host memory", table_.name, file_));
}

NetPlugin::~NetPlugin() {
  if (!started_ || table_.finalize == nullptr) return;
  const Status ended = check(table_.finalize(context_), "finalize");
  if (!ended.ok()) WEIR_INFO(net, "{}", ended.message());
}

Status NetPlugin::check(int result, const char* call, const NetDevice* device) const {
  if (result == 0) return {};
  const bool known = result > 0 && result <= static_cast<int>(Code::remote_error);
  const std::string where =
      device == nullptr ? "" : fmt::format(", device {} {}", device->number, device->name);
  return Status(known ? static_cast<Code>(result) : Code::internal_error,
                fmt::format("net plugin {} ({}, version {}){}: {} failed with result {} ({})", table_.name,
                            file_, table_.version, where, call, result, result_words(result)));
}

NetConnection::NetConnection(NetConnection&& other) noexcept
    : plugin_(other.plugin_),
      device_(other.device_),
      side_(other.side_),
      comm_(std::exchange(other.comm_, nullptr)),
      region_(std::exchange(other.region_, nullptr)) {}

NetConnection::~NetConnection() {
  if (comm_ == nullptr) return;
  const NetTable& table = plugin_->table_;
  Status closed;
  if (region_ != nullptr)
    closed = plugin_->check(table.deregister_memory(comm_, region_), "deregMr", device_);
  if (!closed.ok()) WEIR_INFO(net, "{}", closed.message());
  closed = side_ == Side::sender ? plugin_->check(table.close_sender(comm_), "closeSend", device_)
                                 : plugin_->check(table.close_receiver(comm_), "closeRecv", device_);
  if (!closed.ok()) WEIR_INFO(net, "{}", closed.message());
}

Status NetConnection::enroll(std::byte* memory, size_t bytes) {
  const NetTable& table = plugin_->table_;
  if (bytes > table.most_region_bytes) {
    return Status(
        Code::invalid_argument,
        fmt::format("net plugin {}: {} bytes were to be registered; version {} takes at most {}. Set "
                    "WEIR_SLOTS or WEIR_SLOT_BYTES lower",
                    table.name, bytes, table.version, table.most_region_bytes));
  }
  return plugin_->check(table.register_memory(table.own, comm_, memory, bytes, &region_), "regMr", device_);
}

Result<void*> NetConnection::post(std::byte* data, size_t bytes) {
  const NetTable& table = plugin_->table_;
  void* request = nullptr;
  const bool sends = side_ == Side::sender;
  const int result = sends ? table.send(table.own, comm_, data, bytes, 0, region_, &request)
                           : table.receive(table.own, comm_, data, bytes, 0, region_, &request);
  WEIR_TRY(plugin_->check(result, sends ? "isend" : "irecv", device_));
  return request;
}

Result<bool> NetConnection::test(void* request, int& bytes) {
  int done = 0;
  WEIR_TRY(plugin_->check(plugin_->table_.test(request, &done, &bytes), "test", device_));
  return done != 0;
}

unsigned NetConnection::most_requests() const { return plugin_->table_.most_requests; }

Result<std::optional<NetConnection>> NetConnector::connect() {
  const NetTable& table = plugin_->table_;
  void* comm = nullptr;
  WEIR_TRY(plugin_->check(table.connect(table.own, plugin_->context_, device_->number,
                                        plugin_->traffic_class_, handle_->data(), &comm),
                          "connect", device_));
  std::optional<NetConnection> connection;
  if (comm != nullptr) connection.emplace(*plugin_, *device_, NetConnection::Side::sender, comm);
  return connection;
}

Result<NetListener> NetListener::open(const NetPlugin& plugin, const NetDevice& device) {
  NetListener made(plugin, device);
  const NetTable& table = plugin.table_;
  WEIR_TRY(plugin.check(
      table.listen(table.own, plugin.context_, device.number, made.handle_.data(), &made.listener_), "listen",
      &device));
  if (made.listener_ != nullptr) return made;
  return Status(Code::internal_error,
                fmt::format("net plugin {}, device {} {}: listen gave nothing to accept from", table.name,
                            device.number, device.name));
}

NetListener::NetListener(NetListener&& other) noexcept
    : plugin_(other.plugin_),
      device_(other.device_),
      handle_(other.handle_),
      listener_(std::exchange(other.listener_, nullptr)) {}

NetListener::~NetListener() {
  if (listener_ == nullptr) return;
  const Status closed = plugin_->check(plugin_->table_.close_listener(listener_), "closeListen", device_);
  if (!closed.ok()) WEIR_INFO(net, "{}", closed.message());
}

Result<std::optional<NetConnection>> NetListener::accept() {
  const NetTable& table = plugin_->table_;
  void* comm = nullptr;
  WEIR_TRY(plugin_->check(table.accept(table.own, listener_, &comm), "accept", device_));
  std::optional<NetConnection> connection;
  if (comm != nullptr) connection.emplace(*plugin_, *device_, NetConnection::Side::receiver, comm);
  return connection;
}

}  // namespace weir::drivers
