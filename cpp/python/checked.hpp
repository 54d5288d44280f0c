// Problems made from Python's arrays.  Shapes and ranges are checked here, once; the kernels trust
// what they get.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/checks.hpp"
#include "python/spans.hpp"
#include "shared/problem.hpp"

namespace crfkit {

using Scores = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using WrittenMatrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

inline std::string index_text(const Scores& a, std::int64_t flat) {
  std::string text;
  for (int axis = static_cast<int>(a.ndim()) - 1; axis >= 0; --axis) {
    const std::int64_t n = static_cast<std::int64_t>(a.shape(axis));
    text = std::to_string(flat % n) + (text.empty() ? "" : ", ") + text;
    flat /= n;
  }
  return "[" + text + "]";
}

inline std::string shape_text(const Scores& a) {
  std::string text;
  for (std::size_t axis = 0; axis < a.ndim(); ++axis)
    text += (axis ? ", " : "") + std::to_string(a.shape(axis));
  return "(" + text + (a.ndim() == 1 ? ",)" : ")");
}

inline void check_scores(const Scores& a, const char* name) {
  const double* score = a.data();
  const std::int64_t n = static_cast<std::int64_t>(a.size());
  constexpr std::int64_t chunk = 4096;
  for (std::int64_t i = 0; i < n; i += chunk) {
    const std::int64_t end = std::min(n, i + chunk);
    bool good = true;
    for (std::int64_t j = i; j < end; ++j) good &= score[j] <= kLargestScore;
    if (good) continue;
    for (std::int64_t j = i; j < end; ++j)
      if (!(score[j] <= kLargestScore)) refuse(name + index_text(a, j) + wrong_score(score[j]));
  }
}

inline void check_shape(const Scores& a, const char* name, const std::vector<std::int64_t>& shape) {
  bool same = a.ndim() == shape.size();
  for (std::size_t axis = 0; same && axis < shape.size(); ++axis)
    same = static_cast<std::int64_t>(a.shape(axis)) == shape[axis];
  if (same) return check_scores(a, name);
  std::string wanted;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    wanted += (axis ? ", " : "") + std::to_string(shape[axis]);
  refuse(std::string(name) + " has shape " + shape_text(a) + ", expected (" + wanted +
         (shape.size() == 1 ? ",)" : ")"));
}

// ---- a batch of scored structures, with the arrays that it refers to

struct Scored {
  Problem p = {};
  std::vector<Scores> scores;
  std::vector<KeptPointers> pointers;
  std::vector<KeptIntegers> integers;

  const double* keep(const Scores& a) { return scores.emplace_back(a).data(); }
  const double* keep(const std::optional<Scores>& a, const char* name) {
    if (!a) return nullptr;
    check_shape(*a, name, {p.labels});
    return keep(*a);
  }

  void set_sequences(const KeptPointers& seq_ptr, std::int64_t positions) {
    check_pointers(seq_ptr, "seq_ptr", positions);
    p.sequences = static_cast<std::int64_t>(seq_ptr.size()) - 1;
    p.seq_ptr = pointers.emplace_back(seq_ptr).data();
  }

  void set_labels(std::int64_t labels) {
    if (labels < 1) refuse("node has no labels: its last axis is 0");
    if (labels >= (1 << 20)) refuse("more than 2^20 labels");
    p.labels = static_cast<int>(labels);
  }

  // edge [L, L], or [P, L, L] whose entry p enters position p.
  void set_edge(const Scores& edge, std::int64_t positions) {
    const std::int64_t L = p.labels;
    p.order = 1;
    if (edge.ndim() == 3) {
      check_shape(edge, "edge", {positions, L, L});
      p.edge_step = L * L;
    } else {
      check_shape(edge, "edge", {L, L});
    }
    p.edge[0] = keep(edge);
  }

