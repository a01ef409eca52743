// SPDX-License-Identifier: Apache-2.0
// Every function of the interface is called, under its name and under its twin's, by one thread with two
// ranks on GPUs; interface_test.py says which library is to answer.
#include <gmock/gmock.h>

#include <unistd.h>

#include <array>
#include <fstream>
#include <functional>
#include <memory>
#include <vector>

#include "tests/preload/interface.h"
// After interface.h, which chooses the header of NCCL.
#include "tests/conform/machine.h"

namespace weir::preload {
namespace {

using conform::Buffer;
using conform::choose_gpu;
using conform::Stream;
using ::testing::HasSubstr;
using Floats = std::vector<float>;

constexpr size_t kBlock = 4, kAll = 2 * kBlock;
constexpr int kRanks = 2;
/// An all-reduce of two ranks.
constexpr const char* kRingOfTwo = R"(weir plan 1
algorithm ring
collective all_reduce
ranks 2
chunks 2
scratch 0
moves 4
0 send 1.0 0.0 from input 0 with input 0 to output 0
1 send 0.0 1.0 from input 1 with input 1 to output 1
2 send 0.0 1.0 from value 0 to output 0
3 send 1.0 0.0 from value 1 to output 1
end
)";

/// kAll or fewer values: the first, and each one `step` more.
Floats ramp(float first, float step = 1, size_t count = kAll) {
  Floats values(count);
  for (size_t i = 0; i < count; ++i) values[i] = first + step * static_cast<float>(i);
  return values;
}
Floats operator+(Floats first, const Floats& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}
const Floats kNothing(kAll, -1), kNoBlock(kBlock, -1);

class WholeInterface : public ::testing::TestWithParam<bool> {
 protected:
  using Comms = std::array<ncclComm_t, kRanks>;
  using Act = std::function<ncclResult_t(int rank)>;

  int gpu(int rank) const { return rank % conform::gpus(); }
  size_t at(int rank) const { return static_cast<size_t>(rank); }
  void ok(ncclResult_t result, const char* what) {
    EXPECT_EQ(result, ncclSuccess) << what << ": " << our_(ncclGetLastError)(nullptr);
  }
  void refused(ncclResult_t result, const char* name) {
    EXPECT_EQ(result, ncclInvalidUsage) << name;
    EXPECT_THAT(our_(ncclGetLastError)(nullptr), HasSubstr(name));
  }
  /// Both ranks in one group.
  void together(const char* what, const Act& act) {
    ok(our_(ncclGroupStart)(), what);
    for (int rank = 0; rank < kRanks; ++rank) {
      choose_gpu(gpu(rank));
      ok(act(rank), what);
    }
    ok(our_(ncclGroupEnd)(), what);
  }
  /// `act` turns 10, 11, ... of rank 0 and 20, 21, ... of rank 1 into what is expected of each.
  void gives(const char* what, const Act& act, const std::array<Floats, kRanks>& expected) {
    for (int rank = 0; rank < kRanks; ++rank) {
      choose_gpu(gpu(rank));
      in_[at(rank)]->write(ramp(10 * static_cast<float>(rank + 1)), *streams_[at(rank)]);
      out_[at(rank)]->write(kNothing, *streams_[at(rank)]);
      streams_[at(rank)]->wait();
    }
    together(what, act);
    for (int rank = 0; rank < kRanks; ++rank) {
      choose_gpu(gpu(rank));
      EXPECT_EQ(out_[at(rank)]->read<float>(kAll, *streams_[at(rank)]), expected[at(rank)])
          << what << ", rank " << rank;
    }
  }
  void* in(int rank) const { return in_[at(rank)]->data(); }
  void* out(int rank) const { return out_[at(rank)]->data(); }
  cudaStream_t stream(int rank) const { return *streams_[at(rank)]; }

  void SetUp() override {
    for (int rank = 0; rank < kRanks; ++rank) {
      choose_gpu(gpu(rank));
      streams_[at(rank)] = std::make_unique<Stream>();
      in_[at(rank)] = std::make_unique<Buffer>(kAll * sizeof(float));
      out_[at(rank)] = std::make_unique<Buffer>(kAll * sizeof(float));
    }
  }
  void TearDown() override {
    for (int rank = 0; rank < kRanks; ++rank) {
      choose_gpu(gpu(rank));
      out_[at(rank)] = nullptr;
      in_[at(rank)] = nullptr;
      streams_[at(rank)] = nullptr;
    }
  }

