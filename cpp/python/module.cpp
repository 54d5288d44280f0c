// The Python module crfkit._native: queries about structures, and the parts of the other files.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "engine/checks.hpp"
#include "engine/threads/run_task.hpp"
#include "python/arrays.hpp"
#include "python/checked.hpp"
#include "python/released.hpp"
#include "shared/padded.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace crfkit {

void bind_sequential(nb::module_& m);
void bind_decoder(nb::module_& m);
void bind_dictionary(nb::module_& m);
void bind_evaluate(nb::module_& m);
void bind_alphabets(nb::module_& m);
void bind_features(nb::module_& m);
void bind_induction(nb::module_& m);
void bind_process(nb::module_& m);
void bind_items(nb::module_& m);
void bind_layout(nb::module_& m);
void bind_readers(nb::module_& m);
void bind_render(nb::module_& m);
void bind_cuts(nb::module_& m);
void bind_elimination(nb::module_& m);
void bind_graph(nb::module_& m);
void bind_paths(nb::module_& m);
void bind_sampling(nb::module_& m);
void bind_segmentation(nb::module_& m);
void bind_lanes(nb::module_& m);
void bind_tensors(nb::module_& m);
void bind_tree_ep(nb::module_& m);
void bind_trees(nb::module_& m);
void bind_visits(nb::module_& m);
void bind_vectors(nb::module_& m);

