// SPDX-License-Identifier: Apache-2.0
// A libnccl for tests of its callers: all ranks are threads, or turns of one thread, of one process.
// Operations of a rank take effect when its outermost group ends; the last rank to come carries an operation
// out for all. Plain loops in double or integers; nothing is fast.
#include <nccl.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bench/perf/types.h"
#include "tests/bench/fake_nccl.h"

namespace fake_nccl {

using weir::perf::all_types;
using weir::perf::kIsFloat;
using weir::perf::with_type;

enum class What { all_reduce, reduce, broadcast, all_gather, reduce_scatter, alltoall, gather, scatter };

struct Operation {
  What what;
  const char* send;
  char* recv;
  size_t count;
  ncclDataType_t type;
  ncclRedOp_t op;
  int root;
  double factor;  // of mulsum
};

struct Message {
  const char* send;
  size_t bytes;
  std::shared_ptr<bool> taken;
};

// All ranks of a communicator.
struct World {
  int size;
  std::vector<std::deque<Operation>> waiting;  // by rank
  std::vector<size_t> posted, completed;
  std::map<std::pair<int, int>, std::deque<Message>> messages;  // by sender and receiver
  bool aborted = false;
};

struct Receive {
  World* world;
  int from, to;
  char* recv;
  size_t bytes;
};

}  // namespace fake_nccl

struct ncclComm {
  std::shared_ptr<fake_nccl::World> world;
  int rank;
  std::map<int, double> factors;  // of the operators of PreMulSum
};

