// Compiled once per instruction set: sequences of slices, summed in lanes.
//
// A message is a number for each state and lane, [states, lanes], right-aligned: all lanes end
// together.  Going to the next slice is a product with a small matrix for each axis, one axis after
// the other, of all lanes at once:
//   z = a[r-1] M_1 ... M_k,   a[r] = z * local_r * 2^-e     (e: exponent of the largest of a[r-1])
// and marginals are the way back, with b the derivative of the sum of weighted log Z by a:
//   marginals of states = a b,   of M_i += (a[r-1] M_1 ... M_{i-1})' g_i M_i,   g_{i-1} = g_i M_i'
//
// Exact without logarithms?  Let R be the sum of the ranges of all scores that meet in a step.  The
// largest number of a[r-1] is scaled to 1, so that without forbidden parts every number of a is at
// least exp(-R), and every product on the way at least exp(-2 R).  With forbidden parts the
// smallest number above 0 is watched.  On the way back a b never exceeds the weight, and what
// underflows is nothing beside it.
#include "shared/slices.hpp"

#include "kernels/graph/slice_tables.hpp"
#include "kernels/simd/simd.hpp"
#include "shared/interrupts.hpp"

namespace crfkit::CRFKIT_ARCH {
namespace {

using namespace slice;

constexpr double kRange = 300.0;  // of R, above
constexpr double kLog2 = 0.693147180559945309417;

// ---- one sweep

class Sweep {
 public:
  Sweep(const Factors& f, const SliceFamily& family, const double* prepared,
        const SliceLanes& lanes, double* memory)
      : f_(f), family_(family), p_(places(family, prepared)), lanes_(lanes) {
    rows_ = lanes.length[0];
    for (int r = 0; r < family.roles; ++r)
      if (!family.role[r].shared) own_cells_ += family.role[r].cells;
    size_ = family.states * B;
    const auto take = [&](std::int64_t n) {
      double* piece = memory;
      memory += n;
      return piece;
    };
    alpha_ = take(rows_ * size_), own_ = take(rows_ * own_cells_ * B);
    factor_ = take(rows_ * B);
    for (int i = 0; i < 2; ++i) buffer_[i] = take(size_);
    inner_ = take((family.axes - 1) * size_);
    adjoint_ = take(size_), marginal_ = take(own_cells_ * B);
    sums_ = take(sums(family)), panel_ = take(panel(family));
  }

  static std::int64_t memory(const SliceFamily& family, std::int64_t longest) {
    std::int64_t own = 0;
    for (int r = 0; r < family.roles; ++r)
      if (!family.role[r].shared) own += family.role[r].cells;
    return longest * (family.states + own + 1) * B + (family.axes + 2) * family.states * B +
           own * B + sums(family) + panel(family);
  }

  void forward() {
    for (int v = 0; v < NV; ++v) highest_[v] = Vec{}, smallest_[v] = splat(kInfinity);
    for (std::int64_t r = 0; r < rows_; ++r) {
      worked(row_work());
      fill_own(r);
      const double* z = nullptr;
      for (int i = 0; r > 0 && i < family_.axes; ++i) {
        double* to = buffer_[i % 2];
        apply(family_.axis[i], p_.forth[i], i ? z : alpha_ + (r - 1) * size_, to, panel_);
        z = to;
      }
      scale(r);
      multiply(r, z);
    }
    finish();
  }