  void ask_the_library();
  void ask_for_parameters();
  void make_and_end(const Comms& parents);
  void ask(ncclComm_t comm, int rank);
  void use_memory(ncclComm_t comm, int rank);
  void reduce(const Comms& comms);
  void move(const Comms& comms);
  void use_options(const Comms& comms);
  void move_in_rccls_way(const Comms& comms);
  void run_a_schedule(const Comms& comms);
  void be_refused(ncclComm_t comm);
  void state_requirements(ncclComm_t comm, ncclTeam_t world);
  void use_the_device_interface(ncclComm_t comm, int rank);

  Interface our_{GetParam()};

 private:
  std::array<std::unique_ptr<Stream>, kRanks> streams_;
  std::array<std::unique_ptr<Buffer>, kRanks> in_, out_;
};

void WholeInterface::ask_the_library() {
  int version = 0;
  ok(our_(ncclGetVersion)(&version), "ncclGetVersion");
  EXPECT_GE(version, 23203);
  EXPECT_STREQ(our_(ncclGetErrorString)(ncclSuccess), "no error");
  ok(our_(ncclSetEncryption)(nullptr), "ncclSetEncryption");
  our_(ncclResetDebugInit)();
  our_(ncclResetDebugInitInternal)();
}

void WholeInterface::ask_for_parameters() {
  ncclParamHandle_t slots = nullptr;
  ok(our_(ncclParamBind)(&slots, "WEIR_SLOTS"), "ncclParamBind");
  const auto number = [&](auto& function, auto value) {
    ok(our_(function)(slots, &value), "ncclParamGet<number>");
    EXPECT_EQ(static_cast<int>(value), 4);
  };
  number(ncclParamGetI8, int8_t{});
  number(ncclParamGetI16, int16_t{});
  number(ncclParamGetI32, int32_t{});
  number(ncclParamGetI64, int64_t{});
  number(ncclParamGetU8, uint8_t{});
  number(ncclParamGetU16, uint16_t{});
  number(ncclParamGetU32, uint32_t{});
  number(ncclParamGetU64, uint64_t{});
  const char* text = nullptr;
  ok(our_(ncclParamGetStr)(slots, &text), "ncclParamGetStr");
  EXPECT_STREQ(text, "4");
  char bytes[4];
  int length = 0;
  ok(our_(ncclParamGet)(slots, bytes, sizeof(bytes), &length), "ncclParamGet");
  EXPECT_EQ(std::string(bytes, static_cast<size_t>(length)), "4");
  ok(our_(ncclParamGetParameter)("WEIR_SLOTS", &text, &length), "ncclParamGetParameter");
  EXPECT_EQ(std::string(text, static_cast<size_t>(length)), "4");
  const char** keys = nullptr;
  ok(our_(ncclParamGetAllParameterKeys)(&keys, &length), "ncclParamGetAllParameterKeys");
  EXPECT_GT(length, 0);
  our_(ncclParamDumpAll)();
}

void WholeInterface::make_and_end(const Comms& parents) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  Comms made{};
  ncclUniqueId id;
  const auto from_an_id = [&](const char* what, const Act& act) {
    ok(our_(ncclGetUniqueId)(&id), "ncclGetUniqueId");
    together(what, act);
    for (const ncclComm_t comm : made) ok(our_(ncclCommDestroy)(comm), what);
  };
  from_an_id("ncclCommInitRank",
             [&](int rank) { return our_(ncclCommInitRank)(&made[at(rank)], kRanks, id, rank); });
  from_an_id("ncclCommInitRankConfig", [&](int rank) {
    return our_(ncclCommInitRankConfig)(&made[at(rank)], kRanks, id, rank, &config);
  });
  from_an_id("ncclCommInitRankScalable", [&](int rank) {
    return our_(ncclCommInitRankScalable)(&made[at(rank)], kRanks, rank, 1, &id, &config);
  });
  together("ncclCommSplit", [&](int rank) {
    return our_(ncclCommSplit)(parents[at(rank)], 0, -rank, &made[at(rank)], nullptr);
  });
  int own = -1;
  ok(our_(ncclCommUserRank)(made[0], &own), "ncclCommUserRank");
  EXPECT_EQ(own, 1) << "by keys";
  static_assert(kRanks == 2);
  int other = 0;
  ncclComm_t alone = nullptr;
  ok(our_(ncclCommShrink)(made[0], &other, 1, &alone, nullptr, NCCL_SHRINK_ABORT), "ncclCommShrink");
  ok(our_(ncclCommRevoke)(alone, NCCL_REVOKE_DEFAULT), "ncclCommRevoke");
  ok(our_(ncclCommDestroy)(alone), "ncclCommDestroy");
  for (const ncclComm_t comm : made) ok(our_(ncclCommAbort)(comm), "ncclCommAbort");
}

