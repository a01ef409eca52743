// SPDX-License-Identifier: Apache-2.0

#include "trainer/checkpoint/saver.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "trainer/checkpoint/agree.h"
#include "trainer/checkpoint/folder.h"
#include "trainer/checkpoint/shared_folder.h"
#include "trainer/shard/calls.h"

namespace weir::checkpoint {

Saver::~Saver() {
  if (saving_ && saving_->thread.joinable()) saving_->thread.join();
}

std::string Saver::temporary() const {
  return folder_ + "/" + folder_name(saving_->contents.step) + kTemporary;
}

bool Saver::written() const { return saving_ && saving_->written.load(std::memory_order_acquire); }

/// On the first rank of the folder.
Status Saver::lock_folder(bool regrouped) {
  WEIR_TRY(files_.make_folder(folder_));
  auto lock = FolderOwner::take(folder_);
  if (lock.ok()) {
    owner_.emplace(std::move(*lock));
    return remove_leftovers();
  }
  return regrouped && lock.status().code() == Code::invalid_usage ? Status() : lock.status();
}

/// Over the ranks that share this rank's folder.
Result<uint64_t> Saver::sum_in_folder(uint64_t own) const {
  int ranks = 0;
  WEIR_TRY(shard::checked(ncclCommCount(world_, &ranks), "opening the checkpoint folder"));
  std::vector<std::array<uint64_t, 2>> all(static_cast<size_t>(ranks));  // first rank of the folder, bytes
  auto& mine = all[static_cast<size_t>(rank_)];
  mine = {static_cast<uint64_t>(first_), own};
  WEIR_TRY(shard::checked(ncclAllGather(mine.data(), all.data(), 2, ncclUint64, world_, nullptr),
                          "opening the checkpoint folder"));
  uint64_t sum = 0;
  for (const auto& [first, bytes] : all)
    if (first == static_cast<uint64_t>(first_)) sum += bytes;
  return sum;
}

Status Saver::open(bool regrouped, uint64_t own_bytes) {
  WEIR_TRY(shard::checked(ncclCommUserRank(world_, &rank_), "opening the checkpoint folder"));
  WEIR_TRY(agree(world_, is_local_    ? files_.make_folder(folder_)
                         : rank_ == 0 ? lock_folder(regrouped)
                                      : Status()));
  const auto first = first_in_folder(world_, folder_, files_);
  WEIR_TRY(first.status());
  if (is_local_)
    first_ = *first;
  else
    WEIR_TRY(check_shared(world_, folder_, *first));
  if (is_local_) WEIR_TRY(agree(world_, leads() ? lock_folder(regrouped) : Status()));
  const auto bytes = sum_in_folder(own_bytes);
  WEIR_TRY(bytes.status());
  return agree(world_, leads() ? check_space(folder_, *bytes) : Status());
}

Status Saver::remove_leftovers() {
  for (const std::string& name : leftovers(folder_))
    WEIR_TRY(remove_folder(files_, folder_ + "/" + name, kManifest));
  return Status();
}

/// On the first rank of the folder: makes an empty temporary folder and removes what unfinished saves left
/// behind.
Status Saver::prepare() {
  WEIR_TRY(files_.make_folder(folder_));
  WEIR_TRY(remove_leftovers());
  return files_.make_folder(temporary());
}

Status Saver::start(const Contents& contents, std::vector<Part> parts, const shard::Arrays& where) {
  if (saving_) return Status(Code::invalid_usage, "a checkpoint is being written; expected finish() first");
  WEIR_TRY(shard::checked(ncclCommUserRank(world_, &rank_), "saving"));
  saving_.emplace();
  saving_->contents = contents;
  Status status = check(contents);
  if (status.ok() && leads()) status = prepare();
  if (status = agree(world_, status); !status.ok()) {
    saving_.reset();
    return status;
  }
  size_t elements = 0;
  for (const Part& part : parts) elements += part.values.size();
  saving_->values.resize(elements);
  size_t at = 0;
  for (Part& part : parts) {
    where.copy(part.values.data(), part.values.size_bytes(), saving_->values.data() + at);
    part.values = std::span<const float>(saving_->values).subspan(at, part.values.size());
    at += part.values.size();
  }
  saving_->parts = std::move(parts);
  saving_->thread = std::thread([this, path = temporary() + "/" + file_name(rank_), saving = &*saving_] {
    saving->entry = write_rank_file(files_, path, saving->parts);
    saving->written.store(true, std::memory_order_release);
  });
  return Status();
}

Result<std::vector<FileEntry>> Saver::gather_entries(const FileEntry& own) {
  int ranks = 0;
  WEIR_TRY(shard::checked(ncclCommCount(world_, &ranks), "saving"));
  std::vector<FileEntry> entries(ranks);
  entries[rank_] = own;
  WEIR_TRY(shard::checked(
      ncclAllGather(&entries[rank_], entries.data(), sizeof(FileEntry), ncclChar, world_, nullptr),
      "saving"));
  return entries;
}

Status Saver::publish(const std::vector<FileEntry>& files) {
  const std::string from = temporary();
  for (const auto& [name, content] : kept_files_) WEIR_TRY(write_file(files_, from + "/" + name, content));
  WEIR_TRY(write_file(files_, from + "/" + kManifest, text_of(Manifest{saving_->contents, files})));
  WEIR_TRY(files_.sync_folder(from));
  WEIR_TRY(files_.replace(from, folder_ + "/" + folder_name(saving_->contents.step)));
  WEIR_TRY(files_.sync_folder(folder_));
  // If this step was saved before, the temporary folder now holds that older checkpoint.
  return remove_folder(files_, from, kManifest);
}

Status Saver::remove_old() {
  const std::vector<uint64_t> steps = steps_in(folder_);
  for (size_t i = static_cast<size_t>(std::max(keep_, 1)); i < steps.size(); ++i)
    WEIR_TRY(remove_folder(files_, folder_ + "/" + folder_name(steps[i]), kManifest));
  return Status();
}

Status Saver::finish() {
  if (!saving_) return Status(Code::invalid_usage, "no checkpoint is being written; expected start() first");
  saving_->thread.join();
  Status status = agree(world_, saving_->entry.status());
  if (status.ok()) {
    Result<std::vector<FileEntry>> entries = gather_entries(*saving_->entry);
    status = entries.status();
    if (status.ok() && leads()) status = publish(*entries);
    status = agree(world_, status);
    // Older ones are needed until this one is complete on all hosts.
    if (status.ok()) status = agree(world_, leads() ? remove_old() : Status());
  }
  saving_.reset();
  return status;
}

}  // namespace weir::checkpoint
