// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/any.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "topology/formats/source.h"
#include "topology/formats/topology_part.h"
#include "topology/formats/utf_text.h"

namespace weir::topology {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

constexpr std::string_view kXml =
    "<system version=\"1\">\n"
    "  <cpu numaid=\"0\"><pci busid=\"0000:10:00.0\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" "
    "link_width=\"16\"><gpu dev=\"0\" sm=\"80\"/></pci></cpu>\n"
    "</system>\n";
constexpr std::string_view kMatrix =
    "        GPU0    GPU1    CPU Affinity\nGPU0     X      SYS     0-3\nGPU1    SYS      X      4-7\n";
constexpr std::string_view kTree =
    "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n3\nSwitchName=c Switches=a,b\n";
constexpr std::string_view kYaml =
    "- topology: t\n  tree:\n    switches:\n    - switch: a\n      nodes: n[1-2]\n";
constexpr std::string_view kFabric =
    "vendid=0x2c9\ndevid=0xd2f2\nsysimgguid=0x2\nswitchguid=0x2(2)\n"
    "Switch\t2 \"S-0000000000000002\"\t\t# \"leaf\" enhanced port 0 lid 1 lmc 0\n"
    "[1]\t\"H-0000000000000010\"[1](11) \t\t# \"n1 mlx5_0\" lid 2 4xNDR\n\n"
    "vendid=0x2c9\ndevid=0x1021\nsysimgguid=0x10\ncaguid=0x10\n"
    "Ca\t1 \"H-0000000000000010\"\t\t# \"n1 mlx5_0\"\n"
    "[1](11) \t\"S-0000000000000002\"[1]\t\t# lid 2 lmc 0 \"leaf\" lid 1 4xNDR\n";

constexpr std::string_view kAmd =
    "LINK TYPE TABLE:\n             0000:0c:00.0 0000:22:00.0\n"
    "0000:0c:00.0 SELF         XGMI\n0000:22:00.0 XGMI         SELF\n";
constexpr std::string_view kRocm =
    "=========== Link Type between two GPUs ===========\n"
    "       GPU0         GPU1\nGPU0   0            XGMI\nGPU1   XGMI         0\n"
    "================== Numa Nodes ====================\n"
    "GPU[0]\t\t: (Topology) Numa Node: 0\nGPU[0]\t\t: (Topology) Numa Affinity: 0\n"
    "GPU[1]\t\t: (Topology) Numa Node: 1\nGPU[1]\t\t: (Topology) Numa Affinity: 1\n"
    "============== End of ROCm SMI Log ===============\n";

/// UTF-16 of ASCII.
std::string wide(std::string_view text, bool little, bool mark) {
  std::string out = !mark ? "" : little ? "\xff\xfe" : "\xfe\xff";
  for (const char c : text) {
    if (!little) out += '\0';
    out += c;
    if (little) out += '\0';
  }
  return out;
}

std::string everywhere(std::string_view text, std::string_view from, std::string_view to) {
  std::string out(text);
  for (size_t at = out.find(from); at != std::string::npos; at = out.find(from, at + to.size()))
    out.replace(at, from.size(), to);
  return out;
}

std::string by_line(std::string_view text, const std::function<std::string(std::string_view)>& changed) {
  std::string out;
  Lines lines(text);
  for (std::string_view line; lines.next(line);) out += changed(line) + '\n';
  return out;
}

std::string with_crlf(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '\n' ? "\r\n" : std::string(1, c);
  return out;
}

Graph read(std::string_view text, Notes& notes) {
  notes.clear();
  auto graph = read_any({"f", text}, &notes);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return graph.ok() ? std::move(*graph) : Graph();
}

std::string error(std::string_view text) {
  Notes notes;
  return read_any({"f", text}, &notes).status().message();
}

TEST(ReadAny, EncodingsAreRecognised) {
  Notes notes;
  for (const std::string_view text : {kXml, kMatrix, kTree, kYaml, kFabric}) {
    const Graph plain = read(text, notes);
    const Notes expected = notes;
    const std::string crlf = with_crlf(text);
    for (const std::string& form : {"\xef\xbb\xbf" + std::string(text), crlf, "\xef\xbb\xbf" + crlf,
                                    wide(text, true, true), wide(crlf, true, true), wide(text, false, true),
                                    wide(text, true, false), wide(crlf, false, false)}) {
      EXPECT_EQ(read(form, notes), plain) << form;
      EXPECT_EQ(notes, expected);
    }
  }
  std::string web(kMatrix);
  for (size_t at = web.find("  "); at != std::string::npos; at = web.find("  ", at + 1))
    web.replace(at, 1, "\xc2\xa0");
  EXPECT_EQ(read(web, notes), read(kMatrix, notes));
}

TEST(ReadAny, ColoursOfTerminalsAreIgnored) {
  Notes notes;
  for (const std::string_view text : {kXml, kMatrix, kTree, kYaml, kFabric, kAmd, kRocm}) {
    const Graph plain = read(text, notes);
    const Notes expected = notes;
    const auto coloured = [](std::string_view line) { return "\x1b[1;4m" + std::string(line) + "\x1b[0m"; };
    EXPECT_EQ(read(by_line(text, coloured), notes), plain) << text;
    EXPECT_EQ(notes, expected);
  }
  EXPECT_EQ(*utf8_of({"f", "a\x1b[\nb\x1b[3"}), "a\nb") << "sequences that were cut";
}

TEST(ReadAny, Utf16IsDecoded) {
  using std::string_view_literals::operator""sv;
  EXPECT_EQ(*utf8_of({"f", "\xff\xfe\xe9\0\xac\x20\x3d\xd8\x00\xde"sv}), "\u00e9\u20ac\U0001F600");
  EXPECT_EQ(*utf8_of({"f", "\xfe\xff\0\xe9"sv}), "\u00e9");
  for (const std::string_view bad : {"\xff\xfe\x3d\xd8"sv, "\xff\xfe\0\xde"sv, "\xff\xfe\x41"sv})
    EXPECT_THAT(utf8_of({"f", bad}).status().message(), HasSubstr("f:1: the text begins like UTF-16"));
}

TEST(ReadAny, WhatWasPastedAroundIsIgnored) {
  const std::string before =
      "Last login: Mon\nuser@login:~$ ssh gpu1\nWARNING: a module is missing:\nuser@gpu1:~$ show > file\n";
  const std::string behind = "\nuser@gpu1:~$ exit\nlogout\n";
  Notes notes;
  for (const std::string_view text : {kXml, kMatrix, kTree, kYaml, kFabric}) {
    const Graph plain = read(text, notes);
    EXPECT_EQ(read(before + std::string(text) + behind, notes), plain) << text;
    EXPECT_THAT(notes[0], HasSubstr("f:1: 4 lines before the topology ignored, from \"Last login: Mon\" on"));
    EXPECT_GE(notes.size(), 2u);
    EXPECT_FALSE(read_any({"f", before + std::string(text)}).ok()) << "strict";
    EXPECT_FALSE(read_any({"f", std::string(text) + behind}).ok()) << "strict";
  }
}

TEST(ReadAny, PromptsBetweenLinesAreIgnored) {
  Notes notes;
  const Graph plain = read(kTree, notes);
  EXPECT_EQ(read("$ cat a\nSwitchName=a Nodes=n[1-2]\n[root@head ~]# cat b\nSwitchName=b "
                 "Nodes=n3\nSwitchName=c Switches=a,b\n",
                 notes),
            plain);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("f:1: 1 line before"),
                                 HasSubstr("f:3: the prompt \"[root@head ~]# cat b\"")));
}

