// Hildreth's procedure: the smallest change of a vector that keeps k linear demands.
//
//   min over x of |x|^2 / 2  such that  d_j.x >= c_j for each j
//   x = sum_j a_j d_j, 0 <= a_j <= most, where a maximizes  a.c - |sum_j a_j d_j|^2 / 2
//
// Hildreth (1957): one a_j after the other, each to its best value, until none moves.
#pragma once

#include "kernels/simd/simd.hpp"

namespace crfkit::CRFKIT_ARCH {

constexpr double kSatisfied = 1e-9;  // a demand that is missed by less, by position, is kept

// product [k * k] holds d_i.d_j; open [k] holds c and is overwritten by what is still missing.
inline void hildreth(const double* product, double* open, int k, double most, double* step) {
  constexpr int kSweeps = 10000;  // demands that contradict each other need the bound `most`
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    double largest = 0.0;
    for (int j = 0; j < k; ++j) {
      const double square = product[j * k + j];
      if (!(square > 0.0)) continue;
      double wanted = step[j] + open[j] / square;
      wanted = wanted < 0.0 ? 0.0 : wanted > most ? most : wanted;
      const double change = wanted - step[j];
      if (change == 0.0) continue;
      step[j] = wanted;
      for (int i = 0; i < k; ++i) open[i] -= change * product[j * k + i];
      const double moved = change < 0.0 ? -change * square : change * square;
      largest = moved > largest ? moved : largest;
    }
    if (largest <= 1e-12) return;
  }
}

}  // namespace crfkit::CRFKIT_ARCH
