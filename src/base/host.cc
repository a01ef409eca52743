// SPDX-License-Identifier: Apache-2.0

#include "src/base/host.h"

#include <dlfcn.h>
#include <sched.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <vector>

#include "src/base/clock.h"

namespace weir {
namespace {

std::string full_hostname() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name[0] != '\0' ? name : "unknown";
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// The number of cores that a control group grants, from "quota period" (version 2) or quota / period
/// (version 1); infinite when unlimited.
double cores_of(const std::string& quota, const std::string& period) {
  char* end = nullptr;
  const double granted = std::strtod(quota.c_str(), &end);
  const double span = std::strtod(period.c_str(), nullptr);
  if (end == quota.c_str() || granted <= 0 || span <= 0) return INFINITY;  // "max", -1 or no such file
  return granted / span;
}

/// The smallest quota, in cores, of this process's control group and its visible ancestors.
double quota_cores() {
  double least = INFINITY;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "0::/path" or "4:cpu,cpuacct:/path"
    const size_t second = line.find(':', line.find(':') + 1);
    if (second == std::string::npos) continue;
    const bool version2 = line.starts_with("0::");
    if (!version2 && line.find("cpu") == std::string::npos) continue;
    std::string path = line.substr(second + 1);
    for (;;) {
      if (version2) {
        const std::string both = first_line("/sys/fs/cgroup" + path + "/cpu.max");
        const size_t space = both.find(' ');
        if (space != std::string::npos)
          least = std::min(least, cores_of(both.substr(0, space), both.substr(space + 1)));
      } else {
        const std::string folder = "/sys/fs/cgroup/cpu" + path;
        least = std::min(least, cores_of(first_line(folder + "/cpu.cfs_quota_us"),
                                         first_line(folder + "/cpu.cfs_period_us")));
      }
      if (path.empty() || path == "/") break;
      path.resize(path.rfind('/'));
    }
  }
  return least;
}

/// An identifier that changes whenever the kernel boots.
std::string boot_id() { return first_line("/proc/sys/kernel/random/boot_id"); }

}  // namespace

std::string short_hostname() {
  std::string name = full_hostname();
  name = name.substr(0, name.find('.'));
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '%' || c == '/'; }, '-');
  return name;
}

uint64_t hash_text(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdULL;
  return hash ^ (hash >> 33);
}

uint64_t host_identity(std::string_view override_text) {
  if (!override_text.empty()) return hash_text(override_text);
  return hash_text(full_hostname() + boot_id());
}

uint64_t kernel_identity() {
  const std::string boot = boot_id();
  return boot.empty() ? host_identity("") : hash_text(boot);
}

int CoreSet::count() const {
  int total = 0;
  for (const uint64_t word : bits) total += std::popcount(word);
  return total;
}

CoreSet& CoreSet::operator|=(const CoreSet& other) {
  for (size_t i = 0; i < bits.size(); ++i) bits[i] |= other.bits[i];
  return *this;
}

CoreSet allowed_cores() {
  CoreSet cores;
  static_assert(sizeof(cpu_set_t) == sizeof(cores.bits));
  if (sched_getaffinity(0, sizeof(cores.bits), reinterpret_cast<cpu_set_t*>(cores.bits.data())) != 0) {
    for (int core = 0; core < std::min(machine_cores(), 1024); ++core)
      cores.bits[static_cast<size_t>(core / 64)] |= 1ull << core % 64;
  }
  return cores;
}

int usable_cores(const CoreSet& cores) {
  const int allowed = std::max(1, cores.count());
  const double quota = std::ceil(quota_cores());
  return quota < allowed ? std::max(1, static_cast<int>(quota)) : allowed;
}

int machine_cores() { return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))); }

std::string own_file() {
  Dl_info info;
  static const char kHere = 0;
  return dladdr(&kHere, &info) == 0 || info.dli_fname == nullptr ? "" : info.dli_fname;
}

uint64_t random_bits() {
  uint64_t bits = 0;
  if (getrandom(&bits, sizeof bits, 0) == sizeof bits) return bits;
  return hash_text(std::to_string(now_ns()) + "/" + std::to_string(getpid()));
}

}  // namespace weir
