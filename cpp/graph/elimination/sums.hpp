// Sums over the labelings of a component: log Z, and marginals by the reverse pass.
//
// Tables are linear, with a power of two for each: value = number * 2^exponent.  Bounds on the
// numbers are carried along, and a table is looked at only when they leave the range of doubles.
// Forward: no product of two numbers above 0 may underflow, which the bounds (or the numbers
// themselves) must show.  Reverse: what underflows must be far too small to count beside Z.  A
// component that fails is summed again in logarithms.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/elimination/cells.hpp"
#include "graph/elimination/component.hpp"
#include "graph/elimination/trace.hpp"
#include "shared/contraction.hpp"

namespace crfkit {

// The numbers of a table of a program.
struct Numbers {
  Cells cell;
  std::int64_t exponent = 0;
  double low = 0.0, high = 0.0;  // log2 bounds of the numbers above 0
};

class ComponentSum {
 public:
  ComponentSum(const Component& c, const Factors& f, const Reduction& left,
               const ContractionKernels& kernels, int threads)
      : c_(c), program_(*c.program), f_(f), left_(left), kernels_(kernels), threads_(threads) {}

  // log Z; marginals are written where `out` is given.
  double run(MarginalsOut* out);

  // Sums that keep all tables, for draws; false if there is no labeling.
  bool keep_tables();

  // Weights of the choices of a step, up to a factor: the largest is above 0.
  void weights(const Step& step, const Choices& choices, std::vector<double>& out) const;

 private:
  static constexpr double kSmall = -1000.0, kLarge = 1000.0;  // log2: products beyond are not safe
  static constexpr double kCounts = -900.0;  // log2 Z at least, in the reverse pass

  double forward(bool keep);

  // The contraction of two tables, b may be -1 and null; returns log2 of products for each cell.
  double combine(std::int32_t a, std::int32_t b, std::int32_t c, const double* from,
                 const double* with, double* to) const;

  void make_leaf(std::int32_t t);

  static bool safe(const Numbers& a, const Numbers* b, double terms) {
    return a.low + (b ? b->low : 0.0) > kSmall && a.high + (b ? b->high : 0.0) + terms < kLarge;
  }

  // Scales a table so that its largest number is between 1 and 2; false if all are 0.
  bool tighten(std::int32_t t) { return tighten(table_[t], program_.table[t].cells); }
  bool tighten(Numbers& table, std::int64_t cells);

  // ---- the reverse pass: adjoints of tables, from the last to the leaves

  void reverse(MarginalsOut& out);

  void make_adjoint(std::int32_t t, std::int32_t other, std::int32_t from);

  // A step in place, out = a * b in the cells of a: a itself is gone.  But adjoint * value of out
  // is that of a as well, cell by cell, and its sums are those of b (the same marginals); the
  // adjoint of b is these by b.  Where b is 0 they are 0, and so is all that leads there.
  void part(const Step& step);

  // Whether what underflows in the adjoints of a step is nothing beside Z.
  bool counts(const Step& step, Numbers& above);

  // The smallest leaf of each variable answers for it.
  void choose_leaves();

  void finish_leaf(std::int32_t t, Numbers& adjoint, MarginalsOut& out);

  const Component& c_;
  const Program& program_;
  const Factors& f_;
  const Reduction& left_;
  const ContractionKernels& kernels_;
  int threads_;
  bool logs_ = false, lost_ = false;
  CellPool pool_{0.0};
  std::vector<Numbers> table_, adjoint_;
  std::vector<Numbers> joint_;  // adjoint * value, where steps in place follow each other
  std::vector<std::vector<std::uint8_t>> wants_;
  double peaks_ = 0.0, bits_ = 0.0, z_ = 0.0;  // sum of the leaves' maxima, log2 and log of Z
};

}  // namespace crfkit
