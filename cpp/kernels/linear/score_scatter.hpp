// Scores from weights, and gradients by weights from gradients by scores.
//
//   score    out[p, :]    = base + sum over occurrences i of position p: value_i * row(attr_i)
//   scatter  gradient[k]  = sum over occurrences i of attribute a: value_i *
//                            score_gradient[position_i, c_k]
//
// Both add rows of doubles held in registers and fetch those to come kAhead occurrences early.
// Scatter pulls through the transposed index: no atomics, each weight is written once, in order.
// Every sum runs in the order of the occurrences, whoever computes it.
#pragma once

#include "kernels/simd/arena.hpp"
#include "kernels/simd/simd.hpp"
#include "shared/problem.hpp"
#include "shared/rows.hpp"

namespace crfkit::CRFKIT_ARCH {

inline constexpr int kLines = 4;  // cache lines of a row that are summed in registers at a time

// Fetches the lines of V vectors; `last` is the last double of interest.  Inlined by force: GCC
// takes a function that only prefetches for one without effect and drops it.
template <int V>
inline __attribute__((always_inline)) void prefetch_row(const double* row, int last) {
  for (int j = 0; j < V * W; j += kPad) __builtin_prefetch(row + j);
  __builtin_prefetch(row + (last < V * W ? last : V * W - 1));
}

// acc[v] += value * row[v], reading no further than `readable` doubles.
template <int V>
inline void add_row(Vec (&acc)[V], const double* row, double value, std::int64_t readable) {
  const Vec x = splat(value);
  if (readable >= V * W) [[likely]] {
    for (int v = 0; v < V; ++v) acc[v] += x * load(row + v * W);
  } else {
    for (int v = 0; v < V; ++v)
      acc[v] += x * load_part(row + v * W, static_cast<int>(readable) - v * W, 0.0);
  }
}

// ---- weights to scores

inline void expand_rows(const Rows& r, const std::int32_t* attribute, std::int64_t count,
                        double* table) {
  const std::int64_t step = padded(r.width);
  for (std::int64_t i = 0; i < count; ++i, table += step) {
    for (std::int64_t j = 0; j < step; j += W) store(table + j, Vec{});
    for (std::int64_t k = r.ptr[attribute[i]]; k < r.ptr[attribute[i] + 1]; ++k)
      table[r.column[k]] = r.weight[k];
  }
}

// One panel of V vectors from `column` on; narrow rows go to `narrow`, which is null when another
// panel has met them.
template <int V, bool kAllFull, bool kValues>
inline void sum_weights(const Rows& r, const Occurrences& o, std::int64_t first, std::int64_t last,
                        std::int64_t end, int column, double* narrow, Vec (&acc)[V]) {
  const std::uint64_t known = static_cast<std::uint64_t>(r.attributes);
  const int last_column = r.width - column - 1;
  const auto id = [&](std::int64_t i) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(o.attr[i]));
  };
  for (std::int64_t i = first; i < last; ++i) {
    if (i + 2 * kAhead < end) {
      const std::uint64_t next = id(i + kAhead);
      if constexpr (kAllFull) {
        if (next < known) prefetch_row<V>(r.weight + next * r.width + column, last_column);
      } else {
        const std::uint64_t later = id(i + 2 * kAhead);
        if (later < known) __builtin_prefetch(r.place + later);
        if (next < known) {
          const std::int64_t place = r.place[next];
          if (place >= 0) {
            prefetch_row<V>((place & 1 ? r.table : r.weight) + (place >> 1) + column, last_column);
          } else {
            __builtin_prefetch(r.weight + (~place >> Place::kCountBits));
            __builtin_prefetch(r.column + (~place >> Place::kCountBits));
          }
        }
      }
    }
    const std::uint64_t a = id(i);
    if (a >= known) continue;
    const double value = kValues ? o.value[i] : 1.0;
    if constexpr (kAllFull) {
      const std::int64_t at = static_cast<std::int64_t>(a) * r.width + column;
      add_row(acc, r.weight + at, value, r.readable - at);
      continue;
    }
    const std::int64_t place = r.place[a];
    if (place >= 0) {
      const std::int64_t at = (place >> 1) + column;
      if (place & 1) {
        add_row(acc, r.table + at, value, V * W);
      } else {
        add_row(acc, r.weight + at, value, r.readable - at);
      }
    } else if (narrow) {
      const std::int64_t k = ~place >> Place::kCountBits;
      const std::int64_t count = ~place & ((std::int64_t{1} << Place::kCountBits) - 1);
      for (std::int64_t j = k; j < k + count; ++j) narrow[r.column[j]] += value * r.weight[j];
    }
  }
}

