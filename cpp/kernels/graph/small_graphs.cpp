// Compiled once per instruction set: many small graphs in lanes.
//
// Sums are products of tables whose largest cell is 1, in linear doubles; messages are scaled by a
// power of two for each lane.  Elimination leaves p(variable | rest) in the place of each product,
// so that the way back multiplies and adds only: the belief of a product is p(variable | rest)
// times that of its message, and beliefs of its operands are sums of it.
//
// Exact without logarithms?  Every cell of a table is 0 or at least exp(-range).  A product has the
// sum of the ranges of its operands.  Where nothing is forbidden the ratio of two cells of a
// message is bounded by the operands that have more variables than the one that is summed;
// otherwise by the product.  A lane where a product's range passes kRange is answered again in
// logarithms.
#include "shared/small_graphs.hpp"

#include "kernels/graph/small_products.hpp"
#include "kernels/simd/simd.hpp"

namespace crfkit::CRFKIT_ARCH {
namespace {

using namespace small;

constexpr double kRange = 650.0;  // exp(-650) and its products with 1 / width are normal
constexpr double kLog2 = 0.693147180559945309417;

// Scores of an input, lane by lane, in its place.
void gather(const Factors& factors, const SmallInput& input, std::int32_t number,
            const SmallBlock& block, double* place) {
  const FactorGroup& group = factors.group[input.group];
  for (int l = 0; l < kSmallLanes; ++l) {
    const std::int64_t m = block.factor[l < block.count ? l : 0][number];
    const double* scores = group.scores(m);
    if (group.scale) {
      const double scale = group.scale[m];
      for (std::int32_t c = 0; c < input.cells; ++c) place[c * kSmallLanes + l] = scores[c] * scale;
    } else {
      for (std::int32_t c = 0; c < input.cells; ++c) place[c * kSmallLanes + l] = scores[c];
    }
  }
}

void scatter(const Factors& factors, const SmallInput& input, std::int32_t number,
             const SmallBlock& block, unsigned left_out, const double* place, double* out) {
  if (input.group < 0 || !out) return;
  const std::int64_t cells = factors.group[input.group].cells;
  for (int l = 0; l < block.count; ++l) {
    if (left_out >> l & 1) continue;
    double* to = out + block.factor[l][number] * cells;
    for (std::int32_t c = 0; c < input.cells; ++c) to[c] = place[c * kSmallLanes + l];
  }
}

// The state of a sum that scales: what is taken out of the tables, and whether that is exact.
struct Scaled {
  Lanes offset = filled(0.0), unsafe = filled(0.0);
  VecInt exponent[kVectors] = {}, forbidden[kVectors] = {};
  double* range;  // [inputs + steps, lanes]

  // Scores to factors of which the largest is 1.
  void open(double* place, std::int32_t cells, double* range_of_input) {
    Lanes most = filled(kZero), least = filled(0.0);
    for (std::int32_t c = 0; c < cells; ++c)
      each([&](int u) { most.at[u] = max(most.at[u], load(place + c * kSmallLanes + u * W)); });
    each([&](int u) {
      const Vec top = most.at[u] == kZero ? Vec{} : most.at[u];
      offset.at[u] += top;
      most.at[u] = top;
    });
    for (std::int32_t c = 0; c < cells; ++c)
      each([&](int u) {
        double* x = place + c * kSmallLanes + u * W;
        const Vec relative = load(x) - most.at[u];
        forbidden[u] |= relative == kZero;
        least.at[u] = min(least.at[u], relative == kZero ? Vec{} : relative);
        store(x, exp(relative));
      });
    each([&](int u) { store(range_of_input + u * W, -least.at[u]); });
  }

  void bound(const SmallProgram& p, const SmallStep& step, double* range_of_message) {
    Lanes all = filled(0.0), wide = filled(0.0);
    for (std::int32_t i = 0; i < step.operands; ++i) {
      const SmallOperand& operand = p.operand[step.first_operand + i];
      const Lanes r = lanes(range + operand.table * kSmallLanes);
      each([&](int u) {
        all.at[u] += r.at[u];
        if (operand.wider) wide.at[u] += r.at[u];
      });
    }
    const double labels = step.log_width + kLog2;
    each([&](int u) {
      unsafe.at[u] = max(unsafe.at[u], all.at[u]);
      const Vec of_message = forbidden[u] ? all.at[u] + labels : wide.at[u] + kLog2;
      store(range_of_message + u * W, of_message);
    });
  }

