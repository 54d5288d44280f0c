// Pairs of few labels: tables and rows as wide as a small vector, and sweeps over the visits.
#pragma once

#include "graph/messages/rows.hpp"
#include "graph/messages/small_pair_plan.hpp"
#include "graph/scratches.hpp"

namespace crfkit {

class SmallPairRun {
 public:
  SmallPairRun(const PathKernels& kernels, const Factors& f, const Places& places,
               const SmallPairPlan& plan, const MessageTables& tables, MessageRule rule,
               bool watched, const MessageRows& rows)
      : kernels_(kernels),
        places_(places),
        plan_(plan),
        rule_(rule),
        watched_(watched),
        none_(rule == MessageRule::sums ? 0.0 : kForbidden),
        table_(plan.rows(), -1),
        row_(plan.rows() * plan.lanes + kPad, none_),
        change_(places.variables()),
        scratches_(plan.most * plan.lanes) {
    write_tables(f, tables);
    each_row(rows, [](double* few, double* row, std::int64_t n) { std::copy_n(row, n, few); });
  }

  // Messages as they are now, for what is asked of them.
  void write(const MessageRows& rows) {
    each_row(rows, [](double* few, double* row, std::int64_t n) { std::copy_n(few, n, row); });
  }

  std::vector<float>& change() { return change_; }

  // `moved` [rows], or null.
  SmallPairMessages view(const Messages& m, float* moved) {
    return {plan_.labels,    rule_,         watched_,     plan_.visit.data(),
            plan_.to.data(), table_.data(), cell_.data(), start(),
            change_.data(),  moved,         m.damping,    m.active};
  }

  void sweep(const Messages& m, int threads) {
    std::fill(change_.begin(), change_.end(), 0.0f);
    const SmallPairMessages few = view(m, nullptr);
    for (std::size_t pass = 0; pass + 1 < plan_.pass_ptr.size(); ++pass) {
      const std::int64_t* block = plan_.block_ptr.data() + plan_.pass_ptr[pass];
      const std::int64_t blocks = plan_.pass_ptr[pass + 1] - plan_.pass_ptr[pass];
      const bool short_one = block[blocks] - block[0] < (1 << 13);
      parallel_for(blocks, short_one ? 1 : threads, [&](std::int64_t b) {
        scratches_.with([&](double* scratch) {
          kernels_.visit_small_pairs(few, block[b], block[b + 1], scratch);
        });
      });
    }
  }

 private:
  // Rows do not lie across two lines of the cache.
  double* start() {
    const std::uintptr_t line = kPad * sizeof(double);
    const std::uintptr_t over = reinterpret_cast<std::uintptr_t>(row_.data()) % line;
    return row_.data() + (over ? (line - over) / sizeof(double) : 0);
  }

  template <class Use>
  void each_row(const MessageRows& rows, Use use) {
    for (std::int64_t v = 0; v < places_.variables(); ++v) {
      if (plan_.own[v] < 0) continue;
      const std::int64_t n = places_.width[v];
      double* row = rows.of(v);
      use(start() + static_cast<std::int64_t>(plan_.own[v]) * plan_.lanes, row, n);
      for (std::int64_t p = places_.place_ptr[v]; p < places_.place_ptr[v + 1]; ++p) {
        row += row_stride(n);
        use(start() + static_cast<std::int64_t>(plan_.row[p]) * plan_.lanes, row, n);
      }
    }
  }

  // Tables towards each of their axes, in the order in which messages go through them.
  void write_tables(const Factors& f, const MessageTables& tables) {
    std::vector<std::int64_t> base(f.groups + 1, 0);
    for (std::int64_t g = 0; g < f.groups; ++g)
      base[g + 1] = base[g] + (f.group[g].scale ? f.group[g].count : f.group[g].tables);
    std::vector<std::int32_t> made(2 * base.back(), -1);
    std::int32_t count = 0;
    for (const SmallPairVisit& visit : plan_.visit) {
      for (std::int32_t r = visit.begin; r < visit.end; ++r) {
        const MessagePlace& from = places_.places_packed[plan_.place[r]];
        const std::int64_t i = from.factor, m = places_.which[i];
        const FactorGroup& group = f.group[places_.group[i]];
        const std::int64_t k = base[places_.group[i]] + (group.scale ? m : group.table_of(m));
        std::int32_t& number = made[2 * k + from.axis];
        if (number < 0) {
          number = count++;
          add_table(tables.factor[i].cell, group.shape, from.axis == 0,
                    tables.scale.empty() ? 1.0 : tables.scale[i]);
        }
        table_[r] = number;
      }
    }
  }
  void add_table(const double* cell, const std::int32_t* shape, bool first, double scale) {
    const std::size_t begin = cell_.size();
    cell_.resize(begin + plan_.labels * plan_.lanes, none_);
    for (std::int32_t i = 0; i < shape[0]; ++i)
      for (std::int32_t k = 0; k < shape[1]; ++k)
        cell_[begin + (first ? i * plan_.lanes + k : k * plan_.lanes + i)] =
            scale * cell[i * shape[1] + k];
  }

  const PathKernels& kernels_;
  const Places& places_;
  const SmallPairPlan& plan_;
  MessageRule rule_;
  bool watched_;
  double none_;
  std::vector<std::int32_t> table_;
  std::vector<double> cell_, row_;
  std::vector<float> change_;
  Scratches scratches_;
};

}  // namespace crfkit