TEST(ReadAny, LinesKeepTheirNumbers) {
  EXPECT_THAT(error("user@a:~$ cat x\n" + std::string(kTree) + "SwitchName=d Nodes=n3\n"),
              HasSubstr("f:5: node n3 is in"));
}

TEST(ReadAny, TextBehindXmlIsCut) {
  Notes notes;
  const Graph plain = read(kXml, notes);
  std::string text(kXml);
  text.pop_back();
  EXPECT_EQ(read(text + "user@a:~$ ", notes), plain);
  EXPECT_THAT(notes, ElementsAre("f:3: the text behind the root element is ignored"));
  EXPECT_EQ(read(text + "\n<!-- a comment -->\n", notes), plain);
  EXPECT_THAT(notes, IsEmpty());
  EXPECT_THAT(error(text + "<system version=\"1\"/>"), HasSubstr("a second element <system>"));
}

TEST(ReadAny, OtherFilesAreNamed) {
  using std::string_view_literals::operator""sv;
  const std::vector<std::pair<std::string_view, const char*>> cases = {
      {"", "the file is empty"},
      {" \n# nothing\n", "the file has none of the known formats"},
      {"\x1f\x8b\x08\x01", "compressed (gzip)"},
      {"BZh91AY", "compressed (bzip2)"},
      {"\x7f"
       "ELF\0\0"sv,
       "contains a byte 0"},
      {"| NVIDIA-SMI 550.54  Driver Version: 550.54  CUDA Version: 12.4 |\n",
       "expected the output of nvidia-smi topo -m"},
      {"GPU 0: NVIDIA H100 (UUID: GPU-1)\n", "nvidia-smi -L"},
      {"GPU0\t X \tNV12\t0-3\nGPU1\tNV12\t X \t0-3\n", "the head line (GPU0 GPU1 ...) is missing"},
      {"Machine (251GB total)\n  Package L#0\n    NUMANode L#0 (P#0)\n", "lstopo --of xml"},
      {"NodeName=n1 Arch=x86_64\n", "scontrol show topology"},
      {"CA 'mlx5_0'\n\tCA type: MT4129\n\tPort 1:\n", "this is the output of ibstat"},
      {"[{\"a\": 1}]\n", "this is JSON"},
      {"<html><body>404</body></html>\n", "this is a web page"},
      {"<?xml version=\"1.0\"?>\n<nvidia_smi_log/>\n", "nvidia-smi -q -x"},
      {"\n<route><a/></route>\n", "f:2: the file contains <route>; expected <system> of NCCL and RCCL"},
      {"<?xml version=\"1.0\"?>\n<list/>\n",
       "contains <list>; expected <system> of NCCL and RCCL, or <topology>"},
      {"=== ROCm System Management Interface ===\n=== End of ROCm SMI Log ===\n",
       "expected the output of rocm-smi --showtopo"},
      {"some words\nand more\n", "the file has none of the known formats; expected an XML of NCCL"},
      {"switches:\n  core:\n    switches: [a]\n", "the file is a mapping; expected a list"},
      {"2 x (8 gpus)", "column"},
  };
  for (const auto& [text, sentence] : cases) EXPECT_THAT(error(text), HasSubstr(sentence)) << text;
}

