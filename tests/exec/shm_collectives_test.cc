// SPDX-License-Identifier: Apache-2.0

#include "src/exec/shm_collectives.h"

#include <gmock/gmock.h>

#include <bit>
#include <random>

#include "algorithms/catalogue/catalogue.h"
#include "tests/exec/island.h"
#include "tests/exec/oracle.h"

namespace weir::exec {
namespace {

using ::testing::HasSubstr;

/// Exchanges of all ranks of an island, with small blocks so that short messages take many.
class Exchanges {
 public:
  explicit Exchanges(int ranks, ShmCollectives::Limits limits = {.one_shot_bytes = 1024,
                                                                 .direct_bytes = 512,
                                                                 .block_bytes = 8192,
                                                                 .streaming_bytes = 64 * 1024})
      : island_(ranks, 256 * 1024) {
    std::vector<ExchangeArea> exchange_areas;
    std::vector<Doorbell*> doorbells;
    for (Rank rank = 0; rank < ranks; ++rank) {
      exchange_areas.push_back(area(rank));
      doorbells.push_back(island_.view(rank).doorbell);
    }
    for (Rank rank = 0; rank < ranks; ++rank) {
      allocations_.push_back(std::make_unique<Allocations>(rank, registry_, exchange_areas));
      exchanges_.push_back(
          std::make_unique<ShmCollectives>(rank, exchange_areas, doorbells, *allocations_.back(), limits));
    }
  }
  ShmCollectives& at(Rank rank) { return *exchanges_[static_cast<size_t>(rank)]; }
  device::MemoryRegistry& registry() { return registry_; }
  ExchangeArea area(Rank rank) const {
    const SegmentView view = island_.view(rank);
    return {view.exchange_area, view.exchange_area_bytes, island_.ranks()};
  }

  Status run(Collective kind, const std::vector<Work>& works) {
    std::vector<Task*> tasks;
    for (size_t rank = 0; rank < works.size(); ++rank) {
      exchanges_[rank]->start(kind, works[rank]);
      tasks.push_back(exchanges_[rank].get());
    }
    return finish(tasks);
  }

 private:
  device::MemoryRegistry registry_;
  Island island_;
  std::vector<std::unique_ptr<Allocations>> allocations_;
  std::vector<std::unique_ptr<ShmCollectives>> exchanges_;
};

constexpr ShmCollectives::Limits kRendezvous{.one_shot_bytes = 1024,
                                             .direct_bytes = 512,
                                             .block_bytes = 8192,
                                             .streaming_bytes = 64 * 1024,
                                             .rendezvous_bytes = 2048};

constexpr Collective kKinds[] = {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter,
                                 Collective::all_to_all};

/// Which ranks' buffers come from the allocator that peers can map.
enum class Memory { ordinary, mapped, mixed };

template <typename T>
class Buffers {
 public:
  Buffers(device::MemoryRegistry& registry, const ir::Shape& shape, size_t count, Memory memory)
      : registry_(registry) {
    for (Rank rank = 0; rank < shape.ranks; ++rank) {
      const std::vector<T> values = inputs<T>(shape, rank, count);
      const bool mapped = memory == Memory::mapped || (memory == Memory::mixed && rank % 2 == 0);
      in.push_back(make(values.size(), mapped));
      std::copy(values.begin(), values.end(), in.back());
      out.push_back(make(outputs<T>(shape, rank, count).size(), mapped));
    }
  }
  ~Buffers() {
    for (T* p : mapped_) EXPECT_TRUE(registry_.free(p).ok());
  }
  std::vector<T*> in, out;

