// SPDX-License-Identifier: Apache-2.0
// The calls of libweir_mpi.so that do something, with right results and errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <complex>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

#include "tests/mpi/job.h"

namespace weir::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const MPIABI_Comm kWorld = MPIABI_COMM_WORLD;

/// Element i of a rank: small, so that products are exact, and not 0.
template <typename T>
T element(int rank, int i) {
  return static_cast<T>(1 + (rank + i) % 3);
}

template <>
std::complex<float> element(int rank, int i) {
  return {static_cast<float>(1 + (rank + i) % 3), static_cast<float>(i % 2)};
}

template <>
std::complex<double> element(int rank, int i) {
  return {1.0 + (rank + i) % 3, static_cast<double>(i % 2)};
}

template <typename T>
std::vector<T> elements(int rank, int count) {
  std::vector<T> all;
  for (int i = 0; i < count; ++i) all.push_back(element<T>(rank, i));
  return all;
}

template <typename T, typename Combine>
std::vector<T> reduced(int ranks, int count, const Combine& combine) {
  std::vector<T> all = elements<T>(0, count);
  for (int rank = 1; rank < ranks; ++rank)
    for (int i = 0; i < count; ++i)
      all[static_cast<size_t>(i)] = combine(all[static_cast<size_t>(i)], element<T>(rank, i));
  return all;
}

template <typename T, typename Combine>
void check_reductions(const Rank& rank, MPIABI_Datatype type, MPIABI_Op op, const Combine& combine,
                      int share) {
  const int count = share * rank.ranks();
  const std::vector<T> input = elements<T>(rank.rank(), count);
  const std::vector<T> expected = reduced<T>(rank.ranks(), count, combine);
  std::vector<T> output(input.size());
  expect_done(MPIABI_Allreduce(input.data(), output.data(), count, type, op, kWorld), "MPI_Allreduce");
  EXPECT_EQ(output, expected);
  output = input;
  expect_done(MPIABI_Allreduce(MPIABI_IN_PLACE, output.data(), count, type, op, kWorld), "in place");
  EXPECT_EQ(output, expected);

  const auto begin = expected.begin() + rank.rank() * share;
  const std::vector<T> part(begin, begin + share);
  std::vector<T> own(part.size());
  const std::vector<int> counts(static_cast<size_t>(rank.ranks()), share);
  expect_done(MPIABI_Reduce_scatter(input.data(), own.data(), counts.data(), type, op, kWorld),
              "MPI_Reduce_scatter");
  EXPECT_EQ(own, part);
  own.assign(part.size(), T());
  expect_done(MPIABI_Reduce_scatter_block(input.data(), own.data(), share, type, op, kWorld),
              "MPI_Reduce_scatter_block");
  EXPECT_EQ(own, part);
}

template <typename T>
void check_sums_and_products(const Rank& rank, MPIABI_Datatype type) {
  for (const int share : {1, 5, 9000}) {
    check_reductions<T>(
        rank, type, MPIABI_SUM, [](T a, T b) { return static_cast<T>(a + b); }, share);
    check_reductions<T>(
        rank, type, MPIABI_PROD, [](T a, T b) { return static_cast<T>(a * b); }, share);
  }
}

template <typename T>
void check_type(const Rank& rank, MPIABI_Datatype type) {
  check_sums_and_products<T>(rank, type);
  check_reductions<T>(
      rank, type, MPIABI_MIN, [](T a, T b) { return std::min(a, b); }, 7);
  check_reductions<T>(
      rank, type, MPIABI_MAX, [](T a, T b) { return std::max(a, b); }, 7);
}

class Calls : public ::testing::TestWithParam<int> {};

TEST_P(Calls, ReductionsOfIntegersAreRight) {
  EXPECT_TRUE(all_well(run_job(GetParam(), [](const Rank& rank) {
    check_type<int8_t>(rank, MPIABI_INT8_T);
    check_type<int16_t>(rank, MPIABI_INT16_T);
    check_type<int32_t>(rank, MPIABI_INT32_T);
    check_type<int64_t>(rank, MPIABI_INT64_T);
    check_type<uint8_t>(rank, MPIABI_UINT8_T);
    check_type<uint16_t>(rank, MPIABI_UINT16_T);
    check_type<uint32_t>(rank, MPIABI_UINT32_T);
    check_type<uint64_t>(rank, MPIABI_UINT64_T);
  })));
}

