// Compiled once per instruction set: picks structure and semiring for a task and sweeps the
// sequences of a block.
#include "kernels.hpp"

#include "kbest.hpp"
#include "layout.hpp"
#include "logs.hpp"
#include "ring.hpp"
#include "scaled.hpp"
#include "sweep.hpp"
#include "trace.hpp"

#define CRFKIT_TEXT(x) #x
#define CRFKIT_NAME(x) CRFKIT_TEXT(x)

namespace crfkit::CRFKIT_ARCH {
namespace {

// Tables for the semirings of a task; `scores` serve log space, which sums need only as a fallback.
struct Prepared {
  Tables probabilities, scores;

  Prepared(const Problem& p, const Task& t)
      : probabilities(p, (t.query == Query::sum || t.query == Query::sample) && !t.log_space, true),
        scores(p, t.query == Query::sum || t.query == Query::sample || t.query == Query::best,
               false) {}
};

struct Block {
  const Problem& problem;
  const Task& task;
  const Prepared& prepared;
  double* pooled;
  Arena& arena;

  double* expected(std::int64_t n) const { return task.expected ? task.expected + n : nullptr; }
  bool wants_credits() const { return pooled != nullptr; }
  std::int64_t positions() const { return problem.seq_ptr[problem.sequences]; }

  template <class Structure>
  Structure structure(const std::int64_t* sequences, int lanes) const {
    return Structure(problem, task, pooled, sequences, lanes, arena);
  }

