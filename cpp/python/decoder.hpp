// One sequence at a time: Python items, or tokens, to ids, scores and labels, without an array or a
// Python object in between.
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
#include "engine/span_walk.hpp"
#include "python/arrays.hpp"
#include "python/checked.hpp"
#include "python/frozen.hpp"
#include "python/items.hpp"
#include "python/released.hpp"
#include "python/token_walk.hpp"

namespace crfkit {

using Labels = nb::typed<nb::tuple, nb::str, nb::ellipsis>;

// Scores of one sequence.
struct SequenceScores {
  std::vector<double> node;  // [T, L]
  std::vector<double>
      steps;  // [T, L, L], entry t enters position t; empty where steps share a table
};

// Weights of attributes of steps, and the scores [L, L] that all steps have before them, or null.
struct StepRows {
  const ReadyRows* rows;
  std::optional<Scores> base;
};

// What a query wants, but for where it goes.
inline Task asked(Query query) {
  Task task = {};
  task.query = query;
  task.gradients.no_steps = true;
  return task;
}

// The scores of steps, as the queries need them.
struct Prepared {
  std::unique_ptr<Scored> problem;
  Handle sums, best;

  Prepared(const Kernels& kernels, int L, const std::vector<Scores>& tables,
           const std::optional<Scores>& start, const std::optional<Scores>& stop)
      : problem(of_nothing(L, tables, start, stop)),
        sums(prepare(kernels, problem->p, asked(Query::sum))),
        best(prepare(kernels, problem->p, asked(Query::best))) {}

 private:
  static std::unique_ptr<Scored> of_nothing(int L, const std::vector<Scores>& tables,
                                            const std::optional<Scores>& start,
                                            const std::optional<Scores>& stop) {
    static constexpr double nothing = 0.0;
    static constexpr std::int64_t none = 0;
    const Scores node(&nothing, {0, static_cast<std::size_t>(L)});
    const KeptPointers seq_ptr({&none, 1}, nullptr);
    return make_chain(node, tables, start, stop, seq_ptr);
  }
};

// What one call writes to.
struct Workspace {
  ItemWalk walk;
  std::optional<TokenWalk> tokens;  // in its place, where a recipe makes attributes
  Handle scratch;
  SequenceScores scores;
  std::vector<double> edge, pooled, shares, mass;
  std::vector<std::int32_t> path;
  std::vector<FoundSpan> spans;
  std::int64_t largest = 0;  // scores of one sequence that it was used for
  bool whole = true;         // no call left it half way
  std::size_t room = 0;      // bytes that it remembers while it waits

  Workspace(const Names& names, PyObject* mapping, const Kernels& kernels,
            const TokenReader* reader)
      : walk(names, mapping), scratch(make_scratch(kernels)) {
    if (reader) tokens.emplace(*reader);
  }

  std::int64_t length() const {
    return tokens ? tokens->length() : static_cast<std::int64_t>(walk.ptr.size()) - 1;
  }
  Occurrences found() const {
    if (tokens) return tokens->found(kNode);
    return {walk.ptr.data(), walk.attr.data(), walk.valued() ? walk.value.data() : nullptr};
  }
};

// Which sequences are left to a caller who looks closer: none; those whose attributes the model
// hardly knows; or also those with too few to tell.
enum class Doubt { none, unknown, unclear };

class Decoder {
 public:
  Decoder(const Kernels& kernels, Names names, const ReadyRows& rows, std::vector<Scores> tables,
          const std::optional<Scores>& start, const std::optional<Scores>& stop, Labels labels,
          const TokenReader* reader, std::optional<StepRows> steps)
      : kernels_(kernels),
        names_(names),
        reader_(reader),
        steps_(std::move(steps)),
        rows_(rows.view()),
        labels_(std::move(labels)),
        mapping_(nb::module_::import_("collections.abc").attr("Mapping")),
        shared_(kernels, rows.view().width, tables, start, stop) {
    if (steps_) {
      static constexpr double nothing = 0.0;
      const auto L = static_cast<std::size_t>(rows_.width);
      if (steps_->rows->view().width != rows_.width * rows_.width || shared_.problem->p.order != 1)
        refuse("attributes of steps need a chain of order 1");
      stepwise_.emplace(kernels, rows_.width, std::vector<Scores>{Scores(&nothing, {0, L, L})},
                        start, stop);
    }
    if (static_cast<int>(labels_.size()) != rows_.width)
      refuse("there are " + text(static_cast<std::int64_t>(labels_.size())) +
             " labels for rows of " + text(rows_.width));
    free_.reserve(kKept);  // giving back must not fail
  }