void WholeInterface::ask(ncclComm_t comm, int rank) {
  int count = 0, own = -1, device = -1;
  ncclResult_t error = ncclInternalError;
  ok(our_(ncclCommCount)(comm, &count), "ncclCommCount");
  ok(our_(ncclCommUserRank)(comm, &own), "ncclCommUserRank");
  ok(our_(ncclCommCuDevice)(comm, &device), "ncclCommCuDevice");
  ok(our_(ncclCommGetAsyncError)(comm, &error), "ncclCommGetAsyncError");
  EXPECT_EQ(count, kRanks);
  EXPECT_EQ(own, rank);
  EXPECT_EQ(device, gpu(rank));
  EXPECT_EQ(error, ncclSuccess);
}

void WholeInterface::use_memory(ncclComm_t comm, int rank) {
  choose_gpu(gpu(rank));
  constexpr size_t kBytes = 8192;
  void *memory = nullptr, *registered = nullptr;
  ncclWindow_t window = nullptr;
  ok(our_(ncclMemAlloc)(&memory, kBytes), "ncclMemAlloc");
  ok(our_(ncclCommRegister)(comm, memory, kBytes, &registered), "ncclCommRegister");
  ok(our_(ncclCommWindowRegister)(comm, memory, kBytes, &window, NCCL_WIN_DEFAULT), "ncclCommWindowRegister");
  ok(our_(ncclCommWindowDeregister)(comm, window), "ncclCommWindowDeregister");
  ok(our_(ncclCommDeregister)(comm, registered), "ncclCommDeregister");
  ok(our_(ncclMemFree)(memory), "ncclMemFree");
}

void WholeInterface::reduce(const Comms& comms) {
  const Floats sum = ramp(30, 2);
  gives("ncclAllReduce",
        [&](int rank) {
          return our_(ncclAllReduce)(in(rank), out(rank), kAll, ncclFloat32, ncclSum, comms[at(rank)],
                                     stream(rank));
        },
        {sum, sum});
  gives("ncclReduce",
        [&](int rank) {
          return our_(ncclReduce)(in(rank), out(rank), kAll, ncclFloat32, ncclSum, 1, comms[at(rank)],
                                  stream(rank));
        },
        {kNothing, sum});
  gives("ncclReduceScatter",
        [&](int rank) {
          return our_(ncclReduceScatter)(in(rank), out(rank), kBlock, ncclFloat32, ncclSum, comms[at(rank)],
                                         stream(rank));
        },
        {ramp(30, 2, kBlock) + kNoBlock, ramp(38, 2, kBlock) + kNoBlock});
  float two = 2;
  std::array<ncclRedOp_t, kRanks> ops{};
  for (int rank = 0; rank < kRanks; ++rank) {
    ok(our_(ncclRedOpCreatePreMulSum)(&ops[at(rank)], &two, ncclFloat32, ncclScalarHostImmediate,
                                      comms[at(rank)]),
       "ncclRedOpCreatePreMulSum");
  }
  gives("twice the sum",
        [&](int rank) {
          return our_(ncclAllReduce)(in(rank), out(rank), kAll, ncclFloat32, ops[at(rank)], comms[at(rank)],
                                     stream(rank));
        },
        {ramp(60, 4), ramp(60, 4)});
  for (int rank = 0; rank < kRanks; ++rank) {
    ok(our_(ncclRedOpDestroy)(ops[at(rank)], comms[at(rank)]), "ncclRedOpDestroy");
  }
}

