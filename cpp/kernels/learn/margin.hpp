// Max-margin in the dual: visits of sequences that take the best shares of their labelings.
//
// Sequence n with weight c has labelings y with shares s_y that add up to 1.  With
//   a_y = c (features of the gold - features of y),   cost_y = c (wrong labels of y),
//   w = L^-1 sum over all sequences of s_y a_y,   loss_y = cost_y - a_y.w,   L = diag(l2)
// a visit finds the labeling of the highest loss, adds it, and maximizes
//   D = sum s_y cost_y - 1/2 w.L.w
// over the shares of n alone, by pairs: share goes from the lowest loss to the highest, as far as
// it pays, until the losses of those with a share are nearly the same (Platt 1999; Lacoste-Julien
// et al. 2013 move towards one labeling only).  Products a_y.L^-1.a_z are found once for each
// pair.
#pragma once

#include "kernels/learn/decoded.hpp"
#include "shared/learned.hpp"

namespace crfkit::CRFKIT_ARCH {

class MarginVisits {
 public:
  MarginVisits(Margins& m, Arena& arena)
      : m_(m), L_(m.node.weight.labels), arena_(arena), decoder_(m, 1) {}

  // The gap of sequence n before its visit; what is not finite where scores are not.
  double visit(std::int64_t n) {
    const std::int64_t first = m_.seq_ptr[n], T = m_.seq_ptr[n + 1] - first;
    const double c = m_.factor ? m_.factor[n] : 1.0;
    const std::int32_t* gold = m_.label + first;
    WorkingSet& set = m_.sets[n];
    arena_.reset();
    double* node = decoder_.score(first, T, arena_);
    for (std::int64_t t = 0; t < T; ++t) {
      double* row = node + t * L_;
      const double right = row[gold[t]];
      for (int y = 0; y < L_; ++y) row[y] += 1.0;
      row[gold[t]] = right;
    }
    std::int32_t* found = arena_.take<std::int32_t>(T);
    const double value = decoder_.best_path(found, arena_);
    if (!std::isfinite(value)) return value;

    double* loss = arena_.take<double>(set.count + 1);
    const double base = decoder_.path_score(gold);
    double highest = 0.0, mean = 0.0;
    for (std::int32_t k = 0; k < set.count; ++k) {
      loss[k] = c * (decoder_.path_score(set.path + k * T) - base);
      mean += set.share[k] * loss[k];
      if (loss[k] > highest) highest = loss[k];
    }
    const double top = c * (value - base);
    if (top > highest + 1e-12 * (1.0 + top)) {
      highest = top;
      if (m_.learns) {
        loss[set.count] = top;
        add(set, first, T, gold, found, c);
      }
    }
    if (m_.learns) {
      double* before = arena_.take<double>(set.count);
      for (std::int32_t k = 0; k < set.count; ++k) before[k] = set.share[k];
      if (solve(set, loss)) {
        move(set, before, first, T, gold, c);
        decoder_.refresh();
      }
      ++m_.seen;
    }
    return highest - mean;
  }

  void fetch_soon(std::int64_t n) const { fetch_lists_of(m_, n); }
  void fetch_next(std::int64_t n) const { fetch_first_of(m_, n); }

 private:
  double inverse_of(const double* weight) const {
    return m_.node.has(weight) ? m_.inverse : m_.small_inverse;
  }

  // Takes in a labeling without a share; the set has room.
  void add(WorkingSet& set, std::int64_t first, std::int64_t T, const std::int32_t* gold,
           const std::int32_t* found, double c) {
    const std::int32_t k = set.count++;
    std::int64_t wrong = 0;
    for (std::int64_t t = 0; t < T; ++t) {
      set.path[k * T + t] = found[t];
      wrong += gold[t] != found[t];
    }
    set.share[k] = 0.0;
    set.cost[k] = c * static_cast<double>(wrong);
    const Difference d = difference_of(m_, first, T, gold, found, arena_);
    for (std::int32_t j = 0; j < k; ++j) {
      double sum = 0.0;
      each_difference(m_, first, T, gold, set.path + j * T,
                      [&](const double* weight, const double*, double amount) {
                        sum += amount * d.at(weight) * inverse_of(weight);
                      });
      set.gram[k * set.room + j] = set.gram[j * set.room + k] = c * c * sum;
    }
    double square = 0.0;
    for (const Difference::Entry& e : d) square += e.amount * e.amount * inverse_of(e.weight);
    set.gram[k * set.room + k] = c * c * square;
  }

  // Moves shares by pairs; losses follow.  Whether anything has moved.
  static bool solve(WorkingSet& set, double* loss) {
    bool moved = false;
    double enough = 0.0;
    for (int round = 0; round < 1000; ++round) {
      std::int32_t top = 0, low = -1;
      for (std::int32_t k = 0; k < set.count; ++k) {
        if (loss[k] > loss[top]) top = k;
        if (set.share[k] > 0.0 && (low < 0 || loss[k] < loss[low])) low = k;
      }
      if (low < 0) break;  // shares that are not a distribution
      const double spread = loss[top] - loss[low];
      if (round == 0) enough = 1e-3 * spread + 1e-13 * (1.0 + std::fabs(loss[top]));
      if (spread <= enough) break;
      const double *up = set.gram + top * set.room, *down = set.gram + low * set.room;
      const double curved = up[top] + down[low] - 2.0 * up[low];
      double step = set.share[low];
      if (curved * step > spread) step = spread / curved;
      set.share[top] += step;
      set.share[low] = step < set.share[low] ? set.share[low] - step : 0.0;
      for (std::int32_t k = 0; k < set.count; ++k) loss[k] -= step * (up[k] - down[k]);
      moved = true;
    }
    return moved;
  }

  // Changes the weights by what has become of the shares.
  void move(const WorkingSet& set, const double* before, std::int64_t first, std::int64_t T,
            const std::int32_t* gold, double c) const {
    const double late = static_cast<double>(m_.seen) * static_cast<double>(m_.seen - 1);
    for (std::int32_t k = 1; k < set.count; ++k) {
      const double more = c * (set.share[k] - before[k]);
      if (more == 0.0) continue;
      each_difference(m_, first, T, gold, set.path + k * T,
                      [&](double* weight, double* memory, double amount) {
                        const double change = more * amount * inverse_of(weight);
                        *weight += change;
                        *memory += late * change;
                      });
    }
  }

  Margins& m_;
  int L_;
  Arena& arena_;
  Decoder decoder_;
};

// Visits sequences in the given order and writes their gaps, until one has no room for another
// labeling or is not finite; how many visits were made.
inline std::int64_t margin_visits(Margins& m, const std::int64_t* order, std::int64_t count,
                                  double* gaps, void* scratch) {
  MarginVisits visits(m, *static_cast<Arena*>(scratch));
  for (std::int64_t i = 0; i < count; ++i) {
    if (m.learns && m.sets[order[i]].count == m.sets[order[i]].room) return i;
    if (i + 2 < count) visits.fetch_soon(order[i + 2]);
    if (i + 1 < count) visits.fetch_next(order[i + 1]);
    gaps[i] = visits.visit(order[i]);
    if (!std::isfinite(gaps[i])) return i;
  }
  return count;
}

}  // namespace crfkit::CRFKIT_ARCH
