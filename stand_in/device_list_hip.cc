// SPDX-License-Identifier: Apache-2.0
// As AMD's: ROCR_VISIBLE_DEVICES is ROCr's, and HIP_VISIBLE_DEVICES, or else CUDA_VISIBLE_DEVICES, HIP's,
// which numbers what ROCr shows to it (ROCm, "GPU isolation techniques"). HIP ignores an empty list, ROCr
// does not.
#include <cstdio>
#include <cstdlib>

#include "stand_in/device_list.h"

namespace fake {
namespace {

std::vector<DeviceEntry> names_of(const std::vector<int>& gpus) {
  std::vector<DeviceEntry> names;
  for (size_t at = 0; at < gpus.size(); ++at) {
    std::string text = "GPU-";
    for (size_t i = 0; i < 8; ++i) {
      char digits[3];
      std::snprintf(digits, sizeof(digits), "%02x", uuid_of_gpu(gpus[at])[i]);
      text += digits;
    }
    names.push_back({text, static_cast<int>(at)});
  }
  return names;
}

/// Those of `gpus` that the list names.
std::vector<int> chosen(const char* list, const std::vector<int>& gpus, DuplicatePolicy policy) {
  std::vector<int> found;
  for (const int at : named_devices(list, static_cast<int>(gpus.size()), 1, names_of(gpus), policy))
    found.push_back(gpus[static_cast<size_t>(at)]);
  return found;
}

}  // namespace

int instances() { return 1; }

std::vector<int> visible_devices(int gpus) {
  std::vector<int> found;
  for (int gpu = 0; gpu < gpus; ++gpu) found.push_back(gpu);
  if (const char* const list = std::getenv("ROCR_VISIBLE_DEVICES"); list != nullptr)
    found = chosen(list, found, DuplicatePolicy::ends);
  for (const char* const variable : {"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"}) {
    const char* const list = std::getenv(variable);
    if (list != nullptr && *list != '\0') return chosen(list, found, DuplicatePolicy::skipped);
  }
  return found;
}

}  // namespace fake
