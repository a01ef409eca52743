// SPDX-License-Identifier: Apache-2.0
// Collectives, sends and receives of the C interface: arguments checked, then handed to the communicator or
// its group.
#include <fmt/format.h>

#include <array>
#include <limits>
#include <string>
#include <utility>

#include "src/api/collective.h"
#include "src/api/group.h"
#include "src/api/handle.h"
#include "src/api/operators.h"
#include "src/api/pointers.h"
#include "src/api/process.h"
#include "src/api/stream.h"
#include "src/core/communicator/loaded_algorithms.h"

namespace weir::api {
namespace {

const char* name_of(const core::CollectiveOp& call) {
  static constexpr std::array<const char*, kCollectives - 1> kNames = {
      "ncclAllReduce",     "ncclReduce",   "ncclBroadcast", "ncclAllGather",
      "ncclReduceScatter", "ncclAlltoAll", "ncclGather",    "ncclScatter"};
  if (call.plan != nullptr && core::was_loaded(*call.plan)) return "mscclRunAlgo";
  return call.bias != nullptr ? "ncclAllReduceWithBias" : kNames[static_cast<size_t>(call.kind)];
}
constexpr const char* name_of(const core::SendOp&) { return "ncclSend"; }
constexpr const char* name_of(const core::RecvOp&) { return "ncclRecv"; }

constexpr const void* buffer_of(const core::SendOp& call) { return call.input; }
constexpr const void* buffer_of(const core::RecvOp& call) { return call.output; }
constexpr const char* buffer_name(const core::SendOp&) { return "sendbuff"; }
constexpr const char* buffer_name(const core::RecvOp&) { return "recvbuff"; }

using core::has_many_in;

/// Whether the output has a block of `count` elements for each rank.
constexpr bool has_many_out(Collective kind) {
  return kind == Collective::all_gather || kind == Collective::all_to_all || kind == Collective::gather;
}

/// Whether the larger buffer has a block of `count` elements for each rank.
constexpr bool has_blocks(Collective kind) { return has_many_in(kind) || has_many_out(kind); }

constexpr bool writes_output(const core::CollectiveOp& call, int rank) {
  return (call.kind != Collective::reduce && call.kind != Collective::gather) || rank == call.root;
}

constexpr bool is_type(int type) { return static_cast<unsigned>(type) < kDataTypes; }
constexpr bool is_rank(int rank, int ranks) { return rank >= 0 && rank < ranks; }

inline bool fits(size_t count, DataType type, int blocks) {
  constexpr size_t kMost = std::numeric_limits<ptrdiff_t>::max();
  size_t bytes = 0;
  return !__builtin_mul_overflow(count, size_of(type) * static_cast<size_t>(blocks), &bytes) &&
         bytes <= kMost;
}
inline bool fits(const core::CollectiveOp& call, int ranks) {
  return fits(call.count, call.type, has_blocks(call.kind) ? ranks : 1);
}

/// Whether the result would overwrite the bias before it is read. REQUIRES: fits().
inline bool overwrites_bias(const core::CollectiveOp& call) {
  if (call.bias == nullptr) [[likely]]
    return false;
  const auto bias = reinterpret_cast<uintptr_t>(call.bias), out = reinterpret_cast<uintptr_t>(call.output);
  const size_t bytes = call.count * size_of(call.type);
  return bias < out + bytes && out < bias + bytes;
}

/// Whether the buffers overlap otherwise than in place: then a rank's result would overwrite what it or a
/// peer still reads. REQUIRES: fits().
inline bool overlaps(const core::CollectiveOp& call, int ranks, int rank) {
  const auto in = reinterpret_cast<uintptr_t>(call.input), out = reinterpret_cast<uintptr_t>(call.output);
  const size_t block = call.count * size_of(call.type);
  const size_t in_bytes = block * static_cast<size_t>(has_many_in(call.kind) ? ranks : 1);
  const size_t out_bytes = block * static_cast<size_t>(has_many_out(call.kind) ? ranks : 1);
  if (in >= out + out_bytes || out >= in + in_bytes || !reads_input(call, rank) || !writes_output(call, rank))
      [[likely]]
    return false;
  // nccl-tests measures an all-to-all in place; like NCCL, this promises nothing about its result.
  if (call.kind == Collective::all_to_all) return in != out;
  const size_t own = block * static_cast<size_t>(rank);
  return in + (has_many_in(call.kind) ? own : 0) != out + (has_many_out(call.kind) ? own : 0);
}

/// `type`: the number that call.type was made of; callers may pass any.
inline bool is_valid(const core::CollectiveOp& call, int type, int ranks, int rank) {
  return is_type(type) && (!has_root(call.kind) || is_rank(call.root, ranks)) && fits(call, ranks) &&
         !overwrites_bias(call) && !overlaps(call, ranks, rank) &&
         (call.count == 0 || ((call.input != nullptr || !reads_input(call, rank)) &&
                              (call.output != nullptr || !writes_output(call, rank))));
}

template <typename Pair>
bool is_valid(const Pair& call, int type, int ranks) {
  return is_type(type) && is_rank(call.peer, ranks) && fits(call.count, call.type, 1) &&
         (call.count == 0 || buffer_of(call) != nullptr);
}

Status invalid_type(const char* function, int type) {
  return {Code::invalid_argument,
          fmt::format("{} : invalid type {}; expected 0 to {}", function, type, kDataTypes - 1)};
}

/// `what`: "root" or "peer".
Status invalid_rank(const char* function, const char* what, int rank, int ranks) {
  return {Code::invalid_argument,
          fmt::format("{} : invalid {} {} (0 <= {} < {})", function, what, rank, what, ranks)};
}

Status invalid_count(const char* function, size_t count, DataType type, const std::string& times = "") {
  return {Code::invalid_argument,
          fmt::format("{} : invalid count {}: no buffer can hold so many elements of type {}{}", function,
                      count, weir::name(type), times)};
}

Status null_buffer(const char* function, const char* buffer, size_t count) {
  return {Code::invalid_argument, fmt::format("{} : {} is NULL, with count {}", function, buffer, count)};
}

/// Where the buffers of a call in place are.
const char* in_place_words(Collective kind) {
  if (kind == Collective::all_to_all) return "two buffers";
  if (has_many_in(kind)) return "recvbuff to be this rank's block of sendbuff";
  return has_many_out(kind) ? "sendbuff to be this rank's block of recvbuff" : "the same address";
}

/// The error for arguments that is_valid() refuses.
Status explain_invalid(const core::CollectiveOp& call, int type, int ranks, int rank) {
  const char* const name = name_of(call);
  if (!is_type(type)) return invalid_type(name, type);
  if (has_root(call.kind) && !is_rank(call.root, ranks)) return invalid_rank(name, "root", call.root, ranks);
  if (!fits(call, ranks))
    return invalid_count(name, call.count, call.type,
                         has_blocks(call.kind) ? fmt::format(" times {} ranks", ranks) : "");
  if (overwrites_bias(call))
    return {Code::invalid_argument,
            fmt::format("{} : acc overlaps recvbuff; expected a buffer of its own", name)};
  if (overlaps(call, ranks, rank))
    return {Code::invalid_argument,
            fmt::format(
                "{} : sendbuff {} and recvbuff {} overlap, but not as in a call in place; expected {}, or "
                "buffers that do not overlap",
                name, call.input, fmt::ptr(call.output), in_place_words(call.kind))};
  const bool no_input = call.input == nullptr && reads_input(call, rank);
  return null_buffer(name, no_input ? "sendbuff" : "recvbuff", call.count);
}

template <typename Pair>
Status explain_invalid(const Pair& call, int type, int ranks) {
  if (!is_type(type)) return invalid_type(name_of(call), type);
  if (!is_rank(call.peer, ranks)) return invalid_rank(name_of(call), "peer", call.peer, ranks);
  if (!fits(call.count, call.type, 1)) return invalid_count(name_of(call), call.count, call.type);
  return null_buffer(name_of(call), buffer_name(call), call.count);
}

/// Checks the buffers for NCCL_CHECK_POINTERS. Not in a process that uses GPUs: only the driver knows their
/// memory.
Status check_pointers(const core::CollectiveOp& call, const core::Communicator& communicator) {
  if (communicator.gpus() != nullptr || call.count == 0) return {};
  const int rank = communicator.rank();
  const size_t block = call.count * size_of(call.type);
  const size_t blocks = static_cast<size_t>(communicator.size());
  if (reads_input(call, rank))
    WEIR_TRY(
        check_buffer(name_of(call), "sendbuff", call.input, block * (has_many_in(call.kind) ? blocks : 1)));
  if (!writes_output(call, rank)) return {};
  return check_buffer(name_of(call), "recvbuff", call.output, block * (has_many_out(call.kind) ? blocks : 1));
}

template <typename Pair>
Status check_pointer(const Pair& call, const core::Communicator& communicator) {
  if (communicator.gpus() != nullptr || call.count == 0) return {};
  return check_buffer(name_of(call), buffer_name(call), buffer_of(call), call.count * size_of(call.type));
}

/// Issues a collective that is not plain: with a stream, a user's operator, or in a process that uses a GPU.
/// REQUIRES: `operation` is a checked collective.
Status issue_special(core::Operation& operation, int op, ncclComm* comm, cudaStream_t stream) {
  auto& call = std::get<core::CollectiveOp>(operation);
  const int rank = comm->core->rank();
  if (call.bias != nullptr && comm->core->gpus() != nullptr)
    return not_offered("ncclAllReduceWithBias with a bias, in a process that uses GPUs,",
                       "use ncclAllReduce and add the bias afterwards");
  if (reduces(call.kind))
    WEIR_TRY(find_reduction(*comm->state, op, call.type, name_of(call), call.reduction));
  const void* const scalar = call.reduction.factor_at;
  std::shared_ptr<device::HostStream> host;
  const auto place = place_of(*comm->core, stream,
                              {call.count > 0 && reads_input(call, rank) ? call.input : nullptr,
                               call.count > 0 && writes_output(call, rank) ? call.output : nullptr, scalar},
                              name_of(call), host);
  WEIR_TRY(place.status());
  if (scalar != nullptr && !place->on_gpu) {
    if (stream != nullptr) return device_scalar_on_stream(name_of(call));
    call.reduction.read_factor(call.type);
  }
  return run_or_add(comm, std::move(operation), *place, std::move(host));
}

/// Writes a collective where it will be read, field by field: reading a struct just after copying it would
/// stall. REQUIRES: `operation` is new.
inline core::CollectiveOp& fill(core::Operation& operation, Collective kind, const void* input, void* output,
                                size_t count, int root = 0) {
  auto& call = *std::get_if<core::CollectiveOp>(&operation);
  call.kind = kind;
  call.root = root;
  call.input = input;
  call.output = output;
  call.count = count;
  return call;
}

/// Checks a collective where it lies, and issues it. `type` and `op`: the numbers that the caller passed, of
/// which the operation gets its type and its reduction.
inline Status issue(core::Operation& operation, int type, int op, ncclComm_t comm, cudaStream_t stream) {
  auto& call = *std::get_if<core::CollectiveOp>(&operation);
  call.type = static_cast<DataType>(type);
  const HandleGuard guard(comm);
  if (!guard) [[unlikely]]
    return explain_no_entry(comm, name_of(call));
  if (!is_valid(call, type, comm->core->size(), comm->core->rank())) [[unlikely]]
    return explain_invalid(call, type, comm->core->size(), comm->core->rank());
  if (comm->core->config().check_pointers) [[unlikely]]
    WEIR_TRY(check_pointers(call, *comm->core));
  if (stream != nullptr || comm->core->gpus() != nullptr || (reduces(call.kind) && !is_builtin(op)))
      [[unlikely]]
    return issue_special(operation, op, comm, stream);
  if (reduces(call.kind)) call.reduction = builtin_reduction(op);
  if (ThreadGroup* const group = open_group; group != nullptr) {
    add_to_group(*group, comm, std::move(operation));
    return {};
  }
  return comm->core->run({&operation, 1});
}

/// The error for a single send or receive with the rank itself, which would wait for a counterpart that it
/// cannot have.
Status explain_waiting_for_itself(const char* function, int peer) {
  return {
      Code::invalid_usage,
      fmt::format("{} : peer {} is the caller itself; a send to itself and its receive must be in one group "
                  "(ncclGroupStart, ncclGroupEnd)",
                  function, peer)};
}

/// Checks a send or a receive where it lies, and issues it. REQUIRES: `operation` is a Pair.
template <typename Pair>
Status issue_pair(core::Operation& operation, int type, ncclComm_t comm, cudaStream_t stream) {
  auto& call = *std::get_if<Pair>(&operation);
  call.type = static_cast<DataType>(type);
  const HandleGuard guard(comm);
  if (!guard) [[unlikely]]
    return explain_no_entry(comm, name_of(call));
  if (!is_valid(call, type, comm->core->size())) [[unlikely]]
    return explain_invalid(call, type, comm->core->size());
  if (call.peer == comm->core->rank() && open_group == nullptr) [[unlikely]]
    return explain_waiting_for_itself(name_of(call), call.peer);
  if (comm->core->config().check_pointers) [[unlikely]]
    WEIR_TRY(check_pointer(call, *comm->core));
  if (stream != nullptr || comm->core->gpus() != nullptr) [[unlikely]] {
    std::shared_ptr<device::HostStream> host;
    const auto place =
        place_of(*comm->core, stream, {call.count > 0 ? buffer_of(call) : nullptr}, name_of(call), host);
    WEIR_TRY(place.status());
    return run_or_add(comm, std::move(operation), *place, std::move(host));
  }
  if (ThreadGroup* const group = open_group; group != nullptr) {
    add_to_group(*group, comm, std::move(operation));
    return {};
  }
  return comm->core->run({&operation, 1});
}

}  // namespace

Status issue_collective(const core::CollectiveOp& call, int type, int op, ncclComm_t comm, void* stream) {
  core::Operation operation(call);
  return issue(operation, type, op, comm, static_cast<cudaStream_t>(stream));
}

}  // namespace weir::api

