// SPDX-License-Identifier: Apache-2.0
// Real kinds of machines, each as a tool describes it: tests/topology/machines/README.md.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "tests/topology/writers.h"
#include "topology/formats/any.h"
#include "topology/formats/hwloc_xml.h"
#include "topology/formats/nccl_xml.h"
#include "topology/formats/nvidia_smi.h"
#include "topology/formats/rocm_smi.h"
#include "topology/model/check.h"
#include "topology/model/derive.h"
#include "topology/model/paths.h"
#include "topology/views/html.h"
#include "topology/views/json.h"
#include "topology/views/matrix.h"
#include "topology/views/svg.h"
#include "topology/views/tree.h"

namespace weir::topology {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using P = PathClass;

struct ExpectedPath {
  const char* from;  ///< "GPU3", or the name of a port
  const char* to;    ///< likewise
  PathClass path_class;
  double gb_per_s;  ///< 0: not known
};

struct Machine {
  const char* file;
  size_t gpus, nics, numas, nvswitches;
  std::map<int, int> linked;   ///< pairs of GPUs by their number of NVLinks or xGMI links
  std::vector<size_t> meshes;  ///< GPUs in each
  std::vector<ExpectedPath> pairs;
};

const std::vector<size_t> kAlone6(6, 1);

const std::vector<Machine> kMachines = {
    {"dgx1v.xml",
     8,
     4,
     2,
     0,
     {{1, 8}, {2, 8}},
     {8},
     {{"GPU0", "GPU1", P::nvl, 25},
      {"GPU0", "GPU3", P::nvl, 50},
      {"GPU0", "GPU5", P::nvb, 25},
      {"GPU0", "GPU7", P::nvb, 50},
      {"GPU0", "mlx5_0", P::pix, 12.5},
      {"GPU0", "mlx5_1", P::phb, 12.5},
      {"GPU0", "mlx5_2", P::sys, 6}}},
    {"dgx2.xml",
     16,
     8,
     2,
     12,
     {{6, 120}},
     {16},
     {{"GPU0", "GPU1", P::nvl, 150},
      {"GPU0", "GPU15", P::nvl, 150},
      {"GPU3", "mlx5_1", P::pix, 12.5},
      {"GPU3", "mlx5_0", P::pxb, 12.5}}},
    {"hgx_a100_4.txt",
     4,
     4,
     4,
     0,
     {{4, 6}},
     {4},
     {{"GPU0", "GPU3", P::nvl, 0}, {"GPU2", "mlx5_2", P::pix, 0}, {"GPU2", "mlx5_0", P::sys, 0}}},
    {"dgx_a100.xml",
     8,
     8,
     4,
     6,
     {{12, 28}},
     {8},
     {{"GPU0", "GPU7", P::nvl, 300},
      {"GPU0", "mlx5_0", P::pix, 25},
      {"GPU0", "mlx5_1", P::pxb, 25},
      {"GPU0", "mlx5_2", P::sys, 16}}},
    {"dgx_h100.xml",
     8,
     8,
     2,
     4,
     {{18, 28}},
     {8},
     {{"GPU0", "GPU7", P::nvl, 450},
      {"GPU7", "mlx5_11", P::pix, 50},
      {"GPU7", "mlx5_10", P::phb, 50},
      {"GPU7", "mlx5_0", P::sys, 22}}},
    {"mi50_rings.xml",
     8,
     2,
     2,
     0,
     {{1, 8}},
     {4, 4},
     {{"GPU0", "GPU1", P::nvl, 46},
      {"GPU0", "GPU3", P::nvb, 46},
      {"GPU0", "GPU4", P::sys, 10},
      {"GPU0", "mlx5_0", P::pxb, 12.5}}},
    {"mi100_quads.xml",
     8,
     2,
     4,
     0,
     {{1, 12}},
     {4, 4},
     {{"GPU0", "GPU3", P::nvl, 46}, {"GPU3", "GPU4", P::sys, 16}, {"GPU4", "mlx5_1", P::phb, 25}}},
    {"mi250x_8.xml",
     8,
     4,
     4,
     0,
     {{1, 6}, {2, 2}, {4, 4}},
     {8},
     {{"GPU0", "GPU1", P::nvl, 200},
      {"GPU0", "GPU6", P::nvl, 100},
      {"GPU0", "GPU2", P::nvl, 50},
      {"GPU0", "GPU7", P::nvb, 100},
      {"GPU0", "cxi0", P::phb, 25}}},
    {"mi250_16.xml",
     16,
     8,
     4,
     0,
     {{1, 16}, {2, 4}, {4, 8}},
     {16},
     {{"GPU14", "GPU15", P::nvl, 200},
      {"GPU8", "GPU12", P::nvl, 100},
      {"GPU6", "GPU13", P::nvl, 50},
      {"GPU0", "GPU8", P::sys, 16},
      {"GPU0", "mlx5_1", P::pxb, 25}}},
    {"mi300x.xml",
     8,
     8,
     2,
     0,
     {{1, 28}},
     {8},
     {{"GPU0", "GPU7", P::nvl, 64}, {"GPU5", "rdma5", P::pxb, 50}, {"GPU5", "rdma0", P::sys, 16}}},
    {"mi300x_showtopo.txt", 8, 0, 2, 0, {{1, 28}}, {8}, {{"GPU0", "GPU7", P::nvl, 0}}},
    {"pcie_gpus.hwloc.xml",
     6,
     2,
     2,
     0,
     {},
     kAlone6,
     {{"GPU0", "GPU1", P::pix, 31.507692},
      {"GPU0", "GPU2", P::pxb, 31.507692},
      {"GPU4", "GPU5", P::node, 31.507692},
      {"GPU0", "GPU4", P::sys, 16},
      {"GPU5", "mlx5_1", P::phb, 0},
      {"GPU4", "mlx5_1", P::node, 0}}},
    {"h200_uneven_nics.txt",
     8,
     5,
     2,
     1,
     {{18, 28}},
     {8},
     {{"GPU0", "mlx5_0", P::pix, 0},
      {"GPU1", "mlx5_0", P::node, 0},
      {"GPU3", "mlx5_1", P::pix, 0},
      {"GPU3", "mlx5_2", P::pix, 0},
      {"GPU7", "mlx5_0", P::sys, 0},
      {"GPU7", "mlx5_4", P::node, 0}}},
};

/// In what gtest prints.
void PrintTo(const Machine& machine, std::ostream* stream) { *stream << machine.file; }

class Machines : public ::testing::TestWithParam<Machine> {
 protected:
  void SetUp() override {
    std::ifstream file(WEIR_SOURCE_FOLDER "/tests/topology/machines/" + std::string(GetParam().file));
    std::stringstream text;
    text << file.rdbuf();
    text_ = text.str();
    Notes notes;
    Result<Graph> graph = read_any(source(), &notes);
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    EXPECT_THAT(notes, IsEmpty());
    graph_ = std::move(*graph);
  }