namespace {

using namespace fake_nccl;

std::mutex mutex;
std::condition_variable changed;
std::map<std::string, std::weak_ptr<World>> worlds;
std::vector<std::unique_ptr<ncclComm>> communicators;  // aborted ones stay
std::atomic<const char*> last_error = "";

struct Posted {
  ncclComm* comm;
  Operation operation;
};

thread_local int depth = 0;
thread_local std::vector<Posted> collectives;
thread_local std::vector<Receive> receives;
thread_local std::vector<std::pair<World*, std::pair<std::pair<int, int>, Message>>> sends;

bool asked(const char* what) {
  const char* text = std::getenv(weir::testing::kFakeVariable);
  return text != nullptr && std::string(text).find(what) != std::string::npos;
}

ncclResult_t refuse(ncclResult_t code, const char* why) {
  last_error = why;
  return code;
}

size_t size_of(ncclDataType_t type) { return all_types()[type].size; }

template <typename T>
double as_double(T value) {
  return static_cast<double>(value);
}

// One element: integers wrap, floats are rounded to their type after each operation.
template <typename T>
T combine(T a, T b, ncclRedOp_t op) {
  if constexpr (kIsFloat<T>) {
    double x = as_double(a), y = as_double(b);
    double r = op == ncclProd  ? x * y
               : op == ncclMax ? std::max(x, y)
               : op == ncclMin ? std::min(x, y)
                               : x + y;
    if constexpr (weir::perf::kIsSmallFloat<T>)
      return T::from(r);
    else
      return static_cast<T>(r);
  } else {
    auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return op == ncclProd  ? static_cast<T>(x * y)
           : op == ncclMax ? std::max(a, b)
           : op == ncclMin ? std::min(a, b)
                           : static_cast<T>(x + y);
  }
}

template <typename T>
T scaled(T value, double factor) {
  if constexpr (weir::perf::kIsSmallFloat<T>)
    return T::from(as_double(value) * factor);
  else if constexpr (kIsFloat<T>)
    return static_cast<T>(value * static_cast<T>(factor));
  else
    return static_cast<T>(static_cast<uint64_t>(value) * static_cast<uint64_t>(factor));
}

// Elements [first, first + count) of the reduction of all ranks' inputs.
std::vector<char> reduction(const std::vector<Operation>& all, size_t first, size_t count) {
  const Operation& any = all.front();
  const bool average = any.op == ncclAvg;
  std::vector<char> out(count * size_of(any.type));
  with_type(any.type, [&]<typename T>(std::type_identity<T>) {
    for (size_t i = 0; i < count; ++i) {
      T sum{};
      for (size_t rank = 0; rank < all.size(); ++rank) {
        T value;
        std::memcpy(&value, all[rank].send + (first + i) * sizeof(T), sizeof(T));
        if (average && kIsFloat<T>) {
          double share = 1.0 / static_cast<double>(all.size());
          if constexpr (weir::perf::kIsSmallFloat<T>) share = static_cast<double>(T::from(share));
          value = scaled(value, share);
        }
        if (all[rank].factor != 0) value = scaled(value, all[rank].factor);
        sum = rank == 0 ? value : combine(sum, value, average ? ncclSum : any.factor != 0 ? ncclSum : any.op);
      }
      if constexpr (!kIsFloat<T>) {
        if (average) sum = static_cast<T>(sum / static_cast<T>(all.size()));
      }
      std::memcpy(out.data() + i * sizeof(T), &sum, sizeof(T));
    }
  });
  return out;
}

// What every rank has to receive, from copies of all inputs.
void carry_out(std::vector<Operation> all) {
  const Operation any = all.front();
  const size_t ranks = all.size(), bytes = any.count * size_of(any.type);
  const bool blocks =
      any.what == What::reduce_scatter || any.what == What::alltoall || any.what == What::scatter;
  std::vector<std::vector<char>> inputs;
  for (Operation& operation : all) {
    const bool used = (any.what != What::broadcast && any.what != What::scatter) ||
                      &operation == &all[static_cast<size_t>(any.root)];
    size_t size = !used ? 0 : blocks ? bytes * ranks : bytes;
    inputs.emplace_back(operation.send, operation.send + size);
    operation.send = inputs.back().data();
  }
  for (size_t rank = 0; rank < ranks; ++rank) {
    char* to = all[rank].recv;
    const bool root = static_cast<int>(rank) == any.root;
    auto put = [&](size_t at, const char* from) {
      if (bytes > 0) std::memcpy(to + at * bytes, from, bytes);
    };
    const char* of_root = all[static_cast<size_t>(std::max(any.root, 0))].send;
    switch (any.what) {
      case What::all_reduce: put(0, reduction(all, 0, any.count).data()); break;
      case What::reduce:
        if (root) put(0, reduction(all, 0, any.count).data());
        break;
      case What::reduce_scatter: put(0, reduction(all, rank * any.count, any.count).data()); break;
      case What::broadcast: put(0, of_root); break;
      case What::scatter: put(0, of_root + rank * bytes); break;
      case What::gather:
        if (!root) break;
        [[fallthrough]];
      case What::all_gather:
        for (size_t from = 0; from < ranks; ++from) put(from, all[from].send);
        break;
      case What::alltoall:
        for (size_t from = 0; from < ranks; ++from) put(from, all[from].send + rank * bytes);
        break;
    }
    if (rank == 1 && bytes > 0 && asked("corrupt")) *to = static_cast<char>(~*to);
  }
}

void progress(World& world) {
  while (
      std::all_of(world.waiting.begin(), world.waiting.end(), [](auto& queue) { return !queue.empty(); })) {
    std::vector<Operation> all;
    for (std::deque<Operation>& queue : world.waiting) {
      all.push_back(queue.front());
      queue.pop_front();
    }
    carry_out(std::move(all));
    for (size_t& done : world.completed) ++done;
  }
  changed.notify_all();
}

ncclResult_t wait_for(std::unique_lock<std::mutex>& lock, World& world, auto&& done) {
  changed.wait(lock, [&] { return world.aborted || done(); });
  return world.aborted ? refuse(ncclInternalError, "aborted") : ncclSuccess;
}

ncclResult_t flush() {
  std::unique_lock lock(mutex);
  auto mine = std::move(collectives);
  auto messages = std::move(sends);
  auto expected = std::move(receives);
  collectives.clear(), sends.clear(), receives.clear();
  for (auto& [world, message] : messages) world->messages[message.first].push_back(message.second);
  for (Posted& posted : mine) {
    auto rank = static_cast<size_t>(posted.comm->rank);
    if (rank == 1 && asked("hang")) continue;
    posted.comm->world->waiting[rank].push_back(posted.operation);
    ++posted.comm->world->posted[rank];
  }
  for (Posted& posted : mine) progress(*posted.comm->world);
  changed.notify_all();
  for (Receive& receive : expected) {
    auto& box = receive.world->messages[{receive.from, receive.to}];
    if (ncclResult_t result = wait_for(lock, *receive.world, [&] { return !box.empty(); });
        result != ncclSuccess)
      return result;
    if (receive.bytes > 0) std::memmove(receive.recv, box.front().send, receive.bytes);
    *box.front().taken = true;
    box.pop_front();
    changed.notify_all();
  }
  for (auto& [world, message] : messages) {
    std::shared_ptr<bool> taken = message.second.taken;
    if (ncclResult_t result = wait_for(lock, *world, [&] { return *taken; }); result != ncclSuccess)
      return result;
  }
  for (Posted& posted : mine) {
    World& world = *posted.comm->world;
    auto rank = static_cast<size_t>(posted.comm->rank);
    const bool hangs = rank == 1 && asked("hang");
    if (ncclResult_t result =
            wait_for(lock, world, [&] { return !hangs && world.completed[rank] >= world.posted[rank]; });
        result != ncclSuccess)
      return result;
  }
  return ncclSuccess;
}

ncclResult_t post(ncclComm* comm, What what, const void* send, void* recv, size_t count, ncclDataType_t type,
                  ncclRedOp_t op, int root) {
  if (comm == nullptr) return refuse(ncclInvalidArgument, "the communicator is null");
  if (asked("fail")) return refuse(ncclInternalError, "asked to fail");
  auto factor = comm->factors.find(op);
  collectives.push_back({comm,
                         {what, static_cast<const char*>(send), static_cast<char*>(recv), count, type, op,
                          root, factor == comm->factors.end() ? 0 : factor->second}});
  return depth == 0 ? flush() : ncclSuccess;
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclSuccess ? "no error" : "an error of the fake";
}
const char* ncclGetLastError(ncclComm_t) { return last_error; }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static int made = 0;
  std::memset(id, 0, sizeof(*id));
  std::strcpy(id->internal, std::to_string(++made).c_str());
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank, ncclConfig_t*) {
  std::lock_guard lock(mutex);
  std::shared_ptr<World> world = worlds[id.internal].lock();
  if (!world) {
    world = std::make_shared<World>();
    world->size = size;
    world->waiting.resize(static_cast<size_t>(size));
    world->posted.assign(static_cast<size_t>(size), 0);
    world->completed.assign(static_cast<size_t>(size), 0);
    worlds[id.internal] = world;
  }
  *comm = communicators.emplace_back(new ncclComm{world, rank, {}}).get();
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  std::lock_guard lock(mutex);
  std::erase_if(communicators, [comm](const auto& one) { return one.get() == comm; });
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  std::lock_guard lock(mutex);
  comm->world->aborted = true;
  changed.notify_all();
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* result) {
  *result = ncclSuccess;
  return ncclSuccess;
}
ncclResult_t ncclMemAlloc(void** pointer, size_t bytes) {
  if (asked("no_memory")) return refuse(ncclSystemError, "asked for no memory");
  *pointer = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  return ncclSuccess;
}
ncclResult_t ncclMemFree(void* pointer) {
  std::free(pointer);
  return ncclSuccess;
}
ncclResult_t ncclCommRegister(ncclComm_t, void* buffer, size_t, void** handle) {
  *handle = buffer;
  return ncclSuccess;
}
ncclResult_t ncclCommDeregister(ncclComm_t, void*) { return ncclSuccess; }
ncclResult_t ncclCommWindowRegister(ncclComm_t, void* buffer, size_t, ncclWindow_t* window, int) {
  *window = static_cast<ncclWindow_t>(buffer);
  return ncclSuccess;
}
ncclResult_t ncclCommWindowDeregister(ncclComm_t, ncclWindow_t) { return ncclSuccess; }

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type,
                                      ncclScalarResidence_t, ncclComm_t comm) {
  int number = ncclNumOps + static_cast<int>(comm->factors.size());
  comm->factors[number] = with_type(type, [scalar]<typename T>(std::type_identity<T>) {
    T value;
    std::memcpy(&value, scalar, sizeof(T));
    return as_double(value);
  });
  *op = static_cast<ncclRedOp_t>(number);
  return ncclSuccess;
}

ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  return comm->factors.erase(op) == 1 ? ncclSuccess : ncclInvalidArgument;
}

