// Compiled once per instruction set: picks structure and semiring for a task and sweeps the
// sequences of a block.
#include "kernels.hpp"

#include "dual.hpp"
#include "kbest.hpp"
#include "layout.hpp"
#include "ring.hpp"
#include "sums.hpp"
#include "trace.hpp"
#include "vectors.hpp"

#define CRFKIT_TEXT(x) #x
#define CRFKIT_NAME(x) CRFKIT_TEXT(x)

namespace crfkit::CRFKIT_ARCH {
namespace {

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

void* make_scratch() { return new Arena; }
void free_scratch(void* scratch) { delete static_cast<Arena*>(scratch); }
void dual_answer(const Dual& dual, const std::int64_t* sequences, int lanes, Visit* visits,
                 void* scratch) {
  Arena& arena = *static_cast<Arena*>(scratch);
  arena.reset();
  DualVisit(dual, arena).answer(sequences, lanes, visits);
}
void dual_apply(const Dual& dual, Visit& visit, int shard) {
  Arena none;
  DualVisit(dual, none).apply(visit, shard);
}
void dual_settle(const Dual& dual, Visit& visit) {
  Arena none;
  DualVisit(dual, none).settle(visit);
}
void dual_revise(const Dual& dual, Visit& visit) {
  Arena none;
  DualVisit(dual, none).revise(visit);
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
                         sum_runs,
                         combine_vectors,
                         dot_vectors,
                         add_l2,
                         pseudo_gradient,
                         align,
                         move_in_orthant,
                         make_scratch,
                         free_scratch,
                         dual_answer,
                         dual_apply,
                         dual_settle,
                         dual_revise};

}  // namespace crfkit::CRFKIT_ARCH
