// SPDX-License-Identifier: Apache-2.0
// Collectives, sends and receives of the C interface: arguments checked, then handed to the communicator or
// its group.
#include <fmt/format.h>

#include <array>
#include <limits>

#include "src/api/group.h"
#include "src/api/handle.h"
#include "src/api/operators.h"
#include "src/api/pointers.h"
#include "src/api/process.h"
#include "src/api/stream.h"

namespace weir::api {
namespace {

/// The unchecked arguments of a call.
struct Call {
  Collective kind;
  bool sends = false;
  const void* input = nullptr;
  void* output = nullptr;
  size_t count = 0;
  int type = ncclInt8;  ///< an ncclDataType_t, and `op` an ncclRedOp_t; callers may pass any number
  int op = ncclSum;
  int root = 0;
  const void* bias = nullptr;  ///< bias of ncclAllReduceWithBias; null: none
};

inline const char* name_of(const Call& call) {
  static constexpr std::array<const char*, kCollectives> kNames = {
      "ncclAllReduce", "ncclReduce", "ncclBroadcast", "ncclAllGather", "ncclReduceScatter",
      "ncclAlltoAll",  "ncclGather", "ncclScatter",   "ncclRecv"};
  if (call.bias != nullptr) return "ncclAllReduceWithBias";
  return call.sends ? "ncclSend" : kNames[static_cast<size_t>(call.kind)];
}

constexpr bool names_a_rank(Collective kind) { return has_root(kind) || kind == Collective::send_recv; }

/// Whether the larger buffer has a block of `count` elements for each rank.
constexpr bool has_blocks(Collective kind) {
  return kind == Collective::all_gather || kind == Collective::reduce_scatter ||
         kind == Collective::all_to_all || kind == Collective::gather || kind == Collective::scatter;
}

constexpr bool reads_input(const Call& call, int rank) {
  switch (call.kind) {
    case Collective::broadcast:
    case Collective::scatter: return rank == call.root;
    case Collective::send_recv: return call.sends;
    default: return true;
  }
}

constexpr bool writes_output(const Call& call, int rank) {
  switch (call.kind) {
    case Collective::reduce:
    case Collective::gather: return rank == call.root;
    case Collective::send_recv: return !call.sends;
    default: return true;
  }
}

inline bool fits(const Call& call, int ranks) {
  constexpr size_t kMost = std::numeric_limits<ptrdiff_t>::max();
  size_t bytes = 0;
  const size_t block =
      size_of(static_cast<DataType>(call.type)) * (has_blocks(call.kind) ? static_cast<size_t>(ranks) : 1);
  return !__builtin_mul_overflow(call.count, block, &bytes) && bytes <= kMost;
}

inline bool is_type(int type) { return static_cast<unsigned>(type) < kDataTypes; }

/// Whether the result would overwrite the bias before it is read. REQUIRES: fits().
inline bool overwrites_bias(const Call& call) {
  if (call.bias == nullptr) [[likely]]
    return false;
  const auto bias = reinterpret_cast<uintptr_t>(call.bias), out = reinterpret_cast<uintptr_t>(call.output);
  const size_t bytes = call.count * size_of(static_cast<DataType>(call.type));
  return bias < out + bytes && out < bias + bytes;
}

inline bool is_valid(const Call& call, int ranks, int rank) {
  return is_type(call.type) && (!names_a_rank(call.kind) || (call.root >= 0 && call.root < ranks)) &&
         fits(call, ranks) && !overwrites_bias(call) &&
         (call.count == 0 || ((call.input != nullptr || !reads_input(call, rank)) &&
                              (call.output != nullptr || !writes_output(call, rank))));
}

/// The error for arguments that is_valid() refuses.
Status explain_invalid(Call call, int ranks) {
  const char* const name = name_of(call);
  if (!is_type(call.type)) {
    return {Code::invalid_argument,
            fmt::format("{} : invalid type {}; expected 0 to {}", name, call.type, kDataTypes - 1)};
  }
  if (names_a_rank(call.kind) && (call.root < 0 || call.root >= ranks)) {
    return {Code::invalid_argument,
            fmt::format("{} : invalid {} {} (0 <= {} < {})", name, has_root(call.kind) ? "root" : "peer",
                        call.root, has_root(call.kind) ? "root" : "peer", ranks)};
  }
  if (!fits(call, ranks)) {
    return {Code::invalid_argument,
            fmt::format("{} : invalid count {}: no buffer can hold so many elements of type {}{}", name,
                        call.count, weir::name(static_cast<DataType>(call.type)),
                        has_blocks(call.kind) ? fmt::format(" times {} ranks", ranks) : "")};
  }
  if (overwrites_bias(call)) {
    return {Code::invalid_argument,
            fmt::format("{} : acc overlaps recvbuff; expected a buffer of its own", name)};
  }
  return {Code::invalid_argument, fmt::format("{} : {} is NULL, with count {}", name,
                                              call.input == nullptr ? "sendbuff" : "recvbuff", call.count)};
}

/// Writes a checked call to `operation`, field by field: reading a struct just after copying it would stall.
inline void fill(const Call& call, core::Operation& operation) {
  operation.kind = call.kind;
  operation.sends = call.sends;
  operation.type = static_cast<DataType>(call.type);
  operation.root = call.root;
  operation.input = call.input;
  operation.output = call.output;
  operation.count = call.count;
  operation.bias = call.bias;
}

/// Checks the buffers for NCCL_CHECK_POINTERS. Not in a process that uses GPUs: only the driver knows their
/// memory.
Status check_pointers(const Call& call, const core::Communicator& communicator) {
  if (communicator.gpus() != nullptr || call.count == 0) return {};
  const int rank = communicator.rank();
  const size_t block = call.count * size_of(static_cast<DataType>(call.type));
  const size_t blocks = static_cast<size_t>(communicator.size());
  const bool many_in = call.kind == Collective::reduce_scatter || call.kind == Collective::all_to_all ||
                       call.kind == Collective::scatter;
  const bool many_out = call.kind == Collective::all_gather || call.kind == Collective::all_to_all ||
                        call.kind == Collective::gather;
  if (reads_input(call, rank))
    WEIR_TRY(check_buffer(name_of(call), "sendbuff", call.input, block * (many_in ? blocks : 1)));
  if (!writes_output(call, rank)) return {};
  return check_buffer(name_of(call), "recvbuff", call.output, block * (many_out ? blocks : 1));
}

/// Issues a call that is not plain: with a stream, a user's operator, or in a process that uses a GPU.
Status issue_special(Call call, ncclComm* comm, cudaStream_t stream) {
  const auto type = static_cast<DataType>(call.type);
  const int rank = comm->core->rank();
  if (call.bias != nullptr && comm->core->gpus() != nullptr)
    return not_offered("ncclAllReduceWithBias with a bias, in a process that uses GPUs,",
                       "use ncclAllReduce and add the bias afterwards");
  core::Reduction reduction;
  const void* scalar = nullptr;
  if (reduces(call.kind)) {
    WEIR_TRY(find_reduction(*comm->state, call.op, type, name_of(call), reduction));
    if (reduction.scaling == core::Reduction::Scaling::premultiply_later) scalar = reduction.factor_address();
  }
  std::shared_ptr<device::HostStream> host;
  const auto place = place_of(*comm->core, stream,
                              {call.count > 0 && reads_input(call, rank) ? call.input : nullptr,
                               call.count > 0 && writes_output(call, rank) ? call.output : nullptr, scalar},
                              name_of(call), host);
  WEIR_TRY(place.status());
  if (scalar != nullptr && !place->on_gpu) {
    if (stream != nullptr) return device_scalar_on_stream(name_of(call));
    read_factor(reduction, type);
  }
  core::Operation alone;
  core::Operation& operation =
      open_group != nullptr ? add_to_group(*open_group, comm, *place, std::move(host)) : alone;
  fill(call, operation);
  operation.reduction = reduction;
  return open_group != nullptr ? Status() : comm->core->run({&operation, 1}, *place);
}

/// Whether a single send or receive with the rank itself would wait for a counterpart that it cannot have.
inline bool waits_for_itself(const Call& call, int rank) {
  return call.kind == Collective::send_recv && call.root == rank && open_group == nullptr;
}

Status explain_waiting_for_itself(const Call& call) {
  return {
      Code::invalid_usage,
      fmt::format("{} : peer {} is the caller itself; a send to itself and its receive must be in one group "
                  "(ncclGroupStart, ncclGroupEnd)",
                  name_of(call), call.root)};
}

inline Status issue(const Call& call, ncclComm_t comm, cudaStream_t stream) {
  const Entry entry(comm);
  if (!entry) [[unlikely]]
    return explain_no_entry(comm, name_of(call));
  if (!is_valid(call, comm->core->size(), comm->core->rank())) [[unlikely]] {
    return explain_invalid(call, comm->core->size());
  }
  if (waits_for_itself(call, comm->core->rank())) [[unlikely]]
    return explain_waiting_for_itself(call);
  if (comm->core->config().check_pointers) [[unlikely]]
    WEIR_TRY(check_pointers(call, *comm->core));
  if (stream != nullptr || comm->core->gpus() != nullptr || (reduces(call.kind) && !is_builtin(call.op)))
      [[unlikely]]
    return issue_special(call, comm, stream);
  ThreadGroup* const group = open_group;
  core::Operation alone;
  core::Operation& operation = group != nullptr ? add_to_group(*group, comm) : alone;
  fill(call, operation);
  if (reduces(call.kind)) operation.reduction = builtin_reduction(call.op);
  return group != nullptr ? Status() : comm->core->run({&operation, 1});
}

}  // namespace
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
  return finish(issue({.kind = Collective::all_reduce,
                       .input = sendbuff,
                       .output = recvbuff,
                       .count = count,
                       .type = number(datatype),
                       .op = number(op)},
                      comm, stream));
}
WEIR_WEAK_ALIAS(ncclAllReduce);

