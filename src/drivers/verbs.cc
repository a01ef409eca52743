// SPDX-License-Identifier: Apache-2.0

#include "src/drivers/verbs.h"

#include <fmt/format.h>

#include "src/drivers/files.h"
#include "src/drivers/library.h"

#ifdef WEIR_HAS_VERBS

#include <fcntl.h>
#include <net/if.h>

#include <algorithm>
#include <cstring>

#include "src/drivers/verbs_device.h"

// The macro would call the function by name; this file calls it through the table.
#undef ibv_query_port

namespace weir::drivers {
namespace {

/// The speed of one lane in Gbit/s, from the bit that the port reports.
double lane_speed(uint8_t active) {
  switch (active) {
    case 1: return 2.5;
    case 2: return 5;
    case 4: return 10;
    case 8: return 10;
    case 16: return 14;
    case 32: return 25;
    case 64: return 50;
    case 128: return 100;
    default: return 0;
  }
}

int lanes_of(uint8_t active) {
  switch (active) {
    case 1: return 1;
    case 2: return 4;
    case 4: return 8;
    case 8: return 12;
    case 16: return 2;
    default: return 1;
  }
}

VerbsGid gid_of(const ibv_gid_entry& entry) {
  VerbsGid gid;
  gid.index = static_cast<int>(entry.gid_index);
  gid.kind = entry.gid_type == IBV_GID_TYPE_ROCE_V2   ? VerbsGid::Kind::roce_v2
             : entry.gid_type == IBV_GID_TYPE_ROCE_V1 ? VerbsGid::Kind::roce_v1
                                                      : VerbsGid::Kind::infiniband;
  std::memcpy(gid.bytes.data(), entry.gid.raw, gid.bytes.size());
  char name[IF_NAMESIZE] = {};
  if (entry.ndev_ifindex != 0 && if_indextoname(entry.ndev_ifindex, name) != nullptr) gid.interface = name;
  return gid;
}

class Region final : public VerbsRegion {
 public:
  explicit Region(VerbsOwned<ibv_mr> region) : region_(std::move(region)) {}
  uint32_t local_key() const override { return region_->lkey; }
  uint32_t remote_key() const override { return region_->rkey; }

 private:
  const VerbsOwned<ibv_mr> region_;
};

VerbsEvent event_of(const ibv_async_event& event, const VerbsTable& table) {
  VerbsEvent told;
  told.text = table.event_type_str(event.event_type);
  switch (event.event_type) {
    case IBV_EVENT_PORT_ERR: told.kind = VerbsEvent::Kind::port_down; break;
    case IBV_EVENT_PORT_ACTIVE: told.kind = VerbsEvent::Kind::port_up; break;
    case IBV_EVENT_DEVICE_FATAL: told.kind = VerbsEvent::Kind::device_lost; break;
    default: return told;
  }
  if (told.kind != VerbsEvent::Kind::device_lost) told.port = static_cast<uint8_t>(event.element.port_num);
  return told;
}

/// The device's pacing range for reliable queue pairs. A device that does not support the query cannot pace.
VerbsPacing pacing_of(ibv_context& context) {
  const verbs_context* const asked = verbs_get_ctx_op(&context, query_device_ex);
  ibv_device_attr_ex attributes{};
  if (asked == nullptr || asked->query_device_ex(&context, nullptr, &attributes, sizeof attributes) != 0)
    return {};
  const ibv_packet_pacing_caps& caps = attributes.packet_pacing_caps;
  if ((caps.supported_qpts & 1u << IBV_QPT_RC) == 0) return {};
  return {.least = caps.qp_rate_limit_min, .most = caps.qp_rate_limit_max};
}

/// The loaded library.
class Loaded final : public Verbs {
 public:
  Loaded(Library library, const VerbsTable& table) : library_(std::move(library)), table_(table) {}

