// From joins to a program: what is summed where, and how the tables lie.
//
// Inner loops are long where the fastest variables of a table are those that are touched last: a
// step runs through the variables of its larger table that the smaller one does not have.  Tables
// keep their fastest variables from step to step; one is turned only where too few are left.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "graph/elimination/joins.hpp"
#include "graph/elimination/program.hpp"

namespace crfkit {

class Planner {
 public:
  // The cells are counted; nothing of that size is made.
  Planner(std::vector<std::int32_t> width, const Scopes& leaves, const Joins& joins);

  double cells() const { return made_.cells; }  // of all tables that are kept

  Program take();

 private:
  static constexpr std::int64_t kRun = 16;    // cells side by side that are enough
  static constexpr double kNear = 1 << 14;    // cells of tables that may be jumped through
  static constexpr std::int64_t kTurn = 256;  // cells of tables that are worth turning

  std::int32_t enlist(std::vector<std::int32_t> axis);

  std::int32_t add(std::int32_t a, std::int32_t b, const std::vector<std::int32_t>& kept);

  // The passes of sums.hpp, where tables are only counted.
  void count_memory();

  // ---- how tables lie

  // After how many steps, from the one that uses a table on, each of its variables is touched.
  std::vector<std::pair<int, std::int32_t>> touches(std::int32_t t,
                                                    const std::vector<std::int32_t>& axis) const;

  std::vector<std::int32_t> by_touch(std::int32_t t, const std::vector<std::int32_t>& axis) const;

  void turn(std::int32_t& t, std::vector<std::int32_t> axis, std::vector<Step>& steps);

  void arrange();

  void lay_out(Step& step, std::vector<Step>& after);

  // The fastest variables of a, of those that are wanted; where b has them too, b's as well.
  std::vector<std::int32_t> common_run(const Step& step, const std::vector<std::int32_t>& wanted,
                                       bool same) const;

  static std::vector<std::int32_t> ending_in(const std::vector<std::int32_t>& axis,
                                             const std::vector<std::int32_t>& run);

  Program made_;
};

}  // namespace crfkit
