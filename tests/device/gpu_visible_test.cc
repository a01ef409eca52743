// SPDX-License-Identifier: Apache-2.0
// Which GPUs a process sees on the stand-in of a driver, by the variables of the vendor. Compiled for CUDA
// and for HIP. Each look is one of a new process: a driver may read the environment once.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "tests/device/gpu_user.h"

namespace weir::device {
namespace {

using Variables = std::vector<std::pair<const char*, const char*>>;

/// What `look` gives in a process with these variables, on a machine of four GPUs.
std::string in_process(const Variables& variables, const std::function<std::string()>& look) {
  int ends[2] = {};
  EXPECT_EQ(pipe(ends), 0);
  const pid_t process = fork();
  if (process == 0) {
    setenv("WEIR_FAKE_GPUS", "4", 1);
    for (const auto& [name, value] : variables) setenv(name, value, 1);
    const std::string found = look();
    _exit(write(ends[1], found.data(), found.size()) == static_cast<ssize_t>(found.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string found;
  std::array<char, 256> part{};
  for (ssize_t bytes = 0; (bytes = read(ends[0], part.data(), part.size())) > 0;)
    found.append(part.data(), static_cast<size_t>(bytes));
  close(ends[0]);
  int status = -1;
  EXPECT_EQ(waitpid(process, &status, 0), process);
  EXPECT_EQ(status, 0);
  return found;
}

/// The numbers of the GPUs, in the order of the process: "2 0"; "error 100" where there are none.
std::string seen(const Variables& variables) {
  return in_process(variables, [] {
    int count = 0;
    if (const int code = user("GetDeviceCount", &count); code != 0) return "error " + std::to_string(code);
    std::string numbers;
    for (int device = 0; device < count; ++device) {
      char address[32] = {};  // 0000:1b:00.0 is that of the first GPU
      if (user("DeviceGetPCIBusId", address, 32, device) != 0) return std::string("no address");
      numbers += (device > 0 ? " " : "") + std::to_string(address[5] - '1');
    }
    return numbers;
  });
}

std::string seen(const char* list) { return seen({{"CUDA_VISIBLE_DEVICES", list}}); }

constexpr char kNoDevice[] = "error 100";
constexpr char kSecond[] = "02fa6e";  ///< begin of the second GPU's UUID

TEST(GpuVisible, NumbersGiveTheOrderUpToTheFirstInvalidOne) {
  EXPECT_EQ(seen(Variables{}), "0 1 2 3");
  EXPECT_EQ(seen("2,0"), "2 0");
  EXPECT_EQ(seen("0,2,-1,1"), "0 2");
  EXPECT_EQ(seen("1,4,0"), "1");
  EXPECT_EQ(seen("3,x,0"), "3");
  EXPECT_EQ(seen("3,1x"), "3");
  EXPECT_EQ(seen("3,,1"), "3");
  EXPECT_EQ(seen("-1"), kNoDevice);
  EXPECT_EQ(seen("NoDevFiles"), kNoDevice) << "as Slurm writes it for jobs without GPUs";
}

TEST(GpuVisible, ARepeatedNameIsAnErrorToNvidiasDriverOnly) {
  EXPECT_EQ(seen("0,0"), kIsHip ? "0" : kNoDevice);
  EXPECT_EQ(seen("2,1,2,3"), kIsHip ? "2 1 3" : kNoDevice);
  EXPECT_EQ(seen(("1,GPU-" + std::string(kSecond)).c_str()), kIsHip ? "1" : kNoDevice);
  EXPECT_EQ(seen("1,-1,1"), "1") << "after an invalid name nothing counts";
}

TEST(GpuVisible, UuidsAreNamesAndMayBeShortened) {
  const std::string rest = kIsHip ? "0000000000" : "00-0000-0000-0000-000000000000";
  EXPECT_EQ(seen(("GPU-" + std::string(kSecond) + rest).c_str()), "1");
  EXPECT_EQ(seen(("GPU-03,GPU-" + std::string(kSecond)).c_str()), "2 1");
  EXPECT_EQ(seen("GPU-04,0"), "3 0");
  EXPECT_EQ(seen("3,GPU-0"), "3") << "begin of several";
  EXPECT_EQ(seen("3,GPU-ff"), "3") << "of none";
  EXPECT_EQ(seen("GPU-"), kNoDevice);
}

TEST(GpuVisible, AmdsVariablesCountInTwoSteps) {
  EXPECT_EQ(seen({{"ROCR_VISIBLE_DEVICES", "3,1"}}), kIsHip ? "3 1" : "0 1 2 3");
  EXPECT_EQ(seen({{"HIP_VISIBLE_DEVICES", "2"}}), kIsHip ? "2" : "0 1 2 3");
  if (!kIsHip) return;
  EXPECT_EQ(seen({{"ROCR_VISIBLE_DEVICES", "3,1"}, {"HIP_VISIBLE_DEVICES", "1"}}), "1");
  EXPECT_EQ(seen({{"ROCR_VISIBLE_DEVICES", "GPU-03"}, {"CUDA_VISIBLE_DEVICES", "0"}}), "2");
  EXPECT_EQ(seen({{"HIP_VISIBLE_DEVICES", "1"}, {"CUDA_VISIBLE_DEVICES", "2"}}), "1");
  EXPECT_EQ(seen({{"ROCR_VISIBLE_DEVICES", "2,2,0"}}), "2");
  EXPECT_EQ(seen({{"ROCR_VISIBLE_DEVICES", ""}}), kNoDevice);
}

TEST(GpuVisible, AnEmptyListHidesAllOfNvidias) { EXPECT_EQ(seen(""), kIsHip ? "0 1 2 3" : kNoDevice); }

/// The number of GPUs, their multiprocessors, the first one's memory in MiB and address.
std::string instances_seen(Variables variables) {
  variables.push_back({"WEIR_FAKE_GPU_MIG", "4"});
  return in_process(variables, []() -> std::string {
    int count = 0, processors = 0;
    size_t left = 0, memory = 0;
    char address[32] = {};
    if (const int code = user("GetDeviceCount", &count); code != 0) return "error " + std::to_string(code);
    if (user("DeviceGetAttribute", &processors, 16, 0) != 0 || user("MemGetInfo", &left, &memory) != 0 ||
        user("DeviceGetPCIBusId", address, 32, 0) != 0)
      return "a call failed";
    return std::to_string(count) + " device of " + std::to_string(processors) + " multiprocessors, " +
           std::to_string(memory >> 20) + " MiB, on GPU " + std::to_string(address[5] - '1');
  });
}

TEST(GpuVisible, AProcessUsesOneInstanceOfMig) {
  if (kIsHip) GTEST_SKIP() << "AMD's GPUs have none";
  EXPECT_EQ(instances_seen({}), "1 device of 2 multiprocessors, 1024 MiB, on GPU 0");
  const auto named = [](const char* list) { return instances_seen({{"CUDA_VISIBLE_DEVICES", list}}); };
  EXPECT_EQ(named("2,1"), "1 device of 2 multiprocessors, 1024 MiB, on GPU 2");
  EXPECT_EQ(named("MIG-07fa6e17,MIG-01fa6e17"), "1 device of 2 multiprocessors, 1024 MiB, on GPU 1");
  EXPECT_EQ(named("GPU-04"), "1 device of 2 multiprocessors, 1024 MiB, on GPU 3");
  EXPECT_EQ(named("MIG-ff"), kNoDevice);
  EXPECT_EQ(seen("MIG-01fa6e17"), kNoDevice) << "MIG is off";
}

}  // namespace
}  // namespace weir::device
