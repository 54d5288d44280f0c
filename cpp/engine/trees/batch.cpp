#include "engine/trees/batch.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "engine/checks.hpp"
#include "engine/threads/idle.hpp"
#include "engine/threads/parallel.hpp"
#include "engine/trees/chart.hpp"
#include "engine/trees/spanning.hpp"
#include "shared/charts.hpp"
#include "shared/problem.hpp"

namespace crfkit {
namespace {

// What a thread has while it works on a sentence.
class Worker {
 public:
  Worker(const Kernels& kernels, const TreeBatch& batch)
      : batch_(batch), kernels_(*kernels.charts), chart_(kernels_), trees_(kernels_) {}

  double sum(std::int64_t b, double* marginals) {
    open(b);
    const bool labeled = batch_.labels > 1;
    if (labeled) {
      add_up_labels();
      part_marginal_.assign(marginals ? batch_.cells() : 0, 0.0);
    }
    double* to = !marginals ? nullptr : labeled ? part_marginal_.data() : marginals;
    double value;
    if (batch_.spanning()) {
      value = trees_.sum(arcs(), to);
    } else {
      value = chart_.sum(score_);
      if (to) chart_.add_marginals(to);
    }
    if (to && labeled)
      each_part([&](std::int64_t part) {
        if (to[part] > 0.0)
          kernels_.spread(labels_of(part), batch_.labels, score_[part], to[part],
                          marginals + part * batch_.labels);
      });
    return value;
  }

  void find(std::int64_t b, TreeQuery query, std::int64_t count, RandomStream random,
            std::int64_t* chosen, double* score) {
    open(b);
    std::vector<ChosenParts> found;
    std::vector<double> value;
    const std::int64_t options =
        query == TreeQuery::sample ? 1
                                   : std::min(query == TreeQuery::best ? 1 : count, batch_.labels);
    if (batch_.labels > 1) {
      if (query == TreeQuery::sample)
        add_up_labels();
      else
        rank_labels(options);
    }
    if (query == TreeQuery::kbest) {
      const auto k = static_cast<std::int32_t>(count), most = static_cast<std::int32_t>(options);
      value = batch_.spanning() ? trees_.kbest(arcs(), most, k, found)
                                : chart_.kbest(score_, most, k, found);
    } else if (query == TreeQuery::best) {
      value.push_back(best(found.emplace_back()));
    } else if (batch_.spanning()) {
      for (const Heads& heads : trees_.draw(arcs(), count, random)) found.push_back(parts(heads));
    } else if (chart_.sum(score_) != kNever) {
      for (std::int64_t i = 0; i < count; ++i) chart_.draw(random, found.emplace_back());
    }
    value.resize(found.size(), 0.0);
    for (std::size_t i = 0; i < found.size(); ++i) {
      score[i] = value[i];
      for (const ChosenPart& p : found[i]) {
        const std::int64_t at =
            static_cast<std::int64_t>(i) * batch_.cells() + p.part / batch_.kinds();
        chosen[at] = batch_.kinds() > 1           ? p.part % batch_.kinds()
                     : batch_.labels == 1         ? 0
                     : query == TreeQuery::sample ? drawn_label(p.part, random)
                                                  : ranked_[p.part * options + p.option];
      }
    }
  }

 private:
  // Reads scores; all that count must be finite or -inf.
  void open(std::int64_t b) {
    b_ = b;
    const std::int64_t size = batch_.scores();
    if (batch_.wide) {
      given_ = static_cast<const double*>(batch_.score) + b * size;
    } else {
      const float* from = static_cast<const float*>(batch_.score) + b * size;
      wide_.assign(from, from + batch_.height[b] * (size / std::max<std::int64_t>(batch_.rows, 1)));
      given_ = wide_.data();
    }
    score_ = given_;
    if (!batch_.spanning())
      plan_ = &chart_.open(batch_.shape, batch_.height[b], batch_.width[b], batch_.columns);
    each_part([&](std::int64_t part) { check(part); });
  }

  template <class Visit>
  void each_part(Visit visit) const {
    const std::int64_t n = batch_.height[b_];
    if (batch_.spanning()) {
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j) visit(i * batch_.columns + j);
    } else {
      for (const ChartLeaf& leaf : plan_->leaves) visit(static_cast<std::int64_t>(leaf.part));
    }
  }

  const double* labels_of(std::int64_t part) const { return given_ + part * batch_.labels; }

  void add_up_labels() {
    reduced_.assign(batch_.cells(), kNever);
    each_part([&](std::int64_t part) {
      reduced_[part] = kernels_.log_sum(labels_of(part), batch_.labels);
    });
    score_ = reduced_.data();
  }