// A function of RCCL, which declares it with hipStream_t; that is a pointer, as cudaStream_t is.
#pragma GCC visibility push(default)
extern "C" {
ncclResult_t ncclAllReduceWithBias(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
                                   cudaStream_t, const void*);
ncclResult_t pncclAllReduceWithBias(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
                                    cudaStream_t, const void*);
}
#pragma GCC visibility pop

using namespace weir;
using namespace weir::api;

ncclResult_t pncclAllReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                            ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  core::Operation operation;
  fill(operation, Collective::all_reduce, sendbuff, recvbuff, count);
  return finish([&] { return issue(operation, number(datatype), number(op), comm, stream); });
}
WEIR_WEAK_ALIAS(ncclAllReduce);

ncclResult_t pncclAllReduceWithBias(const void* sendbuff, void* recvbuff, size_t count,
                                    ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                    cudaStream_t stream, const void* acc) {
  core::Operation operation;
  fill(operation, Collective::all_reduce, sendbuff, recvbuff, count).bias = acc;
  return finish([&] { return issue(operation, number(datatype), number(op), comm, stream); });
}
WEIR_WEAK_ALIAS(ncclAllReduceWithBias);

ncclResult_t pncclReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                         ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  core::Operation operation;
  fill(operation, Collective::reduce, sendbuff, recvbuff, count, root);
  return finish([&] { return issue(operation, number(datatype), number(op), comm, stream); });
}
WEIR_WEAK_ALIAS(ncclReduce);

