// Vector work of the optimizers for Python (vectors.hpp): fixed blocks of weights on threads, sums
// added in the order of the blocks.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/checks.hpp"
#include "engine/threads/parallel.hpp"
#include "python/arrays.hpp"
#include "python/released.hpp"
#include "python/spans.hpp"
#include "shared/kernels.hpp"

namespace crfkit {
namespace {

using Briefs = Kept<std::uint16_t>;
using WrittenBriefs = std::span<std::uint16_t>;

constexpr std::int64_t kBlock = 8192;  // weights of one task

// One strength for all weights, or one for each.
struct Strength {
  const double* value;
  bool shared;

  Strength(const char* name, Reals given, std::size_t F)
      : value(given.data()), shared(given.size() == 1) {
    if (!shared) check_length(name, given.size(), F);
  }
};

std::vector<const double*> pointers(const std::vector<KeptReals>& vectors, std::size_t F) {
  std::vector<const double*> data;
  for (Reals vector : vectors) {
    check_length("a vector", vector.size(), F);
    data.push_back(vector.data());
  }
  return data;
}

// Brief vectors have zeros behind them, up to a whole cache line (32 of them).
std::size_t brief_length(std::size_t F) { return (F + 31) / 32 * 32; }
std::vector<const std::uint16_t*> pointers(const std::vector<Briefs>& briefs, std::size_t F) {
  std::vector<const std::uint16_t*> data;
  for (const Briefs& brief : briefs) {
    check_length("a brief vector", brief.size(), brief_length(F));
    data.push_back(brief.data());
  }
  return data;
}

// Calls work(first, last, sums) for each block, where sums has `count` zeros, and adds these up.
template <class Work>
std::vector<double> by_blocks(std::size_t F, std::size_t count, int threads, Work work) {
  const std::int64_t size = static_cast<std::int64_t>(F), blocks = (size + kBlock - 1) / kBlock;
  std::vector<double> part(static_cast<std::size_t>(blocks) * count), sum(count);
  parallel_for(blocks, threads, [&](std::int64_t b) {
    work(b * kBlock, std::min(size, (b + 1) * kBlock), part.data() + b * count);
  });
  for (std::int64_t b = 0; b < blocks; ++b)
    for (std::size_t i = 0; i < count; ++i) sum[i] += part[b * count + i];
  return sum;
}

void combine(const Kernels& kernels, Reals coefficients, const std::vector<KeptReals>& vectors,
             const std::vector<Briefs>& briefs, Written out, int threads) {
  check_threads(threads);
  check_length("coefficients", coefficients.size(), vectors.size() + briefs.size());
  const std::vector<const double*> data = pointers(vectors, out.size());
  const std::vector<const std::uint16_t*> brief = pointers(briefs, out.size());
  Released release;
  by_blocks(out.size(), 0, threads, [&](std::int64_t first, std::int64_t last, double*) {
    kernels.vectors->combine(coefficients.data(), data.data(), static_cast<int>(data.size()),
                             brief.data(), static_cast<int>(brief.size()), first, last, out.data());
  });
}

void shorten(const Kernels& kernels, Written x, WrittenBriefs out, int threads) {
  check_threads(threads);
  check_length("out", out.size(), brief_length(x.size()));
  Released release;
  by_blocks(x.size(), 0, threads, [&](std::int64_t first, std::int64_t last, double*) {
    kernels.vectors->shorten(x.data(), first, last, out.data());
  });
}

// Products of vectors of doubles or of brief numbers, by one of the two kernels, with others.
template <class Vectors, class Dot>
Given<double> products(const Vectors& vectors, const std::vector<KeptReals>& others, int threads,
                       Dot dot) {
  check_threads(threads);
  const std::size_t F = others.empty() ? 0 : others[0].size();
  const auto left = pointers(vectors, F);
  const std::vector<const double*> right = pointers(others, F);
  Array<double> found({left.size(), right.size()});
  {
    Released release;
    const std::vector<double> sums =
        by_blocks(F, left.size() * right.size(), threads,
                  [&](std::int64_t first, std::int64_t last, double* part) {
                    dot(left.data(), static_cast<int>(left.size()), right.data(),
                        static_cast<int>(right.size()), first, last, part);
                  });
    std::copy(sums.begin(), sums.end(), found.data.get());
  }
  return found.give();
}

Given<double> dots(const Kernels& kernels, const std::vector<KeptReals>& vectors,
                   const std::vector<KeptReals>& others, int threads) {
  return products(vectors, others, threads, kernels.vectors->dot);
}

Given<double> brief_dots(const Kernels& kernels, const std::vector<Briefs>& briefs,
                         const std::vector<KeptReals>& others, int threads) {
  return products(briefs, others, threads, kernels.vectors->dot_briefs);
}

std::vector<double> add_l2(const Kernels& kernels, Reals l2, Reals w, Written gradient,
                           const std::optional<KeptReals>& direction, int threads) {
  check_threads(threads);
  const std::size_t F = w.size();
  const Strength strength("l2", l2, F);
  check_length("gradient", gradient.size(), F);
  if (direction) check_length("direction", direction->size(), F);
  Released release;
  return by_blocks(F, 4, threads, [&](std::int64_t first, std::int64_t last, double* sums) {
    kernels.vectors->add_l2(strength.value, strength.shared, w.data(),
                            direction ? direction->data() : nullptr, first, last, gradient.data(),
                            sums);
  });
}

std::vector<double> pseudo_gradient(const Kernels& kernels, Reals l1, Reals w, Reals gradient,
                                    Written out, int threads) {
  check_threads(threads);
  const std::size_t F = w.size();
  const Strength strength("l1", l1, F);
  check_length("gradient", gradient.size(), F);
  check_length("out", out.size(), F);
  Released release;
  return by_blocks(F, 2, threads, [&](std::int64_t first, std::int64_t last, double* sums) {
    kernels.vectors->pseudo_gradient(strength.value, strength.shared, w.data(), gradient.data(),
                                     first, last, out.data(), sums);
  });
}

std::vector<double> move_in_orthant(const Kernels& kernels, Reals l1, Reals w, Reals pseudo,
                                    Reals direction, double length, Written out, int threads) {
  check_threads(threads);
  const std::size_t F = w.size();
  const Strength strength("l1", l1, F);
  check_length("pseudo", pseudo.size(), F);
  check_length("direction", direction.size(), F);
  check_length("out", out.size(), F);
  Released release;
  return by_blocks(F, 3, threads, [&](std::int64_t first, std::int64_t last, double* sums) {
    kernels.vectors->move_in_orthant(strength.value, strength.shared, w.data(), pseudo.data(),
                                     direction.data(), length, first, last, out.data(), sums);
  });
}

// The kernels for kept vectors of doubles, and of brief numbers.
void add_dots(const VectorKernels& k, const double* const* kept, int count, const double* q,
              std::int64_t n, double* sums) {
  k.dot(kept, count, &q, 1, 0, n, sums);
}
void add_dots(const VectorKernels& k, const std::uint16_t* const* kept, int count, const double* q,
              std::int64_t n, double* sums) {
  k.dot_briefs(kept, count, &q, 1, 0, n, sums);
}
void add(const VectorKernels& k, double factor, const double* x, std::int64_t n, double* q) {
  const double coefficients[] = {1.0, factor}, *const vectors[] = {q, x};
  k.combine(coefficients, vectors, 2, nullptr, 0, 0, n, q);
}
void add(const VectorKernels& k, double factor, const std::uint16_t* x, std::int64_t n, double* q) {
  const double coefficients[] = {1.0, factor}, *const vectors[] = {q};
  k.combine(coefficients, vectors, 1, &x, 1, 0, n, q);
}

// The two-loop recursion of Nocedal & Wright (2006), algorithm 7.4, on the weights of a list alone:
// H is the inverse of what the pairs say of the Hessian there, which is not a part of the inverse
// of the whole.  Pairs that do not curve upwards there are left out.  What a list takes of the
// vectors is copied once, so that the products read it in order.
template <class T>
class Recursion {
 public:
  Recursion(const Kernels& kernels, const std::vector<const T*>& s, const std::vector<const T*>& y,
            const double* length, Pointers at)
      : kernels_(*kernels.vectors),
        length_(length),
        n_(static_cast<std::int64_t>(at.size())),
        pairs_(s.size()),
        room_(brief_length(at.size())),
        kept_(2 * pairs_ * room_) {
    for (std::size_t i = 0; i < pairs_; ++i) {
      T *to_s = kept_.data() + 2 * i * room_, *to_y = to_s + room_;
      for (std::int64_t k = 0; k < n_; ++k) to_s[k] = s[i][at[k]], to_y[k] = y[i][at[k]];
    }
  }

