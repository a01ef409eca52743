// SPDX-License-Identifier: Apache-2.0

#include "transports/ucx/hub.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "src/base/log.h"
#include "src/base/service_thread.h"

namespace weir::ucx {
namespace {

constexpr auto kPause = std::chrono::microseconds(500);  // between polls of the hub's own thread

/// A header in flight.
struct Told : drivers::UcxOutgoing {
  explicit Told(const Header& header) : header(header) {}
  Header header;
};

}  // namespace

Result<std::unique_ptr<Hub>> Hub::open(Rank self) {
  std::unique_ptr<Hub> hub(new Hub(self));
  auto worker = drivers::make_ucx_worker(
      [hub = hub.get()](BytesView header, BytesView payload) { hub->arrived(header, payload); });
  WEIR_TRY(worker.status());
  hub->worker_ = std::move(*worker);
  return hub;
}

Hub::~Hub() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Hub::see_to(const std::shared_ptr<drivers::UcxOutgoing>& keeper) {
  if (std::find(seen_to_.begin(), seen_to_.end(), keeper) != seen_to_.end()) return;
  seen_to_.push_back(keeper);
  if (!thread_.joinable()) start_work();
  changed_.notify_one();
}

/// Without the thread, messages leave only while this rank is inside calls, so it is tried again at the next
/// message.
void Hub::start_work() {
  auto thread = start_thread(
      "weir ucx", [this] { work(); },
      [](const Status& why) { WEIR_WARN("UCX sends only during calls from now on: {}", why.message()); });
  if (thread.ok()) {
    thread_ = std::move(*thread);
  } else if (!warned_) {
    warned_ = true;
    WEIR_WARN("UCX sends only during calls: {}", thread.status().message());
  }
}

void Hub::work() {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    worker_->progress();
    std::erase_if(seen_to_, [](const auto& keeper) { return keeper->under_way == 0; });
    if (seen_to_.empty())
      changed_.wait(lock, [&] { return ends_ || !seen_to_.empty(); });
    else
      changed_.wait_for(lock, kPause, [&] { return ends_; });
  }
}

void Hub::add(bool receives, Rank peer, uint32_t channel, End& end) {
  const Name name{peer, channel};
  (receives ? receivers_ : senders_)[name] = &end;
  if (!receives) return;
  const auto hello = hellos_.find(name);
  if (hello != hellos_.end() && end.take(hello->second, {})) hellos_.erase(hello);
}

void Hub::remove(bool receives, Rank peer, uint32_t channel, const End& end) {
  auto& ends = receives ? receivers_ : senders_;
  const auto place = ends.find({peer, channel});
  if (place != ends.end() && place->second == &end) ends.erase(place);
}

void Hub::tell(drivers::UcxPeer& peer, Header header) {
  header.from = self_;
  const auto told = std::make_shared<Told>(header);
  worker_->send(peer, std::as_bytes(std::span(&told->header, 1)), {}, told);
  if (told->under_way > 0) see_to(told);
}

void Hub::arrived(BytesView raw, BytesView payload) {
  Header header;
  if (raw.size() != sizeof header) return;  // not sent by this version of weir
  std::memcpy(&header, raw.data(), sizeof header);
  if (header.magic != kMagic) return;
  const Name name{header.from, header.channel};
  auto& ends = is_for_receiver(header.kind) ? receivers_ : senders_;
  const auto end = ends.find(name);
  const bool taken = end != ends.end() && end->second->take(header, payload);
  if (!taken && header.kind == HeaderKind::hello) hellos_[name] = header;
}

}  // namespace weir::ucx
