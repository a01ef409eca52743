// SPDX-License-Identifier: Apache-2.0
// Communicators of the C interface: creation, split, queries, finalization, destruction.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "src/api/group.h"
#include "src/api/handle.h"
#include "src/api/nccl_config.h"
#include "src/api/process.h"
#include "src/base/error_log.h"
#include "src/core/communicator/join.h"

namespace weir::api {
namespace {

Status make_id(ncclUniqueId* out) {
  Result<core::UniqueId> id = runtime().make_unique_id();
  if (!id.ok()) return id.status();
  const auto bytes = id->encode();
  static_assert(sizeof(bytes) == sizeof(ncclUniqueId));
  std::memcpy(out, bytes.data(), sizeof(bytes));
  return {};
}

constexpr const char* kGrow = "ncclCommGrow";

struct Init {
  const char* function;
  ncclComm_t* comm;
  int ranks;
  const ncclUniqueId* id;
  int rank;
  const ncclConfig_t* config;
  int device;                  ///< the caller's device number, reported by a rank on host memory
  device::Gpu* gpu = nullptr;  ///< null: the thread's current GPU, if the process uses any
  int ids = 1;                 ///< at `id`
};

Result<core::IdOrigin> origin_of(const Init& init) {
  if (init.ranks < 1 || init.rank < 0 || init.rank >= init.ranks) {
    return Status(Code::invalid_argument,
                  fmt::format("{} : invalid rank requested : {}/{}; expected at least one rank, and "
                              "0 <= rank < nranks",
                              init.function, init.rank, init.ranks));
  }
  core::IdOrigin origin{{}, init.ranks, init.rank};
  for (int i = 0; i < init.ids; ++i) {
    const Result<core::UniqueId> id =
        core::UniqueId::decode({reinterpret_cast<const std::byte*>(init.id + i), sizeof(ncclUniqueId)});
    if (!id.ok()) {
      if (init.ids == 1) return id.status();
      return Status(id.status().code(), fmt::format("{} : commIds[{}] of {}: {}", init.function, i, init.ids,
                                                    id.status().message()));
    }
    if (i == 0) {
      origin.id = *id;
      continue;
    }
    // With NCCL_COMM_ID, ncclGetUniqueId returns the same id each time.
    if (*id == origin.id || std::ranges::find(origin.other_ids, *id) != origin.other_ids.end()) continue;
    if (id->fixed || origin.id.fixed) {
      return Status(
          Code::invalid_argument,
          fmt::format("{} : commIds[{}] was made with another NCCL_COMM_ID than commIds[0]; expected "
                      "ids that ncclGetUniqueId has made with the same one, or without",
                      init.function, i));
    }
    origin.other_ids.push_back(*id);
  }
  return origin;
}

Result<std::unique_ptr<core::Communicator>> make_communicator(const Init& init) {
  Result<core::IdOrigin> origin = origin_of(init);
  if (!origin.ok()) return origin.status();
  Result<core::Config> config = communicator_config(init.config, nullptr);
  if (!config.ok()) return config.status();
  config->gpu = init.gpu;
  return std::make_unique<core::Communicator>(runtime(), std::move(*origin), std::move(*config));
}

Status connect(ncclComm* handle, const char* function) {
  const HandleGuard guard(handle);
  if (!guard) return explain_no_entry(handle, function);
  return set_up(handle, [core = handle->core] { return core->connect(); });
}

/// Makes the handle of a rank, and connects it. `tries`: whether it has got as far as to look for the others.
Status make_rank(const Init& init, bool& tries) {
  say_version();
  if (init.comm == nullptr) return null_argument(init.function, "comm");
  *init.comm = nullptr;
  Result<std::unique_ptr<core::Communicator>> communicator = make_communicator(init);
  if (!communicator.ok()) return communicator.status();
  Result<ncclComm*> handle = create_handle(std::move(*communicator));
  if (!handle.ok()) return handle.status();
  (*handle)->state->device = init.device;
  *init.comm = *handle;  // before it connects, so that another thread can abort it
  Status status = guarded([&] { return connect(*handle, init.function); });
  tries = (*handle)->core->lifecycle().phase() != core::Lifecycle::Phase::created;
  if (!status.ok() && status.code() != Code::in_progress) {
    *init.comm = nullptr;
    if (begin_close(*handle)) end_close(*handle);  // unless ncclCommAbort closes it
  }
  return status;
}

/// Makes one rank. Inside a group it connects at the end of the group, and the caller must free its handle.
Status init_rank(const Init& init) {
  bool tries = false;
  const Status status = guarded([&] { return make_rank(init, tries); });
  if (status.is_shortage() && !tries) {
    (void)guarded([&]() -> Status {
      const Result<core::IdOrigin> origin = origin_of(init);
      WEIR_TRY(origin.status());
      core::decline(runtime(), *origin, status);
      return {};
    });
  }
  return status;
}

std::unique_ptr<core::Communicator> make_child(core::Origin origin, const core::Config& config) {
  return std::make_unique<core::Communicator>(runtime(), std::move(origin), config);
}

/// Connects the child of a split and returns it to the caller. Both are entered: only this thread uses them.
Status connect_child(ncclComm* parent, std::unique_ptr<core::Communicator> child, bool member,
                     ncclComm_t* out) {
  const Status status = child->connect();
  if (!status.ok() && status.code() != Code::in_progress) return status;
  if (!member) {
    if (status.code() == Code::in_progress) parent->state->bystanders.push_back(std::move(child));
    return status;
  }
  Result<ncclComm*> handle = create_handle(std::move(child));
  if (!handle.ok()) return handle.status();
  (*handle)->state->device = parent->state->device;
  *out = *handle;
  return status;
}

Status split(ncclComm* parent, int color, int key, ncclComm_t* out, const ncclConfig_t* config) {
  constexpr const char* kFunction = "ncclCommSplit";
  if (out == nullptr) return null_argument(kFunction, "newcomm");
  *out = nullptr;
  const HandleGuard guard(parent);
  if (!guard) return explain_no_entry(parent, kFunction);
  if (color < 0 && color != NCCL_SPLIT_NOCOLOR) {
    return {
        Code::invalid_argument,
        fmt::format("{} : invalid color {}; expected 0 or more, or NCCL_SPLIT_NOCOLOR", kFunction, color)};
  }
  Result<core::Config> read = communicator_config(config, &parent->core->config());
  if (!read.ok()) return read.status();
  auto job = [parent, color, key, out, config = std::move(*read)] {
    return connect_child(parent, make_child(core::SplitOrigin{parent->core, color, key}, config), color >= 0,
                         out);
  };
  return set_up(parent, std::move(job));
}

/// Checks and sorts the list of excluded ranks.
Result<std::vector<Rank>> read_excluded(const char* function, const int* list, int count, Rank own,
                                        int ranks) {
  const auto wrong = [&](const std::string& what) {
    return Status(Code::invalid_argument, fmt::format("{} : {}", function, what));
  };
  if (count < 1 || count >= ranks)
    return wrong(fmt::format("excludeRanksCount is {}; expected 1 to {}, as there are {} ranks", count,
                             ranks - 1, ranks));
  if (list == nullptr) return wrong("excludeRanksList argument is NULL");
  std::vector<Rank> excluded(list, list + count);
  std::ranges::sort(excluded);
  for (size_t i = 0; i < excluded.size(); ++i) {
    if (excluded[i] < 0 || excluded[i] >= ranks)
      return wrong(fmt::format("excludeRanksList has rank {} (0 <= rank < {})", excluded[i], ranks));
    if (excluded[i] == own)
      return wrong(
          fmt::format("excludeRanksList has rank {}, which is the caller; expected other ranks only", own));
    if (i > 0 && excluded[i] == excluded[i - 1])
      return wrong(fmt::format("excludeRanksList has rank {} twice; expected each once", excluded[i]));
  }
  return excluded;
}

Status shrink(ncclComm* parent, const int* list, int count, ncclComm_t* out, const ncclConfig_t* config,
              int flags) {
  constexpr const char* kFunction = "ncclCommShrink";
  if (out == nullptr) return null_argument(kFunction, "newcomm");
  *out = nullptr;
  const HandleGuard guard(parent);
  if (!guard) return explain_no_entry(parent, kFunction);
  if (flags != NCCL_SHRINK_DEFAULT && flags != NCCL_SHRINK_ABORT) {
    return {Code::invalid_argument,
            fmt::format("{} : invalid shrinkFlags {}; expected NCCL_SHRINK_DEFAULT or NCCL_SHRINK_ABORT",
                        kFunction, flags)};
  }
  Result<std::vector<Rank>> excluded =
      read_excluded(kFunction, list, count, parent->core->rank(), parent->core->size());
  if (!excluded.ok()) return excluded.status();
  Result<core::Config> read = communicator_config(config, &parent->core->config());
  if (!read.ok()) return read.status();
  auto job = [parent, excluded = std::move(*excluded), flags, out, config = std::move(*read)] {
    return connect_child(
        parent, make_child(core::ShrinkOrigin{parent->core, excluded, flags == NCCL_SHRINK_ABORT}, config),
        true, out);
  };
  return set_up(parent, std::move(job));
}

/// ncclCommGrow for a rank of the parent; new ranks join as in any communicator.
Status grow(ncclComm* parent, int ranks, const ncclUniqueId* id, int rank, ncclComm_t* out,
            const ncclConfig_t* config) {
  const HandleGuard guard(parent);
  if (!guard) return explain_no_entry(parent, kGrow);
  if (ranks <= parent->core->size())
    return {Code::invalid_argument, fmt::format("{} : nRanks is {}; expected more than the current {}", kGrow,
                                                ranks, parent->core->size())};
  if (rank != -1)
    return {Code::invalid_argument,
            fmt::format("{} : rank is {}; expected -1 from a rank of the communicator", kGrow, rank)};
  std::optional<ncclUniqueId> given;
  WEIR_TRY(look_at(parent, kGrow, [&](const core::Communicator&, HandleState& state) {
    given = std::exchange(state.given_id, std::nullopt);
  }));
  if (id == nullptr && given) id = &*given;
  std::optional<core::UniqueId> read_id;
  if (id != nullptr) {
    Result<core::UniqueId> read =
        core::UniqueId::decode({reinterpret_cast<const std::byte*>(id), sizeof(ncclUniqueId)});
    if (!read.ok()) return read.status();
    read_id = *read;
  }
  Result<core::Config> read = communicator_config(config, &parent->core->config());
  if (!read.ok()) return read.status();
  auto job = [parent, ranks, read_id, out, config = std::move(*read)] {
    return connect_child(parent, make_child(core::GrowOrigin{parent->core, ranks, read_id}, config), true,
                         out);
  };
  return set_up(parent, std::move(job));
}

Status id_to_grow(ncclComm* comm, ncclUniqueId* out) {
  constexpr const char* kFunction = "ncclCommGetUniqueId";
  if (out == nullptr) return null_argument(kFunction, "uniqueId");
  WEIR_TRY(look_at(comm, kFunction, [](const core::Communicator&, const HandleState&) {}));
  WEIR_TRY(make_id(out));
  return look_at(comm, kFunction,
                 [&](const core::Communicator&, HandleState& state) { state.given_id = *out; });
}

Status revoke(ncclComm* handle, int flags) {
  constexpr const char* kFunction = "ncclCommRevoke";
  const HandleGuard guard(handle);
  if (!guard) return explain_no_entry(handle, kFunction);
  if (flags != NCCL_REVOKE_DEFAULT)
    return {Code::invalid_argument,
            fmt::format("{} : invalid revokeFlags {}; expected NCCL_REVOKE_DEFAULT", kFunction, flags)};
  if (handle->core->lifecycle().revoked())
    return {Code::invalid_argument, fmt::format("{} : the communicator was already revoked", kFunction)};
  return handle->core->revoke();
}

/// The GPUs of the ranks of ncclCommInitAll; all null if the process uses none.
Result<std::vector<device::Gpu*>> gpus_of_all(const char* function, int ranks, const int* devices) {
  std::vector<device::Gpu*> chosen(static_cast<size_t>(ranks), nullptr);
  device::Gpus* const gpus = runtime().gpus();
  if (gpus == nullptr || gpus->of(nullptr) == nullptr) return chosen;
  for (int rank = 0; rank < ranks; ++rank) {
    Result<device::Gpu*> gpu = gpus->at(devices != nullptr ? devices[rank] : rank);
    if (!gpu.ok())
      return Status(gpu.status().code(),
                    fmt::format("{} : no device for rank {} of {} : {}; expected {}", function, rank, ranks,
                                gpu.status().message(),
                                devices != nullptr ? "devices that the process sees"
                                                   : "a device for each rank, or a list that names them"));
    chosen[static_cast<size_t>(rank)] = *gpu;
  }
  return chosen;
}

Status grow_or_join(ncclComm* comm, int ranks, const ncclUniqueId* id, int rank, ncclComm_t* out,
                    const ncclConfig_t* config) {
  if (out == nullptr) return null_argument(kGrow, "newcomm");
  *out = nullptr;
  if (comm != nullptr) return grow(comm, ranks, id, rank, out, config);
  if (id == nullptr)
    return null_argument(kGrow, "comm is NULL, which makes this a new rank, but the uniqueId");
  return init_rank({kGrow, out, ranks, id, rank, config, 0});
}

/// Makes all ranks of one communicator in this thread: a group of init_rank().
Status init_all(ncclComm_t* comms, int ranks, const int* devices) {
  constexpr const char* kFunction = "ncclCommInitAll";
  if (comms == nullptr) return null_argument(kFunction, "comms");
  if (ranks < 0)
    return {Code::invalid_argument,
            fmt::format("{} : invalid device count requested : {}", kFunction, ranks)};
  for (int rank = 0; rank < ranks; ++rank) {
    comms[rank] = nullptr;
    if (devices != nullptr && devices[rank] < 0) {
      return {Code::invalid_argument,
              fmt::format("{} : invalid device {} at position {}", kFunction, devices[rank], rank)};
    }
  }
  if (ranks == 0) return {};
  const auto gpus = gpus_of_all(kFunction, ranks, devices);
  if (!gpus.ok()) return gpus.status();
  ncclUniqueId id;
  WEIR_TRY(make_id(&id));
  WEIR_TRY(run_group([&] {
    for (int rank = 0; rank < ranks; ++rank) {
      const int device = devices != nullptr ? devices[rank] : rank;
      device::Gpu* const gpu = (*gpus)[static_cast<size_t>(rank)];
      WEIR_TRY(init_rank({kFunction, &comms[rank], ranks, &id, rank, nullptr, device, gpu}));
    }
    return Status();
  }));
  return {};
}

/// Waits until nothing runs in the background. Ignores errors: the communicator is freed anyway.
void settle(const core::Communicator& communicator) {
  while (communicator.state().code() == Code::in_progress) usleep(100);
}

Status finalize(ncclComm* handle) {
  constexpr const char* kFunction = "ncclCommFinalize";
  Status status;
  {
    const HandleGuard guard(handle);
    if (!guard) return explain_no_entry(handle, kFunction);
    if (handle->core->lifecycle().revoked())
      return {Code::invalid_argument,
              fmt::format("{} : the communicator was revoked; expected ncclCommDestroy", kFunction)};
    status = handle->core->finalize();
  }
  mark_finalized(handle);
  return status;
}

Status destroy(ncclComm* handle) {
  if (!begin_close(handle)) return explain_no_entry(handle, "ncclCommDestroy");
  wait_until_outside(handle);
  (void)handle->core->finalize();
  settle(*handle->core);
  end_close(handle);
  return {};
}

Status abort(ncclComm* handle) {
  if (!begin_close(handle)) return explain_no_entry(handle, "ncclCommAbort");
  handle->core->abort();
  wait_until_outside(handle);
  settle(*handle->core);
  end_close(handle);
  return {};
}

/// Queries a communicator, even while another thread is inside.
template <typename T, typename Look>
ncclResult_t ask(ncclComm_t comm, const char* function, const char* name, T* out, Look look) {
  if (comm != nullptr && out == nullptr) return report([&] { return null_argument(function, name); });
  return report([&] {
    return look_at(comm, function, [&](const core::Communicator& core, const HandleState& state) {
      *out = look(core, state);
    });
  });
}

/// Where no call is made, no call says why the communicator has failed.
void say_failure(const Status& state, std::atomic<bool>& said) {
  if (state.ok() || state.code() == Code::in_progress || said.exchange(true)) return;
  const std::string_view last = last_error();
  if (last.empty() || !state.message().starts_with(last)) log_error(state.message());
}

}  // namespace
}  // namespace weir::api

