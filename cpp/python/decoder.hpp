// One sequence at a time: Python items to ids, scores and labels, without an array or a Python
// object in between.
//
// A decoder holds what depends on the model alone: the alphabet, rows of weights, packed tables of
// transitions, the labels as Python strings.  It never changes, so threads may share it.  What a
// call writes to is a workspace; workspaces wait in a pool for the next call, and a call that meets
// another one (in another thread, or from within a generator of items) takes one of its own.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/handles.hpp"
#include "engine/linear/ready_rows.hpp"
#include "python/arrays.hpp"
#include "python/checked.hpp"
#include "python/frozen.hpp"
#include "python/items.hpp"
#include "python/released.hpp"

namespace crfkit {

using Labels = nb::typed<nb::tuple, nb::str, nb::ellipsis>;

// What one call writes to.
struct Workspace {
  ItemWalk walk;
  Handle scratch;
  std::vector<double> node, pooled;
  std::vector<std::int32_t> path;
  std::int64_t largest = 0;  // scores of one sequence that it was used for

  Workspace(const Names& names, PyObject* mapping, const Kernels& kernels)
      : walk(names, mapping), scratch(make_scratch(kernels)) {}
};

class Decoder {
 public:
  Decoder(const Kernels& kernels, Names names, const ReadyRows& rows, std::vector<Scores> tables,
          const std::optional<Scores>& start, const std::optional<Scores>& stop, Labels labels)
      : kernels_(kernels),
        names_(names),
        rows_(rows.view()),
        labels_(std::move(labels)),
        mapping_(nb::module_::import_("collections.abc").attr("Mapping")),
        transitions_(transitions(rows.view().width, tables, start, stop)),
        sums_(prepare(kernels, transitions_->p, asked(Query::sum))),
        best_(prepare(kernels, transitions_->p, asked(Query::best))) {
    if (static_cast<int>(labels_.size()) != rows_.width)
      refuse("there are " + text(static_cast<std::int64_t>(labels_.size())) +
             " labels for rows of " + text(rows_.width));
    free_.reserve(kKept);  // giving back must not fail
  }

  int labels() const { return rows_.width; }
  std::int64_t pooled_size() const { return kernels_.pooled_size(transitions_->p, false); }

  // Calls f with a workspace.  Many are kept, but none that a long sequence has made large.
  template <class F>
  auto with_workspace(F f) const {
    std::unique_ptr<Workspace> mine;
    {
      const std::lock_guard<std::mutex> lock(guard_);
      if (!free_.empty()) mine = std::move(free_.back()), free_.pop_back();
    }
    if (!mine) mine = std::make_unique<Workspace>(names_, mapping_.ptr(), kernels_);
    mine->walk.clear();
    struct GiveBack {
      const Decoder& decoder;
      std::unique_ptr<Workspace>& mine;
      ~GiveBack() { decoder.keep(std::move(mine)); }
    } give_back{*this, mine};
    return f(*mine);
  }

  // Items to ids, in a workspace.
  void read(nb::handle sequence, Workspace& into) const {
    try {
      into.walk.append(sequence.ptr(), 0);
    } catch (const PythonError&) {
      throw nb::python_error();
    }
  }

  // Scores [T, L] of what a workspace has read.
  void score(Workspace& read, std::vector<double>& node) const {
    const std::int64_t T = static_cast<std::int64_t>(read.walk.ptr.size()) - 1;
    node.resize(static_cast<std::size_t>(T) * labels());
    read.largest = std::max(read.largest, T * labels());
    const Occurrences o{read.walk.ptr.data(), read.walk.attr.data(),
                        read.walk.valued() ? read.walk.value.data() : nullptr};
    bool finite = true;
    unlocked(o.ptr[T] * labels(), [&] {
      finite = kernels_.linear->score(rows_, o, nullptr, 0, T, node.data(), read.scratch.get());
    });
    if (!finite) refuse_scores(node, T);
  }

  // Labels of the best labeling, from scores [T, L].
  Strings tag(const std::vector<double>& node, Workspace& with) const {
    const std::size_t T = node.size() / labels();
    with.path.resize(T);
    Task task = asked(Query::best);
    task.path = with.path.data();
    demand(ask(node, task, nullptr, with));
    PyObject* list = PyList_New(static_cast<Py_ssize_t>(T));
    if (!list) throw nb::python_error();
    for (std::size_t t = 0; t < T; ++t) {
      PyObject* name = PyTuple_GetItem(labels_.ptr(), with.path[t]);
      Py_INCREF(name);
      PyList_SetItem(list, static_cast<Py_ssize_t>(t), name);
    }
    return nb::steal<nb::list>(list);
  }

