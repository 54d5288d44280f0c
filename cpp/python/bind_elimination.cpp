// Exact answers about graphs by elimination, for Python.
#include <memory>
#include <vector>

#include "engine/checks.hpp"
#include "graph/elimination/elimination.hpp"
#include "python/graph.hpp"
#include "python/released.hpp"

namespace crfkit {
namespace {

using Summed = Tuple<Given<double>, Given<double>, Given<double>, nb::typed<nb::list, AnyArray>>;
using Found = Tuple<Given<std::int32_t>, Given<double>>;

// log Z [N], cells [N], marginals of variables [labels] and of the factors of each group
// [M, cells]; empty where not wanted, or where a graph is too wide.
Summed sum(Elimination& self, const Kernels& kernels, const KeptFactors& factors, bool marginals,
           bool cliques, int threads) {
  check_threads(threads);
  const Factors& f = factors.view();
  Elimination::Sums sums;
  std::vector<double> node;
  std::vector<Array<double>> clique;
  {
    Released release;
    MarginalsOut out;
    if (marginals) {
      node.resize(f.label_ptr[f.variables]);
      out.node = node.data();
      for (std::int64_t g = 0; cliques && g < f.groups; ++g) {
        const FactorGroup& group = f.group[g];
        clique.emplace_back(std::vector<std::size_t>{static_cast<std::size_t>(group.count),
                                                     static_cast<std::size_t>(group.cells)});
        out.clique.push_back(clique.back().data.get());
      }
    }
    sums = self.sum(kernels, f, marginals ? &out : nullptr, threads);
  }
  nb::list tables;
  for (Array<double>& each : clique) tables.append(each.give());
  return Summed(nb::make_tuple(give(std::move(sums.value)), give(std::move(sums.cells)),
                               give(std::move(node)), tables));
}

Found best(Elimination& self, const Kernels& kernels, const KeptFactors& factors, int threads) {
  check_threads(threads);
  std::vector<std::int32_t> label(factors.view().variables, -1);
  std::vector<double> cells;
  {
    Released release;
    cells = self.best(kernels, factors.view(), label.data(), threads);
  }
  return Found(nb::make_tuple(give(std::move(label)), give(std::move(cells))));
}

using Labelings = std::span<std::int32_t>;

// The k best labelings go to `label` [k, V]; how many there are [N], and the cells of each graph.
Tuple<Given<std::int64_t>, Given<double>> kbest(Elimination& self, const Kernels& kernels,
                                                const KeptFactors& factors, std::int64_t k,
                                                Labelings label, int threads) {
  check_threads(threads);
  check_length("label", label.size(), k * factors.view().variables);
  Elimination::Listed listed;
  {
    Released release;
    listed = self.kbest(kernels, factors.view(), k, label.data(), threads);
  }
  return Tuple<Given<std::int64_t>, Given<double>>(
      nb::make_tuple(give(std::move(listed.count)), give(std::move(listed.cells))));
}

Given<double> sample(Elimination& self, const Kernels& kernels, const KeptFactors& factors,
                     std::int64_t n, std::uint64_t seed, Labelings label, int threads) {
  check_threads(threads);
  check_length("label", label.size(), n * factors.view().variables);
  std::vector<double> cells;
  {
    Released release;
    cells = self.sample(kernels, factors.view(), n, seed, label.data(), threads);
  }
  return give(std::move(cells));
}

// Counts modulo a prime [N], and the cells of each graph.
Tuple<Given<std::uint64_t>, Given<double>> count(Elimination& self, const KeptFactors& factors,
                                                 std::uint64_t prime, int threads) {
  check_threads(threads);
  if (prime < 2 || prime >= std::uint64_t{1} << 61) refuse("prime is not below 2^61");
  Elimination::Counts counts;
  {
    Released release;
    counts = self.count(factors.view(), prime, threads);
  }
  return Tuple<Given<std::uint64_t>, Given<double>>(
      nb::make_tuple(give(std::move(counts.count)), give(std::move(counts.cells))));
}

Given<double> cells(Elimination& self, const KeptFactors& factors, int threads) {
  check_threads(threads);
  std::vector<double> found;
  {
    Released release;
    found = self.cells(factors.view(), threads);
  }
  return give(std::move(found));
}

}  // namespace

void bind_elimination(nb::module_& m) {
  nb::class_<Elimination>(m, "Elimination")
      .def(nb::init<double>(), "budget"_a)
      .def("sum", &sum, "kernels"_a, "factors"_a, "marginals"_a, "cliques"_a, "threads"_a)
      .def("best", &best, "kernels"_a, "factors"_a, "threads"_a)
      .def("kbest", &kbest, "kernels"_a, "factors"_a, "k"_a, "label"_a, "threads"_a)
      .def("sample", &sample, "kernels"_a, "factors"_a, "n"_a, "seed"_a, "label"_a, "threads"_a)
      .def("count", &count, "factors"_a, "prime"_a, "threads"_a)
      .def("cells", &cells, "factors"_a, "threads"_a);
}

}  // namespace crfkit