  // Sums over labels; the product becomes p(label | rest) where that is wanted.
  void sum(const SmallStep& step, bool shares, double* memory) {
    double* product = cell(memory, step.product);
    double* message = cell(memory, step.message);
    Lanes top = filled(0.0);
    for (std::int32_t r = 0; r < step.rest; ++r, product += step.width * kSmallLanes) {
      Lanes total = lanes(product);
      for (std::int32_t j = 1; j < step.width; ++j)
        each([&](int u) { total.at[u] += load(product + j * kSmallLanes + u * W); });
      put(message + r * kSmallLanes, total);
      each([&](int u) { top.at[u] = max(top.at[u], total.at[u]); });
      if (!shares) continue;
      each([&](int u) { total.at[u] = total.at[u] > 0.0 ? 1.0 / total.at[u] : Vec{}; });
      for (std::int32_t j = 0; j < step.width; ++j)
        each([&](int u) {
          double* x = product + j * kSmallLanes + u * W;
          store(x, load(x) * total.at[u]);
        });
    }
    if (step.rest == 1) return;
    Lanes power;
    each([&](int u) {  // the largest cell of the message becomes 1/2 or more, below 1
      const VecInt biased = (VecInt)top.at[u] >> 52;
      exponent[u] += biased - 1022;
      power.at[u] = (Vec)((2045 - biased) << 52);
    });
    for (std::int32_t r = 0; r < step.rest; ++r)
      each([&](int u) {
        double* x = message + r * kSmallLanes + u * W;
        store(x, load(x) * power.at[u]);
      });
  }
};

void sum_logs(const SmallStep& step, bool shares, double* memory) {
  double* product = cell(memory, step.product);
  double* message = cell(memory, step.message);
  for (std::int32_t r = 0; r < step.rest; ++r, product += step.width * kSmallLanes) {
    Lanes top = lanes(product), total = filled(0.0);
    for (std::int32_t j = 1; j < step.width; ++j)
      each([&](int u) { top.at[u] = max(top.at[u], load(product + j * kSmallLanes + u * W)); });
    each([&](int u) { top.at[u] = top.at[u] == kZero ? Vec{} : top.at[u]; });
    for (std::int32_t j = 0; j < step.width; ++j)
      each([&](int u) {
        double* x = product + j * kSmallLanes + u * W;
        const Vec share = exp(load(x) - top.at[u]);
        total.at[u] += share;
        if (shares) store(x, share);
      });
    each([&](int u) {
      store(message + r * kSmallLanes + u * W, top.at[u] + log(total.at[u]));
      total.at[u] = total.at[u] > 0.0 ? 1.0 / total.at[u] : Vec{};
    });
    if (!shares) continue;
    for (std::int32_t j = 0; j < step.width; ++j)
      each([&](int u) {
        double* x = product + j * kSmallLanes + u * W;
        store(x, load(x) * total.at[u]);
      });
  }
}

// From p(variable | rest) to beliefs of all inputs and variables.
void go_back(const Factors& factors, const SmallProgram& p, const SmallBlock& block,
             unsigned left_out, const SmallSums& sums, double* memory) {
  put(cell(memory, p.step[p.steps - 1].message), filled(1.0));
  for (std::int32_t s = p.steps - 1; s >= 0; --s) {
    const SmallStep& step = p.step[s];
    double* product = cell(memory, step.product);
    const double* message = cell(memory, step.message);
    for (std::int32_t r = 0; r < step.rest; ++r, product += step.width * kSmallLanes) {
      const Lanes belief = lanes(message + r * kSmallLanes);
      for (std::int32_t j = 0; j < step.width; ++j)
        each([&](int u) {
          double* x = product + j * kSmallLanes + u * W;
          store(x, load(x) * belief.at[u]);
        });
    }
    for (std::int32_t i = step.products - 1; i >= 0; --i)
      divide(p, p.product[step.first_product + i], step.width, memory);
    alignas(64) double total[kSmallLanes];
    for (std::int32_t j = 0; j < step.width; ++j) {
      add_up(cell(memory, step.own), p.list + step.own_from + j * step.own_count, 1, step.own_count,
             total);
      for (int l = 0; l < block.count; ++l)
        if (!(left_out >> l & 1))
          sums.node[factors.label_ptr[block.variable[l][step.variable]] + j] = total[l];
    }
  }
  if (!sums.clique) return;
  for (std::int32_t i = 0; i < p.inputs; ++i)
    scatter(factors, p.input[i], i, block, left_out, cell(memory, p.input[i].place),
            p.input[i].group < 0 ? nullptr : sums.clique[p.input[i].group]);
}

std::int64_t memory_of(const SmallProgram& p) {
  return (static_cast<std::int64_t>(p.cells) + p.inputs + p.steps) * kSmallLanes;
}

unsigned sums_of(const Factors& factors, const SmallProgram& p, const SmallBlock& block,
                 const SmallSums& sums, double* memory) {
  Scaled scaled;
  scaled.range = cell(memory, p.cells);
  for (std::int32_t i = 0; i < p.inputs; ++i) {
    const SmallInput& input = p.input[i];
    double* place = cell(memory, input.place);
    if (input.group >= 0) {
      gather(factors, input, i, block, place);
    } else {
      for (std::int32_t c = 0; c < input.cells; ++c) put(place + c * kSmallLanes, filled(0.0));
    }
    if (!sums.logs) scaled.open(place, input.cells, scaled.range + i * kSmallLanes);
  }
  for (std::int32_t s = 0; s < p.steps; ++s) {
    const SmallStep& step = p.step[s];
    for (std::int32_t i = 0; i < step.products; ++i) {
      const SmallProduct& product = p.product[step.first_product + i];
      if (sums.logs) {
        multiply<Plus>(p, product, step.width, memory);
      } else {
        multiply<Times>(p, product, step.width, memory);
      }
    }
    if (sums.logs) {
      sum_logs(step, sums.node, memory);
    } else {
      scaled.bound(p, step, scaled.range + (p.inputs + s) * kSmallLanes);
      scaled.sum(step, sums.node, memory);
    }
  }
  unsigned left_out = 0;
  alignas(64) double value[kSmallLanes];
  put(value, lanes(cell(memory, p.step[p.steps - 1].message)));
  if (!sums.logs) {
    each([&](int u) {
      const Vec exponent = __builtin_convertvector(scaled.exponent[u], Vec);
      store(value + u * W, log(load(value + u * W)) + (exponent * kLog2 + scaled.offset.at[u]));
      for (int i = 0; i < W; ++i)
        if (!(scaled.unsafe.at[u][i] <= kRange)) left_out |= 1u << (u * W + i);
    });
  }
  left_out &= (1u << block.count) - 1u;
  for (int l = 0; l < block.count; ++l)
    if (!(left_out >> l & 1)) sums.value[l] = value[l];
  if (sums.node && left_out != (1u << block.count) - 1u)
    go_back(factors, p, block, left_out, sums, memory);
  return left_out;
}

void best_of(const Factors& factors, const SmallProgram& p, const SmallBlock& block, double* value,
             std::int32_t* label, double* memory) {
  for (std::int32_t i = 0; i < p.inputs; ++i) {
    double* place = cell(memory, p.input[i].place);
    if (p.input[i].group >= 0) {
      gather(factors, p.input[i], i, block, place);
    } else {
      for (std::int32_t c = 0; c < p.input[i].cells; ++c) put(place + c * kSmallLanes, filled(0.0));
    }
  }
  for (std::int32_t s = 0; s < p.steps; ++s) {
    const SmallStep& step = p.step[s];
    for (std::int32_t i = 0; i < step.products; ++i)
      multiply<Plus>(p, p.product[step.first_product + i], step.width, memory);
    const double* product = cell(memory, step.product);
    double* message = cell(memory, step.message);
    for (std::int32_t r = 0; r < step.rest; ++r, product += step.width * kSmallLanes) {
      Lanes top = lanes(product);
      for (std::int32_t j = 1; j < step.width; ++j)
        each([&](int u) { top.at[u] = max(top.at[u], load(product + j * kSmallLanes + u * W)); });
      put(message + r * kSmallLanes, top);
    }
  }
  const double* last = cell(memory, p.step[p.steps - 1].message);
  for (int l = 0; l < block.count; ++l) {
    value[l] = last[l];
    const std::int32_t* variable = block.variable[l];
    for (std::int32_t s = p.steps - 1; s >= 0; --s) {
      const SmallStep& step = p.step[s];
      const std::int32_t* around = p.list + step.around;
      std::int64_t at = 0;
      if (last[l] != kZero)
        for (std::int32_t i = 0; i < step.arounds; ++i)
          at += static_cast<std::int64_t>(label[variable[around[i]]]) * around[step.arounds + i];
      const double* row = cell(memory, step.product) + at * kSmallLanes + l;
      std::int32_t chosen = 0;
      for (std::int32_t j = 1; j < step.width; ++j)
        if (row[j * kSmallLanes] > row[chosen * kSmallLanes]) chosen = j;
      label[variable[step.variable]] = last[l] == kZero ? -1 : chosen;
    }
  }
}

}  // namespace

const SmallGraphKernels small_graphs = {
    .memory = memory_of,
    .sums = sums_of,
    .best = best_of,
};

}  // namespace crfkit::CRFKIT_ARCH
