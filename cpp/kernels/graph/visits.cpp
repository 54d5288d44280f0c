// Compiled once per instruction set: visits of variables, maxima.
//
// A visit takes the max-marginals of factors, adds them up and gives shares of the sum back:
// Kolmogorov (2006) for pairs, Kolmogorov (2015) for any number of variables.  Which factors are
// asked, and who gets which share, is decided by the engine (graph/visits/visits.hpp).
#include "shared/visits.hpp"

#include "kernels/simd/simd.hpp"

namespace crfkit::CRFKIT_ARCH {
namespace {

std::int64_t whole(std::int64_t n) { return (n + W - 1) / W * W; }

// out[x] = max over y of scale lines[y, x] + given[y], C vectors of x at a time.
template <int C, bool Scaled>
void lines_max(const double* lines, std::int64_t step, std::int64_t others, double scale,
               const double* given, double* out) {
  Vec best[C];
  for (int c = 0; c < C; ++c) best[c] = splat(kZero);
  for (std::int64_t y = 0; y < others; ++y) {
    const Vec from = splat(given[y]);
    for (int c = 0; c < C; ++c) {
      const Vec line = load(lines + y * step + c * W);
      best[c] = max(best[c], (Scaled ? line * scale : line) + from);
    }
  }
  for (int c = 0; c < C; ++c) store(out + c * W, best[c]);
}

template <bool Scaled>
void pair_max(const double* lines, std::int64_t step, std::int64_t others, double scale,
              const double* given, double* out) {
  std::int64_t x = 0;
  for (; x + 6 * W <= step; x += 6 * W)
    lines_max<6, Scaled>(lines + x, step, others, scale, given, out + x);
  for (; x + 3 * W <= step; x += 3 * W)
    lines_max<3, Scaled>(lines + x, step, others, scale, given, out + x);
  for (; x < step; x += W) lines_max<1, Scaled>(lines + x, step, others, scale, given, out + x);
}

double row_max(const double* row, std::int64_t n) {
  Vec best = splat(kZero);
  for (std::int64_t x = 0; x < n; x += W) best = max(best, load(row + x));
  return max_of(best);
}

// out[x] = max over y of given[y] + base - min(slope |x - y|, cap), in time that grows with the
// labels and not their square (Felzenszwalb & Huttenlocher 2006).
void ramp_max(double base, double slope, double cap, const double* given, std::int64_t n,
              std::int64_t padded, double* out) {
  for (std::int64_t x = 0; x < padded; ++x) out[x] = x < n ? given[x] : kZero;
  const double least = row_max(out, padded) - cap;
  for (std::int64_t x = 1; x < n; ++x)
    out[x] = out[x - 1] - slope > out[x] ? out[x - 1] - slope : out[x];
  for (std::int64_t x = n - 1; x-- > 0;)
    out[x] = out[x + 1] - slope > out[x] ? out[x + 1] - slope : out[x];
  for (std::int64_t x = 0; x < n; ++x) out[x] = (out[x] > least ? out[x] : least) + base;
}

// Cells of a factor of any size.  Places before `number` in the order of visits have labels, if
// `labeled`; the others run through all labels and add what was given.
struct Cells {
  const Visits& v;
  const VisitGroup& g;
  const VisitEntry& e;  // whose row is filled
  bool labeled;
  std::int64_t number;
  double scale;

  bool pinned(int a) const { return labeled && g.factors.variables(e.factor)[a] < number; }
  const double* given(int a) const { return v.given + e.given + g.row[a]; }
  std::int32_t label(int a) const { return v.label[g.factors.variables(e.factor)[a]]; }

  // out[x] = max over the cells with label x at the place
  void fill(double* out) const {
    const std::int64_t own = whole(g.factors.shape[e.axis]);
    for (std::int64_t x = 0; x < own; ++x) out[x] = kZero;
    walk(0, g.factors.scores(e.factor), 0, 0.0, out);
  }

 private:
  void walk(int a, const double* cells, std::int64_t own, double sum, double* out) const {
    const int last = g.factors.arity - 1;
    if (a == last) return line(cells, own, sum, out);
    std::int64_t step = 1;
    for (int b = a + 1; b <= last; ++b) step *= g.factors.shape[b];
    if (a == e.axis) {
      for (std::int32_t x = 0; x < g.factors.shape[a]; ++x)
        walk(a + 1, cells + x * step, x, sum, out);
    } else if (pinned(a)) {
      walk(a + 1, cells + label(a) * step, own, sum, out);
    } else {
      const double* more = given(a);
      for (std::int32_t x = 0; x < g.factors.shape[a]; ++x)
        if (more[x] > kZero) walk(a + 1, cells + x * step, own, sum + more[x], out);
    }
  }

