// SPDX-License-Identifier: Apache-2.0
// A net plugin of NCCL over TCP on the loopback, built once per version of the interface (WEIR_NET_VERSION,
// and WEIR_NET_SYMBOL: the name of its table). Structures are written down here anew, so that a mistake in
// weir's is found. It is as inconvenient as plugins may be, and strict: misuse is result 3. As with
// aws-ofi-nccl, init fails with result 2 the second time before version 11, and after the last context ended
// from there on.
//
// Read from the environment at init:
//   FAKE_NET_DEVICES     devices; default 2
//   FAKE_NET_INIT        result of init
//   FAKE_NET_LATE        calls of connect and accept that give nothing at first; default 3
//   FAKE_NET_REFUSE      every so many calls of isend and irecv give no request; default 5
//   FAKE_NET_SIZES       0: test() never says how many bytes came
//   FAKE_NET_FAIL_AFTER  isend fails with result 2 after so many calls; default never
//   FAKE_NET_SPEED       Mbit/s of the devices; default 0: unknown
// Counters for tests, to be found by their names: fakeNetOpen, fakeNetContexts, fakeNetBusyCloses,
// fakeNetTrafficClass.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>

extern "C" {
[[gnu::visibility("default")]] std::atomic<int> fakeNetOpen{0};      // listeners, connections and regions
[[gnu::visibility("default")]] std::atomic<int> fakeNetContexts{0};  // of version 11 and later
[[gnu::visibility("default")]] std::atomic<int> fakeNetBusyCloses{
    0};  // connections closed with requests under way
[[gnu::visibility("default")]] std::atomic<int> fakeNetTrafficClass{0};  // last one told
}