void WholeInterface::move(const Comms& comms) {
  const Floats first_blocks = ramp(10, 1, kBlock) + ramp(20, 1, kBlock);
  const Floats second_blocks = ramp(14, 1, kBlock) + ramp(24, 1, kBlock);
  // A collective of blocks that only moves: all have the same arguments.
  const auto moves = [&](const char* what, auto& function, size_t count,
                         const std::array<Floats, kRanks>& expected, auto... root) {
    gives(
        what,
        [&](int rank) {
          return our_(function)(in(rank), out(rank), count, ncclFloat32, root..., comms[at(rank)],
                                stream(rank));
        },
        expected);
  };
  moves("ncclBroadcast", ncclBroadcast, kAll, {ramp(20), ramp(20)}, 1);
  moves("ncclAllGather", ncclAllGather, kBlock, {first_blocks, first_blocks});
  moves("ncclAlltoAll", ncclAlltoAll, kBlock, {first_blocks, second_blocks});
  moves("ncclAllToAll", ncclAllToAll, kBlock, {first_blocks, second_blocks});
  moves("ncclGather", ncclGather, kBlock, {first_blocks, kNothing}, 0);
  moves("ncclScatter", ncclScatter, kBlock, {ramp(20, 1, kBlock) + kNoBlock, ramp(24, 1, kBlock) + kNoBlock},
        1);
  gives("ncclSend, ncclRecv",
        [&](int rank) {
          ok(our_(ncclSend)(in(rank), kAll, ncclFloat32, 1 - rank, comms[at(rank)], stream(rank)),
             "ncclSend");
          return our_(ncclRecv)(out(rank), kAll, ncclFloat32, 1 - rank, comms[at(rank)], stream(rank));
        },
        {ramp(20), ramp(10)});
  // In place, on what the last call left: all get the values that rank 1 has.
  together("ncclBcast", [&](int rank) {
    return our_(ncclBcast)(out(rank), kAll, ncclFloat32, 1, comms[at(rank)], stream(rank));
  });
  choose_gpu(gpu(0));
  EXPECT_EQ(out_[0]->read<float>(kAll, stream(0)), ramp(10)) << "ncclBcast";
}

void WholeInterface::use_options(const Comms& comms) {
  ncclCollConfig_t config = NCCL_COLLCONFIG_INITIALIZER;
  config.algSelection = "ring";
  const Floats sum = ramp(30, 2), both = ramp(10, 1, kBlock) + ramp(20, 1, kBlock);
  const Floats seconds = ramp(14, 1, kBlock) + ramp(24, 1, kBlock);
  // `rest`: op or root, of the collectives that have one.
  const auto calls = [&](const char* what, auto& function, size_t count,
                         const std::array<Floats, kRanks>& expected, auto... rest) {
    gives(
        what,
        [&](int rank) {
          return our_(function)(in(rank), out(rank), count, ncclFloat32, rest..., comms[at(rank)],
                                stream(rank), &config);
        },
        expected);
  };
  calls("ncclAllReduceConfig", ncclAllReduceConfig, kAll, {sum, sum}, ncclSum);
  calls("ncclReduceConfig", ncclReduceConfig, kAll, {kNothing, sum}, ncclSum, 1);
  calls("ncclBroadcastConfig", ncclBroadcastConfig, kAll, {ramp(20), ramp(20)}, 1);
  calls("ncclAllGatherConfig", ncclAllGatherConfig, kBlock, {both, both});
  calls("ncclReduceScatterConfig", ncclReduceScatterConfig, kBlock,
        {ramp(30, 2, kBlock) + kNoBlock, ramp(38, 2, kBlock) + kNoBlock}, ncclSum);
  config.algSelection = nullptr;
  calls("ncclAlltoAllConfig", ncclAlltoAllConfig, kBlock, {both, seconds});
  calls("ncclGatherConfig", ncclGatherConfig, kBlock, {both, kNothing}, 0);
  calls("ncclScatterConfig", ncclScatterConfig, kBlock,
        {ramp(20, 1, kBlock) + kNoBlock, ramp(24, 1, kBlock) + kNoBlock}, 1);
}

void WholeInterface::move_in_rccls_way(const Comms& comms) {
  const size_t counts[] = {kBlock, kBlock}, places[] = {0, kBlock};
  const std::array<Floats, kRanks> turned = {ramp(10, 1, kBlock) + ramp(20, 1, kBlock),
                                             ramp(14, 1, kBlock) + ramp(24, 1, kBlock)};
  for (auto* const function : {&ncclAlltoAllv, &ncclAllToAllv}) {
    gives(
        "ncclAlltoAllv",
        [&](int rank) {
          return our_(*function)(in(rank), counts, places, out(rank), counts, places, ncclFloat32,
                                 comms[at(rank)], stream(rank));
        },
        turned);
  }
  gives("ncclAllReduceWithBias",
        [&](int rank) {
          return our_(ncclAllReduceWithBias)(in(rank), out(rank), kAll, ncclFloat32, ncclSum, comms[at(rank)],
                                             stream(rank), nullptr);
        },
        {ramp(30, 2), ramp(30, 2)});
  run_a_schedule(comms);
}