using namespace weir;
using namespace weir::api;

ncclResult_t pncclGetUniqueId(ncclUniqueId* uniqueId) {
  return report([&] {
    say_version();
    return uniqueId == nullptr ? null_argument("ncclGetUniqueId", "uniqueId") : make_id(uniqueId);
  });
}
WEIR_WEAK_ALIAS(ncclGetUniqueId);

ncclResult_t pncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank) {
  return finish([&] { return init_rank({"ncclCommInitRank", comm, nranks, &commId, rank, nullptr, 0}); });
}
WEIR_WEAK_ALIAS(ncclCommInitRank);

ncclResult_t pncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank,
                                     ncclConfig_t* config) {
  return finish([&] {
    return init_rank({"ncclCommInitRankConfig", comm, nranks, &commId, rank, config, 0});
  });
}
WEIR_WEAK_ALIAS(ncclCommInitRankConfig);

ncclResult_t pncclCommInitRankScalable(ncclComm_t* newcomm, int nranks, int myrank, int nId,
                                       ncclUniqueId* commIds, ncclConfig_t* config) {
  constexpr const char* kFunction = "ncclCommInitRankScalable";
  if (commIds == nullptr) return finish([&] { return null_argument(kFunction, "commIds"); });
  if (nId < 1 || nId > nranks) {
    return finish([&] {
      return Status(
          Code::invalid_argument,
          fmt::format("{} : invalid nId {}; expected 1 to nranks, which is {}", kFunction, nId, nranks));
    });
  }
  return finish([&] {
    return init_rank({kFunction, newcomm, nranks, commIds, myrank, config, 0, nullptr, nId});
  });
}
WEIR_WEAK_ALIAS(ncclCommInitRankScalable);

