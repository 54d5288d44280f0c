#include "engine/likelihood/evaluator.hpp"

#include <atomic>

#include "engine/threads/parallel.hpp"

namespace crfkit {

Loss Evaluator::evaluate(const double* weights, const Shared& shared, double* gradient,
                         int threads) {
  rows_.weight = weights;
  EdgeRows edges;
  Loss loss;
  loss.finite = weigh_edges(weights, gradient, threads, &edges);
  if (!loss.finite) return loss;
  compose(threads);
  if (rounds() > 1) clear_loose(gradient, threads);
  loss = sum_blocks(edges, shared, gradient, threads);
  if (loss.finite && loss.impossible < 0) gather(gradient, threads);
  return loss;
}

Composed Evaluator::composed() const {
  return {slots_.attribute.data(), slots_.member_ptr.data(), slots_.member.data(),
          slots_.container_ptr.data(), slots_.container.data()};
}

void Evaluator::compose(int threads) {
  const Composed c = composed();
  for (const std::vector<Stretch>& tasks : compose_tasks_)
    parallel_for(static_cast<std::int64_t>(tasks.size()), threads, [&](std::int64_t i) {
      kernels_.linear->compose(rows_, c, tasks[i].first, tasks[i].last, table_->data());
      if (sums_)
        std::fill(sums_->data() + tasks[i].first * step_, sums_->data() + tasks[i].last * step_,
                  0.0);
    });
}

bool Evaluator::weigh_edges(const double* weights, double* gradient, int threads, EdgeRows* edges) {
  const std::int64_t offset = rows_.ptr[rows_.attributes];
  *edges = edges_.view();
  edges->weight = weights + offset;
  edges->factor = edges_.has_values() ? nullptr : factor_->data();
  edges->row = edge_rows_.data();
  edges->partial = partial_->data();
  edges->gradient = gradient + offset;
  std::atomic<bool> finite{true};
  const auto& tasks = edges_.attribute_tasks();
  parallel_for(static_cast<std::int64_t>(tasks.size()), threads, [&](std::int64_t i) {
    if (!kernels_.linear->fill_factors(*edges, tasks[i].first, tasks[i].last)) finite = false;
  });
  return finite;
}

Loss Evaluator::sum_blocks(const EdgeRows& edges, const Shared& shared, double* gradient,
                           int threads) {
  Evaluation e = {};
  e.edges = edges;
  e.problem.shape = longest() ? Shape::segments : Shape::chain;
  e.problem.labels = L_;
  e.problem.order = order_;
  const double* table = shared.edge;
  std::int64_t cells = L_;
  for (int h = 0; h < order_; ++h) e.problem.edge[h] = table, table += cells *= L_;
  const Pairs pairs{steps(), pair_ptr_.data(), pair_from_.data()};
  if (sparse()) e.problem.pairs = &pairs;
  e.start = shared.start;
  e.stop = shared.stop;
  if (longest()) e.segments = segments_.view(shared.length, shared.length_gradient != nullptr);
  e.block = block_.data();
  e.group = group_.data();
  e.length = length_.data();
  e.weight = weight_.data();
  e.rows = rows_;
  e.table = table_->data();
  const auto or_null = [](const auto& v) { return v.empty() ? nullptr : v.data(); };
  e.residual = {left_.ptr.data(), left_.id.data(),       or_null(left_.value), or_null(full_ptr_),
                full_.data(),     or_null(full_value_),  single_ptr_.data(),   single_.data(),
                column_.data(),   or_null(single_value_)};
  e.partials = partials_.view();
  e.loose = loose(false);
  e.gradient = gradient;
  e.gold = gold_;
  e.node = node_->data();
  e.value = value_.data();
  crfkit::Task sums = {};
  sums.query = Query::sum;
  const Handle tables = prepare(kernels_, e.problem, sums);
  const std::int64_t blocks = static_cast<std::int64_t>(block_.size()) - 1;
  std::vector<std::int64_t> impossible(blocks, -1);
  std::atomic<bool> finite{true};
  clear_gradients(shared);
  auto turn = edges_.turns().begin();
  for (const Round& round : rounds_) {
    e.first = round.position.first;
    e.partial_row = round.partial_row();
    for (; turn != edges_.turns().end() && turn->blocks.last <= round.block.last; ++turn) {
      const std::int64_t first = turn->blocks.first;
      parallel_for(turn->blocks.size(), threads, [&](std::int64_t i) {
        const std::int64_t b = first + i;
        std::vector<double>& pooled = pooled_[b - round.block.first];
        pooled.assign(pooled_size(), 0.0);
        std::fill(partial_->data() + edges_.partial(b).first,
                  partial_->data() + edges_.partial(b).last, 0.0);
        Handle workspace = idle_.take([this] {
          return Handle(kernels_.learn->make_workspace(), kernels_.learn->drop_workspace);
        });
        if (!kernels_.learn->evaluate(e, tables.get(), b, workspace.get(), pooled.data(),
                                      &impossible[b]))
          finite = false;
        idle_.leave(std::move(workspace));
      });
      parallel_for(static_cast<std::int64_t>(turn->tasks.size()), threads, [&](std::int64_t i) {
        edges_.add(*turn, turn->tasks[i], partial_->data(), edges.gradient);
      });
    }
    add_gradients(round.block.size(), shared);
    add_round(round, gradient, threads);
  }
  Loss loss;
  loss.finite = finite;
  for (const std::int64_t lane : impossible)
    if (lane >= 0 && (loss.impossible < 0 || sequence_[lane] < loss.impossible))
      loss.impossible = sequence_[lane];
  for (const double value : value_) loss.value += value;
  return loss;
}

template <class F>
void Evaluator::each_gradient(const Shared& shared, F f) const {
  const std::int64_t rows = sparse() ? 1 : ngrams() / L_;
  f(0, 1, L_, shared.start_gradient);
  f(step_, 1, L_, shared.stop_gradient);
  f(2 * step_, rows, steps() / rows, shared.edge_gradient);
  if (shared.length_gradient) f((2 + L_) * step_, longest(), L_, shared.length_gradient);
}

void Evaluator::clear_gradients(const Shared& shared) const {
  each_gradient(shared, [](std::int64_t, std::int64_t rows, std::int64_t width, double* out) {
    std::fill_n(out, rows * width, 0.0);
  });
}

void Evaluator::add_gradients(std::int64_t blocks, const Shared& shared) const {
  each_gradient(shared, [&](std::int64_t at, std::int64_t rows, std::int64_t width, double* out) {
    for (std::int64_t b = 0; b < blocks; ++b)
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < width; ++j)
          out[i * width + j] += pooled_[b][at + i * step_ + j];
  });
}

