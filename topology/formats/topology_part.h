// SPDX-License-Identifier: Apache-2.0
/// Finds a topology in a text that was cut and pasted: with a shell's prompt, messages of the tool or the end
/// of the session around it.
///
/// Tests: tests/topology/any_test.cc
#pragma once

#include <string>

#include "topology/formats/source.h"

namespace weir::topology {

enum class Format : uint8_t {
  unknown,
  xml,  ///< of NCCL, RCCL or hwloc
  nvidia_smi,
  rocm_smi,
  amd_smi,
  fabric_file,
  ibnetdiscover,
  slurm_conf,
  slurm_yaml
};

/// The format that begins with this line (which is neither empty nor a comment).
Format format_of(std::string_view line);

struct TopologyPart {
  Format format = Format::unknown;
  bool changed = false;  ///< whether `text` is used
  /// The input without what does not belong to the topology. Lines before the end keep their numbers: those
  /// that do not belong are empty.
  std::string text;
};

/// Recognises the format by the first line that begins one. Lines before it, prompts of shells, and lines
/// behind the topology are left out with a note; without `notes` they are an error, as everywhere. If no line
/// begins a format, the text is unchanged.
Result<TopologyPart> topology_part_of(const Source& source, Notes* notes);

}  // namespace weir::topology
