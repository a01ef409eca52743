// SPDX-License-Identifier: Apache-2.0
/// Which devices of the machine a process sees, by the environment variables of each vendor's driver. Devices
/// are GPUs, or, where NVIDIA's Multi-Instance GPU (MIG) divides each of them, its instances: those of GPU g
/// have the numbers g * instances() and following.
///
/// Thread-safe. Pure, except that the environment is read.
/// Tests: tests/device/gpu_visible_test.cc
#pragma once

#include <array>
#include <string>
#include <vector>

namespace fake {

using Uuid = std::array<unsigned char, 16>;
Uuid uuid_of_gpu(int gpu);
Uuid uuid_of_instance(int device);

/// What a driver does with a device that a list names again.
enum class DuplicatePolicy {
  refuses,  ///< no device is visible
  ends,     ///< those before it are visible
  skipped,
};

/// A name that users may give to a device: its UUID as the vendor's tools print it.
struct DeviceEntry {
  std::string text;
  int device = 0;
};

/// The devices that a list with commas names, in its order, up to the first name that is not one's: a number
/// n below `numbers` is device n * step; other names are the beginning of exactly one of `names`.
std::vector<int> named_devices(const std::string& list, int numbers, int step,
                               const std::vector<DeviceEntry>& names, DuplicatePolicy policy);

// Of the vendor whose library this is: device_list_cuda.cc, device_list_hip.cc.

/// Instances of each GPU; 1: MIG is off.
int instances();
/// The devices that the process sees on a machine of `gpus` GPUs, in its order.
std::vector<int> visible_devices(int gpus);

}  // namespace fake
