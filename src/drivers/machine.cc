// SPDX-License-Identifier: Apache-2.0

#include "src/drivers/machine.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <mutex>

#include "src/drivers/hwloc.h"
#include "src/drivers/subnet.h"

namespace weir::drivers {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRoot = "/root";
constexpr const char* kHwloc = "/hwloc.xml";
constexpr const char* kNvml = "/nvml.json";
constexpr const char* kRocmSmi = "/rocm_smi.json";
constexpr const char* kLimits = "/limits";
constexpr const char* kSubnet = "/ibnetdiscover";
constexpr const char* kLldp = "/lldp.json";

class ThisMachine final : public Machine {
 public:
  Files& files() override { return *files_; }
  Result<std::string> hwloc_xml() override {
    // hwloc reads devices through libudev, which initialises variables of its own in the first call,
    // unguarded.
    static std::mutex one_at_a_time;
    const std::lock_guard lock(one_at_a_time);
    return drivers::hwloc_xml();
  }
  Result<Nvml> nvml() override { return read_nvml(); }
  Result<RocmSmi> rocm_smi() override { return read_rocm_smi(); }
  Result<Limits> limits() override { return read_limits(); }
  Result<std::string> subnet() override { return subnet_text(); }
  Result<std::vector<LldpNeighbor>> lldp(const std::string& socket) override {
    return lldp_neighbors(socket);
  }

 private:
  std::unique_ptr<Files> files_ = files_below("/");
};

class RecordingMachine final : public Machine {
 public:
  explicit RecordingMachine(std::string folder)
      : folder_(std::move(folder)), files_(inner_.files(), folder_ + kRoot) {}

  Files& files() override { return files_; }
  Result<std::string> hwloc_xml() override {
    Result<std::string> text = inner_.hwloc_xml();
    if (text.ok()) keep(kHwloc, *text);
    return text;
  }
  Result<Nvml> nvml() override {
    Result<Nvml> nvml = inner_.nvml();
    if (nvml.ok()) keep(kNvml, write_record(*nvml));
    return nvml;
  }
  Result<RocmSmi> rocm_smi() override {
    Result<RocmSmi> smi = inner_.rocm_smi();
    if (smi.ok()) keep(kRocmSmi, write_record(*smi));
    return smi;
  }
  Result<Limits> limits() override {
    Result<Limits> limits = inner_.limits();
    keep(kLimits, write_record(*limits));
    return limits;
  }
  Result<std::string> subnet() override {
    Result<std::string> text = inner_.subnet();
    if (text.ok()) keep(kSubnet, *text);
    return text;
  }
  Result<std::vector<LldpNeighbor>> lldp(const std::string& socket) override {
    Result<std::vector<LldpNeighbor>> neighbors = inner_.lldp(socket);
    if (neighbors.ok()) keep(kLldp, write_record(*neighbors));
    return neighbors;
  }
  Status error() const override { return error_.ok() ? files_.error() : error_; }

 private:
  void keep(const char* name, const std::string& text) {
    std::ofstream file(folder_ + name, std::ios::binary | std::ios::trunc);
    file << text;
    file.close();
    if (!file && error_.ok())
      error_ = {Code::system_error, fmt::format("{}{} could not be written", folder_, name)};
  }

  const std::string folder_;
  ThisMachine inner_;
  RecordedFiles files_;
  Status error_;
};

class ReplayedMachine final : public Machine {
 public:
  explicit ReplayedMachine(std::string folder)
      : folder_(std::move(folder)), files_(files_below(folder_ + kRoot)) {}

  Files& files() override { return *files_; }
  Result<std::string> hwloc_xml() override { return read(kHwloc, "libhwloc"); }
  Result<Nvml> nvml() override {
    const Result<std::string> text = read(kNvml, "NVML");
    return text.ok() ? read_nvml_record(text.value()) : text.status();
  }
  Result<RocmSmi> rocm_smi() override {
    const Result<std::string> text = read(kRocmSmi, "ROCm SMI");
    return text.ok() ? read_rocm_smi_record(text.value()) : text.status();
  }
  Result<Limits> limits() override {
    const Result<std::string> text = read(kLimits, "the record of limits");
    return text.ok() ? read_limits_record(text.value()) : text.status();
  }
  Result<std::string> subnet() override { return read(kSubnet, "the InfiniBand subnet"); }
  Result<std::vector<LldpNeighbor>> lldp(const std::string&) override {
    const Result<std::string> text = read(kLldp, "lldpd");
    return text.ok() ? read_lldp_record(text.value()) : text.status();
  }

 private:
  Result<std::string> read(const char* name, const char* who) const {
    std::optional<std::string> text = files_below(folder_)->read(name);
    if (text) return *text;
    return Status(Code::system_error, fmt::format("{} was not available when {} was recorded", who, folder_));
  }

  const std::string folder_;
  std::unique_ptr<Files> files_;
};

}  // namespace

std::unique_ptr<Machine> this_machine() { return std::make_unique<ThisMachine>(); }

Result<std::unique_ptr<Machine>> record_machine(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder + kRoot, error);
  if (error)
    return Status(Code::system_error,
                  fmt::format("cannot make the folder {} for the record: {}", folder, error.message()));
  return std::unique_ptr<Machine>(std::make_unique<RecordingMachine>(folder));
}

Result<std::unique_ptr<Machine>> replay_machine(const std::string& folder) {
  std::error_code error;
  if (!fs::is_directory(folder + kRoot, error)) {
    return Status(Code::invalid_argument,
                  fmt::format("{} is not a recorded machine; expected a folder that contains a folder {}",
                              folder, kRoot + 1));
  }
  return std::unique_ptr<Machine>(std::make_unique<ReplayedMachine>(folder));
}

}  // namespace weir::drivers