  Source source() const { return {GetParam().file, text_}; }

  static Index device(const Graph& graph, const std::string& name) {
    for (Index node = 0; node < graph.size(); ++node) {
      const auto* gpu = graph.get<GpuFacts>(node);
      if (gpu != nullptr && fmt::format("GPU{}", gpu->device) == name) return node;
      if (graph[node].kind() == NodeKind::port && graph[node].name == name) return node;
    }
    ADD_FAILURE() << "no device " << name;
    return 0;
  }

  static std::map<int, int> linked(const Graph& graph) {
    std::map<int, int> pairs;
    const Adjacency adjacency(graph);
    const std::vector<Index> gpus = graph.all(NodeKind::gpu);
    for (const Index a : gpus) {
      for (const Index b : gpus) {
        const int count = a < b ? gpu_links(graph, adjacency, a, b).count : 0;
        if (count > 0) ++pairs[count];
      }
    }
    return pairs;
  }

  static size_t count_of(const std::string& text, const std::string& words) {
    size_t count = 0;
    for (size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++count;
    return count;
  }

  std::string text_;
  Graph graph_;
};

TEST_P(Machines, HaveWhatTheirOwnersKnow) {
  const Machine& expected = GetParam();
  EXPECT_TRUE(check(graph_).ok()) << check(graph_).message();
  EXPECT_THAT(graph_.all(NodeKind::host), SizeIs(1));
  EXPECT_THAT(graph_.all(NodeKind::gpu), SizeIs(expected.gpus));
  EXPECT_THAT(graph_.all(NodeKind::nic), SizeIs(expected.nics));
  EXPECT_THAT(graph_.all(NodeKind::numa), SizeIs(expected.numas));
  EXPECT_THAT(graph_.all(NodeKind::nvswitch), SizeIs(expected.nvswitches));
  EXPECT_EQ(linked(graph_), expected.linked);
  EXPECT_THAT(islands(graph_), SizeIs(1));
  std::vector<size_t> sizes;
  for (const std::vector<Index>& mesh : meshes(graph_)) sizes.push_back(mesh.size());
  EXPECT_EQ(sizes, expected.meshes);
  const Adjacency adjacency(graph_);
  for (const ExpectedPath& pair : expected.pairs) {
    const Index from = device(graph_, pair.from), to = device(graph_, pair.to);
    const Path path = Paths(graph_, adjacency, from).to(to);
    EXPECT_EQ(path.path_class, pair.path_class) << pair.from << " to " << pair.to;
    const GpuLinks links = gpu_links(graph_, adjacency, from, to);
    EXPECT_NEAR(links.count > 0 ? links.gb_per_s : path.gb_per_s, pair.gb_per_s, 1e-6)
        << pair.from << " to " << pair.to;
  }
}

TEST_P(Machines, AreWrittenAsTheyWereRead) {
  const std::string name = GetParam().file;
  if (name.ends_with(".hwloc.xml")) {
    auto read = read_hwloc_xml(source());
    ASSERT_TRUE(read.ok()) << read.status().message();
    auto again = read_hwloc_xml({"again", write_hwloc_xml(*read)});
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(*again, *read);
  } else if (name.ends_with(".xml")) {
    auto read = read_nccl_xml(source());
    ASSERT_TRUE(read.ok()) << read.status().message();
    auto again = read_nccl_xml({"again", write_nccl_xml(*read)});
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(*again, *read);
  } else if (name.find("showtopo") != std::string::npos) {
    auto read = read_rocm_smi(source());
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(*read_rocm_smi({"again", write_rocm_smi(*read)}), *read);
  } else {
    auto read = read_nvidia_smi(source());
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(*read_nvidia_smi({"again", write_nvidia_smi(*read)}), *read);
  }
}

/// A file for NCCL_TOPO_FILE can be made of every one.
TEST_P(Machines, KeepTheirLinksInAFileForNccl) {
  bool on_pci = true;
  for (const Index gpu : graph_.all(NodeKind::gpu)) on_pci &= !graph_.get<GpuFacts>(gpu)->pci.address.empty();
  if (!on_pci) return;  // a matrix: the format names GPUs by their PCI addresses
  Notes notes;          // ports whose speed the file does not say
  auto again = read_nccl_xml({"again", write_nccl_xml({dialect_of(graph_), graph_})}, &notes);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_THAT(again->graph.all(NodeKind::gpu), SizeIs(GetParam().gpus));
  EXPECT_EQ(linked(again->graph), GetParam().linked);
}

TEST_P(Machines, AreShown) {
  const Index host = graph_.all(NodeKind::host)[0];
  const std::string tree = tree_of(graph_), matrix = matrix_of(graph_, host), page = html_of(graph_);
  for (size_t i = 0; i < GetParam().gpus; ++i) {
    EXPECT_THAT(tree, HasSubstr(fmt::format("GPU {}", i)));
    EXPECT_THAT(matrix, HasSubstr(fmt::format("\nGPU{} ", i)));
    EXPECT_THAT(page, HasSubstr(fmt::format("GPU {}", i)));
  }
  EXPECT_THAT(tree, Not(HasSubstr("? GB/s"))) << "what is not known is left out";
  for (size_t i = 0; i + 1 < GetParam().gpus; ++i)  // in the order of their numbers
    EXPECT_LT(matrix.find(fmt::format("GPU{} ", i)), matrix.find(fmt::format("GPU{} ", i + 1)));
  EXPECT_THAT(svg_of_host(graph_, host), HasSubstr("</svg>"));
  EXPECT_EQ(count_of(json_of(graph_), "\"kind\": \"GPU\""), GetParam().gpus);
}

std::string name_of(const ::testing::TestParamInfo<Machine>& info) {
  const std::string file = info.param.file;
  return file.substr(0, file.find('.'));
}

INSTANTIATE_TEST_SUITE_P(Files, Machines, ::testing::ValuesIn(kMachines), name_of);

}  // namespace
}  // namespace weir::topology
