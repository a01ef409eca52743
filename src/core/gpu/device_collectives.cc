// SPDX-License-Identifier: Apache-2.0

#include "src/core/gpu/device_collectives.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/clock.h"
#include "src/base/log.h"
#include "src/core/call/poll_until.h"
#include "src/core/call/signature.h"
#include "src/device/host_stream.h"

namespace weir::core {
namespace {

using device::GpuMemory;

constexpr int64_t kDeviceAfterAbortNs = 500'000'000;  // instead of kStreamEndNs

/// Those whose streams never became empty. Never destroyed.
void keep_for_good(std::unique_ptr<DeviceCollectives> device_collectives) {
  static auto* const kMutex = new std::mutex;
  static auto* const kKept = new std::vector<std::unique_ptr<DeviceCollectives>>;
  const std::lock_guard lock(*kMutex);
  kKept->push_back(std::move(device_collectives));
}

}  // namespace

/// What calls use. Freeing it waits for the GPU.
struct DeviceCollectives::Memory {
  /// GPU memory that replaces a buffer which the GPU cannot address; kept from call to call.
  struct Bounce {
    std::byte* memory = nullptr;
    size_t bytes = 0;
  };

  explicit Memory(device::Gpu& gpu) : gpu(gpu) {}
  ~Memory() {
    for (const Bounce& bounce : bounces) (void)gpu.free(bounce.memory, GpuMemory::device);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  device::Gpu& gpu;
  Pinned flags;
  std::vector<Bounce> bounces;
};

DeviceCollectives::DeviceCollectives(Dependencies dependencies, std::unique_ptr<GpuPeerAccess> peer_access)
    : dependencies_(std::move(dependencies)),
      peer_access_(std::move(peer_access)),
      gpu_(peer_access_->gpu()),
      own_(dependencies_.gpus, &gpu_, dependencies_.rank),
      plans_({dependencies_.ranks, &peer_access_->executor(), peer_access_->addresses_buffers(),
              peer_access_->proxied() != nullptr, dependencies_.layout, dependencies_.order,
              dependencies_.loaded}),
      memory_(std::make_shared<Memory>(gpu_)) {
  for (int t = 0; t < kDataTypes; ++t) {
    const auto type = static_cast<DataType>(t);
    if (is_float(type))
      average_factors_[static_cast<size_t>(t)] = device::ratio(type, 1, dependencies_.ranks);
  }
}

Result<std::unique_ptr<DeviceCollectives>> DeviceCollectives::create(
    Dependencies dependencies, std::unique_ptr<GpuPeerAccess> peer_access) {
  std::unique_ptr<DeviceCollectives> made(
      new DeviceCollectives(std::move(dependencies), std::move(peer_access)));
  WEIR_TRY(made->make());
  return made;
}

Status DeviceCollectives::make() {
  for (device::GpuEvent* event : {&entered_, &left_, &last_}) {
    auto one = gpu_.events()->make(device::GpuEventUse::streams);
    WEIR_TRY(one.status());
    *event = *one;
  }
  auto page = Pinned::allocate(&gpu_, 4096);
  WEIR_TRY(page.status());
  memory_->flags = std::move(*page);
  auto begun = gpu_.flag_at(memory_->flags.data());
  WEIR_TRY(begun.status());
  begun_ = *begun;
  auto done = gpu_.flag_at(memory_->flags.data() + 128);
  WEIR_TRY(done.status());
  done_ = *done;
  if (peer_access_->proxied() != nullptr) {
    proxy_ = std::make_unique<Proxy>(Proxy::Dependencies{dependencies_.rank, &gpu_, peer_access_->proxied(),
                                                         dependencies_.routes, dependencies_.aborted,
                                                         [this] { return !idle(); }});
    WEIR_TRY(proxy_->start());
  }
  DeviceMonitor::Dependencies monitor;
  monitor.proxy = proxy_.get();
  monitor.executor = &peer_access_->executor();
  monitor.bootstrap = dependencies_.bootstrap.get();
  monitor.done = done_;
  monitor.aborted = dependencies_.aborted;
  monitor.fail = dependencies_.fail;
  monitor_ = std::make_unique<DeviceMonitor>(std::move(monitor));
  return monitor_->start();
}

DeviceCollectives::~DeviceCollectives() {
  monitor_.reset();
  proxy_.reset();
  for (const device::GpuEvent event : {entered_, left_, last_})
    if (event != nullptr) (void)gpu_.events()->destroy(event);
}

std::pair<std::unique_ptr<GpuPeerAccess>, bool> DeviceCollectives::end(
    std::unique_ptr<DeviceCollectives> device_collectives) {
  const int64_t until =
      now_ns() + (device_collectives->dependencies_.aborted->load() ? kDeviceAfterAbortNs : kStreamEndNs);
  poll_until([&](int64_t) { return device_collectives->idle() || now_ns() > until; });
  if (!device_collectives->idle()) {  // whatever is queued ends as soon as the stream comes to it
    device_collectives->abort();
    poll_until([&](int64_t) { return device_collectives->idle() || now_ns() > until + kDeviceAfterAbortNs; });
  }
  const bool idle = device_collectives->idle();
  device_collectives->monitor_.reset();
  device_collectives->proxy_.reset();
  device_collectives->peer_access_->deregister();
  std::unique_ptr<GpuPeerAccess> peer_access = std::move(device_collectives->peer_access_);
  peer_access->free_later(device_collectives->memory_);
  if (!idle) {
    WEIR_INFO(init, "rank {} ends while its calls are queued on {}: keeping the memory that they use",
              device_collectives->dependencies_.rank, device_collectives->gpu_.description());
    keep_for_good(std::move(device_collectives));  // the stream may come to its flags at any time
  }
  return {std::move(peer_access), idle};
}

bool DeviceCollectives::reached(uint32_t value) const {
  return static_cast<int32_t>(done_.host->load(std::memory_order_acquire) - value) >= 0;
}
bool DeviceCollectives::idle() const {
  return reached(calls_.load(std::memory_order_acquire)) && on_host_.load(std::memory_order_acquire) == 0;
}

void DeviceCollectives::wait_idle() const {
  poll_until([&](int64_t) { return idle() || dependencies_.aborted->load(std::memory_order_relaxed); });
}

void DeviceCollectives::abort() {
  aborted_.store(true);
  peer_access_->executor().abort();
}

bool DeviceCollectives::is_away(const void* address) const {
  return address != nullptr && dependencies_.gpus->kind_of(address) == GpuMemory::host;
}

size_t DeviceCollectives::input_bytes(const Operation& operation) const {
  if (const auto* const collective = std::get_if<CollectiveOp>(&operation))
    return segmentation_of(*collective, dependencies_.rank, dependencies_.ranks).input_blocks *
           bytes_of(operation);
  return std::holds_alternative<SendOp>(operation) ? bytes_of(operation) : 0;
}
size_t DeviceCollectives::output_bytes(const Operation& operation) const {
  if (const auto* const collective = std::get_if<CollectiveOp>(&operation))
    return segmentation_of(*collective, dependencies_.rank, dependencies_.ranks).output_blocks *
           bytes_of(operation);
  return std::holds_alternative<RecvOp>(operation) ? bytes_of(operation) : 0;
}

/// Memory of the GPU for one buffer of the call; the next one gets other memory.
Result<std::byte*> DeviceCollectives::bounce(size_t bytes) {
  std::vector<Memory::Bounce>& bounces = memory_->bounces;
  if (next_bounce_ < bounces.size() && bounces[next_bounce_].bytes >= bytes)
    return bounces[next_bounce_++].memory;
  auto memory = gpu_.allocate(bytes, GpuMemory::device);
  WEIR_TRY(memory.status());
  const Memory::Bounce made{static_cast<std::byte*>(*memory), bytes};
  // Smaller ones stay behind: calls under way may use them.
  bounces.insert(bounces.begin() + static_cast<std::ptrdiff_t>(next_bounce_++), made);
  WEIR_INFO(alloc, "rank {} uses {} bytes of {} for buffers that the GPU cannot address", dependencies_.rank,
            bytes, gpu_.description());
  return made.memory;
}

/// Where the GPU finds the buffers.
Status DeviceCollectives::place_buffers(const Operation& operation, exec::Work& work) {
  work.input = static_cast<const std::byte*>(input_of(operation));
  work.output = static_cast<std::byte*>(output_of(operation));
  const size_t in = input_bytes(operation);
  const size_t out = output_bytes(operation);
  if (in > 0) WEIR_TRY(own_.check(work.input));
  if (out > 0) WEIR_TRY(own_.check(work.output));
  if (in > 0 && is_away(work.input)) {
    auto memory = bounce(in);
    WEIR_TRY(memory.status());
    work.input = *memory;
  }
  if (out > 0 && is_away(work.output)) {
    auto memory = bounce(out);
    WEIR_TRY(memory.status());
    work.output = *memory;
  }
  if (in == 0) work.input = nullptr;
  if (out == 0) work.output = nullptr;
  return {};
}

/// Plan and work of one operation.
Status DeviceCollectives::lay_out(const Operation& any, Call& call) {
  exec::Work& work = call.works.emplace_back();
  DevicePlans::Chosen& chosen = call.chosen.emplace_back();
  const auto* const collective = std::get_if<CollectiveOp>(&any);
  if (collective == nullptr) return place_buffers(any, work);
  const CollectiveOp& operation = *collective;
  const uint32_t number = ++sequence_;
  if (operation.count == 0) return {};  // but it has a number
  const bool scales = operation.reduction.scaling == Reduction::Scaling::premultiply;
  auto found = plans_.find(operation.kind, operation.root, operation.count * size_of(operation.type), scales,
                           operation.plan);
  WEIR_TRY(found.status());
  chosen = *found;
  WEIR_TRY(place_buffers(any, work));
  work.count = operation.count;
  work.type = operation.type;
  work.op = operation.reduction.op;
  const uint32_t plan = operation.plan != nullptr ? operation.plan->digest : 0;
  const uint32_t mark = dependencies_.check ? signature(operation) ^ plan : 0;
  work.tag = uint64_t{number} << 32 | (dependencies_.check ? mark + number * 0x9e3779b1u : 0);
  work.tile_bytes = chosen.tile_bytes;
  if (!reduces(operation.kind)) return {};
  switch (operation.reduction.scaling) {
    case Reduction::Scaling::none: break;
    case Reduction::Scaling::premultiply: {
      work.scales = true;
      work.factor = operation.reduction.factor;
      const void* const at = operation.reduction.factor_at;
      if (at == nullptr) break;
      WEIR_TRY(own_.check(at));
      work.factor_at = static_cast<const std::byte*>(at);
      if (!is_away(at)) break;
      auto memory = bounce(sizeof(device::Scalar));
      WEIR_TRY(memory.status());
      work.factor_at = *memory;
      break;
    }
    case Reduction::Scaling::average:
      work.scales = is_float(operation.type);
      work.factor = average_factors_[static_cast<size_t>(operation.type)];
      work.divisor = work.scales ? 1 : dependencies_.ranks;
      break;
  }
  return {};
}

Status DeviceCollectives::lay_out(Call& call) {
  const auto pairs = std::stable_partition(call.operations.begin(), call.operations.end(),
                                           [](const Operation& one) { return !is_point_to_point(one); });
  call.collectives = static_cast<size_t>(pairs - call.operations.begin());
  for (const Operation& operation : call.operations) WEIR_TRY(lay_out(operation, call));
  auto found = pairs_of(call.operations, call.works, dependencies_.rank);
  WEIR_TRY(found.status());
  call.pairs = std::move(*found);
  return {};
}

Result<DeviceCollectives::Call> DeviceCollectives::prepare(std::vector<Operation> operations,
                                                           std::vector<StreamPlace> places, bool alone) {
  Call call;
  call.places = std::move(places);
  for (const StreamPlace& place : call.places) {
    WEIR_TRY(own_.check(place));
    bool captured = false;
    if (place.on_gpu) {
      auto state = gpu_.captures(place.gpu);
      WEIR_TRY(state.status());
      captured = *state;
    }
    if (&place != &call.places.front() && captured != call.captured)
      return Status(
          Code::invalid_usage,
          "a group has operations on a stream that is being captured and on one that is not; expected "
          "all or none");
    call.captured = captured;
  }
  if (call.captured) peer_access_->expect_graphs();
  call.own = !alone || call.places.size() > 1 || !call.places[0].on_gpu;
  call.stream = call.own ? peer_access_->stream() : call.places[0].gpu;
  next_bounce_ = 0;
  const uint32_t before = sequence_;
  call.operations = std::move(operations);
  if (Status laid_out = lay_out(call); !laid_out.ok()) {
    sequence_ = before;  // as on ranks that make no such call
    return laid_out;
  }
  return call;
}

/// The host's stream sets `begun` once all calls before are done, so that no value is passed over.
void DeviceCollectives::enter_from_host(device::HostStream* host, uint32_t value) {
  on_host_.fetch_add(1);
  host->submit([this, value]() -> Status {
    poll_until([&](int64_t) { return reached(value - 1) || aborted_.load(std::memory_order_relaxed); });
    begun_.host->store(value, std::memory_order_release);
    on_host_.fetch_sub(1);
    return {};
  });
}

void DeviceCollectives::leave_to_host(device::HostStream* host, uint32_t value) {
  on_host_.fetch_add(1);
  host->submit([this, value]() -> Status {
    poll_until([&](int64_t) { return reached(value) || aborted_.load(std::memory_order_relaxed); });
    on_host_.fetch_sub(1);
    return {};
  });
}

Status DeviceCollectives::enter(const Call& call) {
  const uint32_t last = calls_.load(std::memory_order_relaxed);
  // A captured call cannot wait for what is not: there the program's order counts.
  if (!call.captured && !reached(last)) WEIR_TRY(gpu_.events()->wait(last_, call.stream));
  for (const StreamPlace& place : call.places) {
    if (place.on_gpu && call.own) {
      WEIR_TRY(gpu_.events()->record(entered_, place.gpu));
      WEIR_TRY(gpu_.events()->wait(entered_, call.stream));
    } else if (place.host != nullptr) {
      enter_from_host(place.host, last + 1);
      WEIR_TRY(gpu_.await(begun_, last + 1, call.stream));
    }
  }
  for (size_t i = 0; i < call.operations.size(); ++i)
    WEIR_TRY(bring(call.operations[i], call.works[i], call.stream));
  return {};
}

/// Copies what the GPU does not address to where it does.
Status DeviceCollectives::bring(const Operation& operation, const exec::Work& work,
                                device::GpuStream stream) {
  const void* const input = input_of(operation);
  if (work.input != nullptr && work.input != input)
    WEIR_TRY(gpu_.copy(const_cast<std::byte*>(work.input), input, input_bytes(operation), stream));
  if (work.factor_at == nullptr) return {};
  const auto& collective = std::get<CollectiveOp>(operation);
  if (work.factor_at != collective.reduction.factor_at)
    WEIR_TRY(gpu_.copy(const_cast<std::byte*>(work.factor_at), collective.reduction.factor_at,
                       size_of(collective.type), stream));
  return {};
}

Status DeviceCollectives::take_back(const Operation& operation, const exec::Work& work,
                                    device::GpuStream stream) {
  void* const output = output_of(operation);
  if (work.output == nullptr || work.output == output) return {};
  return gpu_.copy(output, work.output, output_bytes(operation), stream);
}

Result<bool> DeviceCollectives::queue(Call& call) {
  if (!call.begun && !call.captured) begin(call);
  for (; call.next < call.operations.size(); ++call.next) {
    const DevicePlans::Chosen& chosen = call.chosen[call.next];
    if (chosen.ready == nullptr) continue;
    auto more =
        peer_access_->executor().queue_part(*chosen.ready, call.works[call.next], call.stream, call.part);
    WEIR_TRY(more.status());
    call.part = *more ? call.part + 1 : 0;
    if (!*more) ++call.next;
    return true;
  }
  for (const DevicePairs::Copy& one : call.pairs.copies)
    WEIR_TRY(gpu_.copy(one.to, one.from, one.bytes, call.stream));
  if (!call.pairs.pairs.empty()) WEIR_TRY(peer_access_->executor().exchange(call.pairs.pairs, call.stream));
  if (call.captured) begin(call);
  return false;
}

/// Kernels may run from now on. A launch waits for them here, on the host, if too many are pending, and a
/// copy to memory that is not pinned: who watches and carries for them must know before.
void DeviceCollectives::begin(Call& call) {
  call.begun = true;
  const uint32_t value = calls_.load(std::memory_order_relaxed) + 1;
  watch(call, value);
  if (call.captured) return;
  calls_.store(value, std::memory_order_release);
  if (proxy_ != nullptr) proxy_->wake();
}

void DeviceCollectives::give_up(const Call& call, const Status& why) {
  if (call.captured) return forget(call);
  const Status words(why.code(),
                     fmt::format("rank {} could not queue a call: {}", dependencies_.rank, why.message()));
  dependencies_.fail(words);
  abort();
  (void)dependencies_.bootstrap->watchdog().fail({dependencies_.rank, words});  // tells the others
  // What was queued before the error ends soon: the end of the communicator waits for it.
  const uint32_t value = calls_.load(std::memory_order_relaxed) + (call.begun ? 0 : 1);
  if (gpu_.set(done_, value, call.stream).ok()) calls_.store(value, std::memory_order_release);
}

void DeviceCollectives::watch(const Call& call, uint32_t value) {
  if (call.captured) {
    if (proxy_ != nullptr) proxy_->expect_graphs();
    return monitor_->add_graph();
  }
  uint32_t sequence = sequence_ - static_cast<uint32_t>(call.collectives);
  for (size_t i = 0; i < call.collectives; ++i) {
    const auto& operation = std::get<CollectiveOp>(call.operations[i]);
    monitor_->add(
        {value, {++sequence, dependencies_.check ? signature(operation) : 0, summary_of(operation)}});
  }
  // Sends and receives have no number of their own (execution.h).
  if (call.collectives < call.operations.size())
    monitor_->add({value, {sequence, 0, summary_of(call.operations[call.collectives])}});
}

Status DeviceCollectives::leave(const Call& call) {
  const Status left = let_places_go_on(call);
  if (!left.ok()) give_up(call, left);
  return left;
}

Status DeviceCollectives::let_places_go_on(const Call& call) {
  const uint32_t value = calls_.load(std::memory_order_relaxed);
  for (size_t i = 0; i < call.operations.size(); ++i)
    WEIR_TRY(take_back(call.operations[i], call.works[i], call.stream));
  if (!call.captured) {
    WEIR_TRY(gpu_.set(done_, value, call.stream));
    WEIR_TRY(gpu_.events()->record(last_, call.stream));
  }
  if (call.own) WEIR_TRY(gpu_.events()->record(left_, call.stream));
  bool waits = false;
  for (const StreamPlace& place : call.places) {
    if (place.on_gpu) {
      if (call.own) WEIR_TRY(gpu_.events()->wait(left_, place.gpu));
    } else if (place.host != nullptr) {
      leave_to_host(place.host, value);
    } else {
      waits = true;
    }
  }
  return waits ? gpu_.synchronize(call.stream) : Status();
}

}  // namespace weir::core
