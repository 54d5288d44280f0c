// Compiled once per instruction set: softmaxes of single labels and of single factors.
#include "shared/conditionals.hpp"

#include "kernels/simd/simd.hpp"

namespace crfkit::CRFKIT_ARCH {

namespace {

// A line of a table: the scores of one label of a factor, the others at their given values.
struct Line {
  std::int64_t first, step;
};

// The line of the label at `axis`; first = -1 where another variable of the factor is hidden.
inline Line line_of(const FactorGroup& g, std::int64_t m, int axis, const std::int32_t* label) {
  const std::int32_t* v = g.variables(m);
  if (g.arity == 1) return {0, 1};
  if (g.arity == 2) {
    const std::int64_t other = label[v[1 - axis]];
    if (other < 0) return {-1, 1};
    return axis == 0 ? Line{other, g.shape[1]} : Line{other * g.shape[1], 1};
  }
  Line line = {0, 1};
  std::int64_t step = 1;
  for (int i = g.arity - 1; i >= 0; --i) {
    if (i == axis) {
      line.step = step;
    } else {
      if (label[v[i]] < 0) return {-1, 1};
      line.first += step * label[v[i]];
    }
    step *= g.shape[i];
  }
  return line;
}

inline bool known(const FactorGroup& g, std::int64_t m, const std::int32_t* label) {
  for (int i = 0; i < g.arity; ++i)
    if (label[g.variables(m)[i]] < 0) return false;
  return true;
}

// Turns scores[0, n) into probabilities, and returns the logarithm of the sum of their exp; there
// is room for W more.  -inf and no probabilities where all scores are -inf.
inline double softmax(double* score, std::int64_t n) {
  store(score + n, splat(kZero));
  Vec most = load(score);
  for (std::int64_t l = W; l < n; l += W) most = max(most, load(score + l));
  const double top = max_of(most);
  if (top == kZero) {
    for (std::int64_t l = 0; l < n; ++l) score[l] = 0.0;
    return kZero;
  }
  Vec sum = splat(0.0);
  for (std::int64_t l = 0; l < n; l += W) {
    const Vec p = exp(load(score + l) - top);
    store(score + l, p);
    sum += p;
  }
  const double total = sum_of(sum), scale = 1.0 / total;
  for (std::int64_t l = 0; l < n; l += W) store(score + l, load(score + l) * scale);
  return top + std::log(total);
}

// What a softmax loses where its label has the score `own`; infinite where that is forbidden.
inline double lost(double log_sum, double own) { return own == kZero ? kInfinity : log_sum - own; }

double labels(const Conditionals& c, std::int64_t first, std::int64_t last, double* score) {
  double loss = 0.0;
  for (std::int64_t v = first; v < last; ++v) {
    const int n = c.factors.width[v], y = c.label[v];
    double* share = c.share + c.factors.label_ptr[v];
    const double weight = c.weight[v];
    if (y < 0 || weight == 0.0) {
      for (int l = 0; l < n; ++l) share[l] = 0.0;
      continue;
    }
    for (int l = 0; l < n; ++l) score[l] = 0.0;
    for (std::int64_t e = c.ptr[v]; e < c.ptr[v + 1]; ++e) {
      const Incident& at = c.entry[e];
      const FactorGroup& g = c.factors.group[at.group];
      const Line line = line_of(g, at.factor, at.axis, c.label);
      if (line.first < 0) continue;
      const double* table = g.scores(at.factor) + line.first;
      const double scale = g.scale_of(at.factor);
      if (line.step == 1)
        for (int l = 0; l < n; ++l) score[l] += scale * table[l];
      else
        for (int l = 0; l < n; ++l) score[l] += scale * table[l * line.step];
    }
    const double own = score[y];
    loss += weight * lost(softmax(score, n), own);
    for (int l = 0; l < n; ++l) share[l] = weight * score[l];
    share[y] -= weight;
  }
  return loss;
}

// Adds the shares of the labels of a factor to its cells.
inline void add_shares(const TableTerms& c, std::int64_t m, double* gradient) {
  const FactorGroup& g = c.group;
  const double scale = g.scale_of(m);
  for (int i = 0; i < g.arity; ++i) {
    const Line line = line_of(g, m, i, c.label);
    const std::int32_t v = g.variables(m)[i];
    if (line.first < 0 || c.label[v] < 0) return;
    const double* share = c.share + c.label_ptr[v];
    double* out = gradient + line.first;
    if (line.step == 1)
      for (int l = 0; l < g.shape[i]; ++l) out[l] += scale * share[l];
    else
      for (int l = 0; l < g.shape[i]; ++l) out[l * line.step] += scale * share[l];
  }
}

// Each label of a factor given the others, by the factor alone.
inline double each_label(const TableTerms& c, std::int64_t m, double* gradient, double* score) {
  const FactorGroup& g = c.group;
  if (!known(g, m, c.label)) return 0.0;
  const double scale = g.scale_of(m);
  double loss = 0.0;
  for (int i = 0; i < g.arity; ++i) {
    const Line line = line_of(g, m, i, c.label);
    const std::int32_t v = g.variables(m)[i], y = c.label[v];
    const double weight = c.weight[v];
    if (weight == 0.0) continue;
    const double* table = g.scores(m) + line.first;
    const int n = g.shape[i];
    for (int l = 0; l < n; ++l) score[l] = scale * table[l * line.step];
    const double own = score[y];
    loss += weight * lost(softmax(score, n), own);
    double* out = gradient + line.first;
    for (int l = 0; l < n; ++l) out[l * line.step] += weight * scale * score[l];
    out[y * line.step] -= weight * scale;
  }
  return loss;
}

// The cells of the factors of places [first, last), which take one table.
double whole_factors(const TableTerms& c, std::int64_t first, std::int64_t last, double* gradient,
                     double* score) {
  const FactorGroup& g = c.group;
  const double* table = g.scores(c.factor(first));
  double loss = 0.0, weights = 0.0;
  const auto add_softmax = [&](double scale, double weight) {
    for (std::int64_t i = 0; i < g.cells; ++i) score[i] = scale * table[i];
    loss += weight * softmax(score, g.cells);
    for (std::int64_t i = 0; i < g.cells; ++i) gradient[i] += weight * scale * score[i];
  };
  for (std::int64_t j = first; j < last; ++j) {
    const std::int64_t m = c.factor(j);
    const std::int32_t* v = g.variables(m);
    const double weight = c.weight[v[0]], scale = g.scale_of(m);
    if (!known(g, m, c.label) || weight == 0.0) continue;
    std::int64_t cell = 0;
    for (int i = 0; i < g.arity; ++i) cell = cell * g.shape[i] + c.label[v[i]];
    if (table[cell] == kZero) return kInfinity;
    loss -= weight * scale * table[cell];
    gradient[cell] -= weight * scale;
    if (g.scale)
      add_softmax(scale, weight);
    else
      weights += weight;  // one softmax for all of them
  }
  if (weights != 0.0) add_softmax(1.0, weights);
  return loss;
}

double factors(const TableTerms& c, std::int64_t first, std::int64_t last, double* head,
               double* scratch) {
  double loss = 0.0;
  for (std::int64_t i = first, end; i < last; i = end) {
    for (end = i + 1; end < last && c.goes_on(end);) ++end;
    double* gradient = i == first && c.goes_on(i)
                           ? head
                           : c.gradient + c.group.table_of(c.factor(i)) * c.group.cells;
    if (c.terms == Terms::factors) {
      loss += whole_factors(c, i, end, gradient, scratch);
      continue;
    }
    for (std::int64_t j = i; j < end; ++j)
      if (c.terms == Terms::labels)
        add_shares(c, c.factor(j), gradient);
      else
        loss += each_label(c, c.factor(j), gradient, scratch);
  }
  return loss;
}

}  // namespace

const ConditionalKernels conditionals = {
    .labels = labels,
    .factors = factors,
};

}  // namespace crfkit::CRFKIT_ARCH