  Result<std::vector<VerbsPort>> ports() override {
    std::vector<VerbsPort> ports;
    Status trouble;
    for_each_device([&](ibv_device* device) {
      if (Status read = read_ports(device, ports); !read.ok()) trouble = std::move(read);
    });
    // A device that cannot be opened must not hide the others.
    if (ports.empty() && !trouble.ok()) return trouble;
    return ports;
  }

  Result<std::unique_ptr<VerbsDevice>> open(const std::string& name) override {
    Result<std::unique_ptr<VerbsDevice>> opened =
        Status(Code::system_error, fmt::format("RDMA device {} does not exist any more", name));
    for_each_device([&](ibv_device* device) {
      if (name == table_.get_device_name(device)) opened = OpenedVerbsDevice::open(table_, device);
    });
    return opened;
  }

 private:
  template <typename Visit>
  void for_each_device(Visit visit) {
    int count = 0;
    ibv_device** list = table_.get_device_list(&count);
    for (int i = 0; list != nullptr && i < count; ++i) visit(list[i]);
    if (list != nullptr) table_.free_device_list(list);
  }

  Status read_ports(ibv_device* device, std::vector<VerbsPort>& ports) {
    const std::string name = table_.get_device_name(device);
    const VerbsOwned<ibv_context> context(table_.open_device(device), {&table_});
    if (context == nullptr) return verbs_error(name, "be opened", errno);
    ibv_device_attr attributes{};
    if (const int error = table_.query_device(context.get(), &attributes); error != 0)
      return verbs_error(name, "return its attributes", error);
    const ssize_t most = std::max<ssize_t>(1, attributes.phys_port_cnt) * 256;
    std::vector<ibv_gid_entry> gids(static_cast<size_t>(most));
    const ssize_t known =
        table_.query_gid_table(context.get(), gids.data(), gids.size(), 0, sizeof(ibv_gid_entry));
    gids.resize(known > 0 ? static_cast<size_t>(known) : 0);
    for (uint8_t number = 1; number <= attributes.phys_port_cnt; ++number) {
      ibv_port_attr port{};
      // The older, shorter structure is the beginning of this one.
      if (const int error =
              table_.query_port(context.get(), number, reinterpret_cast<_compat_ibv_port_attr*>(&port));
          error != 0)
        return verbs_error(name, "return the attributes of its port", error);
      VerbsPort& told = ports.emplace_back();
      told.device = name;
      told.number = number;
      told.ethernet = port.link_layer == IBV_LINK_LAYER_ETHERNET;
      told.active = port.state == IBV_PORT_ACTIVE;
      told.gigabits_per_s = lane_speed(port.active_speed) * lanes_of(port.active_width);
      told.mtu = 128u << port.active_mtu;
      told.most_bytes = port.max_msg_sz;
      told.lid = port.lid;
      for (const ibv_gid_entry& gid : gids) {
        if (gid.port_num == number) told.gids.push_back(gid_of(gid));
      }
    }
    return {};
  }

