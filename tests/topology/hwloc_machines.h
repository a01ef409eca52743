// SPDX-License-Identifier: Apache-2.0
/// Small machines as hwloc's XML.
#pragma once

namespace weir::topology {

/// hwloc 2: two packages. At the first a switch with a GPU and, over a second switch, an InfiniBand NIC; the
/// display of a management controller behind a conventional bridge. At the second a GPU and an Ethernet NIC.
inline constexpr const char* kHwloc2 = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x0000000f" complete_cpuset="0x0000000f" allowed_cpuset="0x0000000f" nodeset="0x00000003" complete_nodeset="0x00000003" allowed_nodeset="0x00000003" gp_index="1">
    <info name="HostName" value="node7"/>
    <info name="Architecture" value="x86_64"/>
    <info name="DMIBoardAssetTag" value=""/>
    <object type="Package" os_index="0" cpuset="0x00000003" complete_cpuset="0x00000003" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="2">
      <info name="CPUVendor" value="AuthenticAMD"/>
      <info name="CPUFamilyNumber" value="25"/>
      <info name="CPUModelNumber" value="17"/>
      <info name="CPUModel" value="Some &quot;CPU&quot;   "/>
      <object type="NUMANode" os_index="0" cpuset="0x00000003" complete_cpuset="0x00000003" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="3" local_memory="8589934592">
        <page_type size="4096" count="2097152"/>
      </object>
      <object type="Bridge" gp_index="10" bridge_type="0-1" depth="0" bridge_pci="0000:[00-08]">
        <object type="Bridge" gp_index="11" bridge_type="1-1" depth="1" bridge_pci="0000:[01-06]" pci_busid="0000:00:01.0" pci_type="0604 [1022:1483] [0000:0000] 00" pci_link_speed="31.507692">
          <object type="Bridge" gp_index="12" bridge_type="1-1" depth="2" bridge_pci="0000:[02-06]" pci_busid="0000:01:00.0" pci_type="0604 [10b5:9781] [0000:0000] 00" pci_link_speed="0.000000">
            <object type="Bridge" gp_index="13" bridge_type="1-1" depth="3" bridge_pci="0000:[03-03]" pci_busid="0000:02:00.0" pci_type="0604 [10b5:9781] [0000:0000] 00" pci_link_speed="15.753846">
              <object type="PCIDev" gp_index="14" pci_busid="0000:03:00.0" pci_type="0302 [10de:1db8] [10de:131d] a1" pci_link_speed="15.753846">
                <object type="OSDev" gp_index="15" name="cuda1" subtype="CUDA" osdev_type="5">
                  <info name="GPUModel" value="Model C"/>
                </object>
                <object type="OSDev" gp_index="16" name="nvml0" subtype="NVML" osdev_type="1">
                  <info name="NVIDIAUUID" value="GPU-a"/>
                </object>
              </object>
            </object>
            <object type="Bridge" gp_index="17" bridge_type="1-1" depth="3" bridge_pci="0000:[04-06]" pci_busid="0000:02:01.0" pci_type="0604 [10b5:9781] [0000:0000] 00" pci_link_speed="15.753846">
              <object type="Bridge" gp_index="18" bridge_type="1-1" depth="4" bridge_pci="0000:[05-06]" pci_busid="0000:04:00.0" pci_type="0604 [10b5:9781] [0000:0000] 00" pci_link_speed="15.753846">
                <object type="Bridge" gp_index="19" bridge_type="1-1" depth="5" bridge_pci="0000:[06-06]" pci_busid="0000:05:00.0" pci_type="0604 [10b5:9781] [0000:0000] 00" pci_link_speed="7.876923">
                  <object type="PCIDev" gp_index="20" pci_busid="0000:06:00.0" pci_type="0207 [15b3:1017] [15b3:0020] 00" pci_link_speed="0.000000">
                    <info name="PCIDevice" value="NIC model"/>
                    <object type="OSDev" gp_index="21" name="ib0" osdev_type="2"/>
                    <object type="OSDev" gp_index="22" name="mlx5_0" osdev_type="3">
                      <info name="NodeGUID" value="0002:c903:0000:0001"/>
                      <info name="Port1State" value="4"/>
                      <info name="Port1LID" value="0x1f"/>
                      <info name="Port1GID0" value="fe80:0000:0000:0000:0002:c903:0000:0002"/>
                      <info name="Port2State" value="1"/>
                    </object>
                  </object>
                </object>
              </object>
            </object>
          </object>
        </object>
        <object type="Bridge" gp_index="23" bridge_type="1-1" depth="1" bridge_pci="0000:[07-08]" pci_busid="0000:00:02.0" pci_type="0604 [1022:1483] [0000:0000] 00" pci_link_speed="0.250000">
          <object type="Bridge" gp_index="24" bridge_type="1-1" depth="2" bridge_pci="0000:[08-08]" pci_busid="0000:07:00.0" pci_type="0604 [1a03:1150] [1a03:1150] 04" pci_link_speed="0.250000">
            <object type="PCIDev" gp_index="25" pci_busid="0000:08:00.0" pci_type="0300 [1a03:2000] [1a03:2000] 41" pci_link_speed="0.000000"/>
          </object>
        </object>
      </object>
    </object>
    <object type="Package" os_index="1" cpuset="0x0000000c" complete_cpuset="0x0000000c" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="30">
      <object type="NUMANode" os_index="1" cpuset="0x0000000c" complete_cpuset="0x0000000c" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="31" local_memory="4294967296"/>
      <object type="Bridge" gp_index="32" bridge_type="0-1" depth="0" bridge_pci="0000:[80-82]">
        <object type="Bridge" gp_index="33" bridge_type="1-1" depth="1" bridge_pci="0000:[81-81]" pci_busid="0000:80:01.0" pci_type="0604 [1022:1483] [0000:0000] 00" pci_link_speed="15.753846">
          <object type="PCIDev" gp_index="34" pci_busid="0000:81:00.0" pci_type="0302 [10de:1db8] [10de:131d] a1" pci_link_speed="0.000000">
            <object type="OSDev" gp_index="35" name="nvml1" subtype="NVML" osdev_type="1"/>
          </object>
        </object>
        <object type="PCIDev" gp_index="36" pci_busid="0000:80:04.0" pci_type="0200 [8086:1572] [0000:0000] 00" pci_link_speed="7.876923">
          <object type="OSDev" gp_index="37" name="eth0" osdev_type="2">
            <info name="Address" value="24:57:20:04:20:00"/>
          </object>
        </object>
      </object>
    </object>
  </object>
  <distances2 type="NUMANode" nbobjs="2" kind="5" name="NUMALatency" indexing="os">
    <indexes length="4">0 1 </indexes>
    <u64values length="12">10 21 21 10 </u64values>
  </distances2>
  <distances2 type="OSDev" nbobjs="2" kind="9" name="NVLinkBandwidth" indexing="gp">
    <indexes length="6">16 35 </indexes>
    <u64values length="28">1000000 50000 50000 1000000 </u64values>
  </distances2>
  <support name="discovery.pu"/>
  <cpukind cpuset="0x0000000f">
    <info name="FrequencyMaxMHz" value="3200"/>
  </cpukind>
</topology>
)";

