// SPDX-License-Identifier: Apache-2.0
/// The table of contents of a checkpoint: the text file `manifest`. Pure.
///
///     weir checkpoint 2
///     step 20
///     words 2 17 4711
///     arrays 2 parameters moment1
///     partial 1 moment1                    only if there are such
///     units 2
///     unit 5003 embedding
///     unit 3000 head
///     files 1
///     file 96080 4 00c0ffee00c0ffee        bytes, records, checksum of the index
///     checksum 0123456789abcdef            of everything before this line
///
/// A checkpoint is a folder `step-00000020` with the manifest and one file per rank that wrote it,
/// `rank-00000` and up. Readers do not depend on which rank wrote what. Format 1 had other layouts of
/// weights.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "trainer/shard/layout.h"

namespace weir::checkpoint {

struct Contents {
  uint64_t step = 0;
  std::vector<uint64_t> words;       ///< values of the program: seed, position in the data
  std::vector<std::string> arrays;   ///< array names, without spaces; one element per parameter each,
  std::vector<std::string> partial;  ///< but for these of them, which lack elements that nobody needs
  std::vector<shard::Unit> units;    ///< unit names contain no line breaks
};

/// One rank's file, as described by the manifest.
struct FileEntry {
  uint64_t bytes = 0;
  uint64_t records = 0;
  uint64_t index_checksum = 0;
};

struct Manifest {
  Contents contents;
  std::vector<FileEntry> files;  ///< index: the rank that wrote the file
};

inline constexpr const char* kManifest = "manifest";

bool is_partial(const Contents& contents, size_t array);

/// Returns invalid_argument for names that the format cannot hold.
Status check(const Contents& contents);
std::string text_of(const Manifest& manifest);
/// Strict: any damage is found. Returns invalid_argument with the line and what was expected.
Result<Manifest> parse_manifest(std::string_view text);

std::string folder_name(uint64_t step);
std::string file_name(int rank);

}  // namespace weir::checkpoint
