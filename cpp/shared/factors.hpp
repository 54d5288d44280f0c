// Graphs as they cross into the engines: variables, and factors in groups of one shape.
//
// score(y) = constant_n + sum over groups g, factors m of scale_m table_g[which_m][y_scope]
#pragma once

#include <cstdint>

namespace crfkit {

// Factors of one clique: all have as many variables, with the same numbers of labels.
struct FactorGroup {
  std::int64_t count;         // M
  int arity;                  // a >= 1
  const std::int32_t* scope;  // [M, a] variables, all different within a factor
  const std::int32_t* shape;  // [a] labels of each variable
  std::int64_t cells;         // product of the shape
  const double* table;        // [tables, cells] scores, the last variable fastest; finite or -inf
  std::int64_t tables;        // K: 1, M, or what `which` numbers
  const std::int32_t*
      which;            // [M] table of each factor; null: the one table, or factor m has table m
  const double* scale;  // [M] factor of the scores, finite and not below 0; null: 1

  std::int64_t table_of(std::int64_t m) const { return which ? which[m] : tables == 1 ? 0 : m; }
  const double* scores(std::int64_t m) const {
    return table + table_of(m) * cells;
  }  // without scale
  double scale_of(std::int64_t m) const { return scale ? scale[m] : 1.0; }
  const std::int32_t* variables(std::int64_t m) const { return scope + m * arity; }
};

struct Factors {
  std::int64_t variables;         // V
  std::int64_t graphs;            // N
  const std::int32_t* width;      // [V] labels of each variable, at least 1
  const std::int32_t* graph;      // [V] which graph a variable is of
  const double* constant;         // [N] score of every labeling; finite or -inf
  const std::int64_t* label_ptr;  // [V + 1] where the labels of each variable begin in flat arrays
  const FactorGroup* group;       // [groups]
  std::int64_t groups;
};

// A factor as one of its variables sees it.
struct Incident {
  std::int32_t group;   // of the factor
  std::int32_t axis;    // place of the variable in the factor's scope
  std::int64_t factor;  // within its group
};

}  // namespace crfkit