  // Writes H q over q, which has a number for each weight of the list.
  void multiply(std::vector<double>& q) const {
    std::vector<double> curvature(pairs_), part(pairs_), s(room_), y(room_);
    double scale = 0.0;  // of the newest pair
    for (std::size_t i = pairs_; i-- > 0;) {
      std::fill(s.begin(), s.end(), 0.0), std::fill(y.begin(), y.end(), 0.0);
      add(kernels_, length_[i], s_of(i), n_, s.data());
      add(kernels_, 1.0, y_of(i), n_, y.data());
      const double *const left[] = {s.data(), y.data()}, *const right[] = {y.data(), q.data()};
      double products[4] = {}, ss = 0.0;
      kernels_.dot(left, 2, right, 2, 0, n_, products);
      kernels_.dot(left, 1, left, 1, 0, n_, &ss);
      const double sy = products[0], sq = products[1], yy = products[2];
      if (!(sy > kFlat * std::sqrt(ss * yy))) continue;
      if (scale == 0.0) scale = sy / yy;
      curvature[i] = sy;
      part[i] = sq / sy;
      add(kernels_, -part[i], y.data(), n_, q.data());
    }
    if (scale > 0.0)
      for (double& x : q) x *= scale;
    for (std::size_t i = 0; i < pairs_; ++i) {
      if (!(curvature[i] > 0.0)) continue;
      const T* const y_kept[] = {y_of(i)};
      double yq = 0.0;
      add_dots(kernels_, y_kept, 1, q.data(), n_, &yq);
      add(kernels_, length_[i] * (part[i] - yq / curvature[i]), s_of(i), n_, q.data());
    }
  }

