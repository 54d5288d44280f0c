// Vector work of the optimizers, one pass each: linear combinations, dot products, penalties.
//
// All of it is bound by memory: what counts is how often a vector of weights is read.  A kernel
// works on weights [first, last) and returns its sums, which the binding adds block by block.
// Strips of a block stay in the first-level cache while every vector goes past them.
#pragma once

#include "kernels/simd/simd.hpp"

namespace crfkit::CRFKIT_ARCH {

// Weights of a strip.  512 to 8192 are slower by a tenth or two; so is reading without prefetching
// the next strip, since hardware looks ahead within a page only.
inline constexpr std::int64_t kStrip = 256;

inline int lanes_left(std::int64_t i, std::int64_t last) {
  return last - i >= W ? W : static_cast<int>(last - i);
}

// Vectors of brief numbers end with zeros up to a whole cache line, so that none is read in part.
inline Vec load_part(const Brief* p, int, double) { return load(p); }

// sum[i - begin] += sum_v coefficient_v * vector_v[i] for weights [begin, end) of a strip.
template <class Number>
inline void add_to_strip(const double* coefficients, const Number* const* vectors, int count,
                         std::int64_t begin, std::int64_t end, double* sum) {
  int v = 0;
  for (; v + 4 <= count; v += 4) {
    const Number *a = vectors[v], *b = vectors[v + 1], *c = vectors[v + 2], *d = vectors[v + 3];
    const Vec ca = splat(coefficients[v]), cb = splat(coefficients[v + 1]);
    const Vec cc = splat(coefficients[v + 2]), cd = splat(coefficients[v + 3]);
    for (std::int64_t i = begin; i < end; i += W) {
      const int n = lanes_left(i, end);
      __builtin_prefetch(a + i + kStrip);
      __builtin_prefetch(b + i + kStrip);
      __builtin_prefetch(c + i + kStrip);
      __builtin_prefetch(d + i + kStrip);
      Vec s = load(sum + i - begin);
      s += ca * load_part(a + i, n, 0.0);
      s += cb * load_part(b + i, n, 0.0);
      s += cc * load_part(c + i, n, 0.0);
      s += cd * load_part(d + i, n, 0.0);
      store(sum + i - begin, s);
    }
  }
  for (; v < count; ++v) {
    const Vec c = splat(coefficients[v]);
    for (std::int64_t i = begin; i < end; i += W) {
      __builtin_prefetch(vectors[v] + i + kStrip);
      const Vec x = load_part(vectors[v] + i, lanes_left(i, end), 0.0);
      store(sum + i - begin, load(sum + i - begin) + c * x);
    }
  }
}

// out = sum_i coefficient_i * vector_i, brief vectors last; `out` may be one of the vectors.
inline void combine_vectors(const double* coefficients, const double* const* vectors, int count,
                            const std::uint16_t* const* briefs, int brief_count, std::int64_t first,
                            std::int64_t last, double* out) {
  alignas(64) double sum[kStrip];
  for (std::int64_t begin = first; begin < last; begin += kStrip) {
    const std::int64_t end = last - begin < kStrip ? last : begin + kStrip;
    for (std::int64_t i = 0; i < kStrip; i += W) store(sum + i, Vec{});
    add_to_strip(coefficients, vectors, count, begin, end, sum);
    add_to_strip(coefficients + count, briefs, brief_count, begin, end, sum);
    for (std::int64_t i = begin; i < end; i += W)
      store_part(out + i, lanes_left(i, end), load(sum + i - begin));
  }
}

// Writes x as brief numbers, and what is left of it back to x.
inline void shorten_vector(double* x, std::int64_t first, std::int64_t last, std::uint16_t* out) {
  for (std::int64_t i = first; i < last; i += W) {
    const int n = lanes_left(i, last);
    store(out + i, load_part(x + i, n, 0.0));
    store_part(x + i, n, load(out + i));
  }
}

// sums[j] += vector . other_j for K others and weights [first, last); what is read is converted
// once.
template <int K, class Number>
inline void add_dots(const Number* vector, const double* const* others, std::int64_t first,
                     std::int64_t last, double* sums) {
  Vec even[K] = {}, odd[K] = {};
  constexpr int kLine = 64 / sizeof(Number);
  std::int64_t i = first;
  for (; i + 4 * W <= last; i += 4 * W) {
    for (int line = 0; line < 4 * W; line += kLine) __builtin_prefetch(vector + i + 512 + line);
    for (int k = 0; k < 4 * W; k += 2 * W) {
      const Vec a = load(vector + i + k), b = load(vector + i + k + W);
      for (int j = 0; j < K; ++j) {
        even[j] += a * load(others[j] + i + k);
        odd[j] += b * load(others[j] + i + k + W);
      }
    }
  }
  for (; i < last; i += W) {
    const int n = lanes_left(i, last);
    const Vec a = load_part(vector + i, n, 0.0);
    for (int j = 0; j < K; ++j) even[j] += a * load_part(others[j] + i, n, 0.0);
  }
  for (int j = 0; j < K; ++j) sums[j] += sum_of(even[j] + odd[j]);
}

// sums[i, j] += vector_i . other_j; strips of the others stay in the first-level cache.
template <class Number>
inline void dot_vectors(const Number* const* vectors, int count, const double* const* others,
                        int other_count, std::int64_t first, std::int64_t last, double* sums) {
  constexpr std::int64_t strip = sizeof(Number) == 8 ? kStrip : 4 * kStrip;
  for (std::int64_t begin = first; begin < last; begin += strip) {
    const std::int64_t end = last - begin < strip ? last : begin + strip;
    for (int i = 0; i < count; ++i) {
      double* sum = sums + static_cast<std::int64_t>(i) * other_count;
      int j = 0;
      for (; j + 2 <= other_count; j += 2) add_dots<2>(vectors[i], others + j, begin, end, sum + j);
      if (j < other_count) add_dots<1>(vectors[i], others + j, begin, end, sum + j);
    }
  }
}

// Strengths of a penalty: one for all weights, or one for each.
struct Strength {
  const double* value;
  bool shared;

