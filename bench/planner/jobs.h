// SPDX-License-Identifier: Apache-2.0
/// Jobs on clusters, for build/bench/schedules: regular ones, parts of machines, and irregular ones.
#pragma once

#include <utility>
#include <vector>

namespace weir::algorithms {

struct Job {
  const char* line;                            ///< topology/formats/synthetic.h
  std::vector<std::pair<int, int>> gpus = {};  ///< first and last of each range; empty: all
  bool quick = false;                          ///< takes less than a second
};

/// One GPU per host, DGX A100, MI250, H100 on rails, and jobs on some of the GPUs.
inline const std::vector<Job> kRegularJobs = {
    {"4 x (1 gpu, 1 nic 25) leaf", {}, true},
    {"8 x (1 gpu, 1 nic 25) leaf"},
    {"12 x (1 gpu, 1 nic 25) leaf"},
    {"16 x (1 gpu, 1 nic 25) leaf"},
    {"20 x (1 gpu, 1 nic 25) leaf"},
    {"32 x (1 gpu, 1 nic 25) leaf"},
    {"48 x (1 gpu, 1 nic 25) leaf"},
    {"64 x (1 gpu, 1 nic 25) leaf"},
    {"16 x (1 gpu, 1 nic 25) leaf by 4 4:1"},
    {"24 x (1 gpu, 1 nic 25) leaf by 8 2:1"},
    {"(8 gpu nvswitch 300)", {}, true},
    {"2 x (8 gpu nvswitch 300, 8 nic 25) leaf"},
    {"4 x (8 gpu nvswitch 300, 8 nic 25) leaf"},
    {"8 x (8 gpu nvswitch 300, 8 nic 25) leaf"},
    {"20 x (8 gpu nvswitch 300, 8 nic 25) leaf"},
    {"4 x (8 gpu nvswitch 300, 8 nic 25) leaf by 2 4:1 spine 2"},
    {"(8 gpu mi250 50)", {}, true},
    {"(16 gpu mi250 50)"},
    {"2 x (16 gpu mi250 50, 8 nic 25) rail leaf"},
    {"4 x (8 gpu mi250 50, 2 nic 25) leaf"},
    {"4 x (8 gpu nvswitch 450 pcie 64, 8 nic 50) rail leaf"},
    {"8 x (8 gpu nvswitch 450 pcie 64, 8 nic 50) rail leaf by 4 2:1"},
    {"16 x (8 gpu nvswitch 450 pcie 64, 8 nic 50) rail leaf by 8 2:1"},
    {"2 x (8 gpu nvswitch 300, 8 nic 25) leaf", {{0, 3}, {8, 11}}, true},
    {"4 x (8 gpu nvswitch 300, 8 nic 25) leaf", {{0, 7}, {8, 11}, {16, 17}}},
    {"(16 gpu mi250 50)", {{0, 4}}, true},
    {"3 x (8 gpu nvswitch 450 pcie 64, 8 nic 50) rail leaf", {{0, 7}, {8, 15}, {16, 16}}},
};

/// Other wirings, odd numbers, few NICs, narrow PCIe, and hosts that are not alike.
inline const std::vector<Job> kOtherJobs = {
    {"(4 gpu mesh 100)", {}, true},
    {"(8 gpu mesh 48)"},
    {"(8 gpu cube 25)", {}, true},
    {"(8 gpu cube 25)", {{0, 4}}, true},
    {"(8 gpu ring 50)"},
    {"(8 gpu pcie 32, 2 numa)"},
    {"(6 gpu nvswitch 450)", {}, true},
    {"(16 gpu nvswitch 150)"},
    {"5 x (3 gpu nvswitch 100, 2 nic 25) rail leaf by 2 spine 2"},
    {"7 x (4 gpu mesh 100, 1 nic 12.5) leaf"},
    {"8 x (4 gpu nvswitch 300, 2 nic 25) leaf"},
    {"12 x (2 gpu mesh 100, 2 nic 25) leaf by 4 4:1"},
    {"6 x (8 gpu nvswitch 450, 8 nic 50) leaf"},
    {"9 x (8 gpu nvswitch 450 pcie 16, 4 nic 50) leaf"},
    {"4 x (8 gpu mesh 48 pcie 64, 8 nic 50) rail leaf"},
    {"2 x (4 gpu mesh 100, 4 nic 25) leaf", {}, true},
    {"4 x (4 gpu mesh 100, 2 nic 25) + 3 x (2 gpu mesh 100, 2 nic 25) leaf"},
    {"4 x (8 gpu nvswitch 300, 8 nic 25) + 4 x (4 gpu nvswitch 300, 4 nic 25) leaf by 4 2:1"},
    {"6 x (1 gpu pcie 50, 1 nic 25) + 1 x (1 gpu pcie 50, 1 nic 12.5) leaf", {}, true},
    {"40 x (2 gpu nvswitch 100, 1 nic 25) leaf by 10 2:1"},
};

}  // namespace weir::algorithms
