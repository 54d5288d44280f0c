// Shared transition tables in the forms that steps read: packed scores, or packed probabilities and
// their transpose; for few labels, and where most steps have one score, also or only those of lanes
// side by side (striped_steps.hpp).
#pragma once

#include "kernels/simd/product.hpp"
#include "kernels/sweep/striped_steps.hpp"
#include "kernels/sweep/structure.hpp"

namespace crfkit::CRFKIT_ARCH {

// Spread of the finite scores of an array, and whether some are -inf.
struct Spread {
  double top = kZero, low = kInfinity;
  bool holes = false;

  void see(const double* score, std::int64_t n) {
    Vec highest = splat(top), lowest = splat(low);
    for (std::int64_t i = 0; i < n; i += W) {
      const Vec v = load_part(score + i, n - i < W ? static_cast<int>(n - i) : W, score[0]);
      highest = max(highest, v);
      lowest = min(lowest, v);
    }
    top = max_of(highest);
    const double least = min_of(lowest);
    if (least > kZero) {
      low = least;
      return;
    }
    holes = true;
    for (std::int64_t i = 0; i < n; ++i) low = score[i] > kZero && score[i] < low ? score[i] : low;
  }
  double range() const { return top > low ? top - low : 0.0; }
  double safe_top() const { return top == kZero ? 0.0 : top; }  // -inf - -inf is no number
};

// One dense table of `blocks` matrices [n_in, n_out]; the source of row a in block m is a * blocks
// + m.
struct Table {
  int blocks, n_in, n_out;
  double* packed;      // scores, or probabilities exp(score - top)
  double* transposed;  // probabilities only
  Spread spread;
  StripedSteps ahead, back;  // of lanes side by side, where they serve
  WeighedPairs pairs = {};   // where most steps have one score; then nothing is packed

  const double* matrix(int m) const { return packed + m * packed_size(n_in, n_out); }
  const double* matrix_transposed(int m) const { return transposed + m * packed_size(n_out, n_in); }

  void shape(int blocks_, int n_in_, int n_out_) { blocks = blocks_, n_in = n_in_, n_out = n_out_; }

  void take(Arena& arena, bool with_transpose) {
    packed = arena.take<double>(blocks * packed_size(n_in, n_out));
    transposed = with_transpose ? arena.take<double>(blocks * packed_size(n_out, n_in)) : nullptr;
  }

  bool sparse() const { return pairs.ptr != nullptr; }

  // The steps of lanes side by side, all of them; probabilities are packed.
  void stripe(Arena& arena);

  // The same, of pairs; all other cells of `score` [n_in, n_in] are alike.
  void stripe(const double* score, const Pairs& given, Arena& arena);

  // The same of their scores [count + 1], which become probabilities: the common one, last, is not
  // among the first `seen` where no step has it.
  void stripe_listed(const Pairs& given, double* found, std::int64_t seen, Arena& arena);

  void fill_scores(const double* score);

  void fill_probabilities(const double* score);

 private:
  // A cell that is not among the pairs, or -1.
  std::int64_t other_cell(const Pairs& given) const;
};

// gradient += products * probabilities of block m, where `products` are sums of outer products;
// both are by pair where the table is.
void add_gradients(const Table& table, int m, const double* products, double* gradient);

// The shared tables of a problem, made once per call and read by all threads.
struct Tables {
  Arena arena;
  int count = 0;
  Table table[kMaxOrder];

  // Whether some steps are forbidden.
  bool holes() const {
    bool found = false;
    for (int h = 0; h < count; ++h) found |= table[h].spread.holes;
    return found;
  }

  // Probabilities of a chain of order 1 by the scores of pairs [count + 1], the common one last.
  Tables(int labels, const Pairs& pairs, const double* score);

  Tables(const Problem& p, bool wanted, bool probabilities);
};

}  // namespace crfkit::CRFKIT_ARCH
