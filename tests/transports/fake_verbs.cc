// SPDX-License-Identifier: Apache-2.0

#include "tests/transports/fake_verbs.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <mutex>

namespace weir::testing {

using drivers::VerbsCompletion;
using drivers::VerbsEvent;

struct FakeFabric::State {
  struct Device {
    Wire wire = Wire::works;
    bool failed = false;
    bool refuses = false;  ///< regions
    uint64_t bytes = 0;
    drivers::VerbsPacing pacing;
    std::vector<std::deque<VerbsEvent>*> listeners;
  };
  struct Range {
    std::byte* begin;
    size_t bytes;
    std::byte* view = nullptr;  ///< where the fabric reads and writes what is there

    bool has(const std::byte* at, size_t count) const { return at >= begin && at + count <= begin + bytes; }
    std::byte* seen(const std::byte* at) const { return view + (at - begin); }
  };

  std::mutex mutex;
  std::map<std::string, Device> devices;
  std::map<uint32_t, FakePair*> pairs;
  std::map<uint32_t, Range> regions;
  uint32_t last_number = 100;
  uint32_t most_bytes = 0;
  int overflows = 0;
};

namespace {
using State = FakeFabric::State;
constexpr const char* kRetries = "transport retry counter exceeded";
constexpr const char* kFlushed = "Work Request Flushed Error";
}  // namespace

class FakePair final : public drivers::VerbsPair {
 public:
  FakePair(State& state, std::string device, const drivers::VerbsPairSpec& spec)
      : state_(state), device_(std::move(device)), spec_(spec) {
    const std::lock_guard lock(state_.mutex);
    number_ = ++state_.last_number;
    state_.pairs[number_] = this;
  }
  ~FakePair() override {
    const std::lock_guard lock(state_.mutex);
    state_.pairs.erase(number_);
  }

  uint32_t number() const override { return number_; }
  uint32_t inline_bytes() const override { return 0; }

  Status connect(const drivers::VerbsPath& to) override {
    const std::lock_guard lock(state_.mutex);
    peer_ = to.pair;
    peer_first_ = to.first;
    return {};
  }

  Status post(const drivers::VerbsWrite* write, uint32_t immediate, uint64_t id) override {
    const std::lock_guard lock(state_.mutex);
    if (++posted_ > spec_.sends) return Status(Code::system_error, "the send queue is full");
    if (halted_) {
      complete(id, kFlushed);
      return {};
    }
    FakePair* const peer = find_peer();
    State::Device& own = state_.devices[device_];
    const Wire wire = std::max(own.wire, peer != nullptr ? state_.devices[peer->device_].wire : Wire::silent);
    if (own.failed || (peer != nullptr && state_.devices[peer->device_].failed)) {
      complete(id, kRetries);
      halted_ = true;
      return {};
    }
    if (wire != Wire::silent) {
      if (write != nullptr) {
        copy(*write);
        own.bytes += write->bytes;
      }
      peer->receive(immediate);
    }
    if (wire == Wire::works) {
      complete(id, "");
    } else {
      stuck_.push_back(id);
    }
    return {};
  }

  Result<size_t> poll(std::span<VerbsCompletion> into) override {
    const std::lock_guard lock(state_.mutex);
    const size_t count = std::min(into.size(), done_.size());
    for (size_t i = 0; i < count; ++i) {
      into[i] = done_.front();
      done_.pop_front();
      (into[i].received ? waiting_ : posted_) -= 1;
    }
    return count;
  }

  Status set_rate(double bytes_per_s) override {
    const std::lock_guard lock(state_.mutex);
    const Result<uint32_t> rate = state_.devices[device_].pacing.rate_for(bytes_per_s, device_);
    if (rate.ok()) rate_ = *rate;
    return rate.status();
  }

  void halt() override {
    const std::lock_guard lock(state_.mutex);
    stop(kFlushed);
  }

  // With the lock held:
  const std::string& device() const { return device_; }
  std::string peer_device() const {
    const auto found = state_.pairs.find(peer_);
    return found == state_.pairs.end() ? "" : found->second->device_;
  }
  bool stuck() const { return !stuck_.empty(); }
  uint32_t rate() const { return rate_; }
  void stop(const char* error) {
    halted_ = true;
    for (const uint64_t id : stuck_) complete(id, error);
    stuck_.clear();
  }

