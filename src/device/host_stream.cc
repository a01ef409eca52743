// SPDX-License-Identifier: Apache-2.0

#include "src/device/host_stream.h"

#include "src/base/clock.h"
#include "src/base/contention.h"
#include "src/base/exception.h"
#include "src/base/service_thread.h"
#include "src/base/time_slice.h"

namespace weir::device {
namespace {

constexpr size_t kFirstPlaces = 16;
constexpr int kLooks = 50;

}  // namespace

template <typename Condition>
bool HostStream::poll_until(Condition condition) {
  for (int look = 0; look < kLooks; ++look) {
    if (condition()) return true;
    if (!try_yield_core()) break;
  }
  return condition();
}

Result<std::unique_ptr<HostStream>> HostStream::create() {
  std::unique_ptr<HostStream> stream(new HostStream);
  stream->ring_.resize(kFirstPlaces);
  Result<std::thread> thread = start_thread(
      "weir-stream", [raw = stream.get()] { raw->work(); }, [](const Status&) {});
  if (!thread.ok()) return thread.status();
  stream->thread_ = std::move(thread.value());
  return stream;
}

HostStream::~HostStream() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_.store(true, std::memory_order_release);
  }
  queued_.notify_one();
  thread_.join();
}

void HostStream::submit(OnceFunction task) {
  {
    const std::lock_guard lock(mutex_);
    const uint64_t end = submitted_.load(std::memory_order_relaxed);
    if (end - taken_ == ring_.size()) {
      std::vector<OnceFunction> larger(2 * ring_.size());
      for (uint64_t i = taken_; i != end; ++i) larger[i % larger.size()] = std::move(ring_[i % ring_.size()]);
      ring_ = std::move(larger);
    }
    ring_[end % ring_.size()] = std::move(task);
    submitted_.store(end + 1, std::memory_order_release);
  }
  queued_.notify_one();
}

void HostStream::work() {
  // Ranks wait for what this thread sends, and it mostly waits itself: it goes before threads that compute.
  ShortTimeSlice time_slice;
  time_slice.ask();
  const auto something = [this] {
    return submitted_.load(std::memory_order_acquire) != taken_ || stop_.load(std::memory_order_acquire);
  };
  while (true) {
    poll_until(something);
    OnceFunction task;
    {
      std::unique_lock lock(mutex_);
      queued_.wait(lock, something);
      if (submitted_.load(std::memory_order_relaxed) == taken_) return;  // stopped, and no task is left
      task = std::move(ring_[taken_ % ring_.size()]);
      ++taken_;
    }
    run_one(std::move(task));
  }
}

void HostStream::run_one(OnceFunction task) {
  Status status = guarded([&] { return task(); });
  task.reset();  // destroy the task before its completion is published
  {
    const std::lock_guard lock(mutex_);
    if (!status.ok() && first_error_.ok()) {
      first_error_ = std::move(status);
      failed_.store(true, std::memory_order_release);
    }
    completed_.fetch_add(1, std::memory_order_release);
  }
  done_.notify_all();
}

Status HostStream::synchronize() {
  if (std::this_thread::get_id() == thread_.get_id()) {
    return Status(Code::invalid_usage,
                  "a task of a stream cannot wait for its own stream: the wait would never end");
  }
  const uint64_t target = submitted_.load(std::memory_order_acquire);
  const auto reached = [this, target] { return completed_.load(std::memory_order_acquire) >= target; };
  if (!poll_until(reached)) {
    std::unique_lock lock(mutex_);
    done_.wait(lock, reached);
  }
  if (!failed_.load(std::memory_order_acquire)) return {};
  const std::lock_guard lock(mutex_);
  return first_error_;
}

Status HostStream::query() const {
  if (failed_.load(std::memory_order_acquire)) {
    const std::lock_guard lock(mutex_);
    return first_error_;
  }
  // completed_ is read first: then the stream can only look busier than it is, never idle too early.
  const uint64_t completed = completed_.load(std::memory_order_acquire);
  if (completed != submitted_.load(std::memory_order_acquire))
    return Status(Code::in_progress, "the stream is busy");
  return {};
}

/// A recorded position in a stream. Shared by the event, the task that reaches the position, and the waiting
/// threads.
struct HostEvent::Mark {
  std::mutex mutex;
  std::condition_variable reached;
  bool done = false;
  int64_t at_ns = 0;

  void reach() {
    {
      const std::lock_guard lock(mutex);
      done = true;
      at_ns = now_ns();
    }
    reached.notify_all();
  }
  bool is_done() {
    const std::lock_guard lock(mutex);
    return done;
  }
  void wait() {
    std::unique_lock lock(mutex);
    reached.wait(lock, [this] { return done; });
  }
};

std::shared_ptr<HostEvent::Mark> HostEvent::mark() const {
  const std::lock_guard lock(mutex_);
  return mark_;
}

void HostEvent::record(HostStream* stream) {
  auto fresh = std::make_shared<Mark>();
  {
    const std::lock_guard lock(mutex_);
    mark_ = fresh;
  }
  if (stream == nullptr) return fresh->reach();
  stream->submit([fresh] {
    fresh->reach();
    return Status();
  });
}

Status HostEvent::query() const {
  const auto current = mark();
  if (current == nullptr || current->is_done()) return {};
  return Status(Code::in_progress, "the stream has not reached the event yet");
}

void HostEvent::synchronize() const {
  if (const auto current = mark(); current != nullptr) current->wait();
}

void HostEvent::hold(HostStream* stream) const {
  const auto current = mark();
  if (current == nullptr) return;
  if (stream == nullptr) return current->wait();
  stream->submit([current] {
    current->wait();
    return Status();
  });
}

Result<float> HostEvent::elapsed_ms(const HostEvent& start, const HostEvent& stop) {
  const auto from = start.mark();
  const auto to = stop.mark();
  if (from == nullptr || to == nullptr) {
    return Status(Code::invalid_usage,
                  "cannot compute the time between two events: one of them was never recorded");
  }
  if (!from->is_done() || !to->is_done()) {
    return Status(Code::in_progress, "one of the streams has not reached its event yet");
  }
  return static_cast<float>(static_cast<double>(to->at_ns - from->at_ns) * 1e-6);
}

}  // namespace weir::device