template <bool kAllFull, bool kValues>
struct Scorer {
  const Rows& r;
  const Occurrences& o;
  const double* base;  // [width] or null
  std::int64_t end;    // occurrences of the whole call
  double* narrow;      // [padded(width)]
  Vec probe = {};      // turns into nan when a score is beyond kLargestScore, or nan

  template <int V>
  void panel(std::int64_t p, int column, double* out) {
    Vec acc[V];
    for (int v = 0; v < V; ++v)
      acc[v] = base ? load_part(base + column + v * W, r.width - column - v * W, 0.0) : Vec{};
    sum_weights<V, kAllFull, kValues>(r, o, o.ptr[p], o.ptr[p + 1], end, column,
                                      column == 0 ? narrow : nullptr, acc);
    for (int v = 0; v < V; ++v) {
      if constexpr (!kAllFull) acc[v] += load(narrow + column + v * W);
      const Vec raised = acc[v] * splat(0x1p1023 / kLargestScore * 2);
      probe += raised - raised;
      store_part(out + column + v * W, r.width - column - v * W, acc[v]);
    }
  }

  void row(std::int64_t p, double* out) {
    constexpr int line = kPad / W;
    if constexpr (!kAllFull)
      for (int j = 0; j < padded(r.width); j += W) store(narrow + j, Vec{});
    for (int column = 0; column < r.width; column += kLines * kPad) {
      switch ((padded(r.width) - column) / kPad) {
        case 1:
          panel<line>(p, column, out);
          break;
        case 2:
          panel<2 * line>(p, column, out);
          break;
        case 3:
          panel<3 * line>(p, column, out);
          break;
        default:
          panel<kLines * line>(p, column, out);
      }
    }
  }
};

template <bool kAllFull, bool kValues>
bool score_positions(const Rows& r, const Occurrences& o, const double* base, std::int64_t first,
                     std::int64_t last, double* out, Arena& arena) {
  Scorer<kAllFull, kValues> scorer{r, o, base, o.ptr[last], arena.take<double>(padded(r.width))};
  for (std::int64_t p = first; p < last; ++p, out += r.width) scorer.row(p, out);
  return sum_of(scorer.probe) == 0.0;
}

// Scores of positions [first, last) into out[0 .. last - first); false when one is not a number or
// beyond kLargestScore.
inline bool score_rows(const Rows& r, const Occurrences& o, const double* base, std::int64_t first,
                       std::int64_t last, double* out, void* scratch) {
  Arena own;
  Arena& arena = scratch ? *static_cast<Arena*>(scratch) : own;
  arena.reset();
  if (r.place)
    return o.value ? score_positions<false, true>(r, o, base, first, last, out, arena)
                   : score_positions<false, false>(r, o, base, first, last, out, arena);
  return o.value ? score_positions<true, true>(r, o, base, first, last, out, arena)
                 : score_positions<true, false>(r, o, base, first, last, out, arena);
}

// ---- gradients by scores to gradients by weights

// Gradient rows of occurrences: `place` counts positions from the one that `score_gradient` begins
// with.
template <class Place>
struct Puller {
  const Place* place;
  const double* value;  // or null when all are 1
  const double* score_gradient;
  std::int64_t readable;  // doubles from `score_gradient` on
  int width;

  double value_of(std::int64_t i) const { return value ? value[i] : 1.0; }
  std::int64_t at(std::int64_t i) const { return static_cast<std::int64_t>(place[i]) * width; }
  const double* ahead(std::int64_t i) const { return score_gradient + at(i + kAhead); }

  template <int V, bool kValues>
  void panel(std::int64_t first, std::int64_t last, int column, double* sum) const {
    Vec acc[V];
    for (int v = 0; v < V; ++v) acc[v] = load(sum + column + v * W);
    for (std::int64_t i = first; i < last; ++i) {
      prefetch_row<V>(ahead(i) + column, width - column - 1);
      const std::int64_t from = at(i) + column;
      add_row(acc, score_gradient + from, kValues ? value[i] : 1.0, readable - from);
    }
    for (int v = 0; v < V; ++v) store(sum + column + v * W, acc[v]);
  }
  template <int V>
  void panel(std::int64_t first, std::int64_t last, int column, double* sum) const {
    if (value) return panel<V, true>(first, last, column, sum);
    panel<V, false>(first, last, column, sum);
  }

