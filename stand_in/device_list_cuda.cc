// SPDX-License-Identifier: Apache-2.0
// As NVIDIA's driver (CUDA C++ Programming Guide, "CUDA Environment Variables"; MIG User Guide, "CUDA Device
// Enumeration").
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "stand_in/device_list.h"
#include "stand_in/world.h"

namespace fake {
namespace {

std::string text_of(const char* kind, const Uuid& uuid) {
  std::string text = kind;
  for (size_t i = 0; i < uuid.size(); ++i) {
    char digits[4];
    std::snprintf(digits, sizeof(digits), "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                  uuid[i]);
    text += digits;
  }
  return text;
}

}  // namespace

int instances() {
  const char* const text = std::getenv("WEIR_FAKE_GPU_MIG");
  return text != nullptr ? std::clamp(std::atoi(text), 1, kMostGpus) : 1;
}

std::vector<int> visible_devices(int gpus) {
  const int parts = instances();
  std::vector<DeviceEntry> names;
  std::string all;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    names.push_back({text_of("GPU-", uuid_of_gpu(gpu)), gpu * parts});
    for (int part = 0; parts > 1 && part < parts; ++part)
      names.push_back({text_of("MIG-", uuid_of_instance(gpu * parts + part)), gpu * parts + part});
    all += (gpu > 0 ? "," : "") + std::to_string(gpu);
  }
  const char* const list = std::getenv("CUDA_VISIBLE_DEVICES");
  std::vector<int> devices =
      named_devices(list != nullptr ? list : all, gpus, parts, names, DuplicatePolicy::refuses);
  if (parts > 1 && devices.size() > 1) devices.resize(1);  // a process uses one instance only
  return devices;
}

}  // namespace fake
