// SPDX-License-Identifier: Apache-2.0

#include "src/drivers/hwloc.h"

#include <fmt/format.h>
#include <hwloc.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>

#include "src/base/shortage.h"
#include "src/drivers/library.h"

namespace weir::drivers {
namespace {

/// The functions that are used, with the types of hwloc's header.
struct Hwloc {
  decltype(hwloc_get_api_version)* get_api_version;
  decltype(hwloc_topology_init)* init;
  decltype(hwloc_topology_destroy)* destroy;
  decltype(hwloc_topology_set_io_types_filter)* set_io_types_filter;
  decltype(hwloc_topology_set_components)* set_components;
  decltype(hwloc_topology_load)* load;
  decltype(hwloc_topology_export_xmlbuffer)* export_xmlbuffer;
  decltype(hwloc_free_xmlbuffer)* free_xmlbuffer;

  bool find_in(const Library& library) {
    return library.find("hwloc_get_api_version", get_api_version) &&
           library.find("hwloc_topology_init", init) && library.find("hwloc_topology_destroy", destroy) &&
           library.find("hwloc_topology_set_io_types_filter", set_io_types_filter) &&
           library.find("hwloc_topology_set_components", set_components) &&
           library.find("hwloc_topology_load", load) &&
           library.find("hwloc_topology_export_xmlbuffer", export_xmlbuffer) &&
           library.find("hwloc_free_xmlbuffer", free_xmlbuffer);
  }
};

Status failed(const char* what) {
  return {Code::system_error, fmt::format("libhwloc could not {} the topology of this machine", what)};
}

/// hwloc asks for the affinity with ever larger sets until the kernel gives it: for ever, where that is
/// refused (by a filter of system calls).
Status affinity_is_known() {
  std::array<unsigned long, 16384> set;  // a million cores
  if (syscall(SYS_sched_getaffinity, 0, sizeof set, set.data()) >= 0) return {};
  return system_failure(
      "libhwloc is not used, since this process may not ask for its cores (sched_getaffinity)", errno);
}

}  // namespace

Result<std::string> hwloc_xml() {
  WEIR_TRY(affinity_is_known());
  Result<Library> library = Library::open("libhwloc.so.15");
  if (!library.ok()) return library.status();
  Hwloc hwloc;
  if (!hwloc.find_in(*library) || hwloc.get_api_version() < 0x20100) {
    return Status(Code::system_error, "libhwloc.so.15 is older than 2.1; expected 2.1 or newer");
  }
  hwloc_topology_t topology = nullptr;
  if (hwloc.init(&topology) != 0) return failed("begin");
  const std::unique_ptr<hwloc_topology, decltype(hwloc.destroy)> owner(topology, hwloc.destroy);
  hwloc.set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
  // The component "pci" leaks the names of all PCI devices; without it hwloc reads sysfs itself. The others
  // would open contexts on GPUs, which costs time and memory; GPUs are queried through their vendors'
  // libraries.
  for (const char* component : {"pci", "cuda", "nvml", "opencl", "gl", "rsmi", "levelzero"})
    hwloc.set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, component);
  if (hwloc.load(topology) != 0) return failed("find");
  char* buffer = nullptr;
  int length = 0;
  if (hwloc.export_xmlbuffer(topology, &buffer, &length, 0) != 0) return failed("export");
  std::string text(buffer, static_cast<size_t>(length));
  hwloc.free_xmlbuffer(topology, buffer);
  while (text.ends_with('\0')) text.pop_back();
  return text;
}

}  // namespace weir::drivers
