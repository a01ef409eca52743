// SPDX-License-Identifier: Apache-2.0
// A profiler plugin of NCCL, built once per version of the interface (WEIR_PROFILER_VERSION, 4 or 5).
// Structures are written down here anew, so that a mistake in weir's is found.
//
// Read from the environment at init:
//   FAKE_PROFILER_INIT   result of init
//   FAKE_PROFILER_MASK   the kinds of events that are wanted
//   FAKE_PROFILER_DEAF   1: gives no handle to any event, and fails
//   FAKE_PROFILER_FILE   gets a line for each call: "init ...", "start EVENT KIND PARENT RANK ...", "state
//   EVENT STATE
//                        BYTES", "stop EVENT", "finalize"
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <sstream>
#include <string>

namespace fake_profiler {
namespace {

using Logger = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);

constexpr int kGroup = 1, kColl = 2, kP2p = 4, kProxyOp = 8, kProxyStep = 16;
#if WEIR_PROFILER_VERSION >= 5
constexpr int kGroupApi = 256, kCollApi = 512, kP2pApi = 1024;
#endif

struct Description {
#if WEIR_PROFILER_VERSION == 4
  uint8_t type;
#else
  uint64_t type;
#endif
  void* parentObj;
  int rank;
  union {
#if WEIR_PROFILER_VERSION >= 5
    struct {
      bool graphCaptured;
      int groupDepth;
    } groupApi;
    struct {
      const char* func;
      size_t count;
      const char* datatype;
      int root;
      void* stream;
      bool graphCaptured;
    } collApi;
    struct {
      const char* func;
      size_t count;
      const char* datatype;
      void* stream;
      bool graphCaptured;
    } p2pApi;
#endif
    struct {
      uint64_t seqNumber;
      const char* func;
      const void* sendBuff;
      void* recvBuff;
      size_t count;
      int root;
      const char* datatype;
      uint8_t nChannels;
      uint8_t nWarps;
      const char* algo;
      const char* proto;
#if WEIR_PROFILER_VERSION >= 5
      void* parentGroup;
#endif
    } coll;
    struct {
      const char* func;
      void* buff;
      const char* datatype;
      size_t count;
      int peer;
      uint8_t nChannels;
#if WEIR_PROFILER_VERSION >= 5
      void* parentGroup;
#endif
    } p2p;
    struct {
      pid_t pid;
      uint8_t channelId;
      int peer;
      int nSteps;
      int chunkSize;
      int isSend;
    } proxyOp;
    struct {
      int step;
    } proxyStep;
  };
};

union StateArgs {
  struct {
    size_t transSize;
  } proxyStep;
};

struct Context {
  int rank;
};

std::mutex mutex;
std::string file;
int events = 0;

int number(const char* name) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : 0;
}

void write(const std::string& line) {
  if (file.empty()) return;
  std::FILE* const out = std::fopen(file.c_str(), "a");
  if (out == nullptr) return;
  std::fputs((line + "\n").c_str(), out);
  std::fclose(out);
}

/// Handles are the numbers of events.
intptr_t number_of(void* event) { return reinterpret_cast<intptr_t>(event); }

std::string words_of(const Description& what) {
  std::ostringstream words;
  switch (static_cast<int>(what.type)) {
    case kGroup: words << "group"; break;
    case kColl:
      words << "coll " << what.coll.seqNumber << " " << what.coll.func << " " << what.coll.count << " "
            << what.coll.datatype << " root " << what.coll.root << " " << what.coll.algo << "/"
            << what.coll.proto
            << (what.coll.sendBuff != nullptr && what.coll.recvBuff != nullptr ? " buffers" : "");
#if WEIR_PROFILER_VERSION >= 5
      words << " group " << number_of(what.coll.parentGroup);
#endif
      break;
    case kP2p:
      words << "p2p " << what.p2p.func << " " << what.p2p.count << " " << what.p2p.datatype << " peer "
            << what.p2p.peer << (what.p2p.buff != nullptr ? " buffer" : "");
#if WEIR_PROFILER_VERSION >= 5
      words << " group " << number_of(what.p2p.parentGroup);
#endif
      break;
    case kProxyOp:
      words << "proxy pid " << what.proxyOp.pid << " peer " << what.proxyOp.peer << " chunk "
            << what.proxyOp.chunkSize << " channel " << int{what.proxyOp.channelId}
            << (what.proxyOp.isSend != 0 ? " send" : " receive");
      break;
    case kProxyStep: words << "step " << what.proxyStep.step; break;
#if WEIR_PROFILER_VERSION >= 5
    case kGroupApi: words << "groupApi " << what.groupApi.groupDepth; break;
    case kCollApi:
      words << "collApi " << what.collApi.func << " " << what.collApi.count << " " << what.collApi.datatype;
      break;
    case kP2pApi:
      words << "p2pApi " << what.p2pApi.func << " " << what.p2pApi.count << " " << what.p2pApi.datatype;
      break;
#endif
    default: words << "unknown";
  }
  return words.str();
}

