// Compiled once per instruction set: tables of steps, made of scores.
#include "kernels/sweep/tables.hpp"

#include "shared/interrupts.hpp"

namespace crfkit::CRFKIT_ARCH {

void Table::stripe(Arena& arena) {
  const auto at = [this](int i, int j) {
    return packed[packed_index(n_in, n_out, i, j / W * W) + j % W];
  };
  ahead.make(n_in, arena, at);
  back.make(n_in, arena, [&](int i, int j) { return at(j, i); });
}

void Table::stripe(const double* score, const Pairs& given, Arena& arena) {
  const std::int64_t n = n_in, common = other_cell(given);
  double* found = arena.take<double>(static_cast<std::size_t>(given.count) + 1);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t k = given.ptr[j]; k < given.ptr[j + 1]; ++k)
      found[k] = score[given.from[k] * n + j];
  found[given.count] = common < 0 ? kZero : score[common];
  stripe_listed(given, found, given.count + (common < 0 ? 0 : 1), arena);
}

void Table::stripe_listed(const Pairs& given, double* found, std::int64_t seen, Arena& arena) {
  spread = Spread();
  spread.see(found, seen);
  const Vec top = splat(spread.safe_top());
  for (std::int64_t k = 0; k <= given.count; k += W) {
    const int count = static_cast<int>(given.count + 1 - k);
    store_part(found + k, count, exp(load_part(found + k, count, 0.0) - top));
  }
  pairs = {given.ptr, given.from, found};
  ahead.make(n_in, found[given.count], pairs, arena);
  back.make(n_in, found[given.count], turned(pairs, n_in, arena), arena);
}

void Table::fill_scores(const double* score) {
  const std::ptrdiff_t row_step = static_cast<std::ptrdiff_t>(blocks) * n_out;
  for (int m = 0; m < blocks; ++m) {
    worked_if_many(static_cast<std::int64_t>(n_in) * n_out);
    pack(score + static_cast<std::ptrdiff_t>(m) * n_out, row_step, 1, n_in, n_out, kZero,
         packed + m * packed_size(n_in, n_out), [](Vec v) { return v; });
  }
}

void Table::fill_probabilities(const double* score) {
  spread = Spread();
  spread.see(score, static_cast<std::int64_t>(blocks) * n_in * n_out);
  const Vec top = splat(spread.safe_top());
  const auto to_probability = [top](Vec v) { return exp(v - top); };
  const std::ptrdiff_t row_step = static_cast<std::ptrdiff_t>(blocks) * n_out;
  for (int m = 0; m < blocks; ++m) {
    const double* block = score + static_cast<std::ptrdiff_t>(m) * n_out;
    worked_if_many(static_cast<std::int64_t>(n_in) * n_out * 4);
    pack(block, row_step, 1, n_in, n_out, kZero, packed + m * packed_size(n_in, n_out),
         to_probability);
    if (transposed)
      pack(block, 1, row_step, n_out, n_in, kZero, transposed + m * packed_size(n_out, n_in),
           to_probability);
  }
}

std::int64_t Table::other_cell(const Pairs& given) const {
  for (int j = 0; j < n_in; ++j) {
    const std::int32_t first = given.ptr[j], count = given.ptr[j + 1] - first;
    for (int i = 0; count < n_in && i < n_in; ++i)
      if (i >= count || given.from[first + i] != i) return static_cast<std::int64_t>(i) * n_in + j;
  }
  return -1;
}

void add_gradients(const Table& table, int m, const double* products, double* gradient) {
  if (table.sparse()) {
    for (std::int32_t k = 0; k < table.pairs.ptr[table.n_in]; ++k)
      gradient[k] += products[k] * table.pairs.probability[k];
    return;
  }
  const int step = padded(table.n_out);
  for (int a = 0; a < table.n_in; ++a) {
    const std::int64_t row = (static_cast<std::int64_t>(a) * table.blocks + m) * step;
    for (int j = 0; j < step; j += W) {
      const Vec probability = load(table.matrix(m) + packed_index(table.n_in, table.n_out, a, j));
      store(gradient + row + j, load(gradient + row + j) + load(products + row + j) * probability);
    }
  }
}

Tables::Tables(int labels, const Pairs& pairs, const double* score) : count(1) {
  double* found = arena.take<double>(static_cast<std::size_t>(pairs.count) + 1);
  for (std::int64_t k = 0; k <= pairs.count; ++k) found[k] = score[k];
  table[0].shape(1, labels, labels);
  table[0].stripe_listed(pairs, found, pairs.count + 1, arena);
}

Tables::Tables(const Problem& p, bool wanted, bool probabilities) {
  if (!wanted || p.shape == Shape::tree || p.edge_step != 0) return;
  count = p.order;
  for (int h = 1; h <= p.order; ++h) {
    const bool full = h == p.order;
    const int blocks = static_cast<int>(power(p.labels, full ? h - 1 : h));
    table[h - 1].shape(blocks, full ? p.labels : 1, p.labels);
    if (probabilities && p.pairs) {
      table[h - 1].stripe(p.edge[h - 1], *p.pairs, arena);
      continue;
    }
    table[h - 1].take(arena, probabilities);
    probabilities ? table[h - 1].fill_probabilities(p.edge[h - 1])
                  : table[h - 1].fill_scores(p.edge[h - 1]);
  }
  if (probabilities && !p.pairs && p.shape == Shape::chain && p.order == 1 && few_labels(p.labels))
    table[0].stripe(arena);
}

}  // namespace crfkit::CRFKIT_ARCH
