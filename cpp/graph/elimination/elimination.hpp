// Exact answers for batches of graphs by elimination: reduce, plan, and sum or maximize component
// by component.  Plans are kept as long as the scores forbid the same number of labels.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "graph/elimination/components.hpp"
#include "shared/kernels.hpp"

namespace crfkit {

class Elimination {
 public:
  // Plans for tables of up to `budget` cells a component.
  explicit Elimination(double budget) : budget_(budget) {}

  // Cells that each graph keeps, or would need: those of its largest component.
  std::vector<double> cells(const Factors& f, int threads);

  struct Sums {
    std::vector<double> value;  // [N] log Z; nan: too wide
    std::vector<double> cells;  // [N]
  };

  Sums sum(const Kernels& kernels, const Factors& f, MarginalsOut* out, int threads);

  // Labels [V], -1 in graphs without a labeling; returns the cells of each graph.
  std::vector<double> best(const Kernels& kernels, const Factors& f, std::int32_t* label,
                           int threads);

  struct Listed {
    std::vector<std::int64_t> count;  // [N] labelings that were found
    std::vector<double> cells;        // [N]
  };

  // The k best labelings [k, V], best first; -1 where a graph has fewer.
  Listed kbest(const Kernels& kernels, const Factors& f, std::int64_t k, std::int32_t* label,
               int threads);

  // Independent draws [n, V]; -1 in graphs without a labeling.
  std::vector<double> sample(const Kernels& kernels, const Factors& f, std::int64_t n,
                             std::uint64_t seed, std::int32_t* label, int threads);

  struct Counts {
    std::vector<std::uint64_t> count;  // [N]
    std::vector<double> cells;         // [N]
  };

  // How many labelings are allowed, modulo a prime below 2^61.
  Counts count(const Factors& f, std::uint64_t prime, int threads);

  double budget() const { return budget_; }

  // The components of these scores; those of the last call where they are the same.
  std::shared_ptr<const Components> plan(const Factors& f, const Reduction& left, int threads);

 private:
  static constexpr double kNone = -std::numeric_limits<double>::infinity();

  struct Kept {
    Kept(std::vector<std::int32_t> w, std::vector<std::uint8_t> i, Components c)
        : width(std::move(w)), impossible(std::move(i)), components(std::move(c)) {}
    std::vector<std::int32_t> width;
    std::vector<std::uint8_t> impossible;
    Components components;
  };

  // The plan of the last call; `next`, if given, takes its place.
  std::shared_ptr<const Kept> last(std::shared_ptr<const Kept> next);

  bool within(const std::vector<double>& cells) const {
    return std::all_of(cells.begin(), cells.end(), [&](double n) { return n <= budget_; });
  }

  // Labels of variables with one label left in labelings [k, V]; -1 elsewhere.
  static void set_known(const Factors& f, const Reduction& left, std::int64_t k,
                        std::int32_t* label);

  std::vector<double> cells_of(const Factors& f, const Components& all) const;

  // What every labeling scores: constants, and factors of known variables.
  std::vector<double> begin(const Factors& f, const Reduction& left, const Components& all) const;

  static std::int64_t known_cell(const FactorGroup& group, const std::int32_t* scope,
                                 const Reduction& left);

  // Large components one after the other, on all threads; then the small ones side by side.
  template <class Work>
  static void each(const Components& all, int threads, Work work);

  // Marginals of what is known; none in graphs without a labeling.
  static void finish(const Factors& f, const Reduction& left, const Components& all,
                     const std::vector<double>& value, MarginalsOut& out);

  double budget_;
  std::mutex guard_;
  std::shared_ptr<const Kept> kept_;
};

}  // namespace crfkit
