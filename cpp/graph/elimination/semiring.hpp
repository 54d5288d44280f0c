// Contractions in any semiring, cell by cell: logarithms where linear numbers could underflow, and
// what others need (counts, lists of the best).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "graph/elimination/program.hpp"
#include "shared/interrupts.hpp"

namespace crfkit {

// Calls visit(a, b, c) with the places in the three tables of every product of a contraction; all
// products of a cell of c follow each other.
template <class Visit>
void for_each_product(const Loops& loops, Visit visit) {
  std::vector<Loop> all;
  for (const bool kept : {true, false}) {  // summed loops are innermost
    for (const Loop& loop : loops.outer)
      if ((loop.c != 0) == kept) all.push_back(loop);
    for (const Loop& loop : {loops.n, loops.k, loops.i})
      if (loop.extent > 1 && (loop.c != 0) == kept) all.push_back(loop);
  }
  constexpr std::int64_t kCounted = 1 << 10;
  std::vector<std::int64_t> at(all.size());
  std::int64_t a = 0, b = 0, c = 0, counted = 0;
  for (;;) {
    if (++counted % kCounted == 0) worked(kCounted * 4);
    visit(a, b, c);
    std::size_t i = all.size();
    while (i-- > 0) {
      const Loop& loop = all[i];
      if (++at[i] < loop.extent) {
        a += loop.a, b += loop.b, c += loop.c;
        break;
      }
      at[i] = 0;
      a -= loop.a * (loop.extent - 1), b -= loop.b * (loop.extent - 1),
          c -= loop.c * (loop.extent - 1);
      if (i == 0) return;
    }
    if (all.empty()) return;
  }
}

// c = sum of a * b.  A ring has `Value`, zero(), add(Value& to, Value) and times(Value, Value); b
// is null where a alone is summed.
template <class Ring>
void contract(const Ring& ring, const Loops& loops, const typename Ring::Value* a,
              const typename Ring::Value* b, typename Ring::Value* c) {
  std::int64_t last = -1;
  for_each_product(loops, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
    if (k != last) c[k] = ring.zero(), last = k;
    ring.add(c[k], b ? ring.times(a[i], b[j]) : a[i]);
  });
}

// Sums of logarithms.  One exponential for each product, as those of a cell follow each other.
inline void contract_logs(const Loops& loops, const double* a, const double* b, double* c) {
  std::vector<double> terms;
  std::int64_t last = -1;
  const auto close = [&] {
    if (last < 0) return;
    double most = -std::numeric_limits<double>::infinity(), total = 0.0;
    for (const double x : terms) most = x > most ? x : most;
    if (most > -std::numeric_limits<double>::infinity())
      for (const double x : terms) total += std::exp(x - most);
    c[last] = total > 0.0 ? most + std::log(total) : most;
    terms.clear();
  };
  for_each_product(loops, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
    if (k != last) close(), last = k;
    terms.push_back(b ? a[i] + b[j] : a[i]);
  });
  close();
}

}  // namespace crfkit
