// Which variables are connected: trees whose roots are their smallest variables.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace crfkit {

class UnionFind {
 public:
  explicit UnionFind(std::int64_t variables) : above_(variables) {
    std::iota(above_.begin(), above_.end(), 0);
  }

  std::int32_t root(std::int32_t v) {
    while (above_[v] != v) v = above_[v] = above_[above_[v]];
    return v;
  }

  void join(std::int32_t u, std::int32_t v) {
    u = root(u), v = root(v);
    if (u < v) above_[v] = u;
    if (v < u) above_[u] = v;
  }

  // The variables of each scope [count, arity].
  void join_rows(const std::int32_t* scope, std::int64_t count, std::int64_t arity) {
    for (const std::int32_t* end = scope + count * arity; scope != end; scope += arity)
      for (std::int64_t a = 1; a < arity; ++a) join(scope[0], scope[a]);
  }

  // The component of each variable; they are numbered by their first variables.
  std::vector<std::int32_t> components() && {
    std::int32_t count = 0;
    for (std::size_t v = 0; v < above_.size(); ++v)  // roots come before the rest of their trees
      above_[v] = above_[v] == static_cast<std::int32_t>(v) ? count++ : above_[above_[v]];
    return std::move(above_);
  }

 private:
  std::vector<std::int32_t> above_;
};

}  // namespace crfkit