  void reverse(const SliceGradient& out) {
    for (std::int64_t i = 0; i < sums(family_); ++i) sums_[i] = 0.0;
    for (std::int64_t s = 0; s < family_.states; ++s)
      for (int b = 0; b < B; ++b) adjoint_[s * B + b] = last_[b];
    for (std::int64_t r = rows_; r-- > 0;) {
      worked(row_work());
      double *g = buffer_[0], *other = buffer_[1];
      meet(r, g);
      give_own(r, out);
      if (r == 0) break;
      const double* y[kSliceAxes] = {alpha_ + (r - 1) * size_};
      for (int i = 1; i < family_.axes; ++i) {
        double* to = inner_ + (i - 1) * size_;
        apply(family_.axis[i - 1], p_.forth[i - 1], y[i - 1], to, panel_);
        y[i] = to;
      }
      double* sum = sums_ + family_.states * W + matrices() * W;
      for (int i = family_.axes; i-- > 0;) {
        const std::int64_t n = family_.axis[i].width;
        sum -= n * n * W;
        add_outer(family_.axis[i], y[i], g, sum);
        double* to = i == 0 ? adjoint_ : other;
        apply(family_.axis[i], p_.back[i], g, to, panel_);
        other = g, g = to;
      }
    }
    give_shared(out);
  }

 private:
  std::int64_t row_work() const { return size_ * family_.axes; }

  std::int64_t matrices() const {
    std::int64_t size = 0;
    for (int i = 0; i < family_.axes; ++i)
      size += std::int64_t{family_.axis[i].width} * family_.axis[i].width;
    return size;
  }
  static std::int64_t sums(const SliceFamily& family) {
    std::int64_t size = family.states;
    for (int i = 0; i < family.axes; ++i)
      size += std::int64_t{family.axis[i].width} * family.axis[i].width;
    return size * W;
  }
  static std::int64_t panel(const SliceFamily& family) {
    return std::int64_t{family.axis[family.axes - 1].width} * kAcross * W;  // the widest is last
  }
  // Slice of a lane in row r; below 0: it has not begun.
  std::int64_t slice(int b, std::int64_t r) const {
    return b < lanes_.count ? r - (rows_ - lanes_.length[b]) : -1;
  }
  std::int64_t factor(int b, std::int64_t t, int role) const {
    return t < 0 ? -1 : family_.factor[(lanes_.begin[b] + t) * family_.roles + role];
  }

  // Numbers of the factors that each slice has for itself: the largest of each is 1.
  void fill_own(std::int64_t r) {
    double* to = own_ + r * own_cells_ * B;
    for (int role = 0; role < family_.roles; ++role) {
      const SliceRole& mine = family_.role[role];
      if (mine.shared) continue;
      const FactorGroup& group = f_.group[mine.group];
      for (int b = 0; b < B; ++b) {
        const std::int64_t m = factor(b, slice(b, r), role);
        if (m < 0) {
          for (std::int32_t c = 0; c < mine.cells; ++c) to[c * B + b] = 0.0;
          continue;
        }
        const double* scores = group.scores(m);
        const double by = group.scale_of(m);
        for (std::int32_t c = 0; c < mine.cells; ++c) to[c * B + b] = by * scores[c];
      }
      for (int v = 0; v < NV; ++v) {
        double* x = to + v * W;
        Vec most = splat(kZero), least = splat(kInfinity);
        VecInt holes = {};
        for (std::int32_t c = 0; c < mine.cells; ++c) {
          const Vec one = load(x + c * B);
          most = max(most, one);
          holes |= one == kZero;
          least = min(least, one > kZero ? one : splat(kInfinity));
        }
        const VecInt none = most == kZero;
        most = none ? Vec{} : most;
        least = none ? Vec{} : least;
        range_[role][v] = max(r ? range_[role][v] : Vec{}, most - least);
        holes_[v] |= holes;
        for (int b = 0; b < W; ++b) peak_[v * W + b].add(most[b]);
        for (std::int32_t c = 0; c < mine.cells; ++c) store(x + c * B, exp(load(x + c * B) - most));
      }
      to += mine.cells * B;
    }
  }

  // 2^-e of each lane, for the exponent e of the largest number of the row before.
  void scale(std::int64_t r) {
    for (int v = 0; v < NV; ++v) {
      const VecInt bits = (VecInt)highest_[v] >> 52;
      const VecInt none = highest_[v] == 0.0;
      const VecInt e = none ? VecInt{} : bits - 1023;
      exponent_[v] += e;
      store(factor_ + r * B + v * W, (Vec)((1023 - e) << 52));
    }
  }

