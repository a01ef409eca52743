// SPDX-License-Identifier: Apache-2.0

#include "src/device/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "src/base/host.h"
#include "src/base/shortage.h"
#include "src/device/mapped_file.h"

namespace weir::device {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

// Values of <linux/memfd.h> and <linux/pidfd.h> that older headers lack.
constexpr unsigned kMemfdNoExecSeal = 0x0008;
constexpr long kPidfdOpen = 434;
constexpr long kPidfdGetfd = 438;

std::string reason(int error) { return std::system_category().message(error); }

std::string memfd_name(uint64_t token) { return fmt::format("weir-{:016x}", token); }

uint64_t pid_namespace() {
  struct stat info;
  return stat("/proc/self/ns/pid", &info) == 0 ? info.st_ino : 0;
}

std::string link_text(const char* path) {
  char text[64] = {};
  return readlink(path, text, sizeof(text) - 1) > 0 ? text : "";
}

/// A hash of all that decides which processes may look into this one (ptrace(2)); 0 where /proc does not
/// tell.
uint64_t access_of_this_process() {
  std::ifstream status("/proc/self/status");
  std::string all;
  for (std::string line; std::getline(status, line);) {
    for (const std::string_view name : {"Uid:", "Gid:", "Groups:", "Cap", "Seccomp:"})
      if (line.starts_with(name)) all += line;
  }
  if (all.empty()) return 0;
  std::string label;
  std::ifstream file("/proc/self/attr/current");  // without a security module it cannot be read
  std::getline(file, label);
  all += label;
  for (const char* space : {"/proc/self/ns/user", "/proc/self/ns/pid", "/proc/self/ns/mnt"})
    all += link_text(space);
  return hash_text(all + std::to_string(prctl(PR_GET_DUMPABLE)));
}

Result<uint64_t> random_token() {
  uint64_t token = 0;
  if (getrandom(&token, sizeof(token), 0) != sizeof(token)) {
    return Status(
        Code::system_error,
        fmt::format("cannot read random bytes to name shared memory (getrandom): {}", reason(errno)));
  }
  return token;
}

Result<size_t> whole_pages(size_t size) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  if (size == 0 || size > SIZE_MAX / 2) {
    return Status(Code::invalid_argument,
                  fmt::format("cannot make shared memory of {} bytes; expected 1 to {}", size, SIZE_MAX / 2));
  }
  return (size + page - 1) / page * page;
}

Descriptor make_memfd(uint64_t token) {
  const std::string name = memfd_name(token);
  const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  const int fd = memfd_create(name.c_str(), flags | kMemfdNoExecSeal);  // since Linux 6.3
  if (fd >= 0 || errno != EINVAL) return Descriptor(fd);
  return Descriptor(memfd_create(name.c_str(), flags));
}

/// Sets the final size. Checks the file size limit first, because exceeding it would kill the process with
/// SIGXFSZ.
Status set_size(int fd, size_t size) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < size) {
    return Status(
        Code::system_error,
        fmt::format("shared memory of {} bytes exceeds the file size limit of {} bytes; raise it with "
                    "ulimit -f unlimited",
                    size, limit.rlim_cur));
  }
  if (ftruncate(fd, static_cast<off_t>(size)) != 0)
    return system_failure(fmt::format("cannot set the size of shared memory to {} bytes", size), errno);
  // Without seals a peer could shrink the file and every reader would die of SIGBUS.
  if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return Status(Code::system_error, fmt::format("cannot seal shared memory: {}", reason(errno)));
  }
  return {};
}

Status refuse_map(size_t size, int error) {
  if (error != ENOMEM)
    return system_failure(fmt::format("cannot map {} bytes of shared memory", size), error);
  return Status::shortage(
      fmt::format("cannot map {} bytes of shared memory: {}; the address space (ulimit -v) "
                  "or the number of mappings (vm.max_map_count) is limited",
                  size, reason(error)));
}