 private:
  T* make(size_t count, bool mapped) {
    if (!mapped) return ordinary_.emplace_back(std::make_unique<T[]>(count + 1)).get();
    auto made = registry_.allocate(count * sizeof(T) + 1);
    mapped_.push_back(static_cast<T*>(made.value()));
    return mapped_.back();
  }
  device::MemoryRegistry& registry_;
  std::vector<std::unique_ptr<T[]>> ordinary_;
  std::vector<T*> mapped_;
};

template <typename T>
void exchange_and_compare(Exchanges& exchanges, const ir::Shape& shape, DataType type, size_t count,
                          Memory memory) {
  Buffers<T> buffers(exchanges.registry(), shape, count, memory);
  std::vector<Work> works;
  for (Rank rank = 0; rank < shape.ranks; ++rank) {
    Work work;
    work.input = reinterpret_cast<const std::byte*>(buffers.in[rank]);
    work.output = reinterpret_cast<std::byte*>(buffers.out[rank]);
    work.count = count;
    work.type = type;
    works.push_back(work);
  }
  const std::string what = std::string(name(shape.kind)) + " over " + std::to_string(shape.ranks) +
                           " count " + std::to_string(count) + " memory " +
                           std::to_string(static_cast<int>(memory));
  const Status status = exchanges.run(shape.kind, works);
  ASSERT_TRUE(status.ok()) << what << ": " << status.message();
  for (Rank rank = 0; rank < shape.ranks; ++rank) {
    const std::vector<T> want = outputs<T>(shape, rank, count);
    ASSERT_EQ(std::vector<T>(buffers.out[rank], buffers.out[rank] + want.size()), want)
        << what << " rank " << rank;
  }
}

TEST(ShmCollectives, GivesTheRightNumbersWhateverTheMemory) {
  for (const int ranks : {2, 3, 4, 8}) {
    Exchanges exchanges(ranks, kRendezvous);
    for (const Collective kind : kKinds) {
      for (const size_t count : {1u, 13u, 100u, 300u, 5000u, 30000u}) {
        for (const Memory memory : {Memory::ordinary, Memory::mapped, Memory::mixed}) {
          const ir::Shape shape{kind, ranks, 0, 1};
          exchange_and_compare<int32_t>(exchanges, shape, DataType::int32, count, memory);
          exchange_and_compare<uint8_t>(exchanges, shape, DataType::uint8, count, memory);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

bool any_rendezvous(const Exchanges& exchanges, int ranks) {
  bool any = false;
  for (Rank rank = 0; rank < ranks; ++rank)
    for (const uint64_t parity : {0, 1}) any |= exchanges.area(rank).stage(parity).buffers.address != 0;
  return any;
}

/// Nobody can read what rank 0 has: all begin again with copies, and go on with them. Two ranks copy for an
/// all-reduce in any case.
TEST(ShmCollectives, CopiesWhatCannotBeRead) {
  for (const int ranks : {2, 3}) {
    for (const Collective kind : kKinds) {
      Exchanges exchanges(ranks, kRendezvous);
      const ir::Shape shape{kind, ranks, 0, 1};
      exchange_and_compare<int32_t>(exchanges, shape, DataType::int32, 5000, Memory::ordinary);
      EXPECT_EQ(any_rendezvous(exchanges, ranks), ranks > 2 || kind != Collective::all_reduce);
      exchanges.area(0).process().token ^= 1;
      exchange_and_compare<int32_t>(exchanges, shape, DataType::int32, 6000, Memory::ordinary);
      exchange_and_compare<int32_t>(exchanges, shape, DataType::int32, 7000, Memory::mixed);
      exchange_and_compare<int32_t>(exchanges, shape, DataType::int32, 7001, Memory::ordinary);
      EXPECT_FALSE(any_rendezvous(exchanges, ranks));
    }
  }
}

std::vector<float> noise(Rank rank, size_t count) {
  std::mt19937 random(static_cast<unsigned>(rank) * 977 + 5);
  std::uniform_real_distribution<float> values(-1, 1);
  std::vector<float> made(count);
  for (float& value : made) value = values(random) * std::ldexp(1.0F, static_cast<int>(random() % 20));
  return made;
}

/// Sums whose rounding depends on the order: the fast path and the plan that it replaces give the same bits.
TEST(ShmCollectives, GivesTheBitsOfThePlanItStandsFor) {
  constexpr ShmCollectives::Limits kLimits{
      .one_shot_bytes = 4096, .direct_bytes = 512, .block_bytes = 16384, .rendezvous_bytes = 1024};
  for (const int ranks : {2, 3, 5, 8}) {
    for (const size_t count : {5u, 900u, 20000u}) {
      for (const bool scales : {false, true}) {
        const bool small = count * sizeof(float) <= kLimits.one_shot_bytes;
        const std::string_view algorithm = small ? "one_shot" : "two_shot";
        const algorithms::Entry* entry = algorithms::find(algorithm, Collective::all_reduce);
        const ir::Shape shape{Collective::all_reduce, ranks, 0, algorithms::default_chunks(*entry, ranks)};
        Island island(ranks);
        Bound bound(island, lower_all(algorithms::emit(algorithm, shape).value()));
        Exchanges exchanges(ranks, kLimits);
        std::vector<std::vector<float>> in, planned(ranks), exchanged(ranks);
        std::vector<Work> works(ranks);
        std::vector<Task*> tasks;
        for (Rank rank = 0; rank < ranks; ++rank) in.push_back(noise(rank, count));
        for (Rank rank = 0; rank < ranks; ++rank) {
          planned[rank].resize(count);
          exchanged[rank].resize(count);
          Work& work = works[rank];
          work.input = reinterpret_cast<const std::byte*>(in[rank].data());
          work.output = reinterpret_cast<std::byte*>(planned[rank].data());
          work.count = count;
          work.scales = scales;
          work.factor = device::ratio(DataType::float32, 1, ranks);
          bound.run(rank).start(work);
          tasks.push_back(&bound.run(rank));
        }
        ASSERT_TRUE(finish(tasks).ok());
        for (Rank rank = 0; rank < ranks; ++rank)
          works[rank].output = reinterpret_cast<std::byte*>(exchanged[rank].data());
        ASSERT_TRUE(exchanges.run(Collective::all_reduce, works).ok());
        for (Rank rank = 0; rank < ranks; ++rank) {
          for (size_t i = 0; i < count; ++i) {
            ASSERT_EQ(std::bit_cast<uint32_t>(planned[rank][i]), std::bit_cast<uint32_t>(exchanged[rank][i]))
                << algorithm << " over " << ranks << " element " << i << " of " << count;
          }
        }
      }
    }
  }
}

/// Runs an operation in place: each rank's output is its input, or its own block of that.
void run_in_place(Exchanges& exchanges, const ir::Shape& shape, size_t count) {
  std::vector<std::vector<int32_t>> data;
  std::vector<Work> works(static_cast<size_t>(shape.ranks));
  for (Rank rank = 0; rank < shape.ranks; ++rank) {
    data.push_back(inputs<int32_t>(shape, rank, count));
    Work& work = works[static_cast<size_t>(rank)];
    work.input = work.output = reinterpret_cast<std::byte*>(data.back().data());
    if (shape.kind == Collective::reduce_scatter)
      work.output += static_cast<size_t>(rank) * count * sizeof(int32_t);
    work.count = count;
    work.type = DataType::int32;
  }
  ASSERT_TRUE(exchanges.run(shape.kind, works).ok());
  for (Rank rank = 0; rank < shape.ranks; ++rank) {
    const auto* const got = reinterpret_cast<const int32_t*>(works[static_cast<size_t>(rank)].output);
    const std::vector<int32_t> want = outputs<int32_t>(shape, rank, count);
    EXPECT_EQ(std::vector<int32_t>(got, got + want.size()), want) << "rank " << rank << " of " << shape.ranks;
  }
}

TEST(ShmCollectives, WorksInPlace) {
  for (const int ranks : {2, 4}) {
    for (const Collective kind : {Collective::all_reduce, Collective::reduce_scatter}) {
      for (const Rank unreadable : {-1, 0, 1}) {  // from the second operation on
        Exchanges exchanges(ranks, kRendezvous);
        for (const size_t count : {3u, 5000u, 20'000u}) {
          run_in_place(exchanges, {kind, ranks, 0, 1}, count);
          if (unreadable >= 0) exchanges.area(unreadable).process().token ^= 1;
        }
      }
    }
  }
}

TEST(ShmCollectives, TellsRanksThatCallDifferentThings) {
  for (const size_t count : {2u, 5000u}) {
    Exchanges exchanges(3);
    std::vector<int32_t> data(count * 3);
    std::vector<Work> works(3);
    for (Rank rank = 0; rank < 3; ++rank) {
      works[rank].input = works[rank].output =
          reinterpret_cast<std::byte*>(data.data() + count * static_cast<size_t>(rank));
      works[rank].count = count;
      works[rank].type = DataType::int32;
      works[rank].tag = uint64_t{1} << 32 | (rank == 2 ? 99u : 7u);
    }
    EXPECT_THAT(exchanges.run(Collective::all_reduce, works).message(),
                HasSubstr("called different collectives"));
  }
}

}  // namespace
}  // namespace weir::exec
