// SPDX-License-Identifier: Apache-2.0

#include "trainer/checkpoint/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "trainer/checkpoint/agree.h"
#include "trainer/checkpoint/files.h"
#include "trainer/checkpoint/folder.h"
#include "trainer/shard/calls.h"

namespace weir::checkpoint {

Status check_same(const Contents& found, const Contents& expected, const std::string& path) {
  const auto wrong = [&](const std::string& how) {
    return Status(Code::invalid_argument, path + ": " + how);
  };
  for (const std::string& name : expected.arrays)
    if (std::ranges::find(found.arrays, name) == found.arrays.end())
      return wrong(fmt::format("has no array '{}'; expected the arrays {}, of which it has {}", name,
                               fmt::join(expected.arrays, ", "), fmt::join(found.arrays, ", ")));
  if (found.units.size() != expected.units.size())
    return wrong(fmt::format("has {} units; expected {}", found.units.size(), expected.units.size()));
  for (size_t i = 0; i < found.units.size(); ++i)
    if (found.units[i].name != expected.units[i].name ||
        found.units[i].parameters != expected.units[i].parameters)
      return wrong(fmt::format("unit {} is {} with {} parameters; expected {} with {}", i,
                               found.units[i].name, found.units[i].parameters, expected.units[i].name,
                               expected.units[i].parameters));
  return Status();
}

namespace {

Result<Contents> load(const std::string& path, const Contents& expected,
                      std::span<const ArrayRequest> requests) {
  Result<Reader> reader = Reader::open(path);
  if (!reader.ok()) return reader.status();
  WEIR_TRY(check_same(reader->contents(), expected, path));
  const std::vector<std::string>& found = reader->contents().arrays;
  for (ArrayRequest request : requests) {
    const std::string& name = expected.arrays[request.array];
    request.array = static_cast<uint32_t>(std::ranges::find(found, name) - found.begin());
    WEIR_TRY(reader->read(request));
  }
  return reader->contents();
}

}  // namespace

Result<Reader> Reader::open(const std::string& path) {
  const std::string file = path + "/" + kManifest;
  Result<std::string> text = read_file(file);
  if (!text.ok()) return text.status();
  Result<Manifest> manifest = parse_manifest(*text);
  if (!manifest.ok())
    return Status(manifest.status().code(), fmt::format("{}: {}", file, manifest.status().message()));
  Reader reader(path, std::move(*manifest));
  WEIR_TRY(reader.open_files());
  std::vector<Record> records;
  for (const RankFile& one : reader.files_)
    records.insert(records.end(), one.records().begin(), one.records().end());
  WEIR_TRY(check_complete(reader.contents(), std::move(records), path));
  reader.order_records();
  return reader;
}

Status Reader::open_files() {
  files_.reserve(manifest_.files.size());  // places_ points into files_, which must not be reallocated
  for (size_t rank = 0; rank < manifest_.files.size(); ++rank) {
    Result<RankFile> file =
        RankFile::open(path_ + "/" + file_name(static_cast<int>(rank)), manifest_.files[rank]);
    if (!file.ok()) return file.status();
    files_.push_back(std::move(*file));
  }
  return Status();
}

namespace {

std::string name_of(const Contents& contents, uint64_t unit, uint64_t array) {
  return fmt::format("{} of {}", contents.arrays[array], contents.units[unit].name);
}

}  // namespace

std::string Reader::name_of(uint64_t unit, uint64_t array) const {
  return checkpoint::name_of(manifest_.contents, unit, array);
}

Status check_complete(const Contents& contents, std::vector<Record> records, const std::string& path) {
  std::ranges::sort(records, {},
                    [](const Record& record) { return std::tuple(record.unit, record.array, record.first); });
  auto next = records.begin();
  for (uint32_t unit = 0; unit < contents.units.size(); ++unit)
    for (uint32_t array = 0; array < contents.arrays.size(); ++array) {
      uint64_t at = 0;
      const bool partial = is_partial(contents, array);
      for (; next != records.end() && next->unit == unit && next->array == array; ++next) {
        if (next->first < at || (next->first > at && !partial)) break;
        at = next->first + next->count;
      }
      const uint64_t end = contents.units[unit].parameters;
      if (at > end || (at < end && !partial))
        return Status(Code::invalid_argument,
                      fmt::format("{}: elements of {} from {} on are missing or occur twice", path,
                                  name_of(contents, unit, array), at));
    }
  if (next == records.end()) return {};
  return Status(
      Code::invalid_argument,
      fmt::format("{}: a record belongs to no unit or array of the manifest, or occurs twice", path));
}

void Reader::order_records() {
  places_.resize(manifest_.contents.units.size() * manifest_.contents.arrays.size());
  for (const RankFile& file : files_)
    for (const Record& record : file.records())
      places_[slot(record.unit, record.array)].push_back({&file, &record});
  for (std::vector<Place>& places : places_)
    std::ranges::sort(places, {}, [](const Place& place) { return place.record->first; });
}

Status check_found(const Contents& contents, std::span<const Record> records, const ArrayRequest& request,
                   const std::string& path) {
  uint64_t found = 0;
  for (const Record& record : records) {
    if (record.unit != request.unit || record.array != request.array) continue;
    const uint64_t from = std::max(record.first, request.first);
    const uint64_t to = std::min(record.first + record.count, request.first + request.values.size());
    found += from < to ? to - from : 0;  // no two records have one element
  }
  if (found == request.values.size()) return {};
  return Status(Code::invalid_argument,
                fmt::format("{}: {} has {} of the {} elements from {} on that are needed", path,
                            name_of(contents, request.unit, request.array), found, request.values.size(),
                            request.first));
}

void copy_common(const Record& record, std::span<const float> values, const ArrayRequest& request) {
  if (record.unit != request.unit || record.array != request.array) return;
  const uint64_t from = std::max(record.first, request.first);
  const uint64_t to = std::min(record.first + record.count, request.first + request.values.size());
  if (from < to)
    std::copy_n(values.begin() + static_cast<ptrdiff_t>(from - record.first), to - from,
                request.values.begin() + static_cast<ptrdiff_t>(from - request.first));
}

Status Reader::read(const ArrayRequest& request) const {
  const Contents& contents = manifest_.contents;
  const uint64_t end = request.first + request.values.size();
  if (request.unit >= contents.units.size() || request.array >= contents.arrays.size() ||
      end > contents.units[request.unit].parameters)
    return Status(Code::invalid_argument,
                  fmt::format("{}: no elements {} to {} of array {} of unit {}", path_, request.first, end,
                              request.array, request.unit));
  const std::vector<Place>& places = places_[slot(request.unit, request.array)];
  if (is_partial(contents, request.array)) {
    std::vector<Record> records;
    for (const Place& place : places) records.push_back(*place.record);
    WEIR_TRY(check_found(contents, records, request, path_));
  }
  std::vector<float> values;
  for (const Place& place : places) {
    const Record& record = *place.record;
    if (record.first + record.count <= request.first || record.first >= end) continue;
    if (const Status status = place.file->read(record, values); !status.ok())
      return Status(status.code(),
                    fmt::format("{} ({})", status.message(), name_of(request.unit, request.array)));
    copy_common(record, values, request);
  }
  return Status();
}

Result<KeptCheckpoint> newest(const std::string& path) {
  const Choice choice = choice_of(path);
  Status last(Code::invalid_argument, fmt::format("{}: expected a checkpoint, or a folder with one", path));
  for (const uint64_t step : choice.steps()) {
    const std::string own = choice.folder + "/" + folder_name(step), file = own + "/" + kManifest;
    const Result<std::string> text = read_file(file);
    Result<Manifest> manifest = text.ok() ? parse_manifest(*text) : Result<Manifest>(text.status());
    if (manifest.ok()) return KeptCheckpoint{own, std::move(manifest->contents)};
    last = Status(Code::invalid_argument, fmt::format("{}: {}", file, manifest.status().message()));
  }
  return last;
}

Result<std::optional<Loaded>> load_latest(ncclComm_t world, const std::string& path, const Contents& expected,
                                          std::span<const ArrayRequest> requests) {
  Loaded loaded;
  // Rank 0's list counts: other ranks might list the folder after it has changed.
  const Choice choice = choice_of(path);
  const std::vector<uint64_t> steps = choice.steps();
  for (size_t next = 0;; ++next) {
    uint64_t candidate[2] = {next < steps.size() ? 1U : 0U, next < steps.size() ? steps[next] : 0};
    WEIR_TRY(shard::checked(ncclBroadcast(candidate, candidate, 2, ncclUint64, 0, world, nullptr),
                            "finding checkpoints"));
    if (candidate[0] == 0) break;
    Result<Contents> contents = load(choice.folder + "/" + folder_name(candidate[1]), expected, requests);
    const Status status = agree(world, contents.status());
    if (status.ok()) {
      loaded.contents = std::move(*contents);
      return std::optional<Loaded>(std::move(loaded));
    }
    if (status.code() == Code::remote_error) return status;
    loaded.skipped.push_back(status.message());
  }
  return nothing_usable(loaded, path);
}

Result<std::optional<Loaded>> nothing_usable(const Loaded& loaded, const std::string& path) {
  if (loaded.skipped.empty()) return std::optional<Loaded>();
  return Status(Code::invalid_argument,
                fmt::format("no checkpoint in {} can be used; the newest: {}", path, loaded.skipped[0]));
}

}  // namespace weir::checkpoint
