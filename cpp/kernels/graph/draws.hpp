// Gibbs draws of single variables: lanes are variables of one class, which share no factor.
#pragma once

#include "kernels/graph/local_scores.hpp"
#include "kernels/simd/random.hpp"

namespace crfkit::CRFKIT_ARCH {

inline std::uint64_t key_of(const Drawing& d) { return mix(mix(mix(d.seed) + d.chain) + d.sweep); }

inline double random_at(std::uint64_t key, std::int64_t p) {
  return uniform_of(mix(key + static_cast<std::uint64_t>(p) * 0xd1342543de82ef95ULL));
}

inline void watch(Watched& sums, std::int64_t p, double score, std::int32_t label) {
  sums.score += score;
  sums.label += label;
  sums.sign += mix(static_cast<std::uint64_t>(p)) & 1 ? label : -label;
}

// Adds probabilities [n], `step` apart, to the marginals of a variable and of the factors that it
// is the first variable of.
inline void add_marginals(const BlockVisits& v, const Drawing& d, std::int64_t p,
                          const double* chance, int step) {
  const int n = v.width[p];
  for (int l = 0; l < n; ++l) d.node[v.at[p] + l] += chance[l * step];
  if (!d.cliques) return;
  for (std::int64_t i = v.local_ptr[p]; i < v.local_ptr[p + 1]; ++i) {
    const LocalFactor& local = v.local[i];
    if (!local.clique) continue;
    std::int64_t cells = 1;  // of the others, which lie before the axis of this variable
    const std::int64_t cell = cell_of(v, local, d.label) / n;
    cells *= v.width[local.next.position];
    for (std::int32_t k = 0; k < local.more; ++k)
      cells *= v.width[v.other[local.rest + k].position];
    double* out = local.clique + d.shift + cell;  // [n, cells]
    for (int l = 0; l < n; ++l) out[l * cells] += chance[l * step];
  }
}

// Index drawn with probability proportional to chance[i * step], below `n`; the last possible one
// if rounding leads beyond it.
inline std::int32_t pick(const double* chance, int n, int step, double rest) {
  std::int32_t last = 0;
  for (int l = 0; l < n; ++l) {
    const double p = chance[l * step];
    if (p > 0.0) {
      last = l;
      if (rest < p) return l;
      rest -= p;
    }
  }
  return last;
}

// Positions [p, p + count), all with L labels; score and chance: [labels, W].
template <int L>
inline void draw_lanes(const BlockVisits& v, const Drawing& d, std::uint64_t key, std::int64_t p,
                       int count, double* score, double* chance, Watched& sums) {
  const int n = L ? L : v.width[p];
  for (int lane = 0; lane < count; ++lane) local_scores<L>(v, p + lane, d.label, W, score + lane);
  Vec top = splat(kZero), total = {};
  for (int l = 0; l < n; ++l) top = max(top, load(score + l * W));
  if (d.cold == kInfinity) {
    for (int lane = 0; lane < count; ++lane) {
      int best = 0;
      while (best + 1 < n && score[best * W + lane] != top[lane]) ++best;
      d.label[p + lane] = best;
      watch(sums, p + lane, score[best * W + lane], best);
    }
    return;
  }
  for (int l = 0; l < n; ++l) {
    const Vec e = exp(d.cold * (load(score + l * W) - top));
    store(chance + l * W, e);
    total += e;
  }
  for (int lane = 0; lane < count; ++lane) {
    const std::int32_t drawn = pick(chance + lane, n, W, random_at(key, p + lane) * total[lane]);
    d.label[p + lane] = drawn;
    watch(sums, p + lane, score[drawn * W + lane], drawn);
  }
  if (!d.node) return;
  for (int l = 0; l < n; ++l) store(chance + l * W, load(chance + l * W) / total);
  for (int lane = 0; lane < count; ++lane) add_marginals(v, d, p + lane, chance + lane, W);
}

// Blocks of one variable each: block = position.  scratch: 2 x W x labels.
inline Watched draw(const BlockVisits& v, const Drawing& d, std::int64_t first, std::int64_t last,
                    double* scratch) {
  const std::uint64_t key = key_of(d);
  Watched sums = {0.0, 0.0, 0.0};
  for (std::int64_t p = first; p < last;) {
    const int n = v.width[p];
    int count = 1;
    while (count < W && p + count < last && v.width[p + count] == n) ++count;
    double *score = scratch, *chance = scratch + static_cast<std::int64_t>(W) * n;
    if (count < W)
      for (int i = 0; i < W * n; ++i) score[i] = 0.0;
    if (n == 2)
      draw_lanes<2>(v, d, key, p, count, score, chance, sums);
    else if (n == 3)
      draw_lanes<3>(v, d, key, p, count, score, chance, sums);
    else if (n == 4)
      draw_lanes<4>(v, d, key, p, count, score, chance, sums);
    else
      draw_lanes<0>(v, d, key, p, count, score, chance, sums);
    p += count;
  }
  return sums;
}

}  // namespace crfkit::CRFKIT_ARCH
