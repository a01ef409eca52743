// SPDX-License-Identifier: Apache-2.0

#include "transports/verbs/rails.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/clock.h"
#include "src/base/log.h"

namespace weir::verbs {
namespace {

constexpr int64_t kLookEveryNs = 10'000'000;

PortAddress address_of(const UsedPort& used) {
  const drivers::VerbsGid& gid = used.choice.gid;
  return {.name = used.port.name(),
          .ethernet = used.port.ethernet,
          .routable = gid.kind == drivers::VerbsGid::Kind::roce_v2,
          .lid = used.port.lid,
          .mtu = used.port.mtu,
          .network_bits = network_bits(gid),
          .gigabits_per_s = used.port.gigabits_per_s,
          .gid = gid.bytes};
}

/// Marks the rails near the GPU if only some are.
void mark_near(std::vector<std::unique_ptr<Rail>>& rails, const NearestPorts& nearest) {
  if (rails.size() < 2 || !nearest) return;
  const std::vector<std::string> names = nearest();
  for (const auto& rail : rails) {
    rail->address.near = std::ranges::any_of(names, [&](const std::string& name) {
      return name == rail->used.port.device || name == rail->address.name;
    });
    if (rail->address.near) WEIR_INFO(net, "RDMA port {} is near the GPU", rail->address.text());
  }
}

}  // namespace

Result<std::unique_ptr<Rails>> Rails::open(drivers::Verbs& verbs, const Options& options,
                                           const NearestPorts& nearest) {
  Result<std::vector<drivers::VerbsPort>> found = verbs.ports();
  WEIR_TRY(found.status());
  PortChoice choice = choose_ports(std::move(*found), options);
  auto made = std::make_unique<Rails>();
  for (UsedPort& used : choice.used) {
    std::unique_ptr<drivers::VerbsDevice>& device = made->devices_[used.port.device];
    if (device == nullptr) {
      auto opened = verbs.open(used.port.device);
      if (!opened.ok()) {
        choice.left_out.push_back(fmt::format("{}: {}", used.port.name(), opened.status().message()));
        continue;
      }
      device = std::move(*opened);
    }
    auto rail = std::make_unique<Rail>();
    rail->address = address_of(used);
    rail->used = std::move(used);
    rail->device = device.get();
    WEIR_INFO(net, "RDMA port {}, {:g} Gbit/s, uses GID {}: {}", rail->address.text(),
              rail->address.gigabits_per_s, rail->used.choice.gid.index, rail->used.choice.why);
    made->rails_.push_back(std::move(rail));
  }
  std::string why;
  for (const std::string& sentence : choice.left_out) {
    WEIR_INFO(net, "RDMA port {}", sentence);
    why += fmt::format("{}{}", why.empty() ? "" : "; ", sentence);
  }
  mark_near(made->rails_, nearest);
  if (made->rails_.empty())
    return Status(Code::system_error, fmt::format("no usable RDMA port on this host: {}", why));
  return made;
}

std::vector<PortAddress> Rails::addresses() const {
  std::vector<PortAddress> addresses;
  for (const auto& rail : rails_) addresses.push_back(rail->address);
  return addresses;
}

void Rails::look() {
  const int64_t now = now_ns();
  int64_t before = looked_.load(std::memory_order_relaxed);
  if (now - before < kLookEveryNs || !looked_.compare_exchange_strong(before, now)) return;
  for (const auto& [name, device] : devices_) {
    while (const auto event = device == nullptr ? std::nullopt : device->next_event()) note(name, *event);
  }
}

void Rails::note(const std::string& device, const drivers::VerbsEvent& event) {
  using Kind = drivers::VerbsEvent::Kind;
  if (event.kind == Kind::other) {
    WEIR_INFO(net, "RDMA device {} reports: {}", device, event.text);
    return;
  }
  for (const auto& rail : rails_) {
    if (rail->used.port.device != device || (event.port != 0 && event.port != rail->used.port.number))
      continue;
    rail->down = event.kind != Kind::port_up;
    if (event.kind == Kind::device_lost) rail->lost = true;
    if (event.kind == Kind::port_up) {
      WEIR_INFO(net, "RDMA port {} is up again", rail->address.text());
    } else {
      WEIR_WARN("RDMA port {} is down ({})", rail->address.text(), event.text);
    }
  }
}

}  // namespace weir::verbs