  const Library library_;
  const VerbsTable table_;
};

}  // namespace

Result<std::unique_ptr<VerbsDevice>> OpenedVerbsDevice::open(const VerbsTable& table, ibv_device* device) {
  const std::string name = table.get_device_name(device);
  VerbsOwned<ibv_context> context(table.open_device(device), {&table});
  if (context == nullptr) return verbs_error(name, "be opened", errno);
  const int flags = fcntl(context->async_fd, F_GETFL);
  if (flags < 0 || fcntl(context->async_fd, F_SETFL, flags | O_NONBLOCK) != 0)
    return verbs_error(name, "report asynchronous events", errno);
  ibv_device_attr attributes{};
  if (const int error = table.query_device(context.get(), &attributes); error != 0)
    return verbs_error(name, "return its attributes", error);
  VerbsOwned<ibv_pd> domain(table.alloc_pd(context.get()), {&table});
  if (domain == nullptr) return verbs_error(name, "allocate a protection domain", errno);
  const auto most = static_cast<uint32_t>(std::min(attributes.max_qp_wr, attributes.max_cqe / 2));
  const VerbsPacing pacing = pacing_of(*context);
  return std::unique_ptr<VerbsDevice>(
      new OpenedVerbsDevice(table, name, std::move(context), std::move(domain), most, pacing));
}

Result<std::unique_ptr<VerbsRegion>> OpenedVerbsDevice::enroll(std::byte* memory, size_t bytes) {
  VerbsOwned<ibv_mr> region(
      table_.reg_mr(domain_.get(), memory, bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
      {&table_});
  if (region != nullptr) return std::unique_ptr<VerbsRegion>(std::make_unique<Region>(std::move(region)));
  const int error = errno;
  const Status refused = verbs_error(name_, "register memory", error);
  if (error != ENOMEM && error != EPERM) return refused;
  return Status(Code::system_error,
                fmt::format("{}; this process must be allowed to lock {} more bytes (ulimit -l)",
                            refused.message(), bytes));
}

Result<std::unique_ptr<VerbsRegion>> OpenedVerbsDevice::enroll_file(int file, std::byte* memory,
                                                                    size_t bytes) {
  if (table_.reg_dmabuf_mr == nullptr)
    return Status(Code::system_error, fmt::format("RDMA device {} cannot register a dmabuf: libibverbs.so.1 "
                                                  "lacks ibv_reg_dmabuf_mr; expected rdma-core 34 or newer",
                                                  name_));
  VerbsOwned<ibv_mr> region(table_.reg_dmabuf_mr(domain_.get(), 0, bytes, reinterpret_cast<uintptr_t>(memory),
                                                 file, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
                            {&table_});
  if (region == nullptr) return verbs_error(name_, "register a dmabuf", errno);
  return std::unique_ptr<VerbsRegion>(std::make_unique<Region>(std::move(region)));
}

Result<std::unique_ptr<VerbsPair>> OpenedVerbsDevice::make_pair(const VerbsPairSpec& spec) {
  if (spec.sends > most_requests_ || spec.receives > most_requests_) {
    return Status(Code::invalid_argument,
                  fmt::format("RDMA device {} supports {} requests per queue pair, but {} are needed; set "
                              "fewer slots with WEIR_SLOTS",
                              name_, most_requests_, std::max(spec.sends, spec.receives)));
  }
  return make_verbs_pair(table_, name_, *context_, *domain_, spec, pacing_);
}

std::optional<VerbsEvent> OpenedVerbsDevice::next_event() {
  const std::lock_guard lock(events_);
  ibv_async_event event{};
  if (table_.get_async_event(context_.get(), &event) != 0) return std::nullopt;
  VerbsEvent told = event_of(event, table_);
  table_.ack_async_event(&event);
  return told;
}

Result<std::unique_ptr<Verbs>> load_verbs() {
  // Checked first: without a device there is no need to load the library.
  const auto devices = list_folder("/sys/class/infiniband");
  if (!devices.ok() || devices->empty())
    return Status(Code::system_error,
                  "this host has no RDMA device (/sys/class/infiniband is empty or missing)");
  Result<Library> library = Library::open("libibverbs.so.1");
  if (!library.ok())
    return Status(Code::system_error,
                  fmt::format("this host has RDMA devices, but libibverbs cannot be loaded: {}",
                              library.status().message()));
  VerbsTable table{};
  if (const char* missing = table.find_in(*library); missing != nullptr)
    return Status(Code::system_error,
                  fmt::format("libibverbs.so.1 lacks {}; expected rdma-core 32 (2020) or newer", missing));
  return std::unique_ptr<Verbs>(std::make_unique<Loaded>(std::move(*library), table));
}

}  // namespace weir::drivers

#else

namespace weir::drivers {

Result<std::unique_ptr<Verbs>> load_verbs() {
  return Status(Code::system_error,
                "this build of weir cannot use RDMA devices: it was built without libibverbs' headers");
}

}  // namespace weir::drivers

#endif