/// Reserves `size` bytes of address space that begin at a 2 MiB boundary.
std::byte* reserve_aligned(size_t size) {
  const size_t total = size + kHugePage;
  void* raw = mmap(nullptr, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(raw);
  const size_t head = (kHugePage - reinterpret_cast<uintptr_t>(begin) % kHugePage) % kHugePage;
  if (head != 0) munmap(begin, head);
  if (head != kHugePage) munmap(begin + head + size, kHugePage - head);
  return begin + head;
}

Result<std::byte*> map(int fd, uint64_t offset, size_t size, Pages pages) {
  const bool huge = pages == Pages::huge && size >= kHugePage;
  std::byte* place = huge ? reserve_aligned(size) : nullptr;
  const int flags = MAP_SHARED | MAP_NORESERVE | (place != nullptr ? MAP_FIXED : 0);
  void* raw = mmap(place, size, PROT_READ | PROT_WRITE, flags, fd, static_cast<off_t>(offset));
  if (raw == MAP_FAILED) {
    const int error = errno;
    if (place != nullptr) munmap(place, size);
    return refuse_map(size, error);
  }
  // Only a hint: if /sys/kernel/mm/transparent_hugepage/shmem_enabled forbids it, pages stay small.
  if (huge) madvise(raw, size, MADV_HUGEPAGE);
  return static_cast<std::byte*>(raw);
}

/// Whether `fd` is the file that `handle` identifies, and not another file that uses its number meanwhile.
bool is_named_by(int fd, const ShareHandle& handle) {
  struct stat info;
  if (fstat(fd, &info) != 0 || info.st_ino != handle.inode || info.st_dev != handle.device) return false;
  const auto bytes = static_cast<uint64_t>(info.st_size);
  if (handle.size > bytes || handle.offset > bytes - handle.size) return false;
  if (handle.token == 0) return true;  // an adopted file has no token in its name
  char link[64] = {};
  const ssize_t length = readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), link, sizeof(link) - 1);
  if (length < 0) return true;  // without /proc only inode and size can be compared
  return std::string_view(link).find(memfd_name(handle.token)) != std::string_view::npos;
}

