// SPDX-License-Identifier: Apache-2.0
// A program for libweir_heap.so: preloaded_program stress|ranks. The first uses all functions of malloc in
// many threads, and forks meanwhile. The second sends a large buffer of malloc between two ranks, and ends
// (SIGSYS) if the library reads another process's memory through the kernel.
#include <malloc.h>
#include <nccl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <random>
#include <string_view>
#include <thread>
#include <vector>

namespace {

std::atomic<int> wrong{0};

void expect(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "preloaded_program: %s\n", what);
  wrong = 1;
}

struct Held {
  unsigned char* data = nullptr;
  size_t bytes = 0;
  unsigned char value = 0;

  bool is_whole() const {
    return std::all_of(data, data + bytes, [this](unsigned char byte) { return byte == value; });
  }
  void fill() { std::memset(data, value, bytes); }
};

Held made(std::mt19937& random, size_t bytes) {
  Held held{nullptr, bytes, static_cast<unsigned char>(random())};
  void* memory = nullptr;
  switch (random() % 4) {
    case 0: memory = malloc(bytes); break;
    case 1:
      memory = calloc(bytes / 8 + 1, 8);
      expect(memory != nullptr && std::all_of(static_cast<char*>(memory), static_cast<char*>(memory) + bytes,
                                              [](char byte) { return byte == 0; }),
             "calloc did not give zeroes");
      break;
    case 2: memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096); break;
    default:
      expect(posix_memalign(&memory, 64, bytes) == 0, "posix_memalign failed");
      expect(reinterpret_cast<uintptr_t>(memory) % 64 == 0, "posix_memalign did not align");
  }
  held.data = static_cast<unsigned char*>(memory);
  expect(held.data != nullptr && malloc_usable_size(held.data) >= bytes, "an allocation is too small");
  held.fill();
  return held;
}

void use_malloc(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Held> all;
  for (int round = 0; round < 400; ++round) {
    const size_t bytes = random() % (random() % 2 == 0 ? 2'000'000 : 100'000) + 1;
    const uint32_t what = random() % 3;
    if (all.size() < 20 && what != 0) {
      all.push_back(made(random, bytes));
    } else if (!all.empty()) {
      Held& one = all[random() % all.size()];
      expect(one.is_whole(), "bytes have changed");
      if (what == 1) {
        free(one.data);
        one = all.back();
        all.pop_back();
      } else {
        const size_t kept = std::min(one.bytes, bytes);
        one.data = static_cast<unsigned char*>(realloc(one.data, bytes));
        one.bytes = kept;
        expect(one.is_whole(), "realloc lost bytes");
        one.bytes = bytes;
        one.fill();
      }
    }
  }
  for (const Held& one : all) free(one.data);
}

/// The child finds what was there, whatever the parent does, and may use all of malloc.
void fork_once(unsigned seed) {
  std::mt19937 random(seed);
  Held held = made(random, 3'000'000);
  const pid_t child = fork();
  if (child == 0) {
    usleep(20'000);  // the parent has changed its own by then, most times
    expect(held.is_whole(), "the parent has changed a child's memory");
    held.value += 1;
    held.fill();
    held.data = static_cast<unsigned char*>(realloc(held.data, 5'000'000));
    expect(held.is_whole(), "realloc in a child lost bytes");
    free(held.data);
    free(malloc(1'000'000));
    if (seed % 2 == 0) fork_once(seed + 1);
    _exit(wrong);
  }
  Held own = held;
  own.value += 2;
  own.fill();
  int status = 0;
  waitpid(child, &status, 0);
  expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a forked child failed");
  expect(own.is_whole(), "a child has changed the parent's memory");
  free(own.data);
}

void stress() {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) threads.emplace_back(use_malloc, i);
  for (unsigned i = 0; i < 6; ++i) fork_once(100 + i);
  for (std::thread& thread : threads) thread.join();
}

void end_at_reads_through_the_kernel() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offsetof(seccomp_data, nr))),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {static_cast<unsigned short>(std::size(code)), code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

void ranks() {
  if (const pid_t child = fork(); child != 0) {  // a process that was forked has a shared heap too
    int status = 0;
    waitpid(child, &status, 0);
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a forked rank failed");
    return;
  }
  end_at_reads_through_the_kernel();
  const int rank = atoi(getenv("RANK")), other = 1 - rank;
  ncclComm_t comm = nullptr;
  ncclUniqueId id;
  expect(ncclGetUniqueId(&id) == ncclSuccess, "ncclGetUniqueId");
  expect(ncclCommInitRank(&comm, 2, id, rank) == ncclSuccess, "ncclCommInitRank");
  constexpr size_t kCount = 1'000'000;
  std::vector<int> in(kCount, rank + 5), out(kCount);
  for (int round = 0; round < 3; ++round) {
    std::fill(out.begin(), out.end(), 0);
    ncclGroupStart();
    ncclSend(in.data(), kCount, ncclInt, other, comm, nullptr);
    ncclRecv(out.data(), kCount, ncclInt, other, comm, nullptr);
    expect(ncclGroupEnd() == ncclSuccess, "ncclGroupEnd");
    expect(std::all_of(out.begin(), out.end(), [=](int value) { return value == other + 5; }), "received");
    expect(ncclAllReduce(in.data(), out.data(), kCount, ncclInt, ncclSum, comm, nullptr) == ncclSuccess,
           "ncclAllReduce");
    expect(std::all_of(out.begin(), out.end(), [](int value) { return value == 11; }), "sum");
  }
  ncclCommDestroy(comm);
  _exit(wrong);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view what = count > 1 ? arguments[1] : "";
  if (what == "stress") stress();
  if (what == "ranks") ranks();
  return wrong;
}