ncclResult_t pncclAllReduceWithBias(const void* sendbuff, void* recvbuff, size_t count,
                                    ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                    cudaStream_t stream, const void* acc) {
  return finish(issue({.kind = Collective::all_reduce,
                       .input = sendbuff,
                       .output = recvbuff,
                       .count = count,
                       .type = number(datatype),
                       .op = number(op),
                       .bias = acc},
                      comm, stream));
}
WEIR_WEAK_ALIAS(ncclAllReduceWithBias);

ncclResult_t pncclReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                         ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  return finish(issue({.kind = Collective::reduce,
                       .input = sendbuff,
                       .output = recvbuff,
                       .count = count,
                       .type = number(datatype),
                       .op = number(op),
                       .root = root},
                      comm, stream));
}
WEIR_WEAK_ALIAS(ncclReduce);

ncclResult_t pncclBroadcast(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                            int root, ncclComm_t comm, cudaStream_t stream) {
  return finish(issue({.kind = Collective::broadcast,
                       .input = sendbuff,
                       .output = recvbuff,
                       .count = count,
                       .type = number(datatype),
                       .root = root},
                      comm, stream));
}
WEIR_WEAK_ALIAS(ncclBroadcast);

ncclResult_t pncclBcast(void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                        cudaStream_t stream) {
  return pncclBroadcast(buff, buff, count, datatype, root, comm, stream);
}
WEIR_WEAK_ALIAS(ncclBcast);

