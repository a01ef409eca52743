// SPDX-License-Identifier: Apache-2.0

#include "src/core/planning/rate_cache.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "src/base/host.h"
#include "src/base/log.h"

namespace weir::core {
namespace {

constexpr size_t kMostRatesBytes = 4096;

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

void RateCache::write(const cost::Rates& rates) const {
  if (folder_.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  const std::string draft = fmt::format("{}.{:x}", file_, random_bits());
  std::ofstream file(draft, std::ios::binary | std::ios::trunc);
  file << head_ << cost::text_of(rates);
  file.close();
  if (file) std::filesystem::rename(draft, file_, error);
  if (file && !error) return;
  WEIR_INFO(tuning, "the rates could not be written to {}; they will be measured again", file_);
  std::filesystem::remove(draft, error);
}

}  // namespace weir::core
