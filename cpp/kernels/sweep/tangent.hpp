// The Hessian of log Z times a direction, for one chain of order 1.
//
// Tangents of both sweeps (forward mode, Pearlmutter 1994), in log space, exact for any scores.
// With a the forward and b the backward logarithms, the tangent of a logarithm is the expectation
// of the tangents that it was made from,
//     da_t(j) = v_t(j) + sum_i P(i | j) (da_{t-1}(i) + V(i, j)),   P(i | j) ~ exp(a_{t-1}(i) + e(i,
//     j)),
// and that of a marginal m its covariance with the direction: dm_t(j) = m_t(j) (da_t(j) + db_t(j) -
// c), c the mean of da + db under m.  Rows of a, b, da and db are relative to their largest cell,
// so long sequences lose no digits.  Steps backwards have one exponential for each pair of labels,
// Q(j | i) ~ exp(e(i, j) + x_t(j) + b_t(j)), and the marginal of the pair is m_{t-1}(i) Q(j | i).
#pragma once

#include "kernels/sweep/structure.hpp"
#include "kernels/sweep/sweep.hpp"
#include "shared/problem.hpp"

namespace crfkit::CRFKIT_ARCH {

class Tangent {
 public:
  Tangent(const Problem& p, std::int64_t sequence, Tangents& task, Arena& arena)
      : p_(p),
        task_(task),
        L_(p.labels),
        step_(padded(L_)),
        begin_(p.seq_ptr[sequence]),
        length_(static_cast<int>(p.seq_ptr[sequence + 1] - begin_)),
        a_(arena.take<double>(static_cast<std::size_t>(length_) * step_)),
        da_(arena.take<double>(static_cast<std::size_t>(length_) * step_)),
        b_(arena.take<double>(step_)),
        db_(arena.take<double>(step_)),
        ahead_(arena.take<double>(step_)),
        dahead_(arena.take<double>(step_)),
        m_(arena.take<double>(step_)),
        q_(arena.take<double>(static_cast<std::size_t>(L_) * step_)) {}

  void run() {
    task_.value = task_.dot = 0.0;
    if (length_ == 0) return;
    const RowCount count(4 * std::int64_t{L_} * L_);  // exponentials
    for (int t = 0; t < length_;)
      for (const int end = t + count.next(length_ - t); t < end; ++t) pull(t);
    if (!finish()) return clear();
    for (int t = length_; t > 0;)
      for (const int end = t - count.next(t); t > end;) push(--t);
  }

 private:
  const double* score(int t) const { return p_.node + (begin_ + t) * L_; }
  const double* edge(int t) const { return p_.edge[0] + (begin_ + t) * p_.edge_step; }
  const double* along_node(int t) const { return task_.along.node + std::int64_t{t} * L_; }
  const double* along_edge(int t) const { return task_.along.edge + t * task_.along.edge_step; }

  void pull(int t) {
    double *a = a_ + std::int64_t{t} * step_, *da = da_ + std::int64_t{t} * step_;
    for (int j = 0; j < step_; j += W) {
      const int part = L_ - j;
      Vec x = load_part(score(t) + j, part, kZero), dx = load_part(along_node(t) + j, part, 0.0);
      if (t == 0) {
        x += load_part(p_.start + j, part, 0.0);
        dx += load_part(task_.along.start + j, part, 0.0);
      } else {
        step_into(t, j, &x, &dx);
      }
      if (t == length_ - 1) {
        x += load_part(p_.stop + j, part, 0.0);
        dx += load_part(task_.along.stop + j, part, 0.0);
      }
      store(a + j, x);
      store(da + j, x > kZero ? dx : Vec{});
    }
    double top, dtop;
    if (!lower(a, da, &top, &dtop)) return;
    offset_.add(top);
    doffset_.add(dtop);
  }

  // Adds log of the sum over sources, and its tangent, to W cells of row t.
  void step_into(int t, int j, Vec* x, Vec* dx) const {
    const double *from = a_ + std::int64_t{t - 1} * step_, *dfrom = from - a_ + da_;
    const double *e = edge(t) + j, *v = along_edge(t) + j;
    const int part = L_ - j;
    Vec top = splat(kZero), sum = {}, dsum = {};
    for (int i = 0; i < L_; ++i)
      top = max(top, from[i] + load_part(e + std::int64_t{i} * L_, part, kZero));
    const Vec anchor = top > kZero ? top : Vec{};
    for (int i = 0; i < L_; ++i) {
      const Vec w = exp(from[i] + load_part(e + std::int64_t{i} * L_, part, kZero) - anchor);
      sum += w;
      dsum += w > 0.0 ? w * (dfrom[i] + load_part(v + std::int64_t{i} * L_, part, 0.0)) : Vec{};
    }
    *x += anchor + log(sum);
    *dx += sum > 0.0 ? dsum / sum : Vec{};
  }

  // Makes a row relative to its largest cell; false where all are -inf.
  bool lower(double* x, double* dx, double* top, double* dtop) const {
    int best = 0;
    for (int j = 1; j < L_; ++j) best = x[j] > x[best] ? j : best;
    *top = x[best], *dtop = dx[best];
    if (*top == kZero) return false;
    for (int j = 0; j < step_; ++j) {
      x[j] = j < L_ ? x[j] - *top : kZero;
      dx[j] = x[j] > kZero ? dx[j] - *dtop : 0.0;
    }
    return true;
  }

