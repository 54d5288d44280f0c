// Sums over spanning trees.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>
#include <utility>

#include "engine/trees/spanning.hpp"
#include "engine/trees/weights.hpp"
#include "shared/interrupts.hpp"
#include "shared/no_memory.hpp"

namespace crfkit {
namespace {

// Weights [n + 1, n] of (head, word), those of the root last, scaled so that the heads of each word
// sum to 1; returns the log of the factor that was taken out, -inf where a word has no head.
template <class Number>
double scaled(const ChartKernels& kernels, const ArcScores& arcs, std::vector<Number>& weight) {
  const std::int64_t n = arcs.words;
  std::vector<double> top(n, kNever);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) top[j] = std::max(top[j], arcs.at(i, j));
  double factor = 0.0;
  for (const double t : top) factor += t;
  if (factor == kNever) return factor;
  check_memory("the weights of the arcs of a sentence",
               3 * sizeof(Number) * static_cast<std::size_t>((n + 1) * n));
  weight.assign((n + 1) * n, Number());
  std::vector<Number> total(n);
  for (std::int64_t i = 0; i < n; ++i) {
    Number* row = weight.data() + i * n;
    weigh(kernels, arcs.score + i * arcs.stride, top.data(), n, row);
    for (std::int64_t j = 0; j < n; ++j) total[j] += row[j];
    std::swap(row[i], weight[n * n + i]);  // a root
  }
  for (std::int64_t i = 0; i <= n; ++i)
    for (std::int64_t j = 0; j < n; ++j) weight[i * n + j] = weight[i * n + j] / total[j];
  for (const Number& t : total) factor += t.log();
  return factor;
}

}  // namespace

// The determinant of the matrix-tree theorem (Koo et al. 2007) without a subtraction.  Words are
// eliminated one by one, from the last, and who had word k as head gets the heads of k,
//     weight[i][j] += share[i] * weight[k][j], share[i] = weight[i][k] / pivot,
// where pivot is the sum over i of weight[i][k]; log Z is the sum of the logs of pivots.  Nothing
// cancels, however small the weights of roots are (Grassmann, Taksar & Heyman 1985 do so for chains
// of Markov).  With a single root, weights of the root are infinitely small beside the others: they
// count in the last pivot only, and a word that only the root can be head of comes last.
// Marginals are weight * slope, where slope is the derivative of log Z.
// Returns false where doubles do not do: the sum of logs of pivots is the log of the probability
// that heads that are drawn word by word form a tree, and below e^-600 what underflowed might have
// mattered.
template <class Number>
bool SpanningTrees::eliminate(const ArcScores& arcs, double& value, double* marginals) {
  const std::int64_t n = arcs.words;
  std::vector<Number> weight;
  value = scaled(kernels_, arcs, weight);
  if (value == kNever) return true;
  const std::vector<Number> given = marginals ? weight : std::vector<Number>();
  std::vector<std::int64_t> word(n);  // by its number here
  std::iota(word.begin(), word.end(), std::int64_t{0});
  const auto row = [&](std::int64_t i) { return weight.data() + i * n; };
  const auto heads = [&](std::int64_t j, std::int64_t k) {  // of word j while k is the last word
    Number total;
    for (std::int64_t i = 0; i <= k; ++i)
      if (i != j) total += row(i)[j];
    if (!arcs.single_root || k == 0) total += row(n)[j];
    return total;
  };
  constexpr bool exact = std::is_same_v<Number, Log>;
  std::vector<Number> pivot(n);
  double logs = 0.0;
  for (std::int64_t k = n; k-- > 0;) {
    worked(k * k + 64);
    pivot[k] = heads(k, k);
    for (std::int64_t j = k; pivot[k].zero() && j-- > 0;) {
      const Number other = heads(j, k);
      if (other.zero()) continue;
      for (std::int64_t i = 0; i <= n; ++i) std::swap(row(i)[k], row(i)[j]);
      std::swap_ranges(row(k), row(k) + n, row(j));
      std::swap(word[k], word[j]);
      pivot[k] = other;
    }
    if (pivot[k].zero()) {
      value = kNever;
      return exact;
    }
    logs += pivot[k].log();
    for (std::int64_t i = 0; i <= n; ++i) {
      if (i == k) i = n;
      const Number share = row(i)[k] / pivot[k];
      if (!share.zero()) add(kernels_, row(k), k, share, row(i));
    }
  }
  if (!exact && !(std::abs(logs) < 600.0)) return false;
  value += logs;
  if (!marginals) return true;
  std::vector<Number> slope((n + 1) * n);
  const auto slopes = [&](std::int64_t i) { return slope.data() + i * n; };
  for (std::int64_t k = 0; k < n; ++k) {
    worked(2 * k * k + 64);
    for (std::int64_t i = 0; i <= n; ++i) {
      if (i == k) i = n;
      const Number share = row(i)[k] / pivot[k];
      if (!share.zero()) add(kernels_, slopes(i), k, share, slopes(k));
    }
    const double through = dot(kernels_, row(k), slopes(k), k).number();  // children of k, expected
    for (std::int64_t i = 0; i <= n; ++i) {
      if (i == k) i = n;
      const Number of_shares = dot(kernels_, row(k), slopes(i), k);
      const bool counts = i < n || !arcs.single_root || k == 0;
      slopes(i)[k] = (counts ? of_shares.with(1.0 - through) : of_shares) / pivot[k];
    }
  }
  for (std::int64_t i = 0; i <= n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      if (i == j) continue;
      const std::int64_t to = word[j], from = i == n ? to : word[i];
      const Number weight_given = given[(i == n ? n : from) * n + to];
      if (!weight_given.zero())
        marginals[from * arcs.stride + to] += (weight_given * slopes(i)[j]).number();
    }
  return true;
}

double SpanningTrees::sum(const ArcScores& arcs, double* marginals) {
  double value = 0.0;
  if (!eliminate<Plain>(arcs, value, marginals)) eliminate<Log>(arcs, value, marginals);
  return value;
}

}  // namespace crfkit
