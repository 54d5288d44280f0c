#include "engine/trees/batch.hpp"

#include <memory>
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
      : batch_(batch), chart_(*kernels.charts), trees_(*kernels.charts) {}

  // Reads scores; all that count must be finite or -inf.
  void open(std::int64_t b) {
    b_ = b;
    const std::int64_t n = batch_.height[b],
                       size = batch_.cells() * batch_.kinds() * batch_.options;
    const std::int64_t used = n * batch_.columns * batch_.kinds() * batch_.options;
    if (batch_.wide) {
      score_ = static_cast<const double*>(batch_.score) + b * size;
    } else {
      const float* from = static_cast<const float*>(batch_.score) + b * size;
      room_.assign(from, from + used);
      score_ = room_.data();
    }
    if (spanning()) {
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j) check(i * batch_.columns + j);
      return;
    }
    chart_.plan.make(batch_.shape, n, batch_.width[b], batch_.columns);
    for (const ChartCell& cell : chart_.plan.cells)
      if (cell.part >= 0) check(cell.part);
  }

  double sum(double* marginals) {
    if (spanning()) return trees_.sum(arcs(), marginals);
    const double value = chart_.sum(score_);
    if (marginals) chart_.add_marginals(marginals);
    return value;
  }

  void find(TreeQuery query, std::int64_t count, RandomStream random, std::int64_t* chosen,
            double* score) {
    std::vector<ChosenParts> found;
    std::vector<double> value;
    if (query == TreeQuery::kbest) {
      const auto k = static_cast<std::int32_t>(count),
                 options = static_cast<std::int32_t>(batch_.options);
      value = spanning() ? trees_.kbest(arcs(), options, k, found)
                         : chart_.kbest(score_, options, k, found);
    } else if (query == TreeQuery::best) {
      value.push_back(best(found.emplace_back()));
    } else if (spanning()) {
      for (const Heads& heads : trees_.draw(arcs(), count, random))
        found.push_back(parts(heads)), value.push_back(0.0);
    } else if (chart_.sum(score_) > kNever) {
      for (std::int64_t i = 0; i < count; ++i)
        chart_.draw(random, found.emplace_back()), value.push_back(0.0);
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      score[i] = value[i];
      for (const ChosenPart& part : found[i])
        chosen[static_cast<std::int64_t>(i) * batch_.cells() + part.part / batch_.kinds()] =
            batch_.kinds() > 1 ? part.part % batch_.kinds() : part.option;
    }
  }

 private:
  bool spanning() const {
    return batch_.shape == TreeShape::spanning || batch_.shape == TreeShape::spanning_single_root;
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
    if (!spanning()) return chart_.best(score_, found);
    Heads heads;
    const double score = trees_.best(arcs(), heads);
    found = parts(heads);
    return score;
  }

  void check(std::int64_t part) const {
    for (std::int64_t o = 0; o < batch_.options; ++o) {
      const double score = score_[part * batch_.options + o];
      if (score <= kLargestScore) continue;
      const std::int64_t cell = part / batch_.kinds();
      refuse("scores[" + text(b_) + ", " + text(cell / batch_.columns) + ", " +
             text(cell % batch_.columns) +
             (batch_.kinds() > 1 ? ", " + text(part % batch_.kinds()) : std::string()) + "]" +
             wrong_score(score));
    }
  }

  const TreeBatch& batch_;
  Chart chart_;
  SpanningTrees trees_;
  std::int64_t b_ = 0;
  std::vector<double> room_;
  const double* score_ = nullptr;
};

template <class Work>
void each_sentence(const Kernels& kernels, const TreeBatch& batch, int threads, Work work) {
  Idle<std::unique_ptr<Worker>> idle;
  parallel_for(batch.sentences, threads, [&](std::int64_t b) {
    auto worker = idle.take([&] { return std::make_unique<Worker>(kernels, batch); });
    worker->open(b);
    work(*worker, b);
    idle.leave(std::move(worker));
  });
}

}  // namespace

void sum_trees(const Kernels& kernels, const TreeBatch& batch, double* value, void* marginals,
               int threads) {
  const std::int64_t size = batch.cells() * batch.kinds();
  each_sentence(kernels, batch, threads, [&](Worker& worker, std::int64_t b) {
    if (!marginals) {
      value[b] = worker.sum(nullptr);
    } else if (batch.wide) {
      value[b] = worker.sum(static_cast<double*>(marginals) + b * size);
    } else {
      std::vector<double> made(size, 0.0);
      value[b] = worker.sum(made.data());
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
    worker.find(query, count, RandomStream(seeds.bits()), chosen + b * count * batch.cells(),
                score + b * count);
  });
}

}  // namespace crfkit
