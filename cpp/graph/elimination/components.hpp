// All components of a batch of graphs, with their programs.  They depend on the scopes of the
// factors and on how many labels of each variable are left: made once, and used for all scores of
// which that is true.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "graph/elimination/component.hpp"

namespace crfkit {

class Components {
 public:
  Components(const Factors& f, const Reduction& left, double budget, int threads);

  std::vector<Component> component;
  std::vector<Member> known;  // factors whose variables have one label each

 private:
  void find(const Factors& f, const Reduction& left);

  // Components that are far too wide need no leaves.
  void refuse_wide(const Factors& f, const Reduction& left, double budget, int threads);

  void make_leaves(const Factors& f, const Reduction& left);

  // A factor goes into a leaf that has all its variables; larger factors come first.
  static void merge(Component& c, std::vector<std::pair<std::vector<std::int32_t>, Member>>& found,
                    std::vector<std::vector<std::int32_t>>& scope,
                    const std::vector<std::int32_t>& width);

  void find_programs(double budget, int threads);

  void find_program(std::size_t c, double budget, int threads);

  std::vector<std::int32_t> of_, local_;                       // [V] component, number within it
  std::vector<std::uint8_t> refused_;                          // components that are far too wide
  std::vector<std::vector<std::vector<std::int32_t>>> scope_;  // of the leaves of each component
  std::vector<std::vector<std::int32_t>> shape_;               // labels of its variables
};

}  // namespace crfkit