ncclResult_t pncclBroadcast(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                            int root, ncclComm_t comm, cudaStream_t stream) {
  core::Operation operation;
  fill(operation, Collective::broadcast, sendbuff, recvbuff, count, root);
  return finish([&] { return issue(operation, number(datatype), ncclSum, comm, stream); });
}
WEIR_WEAK_ALIAS(ncclBroadcast);

ncclResult_t pncclBcast(void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                        cudaStream_t stream) {
  return pncclBroadcast(buff, buff, count, datatype, root, comm, stream);
}
WEIR_WEAK_ALIAS(ncclBcast);

ncclResult_t pncclAllGather(const void* sendbuff, void* recvbuff, size_t sendcount, ncclDataType_t datatype,
                            ncclComm_t comm, cudaStream_t stream) {
  core::Operation operation;
  fill(operation, Collective::all_gather, sendbuff, recvbuff, sendcount);
  return finish([&] { return issue(operation, number(datatype), ncclSum, comm, stream); });
}
WEIR_WEAK_ALIAS(ncclAllGather);

ncclResult_t pncclReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                                ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                cudaStream_t stream) {
  core::Operation operation;
  fill(operation, Collective::reduce_scatter, sendbuff, recvbuff, recvcount);
  return finish([&] { return issue(operation, number(datatype), number(op), comm, stream); });
}
WEIR_WEAK_ALIAS(ncclReduceScatter);