  int labels() const { return rows_.width; }
  std::int64_t pooled_size() const { return kernels_.pooled_size(shared_.problem->p, false); }

  // Calls f with a workspace.  Many are kept, but none that a long sequence has made large.
  template <class F>
  auto with_workspace(F f) const {
    std::unique_ptr<Workspace> mine;
    {
      const std::lock_guard<std::mutex> lock(guard_);
      if (!free_.empty()) {
        mine = std::move(free_.back());
        free_.pop_back();
        remembered_ -= mine->room;
      }
    }
    if (!mine) mine = std::make_unique<Workspace>(names_, mapping_.ptr(), kernels_, reader_);
    mine->walk.clear();
    struct GiveBack {
      const Decoder& decoder;
      std::unique_ptr<Workspace>& mine;
      ~GiveBack() { decoder.keep(std::move(mine)); }
    } give_back{*this, mine};
    return f(*mine);
  }

  // Items or tokens to ids, in a workspace; false where that is left to the caller.
  bool read(nb::handle sequence, Doubt doubt, Workspace& into) const {
    into.whole = false;
    if (into.tokens) {
      if (!into.tokens->read(sequence.ptr())) return into.whole = true, false;
    } else {
      try {
        into.walk.append(sequence.ptr(), 0);
      } catch (const PythonError&) {
        throw nb::python_error();
      }
    }
    into.whole = true;
    return doubt == Doubt::none || trusted(doubt, into);
  }

  // Scores of what a workspace has read.
  void score(Workspace& read, SequenceScores& out) const {
    const std::int64_t T = read.length(), L = labels();
    out.node.resize(static_cast<std::size_t>(T * L));
    out.steps.clear();
    read.largest = std::max(read.largest, T * L);
    const Occurrences o = read.found();
    bool finite = true;
    unlocked(o.ptr[T] * L, [&] {
      finite = kernels_.linear->score(rows_, o, nullptr, 0, T, out.node.data(), read.scratch.get());
    });
    if (!finite) refuse_scores(out.node, T);
    if (steps_) score_steps(read, out.steps);
  }

  // Labels of the best labeling, from scores [T, L].
  Strings tag(const SequenceScores& scores, Workspace& with) const {
    const std::size_t T = scores.node.size() / labels();
    find_path(scores, with);
    PyObject* list = PyList_New(static_cast<Py_ssize_t>(T));
    if (!list) throw nb::python_error();
    for (std::size_t t = 0; t < T; ++t) {
      PyObject* name = PyTuple_GetItem(labels_.ptr(), with.path[t]);
      Py_INCREF(name);
      PyList_SetItem(list, static_cast<Py_ssize_t>(t), name);
    }
    return nb::steal<nb::list>(list);
  }