  // log Z and the first product; false where nothing is allowed.
  bool finish() {
    const double *a = a_ + std::int64_t{length_ - 1} * step_, *da = a - a_ + da_;
    double z = 0.0, mean = 0.0;
    for (int j = 0; j < L_; ++j) {
      const double w = a[j] > kZero ? std::exp(a[j]) : 0.0;
      z += w;
      if (w > 0.0) mean += w * da[j];
    }
    if (z == 0.0) {
      task_.value = kZero;
      return false;
    }
    offset_.add(std::log(z));
    doffset_.add(mean / z);
    task_.value = offset_.value();
    task_.dot = doffset_.value();
    return true;
  }

  void clear() {
    for (std::int64_t c = 0; c < std::int64_t{length_} * L_; ++c) task_.made.node[c] = 0.0;
    for (std::int64_t c = 0; c < length_ * task_.made.edge_step; ++c) task_.made.edge[c] = 0.0;
  }

  // b and db of row t (the last row has those of stop, which `pull` took in already), then
  // products.
  void push(int t) {
    if (t == length_ - 1) {
      for (int j = 0; j < step_; ++j) b_[j] = db_[j] = 0.0;
    } else {
      step_back(t);
    }
    const double *a = a_ + std::int64_t{t} * step_, *da = a - a_ + da_;
    const double mean = weigh(a, da);
    double* node = task_.made.node + std::int64_t{t} * L_;
    for (int j = 0; j < L_; ++j) {
      node[j] = m_[j] > 0.0 ? task_.weight * m_[j] * (da[j] + db_[j] - mean) : 0.0;
      if (t == 0) task_.made.start[j] += node[j];
      if (t == length_ - 1) task_.made.stop[j] += node[j];
    }
    if (t < length_ - 1) push_edges(t + 1, da, mean);
    double top, dtop;
    lower(b_, db_, &top, &dtop);
    for (int j = 0; j < step_; j += W) {  // what the row before steps into
      const int part = L_ - j;
      Vec x = load(b_ + j) + load_part(score(t) + j, part, kZero);
      Vec dx = load(db_ + j) + load_part(along_node(t) + j, part, 0.0);
      if (t == length_ - 1) {
        x += load_part(p_.stop + j, part, 0.0);
        dx += load_part(task_.along.stop + j, part, 0.0);
      }
      store(ahead_ + j, x);
      store(dahead_ + j, x > kZero ? dx : Vec{});
    }
  }

  // b(i) = log sum_j exp(e(i, j) + ahead(j)) of row t, its tangent, and Q in q_.
  void step_back(int t) {
    const double *e = edge(t + 1), *v = along_edge(t + 1);
    for (int i = 0; i < L_; ++i) {
      double* q = q_ + std::int64_t{i} * step_;
      Vec high = splat(kZero), sum = {}, dsum = {};
      for (int j = 0; j < step_; j += W) {
        const Vec x = load_part(e + std::int64_t{i} * L_ + j, L_ - j, kZero) + load(ahead_ + j);
        store(q + j, x);
        high = max(high, x);
      }
      const double top = max_of(high), anchor = top > kZero ? top : 0.0;
      for (int j = 0; j < step_; j += W) {
        const Vec w = exp(load(q + j) - anchor);
        const Vec d = load(dahead_ + j) + load_part(v + std::int64_t{i} * L_ + j, L_ - j, 0.0);
        store(q + j, w);
        sum += w;
        dsum += w > 0.0 ? w * d : Vec{};
      }
      const double z = sum_of(sum);
      b_[i] = z > 0.0 ? anchor + std::log(z) : kZero;
      db_[i] = z > 0.0 ? sum_of(dsum) / z : 0.0;
      const double share = z > 0.0 ? 1.0 / z : 0.0;
      for (int j = 0; j < step_; j += W) store(q + j, load(q + j) * share);
    }
  }

  // Marginals of a row, and the mean of the tangents under them.
  double weigh(const double* a, const double* da) {
    double top = kZero, z = 0.0, mean = 0.0;
    for (int j = 0; j < L_; ++j) top = a[j] + b_[j] > top ? a[j] + b_[j] : top;
    for (int j = 0; j < L_; ++j) {
      m_[j] = a[j] + b_[j] > kZero ? std::exp(a[j] + b_[j] - top) : 0.0;
      z += m_[j];
      if (m_[j] > 0.0) mean += m_[j] * (da[j] + db_[j]);
    }
    for (int j = 0; j < L_; ++j) m_[j] /= z;
    return mean / z;
  }

  // Products of the step into row t from the row before, whose tangents are `da`.
  void push_edges(int t, const double* da, double mean) {
    const double* v = along_edge(t);
    double* out = task_.made.edge + t * task_.made.edge_step;
    const bool add = task_.made.edge_step == 0;
    for (int i = 0; i < L_; ++i) {
      const double m = task_.weight * m_[i], d = da[i] - mean;
      double* row = out + std::int64_t{i} * task_.made.edge_row;
      for (int j = 0; j < step_; j += W) {
        const int part = L_ - j;
        const Vec q = load(q_ + std::int64_t{i} * step_ + j) * m;
        const Vec tangent =
            load(dahead_ + j) + load_part(v + std::int64_t{i} * L_ + j, part, 0.0) + d;
        const Vec product = q != 0.0 ? q * tangent : Vec{};
        store_part(row + j, part, add ? load_part(row + j, part, 0.0) + product : product);
      }
    }
  }

  const Problem& p_;
  Tangents& task_;
  int L_, step_;
  std::int64_t begin_;
  int length_;
  double *a_, *da_;          // [T, step]
  double *b_, *db_;          // [step] of the present row
  double *ahead_, *dahead_;  // [step] scores of the row behind it, b included, and their tangents
  double* m_;                // [step]
  double* q_;                // [L, step]
  Offset offset_, doffset_;
};

}  // namespace crfkit::CRFKIT_ARCH