  // The best labels of each part, from the highest on; of equals the lowest first.
  void rank_labels(std::int64_t options) {
    reduced_.assign(batch_.cells() * options, kNever);
    ranked_.assign(batch_.cells() * options, 0);
    std::vector<std::int32_t> order(batch_.labels);
    each_part([&](std::int64_t part) {
      const double* of = labels_of(part);
      if (options == 1) {
        order[0] = static_cast<std::int32_t>(std::max_element(of, of + batch_.labels) - of);
      } else {
        std::iota(order.begin(), order.end(), 0);
        std::partial_sort(
            order.begin(), order.begin() + options, order.end(),
            [&](std::int32_t a, std::int32_t b) { return of[a] != of[b] ? of[a] > of[b] : a < b; });
      }
      for (std::int64_t o = 0; o < options; ++o) {
        ranked_[part * options + o] = order[o];
        reduced_[part * options + o] = of[order[o]];
      }
    });
    score_ = reduced_.data();
  }

  std::int64_t drawn_label(std::int64_t part, RandomStream& random) const {
    double rest = random.below(1.0);
    std::int64_t last = 0;
    for (std::int64_t o = 0; o < batch_.labels; ++o) {
      const double chance = std::exp(labels_of(part)[o] - score_[part]);
      if (chance == 0.0) continue;
      last = o;
      if (rest < chance) break;
      rest -= chance;
    }
    return last;
  }

  ArcScores arcs() const {
    return {score_, batch_.height[b_], batch_.columns,
            batch_.shape == TreeShape::spanning_single_root};
  }
  ChosenParts parts(const Heads& heads) const {
    ChosenParts made;
    for (std::size_t j = 0; j < heads.size(); ++j)
      made.push_back({static_cast<std::int32_t>(heads[j] * batch_.columns + j), 0});
    return made;
  }
  double best(ChosenParts& found) {
    if (!batch_.spanning()) return chart_.best(score_, found);
    Heads heads;
    const double score = trees_.best(arcs(), heads);
    found = parts(heads);
    return score;
  }

  void check(std::int64_t part) const {
    const double* score = labels_of(part);
    bool good = true;
    for (std::int64_t o = 0; o < batch_.labels; ++o) good &= score[o] <= kLargestScore;
    if (good) return;
    std::int64_t o = 0;
    while (score[o] <= kLargestScore) ++o;
    const std::int64_t cell = part / batch_.kinds();
    std::string last;
    if (batch_.kinds() > 1) last = ", " + text(part % batch_.kinds());
    if (batch_.labels > 1) last = ", " + text(o);
    refuse("scores[" + text(b_) + ", " + text(cell / batch_.columns) + ", " +
           text(cell % batch_.columns) + last + "]" + wrong_score(score[o]));
  }

  const TreeBatch& batch_;
  const ChartKernels& kernels_;
  Chart chart_;
  SpanningTrees trees_;
  std::int64_t b_ = 0;
  const ChartPlan* plan_ = nullptr;
  const double* given_ = nullptr;  // of the sentence
  const double* score_ = nullptr;  // of its parts, or of the options of each
  std::vector<double> wide_, reduced_, part_marginal_;
  std::vector<std::int32_t> ranked_;  // labels of the options
};

template <class Work>
void each_sentence(const Kernels& kernels, const TreeBatch& batch, int threads, Work work) {
  Idle<std::unique_ptr<Worker>> idle;
  parallel_for(batch.sentences, threads, [&](std::int64_t b) {
    auto worker = idle.take([&] { return std::make_unique<Worker>(kernels, batch); });
    work(*worker, b);
    idle.leave(std::move(worker));
  });
}

}  // namespace

void sum_trees(const Kernels& kernels, const TreeBatch& batch, double* value, void* marginals,
               int threads) {
  const std::int64_t size = batch.scores();
  each_sentence(kernels, batch, threads, [&](Worker& worker, std::int64_t b) {
    if (!marginals) {
      value[b] = worker.sum(b, nullptr);
    } else if (batch.wide) {
      value[b] = worker.sum(b, static_cast<double*>(marginals) + b * size);
    } else {
      std::vector<double> made(size, 0.0);
      value[b] = worker.sum(b, made.data());
      float* to = static_cast<float*>(marginals) + b * size;
      for (std::int64_t i = 0; i < size; ++i) to[i] = static_cast<float>(made[i]);
    }
  });
}

void find_trees(const Kernels& kernels, const TreeBatch& batch, TreeQuery query, std::int64_t count,
                std::uint64_t seed, std::int64_t* chosen, double* score, int threads) {
  each_sentence(kernels, batch, threads, [&](Worker& worker, std::int64_t b) {
    // A stream for each sentence: its seed is the first number of another stream.
    RandomStream seeds(seed + static_cast<std::uint64_t>(b) * 0xd1342543de82ef95ULL);
    worker.find(b, query, count, RandomStream(seeds.bits()), chosen + b * count * batch.cells(),
                score + b * count);
  });
}

}  // namespace crfkit
