// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/unknown_format.h"

#include <fmt/format.h>

#include <array>

#include "topology/formats/source.h"

namespace weir::topology {
namespace {

using std::string_view_literals::operator""sv;

constexpr size_t kSearched = 65536;  ///< bytes at the beginning that decide

struct Compression {
  std::string_view beginning;
  const char* name;
};

constexpr std::array<Compression, 5> kCompressions = {{{"\x1f\x8b", "gzip"},
                                                       {"BZh", "bzip2"},
                                                       {"\xfd"
                                                        "7zXZ",
                                                        "xz"},
                                                       {"\x28\xb5\x2f\xfd", "zstd"},
                                                       {"PK\x03\x04", "zip"}}};

struct Look {
  std::string_view part;   ///< occurs in the text
  std::string_view other;  ///< occurs too; empty: not needed
  const char* sentence;
};

/// The first one that fits counts.
constexpr std::array<Look, 22> kLooks = {{
    {"<html", "", "this is a web page; expected the file itself"},
    {"<nvidia_smi_log", "",
     "this is the output of nvidia-smi -q -x, which has no connections; expected that of nvidia-smi topo -m"},
    {"NVIDIA-SMI", "Driver Version",
     "this is the table of nvidia-smi, which has no connections; expected the output of nvidia-smi topo -m"},
    {"==============NVSMI LOG", "",
     "this is the output of nvidia-smi -q, which has no connections; expected that of nvidia-smi topo -m"},
    {"GPU 0:", "Link 0:",
     "this is the output of nvidia-smi nvlink, which names no peers; expected that of nvidia-smi topo -m"},
    {"GPU 0:", "UUID:",
     "this is the output of nvidia-smi -L, which has no connections; expected that of nvidia-smi topo -m"},
    {"CPU Affinity", "",
     "this looks like the output of nvidia-smi topo -m, but its head line (GPU0 GPU1 ...) is missing"},
    {"GPU0", "PIX",
     "this looks like rows of nvidia-smi topo -m, but the head line (GPU0 GPU1 ...) is missing"},
    {"GPU0", "SYS",
     "this looks like rows of nvidia-smi topo -m, but the head line (GPU0 GPU1 ...) is missing"},
    {"GPU0", "NV",
     "this looks like rows of nvidia-smi topo -m, but the head line (GPU0 GPU1 ...) is missing"},
    {"AMD-SMI", "",
     "this is a table of amd-smi without connections; expected the output of amd-smi topology"},
    {"GPU0", "XGMI",
     "this looks like rows of rocm-smi --showtopo, but the lines of = signs with the titles are missing"},
    {"XGMI", "SELF",
     "this looks like rows of amd-smi topology, but the lines with the titles (LINK TYPE TABLE:) are "
     "missing"},
    {"Machine", "NUMANode", "this is lstopo's output for people; expected that of lstopo --of xml"},
    {"Machine (", "Package", "this is lstopo's output for people; expected that of lstopo --of xml"},
    {"NodeName=", "",
     "this lists Slurm's nodes, not their switches; expected topology.conf, topology.yaml, or the output of "
     "scontrol show topology"},
    {"CA type:", "Port 1:",
     "this is the output of ibstat, which covers one host; expected that of ibnetdiscover"},
    {"hca_id:", "",
     "this is the output of ibv_devinfo, which covers one host; expected that of ibnetdiscover"},
    {"node distances:", "",
     "this is the output of numactl, which has no devices; expected that of lstopo --of xml"},
    {"Architecture:", "CPU(s):",
     "this is the output of lscpu, which has no devices; expected that of lstopo --of xml"},
    {"PCI bridge:", "",
     "this is the output of lspci, which has no NUMA nodes and links; expected that of lstopo --of xml"},
    {"switchguid=", "",
     "this looks like the output of ibnetdiscover, but its beginning (a line with vendid=) is missing"},
}};

constexpr const char* kAll =
    "an XML of NCCL, RCCL or hwloc (lstopo --of xml), the output of nvidia-smi topo -m, rocm-smi --showtopo, "
    "amd-smi topology, ibnetdiscover or scontrol show topology, Slurm's topology.conf or topology.yaml, a "
    "fabric file, or one line such as \"2 x (8 gpu nvswitch 450, 8 nic 50) leaf\"";

}  // namespace

bool is_binary(std::string_view text, std::string& what) {
  for (const auto& [beginning, name] : kCompressions) {
    if (!text.starts_with(beginning)) continue;
    what = fmt::format("the file is compressed ({}); unpack it first", name);
    return true;
  }
  if (text.find('\0') == std::string_view::npos) return false;
  what = "the file contains a byte 0, so it is no text; expected a topology";
  return true;
}

std::string likely(std::string_view text) {
  const std::string_view begin = text.substr(0, kSearched);
  const auto has = [begin](std::string_view part) { return begin.find(part) != std::string_view::npos; };
  for (const Look& look : kLooks) {
    if (has(look.part) && has(look.other)) return look.sentence;
  }
  return {};
}

std::string guess(std::string_view text) {
  if (std::string named = likely(text); !named.empty()) return named;
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return "the file is empty; expected a topology";
  if (text[first] == '{' || text[first] == '[')
    return fmt::format("this is JSON, which weir reads of no tool; expected {}", kAll);
  return fmt::format("the file has none of the known formats; expected {}", kAll);
}

}  // namespace weir::topology