  // Rows of the factors of a slice for one state.
  int own_rows(std::int64_t s, const double* own, const double** at) const {
    int count = 0;
    for (int role = 0; role < family_.roles; ++role) {
      const SliceRole& mine = family_.role[role];
      if (mine.shared) continue;
      at[count++] = own + mine.at[s] * B;
      own += mine.cells * B;
    }
    return count;
  }

  void multiply(std::int64_t r, const double* z) {
    const double* own = own_ + r * own_cells_ * B;
    double* to = alpha_ + r * size_;
    const double* at[kMostRoles];
    Vec begins[NV], by[NV];
    for (int v = 0; v < NV; ++v) {
      for (int b = 0; b < W; ++b) begins[v][b] = slice(v * W + b, r) == 0 ? 1.0 : 0.0;
      by[v] = load(factor_ + r * B + v * W);
    }
    Vec high[NV];
    for (int v = 0; v < NV; ++v) high[v] = Vec{};
    for (std::int64_t s = 0; s < family_.states; ++s) {
      const int count = own_rows(s, own, at);
      Vec x[NV];
      for (int v = 0; v < NV; ++v) x[v] = (splat(p_.local[s]) * by[v]) * begins[v];
      if (z)
        for (int v = 0; v < NV; ++v) x[v] += (splat(p_.local[s]) * by[v]) * load(z + s * B + v * W);
      for (int i = 0; i < count; ++i)
        for (int v = 0; v < NV; ++v) x[v] *= load(at[i] + v * W);
      for (int v = 0; v < NV; ++v) {
        high[v] = max(high[v], x[v]);
        store(to + s * B + v * W, x[v]);
      }
    }
    for (int v = 0; v < NV; ++v) highest_[v] = high[v];
    if (p_.holes == 0.0 && !has_holes()) return;
    for (std::int64_t s = 0; s < family_.states; ++s)
      for (int v = 0; v < NV; ++v) {
        const Vec x = load(to + s * B + v * W);
        smallest_[v] = min(smallest_[v], x > 0.0 ? x : splat(kInfinity));
      }
  }

  bool has_holes() const {
    for (int v = 0; v < NV; ++v)
      for (int b = 0; b < W; ++b)
        if (holes_[v][b]) return true;
    return false;
  }

  void finish() {
    const double* a = alpha_ + (rows_ - 1) * size_;
    Vec total[NV] = {};
    for (std::int64_t s = 0; s < family_.states; ++s)
      for (int v = 0; v < NV; ++v) total[v] += load(a + s * B + v * W);
    for (int b = 0; b < B; ++b) last_[b] = 0.0;
    for (int b = 0; b < lanes_.count; ++b) {
      const int v = b / W, j = b % W;
      double range = p_.range;
      for (int role = 0; role < family_.roles; ++role)
        if (!family_.role[role].shared) range += range_[role][v][j];
      const double z = total[v][j];
      const bool holes = p_.holes != 0.0 || holes_[v][j];
      const bool exact =
          z > 0.0 && range < kRange && (!holes || std::log(smallest_[v][j]) > range - 690.0);
      lanes_.lost[b] = !exact;
      lanes_.value[b] = 0.0;
      if (!exact) continue;
      const double n = lanes_.length[b];
      peak_[b].add(n * p_.local_peak);
      peak_[b].add((n - 1.0) * p_.step_peak);
      peak_[b].add(static_cast<double>(exponent_[v][j]) * kLog2);
      peak_[b].add(std::log(z));
      lanes_.value[b] = peak_[b].value();
      last_[b] = lanes_.weight ? lanes_.weight[b] / z : 0.0;
    }
  }