TEST_P(Calls, ReductionsOfRealAndComplexNumbersAreRight) {
  EXPECT_TRUE(all_well(run_job(GetParam(), [](const Rank& rank) {
    check_type<float>(rank, MPIABI_FLOAT);
    check_type<double>(rank, MPIABI_DOUBLE);
    check_sums_and_products<std::complex<float>>(rank, MPIABI_C_COMPLEX);
    check_sums_and_products<std::complex<double>>(rank, MPIABI_C_DOUBLE_COMPLEX);
  })));
}

TEST_P(Calls, SumsOfSmallIntegersWrapAround) {
  EXPECT_TRUE(all_well(run_job(GetParam(), [](const Rank& rank) {
    const int16_t input = 32767;
    int16_t output = 0;
    expect_done(MPIABI_Allreduce(&input, &output, 1, MPIABI_INT16_T, MPIABI_SUM, kWorld), "MPI_Allreduce");
    EXPECT_EQ(output, static_cast<int16_t>(32767 * rank.ranks()));
  })));
}

TEST_P(Calls, GathersAndBarriers) {
  EXPECT_TRUE(all_well(run_job(GetParam(), [](const Rank& rank) {
    const auto ranks = static_cast<size_t>(rank.ranks());
    for (const int count : {0, 1, 1000}) {
      const std::vector<int32_t> own(static_cast<size_t>(count), rank.rank());
      std::vector<int32_t> all(own.size() * ranks, -1), expected;
      for (int other = 0; other < rank.ranks(); ++other) expected.insert(expected.end(), own.size(), other);
      expect_done(
          MPIABI_Allgather(own.data(), count, MPIABI_INT32_T, all.data(), count, MPIABI_INT32_T, kWorld),
          "MPI_Allgather");
      EXPECT_EQ(all, expected);
      std::vector<int32_t> placed(all.size(), -1);
      std::copy(own.begin(), own.end(), placed.begin() + rank.rank() * count);
      expect_done(MPIABI_Allgather(MPIABI_IN_PLACE, 0, 0, placed.data(), count, MPIABI_INT32_T, kWorld),
                  "in place");
      EXPECT_EQ(placed, expected);
      expect_done(MPIABI_Barrier(kWorld), "MPI_Barrier");
    }
  })));
}

/// As jaxlib's permutations: one receive, several sends, and a wait for each.
TEST_P(Calls, MessagesOfARingAndToAll) {
  EXPECT_TRUE(all_well(run_job(GetParam(), [](const Rank& rank) {
    const int n = rank.ranks(), next = (rank.rank() + 1) % n, last = (rank.rank() + n - 1) % n;
    if (n == 1) return;
    for (const int count : {1, 100000}) {
      const std::vector<int32_t> own(static_cast<size_t>(count), rank.rank());
      std::vector<int32_t> got(own.size(), -1);
      MPIABI_Request requests[2];
      expect_done(MPIABI_Irecv(got.data(), count, MPIABI_INT32_T, last, 0, kWorld, &requests[0]),
                  "MPI_Irecv");
      expect_done(MPIABI_Isend(own.data(), count, MPIABI_INT32_T, next, 0, kWorld, &requests[1]),
                  "MPI_Isend");
      for (MPIABI_Request& request : requests) expect_done(MPIABI_Wait(&request, nullptr), "MPI_Wait");
      EXPECT_EQ(requests[0], MPIABI_REQUEST_NULL);
      expect_done(MPIABI_Wait(&requests[0], nullptr), "of nothing");
      EXPECT_EQ(got, std::vector<int32_t>(own.size(), last));
      for (int step = 1; step < n; ++step) {
        const int to = (rank.rank() + step) % n, from = (rank.rank() + n - step) % n;
        expect_done(MPIABI_Sendrecv(own.data(), count, MPIABI_INT32_T, to, 0, got.data(), count,
                                    MPIABI_INT32_T, from, 0, kWorld, nullptr),
                    "MPI_Sendrecv");
        EXPECT_EQ(got, std::vector<int32_t>(own.size(), from));
      }
    }
  })));
}