TEST(ReadAny, LineEndsAndQuotesDoNotMatter) {
  Notes notes;
  for (const std::string_view text : {kXml, kMatrix, kTree, kYaml, kFabric, kAmd, kRocm}) {
    const Graph plain = read(text, notes);
    const Notes expected = notes;
    EXPECT_EQ(read(everywhere(text, "\n", "\r"), notes), plain) << "CR alone";
    EXPECT_EQ(read(everywhere(text, "\n", "\r\r\n"), notes), plain) << "converted twice";
    EXPECT_EQ(notes, expected);
    EXPECT_EQ(read(everywhere(text, " ", "\xc2\xa0"), notes), plain) << "from a web page";
    EXPECT_EQ(read("```\n" + std::string(text) + "```\n", notes), plain) << text;
    std::string quoted = "> " + everywhere(text, "\n", "\n> ");
    quoted.resize(quoted.size() - 2);
    EXPECT_EQ(read(quoted, notes), plain) << quoted;
    EXPECT_THAT(notes, Contains("f:1: the > before each line is ignored"));
    EXPECT_FALSE(read_any({"f", quoted}).ok()) << "strict";
  }
}

TEST(ReadAny, LostTabsDoNotMatterBetweenWords) {
  Notes notes;
  const std::string tabs = everywhere(everywhere(kMatrix, "     ", "\t"), "    ", "\t");
  const Graph plain = read(kMatrix, notes);
  EXPECT_EQ(read(tabs, notes), plain);
  EXPECT_EQ(read(everywhere(tabs, "\t", " "), notes), plain);
  EXPECT_EQ(read(everywhere(tabs, "\t", ""), notes), plain) << "cells that touch";
}

