// SPDX-License-Identifier: Apache-2.0

#include "trainer/data/token_shard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace weir::trainer {
namespace {

constexpr size_t kHeaderBytes = 1024;

struct HeaderKind {
  uint32_t magic;
  uint32_t version;
  Index width;
  Index vocabulary;
  Token separator;
};
constexpr std::array kHeaderKinds = {
    HeaderKind{20240520, 1, 2, 50257, 50256},    // GPT-2's tokenizer
    HeaderKind{20240801, 7, 4, 128256, 128000},  // Llama 3's
};

const HeaderKind* kind_of(std::span<const uint8_t> bytes) {
  uint32_t magic = 0;
  if (bytes.size() < sizeof magic) return nullptr;
  std::memcpy(&magic, bytes.data(), sizeof magic);
  for (const HeaderKind& kind : kHeaderKinds)
    if (kind.magic == magic) return &kind;
  return nullptr;
}

Result<TokenShard> map(const std::string& path) {
  const auto failed = [&] {
    return Status(Code::system_error,
                  fmt::format("{}: the tokens cannot be read: {}", path, std::strerror(errno)));
  };
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return failed();
  struct Closes {
    int file;
    ~Closes() { close(file); }
  } const closes{file};
  struct stat status {};
  if (fstat(file, &status) != 0) return failed();
  if (!S_ISREG(status.st_mode) || status.st_size == 0)
    return Status(Code::invalid_argument, fmt::format("{}: is {}; expected a file of tokens", path,
                                                      S_ISREG(status.st_mode) ? "empty" : "no regular file"));
  const auto size = static_cast<size_t>(status.st_size);
  void* const memory = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return failed();
  TokenShard shard;
  shard.mapping = std::shared_ptr<const void>(
      memory, [size](const void* mapped) { munmap(const_cast<void*>(mapped), size); });
  shard.bytes = {static_cast<const uint8_t*>(memory), size};
  return shard;
}

}  // namespace

Result<bool> is_llm_c_shard(const std::string& path) {
  // A pipe cannot be looked at without reading it.
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) return false;
  const auto shard = map(path);
  WEIR_TRY(shard.status());
  return kind_of(shard->bytes) != nullptr;
}

Result<TokenShard> open_llm_c_shard(const std::string& path) {
  Result<TokenShard> shard = map(path);
  WEIR_TRY(shard.status());
  const auto wrong = [&](const std::string& sentence) {
    return Status(Code::invalid_argument, path + ": " + sentence);
  };
  const HeaderKind* const kind = kind_of(shard->bytes);
  if (kind == nullptr)
    return wrong("has no header of llm.c's; expected it to begin with the number 20240520 or 20240801");
  if (shard->bytes.size() < kHeaderBytes)
    return wrong(fmt::format("has {} bytes; expected a header of {}", shard->bytes.size(), kHeaderBytes));
  std::array<uint32_t, 3> header{};
  std::memcpy(header.data(), shard->bytes.data(), sizeof header);
  const auto [magic, version, count] = header;
  if (version != kind->version)
    return wrong(fmt::format("the header's version is {}; expected {} with the magic number {}", version,
                             kind->version, magic));
  shard->bytes = shard->bytes.subspan(kHeaderBytes);
  const uint64_t expected = uint64_t{count} * static_cast<uint64_t>(kind->width);
  if (shard->bytes.size() != expected)
    return wrong(fmt::format("has {} bytes after its header; expected {}, since the header says {} tokens",
                             shard->bytes.size(), expected, count));
  shard->width = kind->width;
  shard->vocabulary = kind->vocabulary;
  shard->separator = kind->separator;
  return shard;
}

Result<TokenShard> open_raw_shard(const std::string& path, Index width) {
  Result<TokenShard> shard = map(path);
  WEIR_TRY(shard.status());
  shard->width = width;
  if (shard->bytes.size() % static_cast<size_t>(width) == 0) return shard;
  return Status(Code::invalid_argument,
                fmt::format("{}: has {} bytes; expected a multiple of {}, since tokens "
                            "have {} bits",
                            path, shard->bytes.size(), width, 8 * width));
}

}  // namespace weir::trainer