INSTANTIATE_TEST_SUITE_P(Ranks, Calls, ::testing::Values(1, 2, 4));

TEST(Communicators, SplitByColorAndKey) {
  EXPECT_TRUE(all_well(run_job(4, [](const Rank& rank) {
    MPIABI_Comm half = MPIABI_COMM_NULL, none = kWorld;
    expect_done(MPIABI_Comm_split(kWorld, rank.rank() % 2, -rank.rank(), &half), "MPI_Comm_split");
    int place = -1, size = -1;
    expect_done(MPIABI_Comm_rank(half, &place), "MPI_Comm_rank");
    expect_done(MPIABI_Comm_size(half, &size), "MPI_Comm_size");
    EXPECT_EQ(place, rank.rank() < 2 ? 1 : 0);
    EXPECT_EQ(size, 2);
    const double own = rank.rank();
    double sum = -1;
    expect_done(MPIABI_Allreduce(&own, &sum, 1, MPIABI_DOUBLE, MPIABI_SUM, half), "MPI_Allreduce");
    EXPECT_EQ(sum, rank.rank() % 2 == 0 ? 2 : 4);
    expect_done(MPIABI_Comm_split(kWorld, MPIABI_UNDEFINED, 0, &none), "MPI_Comm_split");
    EXPECT_EQ(none, MPIABI_COMM_NULL);
    const MPIABI_Comm old = half;
    expect_done(MPIABI_Comm_free(&half), "MPI_Comm_free");
    EXPECT_EQ(half, MPIABI_COMM_NULL);
    half = old;
    EXPECT_EQ(MPIABI_Comm_rank(half, &place), MPIABI_ERR_COMM);
    EXPECT_EQ(MPIABI_Comm_free(&half), MPIABI_ERR_COMM);
    expect_done(MPIABI_Finalize(), "MPI_Finalize");
    half = old;
    expect_done(MPIABI_Comm_free(&half), "as jaxlib does");
  })));
}

TEST(Communicators, SeveralThreadsMayUseThem) {
  EXPECT_TRUE(all_well(run_job(2, [](const Rank&) {
    std::vector<std::thread> threads;
    std::vector<MPIABI_Comm> own(3);
    for (MPIABI_Comm& comm : own) expect_done(MPIABI_Comm_split(kWorld, 0, 0, &comm), "MPI_Comm_split");
    for (const MPIABI_Comm comm : own) {
      for (int copy = 0; copy < 2; ++copy) {  // two threads in each: what they sum is the same
        threads.emplace_back([comm] {
          for (int i = 0; i < 200; ++i) {
            const float one = 1;
            float sum = 0;
            expect_done(MPIABI_Allreduce(&one, &sum, 1, MPIABI_FLOAT, MPIABI_SUM, comm), "MPI_Allreduce");
            EXPECT_EQ(sum, 2);
          }
        });
      }
    }
    for (std::thread& thread : threads) thread.join();
  })));
}

/// jaxlib asks MPI_Is_thread_main before it splits.
int split_as_jax(int color, int key, MPIABI_Comm* out) {
  int flag = 0;
  expect_done(MPIABI_Is_thread_main(&flag), "MPI_Is_thread_main");
  EXPECT_EQ(flag, 1);
  return MPIABI_Comm_split(kWorld, color, key, out);
}

TEST(Communicators, OtherProgramsOfJaxAreNoticed) {
  EXPECT_TRUE(all_well(run_job(3, [](const Rank& rank) {
    MPIABI_Comm comm = MPIABI_COMM_NULL;
    expect_done(split_as_jax(0, rank.rank(), &comm), "all");
    // Rank 2 wants to be the third of three; the other two want to be alone.
    const int code = split_as_jax(rank.rank() == 1 ? 2048 : 0, rank.rank() == 2 ? 2 : 0, &comm);
    EXPECT_THAT(error_string(code),
                HasSubstr("the processes do not run the same program: one wants to be number 2 of those that "
                          "communicate with device 0 as the first one, but none number 1"));
    float one = 1;
    const int later = MPIABI_Allreduce(&one, &one, 1, MPIABI_FLOAT, MPIABI_SUM, comm);
    EXPECT_EQ(later, code);
    EXPECT_THAT(error_string(later), HasSubstr("do not run the same program"));
  })));
}