ncclResult_t pncclCommInitAll(ncclComm_t* comm, int ndev, const int* devlist) {
  return finish([&] { return init_all(comm, ndev, devlist); });
}
WEIR_WEAK_ALIAS(ncclCommInitAll);

ncclResult_t pncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* newcomm, ncclConfig_t* config) {
  return finish([&] { return split(comm, color, key, newcomm, config); });
}
WEIR_WEAK_ALIAS(ncclCommSplit);

ncclResult_t pncclCommShrink(ncclComm_t comm, int* excludeRanksList, int excludeRanksCount,
                             ncclComm_t* newcomm, ncclConfig_t* config, int shrinkFlags) {
  return finish(
      [&] { return shrink(comm, excludeRanksList, excludeRanksCount, newcomm, config, shrinkFlags); });
}
WEIR_WEAK_ALIAS(ncclCommShrink);

ncclResult_t pncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId* uniqueId) {
  return report([&] { return id_to_grow(comm, uniqueId); });
}
WEIR_WEAK_ALIAS(ncclCommGetUniqueId);

ncclResult_t pncclCommGrow(ncclComm_t comm, int nRanks, const ncclUniqueId* uniqueId, int rank,
                           ncclComm_t* newcomm, ncclConfig_t* config) {
  return finish([&] { return grow_or_join(comm, nRanks, uniqueId, rank, newcomm, config); });
}
WEIR_WEAK_ALIAS(ncclCommGrow);

