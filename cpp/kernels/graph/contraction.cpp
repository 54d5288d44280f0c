// Compiled once per instruction set: elimination: sums over products of two tables.
//
// The innermost loop runs through cells side by side.  Where it runs through a and c (b is one
// number for each k and n), a tile of c stays in registers while k is summed; where it runs through
// a and b, c is a dot product.
#include "shared/contraction.hpp"

#include "kernels/simd/product.hpp"
#include "kernels/simd/simd.hpp"
#include "shared/interrupts.hpp"

namespace crfkit::CRFKIT_ARCH {
namespace {

struct Sum {
  static constexpr double kNothing = 0.0;
  static Vec step(Vec acc, Vec x, Vec m) { return SumProduct::step(acc, x, m); }
  static double step(double acc, double x, double m) { return acc + x * m; }
  static Vec plus(Vec a, Vec b) { return a + b; }
  static double plus(double a, double b) { return a + b; }
  static double total(Vec v) { return sum_of(v); }
};

struct Best {
  static constexpr double kNothing = kZero;
  static Vec step(Vec acc, Vec x, Vec m) { return MaxPlus::step(acc, x, m); }
  static double step(double acc, double x, double m) { return x + m > acc ? x + m : acc; }
  static Vec plus(Vec a, Vec b) { return max(a, b); }
  static double plus(double a, double b) { return a > b ? a : b; }
  static double total(Vec v) { return max_of(v); }
};

struct Places {
  const double* a;
  const double* b;
  double* c;
};

// c[n, i] = sum over k of a[k, i] * b[k, n], for N values of n and V vectors of i.
template <class Op, int N, int V, bool kAdd>
inline void tile_of(const Contraction& q, const Places& p, int tail) {
  Vec acc[N][V];
  for (int n = 0; n < N; ++n)
    for (int v = 0; v < V; ++v) acc[n][v] = splat(Op::kNothing);
  const double* a = p.a;
  const double* b = p.b;
  for (std::int64_t k = 0; k < q.k.extent; ++k, a += q.k.a, b += q.k.b) {
    Vec x[V];
    for (int v = 0; v < V; ++v) x[v] = tail ? load_part(a, tail, Op::kNothing) : load(a + v * W);
    for (int n = 0; n < N; ++n) {
      const Vec m = splat(b[n * q.n.b]);
      for (int v = 0; v < V; ++v) acc[n][v] = Op::step(acc[n][v], x[v], m);
    }
  }
  for (int n = 0; n < N; ++n) {
    for (int v = 0; v < V; ++v) {
      double* out = p.c + n * q.n.c + v * W;
      if (tail) {
        if (kAdd) acc[n][v] = Op::plus(load_part(out, tail, Op::kNothing), acc[n][v]);
        store_part(out, tail, acc[n][v]);
      } else {
        store(out, kAdd ? Op::plus(load(out), acc[n][v]) : acc[n][v]);
      }
    }
  }
}

template <class Op, int N, bool kAdd>
inline void along_a(const Contraction& q, Places p, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 2 * W <= count; i += 2 * W) tile_of<Op, N, 2, kAdd>(q, {p.a + i, p.b, p.c + i}, 0);
  for (; i < count; i += W) {
    const std::int64_t left = count - i;
    tile_of<Op, N, 1, kAdd>(q, {p.a + i, p.b, p.c + i}, left < W ? static_cast<int>(left) : 0);
  }
}

// b is one number for all of i.  n may also be a loop of a: then b's tile does not share a.
template <class Op, bool kAdd>
inline void run_along_a(const Contraction& q, Places p, std::int64_t count) {
  std::int64_t n = 0;
  if (q.n.a == 0)
    for (; n + 4 <= q.n.extent; n += 4, p.b += 4 * q.n.b, p.c += 4 * q.n.c)
      along_a<Op, 4, kAdd>(q, p, count);
  if (q.n.a == 0 && n + 2 <= q.n.extent) {
    along_a<Op, 2, kAdd>(q, p, count);
    n += 2, p.b += 2 * q.n.b, p.c += 2 * q.n.c;
  }
  for (; n < q.n.extent; ++n, p.a += q.n.a, p.b += q.n.b, p.c += q.n.c)
    along_a<Op, 1, kAdd>(q, p, count);
}

// All three tables have i: one k after the other, as their rows may lie far apart.
template <class Op>
inline void run_along_all(const Contraction& q, Places p, std::int64_t count, bool add) {
  for (std::int64_t n = 0; n < q.n.extent; ++n, p.a += q.n.a, p.b += q.n.b, p.c += q.n.c) {
    for (std::int64_t k = 0; k < q.k.extent; ++k) {
      const double* a = p.a + k * q.k.a;
      const double* b = p.b + k * q.k.b;
      for (std::int64_t i = 0; i < count; i += W) {
        const int lanes = count - i < W ? static_cast<int>(count - i) : W;
        const Vec before =
            add || k > 0 ? load_part(p.c + i, lanes, Op::kNothing) : splat(Op::kNothing);
        store_part(p.c + i, lanes,
                   Op::step(before, load_part(a + i, lanes, Op::kNothing),
                            load_part(b + i, lanes, Op::kNothing)));
      }
    }
  }
}

// a and c run side by side, b jumps: its numbers are gathered, once for all rows that see the same.
template <class Op>
inline void run_with_places_of_b(const Contraction& q, Places p, double* gathered,
                                 const double** last) {
  const std::int64_t count = q.i.extent;
  for (std::int64_t n = 0; n < q.n.extent; ++n, p.a += q.n.a, p.b += q.n.b, p.c += q.n.c) {
    for (std::int64_t k = 0; k < q.k.extent; ++k) {
      const double* a = p.a + k * q.k.a;
      const double* b = p.b + k * q.k.b;
      const bool add = q.add || k > 0;
      if (*last != b)
        for (std::int64_t i = 0; i < count; ++i) gathered[i] = b[q.place[i]];
      *last = b;
      for (std::int64_t i = 0; i < count; i += W) {
        const int lanes = count - i < W ? static_cast<int>(count - i) : W;
        const Vec before = add ? load_part(p.c + i, lanes, Op::kNothing) : splat(Op::kNothing);
        store_part(p.c + i, lanes,
                   Op::step(before, load_part(a + i, lanes, Op::kNothing), load(gathered + i)));
      }
    }
  }
}

// a and b run side by side, c jumps.
template <class Op>
inline void run_with_places_of_c(const Contraction& q, Places p) {
  for (std::int64_t i = 0; i < q.i.extent; ++i) {
    double& out = p.c[q.place[i]];
    out = Op::step(out, p.a[i], p.b[i]);
  }
}

// c runs side by side, a jumps, b is one number.
template <class Op>
inline void run_with_places_of_a(const Contraction& q, Places p) {
  const double b = *p.b;
  for (std::int64_t i = 0; i < q.i.extent; ++i) {
    const double x = Op::step(Op::kNothing, p.a[q.place[i]], b);
    p.c[i] = q.add ? Op::plus(p.c[i], x) : x;
  }
}

// i is summed, through a and (where B) through b.
template <class Op, bool B>
inline double dot(const double* a, const double* b, std::int64_t count) {
  Vec acc[4];
  for (Vec& v : acc) v = splat(Op::kNothing);
  std::int64_t i = 0;
  const Vec same = splat(*b);
  for (; i + 4 * W <= count; i += 4 * W)
    for (int v = 0; v < 4; ++v)
      acc[v] = Op::step(acc[v], load(a + i + v * W), B ? load(b + i + v * W) : same);
  for (; i < count; i += W) {
    const int lanes = count - i < W ? static_cast<int>(count - i) : W;
    acc[0] = Op::step(acc[0], load_part(a + i, lanes, Op::kNothing),
                      B ? load_part(b + i, lanes, Op::kNothing) : same);
  }
  return Op::total(Op::plus(Op::plus(acc[0], acc[1]), Op::plus(acc[2], acc[3])));
}

template <class Op, bool B>
inline void run_dots(const Contraction& q, Places p, std::int64_t count, bool add) {
  for (std::int64_t n = 0; n < q.n.extent; ++n, p.a += q.n.a, p.b += q.n.b, p.c += q.n.c) {
    double total = add ? *p.c : Op::kNothing;
    for (std::int64_t k = 0; k < q.k.extent; ++k)
      total = Op::plus(total, dot<Op, B>(p.a + k * q.k.a, p.b + k * q.k.b, count));
    *p.c = total;
  }
}

// Any strides.
template <class Op>
inline void run_anyhow(const Contraction& q, Places p, std::int64_t count, bool add) {
  const Loop &n = q.n, &k = q.k, &i = q.i;
  for (std::int64_t x = 0; x < n.extent; ++x, p.a += n.a, p.b += n.b, p.c += n.c) {
    for (std::int64_t y = 0; y < count; ++y) {
      double& out = p.c[y * i.c];
      double total = add || (i.c == 0 && y > 0) ? out : Op::kNothing;
      for (std::int64_t z = 0; z < k.extent; ++z)
        total = Op::step(total, p.a[y * i.a + z * k.a], p.b[y * i.b + z * k.b]);
      out = total;
    }
  }
}

template <class Op>
void run_inner(const Contraction& q, Places p) {
  const Loop& i = q.i;
  const bool side = i.a <= 1 && i.b <= 1 && i.c <= 1;
  const std::int64_t most = side ? 512 : 64;  // cells at a time: what n and k come back to is near
  for (std::int64_t at = 0; at < i.extent; at += most) {
    const std::int64_t count = i.extent - at < most ? i.extent - at : most;
    worked_if_many(count * q.n.extent * q.k.extent / W);
    const Places here = {p.a + at * i.a, p.b + at * i.b, p.c + at * i.c};
    const bool add = q.add || (at > 0 && i.c == 0);
    if (i.a == 1 && i.b == 0 && i.c == 1) {
      add ? run_along_a<Op, true>(q, here, count) : run_along_a<Op, false>(q, here, count);
    } else if (i.a == 1 && i.b == 1 && i.c == 1) {
      run_along_all<Op>(q, here, count, add);
    } else if (i.a == 1 && i.b == 1 && i.c == 0) {
      run_dots<Op, true>(q, here, count, add);
    } else if (i.a == 1 && i.b == 0 && i.c == 0) {
      run_dots<Op, false>(q, here, count, add);
    } else {
      run_anyhow<Op>(q, here, count, add);
    }
  }
}

constexpr std::int64_t kCounted = 1 << 16;

template <class Op>
void run(const Contraction& q) {
  std::int64_t at[128] = {};  // tables of 2^40 cells have 40 variables at the most
  Places p = {q.a, q.b, q.c};
  double gathered[Contraction::kPlaces + W];
  const double* last = nullptr;
  std::int64_t counted = 0;  // products
  for (;;) {
    counted += q.i.extent * q.n.extent * q.k.extent;
    if (counted >= kCounted) worked(counted), counted = 0;
    switch (q.odd) {
      case 'a':
        run_with_places_of_a<Op>(q, p);
        break;
      case 'b':
        run_with_places_of_b<Op>(q, p, gathered, &last);
        break;
      case 'c':
        run_with_places_of_c<Op>(q, p);
        break;
      default:
        run_inner<Op>(q, p);
    }
    int i = q.outers;
    while (i-- > 0) {
      const Loop& loop = q.outer[i];
      if (++at[i] < loop.extent) {
        p.a += loop.a, p.b += loop.b, p.c += loop.c;
        break;
      }
      at[i] = 0;
      p.a -= loop.a * (loop.extent - 1), p.b -= loop.b * (loop.extent - 1);
      p.c -= loop.c * (loop.extent - 1);
    }
    if (i < 0) return;
  }
}

void range(const double* values, std::int64_t count, double* least, double* most) {
  Vec low = splat(kInfinity), high = splat(0.0);
  for (std::int64_t i = 0; i < count; i += W) {
    const int lanes = count - i < W ? static_cast<int>(count - i) : W;
    const Vec v = load_part(values + i, lanes, 0.0);
    low = min(low, v > 0.0 ? v : splat(kInfinity));
    high = max(high, v);
  }
  *least = min_of(low);
  *most = max_of(high);
}

void multiply(double* values, std::int64_t count, double factor) {
  for (std::int64_t i = 0; i < count; i += W) {
    const int lanes = count - i < W ? static_cast<int>(count - i) : W;
    store_part(values + i, lanes, load_part(values + i, lanes, 0.0) * splat(factor));
  }
}

}  // namespace

const ContractionKernels contraction = {
    .name = "contraction",
    .sum = run<Sum>,
    .best = run<Best>,
    .range = range,
    .multiply = multiply,
};

}  // namespace crfkit::CRFKIT_ARCH