  double log_partition(const std::vector<double>& node, Workspace& with) const {
    Task task = asked(Query::sum);
    return demand(ask(node, task, nullptr, with));
  }

  // Probabilities [T, L] of the labels.
  void marginals(const std::vector<double>& node, double* out, Workspace& with) const {
    Task task = asked(Query::sum);
    task.gradients.node = out;
    with.pooled.assign(pooled_size(), 0.0);
    demand(ask(node, task, with.pooled.data(), with));
  }

  // Score of one labeling.  Table h of the problem holds the sums of the orders up to h.
  double path_score(const std::vector<double>& node, const std::vector<std::int32_t>& path) const {
    const Problem& p = transitions_->p;
    const std::int64_t L = labels(), T = static_cast<std::int64_t>(path.size());
    double sum =
        T ? (p.start ? p.start[path[0]] : 0.0) + (p.stop ? p.stop[path[T - 1]] : 0.0) : 0.0;
    for (std::int64_t t = 0; t < T; ++t) {
      sum += node[t * L + path[t]];
      const std::int64_t h = std::min<std::int64_t>(t, p.order);
      std::int64_t cell = 0;
      for (std::int64_t back = h; back >= 0; --back) cell = cell * L + path[t - back];
      if (h > 0) sum += p.edge[h - 1][cell];
    }
    return sum;
  }

 private:
  static constexpr std::size_t kKept = 16;           // workspaces
  static constexpr std::int64_t kLargest = 1 << 17;  // scores, or entries, of one
  static constexpr std::int64_t kBrief = 1 << 15;    // cells, below which the GIL is not given up

  static std::unique_ptr<Scored> transitions(int L, const std::vector<Scores>& tables,
                                             const std::optional<Scores>& start,
                                             const std::optional<Scores>& stop) {
    static constexpr double nothing = 0.0;
    static constexpr std::int64_t none = 0;
    const Scores node(&nothing, {0, static_cast<std::size_t>(L)});
    const KeptPointers seq_ptr({&none, 1}, nullptr);
    return make_chain(node, tables, start, stop, seq_ptr);
  }

  static Task asked(Query query) {
    Task task = {};
    task.query = query;
    task.gradients.no_steps = true;
    return task;
  }

  void keep(std::unique_ptr<Workspace> used) const {
    if (used->largest > kLargest || used->walk.room() > std::size_t{kLargest}) return;
    const std::lock_guard<std::mutex> lock(guard_);
    if (free_.size() < kKept) free_.push_back(std::move(used));
  }

  // Names the position whose scores are too large.
  [[noreturn]] void refuse_scores(const std::vector<double>& node, std::int64_t T) const {
    std::int64_t t = 0;
    const auto good = [&](std::int64_t i) { return std::abs(node[i]) <= kLargestScore; };
    while (t < T * labels() && good(t)) ++t;
    throw nb::value_error(("position " + text(t / labels()) +
                           " of the sequence: its scores overflow; scale the "
                           "values of its attributes, or the weights of the model")
                              .c_str());
  }

  static double demand(double value) {
    if (value == -std::numeric_limits<double>::infinity())
      throw nb::value_error(
          "the sequence has no labeling above -inf: relax the constraints of the model");
    if (!std::isfinite(value))
      throw nb::value_error("the scores of the sequence overflow; scale the weights of the model");
    return value;
  }

  // Works without the GIL where there is enough to do that others may run meanwhile.
  template <class F>
  static void unlocked(std::int64_t cells, F f) {
    if (cells < kBrief) return f();
    Released release;
    f();
  }

  // Answers a task for one sequence; returns its value.
  double ask(const std::vector<double>& node, Task& task, double* pooled, Workspace& with) const {
    const std::int64_t L = labels(), T = static_cast<std::int64_t>(node.size()) / L;
    const std::int64_t seq_ptr[2] = {0, T}, first = 0;
    with.largest = std::max(with.largest, T * L);
    double value = 0.0;
    Problem p = transitions_->p;
    p.sequences = 1;
    p.seq_ptr = seq_ptr;
    p.node = node.data();
    task.value = &value;
    const Handle& tables = task.query == Query::best ? best_ : sums_;
    unlocked(T * L * L,
             [&] { kernels_.run(p, task, tables.get(), &first, 1, pooled, with.scratch.get()); });
    return value;
  }

  const Kernels& kernels_;
  Names names_;
  Rows rows_;
  Labels labels_;  // as Python strings, by id
  nb::object mapping_;
  std::unique_ptr<Scored> transitions_;
  Handle sums_, best_;  // tables of each query
  mutable std::mutex guard_;
  mutable std::vector<std::unique_ptr<Workspace>> free_;
};

}  // namespace crfkit