ncclResult_t ncclGroupStart() {
  ++depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() { return --depth == 0 ? flush() : ncclSuccess; }

ncclResult_t ncclAllReduce(const void* s, void* r, size_t n, ncclDataType_t t, ncclRedOp_t op, ncclComm_t c,
                           cudaStream_t) {
  return post(c, What::all_reduce, s, r, n, t, op, -1);
}
ncclResult_t ncclReduce(const void* s, void* r, size_t n, ncclDataType_t t, ncclRedOp_t op, int root,
                        ncclComm_t c, cudaStream_t) {
  return post(c, What::reduce, s, r, n, t, op, root);
}
ncclResult_t ncclBroadcast(const void* s, void* r, size_t n, ncclDataType_t t, int root, ncclComm_t c,
                           cudaStream_t) {
  return post(c, What::broadcast, s, r, n, t, ncclSum, root);
}
ncclResult_t ncclAllGather(const void* s, void* r, size_t n, ncclDataType_t t, ncclComm_t c, cudaStream_t) {
  return post(c, What::all_gather, s, r, n, t, ncclSum, -1);
}
ncclResult_t ncclReduceScatter(const void* s, void* r, size_t n, ncclDataType_t t, ncclRedOp_t op,
                               ncclComm_t c, cudaStream_t) {
  return post(c, What::reduce_scatter, s, r, n, t, op, -1);
}
ncclResult_t ncclAlltoAll(const void* s, void* r, size_t n, ncclDataType_t t, ncclComm_t c, cudaStream_t) {
  return post(c, What::alltoall, s, r, n, t, ncclSum, -1);
}
ncclResult_t ncclGather(const void* s, void* r, size_t n, ncclDataType_t t, int root, ncclComm_t c,
                        cudaStream_t) {
  return post(c, What::gather, s, r, n, t, ncclSum, root);
}
ncclResult_t ncclScatter(const void* s, void* r, size_t n, ncclDataType_t t, int root, ncclComm_t c,
                         cudaStream_t) {
  return post(c, What::scatter, s, r, n, t, ncclSum, root);
}

ncclResult_t ncclSend(const void* s, size_t n, ncclDataType_t t, int peer, ncclComm_t c, cudaStream_t) {
  sends.push_back(
      {c->world.get(),
       {{c->rank, peer}, {static_cast<const char*>(s), n * size_of(t), std::make_shared<bool>(false)}}});
  return depth == 0 ? flush() : ncclSuccess;
}

ncclResult_t ncclRecv(void* r, size_t n, ncclDataType_t t, int peer, ncclComm_t c, cudaStream_t) {
  receives.push_back({c->world.get(), peer, c->rank, static_cast<char*>(r), n * size_of(t)});
  return depth == 0 ? flush() : ncclSuccess;
}

}  // extern "C"