void WholeInterface::run_a_schedule(const Comms& comms) {
  mscclAlgoHandle_t handle = 0;
  EXPECT_EQ(our_(mscclLoadAlgo)("/nowhere", &handle, 0), ncclSystemError);
  char file[] = "/tmp/weir_schedule_XXXXXX";
  close(mkstemp(file));
  std::ofstream(file) << kRingOfTwo;
  ok(our_(mscclLoadAlgo)(file, &handle, 0), "mscclLoadAlgo");
  unlink(file);
  gives("mscclRunAlgo",
        [&](int rank) {
          return our_(mscclRunAlgo)(in(rank), nullptr, nullptr, out(rank), nullptr, nullptr, kAll,
                                    ncclFloat32, 0, 0, ncclSum, handle, comms[at(rank)], stream(rank));
        },
        {ramp(30, 2), ramp(30, 2)});
  ok(our_(mscclUnloadAlgo)(handle), "mscclUnloadAlgo");
}

void WholeInterface::be_refused(ncclComm_t comm) {
  ncclComm_t made = comm;
  ncclUniqueId id{};
  uint64_t value = 0;
  void* pointer = this;
  ncclWaitSignalDesc_t wait{};
  ok(our_(ncclCommGetUniqueId)(comm, &id), "ncclCommGetUniqueId");
  EXPECT_EQ(our_(ncclCommGrow)(comm, kRanks, &id, -1, &made, nullptr), ncclInvalidArgument)
      << "not more ranks";
  EXPECT_EQ(made, nullptr);
  refused(our_(ncclCommSuspend)(comm, NCCL_SUSPEND_MEM), "ncclCommSuspend");
  refused(our_(ncclCommResume)(comm), "ncclCommResume");
  ok(our_(ncclCommMemStats)(comm, ncclStatGpuMemTotal, &value), "ncclCommMemStats");
  EXPECT_GT(value, 0u);
  EXPECT_EQ(our_(ncclWinGetUserPtr)(comm, nullptr, &pointer), ncclInvalidArgument) << "no window";
  EXPECT_EQ(pointer, nullptr);
  refused(our_(ncclPutSignal)(in(0), 1, ncclFloat32, 1, nullptr, 0, 0, 0, 0, comm, stream(0)),
          "ncclPutSignal");
  refused(our_(ncclSignal)(1, 0, 0, 0, comm, stream(0)), "ncclSignal");
  refused(our_(ncclWaitSignal)(1, &wait, comm, stream(0)), "ncclWaitSignal");
  ncclSimInfo_t estimate = NCCL_SIM_INFO_INITIALIZER;
  ok(our_(ncclGroupStart)(), "ncclGroupStart");
  ok(our_(ncclGroupSimulateEnd)(&estimate), "ncclGroupSimulateEnd");
  EXPECT_EQ(estimate.estimatedTime, 0) << "of nothing";
}

