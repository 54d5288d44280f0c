// Weights to scores and gradients by scores to gradients by weights, with the sums of rows that
// attributes share (shared_rows.hpp).
//
//   compose  table[s]    = row(attribute of s) + sum over members m: table[m]      from low levels
//   up score    node[p]     = sum over the occurrences left at p: their rows and weights gather
//   table[s]    = sum over positions that have s left: score_gradient + sum over containers: table
//            gradient    = the columns of table[s] that have weights                from the top
//            down
//   loose    gradient of attributes without a row in the table, straight from the gradients by
//   scores
//
// Rows come from the outer cache and wait for the few line fetches that a core can have under way:
// half of the time of score and gather.  Each block of positions adds up the gradients of rows that
// it has several times, and finishes what occurs in it alone, before it leaves the inner cache.  No
// gain: prefetching into the second level only, 8, 12 or 48 rows ahead instead of 24, or fetching
// the rows of the next group while this one is summed (score -25 %, sums +60 %).
#pragma once

#include "kernels/linear/score_scatter.hpp"
#include "shared/evaluation.hpp"

namespace crfkit::CRFKIT_ARCH {

// f(integral constant of vectors, first column) for panels of at most kLines cache lines.
template <class F>
inline void by_panels(int step, F f) {
  constexpr int line = kPad / W;
  for (int column = 0; column < step; column += kLines * kPad) {
    switch ((step - column) / kPad) {
      case 1:
        f.template operator()<line>(column);
        break;
      case 2:
        f.template operator()<2 * line>(column);
        break;
      case 3:
        f.template operator()<3 * line>(column);
        break;
      default:
        f.template operator()<kLines * line>(column);
    }
  }
}

template <int V>
inline __attribute__((always_inline)) void prefetch_lines(const double* row) {
  for (int j = 0; j < V * W; j += kPad) __builtin_prefetch(row + j);
}

template <int V>
inline void add_list(Vec (&acc)[V], const double* rows, const std::int32_t* list,
                     std::int64_t first, std::int64_t last, std::int64_t step) {
  for (std::int64_t i = first; i < last; ++i) {
    prefetch_lines<V>(rows + list[i + kAhead] * step);
    const double* row = rows + list[i] * step;
    for (int v = 0; v < V; ++v) acc[v] += load(row + v * W);
  }
}

// acc += the gradients of entry i of an index.
template <int V>
inline void add_gradients(Vec (&acc)[V], const Transposed& t, std::int64_t i,
                          const double* score_gradient, std::int64_t step) {
  if (!t.value) return add_list(acc, score_gradient, t.position, t.ptr[i], t.ptr[i + 1], step);
  for (std::int64_t j = t.ptr[i]; j < t.ptr[i + 1]; ++j) {
    prefetch_lines<V>(score_gradient + t.position[j + kAhead] * step);
    add_row(acc, score_gradient + t.position[j] * step, t.value[j], V * W);
  }
}

inline void compose_rows(const Rows& r, const Composed& c, std::int64_t first, std::int64_t last,
                         double* table) {
  const std::int64_t step = padded(r.width);
  for (std::int64_t s = first; s < last; ++s) {
    double* row = table + s * step;
    by_panels(static_cast<int>(step), [&]<int V>(int column) {
      Vec acc[V] = {};
      add_list(acc, table + column, c.member, c.member_ptr[s], c.member_ptr[s + 1], step);
      for (int v = 0; v < V; ++v) store(row + column + v * W, acc[v]);
    });
    const std::int64_t begin = r.ptr[c.attribute[s]], end = r.ptr[c.attribute[s] + 1];
    if (end - begin == r.width) {
      for (int j = 0; j < r.width; j += W)
        store(row + j, load(row + j) + load_part(r.weight + begin + j, r.width - j, 0.0));
    } else {
      for (std::int64_t k = begin; k < end; ++k) row[r.column[k]] += r.weight[k];
    }
  }
}

// Scores of positions [first, last); false when one is not finite.
inline bool score_packed(const Evaluation& e, std::int64_t first, std::int64_t last) {
  const Residual& o = e.residual;
  const int L = e.rows.width, step = padded(L);
  Vec probe = {};
  double single_probe = 0.0;
  for (std::int64_t p = first; p < last; ++p) {
    double* out = e.node + (p - e.first) * step;
    by_panels(step, [&]<int V>(int column) {
      Vec acc[V] = {};
      const double* table = e.table + column;
      if (o.row_value) {
        for (std::int64_t i = o.row_ptr[p]; i < o.row_ptr[p + 1]; ++i) {
          prefetch_lines<V>(table + static_cast<std::int64_t>(o.row[i + kAhead]) * step);
          add_row(acc, table + static_cast<std::int64_t>(o.row[i]) * step, o.row_value[i], V * W);
        }
      } else {
        add_list(acc, table, o.row, o.row_ptr[p], o.row_ptr[p + 1], step);
      }
      if (o.full_ptr) {
        for (std::int64_t i = o.full_ptr[p]; i < o.full_ptr[p + 1]; ++i) {
          prefetch_row<V>(e.rows.weight + o.full[i + kAhead] + column, L - column - 1);
          const double* row = e.rows.weight + o.full[i] + column;
          const Vec x = splat(o.full_value ? o.full_value[i] : 1.0);
          for (int v = 0; v < V; ++v) acc[v] += x * load_part(row + v * W, L - column - v * W, 0.0);
        }
      }
      for (int v = 0; v < V; ++v) {
        probe += acc[v] - acc[v];
        store(out + column + v * W, acc[v]);
      }
    });
    for (std::int64_t i = o.single_ptr[p]; i < o.single_ptr[p + 1]; ++i) {
      __builtin_prefetch(e.rows.weight + o.single[i + kAhead]);
      const double w = e.rows.weight[o.single[i]];
      single_probe += w - w;
      out[o.column[i]] += o.single_value ? o.single_value[i] * w : w;
    }
  }
  return sum_of(probe) + single_probe == 0.0;
}

// ---- gradients by scores to gradients by weights

// Partial sums of gradients, added up while the gradients of their block are in the cache, into
// rows that follow those of the positions.
inline void add_partials(const Transposed& t, std::int64_t first, std::int64_t last, int step,
                         std::int64_t partial_row, double* score_gradient) {
  for (std::int64_t i = first; i < last; ++i) {
    double* sum = score_gradient + (partial_row + i) * step;
    by_panels(step, [&]<int V>(int column) {
      Vec acc[V] = {};
      add_gradients(acc, t, i, score_gradient + column, step);
      for (int v = 0; v < V; ++v) store(sum + column + v * W, acc[v]);
    });
  }
}

// sums of slot[i] += the gradients of entry i, for entries [first, last).
inline void add_to_slots(const Transposed& t, const std::int32_t* slot,
                         const double* score_gradient, std::int64_t first, std::int64_t last,
                         std::int64_t step, double* sums) {
  for (std::int64_t i = first; i < last; ++i) {
    double* sum = sums + slot[i] * step;
    by_panels(static_cast<int>(step), [&]<int V>(int column) {
      Vec acc[V];
      for (int v = 0; v < V; ++v) acc[v] = load(sum + column + v * W);
      add_gradients(acc, t, i, score_gradient + column, step);
      for (int v = 0; v < V; ++v) store(sum + column + v * W, acc[v]);
    });
  }
}

inline void gather_rows(const Rows& r, const Gathering& g, const double* score_gradient,
                        std::int64_t first, std::int64_t last, double* table, double* gradient) {
  const std::int64_t step = padded(r.width);
  const Composed& c = g.composed;
  for (std::int64_t s = first; s < last; ++s) {
    double* sum = table + s * step;
    by_panels(static_cast<int>(step), [&]<int V>(int column) {
      Vec acc[V] = {};
      for (int v = 0; g.sums && v < V; ++v) acc[v] = load(g.sums + s * step + column + v * W);
      add_gradients(acc, g.gradients, s, score_gradient + column, step);
      add_list(acc, table + column, c.container, c.container_ptr[s], c.container_ptr[s + 1], step);
      for (int v = 0; v < V; ++v) store(sum + column + v * W, acc[v]);
    });
    const std::int64_t begin = r.ptr[c.attribute[s]], end = r.ptr[c.attribute[s] + 1];
    if (end - begin == r.width) {
      for (int j = 0; j < r.width; j += W)
        store_part(gradient + begin + j, r.width - j, load(sum + j));
    } else {
      for (std::int64_t k = begin; k < end; ++k) gradient[k] = sum[r.column[k]];
    }
  }
}

// Gradient of loose attributes [first, last).
inline void gather_loose(const Rows& r, const Loose& loose, const double* score_gradient,
                         std::int64_t first, std::int64_t last, double* gradient) {
  const std::int64_t step = padded(r.width);
  const std::int32_t* attribute = loose.attribute;
  const Transposed& t = loose.gradients;
  for (std::int64_t i = first; i < last; ++i) {
    const std::int64_t begin = r.ptr[attribute[i]], end = r.ptr[attribute[i] + 1];
    const std::int64_t from = t.ptr[i], to = t.ptr[i + 1];
    if (end - begin == r.width) {
      by_panels(static_cast<int>(step), [&]<int V>(int column) {
        Vec acc[V] = {};
        for (int v = 0; loose.add && v < V; ++v)
          acc[v] = load_part(gradient + begin + column + v * W, r.width - column - v * W, 0.0);
        add_gradients(acc, t, i, score_gradient + column, step);
        for (int v = 0; v < V; ++v)
          store_part(gradient + begin + column + v * W, r.width - column - v * W, acc[v]);
      });
      continue;
    }
    for (std::int64_t k = begin; k < end; ++k) {
      const double* column = score_gradient + r.column[k];
      double sum = loose.add ? gradient[k] : 0.0;
      for (std::int64_t j = from; j < to; ++j) {
        __builtin_prefetch(column + t.position[j + kAhead] * step);
        sum += (t.value ? t.value[j] : 1.0) * column[t.position[j] * step];
      }
      gradient[k] = sum;
    }
  }
}

}  // namespace crfkit::CRFKIT_ARCH