namespace fake_net {
namespace {

constexpr int kOk = 0, kSystem = 2, kMisuse = 3;
constexpr uint32_t kMagic = 0xfa4e0000 + WEIR_NET_VERSION;
#if WEIR_NET_VERSION == 6
constexpr size_t kMostRequests = 8;
#else
constexpr size_t kMostRequests = 32;
#endif

using Logger = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);
using Profiler = int (*)(void**, int, void*, int64_t, void*);

struct Configuration {
  int trafficClass;
};

struct Properties {
  char* name;
  char* pciPath;
  uint64_t guid;
  int ptrSupport;
#if WEIR_NET_VERSION >= 8
  int regIsGlobal;
#endif
#if WEIR_NET_VERSION >= 9
  int forceFlush;
#endif
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
#if WEIR_NET_VERSION >= 7
  int netDeviceType;
  int netDeviceVersion;
#endif
#if WEIR_NET_VERSION >= 9
  struct {
    int ndevs;
    int devs[WEIR_NET_VERSION >= 12 ? 8 : 4];
  } vProps;
  size_t maxP2pBytes;
  size_t maxCollBytes;
#endif
#if WEIR_NET_VERSION >= 11
  int maxMultiRequestSize;
#endif
#if WEIR_NET_VERSION >= 12
  int16_t railId;
  int16_t planeId;
#endif
};

#if WEIR_NET_VERSION >= 9
using Bytes = size_t;
#else
using Bytes = int;
#endif
#if WEIR_NET_VERSION >= 8
using RegionBytes = size_t;
#else
using RegionBytes = int;
#endif

struct Settings {
  std::atomic<int> devices, init, late, refuse, sizes, fail_after, speed;
};
Settings settings;
std::atomic<int> sends{0};
std::atomic<int> posts{0};
std::atomic<bool> begun{false};  // some time

int from_environment(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : otherwise;
}

struct Context {
  uint32_t magic = kMagic;
};

struct Listener {
  int fd;
  int calls = 0;
  int accepted = -1;  // waits until enough calls were made
};

struct Region {
  std::byte* begin;
  size_t bytes;
};

struct Connection;

struct Request {
  Connection* connection;
  std::byte* data;
  size_t room;       // bytes of the buffer
  uint32_t bytes;    // of the message
  size_t moved = 0;  // of the 4 bytes that say how long it is, and the message
  bool done = false;
};

struct Connection {
  int fd;
  bool sends;
  int regions = 0;
  std::deque<Request*> queue = {};
};

struct Handle {
  uint32_t magic;
  uint16_t port;
  Handle* self;  // where connect saw it first
  int fd;        // of the connection under way
  int calls;
  bool connected;
};
static_assert(sizeof(Handle) <= 128);

int start(Logger logger) {
  settings.devices = from_environment("FAKE_NET_DEVICES", 2);
  settings.init = from_environment("FAKE_NET_INIT", kOk);
  settings.late = from_environment("FAKE_NET_LATE", 3);
  settings.refuse = from_environment("FAKE_NET_REFUSE", 5);
  settings.sizes = from_environment("FAKE_NET_SIZES", 1);
  settings.fail_after = from_environment("FAKE_NET_FAIL_AFTER", INT_MAX);
  settings.speed = from_environment("FAKE_NET_SPEED", 0);
  sends = 0;
  constexpr int kInfo = 3;
  constexpr unsigned long kNet = 16;
  logger(kInfo, kNet, __FILE__, __LINE__, "fake network: version %d, %d devices", WEIR_NET_VERSION,
         settings.devices.load());
  if (settings.init == kOk) begun = true;
  return settings.init;
}

#if WEIR_NET_VERSION >= 11
int init(void** context, uint64_t, Configuration* configuration, Logger logger, Profiler) {
  fakeNetTrafficClass = configuration->trafficClass;
  if (begun && fakeNetContexts == 0) return kSystem;
  const int result = start(logger);
  if (result != kOk) return result;
  *context = new Context;
  ++fakeNetContexts;
  return kOk;
}
int finalize(void* context) {
  if (context == nullptr || static_cast<Context*>(context)->magic != kMagic) return kMisuse;
  delete static_cast<Context*>(context);
  --fakeNetContexts;
  return kOk;
}
#elif WEIR_NET_VERSION == 10
int init(Logger logger, Profiler profiler) {
  if (begun) return kSystem;
  void* event = nullptr;
  const int told = profiler(&event, 0, nullptr, 0, nullptr);
  return told != kOk ? told : start(logger);
}
#else
int init(Logger logger) { return begun ? kSystem : start(logger); }
#endif

int devices(int* count) {
  *count = settings.devices;
  return kOk;
}

int get_properties(int device, Properties* properties) {
  static char names[8][8] = {"fake0", "fake1", "fake2", "fake3", "fake4", "fake5", "fake6", "fake7"};
  if (device < 0 || device >= settings.devices || device >= 8) return kMisuse;
  *properties = Properties{};
  properties->name = names[device];
  properties->guid = 100 + static_cast<uint64_t>(device);
  properties->ptrSupport = 1;
  properties->speed = settings.speed;
  properties->port = 1;
  properties->maxComms = INT_MAX;
  properties->maxRecvs = 1;
#if WEIR_NET_VERSION >= 9
  properties->maxP2pBytes = size_t{1} << 40;
#endif
  return kOk;
}

int listen_at(int device, void* handle, void** listener) {
  if (device < 0 || device >= settings.devices) return kMisuse;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  if (fd < 0 || bind(fd, raw, sizeof(address)) != 0 || listen(fd, 16) != 0 ||
      getsockname(fd, raw, &size) != 0)
    return kSystem;
  const Handle made{kMagic, ntohs(address.sin_port), nullptr, -1, 0, false};
  std::memcpy(handle, &made, sizeof(made));
  *listener = new Listener{.fd = fd};
  ++fakeNetOpen;
  return kOk;
}

/// Works when the other side has accepted, and sent a byte to say so: both sides must be asked in turn.
int connect_to(int device, void* raw_handle, void** sender) {
  *sender = nullptr;
  auto* const handle = static_cast<Handle*>(raw_handle);
  if (device < 0 || device >= settings.devices || handle->magic != kMagic) return kMisuse;
  if (handle->self == nullptr) {
    handle->self = handle;
    handle->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(handle->port);
    // On the loopback this does not wait: the listener's queue takes it.
    if (connect(handle->fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) return kSystem;
    fcntl(handle->fd, F_SETFL, O_NONBLOCK);
  }
  if (handle->self != handle) return kMisuse;
  char welcome = 0;
  if (!handle->connected && recv(handle->fd, &welcome, 1, 0) == 1) handle->connected = true;
  if (++handle->calls <= settings.late || !handle->connected) return kOk;
  *sender = new Connection{.fd = handle->fd, .sends = true};
  ++fakeNetOpen;
  return kOk;
}

int accept_from(void* raw_listener, void** receiver) {
  *receiver = nullptr;
  auto* const listener = static_cast<Listener*>(raw_listener);
  if (listener->accepted < 0)
    listener->accepted = accept4(listener->fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (++listener->calls <= settings.late || listener->accepted < 0) return kOk;
  const char welcome = 1;
  if (send(listener->accepted, &welcome, 1, MSG_NOSIGNAL) != 1) return kSystem;
  *receiver = new Connection{.fd = listener->accepted, .sends = false};
  listener->accepted = -1;
  ++fakeNetOpen;
  return kOk;
}

#if WEIR_NET_VERSION >= 11
int checked(void* context) {
  return context != nullptr && static_cast<Context*>(context)->magic == kMagic ? kOk : kMisuse;
}
int listen_any(void* context, int device, void* handle, void** listener) {
  return checked(context) != kOk ? kMisuse : listen_at(device, handle, listener);
}
int connect_any(void* context, int device, void* handle, void** sender, void**) {
  return checked(context) != kOk ? kMisuse : connect_to(device, handle, sender);
}
#elif WEIR_NET_VERSION == 10
int connect_any(int device, Configuration* configuration, void* handle, void** sender, void**) {
  fakeNetTrafficClass = configuration->trafficClass;
  return connect_to(device, handle, sender);
}
#elif WEIR_NET_VERSION >= 7
int connect_any(int device, void* handle, void** sender, void**) {
  return connect_to(device, handle, sender);
}
#endif
#if WEIR_NET_VERSION >= 7
int accept_any(void* listener, void** receiver, void** offload) {
  return offload == nullptr ? kMisuse : accept_from(listener, receiver);
}
#endif

int register_memory(void* connection, void* data, RegionBytes bytes, int kind, void** region) {
  if (kind != 1 || bytes <= 0) return kMisuse;
  ++static_cast<Connection*>(connection)->regions;
  *region = new Region{static_cast<std::byte*>(data), static_cast<size_t>(bytes)};
  ++fakeNetOpen;
  return kOk;
}

#if WEIR_NET_VERSION >= 6
int register_dma_buffer(void*, void*, size_t, int, uint64_t, int, void**) { return kMisuse; }
#endif

int deregister_memory(void* connection, void* region) {
  --static_cast<Connection*>(connection)->regions;
  delete static_cast<Region*>(region);
  --fakeNetOpen;
  return kOk;
}

int post(Connection* connection, void* data, Bytes bytes, void* region, void** request) {
  *request = nullptr;
  const auto* const known = static_cast<Region*>(region);
  auto* const begin = static_cast<std::byte*>(data);
  const auto size = static_cast<size_t>(bytes);
  if (known == nullptr || begin < known->begin || begin + size > known->begin + known->bytes) return kMisuse;
  if (connection->queue.size() >= kMostRequests) return kMisuse;
  if (settings.refuse > 0 && ++posts % settings.refuse == 0) return kOk;
  auto* const made = new Request{connection, begin, size, static_cast<uint32_t>(size)};
  connection->queue.push_back(made);
  *request = made;
  return kOk;
}

int post_send(void* raw, void* data, Bytes bytes, void* region, void** request) {
  auto* const connection = static_cast<Connection*>(raw);
  if (!connection->sends) return kMisuse;
  if (++sends > settings.fail_after) return kSystem;
  return post(connection, data, bytes, region, request);
}

int post_receive(void* raw, int count, void** data, Bytes* bytes, void** regions, void** request) {
  auto* const connection = static_cast<Connection*>(raw);
  if (connection->sends || count != 1) return kMisuse;
  return post(connection, data[0], bytes[0], regions[0], request);
}

#if WEIR_NET_VERSION >= 10
int isend(void* connection, void* data, Bytes bytes, int, void* region, void*, void** request) {
  return post_send(connection, data, bytes, region, request);
}
int irecv(void* connection, int count, void** data, Bytes* bytes, int*, void** regions, void** events,
          void** request) {
  return events == nullptr ? kMisuse : post_receive(connection, count, data, bytes, regions, request);
}
#else
int isend(void* connection, void* data, Bytes bytes, int, void* region, void** request) {
  return post_send(connection, data, bytes, region, request);
}
int irecv(void* connection, int count, void** data, Bytes* bytes, int*, void** regions, void** request) {
  return post_receive(connection, count, data, bytes, regions, request);
}
#endif

/// Moves what goes at once of the oldest request.
int advance(Request& request) {
  const Connection& connection = *request.connection;
  while (request.moved < sizeof(uint32_t) + request.bytes) {
    const bool head = request.moved < sizeof(uint32_t);
    const size_t end = head ? sizeof(uint32_t) : sizeof(uint32_t) + request.bytes;
    std::byte* const at = head ? reinterpret_cast<std::byte*>(&request.bytes) + request.moved
                               : request.data + request.moved - sizeof(uint32_t);
    const ssize_t moved = connection.sends ? send(connection.fd, at, end - request.moved, MSG_NOSIGNAL)
                                           : recv(connection.fd, at, end - request.moved, 0);
    if (moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return kOk;
    if (moved <= 0) return kSystem;
    request.moved += static_cast<size_t>(moved);
    if (request.moved == sizeof(uint32_t) && request.bytes > request.room) return kMisuse;
  }
  request.done = true;
  return kOk;
}

int iflush(void*, int, void**, int*, void**, void** request) {
  *request = nullptr;
  return kOk;
}

int test(void* raw, int* done, int* bytes) {
  auto* const request = static_cast<Request*>(raw);
  std::deque<Request*>& queue = request->connection->queue;
  if (std::find(queue.begin(), queue.end(), request) == queue.end()) return kMisuse;
  *done = 0;
  if (request != queue.front()) return kOk;
  const int result = advance(*request);
  if (result != kOk || !request->done) return result;
  queue.pop_front();
  *done = 1;
  if (bytes != nullptr && settings.sizes != 0) *bytes = static_cast<int>(request->bytes);
  delete request;
  return kOk;
}

int close_connection(void* raw) {
  auto* const connection = static_cast<Connection*>(raw);
  if (connection->regions != 0) return kMisuse;
  if (!connection->queue.empty()) ++fakeNetBusyCloses;
  for (Request* request : connection->queue) delete request;
  close(connection->fd);
  delete connection;
  --fakeNetOpen;
  return kOk;
}

int close_listener(void* raw) {
  auto* const listener = static_cast<Listener*>(raw);
  if (listener->accepted >= 0) close(listener->accepted);
  close(listener->fd);
  delete listener;
  --fakeNetOpen;
  return kOk;
}

#if WEIR_NET_VERSION >= 7
int nothing() { return kMisuse; }  // for devices that offload, and virtual ones
#endif

struct Table {
  const char* name;
  void* functions[WEIR_NET_VERSION >= 11  ? 21
                  : WEIR_NET_VERSION >= 9 ? 19
                  : WEIR_NET_VERSION >= 7 ? 18
                  : WEIR_NET_VERSION == 6 ? 16
                                          : 15];
};

template <typename Function>
void* pointer(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

extern "C" [[gnu::visibility("default")]] const Table WEIR_NET_SYMBOL{"Fake",
                                                                      {pointer(init),
                                                                       pointer(devices),
                                                                       pointer(get_properties),
#if WEIR_NET_VERSION >= 11
                                                                       pointer(listen_any),
#else
     pointer(listen_at),
#endif
#if WEIR_NET_VERSION >= 7
                                                                       pointer(connect_any),
                                                                       pointer(accept_any),
#else
     pointer(connect_to), pointer(accept_from),
#endif
                                                                       pointer(register_memory),
#if WEIR_NET_VERSION >= 6
                                                                       pointer(register_dma_buffer),
#endif
                                                                       pointer(deregister_memory),
                                                                       pointer(isend),
                                                                       pointer(irecv),
                                                                       pointer(iflush),
                                                                       pointer(test),
                                                                       pointer(close_connection),
                                                                       pointer(close_connection),
                                                                       pointer(close_listener),
#if WEIR_NET_VERSION >= 7
                                                                       pointer(nothing),
                                                                       pointer(nothing),
#endif
#if WEIR_NET_VERSION >= 9
                                                                       pointer(nothing),
#endif
#if WEIR_NET_VERSION >= 11
                                                                       pointer(finalize),
                                                                       pointer(nothing)
#endif
                                                                      }};

}  // namespace fake_net