namespace {

// ---- instruction sets

std::vector<const Kernels*> available() {
  std::vector<const Kernels*> levels = {&baseline::kernels};
#ifdef CRFKIT_HAS_AVX2
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi2"))
    levels.push_back(&avx2::kernels);
#endif
#ifdef CRFKIT_HAS_AVX512
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512cd"))
    levels.push_back(&avx512::kernels);
#endif
  return levels;
}

const Kernels& kernels_named(const std::string& name) {
  std::string names;
  for (const Kernels* k : available()) {
    if (name == k->name) return *k;
    names += (names.empty() ? "" : ", ") + std::string(k->name);
  }
  throw nb::value_error(
      ("CRFKIT_SIMD: '" + name + "' is not available here; choose from " + names).c_str());
}

// ---- errors

// What the standard library says of memory ("std::bad_alloc", "vector::_M_default_append") is not
// for users; `no_memory` has said more.
void say_memory(const std::exception_ptr& thrown, void*) {
  constexpr const char* plain =
      "there is not enough memory; take less data at a time, or a smaller model";
  try {
    std::rethrow_exception(thrown);
  } catch (const std::bad_array_new_length&) {
    PyErr_SetString(PyExc_MemoryError, plain);
  } catch (const std::bad_alloc& error) {
    const std::string_view said = error.what();
    PyErr_SetString(PyExc_MemoryError,
                    said.find("::") == said.npos && !said.empty() ? error.what() : plain);
  } catch (const std::length_error&) {
    PyErr_SetString(PyExc_MemoryError, plain);
  }
}

// ---- results

std::vector<double> answer(const Kernels& kernels, const Scored& s, const Task& task,
                           bool gradients, int threads) {
  check_threads(threads);
  Released release;
  return run_task(kernels, s.p, task, gradients, threads);
}

Given<double> log_partition(const Kernels& kernels, const Scored& s, bool log_space, int threads) {
  Array<double> value({static_cast<std::size_t>(s.p.sequences)});
  Task task = {};
  task.query = Query::sum;
  task.log_space = log_space;
  task.value = value.data.get();
  task.gradients.no_steps = true;
  answer(kernels, s, task, false, threads);
  return value.give();
}

Tuple<Given<double>, Given<double>> expected_score(const Kernels& kernels, const Scored& s,
                                                   bool log_space, int threads) {
  const std::size_t N = static_cast<std::size_t>(s.p.sequences);
  Array<double> value({N}), expected({N});
  Task task = {};
  task.query = Query::sum;
  task.log_space = log_space;
  task.value = value.data.get();
  task.expected = expected.data.get();
  answer(kernels, s, task, true, threads);
  return nb::make_tuple(value.give(), expected.give());
}

// The pooled gradients of start, stop and tables as arrays without padding.
void give_pooled(const Problem& p, const std::vector<double>& pooled, bool steps,
                 nb::dict& result) {
  const std::size_t L = static_cast<std::size_t>(p.labels), step = padded(L);
  const auto cut = [&](std::size_t at, std::size_t rows, std::vector<std::size_t> shape) {
    Array<double> out(std::move(shape));
    for (std::size_t i = 0; i < rows; ++i)
      std::copy_n(pooled.data() + at + i * step, L, out.data.get() + i * L);
    return out.give();
  };
  result["start"] = cut(0, 1, {L});
  result["stop"] = cut(step, 1, {L});
  if (p.edge_step != 0 || !steps) return;
  nb::list tables;
  std::vector<std::size_t> shape = {L};
  std::size_t at = 2 * step, rows = 1;
  for (int h = 1; h <= p.order; ++h) {
    shape.push_back(L);
    rows *= L;
    tables.append(cut(at, rows, shape));
    at += rows * step;
  }
  result["tables"] = tables;
}

// Marginals (query sum) or parts on some labeling (query reach).  `edges`: keep edge gradients per
// position.  `weight` [N]: factors of the marginals of sequences.  `steps`: marginals of steps that
// positions share are wanted.
Parts gradients(const Kernels& kernels, const Scored& s, bool reach, bool edges, bool log_space,
                int threads, const std::optional<KeptReals>& weight, bool steps) {
  const Problem& p = s.p;
  const std::size_t N = static_cast<std::size_t>(p.sequences),
                    P = static_cast<std::size_t>(s.positions());
  const std::size_t L = static_cast<std::size_t>(p.labels), D = static_cast<std::size_t>(p.longest);
  const bool per_position = p.shape != Shape::tree && (edges || p.edge_step != 0);
  if (per_position && p.order > 1)
    refuse("edges: marginals of edges by position need a chain of order 1");
  if (weight) {
    check_length("weight", weight->size(), p.sequences);
    for (std::size_t n = 0; n < N; ++n)
      if (!std::isfinite((*weight)[n]))
        refuse("weight[" + text(static_cast<std::int64_t>(n)) + "] is not finite");
  }
  Array<double> value({N});
  Array<std::uint8_t> in_logs({N});
  Array<double> node = p.shape == Shape::tree
                           ? Array<double>({static_cast<std::size_t>(p.node_ptr[P])})
                       : p.shape == Shape::chain ? Array<double>({P, L})
                                                 : Array<double>({P, D, L});
  Array<double> edge = p.shape == Shape::tree
                           ? Array<double>({static_cast<std::size_t>(p.edge_ptr[P])})
                           : Array<double>({per_position ? P : 0, L, L});
  Task task = {};
  task.query = reach ? Query::reach : Query::sum;
  task.log_space = log_space;
  task.value = value.data.get();
  task.weight = data_or_null(weight);
  task.in_logs = in_logs.data.get();
  (p.shape == Shape::segments ? task.gradients.segment : task.gradients.node) = node.data.get();
  if (p.shape == Shape::tree || per_position) task.gradients.edge = edge.data.get();
  if (per_position) task.gradients.edge_step = static_cast<std::int64_t>(L * L);
  task.gradients.no_steps = !steps;
  const std::vector<double> pooled = answer(kernels, s, task, true, threads);
  Parts result;
  result["value"] = value.give();
  result["in_logs"] = in_logs.give();
  result["node"] = node.give();
  if (p.shape == Shape::tree || per_position) result["edge"] = edge.give();
  if (p.shape != Shape::tree) give_pooled(p, pooled, steps, result);
  return result;
}

// Paths: best (k = 1), the k best, or k draws.
using Paths = Tuple<Given<double>, Given<std::int32_t>, std::optional<Given<std::uint8_t>>>;
Paths paths(const Kernels& kernels, const Scored& s, Query query, int k, std::uint64_t seed,
            bool log_space, int threads) {
  if (k < 1)
    refuse(std::string(query == Query::sample ? "n" : "k") + " is " + std::to_string(k) +
           ", expected 1 or more");
  const std::size_t N = static_cast<std::size_t>(s.p.sequences),
                    P = static_cast<std::size_t>(s.positions());
  const std::size_t K = static_cast<std::size_t>(k);
  Array<double> value({N}), score({N, query == Query::best ? 0 : K});
  Array<std::int32_t> path({K, P});
  Array<std::uint8_t> begin({s.p.shape == Shape::segments ? K : 0, P});
  Task task = {};
  task.query = query;
  task.log_space = log_space;
  task.k = k;
  task.seed = seed;
  task.value = value.data.get();
  task.path = path.data.get();
  task.path_score = score.data.get();
  if (s.p.shape == Shape::segments) task.begin = begin.data.get();
  answer(kernels, s, task, false, threads);
  return nb::make_tuple(query == Query::best ? value.give() : score.give(), path.give(),
                        s.p.shape == Shape::segments ? begin.give() : nb::none());
}

Given<std::uint64_t> count(const Kernels& kernels, const Scored& s, std::uint64_t prime,
                           int threads) {
  if (prime < 2 || prime >= (std::uint64_t{1} << 62)) refuse("prime must lie between 2 and 2^62");
  Array<std::uint64_t> residue({static_cast<std::size_t>(s.p.sequences)});
  Task task = {};
  task.query = Query::count;
  task.prime = prime;
  task.residue = residue.data.get();
  answer(kernels, s, task, false, threads);
  return residue.give();
}

}  // namespace
}  // namespace crfkit