int begin(void** context, int* mask, const char* name, uint64_t communicator, int nodes, int ranks, int rank,
          Logger logger) {
  const std::scoped_lock lock(mutex);
  const char* const where = std::getenv("FAKE_PROFILER_FILE");
  file = where != nullptr ? where : "";
  constexpr unsigned long kProfile = 1 << 14;
  logger(3, kProfile, __func__, __LINE__, "the fake profiler wants %d", number("FAKE_PROFILER_MASK"));
  std::ostringstream line;
  line << "init " << (name != nullptr ? name : "nameless") << (communicator != 0 ? "" : " without id") << " "
       << nodes << " nodes " << ranks << " ranks rank " << rank;
  write(line.str());
  if (const int result = number("FAKE_PROFILER_INIT"); result != 0) return result;
  __atomic_store_n(mask, number("FAKE_PROFILER_MASK"), __ATOMIC_RELAXED);
  *context = new Context{rank};
  return 0;
}

#if WEIR_PROFILER_VERSION == 4
int init(void** context, int* mask, const char* name, uint64_t communicator, int nodes, int ranks, int rank,
         Logger logger) {
  return begin(context, mask, name, communicator, nodes, ranks, rank, logger);
}
#else
int init(void** context, uint64_t communicator, int* mask, const char* name, int nodes, int ranks, int rank,
         Logger logger) {
  return begin(context, mask, name, communicator, nodes, ranks, rank, logger);
}
#endif

int startEvent(void* context, void** event, Description* what) {
  const std::scoped_lock lock(mutex);
  if (number("FAKE_PROFILER_DEAF") != 0) return 3;
  *event = reinterpret_cast<void*>(static_cast<intptr_t>(++events));
  std::ostringstream line;
  line << "start " << events << " " << static_cast<int>(what->type) << " " << number_of(what->parentObj)
       << " " << what->rank
       << (what->rank == static_cast<Context*>(context)->rank ? " " : " of another rank ") << words_of(*what);
  write(line.str());
  return 0;
}

int stopEvent(void* event) {
  const std::scoped_lock lock(mutex);
  write("stop " + std::to_string(number_of(event)));
  return 0;
}

int recordEventState(void* event, int state, StateArgs* arguments) {
  const std::scoped_lock lock(mutex);
  write("state " + std::to_string(number_of(event)) + " " + std::to_string(state) + " " +
        std::to_string(arguments->proxyStep.transSize));
  return 0;
}

int finalize(void* context) {
  const std::scoped_lock lock(mutex);
  delete static_cast<Context*>(context);
  write("finalize");
  return 0;
}

struct Table {
  const char* name;
#if WEIR_PROFILER_VERSION == 4
  int (*init)(void**, int*, const char*, uint64_t, int, int, int, Logger);
#else
  int (*init)(void**, uint64_t, int*, const char*, int, int, int, Logger);
#endif
  int (*startEvent)(void*, void**, Description*);
  int (*stopEvent)(void*);
  int (*recordEventState)(void*, int, StateArgs*);
  int (*finalize)(void*);
};

}  // namespace

extern "C" {
#if WEIR_PROFILER_VERSION == 4
[[gnu::visibility("default")]] extern const Table ncclProfiler_v4 = {
#else
[[gnu::visibility("default")]] extern const Table ncclProfiler_v5 = {
#endif
    "fake profiler", init, startEvent, stopEvent, recordEventState, finalize};
}

}  // namespace fake_profiler
