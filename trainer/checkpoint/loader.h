// SPDX-License-Identifier: Apache-2.0
/// Reads checkpoints with any number of ranks, however they were written.
#pragma once

#include <nccl.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "trainer/checkpoint/manifest.h"
#include "trainer/checkpoint/rank_file.h"

namespace weir::checkpoint {

/// A part of an array that a rank needs, and the memory to read it into.
struct ArrayRequest {
  uint32_t unit = 0;
  uint32_t array = 0;
  uint64_t first = 0;
  std::span<float> values;
};

/// A complete checkpoint. Used by one thread at a time.
class Reader {
 public:
  /// Reads the manifest and all indices in the folder of one step. Errors name the file and what is wrong
  /// with it, also if elements are missing or occur twice.
  static Result<Reader> open(const std::string& path);

  const Contents& contents() const { return manifest_.contents; }
  /// Verifies the checksum of all that it reads; errors name the file, the array and the unit.
  Status read(const ArrayRequest& request) const;

 private:
  struct Place {
    const RankFile* file;
    const Record* record;
  };

  explicit Reader(std::string path, Manifest manifest)
      : path_(std::move(path)), manifest_(std::move(manifest)) {}
  Status open_files();
  void order_records();
  size_t slot(uint64_t unit, uint64_t array) const { return unit * manifest_.contents.arrays.size() + array; }
  std::string name_of(uint64_t unit, uint64_t array) const;

  std::string path_;
  Manifest manifest_;
  std::vector<RankFile> files_;
  std::vector<std::vector<Place>> places_;  ///< index: slot; sorted by first element
};

/// Whether a checkpoint belongs to the expected model: invalid_argument with what differs. `path` is for the
/// message, here and below.
Status check_same(const Contents& found, const Contents& expected, const std::string& path);
/// invalid_argument unless the records have each element of each array once, of partial ones at most once.
Status check_complete(const Contents& contents, std::vector<Record> records, const std::string& path);
/// invalid_argument if the records lack elements that are asked for; only partial arrays can lack some.
Status check_found(const Contents& contents, std::span<const Record> records, const ArrayRequest& request,
                   const std::string& path);
/// Copies the elements of a record that were asked for.
void copy_common(const Record& record, std::span<const float> values, const ArrayRequest& request);

struct Loaded {
  Contents contents;
  std::vector<std::string> skipped;  ///< newer checkpoints that could not be used, with the reason
};

struct KeptCheckpoint {
  std::string path;  ///< of the checkpoint's own folder
  Contents contents;
};

/// The newest checkpoint of choice_of(path) whose manifest can be read; for that, it need not be complete.
/// invalid_argument if there is none.
Result<KeptCheckpoint> newest(const std::string& path);

/// The result where all checkpoints of `path` were skipped, or there are none.
Result<std::optional<Loaded>> nothing_usable(const Loaded& loaded, const std::string& path);

/// Reads what each rank needs from the newest checkpoint of choice_of(path) that all ranks can read
/// completely, whose units are the expected ones, and which has the expected arrays; requests number the
/// arrays as `expected` does. Collective; all ranks get the same answer:
/// nothing if the folder has no checkpoints; an error if it has some but none can be used. After an error, or
/// if some were skipped, the wanted values may have been written more than once.
Result<std::optional<Loaded>> load_latest(ncclComm_t world, const std::string& path, const Contents& expected,
                                          std::span<const ArrayRequest> requests);

}  // namespace weir::checkpoint
