// SPDX-License-Identifier: Apache-2.0
// A profiler plugin of NCCL, built once per version of the interface (WEIR_PROFILER_VERSION, 1 to 7, and
// WEIR_PROFILER_SYMBOL).
// Structures are written down here anew, so that a mistake in weir's is found.
//
// Read from the environment at init:
//   FAKE_PROFILER_INIT   result of init
//   FAKE_PROFILER_MASK   the kinds of events that are wanted
//   FAKE_PROFILER_BARE   1: makes no context
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

#if WEIR_PROFILER_VERSION == 1
using Word = uint8_t;
constexpr const char* kFunctions[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                      "AllReduce", "SendRecv", "Send",      "Recv"};
constexpr const char* kAlgorithms[] = {"tree", "ring", "", "", "", "", "pat"};
constexpr const char* kProtocols[] = {"LL", "LL128", "SIMPLE"};
constexpr const char* kTypes[] = {"ncclInt8",   "ncclUint8",   "ncclInt32",   "ncclUint32", "ncclInt64",
                                  "ncclUint64", "ncclFloat16", "ncclFloat32", "ncclFloat64"};
const char* function(Word word) { return kFunctions[word]; }
const char* type(Word word) { return kTypes[word]; }
const char* algorithm(Word word) { return kAlgorithms[word]; }
const char* protocol(Word word) { return kProtocols[word]; }
#else
using Word = const char*;
Word function(Word word) { return word; }
Word type(Word word) { return word; }
Word algorithm(Word word) { return word; }
Word protocol(Word word) { return word; }
#endif

struct Description {
#if WEIR_PROFILER_VERSION <= 4
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
#if WEIR_PROFILER_VERSION >= 7
      uint64_t userTag;
#endif
    } collApi;
    struct {
      const char* func;
      size_t count;
      const char* datatype;
      void* stream;
      bool graphCaptured;
#if WEIR_PROFILER_VERSION >= 7
      uint64_t userTag;
#endif
    } p2pApi;
#endif
    struct {
#if WEIR_PROFILER_VERSION <= 3
      const char* name;
      uint64_t commHash;
#endif
      uint64_t seqNumber;
      Word func;
      const void* sendBuff;
      void* recvBuff;
      size_t count;
      int root;
      Word datatype;
#if WEIR_PROFILER_VERSION == 1
      uint32_t op;
#endif
#if WEIR_PROFILER_VERSION <= 2
      size_t trafficBytes;
#endif
      uint8_t nChannels;
      uint8_t nWarps;
      Word algo;
      Word proto;
#if WEIR_PROFILER_VERSION == 1
      int isCollnet;
      int isNvls;
#endif
#if WEIR_PROFILER_VERSION >= 5
      void* parentGroup;
#endif
#if WEIR_PROFILER_VERSION >= 7
      const char* kernelVariant;
      bool isSymColl;
      uint64_t userTag;
#endif
    } coll;
    struct {
#if WEIR_PROFILER_VERSION <= 3
      const char* name;
      uint64_t commHash;
#endif
      Word func;
      void* buff;
      Word datatype;
      size_t count;
      int peer;
#if WEIR_PROFILER_VERSION >= 4
      uint8_t nChannels;
#endif
#if WEIR_PROFILER_VERSION >= 5
      void* parentGroup;
#endif
#if WEIR_PROFILER_VERSION >= 7
      uint64_t userTag;
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
#if WEIR_PROFILER_VERSION <= 3
  struct {
    size_t transSize;
    int steps;
  } proxyStep;
#else
  struct {
    size_t transSize;
  } proxyStep;
#endif
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
      words << "coll " << what.coll.seqNumber << " " << function(what.coll.func) << " " << what.coll.count
            << " " << type(what.coll.datatype) << " root " << what.coll.root << " "
            << algorithm(what.coll.algo) << "/" << protocol(what.coll.proto)
            << (what.coll.sendBuff != nullptr && what.coll.recvBuff != nullptr ? " buffers" : "");
#if WEIR_PROFILER_VERSION >= 5
      words << " group " << number_of(what.coll.parentGroup);
#endif
#if WEIR_PROFILER_VERSION >= 7
      words << " tag " << what.coll.userTag << (what.coll.isSymColl ? " symmetric" : "");
#endif
#if WEIR_PROFILER_VERSION <= 3
      words << " of " << what.coll.name << (what.coll.commHash != 0 ? "" : " without id");
#endif
      break;
    case kP2p:
      words << "p2p " << function(what.p2p.func) << " " << what.p2p.count << " " << type(what.p2p.datatype)
            << " peer " << what.p2p.peer << (what.p2p.buff != nullptr ? " buffer" : "");
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
#if WEIR_PROFILER_VERSION >= 7
      words << " tag " << what.collApi.userTag;
#endif
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
  *context = number("FAKE_PROFILER_BARE") != 0 ? nullptr : new Context{rank};
  return 0;
}

#if WEIR_PROFILER_VERSION <= 3
void log_nothing(int, unsigned long, const char*, int, const char*, ...) {}
int init(void** context, int* mask) { return begin(context, mask, nullptr, 1, 0, 0, -1, log_nothing); }
#elif WEIR_PROFILER_VERSION == 4
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

/// Before version 4 a plugin is not told the rank of its communicator.
bool is_own(void* context, int rank) {
  const int own = context != nullptr ? static_cast<Context*>(context)->rank : -1;
  return own < 0 || own == rank;
}

int startEvent(void* context, void** event, Description* what) {
  const std::scoped_lock lock(mutex);
  if (number("FAKE_PROFILER_DEAF") != 0) return 3;
  *event = reinterpret_cast<void*>(static_cast<intptr_t>(++events));
  std::ostringstream line;
  line << "start " << events << " " << static_cast<int>(what->type) << " " << number_of(what->parentObj)
       << " " << what->rank << (is_own(context, what->rank) ? " " : " of another rank ") << words_of(*what);
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
  decltype(&init) begin;
  int (*startEvent)(void*, void**, Description*);
  int (*stopEvent)(void*);
  int (*recordEventState)(void*, int, StateArgs*);
  int (*finalize)(void*);
};

}  // namespace

extern "C" {
[[gnu::visibility("default")]] extern const Table WEIR_PROFILER_SYMBOL = {
    "fake profiler", init, startEvent, stopEvent, recordEventState, finalize};
}

}  // namespace fake_profiler