void WholeInterface::state_requirements(ncclComm_t comm, ncclTeam_t world) {
  ncclDevResourceRequirements_t needed;
  ncclLsaBarrierHandle_t lsa;
  ok(our_(ncclLsaBarrierCreateRequirement)(world, 4, &lsa, &needed), "ncclLsaBarrierCreateRequirement");
  EXPECT_EQ(lsa.nBarriers, 4);
  EXPECT_EQ(needed.bufferSize, 4u * (3 + kRanks) * sizeof(uint32_t));
  EXPECT_EQ(needed.outBufferHandle, &lsa.bufHandle);
  EXPECT_EQ(needed.next, nullptr);
  ncclCftBarrierHandle_t cft;
  ok(our_(ncclCftBarrierCreateRequirement)(world, 4, &cft, &needed), "ncclCftBarrierCreateRequirement");
  EXPECT_EQ(needed.outBufferHandle, &cft.bufHandle);
  ncclGinBarrierHandle_t gin;
  ok(our_(ncclGinBarrierCreateRequirement)(comm, world, 4, &gin, &needed), "ncclGinBarrierCreateRequirement");
  EXPECT_EQ(needed.ginSignalCount, 4 * kRanks);
  EXPECT_EQ(needed.outGinSignalStart, &gin.signal0);
  EXPECT_EQ(needed.bufferSize, 0u);
  ncclLLA2AHandle_t all;
  ok(our_(ncclLLA2ACreateRequirement)(2, 6, &all, &needed), "ncclLLA2ACreateRequirement");
  EXPECT_EQ(all.nSlots, 6u);
  EXPECT_EQ(needed.bufferSize, 2u * (1 + 2 * 6) * 16);
  ncclGinOutboxHandle_t sent;
  ok(our_(ncclGinOutboxCreateRequirement)(2, 10, &sent, &needed), "ncclGinOutboxCreateRequirement");
  EXPECT_EQ(needed.bufferSize, 2048u);
  ncclGinInboxA2AHandle_t received;
  ok(our_(ncclGinInboxA2ACreateRequirement)(world, 2, 10, &received, &needed),
     "ncclGinInboxA2ACreateRequirement");
  EXPECT_EQ(needed.outGinSignalStart, &received.signals);
  EXPECT_EQ(received.size_log2, 10u);

  const auto wrong = [&](ncclResult_t result, const char* what) {
    EXPECT_EQ(result, ncclInvalidArgument) << what;
    EXPECT_THAT(our_(ncclGetLastError)(nullptr), HasSubstr(what));
  };
  wrong(our_(ncclLsaBarrierCreateRequirement)({0, 0, 1}, 4, &lsa, &needed),
        "invalid number of ranks in the team 0");
  wrong(our_(ncclLsaBarrierCreateRequirement)(world, -1, &lsa, &needed), "invalid number of barriers -1");
  wrong(our_(ncclLsaBarrierCreateRequirement)(world, 4, nullptr, &needed), "outHandle argument is NULL");
  wrong(our_(ncclGinBarrierCreateRequirement)(nullptr, world, 4, &gin, &needed), "comm argument is NULL");
  wrong(our_(ncclGinBarrierCreateRequirement)(comm, {1 << 20, 0, 1}, 1 << 20, &gin, &needed), "too many");
  wrong(our_(ncclLLA2ACreateRequirement)(2, -6, &all, &needed), "invalid number of slots -6");
  wrong(our_(ncclGinOutboxCreateRequirement)(2, 64, &sent, &needed), "invalid size_log2 64");
  wrong(our_(ncclGinInboxA2ACreateRequirement)(world, 2, 10, &received, nullptr), "outReq argument is NULL");
}

void WholeInterface::use_the_device_interface(ncclComm_t comm, int rank) {
  ncclCommProperties_t properties = NCCL_COMM_PROPERTIES_INITIALIZER;
  ok(our_(ncclCommQueryProperties)(comm, &properties), "ncclCommQueryProperties");
  EXPECT_EQ(properties.rank, rank);
  EXPECT_EQ(properties.nRanks, kRanks);
  EXPECT_FALSE(properties.deviceApiSupport);
  EXPECT_FALSE(properties.cftSupport);
  // The struct of NCCL 2.30, which is shorter.
  properties.size = offsetof(ncclCommProperties_t, commHash);
  properties.commHash = 17;
  ok(our_(ncclCommQueryProperties)(comm, &properties), "ncclCommQueryProperties");
  EXPECT_EQ(properties.commHash, 17u);
  const ncclTeam_t world = our_(ncclTeamWorld)(comm), alone = our_(ncclTeamLsa)(comm);
  EXPECT_EQ(world.nRanks, kRanks);
  EXPECT_EQ(alone.nRanks, 1);
  EXPECT_EQ(our_(ncclTeamRail)(comm).nRanks, kRanks);
  EXPECT_EQ(our_(ncclTeamRankToWorld)(comm, world, 1), 1);
  EXPECT_EQ(our_(ncclTeamRankToLsa)(comm, alone, 0), 0);
  EXPECT_EQ(our_(ncclLLA2ACalcSlots)(3, 16), 6);
  EXPECT_EQ(our_(ncclTeamCft)(comm, NCCL_CFT_TEAM_FLAT).nRanks, 1);
  EXPECT_EQ(our_(ncclTeamCftMultimem)(comm).nRanks, 1);
  state_requirements(comm, world);
  const ncclDevCommRequirements_t requirements = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  ncclDevComm_t made{};
  refused(our_(ncclDevCommCreate)(comm, &requirements, &made), "ncclDevCommCreate");
  refused(our_(ncclDevCommDestroy)(comm, &made), "ncclDevCommDestroy");
  ncclCftLeId endpoint = 0;
  size_t at = 1;
  refused(our_(ncclGetMultimemDeviceLeInfo)(nullptr, 0, &endpoint, &at), "ncclGetMultimemDeviceLeInfo");
  refused(our_(ncclGetCftDeviceLeInfo)(nullptr, 0, 0, world, &endpoint, &at), "ncclGetCftDeviceLeInfo");
  refused(our_(ncclGetPeerDeviceLeInfo)(nullptr, 0, 0, &endpoint, &at), "ncclGetPeerDeviceLeInfo");
  EXPECT_EQ(endpoint, NCCL_LE_ID_INVALID);
  EXPECT_EQ(at, 0u);
  void* out = this;
  refused(our_(ncclGetLsaDevicePointer)(nullptr, 0, 0, &out), "ncclGetLsaDevicePointer");
  refused(our_(ncclGetPeerDevicePointer)(nullptr, 0, 0, &out), "ncclGetPeerDevicePointer");
  refused(our_(ncclGetMultimemDevicePointer)(nullptr, 0, {nullptr}, &out), "ncclGetMultimemDevicePointer");
  refused(our_(ncclGetLsaMultimemDevicePointer)(nullptr, 0, &out), "ncclGetLsaMultimemDevicePointer");
  EXPECT_EQ(out, nullptr);
}