/// Processes 0 and 1 begin a program for the two of them, 2 and 3 begin one for all: the keys fit.
TEST(Communicators, ProgramsForOtherDevicesAreNoticed) {
  EXPECT_TRUE(all_well(run_job(4, [](const Rank& rank) {
    MPIABI_Comm comm = MPIABI_COMM_NULL;
    MPIABI_Pcontrol(rank.rank() < 2 ? 11 : 22);
    const int code = split_as_jax(0, rank.rank(), &comm);
    EXPECT_THAT(error_string(code),
                HasSubstr("numbers 1 and 2 of those that communicate with device 0 as the "
                          "first one run programs for different devices"));
    EXPECT_EQ(MPIABI_Barrier(comm), code);
    expect_done(split_as_jax(rank.rank() < 2 ? 0 : 4096, rank.rank() % 2, &comm), "each for itself");
    MPIABI_Pcontrol(0);
    expect_done(split_as_jax(0, rank.rank(), &comm), "all");
  })));
}

TEST(Communicators, AThreadMayOnlySplitForJaxIfThereIsOneDevice) {
  EXPECT_TRUE(all_well(run_ranks(1, [](const Rank&) {
    expect_done(MPIABI_Init(nullptr, nullptr), "MPI_Init");  // without WEIR_MPI_JOB
    int here = -1, there = -1;
    MPIABI_Is_thread_main(&here);
    std::thread([&] { MPIABI_Is_thread_main(&there); }).join();
    EXPECT_EQ(here, 1);
    EXPECT_EQ(there, 0);
  })));
  EXPECT_TRUE(all_well(run_job(1, [](const Rank&) {
    int there = -1;
    std::thread([&] { MPIABI_Is_thread_main(&there); }).join();
    EXPECT_EQ(there, 1);
  })));
}