TEST(ReadAny, TwoOutputsInOneFileAreRefusedByName) {
  for (const auto& [text, sentence] : {std::pair(kMatrix, "a second matrix of nvidia-smi topo -m begins"),
                                       {kRocm, "occurs twice; expected the output for one host"},
                                       {kXml, "a second element <system>"},
                                       {kFabric, "is listed twice"}}) {
    for (const char* between : {"", "\n\n"})
      EXPECT_THAT(error(std::string(text) + between + std::string(text)), HasSubstr(sentence)) << text;
  }
  Notes notes;  // the same lines twice say nothing else
  EXPECT_EQ(read(std::string(kTree) + std::string(kTree), notes), read(kTree, notes));
  EXPECT_THAT(error(std::string(kYaml) + "---\n" + std::string(kYaml)),
              HasSubstr("a second document begins"));
}

/// Neither a crash nor an empty sentence; what is read is sound.
TEST(ReadAny, DamagedTextsAreReadOrRefusedWithTheirLine) {
  const std::vector<std::pair<const char*, std::function<std::string(std::string_view)>>> damages = {
      {"columns cut",
       [](std::string_view text) {
         return by_line(text, [](std::string_view line) { return std::string(line.substr(0, 30)); });
       }},
      {"last column lost",
       [](std::string_view text) {
         return by_line(text, [](std::string_view line) {
           return std::string(line.substr(0, line.find_last_of(" \t")));
         });
       }},
      {"first column lost",
       [](std::string_view text) {
         return by_line(text, [](std::string_view line) {
           return std::string(line.substr(std::min(line.find_first_of(" \t"), line.size())));
         });
       }},
      {"wrapped",
       [](std::string_view text) {
         return by_line(text, [](std::string_view line) {
           return std::string(line.substr(0, 40)) +
                  (line.size() > 40 ? "\n" + std::string(line.substr(40)) : "");
         });
       }},
      {"decimal commas", [](std::string_view text) { return everywhere(text, ".", ","); }},
      {"half", [](std::string_view text) { return std::string(text.substr(0, text.size() / 2)); }},
      {"without the first line",
       [](std::string_view text) { return std::string(text.substr(text.find('\n') + 1)); }},
      {"UTF-16 cut within a character",
       [](std::string_view text) {
         std::string cut = wide(text, true, true);
         cut.pop_back();
         return cut;
       }},
      {"two encodings", [](std::string_view text) { return std::string(text) + wide(text, true, true); }},
      {"no blanks", [](std::string_view text) { return everywhere(everywhere(text, " ", ""), "\t", ""); }},
      {"Latin-1", [](std::string_view text) { return everywhere(text, "e", "\xe9"); }},
  };
  for (const auto& [name, damage] : damages) {
    for (const std::string_view text : {kXml, kMatrix, kTree, kYaml, kFabric, kAmd, kRocm}) {
      const std::string damaged = damage(text);
      Notes notes;
      const auto graph = read_any({"f", damaged}, &notes);
      if (graph.ok()) continue;
      EXPECT_EQ(graph.status().code(), Code::invalid_argument) << name << '\n' << damaged;
      EXPECT_THAT(graph.status().message(), MatchesRegex("f:[0-9]+: (.|\n){15}(.|\n)*")) << name << '\n'
                                                                                         << damaged;
    }
  }
  // The likely format is named by what is left of it.
  const std::string rows(kMatrix.substr(kMatrix.find('\n') + 1));
  EXPECT_THAT(error(rows + "\nLegend:\n\n  X    = Self\n"), HasSubstr("nvidia-smi topo -m"));
}

TEST(ReadAny, AMachineMayHaveSeveralLines) {
  Notes notes;
  EXPECT_EQ(read("2 x (8 gpu nvswitch 450,\r\n     8 nic 50) leaf\r\n", notes),
            read("2 x (8 gpu nvswitch 450, 8 nic 50) leaf", notes));
  EXPECT_THAT(error("8 gpu"), HasSubstr("column"));
}

TEST(ReadAny, FormatsBeginWithTheseLines) {
  EXPECT_EQ(format_of("GPU0 GPU1 CPU Affinity"), Format::nvidia_smi);
  EXPECT_EQ(format_of("GPU0\t X \tNV12"), Format::unknown) << "a row";
  EXPECT_EQ(format_of("LINK TYPE TABLE:"), Format::amd_smi);
  EXPECT_EQ(format_of("switchname=a"), Format::slurm_conf);
  EXPECT_EQ(format_of("tree:"), Format::slurm_yaml);
  EXPECT_EQ(format_of("something went wrong:"), Format::unknown);
}

}  // namespace
}  // namespace weir::topology
