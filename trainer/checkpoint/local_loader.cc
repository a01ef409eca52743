// SPDX-License-Identifier: Apache-2.0

#include "trainer/checkpoint/local_loader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "trainer/checkpoint/agree.h"
#include "trainer/checkpoint/files.h"
#include "trainer/checkpoint/folder.h"
#include "trainer/checkpoint/live_state.h"
#include "trainer/shard/calls.h"

namespace weir::checkpoint {
namespace {

constexpr size_t kMostSteps = 64;  ///< of a rank; newer ones count

Status sent(ncclResult_t result) { return shard::checked(result, "sending parts of a checkpoint"); }

/// The steps of which some rank has something, newest first.
Result<std::vector<uint64_t>> steps_of_all(ncclComm_t world, int rank, int ranks, const Choice& choice) {
  std::vector<uint64_t> all(static_cast<size_t>(ranks) * kMostSteps, UINT64_MAX);
  const std::vector<uint64_t> own = choice.steps();
  uint64_t* const mine = all.data() + static_cast<size_t>(rank) * kMostSteps;
  std::copy_n(own.begin(), std::min(own.size(), kMostSteps), mine);
  WEIR_TRY(sent(ncclAllGather(mine, all.data(), kMostSteps, ncclUint64, world, nullptr)));
  std::ranges::sort(all, std::greater());
  const auto last = std::unique(all.begin(), all.end());
  all.erase(last, all.end());
  if (!all.empty() && all.front() == UINT64_MAX) all.erase(all.begin());
  return all;
}

/// One checkpoint, in which ranks find different files. Used by one thread; all functions are collective.
class ScatteredReader {
 public:
  ScatteredReader(ncclComm_t world, int rank, int ranks, std::string path)
      : world_(world), rank_(rank), ranks_(ranks), path_(std::move(path)) {}

  Result<Contents> read(const Contents& expected, std::span<const ArrayRequest> requests) {
    WEIR_TRY(share_manifest());
    WEIR_TRY(check_same(manifest_.contents, expected, path_));
    WEIR_TRY(find_files());
    for (size_t file = 0; file < files_.size(); ++file) WEIR_TRY(share_records(file));
    WEIR_TRY(check_complete(manifest_.contents, records_, path_));
    WEIR_TRY(share_requests(expected, requests));
    Status found;
    for (const ArrayRequest& request : requests_)
      if (found.ok()) found = check_found(manifest_.contents, records_, request, path_);
    WEIR_TRY(agree(world_, found));
    Status damaged;
    size_t next = 0;
    for (size_t file = 0; file < files_.size(); ++file)
      for (uint64_t count = 0; count < manifest_.files[file].records; ++count)
        WEIR_TRY(share_values(file, records_[next++], damaged));
    WEIR_TRY(agree(world_, damaged));
    return manifest_.contents;
  }

 private:
  Status broadcast(void* data, size_t bytes, int from) {
    return sent(ncclBroadcast(data, data, bytes, ncclChar, from, world_, nullptr));
  }

  Status share_manifest();
  Status find_files();
  Status share_records(size_t file);
  Status share_requests(const Contents& expected, std::span<const ArrayRequest> requests);
  bool needs(size_t rank, const Record& record) const;
  Status share_values(size_t file, const Record& record, Status& damaged);