TEST(CallErrors, ArgumentsThatAreNotSupportedAreNamed) {
  EXPECT_TRUE(all_well(run_job(2, [](const Rank& rank) {
    float data[4] = {}, out[4];
    const int other = 1 - rank.rank();
    const auto expect_error = [](int code, int expected, const char* words) {
      EXPECT_EQ(code, expected) << words;
      EXPECT_THAT(error_string(code), AllOf(StartsWith("weir: "), HasSubstr(words)));
    };
    const auto sum = [&](int count, MPIABI_Datatype type, MPIABI_Op op, MPIABI_Comm comm) {
      return MPIABI_Allreduce(data, out, count, type, op, comm);
    };
    expect_error(sum(-1, MPIABI_FLOAT, MPIABI_SUM, kWorld), MPIABI_ERR_COUNT, "is -1; expected 0 or more");
    expect_error(sum(1, MPIABI_BYTE, MPIABI_SUM, kWorld), MPIABI_ERR_TYPE, "expected an integer of 8 to 64");
    expect_error(sum(1, 0, MPIABI_SUM, kWorld), MPIABI_ERR_TYPE, "data type is not supported");
    expect_error(sum(1, MPIABI_FLOAT, 0, kWorld), MPIABI_ERR_OP, "expected MPI_SUM, MPI_PROD");
    expect_error(sum(1, MPIABI_C_COMPLEX, MPIABI_MAX, kWorld), MPIABI_ERR_OP, "have no order");
    expect_error(sum(1, MPIABI_FLOAT, MPIABI_SUM, 77), MPIABI_ERR_COMM, "expected MPI_COMM_WORLD or one");
    expect_error(MPIABI_Allgather(data, 1, MPIABI_FLOAT, out, 2, MPIABI_FLOAT, kWorld), MPIABI_ERR_ARG,
                 "the same");
    const int counts[] = {1, 2};
    expect_error(MPIABI_Reduce_scatter(data, out, counts, MPIABI_FLOAT, MPIABI_SUM, kWorld), MPIABI_ERR_COUNT,
                 "are 1 and 2; expected equal ones");
    expect_error(MPIABI_Reduce_scatter_block(MPIABI_IN_PLACE, out, 1, MPIABI_FLOAT, MPIABI_SUM, kWorld),
                 MPIABI_ERR_BUFFER, "MPI_IN_PLACE is not supported");
    MPIABI_Request request = 5;
    const auto send = [&](int count, MPIABI_Datatype type, int to, int tag) {
      return MPIABI_Isend(data, count, type, to, tag, kWorld, &request);
    };
    expect_error(send(1, MPIABI_FLOAT, other, 3), MPIABI_ERR_TAG, "is 3; expected 0");
    expect_error(send(1, MPIABI_FLOAT, 2, 0), MPIABI_ERR_RANK, "is 2; expected 0 to 1");
    expect_error(send(-4, MPIABI_FLOAT, other, 0), MPIABI_ERR_COUNT, "is -4");
    expect_error(send(1, 0, other, 0), MPIABI_ERR_TYPE, "expected numbers or bytes");
    expect_error(MPIABI_Irecv(out, 1, MPIABI_FLOAT, MPIABI_ANY_SOURCE, 0, kWorld, &request), MPIABI_ERR_RANK,
                 "MPI_ANY_SOURCE is not supported");
    EXPECT_EQ(request, MPIABI_REQUEST_NULL);
    request = 12345;
    expect_error(MPIABI_Wait(&request, nullptr), MPIABI_ERR_REQUEST, "is none of MPI_Isend or MPI_Irecv");
    MPIABI_Comm comm = MPIABI_COMM_NULL;
    expect_error(MPIABI_Comm_split(kWorld, -5, 0, &comm), MPIABI_ERR_ARG, "is -5; expected 0 or more");
    EXPECT_NE(comm, MPIABI_COMM_NULL);
    expect_error(sum(1, MPIABI_FLOAT, MPIABI_SUM, comm), MPIABI_ERR_ARG, "is -5; expected 0 or more");
    // None of these has harmed the communicator.
    data[0] = 1;
    expect_done(sum(1, MPIABI_FLOAT, MPIABI_SUM, kWorld), "MPI_Allreduce");
    EXPECT_EQ(out[0], 2);
  })));
}

/// A message whose buffer may be gone is not exchanged later.
TEST(CallErrors, DropMessagesThatWerePosted) {
  EXPECT_TRUE(all_well(run_job(2, [](const Rank& rank) {
    const int other = 1 - rank.rank();
    int32_t got = -1, own = rank.rank();
    MPIABI_Request first = 0, second = 0;
    expect_done(MPIABI_Irecv(&got, 1, MPIABI_INT32_T, other, 0, kWorld, &first), "MPI_Irecv");
    EXPECT_EQ(MPIABI_Isend(&own, 1, MPIABI_INT32_T, other, 9, kWorld, &second), MPIABI_ERR_TAG);
    const int code = MPIABI_Wait(&first, nullptr);
    EXPECT_EQ(code, MPIABI_ERR_TAG);
    EXPECT_THAT(error_string(code), HasSubstr("is 9; expected 0"));
    expect_done(MPIABI_Sendrecv(&own, 1, MPIABI_INT32_T, other, 0, &got, 1, MPIABI_INT32_T, other, 0, kWorld,
                                nullptr),
                "MPI_Sendrecv");
    EXPECT_EQ(got, other);
  })));
}