TEST_P(WholeInterface, IsThere) {
  ask_the_library();
  ask_for_parameters();
  Comms comms{};
  const int list[kRanks] = {gpu(0), gpu(1)};
  ok(our_(ncclCommInitAll)(comms.data(), kRanks, list), "ncclCommInitAll");
  ASSERT_NE(comms[1], nullptr);
  for (int rank = 0; rank < kRanks; ++rank) {
    ask(comms[at(rank)], rank);
    use_the_device_interface(comms[at(rank)], rank);
    use_memory(comms[at(rank)], rank);
  }
  reduce(comms);
  move(comms);
  use_options(comms);
  move_in_rccls_way(comms);
  be_refused(comms[0]);
  make_and_end(comms);
  together("ncclCommFinalize", [&](int rank) { return our_(ncclCommFinalize)(comms[at(rank)]); });
  for (const ncclComm_t comm : comms) ok(our_(ncclCommDestroy)(comm), "ncclCommDestroy");
  // The one function of RCCL's that is C++ only needs to be there.
  const auto forgotten = our_.forgotten();
  ASSERT_EQ(forgotten.size(), 1u) << *forgotten.begin();
  EXPECT_THAT(*forgotten.begin(), HasSubstr("ncclCommDump"));
}

INSTANTIATE_TEST_SUITE_P(By, WholeInterface, ::testing::Bool(),
                         [](const auto& twins) { return twins.param ? "twins" : "names"; });

/// The file that an address was mapped from.
std::string file_of(void* address) {
  Dl_info found{};
  if (address == nullptr || dladdr(address, &found) == 0) return "(no file)";
  const std::unique_ptr<char, void (*)(void*)> path(realpath(found.dli_fname, nullptr), std::free);
  return path == nullptr ? found.dli_fname : path.get();
}

TEST(Names, AreAllOfOneLibrary) {
  const char* const expected = std::getenv("WEIR_INTERFACE_FROM");
  ASSERT_NE(expected, nullptr) << "the file that is to answer";
  const bool bound = library() == RTLD_DEFAULT;
  for (const Name* name = weir_interface_names; name->plain != nullptr; ++name) {
    EXPECT_EQ(file_of(dlsym(library(), name->plain)), expected) << name->plain;
    if (bound) {
      EXPECT_EQ(file_of(reinterpret_cast<void*>(name->linked)), expected) << name->plain;
    }
    if (name->twin == nullptr) continue;
    EXPECT_EQ(file_of(dlsym(library(), name->twin)), expected) << name->twin;
    if (bound) {
      EXPECT_EQ(file_of(reinterpret_cast<void*>(name->linked_twin)), expected) << name->twin;
    }
  }
}

}  // namespace
}  // namespace weir::preload