  ncclComm_t world_;
  int rank_;
  int ranks_;
  std::string path_;
  Manifest manifest_;
  bool has_manifest_ = false;                   ///< whether this rank has the same one
  std::vector<std::optional<RankFile>> files_;  ///< those that this rank has
  std::vector<int32_t> senders_;                ///< index: file
  std::vector<Record> records_;                 ///< of all files, in their order
  std::vector<ArrayRequest> requests_;          ///< of this rank, with the checkpoint's numbers of arrays
  std::vector<std::vector<Piece>> wanted_;      ///< index: rank
};

/// That of the lowest rank that has one counts.
Status ScatteredReader::share_manifest() {
  const auto own = read_file(path_ + "/" + kManifest);
  int32_t first = own.ok() && parse_manifest(*own).ok() ? rank_ : ranks_;
  WEIR_TRY(sent(ncclAllReduce(&first, &first, 1, ncclInt32, ncclMin, world_, nullptr)));
  if (first == ranks_)
    return Status(Code::invalid_argument, fmt::format("{}: no host has a manifest that can be read", path_));
  std::string text = first == rank_ ? *own : "";
  uint64_t bytes = text.size();
  WEIR_TRY(broadcast(&bytes, sizeof bytes, first));
  text.resize(bytes);
  WEIR_TRY(broadcast(text.data(), bytes, first));
  auto parsed = parse_manifest(text);
  WEIR_TRY(parsed.status());
  manifest_ = std::move(*parsed);
  has_manifest_ = own.ok() && *own == text;
  return {};
}

Status ScatteredReader::find_files() {
  files_.resize(manifest_.files.size());
  senders_.assign(files_.size(), ranks_);
  for (size_t file = 0; file < files_.size() && has_manifest_; ++file) {
    auto opened = RankFile::open(path_ + "/" + file_name(static_cast<int>(file)), manifest_.files[file]);
    if (!opened.ok()) continue;
    files_[file].emplace(std::move(*opened));
    senders_[file] = rank_;
  }
  WEIR_TRY(sent(
      ncclAllReduce(senders_.data(), senders_.data(), senders_.size(), ncclInt32, ncclMin, world_, nullptr)));
  std::vector<std::string> missing;
  for (size_t file = 0; file < files_.size(); ++file)
    if (senders_[file] == ranks_) missing.push_back(file_name(static_cast<int>(file)));
  if (missing.empty()) return {};
  return Status(Code::invalid_argument,
                fmt::format("{}: no host has an undamaged {}; expected all {} files on the hosts together",
                            path_, fmt::join(missing, ", "), files_.size()));
}

Status ScatteredReader::share_records(size_t file) {
  const size_t first = records_.size();
  records_.resize(first + manifest_.files[file].records);
  if (senders_[file] == rank_)
    std::ranges::copy(files_[file]->records(), records_.begin() + static_cast<ptrdiff_t>(first));
  return broadcast(records_.data() + first, (records_.size() - first) * sizeof(Record), senders_[file]);
}

Status ScatteredReader::share_requests(const Contents& expected, std::span<const ArrayRequest> requests) {
  const std::vector<std::string>& found = manifest_.contents.arrays;
  std::vector<Piece> own;
  for (ArrayRequest request : requests) {
    const std::string& name = expected.arrays[request.array];
    request.array = static_cast<uint32_t>(std::ranges::find(found, name) - found.begin());
    requests_.push_back(request);
    own.push_back({request.unit, request.array, request.first, request.values.size()});
  }
  auto wanted = gather_pieces(world_, own);
  WEIR_TRY(wanted.status());
  wanted_ = std::move(*wanted);
  return {};
}

bool ScatteredReader::needs(size_t rank, const Record& record) const {
  return std::ranges::any_of(wanted_[rank], [&](const Piece& piece) {
    return piece.unit == record.unit && piece.array == record.array &&
           piece.first < record.first + record.count && record.first < piece.first + piece.count;
  });
}

/// Sends the values to the ranks that need some of them. What the sender cannot read is zero, and `damaged`
/// says why.
Status ScatteredReader::share_values(size_t file, const Record& record, Status& damaged) {
  const int sender = senders_[file];
  const bool needed = needs(static_cast<size_t>(rank_), record);
  if (sender != rank_ && !needed) return {};
  std::vector<float> values;
  if (sender == rank_)
    if (const Status read = files_[file]->read(record, values); !read.ok() && damaged.ok()) damaged = read;
  values.resize(record.count);
  WEIR_TRY(sent(ncclGroupStart()));
  Status status;
  for (int rank = 0; rank < ranks_ && sender == rank_ && status.ok(); ++rank)
    if (rank != rank_ && needs(static_cast<size_t>(rank), record))
      status = sent(ncclSend(values.data(), values.size(), ncclFloat, rank, world_, nullptr));
  if (sender != rank_)
    status = sent(ncclRecv(values.data(), values.size(), ncclFloat, sender, world_, nullptr));
  const Status ended = sent(ncclGroupEnd());
  WEIR_TRY(status);
  WEIR_TRY(ended);
  for (const ArrayRequest& request : requests_) copy_common(record, values, request);
  return {};
}

}  // namespace

Result<std::optional<Loaded>> load_latest_local(ncclComm_t world, const std::string& path,
                                                const Contents& expected,
                                                std::span<const ArrayRequest> requests) {
  int rank = 0, ranks = 0;
  WEIR_TRY(sent(ncclCommUserRank(world, &rank)));
  WEIR_TRY(sent(ncclCommCount(world, &ranks)));
  const Choice choice = choice_of(path);
  const auto steps = steps_of_all(world, rank, ranks, choice);
  WEIR_TRY(steps.status());
  Loaded loaded;
  for (const uint64_t step : *steps) {
    ScatteredReader reader(world, rank, ranks, choice.folder + "/" + folder_name(step));
    auto contents = reader.read(expected, requests);
    if (contents.ok()) {
      loaded.contents = std::move(*contents);
      return std::optional<Loaded>(std::move(loaded));
    }
    if (contents.status().code() == Code::remote_error) return contents.status();
    loaded.skipped.push_back(contents.status().message());
  }
  return nothing_usable(loaded, path);
}

}  // namespace weir::checkpoint
