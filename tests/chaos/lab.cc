// SPDX-License-Identifier: Apache-2.0

#include "tests/chaos/lab.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace weir::testing {
namespace {

/// Of this process, so that two runs do not meet.
std::string name_of(int host) { return fmt::format("chaos{}-{}", getpid(), host); }

// The bridge is in a namespace of its own: nothing of it shows on the machine.
std::string switch_name() { return fmt::format("chaos{}-switch", getpid()); }

bool call(const std::string& arguments) {
  return std::system(("ip " + arguments + " 2>/dev/null").c_str()) == 0;
}

}  // namespace

Result<std::unique_ptr<Lab>> Lab::build() {
  if (geteuid() != 0) return Status(Code::system_error, "network namespaces need root");
  std::unique_ptr<Lab> lab(new Lab());
  const std::string middle = switch_name();
  bool well = call("netns add " + middle) && call("-n " + middle + " link add bridge type bridge") &&
              call("-n " + middle + " link set bridge up");
  for (int host = 0; host < kHosts && well; ++host) {
    const std::string name = name_of(host);
    well = call("netns add " + name) && call("-n " + name + " link set lo up") &&
           call(fmt::format("-n {} link add eth0 type veth peer name port{} netns {}", name, host, middle)) &&
           call(fmt::format("-n {} addr add {}/24 dev eth0", name, address(host))) &&
           call(fmt::format("-n {} link set port{} master bridge up", middle, host)) &&
           call("-n " + name + " link set eth0 up");
  }
  if (!well)
    return Status(Code::system_error, "the machine does not let us build network namespaces with iproute2");
  return lab;
}

Lab::~Lab() {
  for (int host = 0; host < kHosts; ++host) call("netns del " + name_of(host));
  call("netns del " + switch_name());
}

Status Lab::enter(int host) const {
  const std::string path = fmt::format("/run/netns/chaos{}-{}", getppid(), host);
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool well = fd >= 0 && setns(fd, CLONE_NEWNET) == 0;
  const Status status =
      well ? Status()
           : Status(Code::system_error, fmt::format("cannot enter {}: {}", path, std::strerror(errno)));
  if (fd >= 0) close(fd);
  return status;
}

void Lab::plug(int host, bool in) const {
  call(fmt::format("-n {} link set port{} {}", switch_name(), host, in ? "up" : "down"));
}

}  // namespace weir::testing