NB_MODULE(_native, m) {
  using namespace crfkit;
  nb::set_leak_warnings(
      false);  // objects in caches and globals outlive the module at exit, which is no mistake
  nb::register_exception_translator(say_memory);
  m.attr("__version__") = CRFKIT_VERSION;
  m.attr("compiler") =
#if defined(__clang__)
      "Clang " __clang_version__;
#else
      "GCC " __VERSION__;
#endif
  m.def("simd_levels", [] {
    std::vector<std::string> names;
    for (const Kernels* k : available()) names.emplace_back(k->name);
    return names;
  });
  m.def("settled", &settled, nb::arg("array"));

  bind_alphabets(m);
  bind_features(m);
  bind_induction(m);
  bind_process(m);
  bind_items(m);
  bind_layout(m);
  bind_sequential(m);
  bind_vectors(m);

  nb::class_<Scored>(m, "Problem")
      .def_static("chain", &make_chain, "node"_a, "tables"_a, "start"_a.none(), "stop"_a.none(),
                  "seq_ptr"_a)
      .def_static("segments", &make_segments, "segment"_a, "edge"_a, "start"_a.none(),
                  "stop"_a.none(), "seq_ptr"_a)
      .def_static("tree", &make_tree, "node"_a, "node_ptr"_a, "edge"_a, "edge_ptr"_a, "parent"_a,
                  "width"_a, "seq_ptr"_a);

  nb::class_<Kernels>(m, "Kernels")
      .def_static("named", &kernels_named, "name"_a, nb::rv_policy::reference)
      .def_prop_ro("name", [](const Kernels& k) { return std::string(k.name); })
      .def("log_partition", &log_partition, "problem"_a, "log_space"_a, "threads"_a)
      .def("expected_score", &expected_score, "problem"_a, "log_space"_a, "threads"_a)
      .def(
          "marginals",
          [](const Kernels& k, const Scored& s, bool edges, bool log_space, int threads,
             const std::optional<KeptReals>& weight, bool steps) {
            return gradients(k, s, false, edges, log_space, threads, weight, steps);
          },
          "problem"_a, "edges"_a, "log_space"_a, "threads"_a, "weight"_a.none() = nb::none(),
          "steps"_a = true)
      .def(
          "reach",
          [](const Kernels& k, const Scored& s, bool edges, int threads) {
            return gradients(k, s, true, edges, false, threads, std::nullopt, true);
          },
          "problem"_a, "edges"_a, "threads"_a)
      .def(
          "best",
          [](const Kernels& k, const Scored& s, int threads) {
            return paths(k, s, Query::best, 1, 0, false, threads);
          },
          "problem"_a, "threads"_a)
      .def(
          "kbest",
          [](const Kernels& k, const Scored& s, int count, int threads) {
            return paths(k, s, Query::kbest, count, 0, false, threads);
          },
          "problem"_a, "k"_a, "threads"_a)
      .def(
          "sample",
          [](const Kernels& k, const Scored& s, int n, std::uint64_t seed, bool log_space,
             int threads) { return paths(k, s, Query::sample, n, seed, log_space, threads); },
          "problem"_a, "n"_a, "seed"_a, "log_space"_a, "threads"_a)
      .def("count", &count, "problem"_a, "prime"_a, "threads"_a);
  bind_evaluate(m);
  bind_decoder(m);
  bind_dictionary(m);
  bind_readers(m);
  bind_render(m);
  bind_graph(m);
  bind_cuts(m);
  bind_elimination(m);
  bind_paths(m);
  bind_sampling(m);
  bind_segmentation(m);
  bind_lanes(m);
  bind_tensors(m);
  bind_tree_ep(m);
  bind_trees(m);
  bind_visits(m);
}