 private:
  static constexpr double kFlat = 1e-10;  // cosine of a pair that says nothing

  const T* s_of(std::size_t i) const { return kept_.data() + 2 * i * room_; }
  const T* y_of(std::size_t i) const { return s_of(i) + room_; }

  const VectorKernels& kernels_;
  const double* length_;
  std::int64_t n_;  // weights of the list
  std::size_t pairs_, room_;
  std::vector<T> kept_;  // [pairs, s and y, room]
};

// Writes -H pseudo to out, for the weights that are not 0 or would leave it; others stay.  What
// would leave 0 the wrong way stays too.  Returns the slope along out.
template <class Vectors>
double downhill_within(const Kernels& kernels, const Vectors& s, const Vectors& y, Reals length,
                       Reals l1, Reals w, Reals pseudo, Written out) {
  const std::size_t F = w.size();
  const Strength strength("l1", l1, F);
  check_length("pseudo", pseudo.size(), F);
  check_length("out", out.size(), F);
  check_length("y", y.size(), s.size());
  check_length("length", length.size(), s.size());
  const auto left = pointers(s, F), right = pointers(y, F);
  Released release;
  std::vector<std::int64_t> at;
  std::vector<double> q;
  for (std::size_t i = 0; i < F; ++i)
    if (w[i] != 0.0 || pseudo[i] != 0.0) {
      at.push_back(static_cast<std::int64_t>(i));
      q.push_back(pseudo[i]);
    }
  Recursion(kernels, left, right, length.data(), at).multiply(q);
  std::fill(out.begin(), out.end(), 0.0);
  double slope = 0.0;
  for (std::size_t n = 0; n < at.size(); ++n) {
    const std::int64_t i = at[n];
    const bool leaves = w[i] == 0.0 && strength.value[strength.shared ? 0 : i] > 0.0;
    if (leaves && !(q[n] * pseudo[i] > 0.0)) continue;
    out[i] = -q[n];
    slope -= q[n] * pseudo[i];
  }
  return slope;
}

// x of R x = right, or of R' x = right, where R is the upper triangle of a matrix [k, k].
Given<double> solve_upper(Reals matrix, Reals right, bool transposed) {
  const std::size_t k = right.size();
  check_length("matrix", matrix.size(), k * k);
  std::vector<double> x(right.begin(), right.end());
  for (std::size_t n = 0; n < k; ++n) {
    const std::size_t i = transposed ? n : k - 1 - n;
    const double* row = matrix.data() + i * k;
    if (transposed) {
      x[i] /= row[i];
      for (std::size_t j = i + 1; j < k; ++j) x[j] -= row[j] * x[i];
    } else {
      for (std::size_t j = i + 1; j < k; ++j) x[i] -= row[j] * x[j];
      x[i] /= row[i];
    }
  }
  return give(std::move(x));
}

}  // namespace

void bind_vectors(nb::module_& m) {
  using namespace nb::literals;
  m.def("combine", &combine, "kernels"_a, "coefficients"_a, "vectors"_a, "briefs"_a,
        "out"_a.noconvert(), "threads"_a);
  m.def("shorten", &shorten, "kernels"_a, "x"_a.noconvert(), "out"_a.noconvert(), "threads"_a);
  m.def("brief_dots", &brief_dots, "kernels"_a, "briefs"_a, "others"_a, "threads"_a);
  m.def("dots", &dots, "kernels"_a, "vectors"_a, "others"_a, "threads"_a);
  m.def("add_l2", &add_l2, "kernels"_a, "l2"_a, "w"_a, "gradient"_a.noconvert(),
        "direction"_a.none(), "threads"_a);
  m.def("pseudo_gradient", &pseudo_gradient, "kernels"_a, "l1"_a, "w"_a, "gradient"_a,
        "out"_a.noconvert(), "threads"_a);
  m.def("move_in_orthant", &move_in_orthant, "kernels"_a, "l1"_a, "w"_a, "pseudo"_a, "direction"_a,
        "length"_a, "out"_a.noconvert(), "threads"_a);
  m.def("downhill_within", &downhill_within<std::vector<KeptReals>>, "kernels"_a, "s"_a, "y"_a,
        "length"_a, "l1"_a, "w"_a, "pseudo"_a, "out"_a.noconvert());
  m.def("brief_downhill_within", &downhill_within<std::vector<Briefs>>, "kernels"_a, "s"_a, "y"_a,
        "length"_a, "l1"_a, "w"_a, "pseudo"_a, "out"_a.noconvert());
  m.def("solve_upper", &solve_upper, "matrix"_a, "right"_a, "transposed"_a);
}

}  // namespace crfkit
