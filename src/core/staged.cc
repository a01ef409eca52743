#include "src/core/staged.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/clock.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/core/insist.h"
#include "src/device/host_stream.h"

namespace weir::core {
namespace {

/// What a stream gets at the end to see that its last call is done; less after an abort, when it may hang for
/// other reasons.
constexpr int64_t kAtTheEndNs = 2'000'000'000;
constexpr int64_t kAfterAbortNs = 100'000'000;

/// Gates that streams or graphs may still come to. Never destroyed: graphs may outlive static destructors.
void keep_for_good(std::shared_ptr<Gate> gate) {
  static auto* const kMutex = new std::mutex;
  static auto* const kGates = new std::vector<std::shared_ptr<Gate>>;
  std::lock_guard lock(*kMutex);
  kGates->push_back(std::move(gate));
}

bool is_reached(const device::GpuFlag& flag, uint32_t value) {
  return static_cast<int32_t>(flag.host->load(std::memory_order_acquire) - value) >= 0;
}

}  // namespace

Staged::~Staged() {
  stop();
  if (gate_ != nullptr) settle_streams();
}

void Staged::stop() {
  if (gate_ != nullptr) {
    std::lock_guard lock(gate_->mutex);
    gate_->open = false;
    for (const auto& launch : gate_->expected) launch->finish();
  }
  thread_.reset();
}

/// Frees flags only if no stream looks at them any more.
void Staged::settle_streams() {
  const auto all_passed = [&] {
    return std::all_of(streams_.begin(), streams_.end(),
                       [](const auto& entry) { return is_reached(entry.second.passed, entry.second.calls); });
  };
  const int64_t until = now_ns() + (parts_.aborted->load() ? kAfterAbortNs : kAtTheEndNs);
  insist([&](int64_t) { return all_passed() || now_ns() > until; });
  std::unique_lock lock(gate_->mutex);
  const bool awaited = !gate_->expected.empty();
  lock.unlock();
  if (awaited || !all_passed()) keep_for_good(std::move(gate_));
}

bool Staged::cuts(std::span<const Operation> operations) const {
  return std::any_of(operations.begin(), operations.end(), [&](const Operation& operation) {
    return operation.kind != Collective::send_recv && cut_of(operation, parts_.rank, parts_.ranks).pieces > 1;
  });
}

bool Staged::is_away(const void* address) const {
  if (parts_.gpus == nullptr || address == nullptr) return false;
  const device::GpuMemory kind = parts_.gpus->kind_of(address);
  return kind == device::GpuMemory::device || kind == device::GpuMemory::managed;
}

OutOfReach Staged::out_of_reach(const Operation& operation) const {
  if (operation.count == 0) return {};
  if (operation.kind == Collective::send_recv)
    return {operation.sends && is_away(operation.input), !operation.sends && is_away(operation.output)};
  const Cut cut = cut_of(operation, parts_.rank, parts_.ranks);
  return {cut.input_blocks > 0 && is_away(operation.input),
          cut.output_blocks > 0 && is_away(operation.output)};
}

/// Whether streams and buffers are of the communicator's GPU.
Status Staged::check(std::span<const Operation> operations, std::span<const Place> places) const {
  const OwnGpu own(parts_.gpus, parts_.gpu, parts_.rank);
  for (const Place& place : places) WEIR_TRY(own.check(place));
  for (const Operation& operation : operations) {
    const OutOfReach away = out_of_reach(operation);
    if (away.input) WEIR_TRY(own.check(operation.input));
    if (away.output) WEIR_TRY(own.check(operation.output));
    if (operation.reduction.scaling == Reduction::Scaling::premultiply_later)
      WEIR_TRY(own.check(operation.reduction.factor_address()));
  }
  return {};
}

/// Made when it is first used.
Result<Staged::Engine*> Staged::engine(bool on_gpu) {
  std::unique_ptr<Engine>& engine = on_gpu ? gpu_engine_ : host_engine_;
  if (engine == nullptr) {
    auto made = make_engine(on_gpu ? parts_.gpu : nullptr);
    WEIR_TRY(made.status());
    engine = std::move(*made);
  }
  return engine.get();
}

Result<std::unique_ptr<Staged::Engine>> Staged::make_engine(device::Gpu* gpu) {
  auto engine = std::make_unique<Engine>(gpu);
  device::GpuFlag flags[2];
  if (gpu != nullptr) {
    gate_ = std::make_shared<Gate>(*gpu);
    for (device::GpuFlag& flag : flags) {
      auto taken = gate_->flags.take();
      WEIR_TRY(taken.status());
      flag = *taken;
    }
    auto ordered = gate_->flags.take();
    WEIR_TRY(ordered.status());
    order_ = *ordered;
    auto scalar = Pinned::allocate(gpu, sizeof(device::Scalar));
    WEIR_TRY(scalar.status());
    engine->scalar = std::move(*scalar);
  }
  auto in = CopyQueue::create(gpu, flags[0]);
  WEIR_TRY(in.status());
  engine->in = std::move(*in);
  auto out = CopyQueue::create(gpu, flags[1]);
  WEIR_TRY(out.status());
  engine->out = std::move(*out);
  if (gpu != nullptr) {
    const Ferry::Parts parts{parts_.gpus, gpu, engine->in.get(), engine->out.get(), parts_.message_bytes};
    engine->ferry = std::make_unique<Ferry>(parts, parts_.ranks);
    WEIR_INFO(init, "rank {} works on memory of {} through pinned host memory", parts_.rank,
              gpu->description());
  }
  return engine;
}

Result<std::shared_ptr<Launch>> Staged::prepare(std::vector<Operation> operations,
                                                std::span<const Place> places) {
  const auto on_gpu = std::count_if(places.begin(), places.end(), [](const Place& p) { return p.on_gpu; });
  if (on_gpu != 0 && static_cast<size_t>(on_gpu) != places.size()) {
    return Status(Code::invalid_usage,
                  "a group has operations of one communicator on streams of a GPU and on host streams (or on "
                  "host memory without a stream); expected all on streams of the GPU, or none");
  }
  if (thread_ == nullptr) {
    auto thread = device::HostStream::create();
    WEIR_TRY(thread.status());
    thread_ = std::move(*thread);
  }
  auto launch = std::make_shared<Launch>();
  launch->on_gpu = on_gpu > 0;
  if (launch->on_gpu) WEIR_TRY(check(operations, places));
  WEIR_TRY(engine(launch->on_gpu).status());
  for (const Operation& operation : operations) launch->away.push_back(out_of_reach(operation));
  launch->operations = std::move(operations);
  WEIR_TRY(reserve(*launch));
  if (launch->on_gpu) WEIR_TRY(take_marks(*launch, places));
  return launch;
}

/// Room for the operations, and a line in the log when it grew.
Status Staged::reserve(const Launch& launch) {
  Engine& engine = launch.on_gpu ? *gpu_engine_ : *host_engine_;
  const auto held = [&] {
    return engine.staging.bytes() + (engine.ferry != nullptr ? engine.ferry->bytes() : 0);
  };
  const size_t before = held();
  for (size_t i = 0; i < launch.operations.size(); ++i) {
    const Operation& operation = launch.operations[i];
    const OutOfReach away = launch.away[i];
    if (operation.kind != Collective::send_recv) {
      const Cut cut = cut_of(operation, parts_.rank, parts_.ranks);
      WEIR_TRY(engine.staging.reserve(StagedCollective::bytes_needed(operation, cut, away)));
    } else if (away.input || away.output) {
      WEIR_TRY(engine.ferry->reserve(operation.root, operation.sends));
    }
  }
  if (held() > before)
    WEIR_INFO(alloc, "rank {} stages operations in {} of {} memory", parts_.rank,
              bytes_words(static_cast<double>(held())), launch.on_gpu ? "pinned" : "host");
  return {};
}

Result<Staged::StreamFlags> Staged::take_flags() {
  StreamFlags made;
  for (device::GpuFlag* flag : {&made.begun, &made.done, &made.passed}) {
    auto taken = gate_->flags.take();
    WEIR_TRY(taken.status());
    *flag = *taken;
  }
  return made;
}

/// A mark per stream; a captured one has flags of its own, which every launch of the graph uses.
Status Staged::take_marks(Launch& launch, std::span<const Place> places) {
  launch.gate = gate_.get();
  for (const Place& place : places) {
    auto captured = parts_.gpu->captures(place.gpu);
    WEIR_TRY(captured.status());
    if (&place != &places.front() && *captured != launch.captured)
      return {Code::invalid_usage,
              "a group has operations on a stream that is being captured and on one that "
              "is not; expected all or none"};
    launch.captured = *captured;
  }
  for (const Place& place : places) {
    Launch::Mark& mark = launch.marks.emplace_back();
    mark.stream = place.gpu;
    mark.launch = &launch;
    auto known = launch.captured ? streams_.end() : streams_.find(place.gpu);
    StreamFlags own;
    if (known == streams_.end()) {
      auto taken = take_flags();
      WEIR_TRY(taken.status());
      own = *taken;
      if (!launch.captured) known = streams_.emplace(place.gpu, own).first;
    } else {
      own = known->second;
    }
    mark.begun = own.begun;
    mark.done = own.done;
    mark.passed = own.passed;
    mark.value = launch.captured ? 1 : known->second.calls + 1;
  }
  calls_back_ = calls_back_ || launch.captured;
  launch.calls_back = calls_back_;
  return {};
}

Status Staged::begin(const std::shared_ptr<Launch>& launch) {
  const bool across = launch->calls_back && !launch->captured && ordered_ > 0;
  if (launch->calls_back) {
    std::lock_guard lock(gate_->mutex);
    gate_->expected.push_back(launch);
  }
  for (Launch::Mark& mark : launch->marks) {
    if (!launch->calls_back) {
      WEIR_TRY(parts_.gpu->set(mark.begun, mark.value, mark.stream));
    } else {
      // Calls on one communicator keep their order, on whichever streams.
      if (across && mark.stream != last_) WEIR_TRY(parts_.gpu->await(order_, ordered_, mark.stream));
      WEIR_TRY(parts_.gpu->call(&Launch::arrive, &mark, mark.stream));
    }
    if (!launch->captured) streams_.at(mark.stream).calls = mark.value;
  }
  if (launch->captured) return {};
  pending_.fetch_add(1, std::memory_order_relaxed);
  if (!launch->calls_back) return {};
  last_ = launch->marks.back().stream;
  return parts_.gpu->set(order_, ++ordered_, last_);
}

Status Staged::end(const Launch& launch) {
  for (const Launch::Mark& mark : launch.marks) {
    WEIR_TRY(parts_.gpu->await(mark.done, mark.value, mark.stream));
    if (!launch.captured) WEIR_TRY(parts_.gpu->set(mark.passed, mark.value, mark.stream));
  }
  return {};
}

void Staged::leave(const Launch& launch) {
  if (!launch.captured) pending_.fetch_sub(1, std::memory_order_release);
}

void Staged::wait_idle() const {
  insist([&](int64_t) { return idle() || parts_.aborted->load(std::memory_order_relaxed); });
}

Status Staged::wait_for_streams(const Launch& launch) const {
  if (launch.calls_back) return {};
  for (const Launch::Mark& mark : launch.marks) {
    insist([&](int64_t) {
      return is_reached(mark.begun, mark.value) || parts_.aborted->load(std::memory_order_relaxed);
    });
  }
  if (!parts_.aborted->load(std::memory_order_relaxed)) return {};
  return {Code::invalid_usage, "the communicator was aborted by ncclCommAbort"};
}

Status Staged::carry_out(const Launch& launch) {
  WEIR_TRY(wait_for_streams(launch));
  Engine& engine = launch.on_gpu ? *gpu_engine_ : *host_engine_;
  bool pairs_done = false;
  Status status;
  for (size_t i = 0; i < launch.operations.size() && status.ok(); ++i) {
    const Operation& operation = launch.operations[i];
    if (operation.kind != Collective::send_recv) {
      status = carry_out_collective(operation, launch.away[i], engine);
    } else if (!pairs_done) {
      pairs_done = true;
      status = carry_out_pairs(launch.operations, engine);
    }
  }
  // Whatever has happened: when streams go on, nobody uses the caller's memory any more.
  const Status in = engine.in->wait();
  const Status out = engine.out->wait();
  return !status.ok() ? status : in.ok() ? out : in;
}

Status Staged::carry_out_collective(Operation operation, OutOfReach away, Engine& engine) {
  if (operation.reduction.scaling == Reduction::Scaling::premultiply_later)
    WEIR_TRY(read_factor(operation.reduction, operation.type, engine));
  const Cut cut = cut_of(operation, parts_.rank, parts_.ranks);
  if (operation.count == 0) return parts_.run({&operation, 1});
  StagedCollective staged(operation, cut, parts_.rank, away, engine.staging.slots(), *engine.in, *engine.out);
  WEIR_TRY(staged.fill(0));
  for (size_t piece = 0; piece < cut.pieces; ++piece) {
    if (piece + 1 < cut.pieces) WEIR_TRY(staged.fill(piece + 1));
    auto ready = staged.ready(piece);
    WEIR_TRY(ready.status());
    WEIR_TRY(parts_.run({&*ready, 1}));
    staged.drain(piece);
  }
  return engine.out->wait();
}

/// All sends and receives of the call, side by side.
Status Staged::carry_out_pairs(std::span<const Operation> operations, Engine& engine) {
  std::vector<Operation> own;
  for (const Operation& operation : operations)
    if (operation.kind == Collective::send_recv) own.push_back(operation);
  parts_.pairs->use(engine.ferry.get());
  const Status status = parts_.run(own);
  parts_.pairs->use(nullptr);
  WEIR_TRY(status);
  return engine.out->wait();
}

Status Staged::read_factor(Reduction& reduction, DataType type, Engine& engine) {
  const void* from = reduction.factor_address();
  reduction.scaling = Reduction::Scaling::premultiply;
  if (is_away(from)) {
    WEIR_TRY(engine.in->copy(engine.scalar.data(), from, size_of(type)));
    WEIR_TRY(engine.in->wait(engine.in->mark()));
    from = engine.scalar.data();
  }
  std::memcpy(reduction.factor.bits, from, size_of(type));
  return {};
}

}  // namespace weir::core
