// Products of the tables of small graphs in lanes, and the way back through them.
#pragma once

#include "kernels/simd/simd.hpp"
#include "shared/small_graphs.hpp"

namespace crfkit::CRFKIT_ARCH::small {

inline constexpr int kVectors = kSmallLanes / W;  // of a cell

struct Lanes {
  Vec at[kVectors];
};

inline double* cell(double* memory, std::int64_t place) { return memory + place * kSmallLanes; }
inline Lanes lanes(const double* p) {
  Lanes v;
  for (int u = 0; u < kVectors; ++u) v.at[u] = load(p + u * W);
  return v;
}
inline void put(double* p, const Lanes& v) {
  for (int u = 0; u < kVectors; ++u) store(p + u * W, v.at[u]);
}
inline Lanes filled(double x) {
  Lanes v;
  for (int u = 0; u < kVectors; ++u) v.at[u] = splat(x);
  return v;
}
template <class F>
inline void each(F f) {
  for (int u = 0; u < kVectors; ++u) f(u);
}

struct Times {
  static Vec of(Vec a, Vec b) { return a * b; }
};
struct Plus {
  static Vec of(Vec a, Vec b) { return a + b; }
};

template <class Op>
void multiply(const SmallProgram& p, const SmallProduct& product, std::int32_t width,
              double* memory) {
  double* out = cell(memory, product.out);
  const double* left = cell(memory, product.left);
  const double* right = cell(memory, product.right);
  const std::int32_t* right_at = p.list + product.right_at;
  if (product.fresh) {
    const std::int64_t size = static_cast<std::int64_t>(product.left_cells) * kSmallLanes,
                       step = static_cast<std::int64_t>(width) * kSmallLanes;
    for (std::int32_t n = 0; n < product.fresh; ++n, out += size)
      for (std::int32_t j = 0; j < width; ++j) {
        const Lanes b = lanes(right + *right_at++);
        for (std::int64_t c = j * kSmallLanes; c < size; c += step)
          each([&](int u) { store(out + c + u * W, Op::of(load(left + c + u * W), b.at[u])); });
      }
    return;
  }
  const std::int64_t size = static_cast<std::int64_t>(product.cells) * kSmallLanes;
  if (product.left == product.out) {
    for (std::int64_t c = 0; c < size; c += kSmallLanes) {
      const double* b = right + *right_at++;
      each([&](int u) { store(out + c + u * W, Op::of(load(out + c + u * W), load(b + u * W))); });
    }
    return;
  }
  const std::int32_t* left_at = p.list + product.left_at;
  for (std::int64_t c = 0; c < size; c += kSmallLanes) {
    const double* a = left + *left_at++;
    if (product.right < 0) {
      put(out + c, lanes(a));
      continue;
    }
    const double* b = right + *right_at++;
    each([&](int u) { store(out + c + u * W, Op::of(load(a + u * W), load(b + u * W))); });
  }
}

// to[i] = sum of from[list[i, :]]
inline void add_up(const double* from, const std::int32_t* list, std::int32_t cells,
                   std::int32_t count, double* to) {
  for (std::int32_t i = 0; i < cells; ++i, list += count) {
    Lanes a = lanes(from + list[0]);
    std::int32_t k = 1;
    if (count >= 4) {  // two sums at a time: one would wait for the latency of its additions
      Lanes b = lanes(from + list[1]);
      for (k = 2; k + 1 < count; k += 2) {
        const double *x = from + list[k], *y = from + list[k + 1];
        each([&](int u) { a.at[u] += load(x + u * W), b.at[u] += load(y + u * W); });
      }
      each([&](int u) { a.at[u] += b.at[u]; });
    }
    for (; k < count; ++k) {
      const double* x = from + list[k];
      each([&](int u) { a.at[u] += load(x + u * W); });
    }
    put(to + i * kSmallLanes, a);
  }
}

// Beliefs of both tables of a product from that of the product.
inline void divide(const SmallProgram& p, const SmallProduct& product, std::int32_t width,
                   double* memory) {
  const double* out = cell(memory, product.out);
  double* left = cell(memory, product.left);
  double* right = cell(memory, product.right);
  if (!product.fresh) {
    if (product.right >= 0)
      add_up(out, p.list + product.right_from, product.right_cells,
             product.cells / product.right_cells, right);
    if (product.left != product.out)
      add_up(out, p.list + product.left_from, product.left_cells,
             product.cells / product.left_cells, left);
    return;
  }
  const std::int32_t* right_at = p.list + product.right_at;
  const std::int64_t size = static_cast<std::int64_t>(product.left_cells) * kSmallLanes,
                     step = static_cast<std::int64_t>(width) * kSmallLanes;
  const bool in_place = product.left == product.out;
  for (std::int32_t n = 0; n < product.fresh; ++n, out += size)
    for (std::int32_t j = 0; j < width; ++j) {
      Lanes a = filled(0.0), b = filled(0.0);
      const auto see = [&](std::int64_t c, Lanes& sum) {
        each([&](int u) {
          const Vec x = load(out + c + u * W);
          sum.at[u] += x;
          if (!in_place) store(left + c + u * W, n ? load(left + c + u * W) + x : x);
        });
      };
      std::int64_t c = j * kSmallLanes;
      for (; c + step < size; c += 2 * step) see(c, a), see(c + step, b);
      if (c < size) see(c, a);
      each([&](int u) { a.at[u] += b.at[u]; });
      put(right + *right_at++, a);
    }
}

}  // namespace crfkit::CRFKIT_ARCH::small
