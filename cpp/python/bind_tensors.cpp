// Chains in tensors for crfkit.torch: what crosses is checked in tensors.hpp and below.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/tensors/hessian.hpp"
#include "engine/tensors/paths.hpp"
#include "engine/tensors/sums.hpp"
#include "python/released.hpp"
#include "python/tensors.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace crfkit {
namespace {

// Chains with the tensors that they point to, and copies of what says where rows lie.
class KeptChains : public TensorChains {
 public:
  KeptChains(const Tensor& rows, const Tensor& lengths, const std::optional<Tensor>& firsts,
             const std::optional<Tensor>& indices, const Tensor& starts, const Tensor& stops,
             const std::vector<Tensor>& given)
      : rows_(rows), tables_(given) {
    const std::size_t axes = firsts ? 2 : 3;
    if (rows.ndim() != axes)
      refuse("node has shape " + shown(shape_of(rows)) + ", expected " +
             (firsts ? "(rows, labels)" : "(B, T, labels)"));
    const std::int64_t L = static_cast<std::int64_t>(rows.shape(axes - 1));
    if (L < 1) refuse("node has no labels: its last axis is 0");
    labels = static_cast<int>(L);
    places = static_cast<std::int64_t>(rows.shape(axes - 2));
    sequences = static_cast<std::int64_t>(firsts ? lengths.size() : rows.shape(0));
    node = rows_of("node", rows, shape_of(rows), 1);
    length_ = copied<std::int32_t>("length", lengths, {sequences}, "int32");
    length = length_.data();
    if (firsts) {
      first_ = copied<std::int64_t>("first", *firsts, {sequences}, "int64");
      first_.reserve(1);  // a pointer, even of no sequences: packed
      first = first_.data();
    }
    if (indices) {
      if (firsts) refuse("packed rows (first) have no index");
      index_ = copied<std::int32_t>("index", *indices, {sequences, places}, "int32");
      index_.reserve(1);
      index = index_.data(), index_step = places;
    }
    scores_.reserve(2 + given.size());
    start = scores("start", starts, {L});
    stop = scores("stop", stops, {L});
    if (given.size() == 1 && given[0].ndim() > 2) {
      between = !first && given[0].ndim() == 4 &&
                static_cast<std::int64_t>(given[0].shape(1)) == places - 1;
      const Sizes expected = first ? Sizes{places, L, L} : Sizes{sequences, places - between, L, L};
      edge = rows_of("edge", given[0], expected, 2);
    } else {
      for (std::size_t h = 0; h < given.size(); ++h)
        tables.push_back(
            scores(given.size() == 1 ? "edge" : "edge " + text(h + 1), given[h], Sizes(h + 2, L)));
    }
    order = static_cast<int>(given.size());
    if (order < 1 || order > kMaxOrder)
      refuse("a chain has order 1 to " + text(kMaxOrder) + ", not " + text(order));
    check();
  }

  KeptChains(const KeptChains&) = delete;

  // Labels at the rows of node.
  LabelTensor gold(const Tensor& x) const {
    Sizes expected = shape_of(rows_);
    expected.pop_back();
    check_shape("labels", x, expected);
    if (x.dtype() != nb::dtype<std::int64_t>()) refuse_type("labels", x, "int64");
    const LabelTensor made = {static_cast<const std::int64_t*>(x.data()), first ? 0 : x.stride(0),
                              x.stride(x.ndim() - 1)};
    made.check(*this);
    return made;
  }

  // Where a gradient by node, start, each table and stop goes.
  GradientTensors gradient(const std::vector<Tensor>& given) const {
    if (given.size() != tables_.size() + 3)
      refuse("a gradient has " + text(tables_.size() + 3) + " tensors, not " + text(given.size()));
    check_disjoint();
    GradientTensors made;
    made.node = filled_rows("the gradient of node", given.front(), shape_of(rows_), 1);
    made.start = filled_rows("the gradient of start", given[1], {labels}, 1);
    made.stop = filled_rows("the gradient of stop", given.back(), {labels}, 1);
    for (std::size_t h = 0; h < tables_.size(); ++h)
      made.edge.push_back(filled_rows("the gradient of edge", given[h + 2], shape_of(tables_[h]),
                                      edge ? 2 : tables_[h].ndim()));
    return made;
  }

  // A direction has the shapes of the scores.
  void check_along(const KeptChains& along) const {
    check_shape("along_node", along.rows_, shape_of(rows_));
    if (tables_.size() != 1 || along.tables_.size() != 1)
      refuse("second derivatives are those of chains of order 1");
    check_shape("along_edge", along.tables_[0], shape_of(tables_[0]));
    if (along.length_ != length_ || along.first_ != first_ || along.index_ != index_)
      refuse("a direction has the rows of its chains");
  }