Descriptor open_through_proc(const ShareHandle& handle) {
  return Descriptor(open(fmt::format("/proc/{}/fd/{}", handle.pid, handle.fd).c_str(),
                         O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

/// Opens the owner's descriptor with pidfd_getfd, for hosts where /proc is missing, hides other processes or
/// belongs to another pid namespace.
Descriptor open_through_pidfd(const ShareHandle& handle) {
  const Descriptor process(static_cast<int>(syscall(kPidfdOpen, handle.pid, 0)));
  if (!process.ok()) return Descriptor(-1);
  return Descriptor(static_cast<int>(syscall(kPidfdGetfd, process.get(), handle.fd, 0)));
}

/// A segment is sealed, or the process that made it could shrink it, and access to it would end this one
/// (SIGBUS). Files that users mapped cannot be sealed.
Status check_seal(int fd, const ShareHandle& handle) {
  const int seals = handle.token != 0 ? fcntl(fd, F_GET_SEALS) : F_SEAL_SHRINK;
  if (seals >= 0 && (seals & F_SEAL_SHRINK) != 0) return {};
  return Status(Code::remote_error,
                fmt::format("refused to map the memory of process {}: it is not sealed against shrinking "
                            "(F_SEAL_SHRINK); expected a segment that weir has made",
                            handle.pid));
}

Status refuse_attach(const ShareHandle& handle, int proc_error, int pidfd_error) {
  for (const int error : {proc_error, pidfd_error}) {
    if (is_shortage(error))
      return system_failure(fmt::format("cannot map the memory of process {}", handle.pid), error);
  }
  const std::string what = fmt::format("cannot map the memory of process {}", handle.pid);
  const uint64_t own = pid_namespace();
  if (own != 0 && handle.pid_namespace != 0 && own != handle.pid_namespace) {
    return Status(Code::system_error, what +
                                          ": it runs in another pid namespace or on another host; start both "
                                          "containers with one pid namespace (docker: --pid=host)");
  }
  if (pidfd_error == ESRCH) {
    return Status(
        Code::remote_error,
        what + ": the process does not exist on this host; it has ended, or it runs on another host");
  }
  if (proc_error == 0 || pidfd_error == 0 || proc_error == EBADF || pidfd_error == EBADF) {
    return Status(Code::remote_error,
                  fmt::format("{}: its descriptor {} does not refer to that memory any more; the owner has "
                              "released it, or another process has the process id now",
                              what, handle.fd));
  }
  if (proc_error == EACCES || proc_error == EPERM || pidfd_error == EPERM) {
    return Status(
        Code::system_error,
        fmt::format("{}: {}; run both processes as the same user, dumpable (prctl PR_SET_DUMPABLE) and "
                    "with /proc mounted without hidepid, or grant CAP_SYS_PTRACE",
                    what, reason(proc_error == ENOENT ? pidfd_error : proc_error)));
  }
  return Status(Code::system_error, fmt::format("{}: /proc/{}/fd/{}: {}; pidfd_getfd: {}", what, handle.pid,
                                                handle.fd, reason(proc_error), reason(pidfd_error)));
}

Result<Descriptor> find_file(const ShareHandle& handle) {
  if (handle.pid <= 0 || handle.fd < 0 || handle.size == 0) {
    return Status(
        Code::invalid_argument,
        fmt::format("a share handle names process {}, descriptor {} and {} bytes; expected a process, a "
                    "descriptor and a size",
                    handle.pid, handle.fd, handle.size));
  }
  Descriptor file = open_through_proc(handle);
  const int proc_error = file.ok() ? 0 : errno;
  if (file.ok() && is_named_by(file.get(), handle)) return file;
  file = open_through_pidfd(handle);
  const int pidfd_error = file.ok() ? 0 : errno;
  if (file.ok() && is_named_by(file.get(), handle)) return file;
  return refuse_attach(handle, proc_error, pidfd_error);
}

Result<Descriptor> open_handle(const ShareHandle& handle) {
  Result<Descriptor> file = find_file(handle);
  WEIR_TRY(file.status());
  WEIR_TRY(check_seal(file->get(), handle));
  return file;
}

}  // namespace

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  if (this != &other) {
    reset();
    handle_ = std::exchange(other.handle_, {});
    owned_fd_ = std::exchange(other.owned_fd_, -1);
    data_ = std::exchange(other.data_, nullptr);
    owns_mapping_ = other.owns_mapping_;
  }
  return *this;
}

Result<SharedMemory> SharedMemory::create(size_t size, Pages pages) {
  const Result<size_t> rounded = whole_pages(size);
  if (!rounded.ok()) return rounded.status();
  const Result<uint64_t> token = random_token();
  if (!token.ok()) return token.status();
  Descriptor file = make_memfd(token.value());
  if (!file.ok()) return system_failure("cannot create shared memory (memfd_create)", errno);
  WEIR_TRY(set_size(file.get(), rounded.value()));
  struct stat info;
  if (fstat(file.get(), &info) != 0) {
    return Status(Code::system_error,
                  fmt::format("cannot read the properties of shared memory (fstat): {}", reason(errno)));
  }
  const ShareHandle handle{getpid(),    file.get(), pid_namespace(), token.value(),           info.st_dev,
                           info.st_ino, 0,          rounded.value(), access_of_this_process()};
  const Result<std::byte*> data = map(file.get(), 0, rounded.value(), pages);  // last: nothing may throw now
  if (!data.ok()) return data.status();
  return SharedMemory(handle, file.release(), data.value(), true);
}

Result<SharedMemory> SharedMemory::adopt(const void* data, size_t bytes) {
  Result<MappedFile> found = find_mapped_file(data, bytes);
  if (!found.ok()) return found.status();
  const ShareHandle handle{getpid(),     found->file.get(), pid_namespace(), 0, found->device,
                           found->inode, found->offset,     found->bytes,    0};
  if (!is_named_by(found->file.get(), handle)) {
    return Status(Code::invalid_argument,
                  fmt::format("{} bytes at {} extend beyond the end of the mapped file", bytes, data));
  }
  return SharedMemory(handle, found->file.release(), found->begin, false);
}

Status SharedMemory::probe(const ShareHandle& handle) { return open_handle(handle).status(); }

Result<SharedMemory> SharedMemory::attach(const ShareHandle& handle, Pages pages) {
  const Result<Descriptor> file = open_handle(handle);
  if (!file.ok()) return file.status();
  const Result<std::byte*> data = map(file.value().get(), handle.offset, handle.size, pages);
  if (!data.ok()) return data.status();
  return SharedMemory(handle, -1, data.value(), true);
}

size_t SharedMemory::used_bytes() const {
  constexpr size_t kBlock = 512;  // unit of st_blocks, independent of the file system's block size
  struct stat info {};
  if (owned_fd_ < 0 || fstat(owned_fd_, &info) != 0) return 0;
  return static_cast<size_t>(info.st_blocks) * kBlock;
}

void SharedMemory::reset() {
  if (data_ != nullptr && owns_mapping_) munmap(data_, handle_.size);
  if (owned_fd_ >= 0) close(owned_fd_);
  handle_ = {};
  owned_fd_ = -1;
  data_ = nullptr;
}

}  // namespace weir::device