 private:
  /// The pair that this one is connected to, if it takes anything in.
  FakePair* find_peer() const {
    const auto found = state_.pairs.find(peer_);
    if (found == state_.pairs.end() || found->second->halted_ || found->second->peer_ != number_)
      return nullptr;
    EXPECT_EQ(found->second->spec_.first, peer_first_) << "packet numbers do not fit";
    return found->second;
  }
  void copy(const drivers::VerbsWrite& write) {
    EXPECT_LE(write.bytes, state_.most_bytes);
    const State::Range& there = state_.regions[write.remote_key];
    const State::Range& own = state_.regions[write.local_key];
    ASSERT_TRUE(there.has(reinterpret_cast<std::byte*>(write.to), write.bytes)) << "write out of the region";
    ASSERT_TRUE(own.has(write.from, write.bytes));
    std::byte* const to = there.seen(reinterpret_cast<std::byte*>(write.to));
    const std::byte* const from = own.seen(write.from);
    // What is written again may be read at the same time; its bytes do not change.
    if (std::memcmp(to, from, write.bytes) != 0) std::memcpy(to, from, write.bytes);
  }
  void receive(uint32_t immediate) {
    state_.overflows += ++waiting_ > spec_.receives ? 1 : 0;
    done_.push_back({.received = true, .id = 0, .immediate = immediate, .error = ""});
  }
  void complete(uint64_t id, const char* error) {
    done_.push_back({.received = false, .id = id, .immediate = 0, .error = error});
  }

  State& state_;
  const std::string device_;
  const drivers::VerbsPairSpec spec_;
  uint32_t number_ = 0;
  uint32_t peer_ = 0;
  uint32_t peer_first_ = 0;
  bool halted_ = false;
  uint32_t rate_ = 0;     // kbit/s; 0: no limit
  uint32_t posted_ = 0;   // sends not polled
  uint32_t waiting_ = 0;  // receives not polled
  std::vector<uint64_t> stuck_;
  std::deque<VerbsCompletion> done_;
};

namespace {

class FakeRegion final : public drivers::VerbsRegion {
 public:
  /// `view`: of a file, where it is mapped for this region; else the memory itself.
  FakeRegion(State& state, std::byte* memory, size_t bytes, std::byte* view)
      : state_(state), bytes_(bytes), mapped_(view != memory ? view : nullptr) {
    const std::lock_guard lock(state_.mutex);
    key_ = ++state_.last_number;
    state_.regions[key_] = {memory, bytes, view};
  }
  ~FakeRegion() override {
    const std::lock_guard lock(state_.mutex);
    state_.regions.erase(key_);
    if (mapped_ != nullptr) munmap(mapped_, bytes_);
  }
  uint32_t local_key() const override { return key_; }
  uint32_t remote_key() const override { return key_; }

 private:
  State& state_;
  const size_t bytes_;
  std::byte* const mapped_;
  uint32_t key_ = 0;
};

class FakeDevice final : public drivers::VerbsDevice {
 public:
  FakeDevice(State& state, std::string name) : state_(state), name_(std::move(name)) {
    const std::lock_guard lock(state_.mutex);
    state_.devices[name_].listeners.push_back(&events_);
  }
  ~FakeDevice() override {
    const std::lock_guard lock(state_.mutex);
    std::erase(state_.devices[name_].listeners, &events_);
  }
  Result<std::unique_ptr<drivers::VerbsRegion>> enroll(std::byte* memory, size_t bytes) override {
    WEIR_TRY(takes_regions());
    return std::unique_ptr<drivers::VerbsRegion>(std::make_unique<FakeRegion>(state_, memory, bytes, memory));
  }
  Result<std::unique_ptr<drivers::VerbsRegion>> enroll_file(int file, std::byte* memory,
                                                            size_t bytes) override {
    WEIR_TRY(takes_regions());
    const off_t begin = lseek(file, 0, SEEK_CUR);  // of the stand-in: memory begins at the file's position
    void* const view =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, std::max<off_t>(begin, 0));
    if (view == MAP_FAILED) return Status(Code::system_error, "the file cannot be mapped");
    return std::unique_ptr<drivers::VerbsRegion>(
        std::make_unique<FakeRegion>(state_, memory, bytes, static_cast<std::byte*>(view)));
  }
  Result<std::unique_ptr<drivers::VerbsPair>> make_pair(const drivers::VerbsPairSpec& spec) override {
    return std::unique_ptr<drivers::VerbsPair>(std::make_unique<FakePair>(state_, name_, spec));
  }
  std::optional<VerbsEvent> next_event() override {
    const std::lock_guard lock(state_.mutex);
    if (events_.empty()) return std::nullopt;
    VerbsEvent event = events_.front();
    events_.pop_front();
    return event;
  }

