// SPDX-License-Identifier: Apache-2.0

#include "tests/library/failing_calls.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

using weir::testing::Call;

constexpr int kNothing = -1;
std::atomic<int> armed{kNothing};
std::atomic<long> left{0};
std::atomic<long> calls{0};
std::atomic<bool> failed{false};
std::array<void*, 24> where{};
std::atomic<int> depth{0};

std::span<weir::testing::Site> recorded;
std::atomic<weir::testing::Site> wanted{0};  ///< 0: calls are counted, not told apart
thread_local bool unwinding = false;

/// Whether the call comes from the wanted site; or records where it comes from.
bool is_wanted(long number) {
  if (unwinding) return false;
  unwinding = true;
  std::array<void*, 24> frames{};
  const int found = backtrace(frames.data(), static_cast<int>(frames.size()));
  unwinding = false;
  weir::testing::Site site = 0xcbf29ce484222325;
  for (int i = 0; i < found; ++i)
    site = (site ^ reinterpret_cast<uintptr_t>(frames[static_cast<size_t>(i)])) * 0x100000001b3;
  if (static_cast<size_t>(number) < recorded.size()) recorded[static_cast<size_t>(number)] = site;
  return site == wanted.load();
}

/// Whether the call is made for hwloc, or by a thread of a sanitizer's that begins: these do not check their
/// allocations.
bool is_for_careless() {
  for (int i = 0; i < depth.load(); ++i) {
    Dl_info info{};
    if (dladdr(where[static_cast<size_t>(i)], &info) == 0) continue;
    if (info.dli_fname != nullptr && std::strstr(info.dli_fname, "libhwloc") != nullptr) return true;
    if (info.dli_sname != nullptr && std::strcmp(info.dli_sname, "pthread_getattr_np") == 0) return true;
  }
  return false;
}

/// Whether this call has to fail.
bool fails(Call call) {
  if (armed.load(std::memory_order_relaxed) != static_cast<int>(call)) return false;
  const long number = calls.fetch_add(1);
  if (wanted.load() != 0 ? !is_wanted(number) : left.fetch_sub(1) != 1) return false;
  if (armed.exchange(kNothing) == kNothing) return false;  // backtrace() may allocate
  depth.store(backtrace(where.data(), static_cast<int>(where.size())));
  failed.store(!is_for_careless());
  return failed.load();
}

bool fails(Call call, int error) {
  if (!fails(call)) return false;
  errno = error;
  return true;
}

/// The function that this program's one hides.
template <typename Function>
Function* hidden(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

namespace weir::testing {

const char* name(Call call) {
  switch (call) {
    case Call::allocate: return "allocate";
    case Call::map: return "map";
    case Call::make_thread: return "make_thread";
    case Call::make_socket: return "make_socket";
    case Call::open_file: return "open_file";
    case Call::make_memory_file: return "make_memory_file";
    case Call::make_event: return "make_event";
  }
  return "";
}

namespace {

void arm(Call call, long number, Site site, std::span<Site> sites) {
  calls = 0;
  failed = false;
  left = number;
  wanted = site;
  recorded = sites;
  armed = static_cast<int>(call);
}

}  // namespace

void fail_call(Call call, long number) { arm(call, number, 0, {}); }

void record_sites(Call call, std::span<Site> sites) { arm(call, 0, 1, sites); }

void fail_site(Call call, Site site) { arm(call, 0, site, {}); }

void print_where() { backtrace_symbols_fd(where.data(), depth.load(), STDERR_FILENO); }

Injected stop_failing() {
  armed = kNothing;
  return {calls.load(), failed.load()};
}

}  // namespace weir::testing

// The libraries of the process have to find them.
#pragma GCC visibility push(default)

// The allocator's own functions, without dlsym(), which allocates: the sanitizer's if there is one.
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
[[gnu::weak]] void* __interceptor_malloc(size_t bytes);
[[gnu::weak]] void* __interceptor_calloc(size_t count, size_t bytes);
[[gnu::weak]] void* __interceptor_realloc(void* memory, size_t bytes);
[[gnu::weak]] void* __interceptor_memalign(size_t alignment, size_t bytes);

void* malloc(size_t bytes) {
  if (fails(Call::allocate, ENOMEM)) return nullptr;
  return __interceptor_malloc != nullptr ? __interceptor_malloc(bytes) : __libc_malloc(bytes);
}

void* calloc(size_t count, size_t bytes) {
  if (fails(Call::allocate, ENOMEM)) return nullptr;
  return __interceptor_calloc != nullptr ? __interceptor_calloc(count, bytes) : __libc_calloc(count, bytes);
}

void* realloc(void* memory, size_t bytes) {
  if (fails(Call::allocate, ENOMEM)) return nullptr;
  return __interceptor_realloc != nullptr ? __interceptor_realloc(memory, bytes)
                                          : __libc_realloc(memory, bytes);
}

void* aligned_alloc(size_t alignment, size_t bytes) {
  if (fails(Call::allocate, ENOMEM)) return nullptr;
  return __interceptor_memalign != nullptr ? __interceptor_memalign(alignment, bytes)
                                           : __libc_memalign(alignment, bytes);
}

int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  void* const got = aligned_alloc(alignment, bytes);
  if (got == nullptr) return ENOMEM;
  *memory = got;
  return 0;
}

void* mmap(void* at, size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  static auto* const next = hidden<void*(void*, size_t, int, int, int, off_t)>("mmap");
  if (fails(Call::map, ENOMEM)) return MAP_FAILED;
  return next(at, bytes, protection, flags, file, offset);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                   void* argument) noexcept {
  static auto* const next =
      hidden<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  if (fails(Call::make_thread)) return EAGAIN;
  return next(thread, attributes, body, argument);
}

int socket(int domain, int type, int protocol) noexcept {
  static auto* const next = hidden<int(int, int, int)>("socket");
  if (fails(Call::make_socket, EMFILE)) return -1;
  return next(domain, type, protocol);
}

int accept4(int listener, sockaddr* address, socklen_t* length, int flags) {
  static auto* const next = hidden<int(int, sockaddr*, socklen_t*, int)>("accept4");
  if (fails(Call::make_socket, EMFILE)) return -1;
  return next(listener, address, length, flags);
}

int open(const char* path, int flags, ...) {
  static auto* const next = hidden<int(const char*, int, ...)>("open");
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (fails(Call::open_file, EMFILE)) return -1;
  return next(path, flags, mode);
}

int memfd_create(const char* name, unsigned flags) noexcept {
  static auto* const next = hidden<int(const char*, unsigned)>("memfd_create");
  if (fails(Call::make_memory_file, EMFILE)) return -1;
  return next(name, flags);
}

int eventfd(unsigned count, int flags) noexcept {
  static auto* const next = hidden<int(unsigned, int)>("eventfd");
  if (fails(Call::make_event, EMFILE)) return -1;
  return next(count, flags);
}

int epoll_create1(int flags) noexcept {
  static auto* const next = hidden<int(int)>("epoll_create1");
  if (fails(Call::make_event, EMFILE)) return -1;
  return next(flags);
}
}  // extern "C"

// A sanitizer's operator new does not call malloc. Not inlined, as g++ would warn of the pairs of malloc and
// operator delete.
[[gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return malloc(bytes > 0 ? bytes : 1);
}
[[gnu::noinline]] void* operator new(size_t bytes) {
  if (void* const memory = operator new(bytes, std::nothrow)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { free(memory); }

#pragma GCC visibility pop