 private:
  const double* scores(const std::string& name, const Tensor& x, const Sizes& expected) {
    return scores_.emplace_back(name, x, expected).data();
  }

  Tensor rows_;
  std::vector<Tensor> tables_;
  std::vector<Scores> scores_;
  std::vector<std::int32_t> length_, index_;
  std::vector<std::int64_t> first_;
};

void sum(const Kernels& kernels, const KeptChains& c, const std::optional<Tensor>& labels,
         const std::optional<Tensor>& weight, double scale,
         const std::optional<std::vector<Tensor>>& gradient, const Tensor& value,
         const Tensor& in_logs, const std::optional<Tensor>& total, int threads) {
  check_threads(threads);
  SumTask task;
  LabelTensor gold;
  if (labels) {
    gold = c.gold(*labels);
    task.labels = &gold;
  }
  GradientTensors made;
  if (gradient) {
    made = c.gradient(*gradient);
    task.gradient = &made;
  }
  std::optional<Scores> weights;
  if (weight) task.weight = weights.emplace("weight", *weight, Sizes{c.sequences}).data();
  task.scale = scale;
  task.value = filled<double>("value", value, {c.sequences}, "float64");
  task.in_logs = filled<std::uint8_t>("in_logs", in_logs, {c.sequences}, "uint8");
  RowTensor sum;
  if (total) sum = filled_rows("total", *total, {}, 0);
  Released release;
  sum_chains(kernels, c, task, threads);
  if (sum)
    sum.at(0, 0, [&](auto* to) {
      *to = static_cast<std::remove_pointer_t<decltype(to)>>(task.total(c.sequences));
    });
}

void hessian(const Kernels& kernels, const KeptChains& c, const KeptChains& along,
             const Tensor& weight, const std::vector<Tensor>& gradient, const Tensor& dot,
             const Tensor& value, int threads) {
  check_threads(threads);
  c.check_along(along);
  const GradientTensors made = c.gradient(gradient);
  const Scores weights("weight", weight, {c.sequences});
  HessianTask task;
  task.along = &along;
  task.weight = weights.data();
  task.gradient = &made;
  task.dot = filled<double>("dot", dot, {c.sequences}, "float64");
  task.value = filled<double>("value", value, {c.sequences}, "float64");
  Released release;
  hessian_of_chains(kernels, c, task, threads);
}

// labels [B, k, T] or packed [k, P], score [B, k].
void paths(const Kernels& kernels, const KeptChains& c, Query query, std::uint64_t seed,
           const Tensor& labels, const Tensor& score, int threads) {
  check_threads(threads);
  if (score.ndim() != 2) refuse("score has no axis of paths");
  const auto k = static_cast<std::int64_t>(score.shape(1));
  if (k < 1) refuse("score has no room for a path");
  PathTask task;
  task.query = query, task.k = static_cast<int>(k), task.seed = seed;
  const Sizes expected = c.first ? Sizes{k, c.places} : Sizes{c.sequences, k, c.places};
  task.labels = filled<std::int64_t>("labels", labels, expected, "int64");
  task.by_path = c.places, task.by_sequence = c.first ? 0 : k * c.places;
  task.score = filled<double>("score", score, {c.sequences, k}, "float64");
  Released release;
  trace_chains(kernels, c, task, threads);
}

}  // namespace

void bind_tensors(nb::module_& m) {
  nb::class_<KeptChains>(m, "TensorChains")
      .def(nb::init<const Tensor&, const Tensor&, const std::optional<Tensor>&,
                    const std::optional<Tensor>&, const Tensor&, const Tensor&,
                    const std::vector<Tensor>&>(),
           "node"_a, "length"_a, "first"_a.none(), "index"_a.none(), "start"_a, "stop"_a,
           "tables"_a);
  m.def("sum_tensors", &sum, "kernels"_a, "chains"_a, "labels"_a.none(), "weight"_a.none(),
        "scale"_a, "gradient"_a.none(), "value"_a, "in_logs"_a, "total"_a.none(), "threads"_a);
  m.def("hessian_of_tensors", &hessian, "kernels"_a, "chains"_a, "along"_a, "weight"_a,
        "gradient"_a, "dot"_a, "value"_a, "threads"_a);
  const auto def_paths = [&m](const char* name, Query query) {
    m.def(
        name,
        [query](const Kernels& kernels, const KeptChains& c, std::uint64_t seed,
                const Tensor& labels, const Tensor& score,
                int threads) { paths(kernels, c, query, seed, labels, score, threads); },
        "kernels"_a, "chains"_a, "seed"_a, "labels"_a, "score"_a, "threads"_a);
  };
  def_paths("best_of_tensors", Query::best);
  def_paths("kbest_of_tensors", Query::kbest);
  def_paths("sample_tensors", Query::sample);
}

}  // namespace crfkit