/// hwloc 1: NUMA nodes hold their package, one has only memory; latencies stand in the machine.
inline constexpr const char* kHwloc1 = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc.dtd">
<topology>
  <object type="Machine" os_index="0" cpuset="0x000000ff" complete_cpuset="0x000000ff" online_cpuset="0x000000ff" allowed_cpuset="0x000000ff" nodeset="0x00000007" complete_nodeset="0x00000007" allowed_nodeset="0x00000007">
    <page_type size="4096" count="0"/>
    <info name="Architecture" value="ppc64le"/>
    <distances nbobjs="3" relative_depth="1" latency_base="10.000000">
      <latency value="1.000000"/> <latency value="4.000000"/> <latency value="8.500000"/>
      <latency value="4.000000"/> <latency value="1.000000"/> <latency value="8.000000"/>
      <latency value="8.000000"/> <latency value="8.000000"/> <latency value="1.000000"/>
    </distances>
    <object type="NUMANode" os_index="0" cpuset="0x0000000f" complete_cpuset="0x0000000f" online_cpuset="0x0000000f" allowed_cpuset="0x0000000f" nodeset="0x00000001" complete_nodeset="0x00000001" allowed_nodeset="0x00000001" local_memory="1073741824">
      <object type="Socket" os_index="0" cpuset="0x0000000f" complete_cpuset="0x0000000f" online_cpuset="0x0000000f" allowed_cpuset="0x0000000f" nodeset="0x00000001" complete_nodeset="0x00000001" allowed_nodeset="0x00000001"/>
      <object type="Bridge" os_index="0" bridge_type="0-1" depth="0" bridge_pci="0000:[00-01]">
        <object type="PCIDev" os_index="4096" name="A NIC" pci_busid="0000:01:00.0" pci_type="0207 [15b3:1019] [1014:0617] 00" pci_link_speed="0.000000">
          <object type="OSDev" name="mlx5_0" osdev_type="3"/>
        </object>
      </object>
    </object>
    <object type="NUMANode" os_index="8" cpuset="0x000000f0" complete_cpuset="0x000000f0" online_cpuset="0x000000f0" allowed_cpuset="0x000000f0" nodeset="0x00000002" complete_nodeset="0x00000002" allowed_nodeset="0x00000002" local_memory="1073741824"/>
    <object type="NUMANode" os_index="252" cpuset="0x0" complete_cpuset="0x0" online_cpuset="0x0" allowed_cpuset="0x0" nodeset="0x00000004" complete_nodeset="0x00000004" allowed_nodeset="0x00000004" local_memory="1073741824"/>
  </object>
</topology>
)";

}  // namespace weir::topology
