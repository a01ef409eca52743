// SPDX-License-Identifier: Apache-2.0

#include "python/weir_torch/backend.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <random>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <utility>

#include "python/weir_torch/backends.h"
#include "python/weir_torch/words.h"
#ifdef C10D_BACKEND_HAS_WINDOW
#include "python/weir_torch/window.h"
#endif

namespace weir_torch {
namespace {

constexpr std::array<std::pair<const char*, ncclCommMemStat_t>, 4> kMemoryStats{{
    {"suspend", ncclStatGpuMemSuspend},
    {"suspended", ncclStatGpuMemSuspended},
    {"persist", ncclStatGpuMemPersist},
    {"total", ncclStatGpuMemTotal},
}};

/// A name for this rank that no other rank has.
std::string new_handle() {
  std::random_device random;
  char text[40];
  std::snprintf(text, sizeof(text), "%08x%08x-%d", random(), random(), static_cast<int>(getpid()));
  return text;
}

}  // namespace

Backend::Backend(BackendFacts facts)
    : GroupOperations(facts),
      handle_(new_handle())
#ifdef WEIR_TORCH_HAS_getBackendOptions
      ,
      // Not the title: what says "gloo" here is taken for an object of Gloo's class by DDP.
      options_(c10::make_intrusive<Options>("weir", facts.timeout))
#endif
{
}

Backend::~Backend() { close(); }

void Backend::release_resources() { close(); }

void Backend::close() {
  std::call_once(close_once_, [this] {
    closed_ = true;
    if (members_) members_->close();
  });
}

std::shared_ptr<Membership> Backend::current_members() {
  const std::lock_guard lock(members_mutex_);
  return members_;
}

#ifdef WEIR_TORCH_HAS_getError
c10d::ErrorType Backend::getError() {
  const std::shared_ptr<Membership> members = current_members();
  if (members == nullptr) return c10d::ErrorType::SUCCESS;
  const auto [result, sentence] = members->failure();
  if (result == ncclSuccess) return c10d::ErrorType::SUCCESS;
  if (sentence.find("timed out") != std::string::npos) return c10d::ErrorType::TIMEOUT;
  return result == ncclRemoteError ? c10d::ErrorType::REMOTE_ERROR : c10d::ErrorType::COMM_ERROR;
}
#endif

void Backend::abort() {
  const std::shared_ptr<Membership> members = current_members();
  if (members == nullptr) return;
  context_->aborted_by_user();
  members->abort();
}

#ifdef C10D_BACKEND_HAS_RECONFIGURE
namespace {

Milliseconds timeout_in(const c10::intrusive_ptr<c10d::Backend::Options>& options, Milliseconds otherwise) {
  return options ? options->timeout : otherwise;
}

StorePtr part_of(const StorePtr& store, const std::string& name) {
  return c10::make_intrusive<c10d::PrefixStore>(name, store);
}

}  // namespace

c10::intrusive_ptr<c10d::Backend> Backend::split(const StorePtr& store, const std::vector<int>& ranks,
                                                 const c10::intrusive_ptr<Options>& options) {
  const auto own = std::find(ranks.begin(), ranks.end(), getRank());
  if (own == ranks.end()) return nullptr;
  return create_backend({store, static_cast<int>(own - ranks.begin()), static_cast<int>(ranks.size()),
                         timeout_in(options, context_->timeout()), title_});
}

c10::intrusive_ptr<c10d::Backend> Backend::merge(const StorePtr& store,
                                                 const c10::intrusive_ptr<Options>& options, const int& rank,
                                                 const int& size) {
  return create_backend({store, rank, size, timeout_in(options, context_->timeout()), title_});
}

c10::intrusive_ptr<c10d::Backend> Backend::shrink(const std::vector<int64_t>& without, int flags,
                                                  const c10::intrusive_ptr<Options>& options) {
  std::vector<int> left;
  for (int rank = 0; rank < getSize(); ++rank) {
    if (std::find(without.begin(), without.end(), rank) == without.end()) left.push_back(rank);
  }
  if (left.empty() || std::find(left.begin(), left.end(), getRank()) == left.end())
    refuse("rank " + std::to_string(getRank()) + " was told to leave the group, and called shrink itself");
  const std::string name = "shrunk/" + std::to_string(members().next_group());
  if ((flags & NCCL_SHRINK_ABORT) != 0) abort();
  return split(part_of(store_, name), left, options);
}

WorkPtr Backend::reconfigure(const c10d::ReconfigureOptions& options) {
  std::vector<c10d::ReconfigureHandle> handles;
  std::visit([&](const auto& given) { handles.assign(given.begin(), given.end()); }, options.handles);
  if (options.handles.index() == 0) std::sort(handles.begin(), handles.end());  // a set: any order will do
  const auto own = std::find(handles.begin(), handles.end(), handle_);
  if (own == handles.end())
    refuse("reconfigure was given " + std::to_string(handles.size()) +
           " handles, and none of them is this rank's; expected that of each member");
  check_open();
  std::shared_ptr<Membership> before;
  {
    const std::lock_guard lock(members_mutex_);
    before = std::move(members_);
  }
  if (before != nullptr) {
    before->abort();
    before->close();
  }
  rank_ = static_cast<int>(own - handles.begin());
  size_ = static_cast<int>(handles.size());
  auto now = std::make_shared<Membership>(part_of(store_, "reconfigured/" + std::to_string(options.uuid)),
                                          rank_, size_, context_);
  {
    const std::lock_guard lock(members_mutex_);
    members_ = std::move(now);
  }
  return submit(c10d::OpType::UNKNOWN, "reconfigure", {}, {}, options.timeout.value_or(Milliseconds(-1)),
                [](const Peers& peers) { weir_torch::barrier(peers); });
}
#endif

#ifdef WEIR_TORCH_HAS_registerCompletionHook
void Backend::registerCompletionHook(int64_t id, c10d::CompletionHook hook) {
  context_->add_completion_hook(id, [hook = std::move(hook)](uint64_t key, std::optional<float> took) {
    hook(c10d::CompletionHookArgs{key, took});
  });
}
#endif

#ifdef C10D_BACKEND_HAS_WINDOW
c10::intrusive_ptr<c10d::Window> Backend::new_window(const std::optional<at::Tensor>& tensor) {
  (void)members();  // throws where there are none
  auto issue = [self = c10::intrusive_ptr<Backend>::reclaim_copy(this), before = members_](
                   const char* name, Milliseconds timeout, Body body) {
    if (self->members_ != before) refuse(std::string(name) + ": the group has other members than its window");
    return self->submit(c10d::OpType::UNKNOWN, name, {}, {}, timeout, std::move(body));
  };
  auto window = c10::make_intrusive<Window>(members_, std::move(issue));
  if (tensor) window->tensor_register(*tensor, /*owning=*/true);
  return window;
}
#endif

void Backend::with_communicators(const char* name, Body body) {
  Membership& members = this->members();
  TaskFacts facts{c10d::OpType::UNKNOWN, name, {}, {}, context_->timeout()};
  auto task = c10::make_intrusive<Task>(members.queue(), nullptr, std::move(facts), [&members, body] {
    for (Communicator* each : {&members.communicator(), &members.gpu_communicator()}) {
      if (ncclComm_t comm = each->joined()) body(Peers{*each, comm});
    }
  });
  members.queue()->submit(task);
  task->wait(Milliseconds(0));
}

void Backend::suspend() {
  with_communicators("suspend",
                     [](const Peers& peers) { peers.check(ncclCommSuspend(peers.comm, NCCL_SUSPEND_MEM)); });
}

void Backend::resume() {
  with_communicators("resume", [](const Peers& peers) { peers.check(ncclCommResume(peers.comm)); });
}

std::unordered_map<std::string, uint64_t> Backend::getMemoryStats() {
  std::unordered_map<std::string, uint64_t> bytes;
  with_communicators("memory_stats", [&](const Peers& peers) {
    for (const auto& [name, stat] : kMemoryStats) {
      uint64_t value = 0;
      peers.check(ncclCommMemStats(peers.comm, stat, &value));
      bytes[name] += value;
    }
  });
  return bytes;
}

at::Tensor Backend::allocateTensor(long size, at::TensorOptions options) {  // NOLINT(google-runtime-int)
  if (!options.device().is_cpu())
    refuse("allocate_tensor was asked for a tensor on " + options.device().str() + ", expected the CPU");
  if (size < 0) refuse("allocate_tensor was asked for " + std::to_string(size) + " elements");
  void* memory = nullptr;
  const size_t bytes = static_cast<size_t>(size) * options.dtype().itemsize();
  if (ncclMemAlloc(&memory, std::max<size_t>(bytes, 1)) != ncclSuccess) refuse(ncclGetLastError(nullptr));
  return at::from_blob(
      memory, {size}, [](void* freed) { ncclMemFree(freed); }, options);
}

void Backend::eagerConnectSingleDevice(at::Device device) {
  if (device.is_cpu())
    submit(c10d::OpType::UNKNOWN, "connect", {}, {}, Milliseconds(-1), [](const Peers&) {});
}

void Backend::waitForPendingWorks() { members().wait_for_all(); }

}  // namespace weir_torch