  // Marginals of states a b, added up for factors; and g, the derivative by z.
  void meet(std::int64_t r, double* g) {
    const double *own = own_ + r * own_cells_ * B, *a = alpha_ + r * size_;
    const double* at[kMostRoles];
    for (std::int64_t i = 0; i < own_cells_ * B; ++i) marginal_[i] = 0.0;
    Vec by[NV];
    for (int v = 0; v < NV; ++v) by[v] = load(factor_ + r * B + v * W);
    for (std::int64_t s = 0; s < family_.states; ++s) {
      const int count = own_rows(s, own, at);
      Vec p[NV], down[NV], total = {};
      for (int v = 0; v < NV; ++v) {
        const Vec x = load(a + s * B + v * W), y = load(adjoint_ + s * B + v * W);
        const VecInt some = x > 0.0;
        p[v] = some ? x * y : Vec{};
        down[v] = some ? y * (splat(p_.local[s]) * by[v]) : Vec{};
        total += p[v];
      }
      for (int i = 0; i < count; ++i) {
        double* m = marginal_ + (at[i] - own);
        for (int v = 0; v < NV; ++v) {
          down[v] *= load(at[i] + v * W);
          store(m + v * W, load(m + v * W) + p[v]);
        }
      }
      for (int v = 0; v < NV; ++v) store(g + s * B + v * W, down[v]);
      store(sums_ + s * W, load(sums_ + s * W) + total);
    }
  }

  void give_own(std::int64_t r, const SliceGradient& out) const {
    const double* from = marginal_;
    for (int role = 0; role < family_.roles; ++role) {
      const SliceRole& mine = family_.role[role];
      if (mine.shared) continue;
      for (int b = 0; b < lanes_.count; ++b) {
        const std::int64_t m = factor(b, slice(b, r), role);
        if (m < 0 || lanes_.lost[b]) continue;
        if (out.pooled[mine.group] >= 0) {
          double* to = out.sums + out.pooled[mine.group];
          for (std::int32_t c = 0; c < mine.cells; ++c) to[c] += from[c * B + b];
        } else {
          double* to = out.row[mine.group] + m * mine.cells;
          const double by = f_.group[mine.group].scale_of(m);
          for (std::int32_t c = 0; c < mine.cells; ++c) to[c] = by * from[c * B + b];
        }
      }
      from += mine.cells * B;
    }
  }

  void give_shared(const SliceGradient& out) const {
    for (std::int64_t s = 0; s < family_.states; ++s) {
      const double total = sum_of(load(sums_ + s * W));
      for (int role = 0; role < family_.roles; ++role) {
        const SliceRole& mine = family_.role[role];
        if (mine.shared) out.sums[out.pooled[mine.group] + mine.at[s]] += total;
      }
    }
    const double* sum = sums_ + family_.states * W;
    for (int i = 0; i < family_.axes; ++i) {
      const SliceAxis& axis = family_.axis[i];
      const std::int64_t n = axis.width;
      for (std::int64_t c = 0; c < n * n; ++c, sum += W) {
        const double total = p_.matrix[i][c] > 0.0 ? sum_of(load(sum)) * p_.matrix[i][c] : 0.0;
        for (int g = 0; g < axis.groups; ++g) out.sums[out.pooled[axis.group[g]] + c] += total;
      }
    }
  }

  static constexpr int kMostRoles = kSliceRoles;
  const Factors& f_;
  const SliceFamily& family_;
  const PreparedSlices p_;
  const SliceLanes& lanes_;
  std::int64_t rows_, own_cells_ = 0, size_;
  double *alpha_, *own_, *factor_, *buffer_[2], *inner_, *adjoint_, *marginal_, *sums_, *panel_;
  Vec highest_[NV], smallest_[NV], range_[kMostRoles][NV];
  VecInt exponent_[NV] = {}, holes_[NV] = {};
  Offset peak_[B];
  double last_[B];
};

void sweep(const Factors& f, const SliceFamily& family, const double* prepared,
           const SliceLanes& lanes, const SliceGradient* gradient, double* memory) {
  Sweep one(f, family, prepared, lanes, memory);
  one.forward();
  if (gradient) one.reverse(*gradient);
}

}  // namespace

const SliceKernels slices = {
    .prepared_size = prepared_size,
    .prepare = prepare,
    .memory = Sweep::memory,
    .sweep = sweep,
};

}  // namespace crfkit::CRFKIT_ARCH
