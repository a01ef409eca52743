// SPDX-License-Identifier: Apache-2.0

#include "src/core/bootstrap/bootstrap.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <thread>
#include <utility>

#include "src/base/descriptors.h"
#include "src/base/exception.h"
#include "src/base/host.h"
#include "src/base/log.h"
#include "src/base/printable.h"
#include "src/core/bootstrap/bruck.h"
#include "src/core/bootstrap/root_links.h"
#include "src/net/advertised.h"

namespace weir::core {
namespace {

/// The worst case, all ranks in one process: both ends of a rank's connection to the root, and its segment.
constexpr size_t kDescriptorsPerRank = 3;
constexpr int64_t kLingerMs = 600;    ///< long enough that every waiting rank has inquired twice
constexpr int64_t kWillMs = 1000;     ///< time for the rank that watches this one to accept that
constexpr int64_t kDeclineMs = 1000;  ///< time to tell the root that this rank cannot join
constexpr int64_t kVerdictMs = 1000;  ///< time for the root to name the rank that took no message

Bytes encode(const PeerAddress& peer) {
  ByteWriter out;
  out.put(peer.listener).put(peer.host).put(peer.pid).put(peer.process).put_string(peer.hostname);
  out.put(static_cast<uint32_t>(peer.other_listeners.size()));
  for (const SocketAddress& listener : peer.other_listeners) out.put(listener);
  out.put(peer.own_listener).put(peer.network);
  return out.take();
}

Result<std::vector<PeerAddress>> decode(const std::vector<Bytes>& all) {
  std::vector<PeerAddress> peers;
  for (const Bytes& bytes : all) {
    ByteReader in(bytes);
    PeerAddress& peer = peers.emplace_back();
    peer.listener = in.get<SocketAddress>();
    peer.host = in.get<uint64_t>();
    peer.pid = in.get<int32_t>();
    peer.process = in.get<ProcessId>();
    peer.hostname = printable(in.get_string(), kMostPrintedName);
    const size_t others = in.count(sizeof(SocketAddress));
    for (size_t i = 0; i < others; ++i) peer.other_listeners.push_back(in.get<SocketAddress>());
    peer.own_listener = in.get<SocketAddress>();
    peer.network = in.get<uint64_t>();
    if (!in.ok() || !peer.listener.valid()) {
      return Status(Code::remote_error,
                    fmt::format("rank {} sent a malformed listener address", peers.size() - 1));
    }
    if (peer.own_listener.valid() && peer.network == network_identity())
      note_own_address(peer.listener, peer.own_listener);
  }
  return peers;
}

/// Once the root is gone, waiting ranks learn why this rank failed only from its listener, so it keeps
/// answering.
void answer_for_a_while(Activity& activity, const Status& status, const std::atomic<bool>* abort) {
  activity.fail({-1, status});
  const Deadline deadline = Deadline::in_ms(kLingerMs, abort);
  while (!deadline.over()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

/// The first exchange, in which all ranks learn all addresses; the root monitors it.
Result<std::vector<PeerAddress>> meet(const Bootstrap::Spec& spec, RootLinks& root, const Activity& activity,
                                      const PeerAddress& own, MessageConnections& connections) {
  const root_wire::Listeners& listeners = *root.listeners();
  BruckSpec exchange;
  exchange.listener = spec.listener.get();
  exchange.connections = &connections;
  exchange.uid = listeners.uid;
  exchange.rank = spec.rank;
  exchange.ranks = spec.ranks;
  // The root notices who does not answer. This only ends the wait for one that does, but takes nothing.
  exchange.send_ms = std::max(spec.timeouts.init_ms, spec.timeouts.peer_ms);
  exchange.abort = spec.abort;
  exchange.listener_of = [&](Rank to) {
    const auto distance = static_cast<unsigned>((spec.rank - to + spec.ranks) % spec.ranks);
    const auto index = static_cast<size_t>(std::countr_zero(distance));
    if (index >= listeners.below.size()) return SocketAddress();
    const root_wire::Listeners::Entry& entry = listeners.below[index];
    if (entry.own.valid() && entry.network == network_identity()) note_own_address(entry.listener, entry.own);
    return entry.listener;
  };
  const auto serve = [&](int wait_ms) {
    if (activity.starved())
      return Status::shortage("this process has no memory left for a message of another rank");
    return activity.failed() ? activity.status() : root.serve(wait_ms);
  };
  exchange.while_waiting = [&](Rank, int64_t) { return serve(0); };
  exchange.broken = [&](Rank to, const Status& status) {
    if (status.is_shortage()) return status;
    const Deadline verdict = Deadline::in_ms(kVerdictMs, spec.abort);
    while (!verdict.over()) WEIR_TRY(serve(20));
    return Status(status.code(),
                  fmt::format("rank {} cannot be reached while joining: {}", to, status.message()));
  };
  auto all = bruck_all_gather(exchange, encode(own));
  WEIR_TRY(all.status());
  return decode(*all);
}

}  // namespace

/// Takes part in communicator `uid` during its lifetime: others may ask what this rank does there, and tell
/// it of failures.
struct Bootstrap::Membership {
  Membership(const Spec& spec, uint64_t number)
      : uid(number),
        rank(spec.rank),
        activities(*spec.activities),
        listener(spec.listener),
        activity(activities.enter(uid, rank)) {}
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;
  ~Membership() {
    (void)guarded([this] {
      activities.leave(uid, rank);
      return Status();
    });
    (void)guarded([this] {
      listener->forget(uid, rank);
      return Status();
    });
  }

  const uint64_t uid;
  const Rank rank;
  ActivityRegistry& activities;
  const std::shared_ptr<Listener> listener;
  const std::shared_ptr<Activity> activity;
};

Bootstrap::Bootstrap(const Spec& spec, std::unique_ptr<Membership> membership, std::vector<PeerAddress> peers,
                     MessageConnections connections)
    : spec_(spec),
      uid_(membership->uid),
      rank_(spec.rank),
      membership_(std::move(membership)),
      activity_(membership_->activity),
      watchdog_(std::make_unique<Watchdog>(
          Watchdog::Spec{uid_, spec.rank, spec.all_gathers->share(uid_, std::move(peers)), spec.activities,
                         activity_, spec.timeouts, spec.abort, spec.credentials()})),
      ranks_by_process_(RanksByProcess::of(this->peers(), rank_)),
      connections_(std::move(connections)) {
  if (rank_ != ranks_by_process_.speaker) connections_.close();  // it sends nothing any more
}

Bootstrap::~Bootstrap() {
  will_.reset();  // it does not die, it leaves
  membership_.reset();
}

/// What the root, and through it the other ranks, get to know of the rank before it joins.
root_wire::Hello Bootstrap::hello_of(const Spec& spec) {
  root_wire::Hello hello;
  hello.nonce = spec.id.nonce;
  hello.rank = spec.rank;
  hello.ranks = spec.ranks;
  if (spec.own_root) {
    hello.nonce = spec.own_root->id.nonce;
    hello.root = spec.own_root->place;
    hello.roots = spec.own_root->roots;
    hello.list = spec.own_root->list;
  }
  hello.peer = {{}, spec.host, static_cast<int32_t>(getpid()), short_hostname()};
  hello.peer.process = own_process_id();
  if (spec.listener == nullptr) return hello;
  const std::vector<SocketAddress>& listeners = spec.listener->addresses();
  hello.peer.listener = spec.listener->address();
  const SocketAddress own = own_address_of(hello.peer.listener);
  if (own != hello.peer.listener) {
    hello.peer.own_listener = own;
    hello.peer.network = network_identity();
  }
  hello.peer.other_listeners.assign(listeners.begin() + 1, listeners.end());
  return hello;
}

void Bootstrap::decline(const Spec& spec, const Status& why) {
  (void)guarded([&]() -> Status {
    Timeouts brief = spec.timeouts;
    brief.init_ms = brief.peer_ms = std::min(kDeclineMs, spec.timeouts.peer_ms);
    root_wire::Hello hello = hello_of(spec);
    hello.purpose = root_wire::Purpose::declines;
    hello.nonce = spec.id.nonce;
    auto opened = RootLink::open(spec.id, spec.credentials(), hello, brief, spec.abort);
    WEIR_TRY(opened.status());
    (*opened)->leave(Status(Code::remote_error, fmt::format("{} cannot join: {}",
                                                            hello.peer.describe(spec.rank), why.message())));
    if (spec.roots != nullptr) spec.roots->wait_until_told(spec.id, spec.abort);
    return {};
  });
}

Result<std::unique_ptr<Bootstrap>> Bootstrap::join(const Spec& spec) {
  if (spec.id.fixed && spec.rank == 0)
    WEIR_TRY(spec.roots->start_fixed(spec.id, spec.credentials(), spec.timeouts, spec.abort));
  root_wire::Hello hello;
  std::unique_ptr<RootLinks> root;
  const Status met = guarded([&]() -> Status {
    allow_descriptors(kDescriptorsPerRank * static_cast<size_t>(std::max(spec.ranks, 1)));
    // Without random bytes neither side of any connection could prove anything.
    WEIR_TRY(random_challenge().status());
    hello = hello_of(spec);
    // Before other ranks get this listener's address:
    spec.listener->admit(job_key_of(spec.id), spec.credentials());
    auto opened = RootLinks::open(spec, hello);
    WEIR_TRY(opened.status());
    root = std::move(*opened);
    return {};
  });
  if (met.is_shortage()) decline(spec, met);
  WEIR_TRY(met);
  std::unique_ptr<Bootstrap> joined;
  WEIR_TRY(guarded([&] { return join_through(spec, hello.peer, *root, joined); },
                   [&](const Status& thrown) { root->leave(thrown); }));
  return joined;
}

Status Bootstrap::join_through(const Spec& spec, const PeerAddress& own, RootLinks& root,
                               std::unique_ptr<Bootstrap>& joined) {
  while (!root.listeners()) {
    if (const Status status = root.serve(50); !status.ok()) {
      root.leave(status);
      return status;
    }
  }
  auto membership = std::make_unique<Membership>(spec, root.listeners()->uid);
  Activity& activity = *membership->activity;  // from now on others may tell this rank of a failure
  MessageConnections connections(spec.credentials());
  auto peers = meet(spec, root, activity, own, connections);
  while (peers.ok() && root.is_needed()) {
    const Status status = activity.failed() ? activity.status() : root.serve(50);
    if (!status.ok()) peers = status;
  }
  if (!peers.ok()) {
    root.leave(peers.status());
    const bool others_know = root.was_told() || activity.failed();
    if (!others_know && peers.status().code() == Code::remote_error)
      answer_for_a_while(activity, peers.status(), spec.abort);
    return peers.status();
  }
  std::unique_ptr<Bootstrap> made(
      new Bootstrap(spec, std::move(membership), std::move(*peers), std::move(connections)));
  root.leave({});
  WEIR_INFO(bootstrap, "rank {} of {} has joined communicator {:#x}; its address is {}", spec.rank,
            spec.ranks, made->uid(), spec.listener->address().text());
  joined = std::move(made);
  return {};
}

Result<std::unique_ptr<Bootstrap>> Bootstrap::subset(const Bootstrap& parent,
                                                     const std::vector<Rank>& members, uint64_t uid,
                                                     const std::atomic<bool>* abort) {
  Spec spec = parent.spec_;
  spec.abort = abort;
  spec.ranks = static_cast<int>(members.size());
  spec.rank = -1;
  std::vector<PeerAddress> peers;
  for (const Rank member : members) {
    if (member < 0 || member >= parent.size()) {
      return Status(Code::invalid_argument,
                    fmt::format("rank {} is not in a communicator of {} ranks", member, parent.size()));
    }
    if (member == parent.rank()) spec.rank = static_cast<Rank>(peers.size());
    peers.push_back(parent.peers()[static_cast<size_t>(member)]);
  }
  if (spec.rank < 0) {
    return Status(Code::invalid_argument,
                  fmt::format("rank {} is not among the {} members of the new communicator", parent.rank(),
                              spec.ranks));
  }
  return std::unique_ptr<Bootstrap>(new Bootstrap(spec, std::make_unique<Membership>(spec, uid),
                                                  std::move(peers), MessageConnections(spec.credentials())));
}

Result<std::shared_ptr<GatherResult>> Bootstrap::gather(BytesView own) {
  const auto number = static_cast<uint32_t>(++exchanges_);
  const std::shared_ptr<BootstrapAllGathers::Meeting> meeting = spec_.all_gathers->enter(uid_, number);
  activity_->exchange();
  {
    const std::lock_guard lock(meeting->mutex);
    meeting->said.emplace(rank_, Bytes(own.begin(), own.end()));
    if (rank_ == ranks_by_process_.speaker) meeting->expected = ranks_by_process_.here.size();
    if (meeting->said.size() == meeting->expected) meeting->came.notify_one();
  }
  Result<std::shared_ptr<GatherResult>> all = std::shared_ptr<GatherResult>();
  if (rank_ != ranks_by_process_.speaker) {
    all = listen(*meeting);
  } else if (const Status came = await_process(*meeting); !came.ok()) {
    all = came;
  } else if (all = speak(meeting->said, number); all.ok()) {  // all have written `said`, so it needs no lock
    const std::lock_guard lock(meeting->mutex);
    meeting->result = *all;
    meeting->done.notify_all();
  }
  activity_->leave();
  return all;
}

Result<std::vector<Bytes>> Bootstrap::all_gather(BytesView own) {
  auto all = gather(own);
  WEIR_TRY(all.status());
  return (*all)->by_rank();
}

namespace {

/// Pause of a waiting rank between two checks for failures: longer for more ranks in the process.
std::chrono::milliseconds rest_of(int ranks) {
  return std::chrono::milliseconds(std::clamp(ranks / 4, 20, 250));
}

Status aborted_while_waiting(Rank peer) {
  return {Code::invalid_usage, fmt::format("the communicator was aborted while waiting for rank {}", peer)};
}

}  // namespace

/// Waits for the result from the speaker of this process.
Result<std::shared_ptr<GatherResult>> Bootstrap::listen(BootstrapAllGathers::Meeting& meeting) {
  const int64_t start = now_ns();
  std::unique_lock lock(meeting.mutex);
  for (;;) {
    if (meeting.result != nullptr) return meeting.result;
    meeting.done.wait_for(lock, rest_of(size()));
    if (meeting.result != nullptr) return meeting.result;
    lock.unlock();
    if (spec_.abort != nullptr && spec_.abort->load())
      return aborted_while_waiting(ranks_by_process_.speaker);
    WEIR_TRY(watchdog_->examine(ranks_by_process_.speaker, now_ns() - start));
    lock.lock();
  }
}

/// Called by the speaker: waits until all ranks of this process have contributed.
Status Bootstrap::await_process(BootstrapAllGathers::Meeting& meeting) {
  const int64_t start = now_ns();
  std::unique_lock lock(meeting.mutex);
  while (meeting.said.size() < meeting.expected) {
    meeting.came.wait_for(lock, rest_of(size()));
    if (meeting.said.size() == meeting.expected) break;
    const auto missing = *std::ranges::find_if(ranks_by_process_.here,
                                               [&](Rank rank) { return !meeting.said.contains(rank); });
    lock.unlock();
    if (spec_.abort != nullptr && spec_.abort->load()) return aborted_while_waiting(missing);
    WEIR_TRY(watchdog_->examine(missing, now_ns() - start));
    lock.lock();
  }
  return {};
}

/// Called by the speaker: exchanges the contributions of this process's ranks with the other processes.
Result<std::shared_ptr<GatherResult>> Bootstrap::speak(const std::map<Rank, Bytes>& said, uint32_t number) {
  const std::vector<Rank>& speakers = ranks_by_process_.speakers;
  BruckSpec exchange;
  exchange.listener = spec_.listener.get();
  exchange.connections = &connections_;
  exchange.uid = uid_;
  exchange.number = number;
  exchange.members = speakers;
  exchange.rank = static_cast<Rank>(std::ranges::find(speakers, rank_) - speakers.begin());
  exchange.ranks = static_cast<int>(speakers.size());
  exchange.abort = spec_.abort;
  exchange.listener_of = [this](Rank to) { return listener_of(to); };
  exchange.while_waiting = [this](Rank from, int64_t waited_ns) {
    return watchdog_->examine(from, waited_ns);
  };
  exchange.broken = [this](Rank to, const Status& status) { return watchdog_->explain(to, status); };
  ByteWriter own;
  for (const auto& [rank, bytes] : said) own.put(rank).put_bytes(bytes);
  auto bundles = bruck_all_gather(exchange, own.take());
  if (set_up_ || !bundles.ok()) connections_.close();
  WEIR_TRY(bundles.status());
  std::vector<Bytes> all(peers().size());
  size_t came = 0;
  for (size_t i = 0; i < bundles->size(); ++i) {
    ByteReader in((*bundles)[i]);
    for (; in.remaining() > 0 && in.ok(); ++came) {
      const auto rank = static_cast<size_t>(in.get<Rank>());
      Bytes bytes = in.get_bytes();
      if (in.ok() && rank < all.size()) all[rank] = std::move(bytes);
    }
  }
  if (came != all.size()) {
    return Status(
        Code::remote_error,
        fmt::format("a bootstrap all-gather returned data of {} ranks; expected {}", came, all.size()));
  }
  return std::make_shared<GatherResult>(std::move(all));
}

Status Bootstrap::barrier() { return gather({}).status(); }

void Bootstrap::end_set_up() {
  set_up_ = true;
  const std::vector<Rank>& speakers = ranks_by_process_.speakers;
  const auto own = std::ranges::find(speakers, rank_);
  if (speakers.size() < 2 || own == speakers.end()) return connections_.close();
  const Rank watcher = own == speakers.begin() ? speakers.back() : *std::prev(own);
  will_ = std::make_unique<LastWill>(std::exchange(connections_, MessageConnections(credentials())),
                                     listener_of(watcher),
                                     DeliveryKey{uid_, Listener::kLastWill, rank_, watcher});
  const Status watched = will_->leave(ActivityRegistry::last_will(rank_), Deadline::in_ms(kWillMs));
  if (!watched.ok())
    WEIR_INFO(bootstrap, "rank {} does not watch rank {}: {}", watcher, rank_, watched.message());
}

}  // namespace weir::core
