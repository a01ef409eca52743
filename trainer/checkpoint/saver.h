// SPDX-License-Identifier: Apache-2.0
/// Writes checkpoints with all ranks of a world while training continues.
///
/// Each rank writes the pieces that only it owns to a file in `step-N.tmp`, on a thread of its own. When all
/// files are on disk, rank 0 adds the manifest and renames the folder to `step-N`: a folder of that name is
/// complete. Rank 0 then removes the oldest ones. All ranks must see the same folder, unless it is local:
/// then the first rank of those that share one does there what rank 0 does, and each folder has the manifest
/// and the files of its own ranks (local_loader.h).
#pragma once

#include <nccl.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "trainer/checkpoint/files.h"
#include "trainer/checkpoint/folder_owner.h"
#include "trainer/checkpoint/manifest.h"
#include "trainer/checkpoint/rank_file.h"
#include "trainer/shard/arrays.h"

namespace weir::checkpoint {

/// Used by one thread. open(), start() and finish() are collective; an error of any rank is returned on all
/// ranks.
class Saver {
 public:
  /// Keeps the newest `keep` checkpoints, at least 1; `world` and `files` outlive this.
  Saver(ncclComm_t world, std::string folder, int keep, Files& files = system_files())
      : world_(world), folder_(std::move(folder)), keep_(keep), files_(files) {}
  /// The folder is another one on each host. To be called before open().
  void use_local_folders() { is_local_ = true; }
  /// Puts a file into each checkpoint, beside those of the ranks; that of the folder's first rank counts.
  /// `name` is none of those in manifest.h.
  void keep_file(std::string name, std::string content) {
    kept_files_.emplace_back(std::move(name), std::move(content));
  }
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;
  /// Waits for this rank's file; without finish() no checkpoint is made.
  ~Saver();

  /// Makes the folder and locks it until this object ends, so that what is wrong with it is known before the
  /// first step: that not all ranks see it, or that its file system has no space for `own_bytes` of each
  /// rank. `regrouped`: a rank of this run that is stopped may still have the lock, so that the run goes on
  /// without it.
  Status open(bool regrouped, uint64_t own_bytes = 0);
  /// Copies this rank's parts from their memory and begins to write them. The parts of all ranks together are
  /// all elements of all arrays. invalid_usage while another save is in progress.
  Status start(const Contents& contents, std::vector<Part> parts,
               const shard::Arrays& where = shard::Arrays(nullptr));
  /// Whether start() was called without finish().
  bool under_way() const { return saving_.has_value(); }
  /// Whether this rank's file is written: finish() will then probably not wait long.
  bool written() const;
  /// Waits until the checkpoint is complete.
  Status finish();

 private:
  struct Saving {
    Contents contents;
    std::vector<Part> parts;
    std::vector<float> values;  ///< the values that the parts point to
    Result<FileEntry> entry = Status(Code::in_progress, "is being written");
    std::atomic<bool> written{false};
    std::thread thread;
  };

  Status lock_folder(bool regrouped);
  Status remove_leftovers();
  Result<uint64_t> sum_in_folder(uint64_t own) const;
  bool leads() const { return first_ == rank_; }
  Status prepare();
  Status publish(const std::vector<FileEntry>& files);
  Status remove_old();
  Result<std::vector<FileEntry>> gather_entries(const FileEntry& own);
  std::string temporary() const;

  ncclComm_t world_;
  std::string folder_;
  int keep_;
  Files& files_;
  bool is_local_ = false;
  int rank_ = 0;
  int first_ = 0;  ///< first rank of those that share the folder
  std::vector<std::pair<std::string, std::string>> kept_files_;  ///< names and contents
  std::optional<FolderOwner> owner_;                             ///< in the first rank of the folder
  std::optional<Saving> saving_;
};

}  // namespace weir::checkpoint