ncclResult_t pncclCommRevoke(ncclComm_t comm, int revokeFlags) {
  return comm == nullptr ? ncclSuccess : report([&] { return revoke(comm, revokeFlags); });
}
WEIR_WEAK_ALIAS(ncclCommRevoke);

ncclResult_t pncclCommFinalize(ncclComm_t comm) {
  return comm == nullptr ? ncclSuccess : report([&] { return finalize(comm); });
}
WEIR_WEAK_ALIAS(ncclCommFinalize);

ncclResult_t pncclCommDestroy(ncclComm_t comm) {
  return comm == nullptr ? ncclSuccess : report([&] { return destroy(comm); });
}
WEIR_WEAK_ALIAS(ncclCommDestroy);

ncclResult_t pncclCommAbort(ncclComm_t comm) {
  return comm == nullptr ? ncclSuccess : report([&] { return abort(comm); });
}
WEIR_WEAK_ALIAS(ncclCommAbort);

ncclResult_t pncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError) {
  return ask(comm, "ncclCommGetAsyncError", "asyncError", asyncError,
             [](const core::Communicator& core, const HandleState& state) {
               const Status now = core.state();
               say_failure(now, state.said_failure);
               return static_cast<ncclResult_t>(now.code());
             });
}
WEIR_WEAK_ALIAS(ncclCommGetAsyncError);

ncclResult_t pncclCommCount(const ncclComm_t comm, int* count) {
  return ask(comm, "ncclCommCount", "count", count,
             [](const core::Communicator& core, const HandleState&) { return core.size(); });
}
WEIR_WEAK_ALIAS(ncclCommCount);

ncclResult_t pncclCommCuDevice(const ncclComm_t comm, int* device) {
  return ask(comm, "ncclCommCuDevice", "device", device,
             [](const core::Communicator& core, const HandleState& state) {
               return core.gpu() != nullptr ? core.gpu()->index() : state.device;
             });
}
WEIR_WEAK_ALIAS(ncclCommCuDevice);

ncclResult_t pncclCommUserRank(const ncclComm_t comm, int* rank) {
  return ask(comm, "ncclCommUserRank", "rank", rank,
             [](const core::Communicator& core, const HandleState&) { return core.rank(); });
}
WEIR_WEAK_ALIAS(ncclCommUserRank);