  // The segments that the best labeling spells, found by `tag` before, as tuples of `type`: where
  // they begin and end, the name of their kind, and their probability.  Kinds without a name are
  // left out.
  nb::list spans(const SequenceScores& scores, const SpanRules& rules,
                 const std::vector<nb::object>& kinds, nb::handle type, Workspace& with) const {
    const std::int64_t L = labels(), T = static_cast<std::int64_t>(scores.node.size()) / L;
    nb::list made;
    rules.find(with.path.data(), T, with.spans);
    std::erase_if(with.spans, [&](const FoundSpan& one) { return kinds[one.kind].is_none(); });
    if (with.spans.empty()) return made;
    with.shares.resize(static_cast<std::size_t>(T * L));
    with.edge.resize(static_cast<std::size_t>(T * L * L));
    with.largest = std::max(with.largest, T * L * L);
    Task task = asked(Query::sum);
    task.gradients.node = with.shares.data();
    task.gradients.edge = with.edge.data();
    task.gradients.edge_step = L * L;
    with.pooled.assign(pooled_size(), 0.0);
    demand(ask(scores, task, with.pooled.data(), with));
    const StepShares shares{T, with.shares.data(), with.edge.data()};
    for (const FoundSpan& one : with.spans) {
      const double share =
          span_share(shares, rules.steps(), one.first, one.end, rules.of_kind(one.kind), with.mass);
      const nb::tuple fields = nb::make_tuple(one.first, one.end, kinds[one.kind], share);
      PyObject* span = PyObject_CallMethod(reinterpret_cast<PyObject*>(&PyTuple_Type), "__new__",
                                           "OO", type.ptr(), fields.ptr());
      if (!span) throw nb::python_error();
      made.append(nb::steal(span));
    }
    return made;
  }

  double log_partition(const SequenceScores& scores, Workspace& with) const {
    Task task = asked(Query::sum);
    return demand(ask(scores, task, nullptr, with));
  }

  // Probabilities [T, L] of the labels.
  void marginals(const SequenceScores& scores, double* out, Workspace& with) const {
    Task task = asked(Query::sum);
    task.gradients.node = out;
    with.pooled.assign(pooled_size(), 0.0);
    demand(ask(scores, task, with.pooled.data(), with));
  }

  // Score of one labeling.  Table h of the problem holds the sums of the orders up to h.
  double path_score(const SequenceScores& scores, const std::vector<std::int32_t>& path) const {
    const Problem& p = shared_.problem->p;
    const std::int64_t L = labels(), T = static_cast<std::int64_t>(path.size());
    double sum =
        T ? (p.start ? p.start[path[0]] : 0.0) + (p.stop ? p.stop[path[T - 1]] : 0.0) : 0.0;
    for (std::int64_t t = 0; t < T; ++t) {
      sum += scores.node[t * L + path[t]];
      if (!scores.steps.empty()) {
        if (t > 0) sum += scores.steps[(t * L + path[t - 1]) * L + path[t]];
        continue;
      }
      const std::int64_t h = std::min<std::int64_t>(t, p.order);
      std::int64_t cell = 0;
      for (std::int64_t back = h; back >= 0; --back) cell = cell * L + path[t - back];
      if (h > 0) sum += p.edge[h - 1][cell];
    }
    return sum;
  }

  // The best labeling into the path of a workspace.
  void find_path(const SequenceScores& scores, Workspace& with) const {
    with.path.resize(scores.node.size() / labels());
    Task task = asked(Query::best);
    task.path = with.path.data();
    demand(ask(scores, task, nullptr, with));
  }

 private:
  static constexpr std::size_t kKept = 16;  // workspaces
  // Bytes of tokens that one workspace remembers, and those that wait, all together.
  static constexpr std::size_t kRemembered = std::size_t{1} << 26, kAllRemembered = 2 * kRemembered;
  static constexpr std::int64_t kLargest = 1 << 17;  // scores, or entries, of one
  static constexpr std::int64_t kBrief = 1 << 15;    // cells, below which the GIL is not given up

  void keep(std::unique_ptr<Workspace> used) const {
    if (!used->whole || used->largest > kLargest || used->walk.room() > std::size_t{kLargest})
      return;
    used->room = used->tokens ? used->tokens->room() : 0;
    if (used->room > kRemembered) return;
    const std::lock_guard<std::mutex> lock(guard_);
    if (free_.size() == kKept || remembered_ + used->room > kAllRemembered) return;
    remembered_ += used->room;
    free_.push_back(std::move(used));
  }

