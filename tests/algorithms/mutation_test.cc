// SPDX-License-Identifier: Apache-2.0
/// Random damage to right plans: what verify() still accepts must still compute the right numbers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "algorithms/catalogue/catalogue.h"
#include "algorithms/ir/symbolic.h"
#include "algorithms/ir/text.h"
#include "algorithms/ir/verify.h"
#include "tests/algorithms/evaluator.h"
#include "tests/algorithms/some_layout.h"

namespace weir::algorithms {
namespace {

using ir::Operand;
using ir::Plan;

/// A number that no sum of a few others is likely to hit.
uint64_t number(Rank rank, uint32_t chunk) {
  std::seed_seq seed{static_cast<uint32_t>(rank), chunk};
  uint32_t words[2];
  seed.generate(words, words + 2);
  return uint64_t{words[0]} << 32 | words[1];
}

bool computes_right(const Plan& plan) {
  for (bool in_place : {false, true}) {
    if (in_place && !ir::has_in_place(plan.shape.kind)) continue;
    const auto outputs = Evaluator<uint64_t>(plan, in_place).run(number);
    for (Rank rank = 0; rank < plan.shape.ranks; ++rank) {
      const auto& output = outputs[static_cast<size_t>(rank)];
      for (uint32_t c = 0; c < output.size(); ++c) {
        if (output[c] != defined_output<uint64_t>(plan.shape, rank, c, number)) return false;
      }
    }
  }
  return true;
}

enum class Damage { drop, twice, chunk, rank, kind, order, length };
constexpr int kDamages = 7;

class Vandal {
 public:
  Vandal(Plan plan, std::mt19937& random) : plan_(std::move(plan)), random_(random) {}

  Plan damage(Damage damage) {
    const size_t at = below(plan_.moves.size());
    switch (damage) {
      case Damage::drop:
        plan_.moves.erase(plan_.moves.begin() + static_cast<std::ptrdiff_t>(at));
        renumber([&](uint32_t move) { return move > at ? move - 1 : move; });
        break;
      case Damage::twice:
        plan_.moves.insert(plan_.moves.begin() + static_cast<std::ptrdiff_t>(at), plan_.moves[at]);
        renumber([&](uint32_t move) { return move >= at ? move + 1 : move; });
        break;
      case Damage::chunk: operand(at).index += below(2) == 0 ? 1u : ~0u; break;
      case Damage::rank: (below(2) == 0 ? plan_.moves[at].src : plan_.moves[at].dst) = any_rank(); break;
      case Damage::kind: operand(at).kind = static_cast<Operand::Kind>(below(5)); break;
      case Damage::order: {
        const size_t other = below(plan_.moves.size());
        std::swap(plan_.moves[at], plan_.moves[other]);
        renumber([&](uint32_t move) {
          return move == at ? static_cast<uint32_t>(other) : move == other ? static_cast<uint32_t>(at) : move;
        });
        break;
      }
      case Damage::length: plan_.moves[at].chunks += below(2) == 0 ? 1u : ~0u; break;
    }
    return plan_;
  }

 private:
  size_t below(size_t n) { return random_() % n; }
  Rank any_rank() { return static_cast<Rank>(below(static_cast<size_t>(plan_.shape.ranks))); }
  Operand& operand(size_t at) {
    ir::Move& move = plan_.moves[at];
    Operand* operands[] = {&move.from, &move.with, &move.to};
    return *operands[below(3)];
  }
  template <typename Number>
  void renumber(Number&& number) {
    for (ir::Move& move : plan_.moves) {
      if (move.from.kind == Operand::Kind::value) move.from.index = number(move.from.index);
      if (move.with.kind == Operand::Kind::value) move.with.index = number(move.with.index);
    }
  }

  Plan plan_;
  std::mt19937& random_;
};

class Mutations : public ::testing::TestWithParam<Entry> {};

TEST_P(Mutations, WhatVerifyAcceptsIsRight) {
  const Entry& entry = GetParam();
  std::mt19937 random(7);
  int refused[kDamages] = {};
  for (int ranks : {2, 3, 4, 7}) {
    for (uint32_t multiple : {1u, 2u}) {
      const Layout layout = some_layout(ranks);
      const ir::Shape shape{entry.kind, ranks, has_root(entry.kind) ? ranks / 2 : 0,
                            multiple * default_chunks(entry, ranks, layout)};
      auto plan = emit(entry.algorithm, shape, layout);
      ASSERT_TRUE(plan.ok()) << plan.status().message();
      ASSERT_TRUE(computes_right(*plan));
      for (int i = 0; i < 700; ++i) {
        const auto damage = static_cast<Damage>(i % kDamages);
        const Plan bad = Vandal(*plan, random).damage(damage);
        const Status status = verify(bad);
        refused[i % kDamages] += status.ok() ? 0 : 1;
        if (!status.ok()) continue;
        ASSERT_NE(damage, Damage::drop) << write_text(bad);
        ASSERT_TRUE(computes_right(bad)) << write_text(bad);
      }
    }
  }
  for (int damage : {0, 2, 3, 4, 6}) EXPECT_GT(refused[damage], 30) << damage;
}

INSTANTIATE_TEST_SUITE_P(Catalogue, Mutations, ::testing::ValuesIn(catalogue().begin(), catalogue().end()),
                         [](const auto& info) {
                           return fmt::format("{}_{}", info.param.algorithm, name(info.param.kind));
                         });

}  // namespace
}  // namespace weir::algorithms