TEST(CallErrors, AKilledRankIsNamed) {
  const std::vector<Ending> endings = run_job(3, [](const Rank& rank) {
    MPIABI_Comm comm = MPIABI_COMM_NULL;
    expect_done(MPIABI_Comm_split(kWorld, 0, rank.rank(), &comm), "MPI_Comm_split");
    float one = 1, sum = 0;
    if (rank.rank() == 1) kill(getpid(), SIGKILL);
    const int code = MPIABI_Allreduce(&one, &sum, 1, MPIABI_FLOAT, MPIABI_SUM, comm);
    EXPECT_EQ(code, MPIABI_ERR_OTHER);
    EXPECT_THAT(error_string(code),
                AllOf(StartsWith("weir: "), HasSubstr("rank 1 (pid "), HasSubstr("is dead")));
    MPIABI_Request request = 0;
    EXPECT_EQ(MPIABI_Isend(&one, 1, MPIABI_FLOAT, 1, 0, comm, &request), MPIABI_SUCCESS);
    const int waited = MPIABI_Wait(&request, nullptr);
    EXPECT_THAT(error_string(waited), HasSubstr("rank 1 (pid "));
    MPIABI_Comm part = MPIABI_COMM_NULL;
    EXPECT_NE(MPIABI_Comm_split(kWorld, 0, 0, &part), MPIABI_SUCCESS);
    EXPECT_THAT(error_string(MPIABI_Barrier(part)),
                AllOf(HasSubstr("MPI_Comm_split waits for all 3 ranks"), HasSubstr("rank 1 (pid ")));
    expect_done(MPIABI_Finalize(), "MPI_Finalize");
  });
  EXPECT_EQ(endings[0].code, 0) << endings[0].output;
  EXPECT_EQ(endings[1].code, -SIGKILL);
  EXPECT_EQ(endings[2].code, 0) << endings[2].output;
}

/// A program on some processes only.
TEST(CallErrors, ARankThatDoesNotSplitIsNamed) {
  setenv("WEIR_STUCK_TIMEOUT", "5", 1);
  const std::vector<Ending> endings = run_job(3, [](const Rank& rank) {
    if (rank.rank() == 2) {  // alive, but elsewhere
      rank.wait_until_reached(0, 1);
      rank.wait_until_reached(1, 1);
      return;
    }
    MPIABI_Comm comm = MPIABI_COMM_NULL;
    const int code = MPIABI_Comm_split(kWorld, 0, rank.rank(), &comm);
    EXPECT_THAT(error_string(code), AllOf(HasSubstr("each process has to run every program with collectives"),
                                          HasSubstr("rank 2 (pid ")));
    rank.reach(1);
  });
  unsetenv("WEIR_STUCK_TIMEOUT");
  EXPECT_TRUE(all_well(endings));
}

TEST(CallErrors, CallsOutsideOfInitAndFinalize) {
  int rank = -1, flag = -1;
  EXPECT_EQ(MPIABI_Comm_rank(kWorld, &rank), MPIABI_ERR_COMM);
  EXPECT_EQ(error_string(MPIABI_ERR_COMM), "weir: a call of MPI before MPI_Init");
  EXPECT_EQ(MPIABI_Finalize(), MPIABI_ERR_OTHER);
  MPIABI_Initialized(&flag);
  EXPECT_EQ(flag, 0);
  EXPECT_TRUE(all_well(run_job(1, [](const Rank&) {
    int now = -1;
    MPIABI_Initialized(&now);
    EXPECT_EQ(now, 1);
    EXPECT_EQ(MPIABI_Init(nullptr, nullptr), MPIABI_ERR_OTHER);
    MPIABI_Finalized(&now);
    EXPECT_EQ(now, 0);
    expect_done(MPIABI_Finalize(), "MPI_Finalize");
    MPIABI_Finalized(&now);
    EXPECT_EQ(now, 1);
    EXPECT_EQ(MPIABI_Barrier(kWorld), MPIABI_ERR_COMM);
    EXPECT_EQ(error_string(MPIABI_ERR_COMM), "weir: a call of MPI after MPI_Finalize");
    EXPECT_EQ(error_string(MPIABI_ERR_TAG), "weir: a tag is invalid");
  })));
}

TEST(CallErrors, AbortEndsTheProcessWithItsCode) {
  const std::vector<Ending> endings = run_job(1, [](const Rank&) { MPIABI_Abort(kWorld, 7); });
  EXPECT_EQ(endings[0].code, 7);
  EXPECT_THAT(endings[0].output, HasSubstr("weir: the program has called MPI_Abort with code 7"));
}

}  // namespace
}  // namespace weir::testing