  void line(const double* cells, std::int64_t own, double sum, double* out) const {
    const int last = g.factors.arity - 1;
    const int n = g.factors.shape[last];
    if (last == e.axis) {
      // The last vector overlaps the one before: a maximum may be taken twice.
      for (int x = 0; n >= W && x < n; x += W) {
        const int at = x + W <= n ? x : n - W;
        store(out + at, max(load(out + at), load(cells + at) * scale + sum));
      }
      for (int x = 0; n < W && x < n; ++x) {
        const double score = cells[x] * scale + sum;
        out[x] = score > out[x] ? score : out[x];
      }
      return;
    }
    double best = kZero;
    if (pinned(last)) {
      best = cells[label(last)] * scale;
    } else {
      const double* more = given(last);
      if (n >= W) {
        Vec most = splat(kZero);
        for (int x = 0; x < n; x += W) {
          const int at = x + W <= n ? x : n - W;
          most = max(most, load(cells + at) * scale + load(more + at));
        }
        best = max_of(most);
      }
      for (int x = 0; n < W && x < n; ++x) {
        const double score = cells[x] * scale + more[x];
        best = score > best ? score : best;
      }
    }
    out[own] = best + sum > out[own] ? best + sum : out[own];
  }
};

std::int64_t table_of(const VisitGroup& g, std::int64_t m) {
  return g.each ? m : g.factors.table_of(m);
}

const double* lines_of(const VisitGroup& g, std::int64_t m, int axis) {
  return g.lines + table_of(g, m) * g.lines_size + g.lines_at[axis];
}

// The largest score of the factor for each label of the variable, but for what it has given itself.
void pull(const Visits& v, const VisitEntry& e, double* out) {
  const VisitGroup& g = v.group[e.group];
  const double scale = g.factors.scale_of(e.factor);
  if (!g.lines) return Cells{v, g, e, false, 0, scale}.fill(out);
  const std::int64_t own = whole(g.factors.shape[e.axis]), others = g.factors.shape[1 - e.axis];
  const double* given = v.given + e.given + g.row[1 - e.axis];
  if (g.equal) {
    const double* equal = g.equal + table_of(g, e.factor) * own;
    const Vec apart = splat(row_max(given, own) + g.unequal[table_of(g, e.factor)] * scale);
    for (std::int64_t x = 0; x < own; x += W)
      store(out + x, max(load(equal + x) * scale + load(given + x), apart));
    return;
  }
  if (g.ramp) {
    const double* ramp = g.ramp + 3 * table_of(g, e.factor);
    return ramp_max(ramp[0] * scale, ramp[1] * scale, ramp[2] * scale, given, others, own, out);
  }
  const double* lines = lines_of(g, e.factor, e.axis);
  if (g.factors.scale)
    pair_max<true>(lines, own, others, scale, given, out);
  else
    pair_max<false>(lines, own, others, scale, given, out);
}

// The label that is best given the labels of variables before this one, and what the factors of
// later ones say.
void choose(const Visits& v, std::int64_t i, double* sum, double* row) {
  const std::int64_t n = whole(v.width[i]);
  const double* left = v.left + v.row[i];
  for (std::int64_t x = 0; x < n; x += W) store(sum + x, load(left + x));
  for (std::int64_t k = v.ptr[i]; k < v.ptr[i + 1]; ++k) {
    const VisitEntry& e = v.entry[k];
    const VisitGroup& g = v.group[e.group];
    const std::int32_t* scope = g.factors.variables(e.factor);
    bool before = false;
    for (int a = 0; a < g.factors.arity; ++a) before |= scope[a] < i;
    if (!before) {
      const double* given = v.given + e.given + g.row[e.axis];
      for (std::int64_t x = 0; x < n; x += W) store(sum + x, load(sum + x) - load(given + x));
      continue;
    }
    const double scale = g.factors.scale_of(e.factor);
    if (g.lines) {
      const double* scores = lines_of(g, e.factor, e.axis) + v.label[scope[1 - e.axis]] * n;
      for (std::int64_t x = 0; x < n; x += W)
        store(sum + x, load(sum + x) + load(scores + x) * scale);
      continue;
    }
    Cells{v, g, e, true, i, scale}.fill(row);
    for (std::int64_t x = 0; x < n; x += W) store(sum + x, load(sum + x) + load(row + x));
  }
  std::int32_t best = -1;
  for (std::int32_t x = 0; x < v.width[i]; ++x)
    if (left[x] > kZero && (best < 0 || sum[x] > sum[best])) best = x;
  v.label[i] = best < 0 ? 0 : best;
}

void visit(const Visits& v, const VisitPass& pass, std::int64_t i, double* scratch) {
  const std::int64_t n = whole(v.width[i]), first = v.ptr[i], last = v.ptr[i + 1];
  double *sum = scratch, *row = scratch + n, *pulled = scratch + 2 * n;
  if (pass.label) choose(v, i, sum, row);
  double* left = v.left + v.row[i];
  const Vec shift = splat(v.shift[i]);
  for (std::int64_t x = 0; x < n; x += W) store(sum + x, load(left + x) - shift);
  for (std::int64_t k = first; k < last; ++k) {
    const VisitEntry& e = v.entry[k];
    double* mine = pulled + (k - first) * n;
    if (pass.pull[k]) {
      pull(v, e, mine);
    } else {  // what it would be, had nothing changed
      const VisitGroup& g = v.group[e.group];
      const double* given = v.given + e.given + g.row[e.axis];
      for (std::int64_t x = 0; x < n; x += W) store(mine + x, -load(given + x));
    }
    for (std::int64_t x = 0; x < n; x += W) store(sum + x, load(sum + x) + load(mine + x));
  }
  // An impossible label stays impossible: what was given for it is -inf, which must not be
  // subtracted.
  Vec most = splat(kZero);
  for (std::int64_t x = 0; x < n; x += W) {
    const Vec was = load(left + x), score = load(sum + x);
    const Vec now = was > splat(kZero) && score > splat(kZero) ? score : splat(kZero);
    store(left + x, now > splat(kZero) ? was : splat(kZero));
    store(sum + x, now);
    most = max(most, now);
  }
  const double top = max_of(most);
  v.shift[i] += top;
  const Vec down = splat(top > kZero ? top : 0.0);
  for (std::int64_t k = first; k < last; ++k) {
    const VisitEntry& e = v.entry[k];
    const VisitGroup& g = v.group[e.group];
    if (!pass.pull[k] && pass.push[k] == 0.0) continue;
    const Vec share = splat(pass.push[k]);
    const double* mine = pulled + (k - first) * n;
    double* given = v.given + e.given + g.row[e.axis];
    for (std::int64_t x = 0; x < n; x += W) {
      const Vec score = load(sum + x);
      const Vec back = (score - down) * share - load(mine + x);
      store(given + x, score > splat(kZero) ? back : splat(kZero));
    }
  }
}

void visit_all(const Visits& v, const VisitPass& pass, std::int64_t first, std::int64_t last,
               double* scratch) {
  for (std::int64_t i = first; i < last; ++i)
    if (pass.active[i]) visit(v, pass, i, scratch);
}

// Adds the scores of a factor for each label of a variable, given all others; -inf is counted.
void add_given_others(const Visits& v, const VisitEntry& e, double* sum, double* forbidden) {
  const VisitGroup& g = v.group[e.group];
  const std::int32_t* scope = g.factors.variables(e.factor);
  const double scale = g.factors.scale_of(e.factor);
  if (g.lines) {
    const std::int64_t n = whole(g.factors.shape[e.axis]);
    const double* scores = lines_of(g, e.factor, e.axis) + v.label[scope[1 - e.axis]] * n;
    for (std::int64_t x = 0; x < n; x += W) {
      const Vec score = load(scores + x) * scale;
      store(sum + x, load(sum + x) + (score > splat(kZero) ? score : Vec{}));
      store(forbidden + x, load(forbidden + x) + (score > splat(kZero) ? Vec{} : splat(1.0)));
    }
    return;
  }
  const double* cells = g.factors.scores(e.factor);
  std::int64_t step = 1, own = 1;
  for (int a = g.factors.arity - 1; a >= 0; --a) {
    if (a == e.axis)
      own = step;
    else
      cells += v.label[scope[a]] * step;
    step *= g.factors.shape[a];
  }
  for (std::int64_t x = 0; x < g.factors.shape[e.axis]; ++x) {
    const double score = cells[x * own] * scale;
    if (score > kZero)
      sum[x] += score;
    else
      forbidden[x] += 1.0;
  }
}

std::int64_t improve(const Visits& v, const std::uint8_t* active, std::int64_t first,
                     std::int64_t last, double* scratch) {
  std::int64_t changed = 0;
  for (std::int64_t i = first; i < last; ++i) {
    if (!active[i]) continue;
    const std::int64_t n = v.width[i];
    double *sum = scratch, *forbidden = scratch + whole(n);
    const double* own = v.own + v.row[i];
    for (std::int64_t x = 0; x < n; ++x) {
      sum[x] = own[x] > kZero ? own[x] : 0.0;
      forbidden[x] = own[x] > kZero ? 0.0 : 1.0;
    }
    for (std::int64_t k = v.ptr[i]; k < v.ptr[i + 1]; ++k)
      add_given_others(v, v.entry[k], sum, forbidden);
    std::int64_t best = v.label[i];
    for (std::int64_t x = 0; x < n; ++x)
      if (forbidden[x] < forbidden[best] || (forbidden[x] == forbidden[best] && sum[x] > sum[best]))
        best = x;
    changed += best != v.label[i];
    v.label[i] = static_cast<std::int32_t>(best);
  }
  return changed;
}

}  // namespace

const VisitKernels visits = {
    .lanes = W,
    .pass = visit_all,
    .improve = improve,
};

}  // namespace crfkit::CRFKIT_ARCH
