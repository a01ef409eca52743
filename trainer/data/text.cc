// SPDX-License-Identifier: Apache-2.0

#include "trainer/data/text.h"

#include <fmt/format.h>
#include <lzma.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

// The unchanged file, between two symbols.
// clang-format off
asm(".pushsection .rodata\n"
    "weir_trainer_kjv_begin:\n"
    ".incbin \"" WEIR_TRAINER_KJV "\"\n"
    "weir_trainer_kjv_end:\n"
    ".popsection\n");
// clang-format on
extern "C" {
[[gnu::visibility("hidden")]] extern const uint8_t weir_trainer_kjv_begin[];
[[gnu::visibility("hidden")]] extern const uint8_t weir_trainer_kjv_end[];
}

namespace weir::trainer {
namespace {

Result<std::vector<uint8_t>> decompressed(std::span<const uint8_t> packed) {
  constexpr size_t kStep = size_t{4} << 20;
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, UINT64_MAX, 0) != LZMA_OK)
    return Status(Code::system_error, "liblzma could not be initialised to decompress the built-in text");
  const std::unique_ptr<lzma_stream, decltype(&lzma_end)> ends(&stream, &lzma_end);
  std::vector<uint8_t> bytes;
  stream.next_in = packed.data();
  stream.avail_in = packed.size();
  for (lzma_ret code = LZMA_OK; code != LZMA_STREAM_END;) {
    const size_t done = bytes.size();
    bytes.resize(done + kStep);
    stream.next_out = bytes.data() + done;
    stream.avail_out = kStep;
    code = lzma_code(&stream, LZMA_FINISH);
    bytes.resize(done + kStep - stream.avail_out);
    if (code != LZMA_OK && code != LZMA_STREAM_END)
      return Status(Code::internal_error,
                    fmt::format("the built-in text cannot be decompressed (liblzma's error {})", int{code}));
  }
  return bytes;
}

}  // namespace

Result<Text> Text::built_in() {
  auto bytes = decompressed({weir_trainer_kjv_begin, weir_trainer_kjv_end});
  if (!bytes.ok()) return bytes.status();
  return Text("King James Bible", std::move(*bytes));
}

Result<Text> Text::from_file(const std::string& path) {
  const auto failed = [&](const char* what) {
    return Status(Code::system_error, fmt::format("{}: {}: {}", path, what, std::strerror(errno)));
  };
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (file == nullptr) return failed("the text cannot be opened");
  std::vector<uint8_t> bytes;
  constexpr size_t kStep = size_t{1} << 20;
  for (size_t got = kStep; got == kStep;) {
    const size_t done = bytes.size();
    bytes.resize(done + kStep);
    got = std::fread(bytes.data() + done, 1, kStep, file.get());
    bytes.resize(done + got);
  }
  if (std::ferror(file.get()) != 0) return failed("the text cannot be read");
  return Text(path, std::move(bytes));
}

Status Text::check_length(int64_t length) const {
  const auto least = static_cast<size_t>(length) + 1;
  if (held_out_size() >= least) return {};
  return Status(
      Code::invalid_argument,
      fmt::format("{}: {} bytes are too few for sequences of {} tokens: the held-out tenth needs {}, so the "
                  "text needs {} bytes",
                  name_, bytes_.size(), length, least, 10 * least));
}

}  // namespace weir::trainer
