// Factors of two variables and more as visits see them: scopes by the order of visits, tables of
// pairs in both directions, Potts tables found, and room for what variables give to factors.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "graph/visits/order.hpp"
#include "shared/visits.hpp"

namespace crfkit {

class VisitTables {
 public:
  std::vector<VisitGroup> group;
  std::vector<double> given;

  VisitTables(const Factors& f, const VisitOrder& order, int lanes, bool both);
  VisitTables(const VisitTables&) = delete;
  VisitTables& operator=(const VisitTables&) = delete;

  std::int64_t padded_row(std::int64_t n) const { return (n + lanes_ - 1) / lanes_ * lanes_; }

  const double* row(const VisitEntry& e) const {
    return given.data() + e.given + group[e.group].row[e.axis];
  }

  // Where the rows of a factor begin.
  std::int64_t begin(std::int64_t g, std::int64_t m) const { return kept_[g].given[m]; }

  std::vector<double> unpadded(std::int64_t which) const;

 private:
  static constexpr std::int64_t kLeastRamp = 64;  // labels; below, lines in vectors are faster

  struct Kept {
    std::vector<std::int32_t> scope, which;
    std::vector<double> scale;
    std::vector<std::int64_t> number;  // [M] what a factor of the problem became
    std::vector<std::int64_t> given, row, lines_at;
    std::int64_t size = 0;  // of all rows of a factor
    std::vector<double> lines, equal, unequal, ramp;
  };

  // Factors in the order in which they are first visited.
  static void sort(VisitGroup& made, Kept& kept, const VisitOrder& order);

  // A pair visited by TRW-S needs one row: when the second variable is visited, what the first has
  // given is read for the last time.
  void place_rows(VisitGroup& made, Kept& kept, bool both) const;

  void pack(VisitGroup& made, Kept& kept) const;

  static const double* table_of(const VisitGroup& made, const Kept& kept, std::int64_t k) {
    return made.factors.table + (made.each ? kept.which[k] : k) * made.factors.cells;
  }

  void find_potts(VisitGroup& made, Kept& kept) const;

  void find_ramps(VisitGroup& made, Kept& kept) const;

  // Rows lie in the order in which factors are first visited.
  void lay_out(std::int64_t variables);

  int lanes_;
  std::vector<std::int64_t> number_of_;  // [groups of the problem] ours, -1: single variables
  std::deque<Kept> kept_;
};

}  // namespace crfkit
