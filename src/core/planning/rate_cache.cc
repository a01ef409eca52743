// SPDX-License-Identifier: Apache-2.0

#include "src/core/planning/rate_cache.h"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "src/base/host.h"
#include "src/base/log.h"

namespace weir::core {
namespace {

constexpr size_t kMostRatesBytes = 4096;

std::error_code put_file(const std::string& path, const std::string& text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  return file ? std::error_code() : std::error_code(errno != 0 ? errno : EIO, std::generic_category());
}

}  // namespace

RateCache::RateCache(std::string folder, std::string about)
    : folder_(std::move(folder)),
      about_(std::move(about)),
      head_(fmt::format("# weir rates 2: {}\n", about_)),
      file_(fmt::format("{}/rates-{:016x}.txt", folder_, hash_text(about_))) {}

std::optional<cost::Rates> RateCache::read() const {
  if (folder_.empty()) return std::nullopt;
  std::ifstream file(file_, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text(kMostRatesBytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(kMostRatesBytes));
  text.resize(static_cast<size_t>(file.gcount()));
  if (!text.starts_with(head_)) {
    WEIR_INFO(tuning, "ignoring {}: it was measured for a different configuration than \"{}\"", file_,
              about_);
    return std::nullopt;
  }
  // Every figure must be in the file: a missing one stays negative.
  constexpr double kNone = -1;
  auto rates = cost::read_rates(text, {{kNone, kNone, kNone}, {kNone, kNone, kNone, kNone}, kNone});
  if (rates.ok() && cost::slower(*rates, {}) == *rates) return *rates;
  WEIR_INFO(tuning, "ignoring {}: {}", file_, rates.ok() ? "figures are missing" : rates.status().message());
  return std::nullopt;
}

Status RateCache::write(const cost::Rates& rates) const {
  if (folder_.empty()) return {};
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  const std::string draft = fmt::format("{}.{:x}", file_, random_bits());
  if (!error) error = put_file(draft, head_ + cost::text_of(rates));
  if (!error) std::filesystem::rename(draft, file_, error);
  if (!error) return {};
  std::error_code ignored;
  std::filesystem::remove(draft, ignored);
  return {
      Code::system_error,
      fmt::format("measured rates cannot be written to {}: {}; they are measured again for each communicator "
                  "(WEIR_CACHE_DIR names the folder)",
                  file_, error.message())};
}

}  // namespace weir::core