  // sum[0 .. padded(width)) += the rows of occurrences [first, last); the padding is noise.
  void add_rows(std::int64_t first, std::int64_t last, double* sum) const {
    constexpr int line = kPad / W;
    for (int column = 0; column < width; column += kLines * kPad) {
      switch ((padded(width) - column) / kPad) {
        case 1:
          panel<line>(first, last, column, sum);
          break;
        case 2:
          panel<2 * line>(first, last, column, sum);
          break;
        case 3:
          panel<3 * line>(first, last, column, sum);
          break;
        default:
          panel<kLines * line>(first, last, column, sum);
      }
    }
  }

  // One column alone: for rows with fewer weights than cache lines.
  double sum_column(std::int64_t first, std::int64_t last, std::int32_t column) const {
    double sum = 0.0;
    for (std::int64_t i = first; i < last; ++i) {
      __builtin_prefetch(ahead(i) + column);
      sum += value_of(i) * score_gradient[at(i) + column];
    }
    return sum;
  }
};

// Gradient rows of frequent attributes, added up block of positions by block into sums[slots,
// padded(width)]: the gradients of a block stay in the inner cache while its runs pass over them,
// and those of the next block are fetched meanwhile.
inline void sum_runs(const Rows& r, const double* score_gradient, std::int64_t positions,
                     const Runs& runs, double* sums) {
  const std::int64_t step = padded(r.width), block = runs.block_positions * r.width;
  const std::int64_t size = positions * r.width;
  for (std::int64_t b = runs.first_block; b < runs.last_block; ++b) {
    const Puller<std::uint16_t> puller{runs.offset, runs.value, score_gradient + b * block,
                                       size - b * block, r.width};
    const std::int64_t count = runs.ptr[b + 1] - runs.ptr[b];
    const std::int64_t share = count > 0 ? (block / count + kPad) / kPad * kPad : 0;
    const std::int64_t stop = (b + 2) * block < size ? (b + 2) * block : size;
    std::int64_t next = (b + 1) * block;
    for (const Run* run = runs.run + runs.ptr[b]; run < runs.run + runs.ptr[b + 1]; ++run) {
      for (const std::int64_t end = next + share; next < end && next < stop; next += kPad)
        __builtin_prefetch(score_gradient + next, 0, 2);
      puller.add_rows(run->first, run->first + run->count, sums + run->slot * step);
    }
  }
}

// Gradient of the weights of those attributes [first, last) that are not frequent, added to what is
// there or written over it.
inline void scatter_rows(const Rows& r, const Transposed& t, const double* score_gradient,
                         std::int64_t positions, std::int64_t first, std::int64_t last, bool add,
                         double* gradient) {
  Arena arena;
  double* sum = arena.take<double>(padded(r.width));
  const Puller<std::int32_t> puller{t.position, t.value, score_gradient, positions * r.width,
                                    r.width};
  const int lines = padded(r.width) / kPad;
  for (std::int64_t a = first; a < last; ++a) {
    const std::int64_t begin = r.ptr[a], count = r.ptr[a + 1] - begin;
    const std::int64_t i = t.ptr[a], n = t.ptr[a + 1];
    double* out = gradient + begin;
    if (n - i >= t.frequent) continue;
    if (i == n) {
      if (!add)
        for (std::int64_t k = 0; k < count; ++k) out[k] = 0.0;
    } else if (count <= lines) {
      for (std::int64_t k = 0; k < count; ++k) {
        const double pulled = puller.sum_column(i, n, r.column[begin + k]);
        out[k] = add ? out[k] + pulled : pulled;
      }
    } else {
      for (int j = 0; j < padded(r.width); j += W) store(sum + j, Vec{});
      puller.add_rows(i, n, sum);
      if (count == r.width) {
        for (int j = 0; j < r.width; j += W) {
          const Vec pulled = load(sum + j);
          store_part(out + j, r.width - j,
                     add ? pulled + load_part(out + j, r.width - j, 0.0) : pulled);
        }
      } else {
        for (std::int64_t k = 0; k < count; ++k) {
          const double pulled = sum[r.column[begin + k]];
          out[k] = add ? out[k] + pulled : pulled;
        }
      }
    }
  }
}

}  // namespace crfkit::CRFKIT_ARCH
