// A component of a graph: which factors its leaves are made of, and which program answers for it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "graph/elimination/program.hpp"
#include "graph/elimination/reduce.hpp"
#include "shared/factors.hpp"

namespace crfkit {

struct Member {
  std::int32_t group;
  std::int64_t factor;
};

struct Component {
  std::int32_t graph = 0;
  std::vector<std::int32_t> variable;      // flat number of each variable of the program
  std::vector<std::vector<Member>> leaf;   // factors of each leaf
  std::shared_ptr<const Program> program;  // components of one shape share it; null: too wide
  double cells = 0.0;                      // that it keeps, or would need

  // Calls visit(cell of the leaf, cell of the factor's own table), for all cells of a leaf.
  template <class Visit>
  void for_each_cell(const Factors& f, const Reduction& left, std::int32_t t, const Member& member,
                     Visit visit) const {
    const std::vector<std::int32_t>& axis = program->table[t].axis;
    const FactorGroup& group = f.group[member.group];
    const std::int32_t* scope = group.variables(member.factor);
    const int n = static_cast<int>(axis.size());
    std::vector<std::int64_t> stride(n, 0);
    std::int64_t at = 1, place = 0;
    for (int a = group.arity - 1; a >= 0; --a) {
      if (left.width[scope[a]] == 1) {
        place += at * left.label_of(scope[a], 0);
      } else {
        for (int i = 0; i < n; ++i)
          if (variable[axis[i]] == scope[a]) stride[i] = at;
      }
      at *= group.shape[a];
    }
    std::vector<std::int32_t> state(n, 0);
    std::vector<const std::int32_t*> label(n);
    for (int i = 0; i < n; ++i) {
      label[i] = left.label.data() + left.at[variable[axis[i]]];
      place += stride[i] * label[i][0];
    }
    const std::int64_t cells = program->table[t].cells;
    for (std::int64_t cell = 0; cell < cells; ++cell) {
      visit(cell, place);
      for (int i = n - 1; i >= 0; --i) {
        const std::int32_t before = label[i][state[i]];
        const bool wraps = ++state[i] == program->width[axis[i]];
        if (wraps) state[i] = 0;
        place += stride[i] * (label[i][state[i]] - before);
        if (!wraps) break;
      }
    }
  }

  // Scores of a leaf, [cells].
  void fill(const Factors& f, const Reduction& left, std::int32_t t, double* out) const {
    std::fill_n(out, program->table[t].cells, 0.0);
    for (const Member& member : leaf[t]) {
      const double* scores = f.group[member.group].scores(member.factor);
      const double scale = f.group[member.group].scale_of(member.factor);
      for_each_cell(f, left, t, member, [&](std::int64_t cell, std::int64_t place) {
        out[cell] += scale * scores[place];
      });
    }
  }
};

// Where marginals go; null: not wanted.
struct MarginalsOut {
  double* node = nullptr;       // [labels]
  std::vector<double*> clique;  // [groups] each [M, cells], zero at first; empty: not wanted
};

// Marginals of a leaf [cells] to those of its variables that ask for it, and of its factors.
inline void spread(const Component& c, const Factors& f, const Reduction& left, std::int32_t t,
                   const double* p, const std::vector<std::uint8_t>& wants, MarginalsOut& out) {
  const std::vector<std::int32_t>& axis = c.program->table[t].axis;
  const std::int64_t cells = c.program->table[t].cells;
  std::int64_t inner = 1;
  for (std::size_t i = axis.size(); i-- > 0;) {
    const std::int32_t v = c.variable[axis[i]], width = c.program->width[axis[i]];
    if (out.node && wants[i]) {
      for (std::int32_t y = 0; y < width; ++y) {
        double total = 0.0;
        for (std::int64_t o = y * inner; o < cells; o += width * inner)
          for (std::int64_t j = 0; j < inner; ++j) total += p[o + j];
        out.node[f.label_ptr[v] + left.label_of(v, y)] = total;
      }
    }
    inner *= width;
  }
  if (out.clique.empty()) return;
  for (const Member& member : c.leaf[t]) {
    double* to = out.clique[member.group] + member.factor * f.group[member.group].cells;
    c.for_each_cell(f, left, t, member,
                    [&](std::int64_t cell, std::int64_t place) { to[place] += p[cell]; });
  }
}

}  // namespace crfkit