  std::int64_t positions() const { return p.seq_ptr[p.sequences]; }
};

inline std::unique_ptr<Scored> make_chain(const Scores& node, const std::vector<Scores>& tables,
                                          const std::optional<Scores>& start,
                                          const std::optional<Scores>& stop,
                                          const KeptPointers& seq_ptr) {
  auto made = std::make_unique<Scored>();
  Problem& p = made->p;
  p.shape = Shape::chain;
  if (node.ndim() != 2)
    refuse("node has shape " + shape_text(node) + ", expected (positions, labels)");
  const std::int64_t positions = static_cast<std::int64_t>(node.shape(0));
  made->set_labels(static_cast<std::int64_t>(node.shape(1)));
  check_scores(node, "node");
  p.node = made->keep(node);
  made->set_sequences(seq_ptr, positions);
  if (tables.empty() || tables.size() > kMaxOrder)
    refuse("a chain has order 1 to " + std::to_string(kMaxOrder) + ", not " +
           std::to_string(tables.size()));
  if (tables.size() == 1) {
    made->set_edge(tables[0], positions);
  } else {
    double cells = 1.0;
    std::vector<std::int64_t> shape = {p.labels};
    for (std::size_t h = 1; h <= tables.size(); ++h) {
      shape.push_back(p.labels);
      check_shape(tables[h - 1], ("edge of order " + std::to_string(h)).c_str(), shape);
      p.edge[h - 1] = made->keep(tables[h - 1]);
      cells *= p.labels;
    }
    if (cells >= 0x1p31)
      refuse("2^31 label tuples or more: lower the order or the number of labels");
    p.order = static_cast<int>(tables.size());
  }
  p.start = made->keep(start, "start");
  p.stop = made->keep(stop, "stop");
  return made;
}

inline std::unique_ptr<Scored> make_segments(const Scores& segment, const Scores& edge,
                                             const std::optional<Scores>& start,
                                             const std::optional<Scores>& stop,
                                             const KeptPointers& seq_ptr) {
  auto made = std::make_unique<Scored>();
  Problem& p = made->p;
  p.shape = Shape::segments;
  if (segment.ndim() != 3)
    refuse("segment has shape " + shape_text(segment) + ", expected (positions, lengths, labels)");
  const std::int64_t positions = static_cast<std::int64_t>(segment.shape(0));
  if (segment.shape(1) < 1)
    refuse("segment allows no length: its second axis (the longest segment D) is 0");
  if (segment.shape(1) >= (1u << 30)) refuse("segments of 2^30 positions or more");
  p.longest = static_cast<int>(segment.shape(1));
  made->set_labels(static_cast<std::int64_t>(segment.shape(2)));
  check_scores(segment, "segment");
  p.segment = made->keep(segment);
  made->set_sequences(seq_ptr, positions);
  made->set_edge(edge, positions);
  p.start = made->keep(start, "start");
  p.stop = made->keep(stop, "stop");
  return made;
}

inline void check_tree(const Problem& p, std::int64_t node_size, std::int64_t edge_size) {
  std::vector<std::int32_t> state;
  for (std::int64_t n = 0; n < p.sequences; ++n) {
    const std::int64_t begin = p.seq_ptr[n], size = p.seq_ptr[n + 1] - begin;
    const std::int32_t* parent = p.parent + begin;
    for (std::int64_t v = 0; v < size; ++v) {
      const auto at = [&](const char* name) {
        return std::string(name) + "[" + text(begin + v) + "]";
      };
      if (p.width[begin + v] < 1)
        refuse(at("width") + " is " + std::to_string(p.width[begin + v]) + ", expected 1 or more");
      if (parent[v] < -1 || parent[v] >= size)
        refuse(at("parent") + " is " + std::to_string(parent[v]) +
               ", expected -1 (a root) or 0 to " + std::to_string(size - 1) +
               ", a variable of the same tree");
      const std::int64_t rows = p.width[begin + v],
                         columns = parent[v] < 0 ? 0 : p.width[begin + parent[v]];
      if (p.node_ptr[begin + v + 1] - p.node_ptr[begin + v] != rows)
        refuse("node of variable " + std::to_string(begin + v) + " has " +
               std::to_string(p.node_ptr[begin + v + 1] - p.node_ptr[begin + v]) +
               " scores, expected its width " + std::to_string(rows));
      if (p.edge_ptr[begin + v + 1] - p.edge_ptr[begin + v] != rows * columns)
        refuse("edge of variable " + std::to_string(begin + v) + " has " +
               std::to_string(p.edge_ptr[begin + v + 1] - p.edge_ptr[begin + v]) +
               " scores, expected " + std::to_string(rows) + " x " + std::to_string(columns) +
               " (its labels by its parent's)");
    }
    // Walk up from every variable; 0 new, 1 on this walk, 2 known to end at a root.
    state.assign(size, 0);
    for (std::int64_t v = 0; v < size; ++v) {
      std::int64_t u = v;
      for (; u >= 0 && state[u] == 0; u = parent[u]) state[u] = 1;
      if (u >= 0 && state[u] == 1)
        refuse("parent[" + std::to_string(begin + u) + "] closes a cycle; a tree has none");
      for (u = v; u >= 0 && state[u] == 1; u = parent[u]) state[u] = 2;
    }
  }
  if (node_size != p.node_ptr[p.seq_ptr[p.sequences]] ||
      edge_size != p.edge_ptr[p.seq_ptr[p.sequences]])
    refuse("node_ptr or edge_ptr does not end at the size of node or edge");
}

inline std::unique_ptr<Scored> make_tree(const Scores& node, const KeptPointers& node_ptr,
                                         const Scores& edge, const KeptPointers& edge_ptr,
                                         const KeptIntegers& parent, const KeptIntegers& width,
                                         const KeptPointers& seq_ptr) {
  auto made = std::make_unique<Scored>();
  Problem& p = made->p;
  p.shape = Shape::tree;
  p.order = 1;
  const std::int64_t variables = static_cast<std::int64_t>(parent.size());
  if (static_cast<std::int64_t>(width.size()) != variables)
    refuse("width has " + std::to_string(width.size()) +
           " entries, expected one per variable: " + std::to_string(variables));
  for (const KeptPointers* a : {&node_ptr, &edge_ptr})
    if (static_cast<std::int64_t>(a->size()) != variables + 1)
      refuse("node_ptr and edge_ptr need one entry per variable and one more");
  check_shape(node, "node", {static_cast<std::int64_t>(node.size())});
  check_shape(edge, "edge", {static_cast<std::int64_t>(edge.size())});
  check_pointers(node_ptr, "node_ptr", static_cast<std::int64_t>(node.size()));
  check_pointers(edge_ptr, "edge_ptr", static_cast<std::int64_t>(edge.size()));
  made->set_sequences(seq_ptr, variables);
  p.node = made->keep(node);
  p.edge[0] = made->keep(edge);
  p.node_ptr = made->pointers.emplace_back(node_ptr).data();
  p.edge_ptr = made->pointers.emplace_back(edge_ptr).data();
  p.parent = made->integers.emplace_back(parent).data();
  p.width = made->integers.emplace_back(width).data();
  p.labels = 1;
  check_tree(p, static_cast<std::int64_t>(node.size()), static_cast<std::int64_t>(edge.size()));
  for (std::int64_t v = 0; v < variables; ++v)
    p.labels = std::max(p.labels, static_cast<int>(p.width[v]));
  return made;
}

}  // namespace crfkit
