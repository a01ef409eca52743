// SPDX-License-Identifier: Apache-2.0

#include "stand_in/device_list.h"

#include <algorithm>
#include <cstdlib>

namespace fake {
namespace {

constexpr int kNone = -1;

int device_of(const std::string& name, int numbers, int step, const std::vector<DeviceEntry>& names) {
  char* end = nullptr;
  const long number = std::strtol(name.c_str(), &end, 10);
  if (end != name.c_str() && *end == '\0')
    return number >= 0 && number < numbers ? static_cast<int>(number) * step : kNone;
  int found = kNone;
  for (const DeviceEntry& one : names) {
    if (name.size() <= sizeof("GPU") || one.text.compare(0, name.size(), name) != 0) continue;
    if (found != kNone) return kNone;
    found = one.device;
  }
  return found;
}

}  // namespace

Uuid uuid_of_gpu(int gpu) { return {static_cast<unsigned char>(gpu + 1), 0xfa, 0x6e}; }
Uuid uuid_of_instance(int device) { return {static_cast<unsigned char>(device + 1), 0xfa, 0x6e, 0x17}; }

std::vector<int> named_devices(const std::string& list, int numbers, int step,
                               const std::vector<DeviceEntry>& names, DuplicatePolicy policy) {
  std::vector<int> devices;
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    const int device = device_of(list.substr(at, end - at), numbers, step, names);
    at = end + 1;
    if (device == kNone) break;
    if (std::find(devices.begin(), devices.end(), device) == devices.end()) {
      devices.push_back(device);
    } else if (policy == DuplicatePolicy::refuses) {
      return {};
    } else if (policy == DuplicatePolicy::ends) {
      break;
    }
  }
  return devices;
}

}  // namespace fake
