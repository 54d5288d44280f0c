#include "graph/kept_factors.hpp"

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/checks.hpp"
#include "shared/problem.hpp"

namespace crfkit {

KeptFactors::KeptFactors(KeptIntegers width, KeptIntegers graph, KeptReals constant)
    : width_(std::move(width)), graph_(std::move(graph)), constant_(std::move(constant)) {
  const std::int64_t V = static_cast<std::int64_t>(width_.size()),
                     N = static_cast<std::int64_t>(constant_.size());
  if (V > std::numeric_limits<std::int32_t>::max()) refuse("more than 2^31 - 1 variables");
  check_length("graph", graph_.size(), V);
  label_ptr_.resize(V + 1);
  for (std::int64_t v = 0; v < V; ++v) {
    if (width_[v] < 1)
      refuse("variable " + text(v) + " has " + text(width_[v]) + " labels, expected 1 or more");
    if (graph_[v] < 0 || graph_[v] >= N)
      refuse("variable " + text(v) + " is of graph " + text(graph_[v]) + ", expected 0 to " +
             text(N - 1));
    label_ptr_[v + 1] = label_ptr_[v] + width_[v];
  }
  for (std::int64_t n = 0; n < N; ++n)
    if (!(constant_[n] <= kLargestScore))
      refuse("the constant of graph " + text(n) + wrong_score(constant_[n]));
  view_ = {V, N, width_.data(), graph_.data(), constant_.data(), label_ptr_.data(), nullptr, 0};
}

void KeptFactors::add(const std::string& name, KeptIntegers scope, std::vector<std::int32_t> shape,
                      KeptReals table, std::optional<KeptIntegers> which,
                      std::optional<KeptReals> scale) {
  Group group = {std::move(scope), std::move(shape), std::move(table), std::move(which),
                 std::move(scale)};
  const std::int64_t arity = static_cast<std::int64_t>(group.shape.size());
  if (arity < 1) refuse(name + ": a clique has 1 variable or more");
  std::int64_t cells = 1;
  for (const std::int32_t n : group.shape) {
    if (n < 1) refuse(name + ": a table without cells");
    if (cells > (std::int64_t{1} << 40) / n) refuse(name + ": a table of more than 2^40 cells");
    cells *= n;
  }
  const std::int64_t M = static_cast<std::int64_t>(group.scope.size()) / arity;
  if (static_cast<std::int64_t>(group.scope.size()) != M * arity)
    refuse(name + ": scope has " + text(static_cast<std::int64_t>(group.scope.size())) +
           " entries, expected a multiple of " + text(arity));
  const std::int64_t K = static_cast<std::int64_t>(group.table.size()) / cells;
  if (static_cast<std::int64_t>(group.table.size()) != K * cells)
    refuse(name + ": the table has " + text(static_cast<std::int64_t>(group.table.size())) +
           " scores, expected a multiple of " + text(cells));
  if (group.which) {
    check_length((name + ": which").c_str(), group.which->size(), M);
    for (std::int64_t m = 0; m < M; ++m)
      if ((*group.which)[m] < 0 || (*group.which)[m] >= K)
        refuse(name + ": which[" + text(m) + "] is " + text((*group.which)[m]) +
               ", expected 0 to " + text(K - 1));
  } else if (K != 1 && K != M) {
    refuse(name + ": " + text(K) + " tables for " + text(M) +
           " factors; give one for all, one for each, or `which`");
  }
  check_scopes(name, group, M);
  check_numbers(name, group, cells);
  groups_.push_back(std::move(group));
  views_.clear();
  for (const Group& g : groups_) {
    const int a = static_cast<int>(g.shape.size());
    std::int64_t size = 1;
    for (const std::int32_t n : g.shape) size *= n;
    views_.push_back({static_cast<std::int64_t>(g.scope.size()) / a, a, g.scope.data(),
                      g.shape.data(), size, g.table.data(),
                      static_cast<std::int64_t>(g.table.size()) / size, data_or_null(g.which),
                      data_or_null(g.scale)});
  }
  view_.group = views_.data();
  view_.groups = static_cast<std::int64_t>(views_.size());
}

void KeptFactors::check_scopes(const std::string& name, const Group& group, std::int64_t M) const {
  const std::int64_t a = static_cast<std::int64_t>(group.shape.size());
  for (std::int64_t m = 0; m < M; ++m) {
    const std::int32_t* scope = group.scope.data() + m * a;
    const auto at = [&](std::int64_t i) {
      return name + ": scope[" + text(m) + ", " + text(i) + "]";
    };
    for (std::int64_t i = 0; i < a; ++i) {
      if (scope[i] < 0 || scope[i] >= view_.variables)
        refuse(at(i) + " is " + text(scope[i]) + ", expected 0 to " + text(view_.variables - 1));
      if (width_[scope[i]] != group.shape[i])
        refuse(at(i) + ": variable " + text(scope[i]) + " has " + text(width_[scope[i]]) +
               " labels, the table has " + text(group.shape[i]));
      if (graph_[scope[i]] != graph_[scope[0]])
        refuse(name + ": factor " + text(m) + " joins graphs " + text(graph_[scope[0]]) + " and " +
               text(graph_[scope[i]]));
      for (std::int64_t j = 0; j < i; ++j)
        if (scope[i] == scope[j])
          refuse(at(i) + " repeats variable " + text(scope[i]) +
                 "; a factor's variables are all different");
    }
  }
}

void KeptFactors::check_numbers(const std::string& name, const Group& group, std::int64_t cells) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  bool forbids = false, wrong = false;
  double largest = 0.0;
  for (const double x : group.table) {  // without a way out, so that it is done in vectors
    wrong |= !(x <= kLargestScore);
    forbids |= x == -inf;
    largest = x > largest ? x : largest;
  }
  for (std::size_t i = 0; wrong && i < group.table.size(); ++i)
    if (!(group.table[i] <= kLargestScore))
      refuse(name + ": table " + text(static_cast<std::int64_t>(i) / cells) + ", cell " +
             text(static_cast<std::int64_t>(i) % cells) + wrong_score(group.table[i]));
  if (!group.scale) return;
  for (std::size_t m = 0; m < group.scale->size(); ++m) {
    const double scale = (*group.scale)[m];
    if (!std::isfinite(scale) || scale < 0.0 || (forbids && scale == 0.0))
      refuse(name + ": scale[" + text(static_cast<std::int64_t>(m)) + "] is not a finite number " +
             (forbids ? "above 0 (the table forbids labels)" : "of 0 or more"));
    if (!(scale * largest <= kLargestScore))
      refuse(name + ": the largest score times scale[" + text(static_cast<std::int64_t>(m)) + "]" +
             wrong_score(scale * largest));
  }
}

}  // namespace crfkit
