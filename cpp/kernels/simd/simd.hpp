// Vectors of doubles for one instruction set.
//
// Every header of the kernels lives in the namespace CRFKIT_ARCH (baseline, avx2, avx512): the same
// source is compiled once per instruction set, and no inline function may be shared between them,
// or the linker would be free to hand AVX-512 code to an older processor.  For the same reason the
// kernels use no standard containers.
//
// exp: Cody-Waite reduction x = n ln 2 + r, |r| <= ln 2 / 2, and a polynomial of degree 11 fitted
// to exp on that interval (error 1.3e-17, below half a unit in the last place).  log: reduction to
// m in [sqrt(1/2), sqrt(2)) and the odd series of log((1 + s) / (1 - s)).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "shared/padded.hpp"

namespace crfkit::CRFKIT_ARCH {

#if defined(__AVX512F__)
inline constexpr int W = 8;  // doubles in a vector
#elif defined(__AVX2__)
inline constexpr int W = 4;
#else
inline constexpr int W = 2;
#endif

typedef double Vec __attribute__((vector_size(W * 8)));
typedef std::int64_t VecInt __attribute__((vector_size(W * 8)));
typedef double VecAnywhere __attribute__((vector_size(W * 8), aligned(8), may_alias));

inline constexpr double kZero =
    -std::numeric_limits<double>::infinity();  // the zero of the log semirings
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline Vec load(const double* p) { return *reinterpret_cast<const VecAnywhere*>(p); }
inline void store(double* p, Vec v) { *reinterpret_cast<VecAnywhere*>(p) = v; }

typedef float Floats __attribute__((vector_size(W * 4)));
typedef float FloatsAnywhere __attribute__((vector_size(W * 4), aligned(4), may_alias));

inline Vec widened(Vec v) { return v; }
inline Vec widened(Floats v) {
#if defined(__AVX512F__)  // the compiler's own way takes four instructions; plain forms warn in GCC
                          // 12
  return (Vec)_mm512_maskz_cvtps_pd(0xff, (__m256)v);
#else
  return __builtin_convertvector(v, Vec);
#endif
}
inline Floats narrowed(Vec v) {
#if defined(__AVX512F__)
  return (Floats)_mm512_maskz_cvtpd_ps(0xff, (__m512d)v);
#else
  return __builtin_convertvector(v, Floats);
#endif
}

// Numbers that are stored as floats and reckoned with as doubles.
inline Vec load(const float* p) { return widened(*reinterpret_cast<const FloatsAnywhere*>(p)); }
inline void store(float* p, Vec v) { *reinterpret_cast<FloatsAnywhere*>(p) = narrowed(v); }
// What is left of v once it is stored as floats.
inline Vec rounded(Vec v) { return widened(narrowed(v)); }

// Numbers of which the upper half of a float is stored: its range, and three decimal digits.
typedef std::uint16_t Brief;
typedef Brief Briefs __attribute__((vector_size(W * 2)));
typedef Brief BriefsAnywhere __attribute__((vector_size(W * 2), aligned(2), may_alias));
typedef std::uint32_t FloatBits __attribute__((vector_size(W * 4)));

inline Vec load(const Brief* p) {
  const Briefs b = *reinterpret_cast<const BriefsAnywhere*>(p);
#if defined(__AVX512F__)
  return widened((Floats)_mm256_slli_epi32(_mm256_cvtepu16_epi32((__m128i)b), 16));
#else
  return widened((Floats)(__builtin_convertvector(b, FloatBits) << 16));
#endif
}
// Rounds to the nearest, halves to even.
inline void store(Brief* p, Vec v) {
  const FloatBits bits = (FloatBits)narrowed(v);
  const FloatBits up = bits + 0x7fff + ((bits >> 16) & 1);
  *reinterpret_cast<BriefsAnywhere*>(p) = __builtin_convertvector(up >> 16, Briefs);
}

inline Vec splat(double x) { return x - Vec{}; }

#if defined(__AVX512F__)
inline __mmask8 first_lanes(int count) {
  return count > 0 ? static_cast<__mmask8>((1u << count) - 1u) : 0;
}
#elif defined(__AVX2__)
inline constexpr std::int64_t kFirstLanes[2 * W] = {-1, -1, -1, -1};  // then zeros
inline __m256i first_lanes(int count) {
  return _mm256_loadu_si256(
      reinterpret_cast<const __m256i*>(kFirstLanes + W - (count > 0 ? count : 0)));
}
#endif

// The first `count` doubles at p (W at the most, none when it is negative), `fill` in the other
// places; nothing beyond them is touched.
inline Vec load_part(const double* p, int count, double fill) {
  if (count >= W) return load(p);
#if defined(__AVX512F__)
  return (Vec)_mm512_mask_loadu_pd((__m512d)splat(fill), first_lanes(count), p);
#elif defined(__AVX2__)
  const __m256i lanes = first_lanes(count);
  return (Vec)_mm256_blendv_pd((__m256d)splat(fill), _mm256_maskload_pd(p, lanes), (__m256d)lanes);
#else
  Vec v = splat(fill);
  for (int i = 0; i < count; ++i) v[i] = p[i];
  return v;
#endif
}

inline void store_part(double* p, int count, Vec v) {
  if (count >= W) return store(p, v);
#if defined(__AVX512F__)
  _mm512_mask_storeu_pd(p, first_lanes(count), (__m512d)v);
#else
  for (int i = 0; i < count; ++i) p[i] = v[i];
#endif
}

inline Vec max(Vec a, Vec b) { return a > b ? a : b; }
inline Vec min(Vec a, Vec b) { return a < b ? a : b; }
inline Vec absolute(Vec v) { return v < 0.0 ? -v : v; }

// Halves a vector until one double is left: log2(W) steps instead of W - 1.
template <class Join>
inline double reduce(Vec v, Join join) {
#if defined(__AVX2__) && !defined(__AVX512F__)
  const Vec halves = join(v, (Vec)_mm256_permute2f128_pd((__m256d)v, (__m256d)v, 1));
  return join(halves, (Vec)_mm256_permute_pd((__m256d)halves, 5))[0];
#else
  double a[W];
  store(a, v);
  if constexpr (W == 8) {
    for (int i = 0; i < 4; ++i) a[i] = join(a[i], a[i + 4]);
  }
  if constexpr (W >= 4) {
    for (int i = 0; i < 2; ++i) a[i] = join(a[i], a[i + 2]);
  }
  return join(a[0], a[1]);
#endif
}

inline double sum_of(Vec v) {
  return reduce(v, [](auto x, auto y) { return x + y; });
}

inline double max_of(Vec v) {
  return reduce(v, [](auto x, auto y) { return x > y ? x : y; });
}

inline double min_of(Vec v) { return -max_of(-v); }

inline bool any_above(Vec v, double bound) {
#if defined(__AVX512F__)
  return _mm512_cmp_pd_mask((__m512d)v, (__m512d)splat(bound), _CMP_GT_OQ) != 0;
#elif defined(__AVX2__)
  return _mm256_movemask_pd((__m256d)(v > splat(bound))) != 0;
#else
  return max_of(v) > bound;
#endif
}

// Which places of a comparison hold: bit i for place i.
inline unsigned bits_of(VecInt holds) {
#if defined(__AVX512F__)
  return _mm512_test_epi64_mask((__m512i)holds, (__m512i)holds);
#elif defined(__AVX2__)
  return static_cast<unsigned>(_mm256_movemask_pd((__m256d)holds));
#else
  unsigned bits = 0;
  for (int i = 0; i < W; ++i) bits |= holds[i] ? 1u << i : 0u;
  return bits;
#endif
}

// exp(x) for x <= 709; 0 for x < -708, -inf included.
inline __attribute__((always_inline)) Vec exp(Vec x) {
  const Vec lowest = splat(-708.0);
  const Vec clamped = max(x, lowest);
  const double magic = 0x1.8p52;  // adding it leaves the rounded integer in the low bits
  const Vec shifted = clamped * 0x1.71547652b82fep0 + magic;
  const Vec n = shifted - magic;
  const Vec r = (clamped - n * 0x1.62e42fefa3800p-1) - n * 0x1.ef35793c76730p-45;
  const Vec r2 = r * r, r4 = r2 * r2;
  const Vec p01 = 0x1.5555555555556p-3 * r + 0x1.0000000000001p-1;
  const Vec p23 = 0x1.11111111109adp-7 * r + 0x1.5555555553d4fp-5;
  const Vec p45 = 0x1.a01a01a7c8d47p-13 * r + 0x1.6c16c17893833p-10;
  const Vec p67 = 0x1.71de0d9c145d0p-19 * r + 0x1.a019b8ef67c6cp-16;
  const Vec p89 = 0x1.af38d53857513p-26 * r + 0x1.2891a8c1d838dp-22;
  const Vec low = p23 * r2 + p01, middle = p67 * r2 + p45;
  const Vec tail = (p89 * r4 + middle) * r4 + low;
  const Vec mantissa = (tail * r2 + r) + 1.0;
  const Vec scaled = (Vec)((VecInt)mantissa + ((VecInt)shifted << 52));
  return x < lowest ? Vec{} : scaled;
}

// log(x) for positive, normal x; -inf for 0.
inline __attribute__((always_inline)) Vec log(Vec x) {
  const VecInt bits = (VecInt)x;
  const VecInt shift = (bits - 0x3fe6a09e667f3bcdLL) & (VecInt)(~0xfffffffffffffLL - VecInt{});
  const Vec m = (Vec)(bits - shift);  // [sqrt(1/2), sqrt(2))
  const Vec k = (Vec)((shift >> 52) + 0x4338000000000000LL) - 0x1.8p52;
  const Vec f = m - 1.0, s = f / (f + 2.0), z = s * s, w = z * z;
  const Vec even = w * (w * (w * 1.531383769920937332e-01 + 2.222219843214978396e-01) +
                        3.999999999940941908e-01);
  const Vec odd = z * (w * (w * (w * 1.479819860511658591e-01 + 1.818357216161805012e-01) +
                            2.857142874366239149e-01) +
                       6.666666666666735130e-01);
  const Vec half_square = 0.5 * f * f;
  const Vec y =
      k * 6.93147180369123816490e-01 -
      ((half_square - (s * (half_square + (even + odd)) + k * 1.90821492927058770002e-10)) - f);
  return x > 0.0 ? y : splat(kZero);
}

// A sum of two doubles, exact to 106 bits: 100,000 scores of 1e4 add up to 1e9, where a double
// resolves only 1e-7.
struct Offset {
  double high = 0.0, low = 0.0;

  void add(double x) {
    const double s = high + x, back = s - high;
    low += (high - (s - back)) + (x - back);
    high = s;
  }
  double minus(const Offset& o) const { return (high - o.high) + (low - o.low); }
  double value() const { return high + low; }
};

}  // namespace crfkit::CRFKIT_ARCH