void Evaluator::clear_loose(double* gradient, int threads) const {
  parallel_for(static_cast<std::int64_t>(loose_tasks_.size()), threads, [&](std::int64_t i) {
    for (std::int64_t a = loose_tasks_[i].first; a < loose_tasks_[i].last; ++a)
      std::fill(gradient + rows_.ptr[loose_[a]], gradient + rows_.ptr[loose_[a] + 1], 0.0);
  });
}

void Evaluator::add_round(const Round& round, double* gradient, int threads) {
  const RoundGradients &slots = round.slots, &loose = round.loose;
  const std::int64_t rows = static_cast<std::int64_t>(slots.tasks.size());
  const std::int64_t others = static_cast<std::int64_t>(loose.tasks.size());
  const Loose attributes{loose.thing.data(), loose.gradients.view(), true};
  parallel_for(rows + others, threads, [&](std::int64_t i) {
    const Stretch& task = i < rows ? slots.tasks[i] : loose.tasks[i - rows];
    if (i < rows)
      kernels_.linear->add_to_slots(slots.gradients.view(), slots.thing.data(), node_->data(),
                                    task.first, task.last, step_, sums_->data());
    else
      kernels_.linear->gather_loose(rows_, attributes, node_->data(), task.first, task.last,
                                    gradient);
  });
}

void Evaluator::gather(double* gradient, int threads) {
  const Gathering g{composed(), gradients_.view(), sums_ ? sums_->data() : nullptr};
  const std::int64_t top = slots_.levels() - 1;
  for (std::int64_t level = top; level >= 0; --level) {
    const std::vector<Stretch>& tasks = gather_tasks_[level];
    const std::int64_t rows = static_cast<std::int64_t>(tasks.size());
    const std::int64_t others = level == 0 ? static_cast<std::int64_t>(loose_tasks_.size()) : 0;
    parallel_for(rows + others, threads, [&](std::int64_t i) {
      if (i < rows) {
        kernels_.linear->gather(rows_, g, node_->data(), tasks[i].first, tasks[i].last,
                                table_->data(), gradient);
      } else {
        const Stretch& task = loose_tasks_[i - rows];
        kernels_.linear->gather_loose(rows_, loose(rounds() > 1), node_->data(), task.first,
                                      task.last, gradient);
      }
    });
  }
}

}  // namespace crfkit