 private:
  Status takes_regions() {
    const std::lock_guard lock(state_.mutex);
    if (!state_.devices[name_].refuses) return {};
    return {Code::system_error, name_ + " takes no regions"};
  }

  State& state_;
  const std::string name_;
  std::deque<VerbsEvent> events_;
};

class FakeVerbs final : public drivers::Verbs {
 public:
  explicit FakeVerbs(State& state) : state_(state) {}

  Result<std::vector<drivers::VerbsPort>> ports() override {
    const std::lock_guard lock(state_.mutex);
    std::vector<drivers::VerbsPort> ports;
    for (const auto& [name, device] : state_.devices) {
      drivers::VerbsGid gid{
          .index = 1, .kind = drivers::VerbsGid::Kind::roce_v2, .bytes = {}, .interface = "fake"};
      gid.bytes[10] = gid.bytes[11] = 0xff;
      gid.bytes[12] = 10;
      gid.bytes[15] = static_cast<uint8_t>(ports.size() + 1);
      ports.push_back({.device = name,
                       .ethernet = true,
                       .active = true,
                       .gigabits_per_s = 10,
                       .mtu = 4096,
                       .most_bytes = state_.most_bytes,
                       .gids = {gid}});
    }
    return ports;
  }
  Result<std::unique_ptr<drivers::VerbsDevice>> open(const std::string& device) override {
    return std::unique_ptr<drivers::VerbsDevice>(std::make_unique<FakeDevice>(state_, device));
  }

 private:
  State& state_;
};

}  // namespace

FakeFabric::FakeFabric(int devices, uint32_t most_bytes) : state_(std::make_unique<State>()) {
  for (int i = 0; i < devices; ++i) state_->devices["fake" + std::to_string(i)];
  state_->most_bytes = most_bytes;
}

FakeFabric::~FakeFabric() = default;

std::unique_ptr<drivers::Verbs> FakeFabric::verbs() { return std::make_unique<FakeVerbs>(*state_); }

void FakeFabric::refuse_regions(const std::string& device) {
  const std::lock_guard lock(state_->mutex);
  state_->devices[device].refuses = true;
}

void FakeFabric::set_wire(const std::string& device, Wire wire) {
  const std::lock_guard lock(state_->mutex);
  state_->devices[device].wire = wire;
}

void FakeFabric::fail(const std::string& device) {
  const std::lock_guard lock(state_->mutex);
  state_->devices[device].failed = true;
  for (const auto& [number, pair] : state_->pairs) {
    const bool concerned = pair->device() == device || pair->peer_device() == device;
    if (concerned && pair->stuck()) pair->stop(kRetries);
  }
}

void FakeFabric::mend(const std::string& device) {
  const std::lock_guard lock(state_->mutex);
  state_->devices[device].failed = false;
  state_->devices[device].wire = Wire::works;
}

void FakeFabric::tell(const std::string& device, VerbsEvent::Kind kind) {
  const std::lock_guard lock(state_->mutex);
  const auto port = static_cast<uint8_t>(kind == VerbsEvent::Kind::device_lost ? 0 : 1);
  for (auto* events : state_->devices[device].listeners)
    events->push_back({.kind = kind, .port = port, .text = "an event of the test"});
}

void FakeFabric::set_pacing(const std::string& device, drivers::VerbsPacing pacing) {
  const std::lock_guard lock(state_->mutex);
  state_->devices[device].pacing = pacing;
}

std::vector<uint32_t> FakeFabric::rates_of(const std::string& device) const {
  const std::lock_guard lock(state_->mutex);
  std::vector<uint32_t> rates;
  for (const auto& [number, pair] : state_->pairs) {
    if (pair->device() == device) rates.push_back(pair->rate());
  }
  return rates;
}

uint64_t FakeFabric::bytes_from(const std::string& device) const {
  const std::lock_guard lock(state_->mutex);
  return state_->devices[device].bytes;
}

int FakeFabric::overflows() const {
  const std::lock_guard lock(state_->mutex);
  return state_->overflows;
}

}  // namespace weir::testing