ncclResult_t pncclAllGather(const void* sendbuff, void* recvbuff, size_t sendcount, ncclDataType_t datatype,
                            ncclComm_t comm, cudaStream_t stream) {
  return finish(issue({.kind = Collective::all_gather,
                       .input = sendbuff,
                       .output = recvbuff,
                       .count = sendcount,
                       .type = number(datatype)},
                      comm, stream));
}
WEIR_WEAK_ALIAS(ncclAllGather);

ncclResult_t pncclReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                                ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                cudaStream_t stream) {
  return finish(issue({.kind = Collective::reduce_scatter,
                       .input = sendbuff,
                       .output = recvbuff,
                       .count = recvcount,
                       .type = number(datatype),
                       .op = number(op)},
                      comm, stream));
}
WEIR_WEAK_ALIAS(ncclReduceScatter);

ncclResult_t pncclAlltoAll(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                           ncclComm_t comm, cudaStream_t stream) {
  return finish(issue({.kind = Collective::all_to_all,
                       .input = sendbuff,
                       .output = recvbuff,
                       .count = count,
                       .type = number(datatype)},
                      comm, stream));
}
WEIR_WEAK_ALIAS(ncclAlltoAll);

ncclResult_t pncclGather(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                         int root, ncclComm_t comm, cudaStream_t stream) {
  return finish(issue({.kind = Collective::gather,
                       .input = sendbuff,
                       .output = recvbuff,
                       .count = count,
                       .type = number(datatype),
                       .root = root},
                      comm, stream));
}
WEIR_WEAK_ALIAS(ncclGather);

ncclResult_t pncclScatter(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                          int root, ncclComm_t comm, cudaStream_t stream) {
  return finish(issue({.kind = Collective::scatter,
                       .input = sendbuff,
                       .output = recvbuff,
                       .count = count,
                       .type = number(datatype),
                       .root = root},
                      comm, stream));
}
WEIR_WEAK_ALIAS(ncclScatter);

ncclResult_t pncclSend(const void* sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                       cudaStream_t stream) {
  return finish(issue({.kind = Collective::send_recv,
                       .sends = true,
                       .input = sendbuff,
                       .count = count,
                       .type = number(datatype),
                       .root = peer},
                      comm, stream));
}
WEIR_WEAK_ALIAS(ncclSend);

ncclResult_t pncclRecv(void* recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                       cudaStream_t stream) {
  return finish(issue({.kind = Collective::send_recv,
                       .output = recvbuff,
                       .count = count,
                       .type = number(datatype),
                       .root = peer},
                      comm, stream));
}
WEIR_WEAK_ALIAS(ncclRecv);
