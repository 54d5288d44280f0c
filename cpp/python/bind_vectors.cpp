// Vector work of the optimizers for Python (vectors.hpp): fixed blocks of weights on threads, sums
// added in the order of the blocks.

#include <optional>
#include <string>
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

double align(const Kernels& kernels, Reals l1, Reals pseudo, Written direction, int threads) {
  check_threads(threads);
  const std::size_t F = pseudo.size();
  const Strength strength("l1", l1, F);
  check_length("direction", direction.size(), F);
  Released release;
  return by_blocks(F, 1, threads, [&](std::int64_t first, std::int64_t last, double* sums) {
    kernels.vectors->align(strength.value, strength.shared, pseudo.data(), first, last,
                           direction.data(), sums);
  })[0];
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
  m.def("align", &align, "kernels"_a, "l1"_a, "pseudo"_a, "direction"_a.noconvert(), "threads"_a);
  m.def("move_in_orthant", &move_in_orthant, "kernels"_a, "l1"_a, "w"_a, "pseudo"_a, "direction"_a,
        "length"_a, "out"_a.noconvert(), "threads"_a);
  m.def("solve_upper", &solve_upper, "matrix"_a, "right"_a, "transposed"_a);
}

}  // namespace crfkit
