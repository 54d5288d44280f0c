#include "graph/elimination/contract.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/threads/parallel.hpp"

namespace crfkit {

void contract(ContractionKernel kernel, double zero, const KernelLoops& loops, const double* a,
              const double* b, double* c, std::int64_t cells, int threads) {
  constexpr double kWork = 1 << 19;  // products that are worth threads
  worked(1 << 8);
  const double one = zero == 0.0 ? 1.0 : 0.0;
  Contraction all = {nullptr, 0, loops.n, loops.k, loops.i, a, b ? b : &one, c, false};
  all.place = loops.place.empty() ? nullptr : loops.place.data(), all.odd = loops.odd;
  if (all.i.a == 0 && all.i.b != 0) {  // the kernel runs through a
    std::swap(all.a, all.b);
    const auto swap = [](Loop& l) { std::swap(l.a, l.b); };
    swap(all.n), swap(all.k), swap(all.i);
    KernelLoops turned = loops;
    if (turned.odd == 'a') turned.odd = 'b';
    for (Loop& loop : turned.outer) swap(loop);
    turned.n = all.n, turned.k = all.k, turned.i = all.i;
    return contract(kernel, zero, turned, all.a, all.b, c, cells, threads);
  }
  const bool once = loops.meets_once() && loops.odd != 'c';
  all.add = !once;
  if (loops.work < kWork) {
    all.outer = loops.outer.data(), all.outers = static_cast<int>(loops.outer.size());
    if (!once) std::fill_n(c, cells, zero);
    return kernel(all);
  }
  // Loops that are cut into blocks: those that c has, until there are enough of them.
  std::vector<Loop> cut, rest;
  std::int64_t blocks = 1;
  for (const Loop& loop : loops.outer) {
    if (loop.c != 0 && blocks < 8) {
      cut.push_back(loop), blocks *= loop.extent;
    } else {
      rest.push_back(loop);
    }
  }
  if (blocks > 1) {
    if (!once) std::fill_n(c, cells, zero);
    parallel_for(blocks, threads, [&](std::int64_t block) {
      Contraction mine = all;
      for (const Loop& loop : cut) {
        const std::int64_t at = block % loop.extent;
        block /= loop.extent;
        mine.a += at * loop.a, mine.b += at * loop.b, mine.c += at * loop.c;
      }
      mine.outer = rest.data(), mine.outers = static_cast<int>(rest.size());
      kernel(mine);
    });
    return;
  }
  if (loops.i.c == 1 && !loops.odd && loops.i.extent >= 1 << 12) {
    const std::int64_t size = 1 << 11, count = (loops.i.extent + size - 1) / size;
    if (!once) std::fill_n(c, cells, zero);
    parallel_for(count, threads, [&](std::int64_t block) {
      Contraction mine = all;
      const std::int64_t at = block * size;
      mine.i.extent = std::min(size, loops.i.extent - at);
      mine.a += at * all.i.a, mine.b += at * all.i.b, mine.c += at;
      mine.outer = rest.data(), mine.outers = static_cast<int>(rest.size());
      kernel(mine);
    });
    return;
  }
  // Much is summed to a few cells: each block has cells of its own, added in order.
  cut.clear(), rest.clear();
  for (const Loop& loop : loops.outer) {
    if (loop.c == 0 && blocks < 8) {
      cut.push_back(loop), blocks *= loop.extent;
    } else {
      rest.push_back(loop);
    }
  }
  if (blocks == 1 || cells * blocks > static_cast<std::int64_t>(loops.work / 4)) {
    all.outer = loops.outer.data(), all.outers = static_cast<int>(loops.outer.size());
    if (!once) std::fill_n(c, cells, zero);
    return kernel(all);
  }
  std::vector<double> part(cells * blocks, zero);
  parallel_for(blocks, threads, [&](std::int64_t block) {
    Contraction mine = all;
    mine.c = part.data() + block * cells;
    for (const Loop& loop : cut) {
      const std::int64_t at = block % loop.extent;
      block /= loop.extent;
      mine.a += at * loop.a, mine.b += at * loop.b;
    }
    mine.outer = rest.data(), mine.outers = static_cast<int>(rest.size());
    kernel(mine);
  });
  std::fill_n(c, cells, zero);
  for (std::int64_t block = 0; block < blocks; ++block)
    for (std::int64_t i = 0; i < cells; ++i) {
      const double x = part[block * cells + i];
      c[i] = zero == 0.0 ? c[i] + x : std::max(c[i], x);
    }
}

}  // namespace crfkit