ncclResult_t pncclAlltoAll(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                           ncclComm_t comm, cudaStream_t stream) {
  core::Operation operation;
  fill(operation, Collective::all_to_all, sendbuff, recvbuff, count);
  return finish([&] { return issue(operation, number(datatype), ncclSum, comm, stream); });
}
WEIR_WEAK_ALIAS(ncclAlltoAll);

ncclResult_t pncclGather(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                         int root, ncclComm_t comm, cudaStream_t stream) {
  core::Operation operation;
  fill(operation, Collective::gather, sendbuff, recvbuff, count, root);
  return finish([&] { return issue(operation, number(datatype), ncclSum, comm, stream); });
}
WEIR_WEAK_ALIAS(ncclGather);

ncclResult_t pncclScatter(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                          int root, ncclComm_t comm, cudaStream_t stream) {
  core::Operation operation;
  fill(operation, Collective::scatter, sendbuff, recvbuff, count, root);
  return finish([&] { return issue(operation, number(datatype), ncclSum, comm, stream); });
}
WEIR_WEAK_ALIAS(ncclScatter);

ncclResult_t pncclSend(const void* sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                       cudaStream_t stream) {
  core::Operation operation(std::in_place_type<core::SendOp>);
  auto& call = *std::get_if<core::SendOp>(&operation);
  call.input = sendbuff;
  call.count = count;
  call.peer = peer;
  return finish([&] { return issue_pair<core::SendOp>(operation, number(datatype), comm, stream); });
}
WEIR_WEAK_ALIAS(ncclSend);

ncclResult_t pncclRecv(void* recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                       cudaStream_t stream) {
  core::Operation operation(std::in_place_type<core::RecvOp>);
  auto& call = *std::get_if<core::RecvOp>(&operation);
  call.output = recvbuff;
  call.count = count;
  call.peer = peer;
  return finish([&] { return issue_pair<core::RecvOp>(operation, number(datatype), comm, stream); });
}
WEIR_WEAK_ALIAS(ncclRecv);