  void no_path(std::int64_t n, int i) const {
    std::int32_t* path = task.path + i * positions();
    for (std::int64_t p = problem.seq_ptr[n]; p < problem.seq_ptr[n + 1]; ++p) path[p] = -1;
  }
  template <class Structure>
  void emit(const Structure& s, const std::int64_t* cell, int i) const {
    s.emit(cell, task.path + i * positions(), task.begin ? task.begin + i * positions() : nullptr);
  }
};

// How many sequences share a sweep: enough for full register tiles, and with many labels enough to
// pay for streaming the table, but no more than fit into the outer cache together.
int lanes_for(const Problem& p, const Task& t, std::int64_t longest) {
  if (p.shape != Shape::chain || p.order != 1 || p.edge_step != 0 || t.credits.edge || t.expected)
    return 1;
  const int wanted = p.labels >= 256 ? 8 * kTile : p.labels >= 64 ? 4 * kTile : 2 * kTile;
  const double bytes = 3.0 * 8.0 * padded(p.labels) * static_cast<double>(longest + 1),
               budget = 16e6;
  const double fitting = budget / bytes;
  return fitting >= wanted  ? wanted
         : fitting >= kTile ? static_cast<int>(fitting) / kTile * kTile
                            : 1;
}

template <class Structure>
void sum_in_logs(const Block& block, const std::int64_t* sequence) {
  const Structure s = block.structure<Structure>(sequence, 1);
  LogSum semiring(s, block.prepared.scores, block.arena, block.expected(*sequence));
  forward(semiring, s);
  block.task.value[*sequence] = semiring.value(s.row(s.rows() - 1));
  if (block.task.in_logs) block.task.in_logs[*sequence] = 1;
  if (block.wants_credits()) reverse(semiring, s);
}

template <class Structure>
void sum(const Block& block, const std::int64_t* sequences, int lanes) {
  if (!block.task.log_space) {
    const Structure s = block.structure<Structure>(sequences, lanes);
    Scaled semiring(s, block.prepared.probabilities, block.arena, lanes,
                    block.expected(*sequences));
    forward(semiring, s);
    if (semiring.exact()) {
      const Row last = s.row(s.rows() - 1);
      for (int lane = 0; lane < lanes; ++lane)
        block.task.value[sequences[lane]] = semiring.value(last, lane);
      if (block.wants_credits()) reverse(semiring, s);
      return;
    }
  }
  for (int lane = 0; lane < lanes; ++lane) {
    block.arena.reset();
    sum_in_logs<Structure>(block, sequences + lane);
  }
}

template <class Structure>
void best(const Block& block, const std::int64_t* sequence) {
  const Structure s = block.structure<Structure>(sequence, 1);
  Max semiring(s, block.prepared.scores, block.arena, nullptr);
  forward(semiring, s);
  const double value = block.task.value[*sequence] = semiring.value(s.row(s.rows() - 1));
  if (value == kZero) return block.no_path(*sequence, 0);
  Trace<Max, ChooseBest> trace(semiring, s, block.arena);
  reverse(trace.follow(s, ChooseBest()), s);
  block.emit(s, trace.cell, 0);
}

template <class Structure>
void kbest(const Block& block, const std::int64_t* sequence) {
  const Structure s = block.structure<Structure>(sequence, 1);
  KBest semiring(s, block.task.k, block.arena);
  forward(semiring, s);
  for (int i = 0; i < block.task.k; ++i) {
    const double score = semiring.score(s.row(s.rows() - 1), i);
    block.task.path_score[*sequence * block.task.k + i] = score;
    if (score == kZero) {
      block.no_path(*sequence, i);
    } else {
      reverse(semiring.follow(s, i), s);
      block.emit(s, semiring.cell, i);
    }
  }
}

template <class Structure, class Semiring>
void draw(const Block& block, const Structure& s, const Semiring& semiring, std::int64_t sequence) {
  Trace<Semiring, ChooseRandom> trace(semiring, s, block.arena);
  for (int i = 0; i < block.task.k; ++i) {
    double& score = block.task.path_score[sequence * block.task.k + i];
    if (block.task.value[sequence] == kZero) {
      score = kZero;
      block.no_path(sequence, i);
      continue;
    }
    reverse(trace.follow(s, ChooseRandom(block.task.seed, sequence, i)), s);
    score = trace.score;
    block.emit(s, trace.cell, i);
  }
}

template <class Structure>
void sample(const Block& block, const std::int64_t* sequence) {
  const Structure s = block.structure<Structure>(sequence, 1);
  if (!block.task.log_space) {
    Scaled semiring(s, block.prepared.probabilities, block.arena, 1, nullptr);
    forward(semiring, s);
    if (semiring.exact()) {
      block.task.value[*sequence] = semiring.value(s.row(s.rows() - 1), 0);
      return draw(block, s, semiring, *sequence);
    }
  }
  LogSum semiring(s, block.prepared.scores, block.arena, nullptr);
  forward(semiring, s);
  block.task.value[*sequence] = semiring.value(s.row(s.rows() - 1));
  draw(block, s, semiring, *sequence);
}

template <class Structure>
void reach(const Block& block, const std::int64_t* sequence) {
  const Structure s = block.structure<Structure>(sequence, 1);
  Ring<Boolean> semiring(s, Boolean(), block.arena);
  forward(semiring, s);
  block.task.value[*sequence] = semiring.value(s.row(s.rows() - 1)) ? 0.0 : kZero;
  if (block.wants_credits()) reverse(semiring, s);
}

template <class Structure>
void count(const Block& block, const std::int64_t* sequence) {
  const Structure s = block.structure<Structure>(sequence, 1);
  Ring<Modular> semiring(s, Modular{block.task.prime}, block.arena);
  forward(semiring, s);
  block.task.residue[*sequence] = semiring.value(s.row(s.rows() - 1));
}

template <class Structure>
void answer(const Block& block, const std::int64_t* sequences, int lanes) {
  switch (block.task.query) {
    case Query::sum:
      return sum<Structure>(block, sequences, lanes);
    case Query::best:
      return best<Structure>(block, sequences);
    case Query::kbest:
      return kbest<Structure>(block, sequences);
    case Query::sample:
      return sample<Structure>(block, sequences);
    case Query::reach:
      return reach<Structure>(block, sequences);
    case Query::count:
      return count<Structure>(block, sequences);
  }
}

// Pooled credits of shared tables: the sums of outer products times the probabilities of the table.
void finish_products(const Problem& p, const Tables& tables, double* pooled) {
  const PooledLayout layout(p);
  for (int h = 0; h < tables.count; ++h) {
    const Table& table = tables.table[h];
    const int step = padded(table.n_out);
    for (int m = 0; m < table.blocks; ++m) {
      for (int a = 0; a < table.n_in; ++a) {
        const std::int64_t row = (static_cast<std::int64_t>(a) * table.blocks + m) * step;
        for (int j = 0; j < step; j += W) {
          double* credit = pooled + layout.table[h] + row + j;
          const double* sum = pooled + layout.products[h] + row + j;
          const Vec probability =
              load(table.matrix(m) + packed_index(table.n_in, table.n_out, a, j));
          store(credit, load(credit) + load(sum) * probability);
        }
      }
    }
  }
}

void* prepare(const Problem& p, const Task& t) { return new Prepared(p, t); }
void release(void* prepared) { delete static_cast<Prepared*>(prepared); }
std::int64_t pooled_size(const Problem& p) { return PooledLayout(p).size; }

void run(const Problem& p, const Task& t, const void* prepared, const std::int64_t* sequences,
         std::int64_t count, double* pooled) {
  Arena arena;
  const Block block{p, t, *static_cast<const Prepared*>(prepared), pooled, arena};
  for (std::int64_t i = 0; i < count;) {
    const std::int64_t n = sequences[i];
    const std::int64_t rest = count - i;
    int lanes = t.query == Query::sum && !t.log_space
                    ? lanes_for(p, t, p.seq_ptr[n + 1] - p.seq_ptr[n])
                    : 1;
    const std::int64_t groups =
        (rest + lanes - 1) / lanes;  // of about equal size, so that none is left over
    lanes = static_cast<int>((rest + groups - 1) / groups);
    arena.reset();
    switch (p.shape) {
      case Shape::chain:
        answer<Chain>(block, sequences + i, lanes);
        break;
      case Shape::segments:
        answer<Segments>(block, sequences + i, lanes);
        break;
      case Shape::tree:
        answer<Tree>(block, sequences + i, lanes);
        break;
    }
    i += lanes;
  }
  if (pooled && t.query == Query::sum && !t.log_space)
    finish_products(p, block.prepared.probabilities, pooled);
}

}  // namespace

const Kernels kernels = {CRFKIT_NAME(CRFKIT_ARCH),
                         pooled_size,
                         prepare,
                         release,
                         run,
                         expand_rows,
                         score_rows,
                         scatter_rows,
                         sum_runs};

}  // namespace crfkit::CRFKIT_ARCH
