// Components that are sequences of equal slices, swept in lanes; all other components are left out.
//
// Step groups join slices: each pairs a variable with the one that follows it.  What the other
// factors connect is a slice.  A component is covered if every variable of a slice has a follower,
// all followers make up the next slice, and the same groups join all slices.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/scratches.hpp"
#include "shared/slices.hpp"

namespace crfkit {

class Slices {
 public:
  // Depends on the scopes and shapes of factors, and on which groups have one table and no scale.
  // Components with more than `budget` numbers, or of which there are too few alike, are left out.
  Slices(const Factors& f, const std::vector<std::int32_t>& steps, double budget);

  const std::vector<bool>& covered() const { return covered_; }
  std::int64_t pooled_cells() const { return pooled_cells_; }
  const std::vector<std::int64_t>& pooled() const { return pooled_; }
  std::int64_t components() const;

  // Numbers that are kept for the largest component of each graph.
  std::vector<double> cells(const Factors& f) const;

  // Adds log Z of the components to their graphs.  Where `weight` [N] is given, the gradient of
  // sum weight log Z by the scores goes to `sums` [pooled cells] and, of groups that are not
  // pooled, to `row` [groups] -> [M, cells].  Returns which variables [V] are of components for
  // which that would not be exact; they get nothing.
  std::vector<bool> sum(const SliceKernels& kernels, const Factors& f, const double* weight,
                        int threads, double* value, double* sums, double* const* row) const;

 private:
  static constexpr double kMostCells = 1 << 20;       // of a lane
  static constexpr std::size_t kLeast = 8;            // components that share a sweep
  static constexpr std::int64_t kBlocks = 64;         // with sums of their own
  static constexpr std::int64_t kMostSums = 1 << 22;  // doubles of all blocks

  struct Member {
    std::int32_t graph, length;
    std::int64_t begin;  // its first slice in the family
    std::int64_t slice;  // its first slice in `slices_`
  };
  using RoleKey = std::vector<std::int32_t>;  // ordinal, group, axes
  struct Family {
    std::vector<std::int32_t> width;                // [axes]
    std::vector<std::vector<std::int32_t>> groups;  // [axes] that join slices
    std::vector<Member> member;
    std::int64_t states = 1, slices = 0;
    std::vector<RoleKey> role_key;
    std::vector<std::vector<std::int32_t>> at;  // [roles] [states]
    std::vector<SliceAxis> axis;
    std::vector<SliceRole> role;
    std::vector<std::int32_t> factor;
    SliceFamily view = {};
  };
  struct Seen {
    std::int64_t count, cells;
    bool pooled;
  };

  void check(const Factors& f) const;

  void find(const Factors& f, double budget);

  // Which factors each slice has; the members of families are put into order.
  void find_roles(const Factors& f);

  static void set_axes(Family& family);

  void set_roles(const Factors& f, Family& family, const std::vector<std::int64_t>& times) const;

  void drop_rare(const Factors&);

  void sum(const Family& family, const SliceKernels& kernels, const Factors& f,
           const double* weight, int threads, Scratches& scratches, double* value, double* sums,
           double* const* row, std::vector<bool>& lost) const;

  std::vector<Seen> seen_;            // [groups]
  std::vector<std::int64_t> pooled_;  // [groups] place of the sums of a group; -1: not pooled
  std::int64_t pooled_cells_ = 0;
  std::vector<std::uint8_t> is_step_;              // [groups]
  std::vector<std::int32_t> slice_of_, axis_of_;   // [V]
  std::vector<std::vector<std::int32_t>> slices_;  // variables of each slice, by axis
  std::vector<Member> alone_;
  std::vector<Family> families_;
  std::vector<bool> covered_;  // [V]
};

}  // namespace crfkit
