// SPDX-License-Identifier: Apache-2.0

#include "trainer/data/text.h"

#include <fmt/format.h>
#include <lzma.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

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
  return Text(kBuiltIn, std::move(*bytes));
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

Text::Text(std::string name, std::vector<uint8_t> bytes) : name_(std::move(name)), vocabulary_(256) {
  const auto own = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
  add({own, *own, 1});
}

Text::Text(std::string name, std::vector<Token> tokens, std::optional<Token> separator)
    : name_(std::move(name)), separator_(separator) {
  const auto own = std::make_shared<const std::vector<Token>>(std::move(tokens));
  add({own,
       {reinterpret_cast<const uint8_t*>(own->data()), own->size() * sizeof(Token)},
       static_cast<Index>(sizeof(Token))});
}

Text::Text(std::string name, const std::vector<TokenShard>& shards)
    : name_(std::move(name)), vocabulary_(shards.front().vocabulary), separator_(shards.front().separator) {
  for (const TokenShard& shard : shards) add({shard.mapping, shard.bytes, shard.width});
}

void Text::add(Part part) {
  size_ += part.count();
  parts_.push_back(std::move(part));
}

namespace {

template <typename Stored>
void widen(const uint8_t* from, Index count, Token* to) {
  for (Index at = 0; at < count; ++at) {
    Stored stored;
    std::memcpy(&stored, from + at * static_cast<Index>(sizeof stored), sizeof stored);
    to[at] = stored;
  }
}

void widen(Index width, const uint8_t* from, Index count, Token* to) {
  if (width == 1)
    widen<uint8_t>(from, count, to);
  else if (width == 2)
    widen<uint16_t>(from, count, to);
  else
    widen<uint32_t>(from, count, to);
}

}  // namespace

void Text::copy(Index begin, Index count, Token* to) const {
  for (const Part& part : parts_) {
    const Index here = std::min(count, part.count() - begin);
    if (here > 0) {
      widen(part.width, part.bytes.data() + begin * part.width, here, to);
      begin += here;
      to += here;
      count -= here;
    }
    begin -= part.count();
  }
}

std::vector<std::span<const uint8_t>> Text::stored() const {
  std::vector<std::span<const uint8_t>> all;
  for (const Part& part : parts_) all.push_back(part.bytes);
  return all;
}

Status Text::check_length(Index length) const {
  const Index least = length + 1;
  if (held_out_size() >= least) return {};
  const char* const what = is_bytes() ? "bytes" : "tokens";
  return Status(
      Code::invalid_argument,
      fmt::format("{}: {} {} are too few for sequences of {} tokens: the held-out tenth needs {}, so the "
                  "text needs {} {}",
                  name_, size_, what, length, least, 10 * least, what));
}

Status Text::check_vocabulary(Index vocabulary) const {
  constexpr Index kAtOnce = 4096;
  std::vector<Token> tokens(kAtOnce);
  for (Index begin = 0; begin < size_; begin += kAtOnce) {
    const Index count = std::min(kAtOnce, size_ - begin);
    copy(begin, count, tokens.data());
    for (Index at = 0; at < count; ++at) {
      const Token token = tokens[static_cast<size_t>(at)];
      if (static_cast<Index>(token) >= vocabulary)
        return Status(Code::invalid_argument,
                      fmt::format("{}: token {} is {}; expected tokens below {}, the size of the model's "
                                  "vocabulary",
                                  name_, begin + at, token, vocabulary));
    }
  }
  return {};
}

}  // namespace weir::trainer
