// Chains in tensors for crfkit.torch.  Addresses come as integers: Python has checked that dtypes,
// shapes and strides are what they say, and keeps the tensors alive during a call.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "engine/tensors/hessian.hpp"
#include "engine/tensors/paths.hpp"
#include "engine/tensors/sums.hpp"
#include "python/released.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace crfkit {
namespace {

using Address = std::uintptr_t;                                            // 0: none
using TensorRows = std::tuple<Address, bool, std::int64_t, std::int64_t>;  // of RowTensor
using Labels = std::tuple<Address, std::int64_t, std::int64_t>;

template <class T>
T* pointer(Address address) {
  return reinterpret_cast<T*>(address);
}

RowTensor rows(const TensorRows& given) {
  return {pointer<void>(std::get<0>(given)), std::get<1>(given), std::get<2>(given),
          std::get<3>(given)};
}

TensorChains make(std::int64_t sequences, std::int64_t places, int labels, const TensorRows& node,
                  Address length, Address first, Address index, std::int64_t index_step,
                  Address start, Address stop, const std::vector<Address>& tables,
                  const std::optional<TensorRows>& edge, bool between) {
  TensorChains c;
  c.sequences = sequences, c.places = places, c.labels = labels;
  c.node = rows(node);
  c.length = pointer<const std::int32_t>(length);
  c.first = pointer<const std::int64_t>(first);
  c.index = pointer<const std::int32_t>(index), c.index_step = index_step;
  c.start = pointer<const double>(start), c.stop = pointer<const double>(stop);
  for (Address table : tables) c.tables.push_back(pointer<const double>(table));
  if (edge) c.edge = rows(*edge), c.between = between;
  c.order = edge ? 1 : static_cast<int>(tables.size());
  if (c.order < 1 || c.order > kMaxOrder)
    refuse("a chain has order 1 to " + text(kMaxOrder) + ", not " + text(c.order));
  c.check();
  return c;
}

// Of node, start, stop, and edges by position or each table.
using Gradient = std::tuple<TensorRows, TensorRows, TensorRows, std::vector<TensorRows>>;

GradientTensors tensors(const TensorChains& c, const Gradient& given) {
  c.check_disjoint();
  GradientTensors made;
  made.node = rows(std::get<0>(given));
  made.start = rows(std::get<1>(given));
  made.stop = rows(std::get<2>(given));
  for (const TensorRows& table : std::get<3>(given)) made.edge.push_back(rows(table));
  return made;
}

void sum(const Kernels& kernels, const TensorChains& c, const std::optional<Labels>& labels,
         Address weight, double scale, const std::optional<Gradient>& gradient, Address value,
         Address in_logs, int threads) {
  check_threads(threads);
  SumTask task;
  LabelTensor gold;
  if (labels) {
    gold = {pointer<const std::int64_t>(std::get<0>(*labels)), std::get<1>(*labels),
            std::get<2>(*labels)};
    gold.check(c);
    task.labels = &gold;
  }
  GradientTensors made;
  if (gradient) {
    made = tensors(c, *gradient);
    task.gradient = &made;
  }
  task.weight = pointer<const double>(weight);
  task.scale = scale;
  task.value = pointer<double>(value);
  task.in_logs = pointer<std::uint8_t>(in_logs);
  Released release;
  sum_chains(kernels, c, task, threads);
}

void hessian(const Kernels& kernels, const TensorChains& c, const TensorChains& along,
             Address weight, const Gradient& gradient, Address dot, Address value, int threads) {
  check_threads(threads);
  const GradientTensors made = tensors(c, gradient);
  HessianTask task;
  task.along = &along;
  task.weight = pointer<const double>(weight);
  task.gradient = &made;
  task.dot = pointer<double>(dot), task.value = pointer<double>(value);
  Released release;
  hessian_of_chains(kernels, c, task, threads);
}

void paths(const Kernels& kernels, const TensorChains& c, Query query, int k, std::uint64_t seed,
           Address labels, std::int64_t by_path, std::int64_t by_sequence, Address score,
           int threads) {
  check_threads(threads);
  PathTask task;
  task.query = query, task.k = k, task.seed = seed;
  task.labels = pointer<std::int64_t>(labels);
  task.by_path = by_path, task.by_sequence = by_sequence;
  task.score = pointer<double>(score);
  Released release;
  trace_chains(kernels, c, task, threads);
}

}  // namespace

void bind_tensors(nb::module_& m) {
  nb::class_<TensorChains>(m, "TensorChains")
      .def_static("at", &make, "sequences"_a, "places"_a, "labels"_a, "node"_a, "length"_a,
                  "first"_a, "index"_a, "index_step"_a, "start"_a, "stop"_a, "tables"_a,
                  "edge"_a.none(), "between"_a);
  m.def("sum_tensors", &sum, "kernels"_a, "chains"_a, "labels"_a.none(), "weight"_a, "scale"_a,
        "gradient"_a.none(), "value"_a, "in_logs"_a, "threads"_a);
  m.def("hessian_of_tensors", &hessian, "kernels"_a, "chains"_a, "along"_a, "weight"_a,
        "gradient"_a, "dot"_a, "value"_a, "threads"_a);
  const auto def_paths = [&m](const char* name, Query query) {
    m.def(
        name,
        [query](const Kernels& kernels, const TensorChains& c, int k, std::uint64_t seed,
                Address labels, std::int64_t by_path, std::int64_t by_sequence, Address score,
                int threads) {
          paths(kernels, c, query, k, seed, labels, by_path, by_sequence, score, threads);
        },
        "kernels"_a, "chains"_a, "k"_a, "seed"_a, "labels"_a, "by_path"_a, "by_sequence"_a,
        "score"_a, "threads"_a);
  };
  def_paths("best_of_tensors", Query::best);
  def_paths("kbest_of_tensors", Query::kbest);
  def_paths("sample_tensors", Query::sample);
}

}  // namespace crfkit