  // Whether a glance shows that the model knows attributes of a sequence, as
  // `crfkit.models.known` counts them: of positions that are not at the ends, without those that a
  // position in the middle has, as those of every position are among them.
  bool trusted(Doubt doubt, const Workspace& read) const {
    const std::int64_t T = read.length(), margin = read.tokens ? reader_->margin : 1;
    const bool inner = T > 2 * margin;
    const std::int64_t first = inner ? margin : 0, last = inner ? T - margin : T;
    const Occurrences o = read.found();
    const std::int64_t known = T ? o.ptr[last] - o.ptr[first] : 0;
    const std::int64_t seen = std::max(known, read.tokens ? (last - first) * reader_->made
                                              : inner     ? read.walk.inner
                                                          : read.walk.seen);
    if (seen < kOccurrences) return doubt == Doubt::unknown;
    const std::int64_t middle = (first + last) / 2;
    const std::int32_t *from = o.attr + o.ptr[middle], *to = o.attr + o.ptr[middle + 1];
    std::int64_t wanted = seen / kShare + 1;
    for (std::int64_t i = o.ptr[first]; i < o.ptr[last] && wanted > 0; ++i)
      wanted -= std::find(from, to, o.attr[i]) == to;
    return wanted <= 0;
  }
  static constexpr std::int64_t kOccurrences = 200, kShare = 50;  // one in 50 must be known

  // Scores of the steps into each position; none where no step has attributes.
  void score_steps(Workspace& read, std::vector<double>& out) const {
    const std::int64_t T = read.length(), L = labels(), cells = T * L * L;
    const Occurrences o = read.tokens->found(kEdge);
    if (o.ptr[T] == 0) return;
    out.resize(static_cast<std::size_t>(cells));
    read.largest = std::max(read.largest, cells);
    const double* base = steps_->base ? steps_->base->data() : nullptr;
    bool finite = true;
    unlocked(o.ptr[T] * L * L + cells, [&] {
      finite = kernels_.linear->score(steps_->rows->view(), o, base, 0, T, out.data(),
                                      read.scratch.get());
    });
    if (!finite) throw nb::value_error("the scores of steps overflow");
    const double* allowed = shared_.problem->p.edge[0];
    for (std::int64_t i = 0; i < cells; ++i)
      if (allowed[i % (L * L)] == -std::numeric_limits<double>::infinity())
        out[i] = allowed[i % (L * L)];
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
  double ask(const SequenceScores& scores, Task& task, double* pooled, Workspace& with) const {
    const std::int64_t L = labels(), T = static_cast<std::int64_t>(scores.node.size()) / L;
    const std::int64_t seq_ptr[2] = {0, T}, first = 0;
    with.largest = std::max(with.largest, T * L);
    const bool shared = scores.steps.empty();
    const Prepared& prepared = shared ? shared_ : *stepwise_;
    double value = 0.0;
    Problem p = prepared.problem->p;
    p.sequences = 1;
    p.seq_ptr = seq_ptr;
    p.node = scores.node.data();
    if (!shared) p.edge[0] = scores.steps.data();
    task.value = &value;
    const Handle& tables = task.query == Query::best ? prepared.best : prepared.sums;
    unlocked(T * L * L,
             [&] { kernels_.run(p, task, tables.get(), &first, 1, pooled, with.scratch.get()); });
    return value;
  }

  const Kernels& kernels_;
  Names names_;
  const TokenReader* reader_;  // or null: of items
  std::optional<StepRows> steps_;
  Rows rows_;
  Labels labels_;  // as Python strings, by id
  nb::object mapping_;
  Prepared shared_;                   // where steps share a table
  std::optional<Prepared> stepwise_;  // where each has scores of its own
  mutable std::mutex guard_;
  mutable std::vector<std::unique_ptr<Workspace>> free_;
  mutable std::size_t remembered_ = 0;  // by those
};

}  // namespace crfkit