  Vec at(std::int64_t i, int n) const {
    return shared ? splat(*value) : load_part(value + i, n, 0.0);
  }
};

// gradient += l2 * w; sums: w . l2 w, w . w, gradient . gradient, gradient . direction.
inline void add_l2(const double* l2, bool shared, const double* w, const double* direction,
                   std::int64_t first, std::int64_t last, double* gradient, double* sums) {
  const Strength strength{l2, shared};
  Vec penalty = {}, weight = {}, square = {}, slope = {};
  for (std::int64_t i = first; i < last; i += W) {
    const int n = lanes_left(i, last);
    const Vec x = load_part(w + i, n, 0.0), pull = strength.at(i, n) * x;
    const Vec g = load_part(gradient + i, n, 0.0) + pull;
    penalty += pull * x;
    weight += x * x;
    square += g * g;
    if (direction) slope += g * load_part(direction + i, n, 0.0);
    store_part(gradient + i, n, g);
  }
  sums[0] += sum_of(penalty);
  sums[1] += sum_of(weight);
  sums[2] += sum_of(square);
  sums[3] += sum_of(slope);
}

// OWL-QN, Andrew & Gao (2007) eq. 4: of the one-sided derivatives of loss + l1 |w| the one that
// says how to go down, or 0.  sums: out . out, l1 . |w|.
inline void pseudo_gradient(const double* l1, bool shared, const double* w, const double* gradient,
                            std::int64_t first, std::int64_t last, double* out, double* sums) {
  const Strength strength{l1, shared};
  Vec square = {}, penalty = {};
  for (std::int64_t i = first; i < last; i += W) {
    const int n = lanes_left(i, last);
    const Vec x = load_part(w + i, n, 0.0), g = load_part(gradient + i, n, 0.0);
    const Vec l = strength.at(i, n), right = g + l, left = g - l;
    const Vec at_zero = right < 0.0 ? right : left > 0.0 ? left : Vec{};
    const Vec p = x > 0.0 ? right : x < 0.0 ? left : at_zero;
    square += p * p;
    penalty += l * absolute(x);
    store_part(out + i, n, p);
  }
  sums[0] += sum_of(square);
  sums[1] += sum_of(penalty);
}

// out = w + length * direction, with 0 for weights that left their orthant (eq. 7).
// sums: pseudo . (out - w), l1 . |out|, out . out.
inline void move_in_orthant(const double* l1, bool shared, const double* w, const double* pseudo,
                            const double* direction, double length, std::int64_t first,
                            std::int64_t last, double* out, double* sums) {
  const Strength strength{l1, shared};
  const Vec t = splat(length);
  Vec slope = {}, penalty = {}, square = {};
  for (std::int64_t i = first; i < last; i += W) {
    const int n = lanes_left(i, last);
    const Vec x = load_part(w + i, n, 0.0), p = load_part(pseudo + i, n, 0.0);
    const Vec l = strength.at(i, n), moved = x + t * load_part(direction + i, n, 0.0);
    const Vec side = x != 0.0 ? x : -p;
    const Vec inside = side * moved > 0.0 ? moved : Vec{};
    const Vec there = l > 0.0 ? inside : moved;
    slope += p * (there - x);
    penalty += l * absolute(there);
    square += there * there;
    store_part(out + i, n, there);
  }
  sums[0] += sum_of(slope);
  sums[1] += sum_of(penalty);
  sums[2] += sum_of(square);
}

}  // namespace crfkit::CRFKIT_ARCH
