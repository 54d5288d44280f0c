// Compiled once per instruction set: picks structure and semiring for a task and sweeps the
// sequences of a call.  Its table leads to the others.
#include "kernels/sweep/best.hpp"
#include "kernels/sweep/kbest.hpp"
#include "kernels/sweep/lane_best.hpp"
#include "kernels/sweep/lane_sum.hpp"
#include "kernels/sweep/ring.hpp"
#include "kernels/sweep/scaled.hpp"
#include "kernels/sweep/tangent.hpp"
#include "kernels/sweep/trace.hpp"
#include "shared/kernels.hpp"

#define CRFKIT_TEXT(x) #x
#define CRFKIT_NAME(x) CRFKIT_TEXT(x)

namespace crfkit::CRFKIT_ARCH {

extern const LinearKernels linear;
extern const LearnKernels learn;
extern const VectorKernels vectors;
extern const ConditionalKernels conditionals;
extern const ContractionKernels contraction;
extern const SmallGraphKernels small_graphs;
extern const SliceKernels slices;
extern const PathKernels path_messages;
extern const VisitKernels visits;
extern const ChartKernels charts;
extern const SamplingKernels sampling;

template void best<Chain>(const Call& call, std::int64_t sequence);
template void kbest<Chain>(const Call& call, std::int64_t sequence);

namespace {

constexpr std::int64_t kEnough = 256;  // positions, which pay for listing
constexpr std::int64_t kShort = 4;     // positions of sequences for which setting up a sweep counts

// Tables without sequences are made ahead, for many calls.
bool sums_without_steps(const Problem& p, const Task& t) {
  return t.query == Query::sum && t.gradients.no_steps && !t.log_space && !t.expected && !p.pairs &&
         (p.sequences == 0 || p.seq_ptr[p.sequences] >= kEnough);
}
Problem with_pairs(Problem p, const Pairs& pairs) {
  p.pairs = &pairs;
  return p;
}

// How many sequences share a sweep: enough for full register tiles, and with many labels enough to
// pay for streaming the table, but no more than fit into the outer cache together.
int lanes(int labels, int order, std::int64_t longest) {
  if (order > 1) {  // one array of label tuples
    const double fitting = 16e6 / (8.0 * static_cast<double>(power(labels, order - 1)) *
                                   padded(labels) * static_cast<double>(longest + 1));
    return fitting >= 2 * kTile ? 2 * kTile : fitting >= 1.0 ? static_cast<int>(fitting) : 1;
  }
  const bool few = few_labels(labels);
  const int tile = few ? kStripe : kTile;
  const bool more = labels >= 64 || longest <= kShort;
  const int wanted = labels >= 256 ? 8 * tile : more ? 4 * tile : 2 * tile;
  const double bytes =
                   3.0 * 8.0 * (few ? labels : padded(labels)) * static_cast<double>(longest + 1),
               budget = 16e6;
  const double fitting = budget / bytes;
  return fitting >= wanted ? wanted : fitting >= tile ? static_cast<int>(fitting) / tile * tile : 1;
}

// Scaled probabilities where they are exact, logarithms elsewhere.
template <class Structure>
void sum_in_logs(const Call& call, std::int64_t n) {
  const Structure s = call.structure<Structure>(n);
  LogSum semiring(s, call.prepared.scores, call.arena, call.expected(n));
  forward(semiring, s);
  call.task.value[n] = semiring.value(s.row(s.rows() - 1));
  if (call.task.in_logs) call.task.in_logs[n] = 1;
  if (call.wants_gradients()) reverse(semiring, s);
}

template <class Structure>
void sum(const Call& call, std::int64_t n) {
  if (call.task.log_space) return sum_in_logs<Structure>(call, n);
  const Structure s = call.structure<Structure>(n);
  Scaled semiring(s, call.prepared.probabilities, call.arena, call.expected(n));
  forward(semiring, s);
  if (!semiring.exact()) return sum_in_logs<Structure>(call, n);
  call.task.value[n] = semiring.value(s.row(s.rows() - 1));
  if (call.wants_gradients()) reverse(semiring, s);
}

// Pooled gradients of shared tables: the sums of outer products times the probabilities of the
// table.
void finish_products(const Problem& p, const Tables& tables, double* pooled) {
  const PooledLayout layout(p);
  for (int h = 0; h < tables.count; ++h)
    for (int m = 0; m < tables.table[h].blocks; ++m)
      add_gradients(tables.table[h], m, pooled + layout.products[h], pooled + layout.table[h]);
}

template <class Structure, class Semiring>
void draw(const Call& call, const Structure& s, const Semiring& semiring, std::int64_t sequence) {
  Trace<Semiring, ChooseRandom> trace(semiring, s, call.arena);
  for (int i = 0; i < call.task.k; ++i) {
    double& score = call.task.path_score[sequence * call.task.k + i];
    if (call.task.value[sequence] == kZero) {
      score = kZero;
      call.no_path(sequence, i);
      continue;
    }
    reverse(trace.follow(s, ChooseRandom(call.task.seed, sequence, i)), s);
    score = trace.score;
    call.emit(s, trace.cell, i);
  }
}

template <class Structure>
void sample(const Call& call, std::int64_t sequence) {
  const Structure s = call.structure<Structure>(sequence);
  if (!call.task.log_space) {
    Scaled semiring(s, call.prepared.probabilities, call.arena, nullptr);
    forward(semiring, s);
    if (semiring.exact()) {
      call.task.value[sequence] = semiring.value(s.row(s.rows() - 1));
      return draw(call, s, semiring, sequence);
    }
  }
  LogSum semiring(s, call.prepared.scores, call.arena, nullptr);
  forward(semiring, s);
  call.task.value[sequence] = semiring.value(s.row(s.rows() - 1));
  draw(call, s, semiring, sequence);
}

template <class Structure>
void reach(const Call& call, std::int64_t sequence) {
  const Structure s = call.structure<Structure>(sequence);
  Ring<Boolean> semiring(s, Boolean(), call.arena);
  forward(semiring, s);
  call.task.value[sequence] = semiring.value(s.row(s.rows() - 1)) ? 0.0 : kZero;
  if (call.wants_gradients()) reverse(semiring, s);
}

template <class Structure>
void count(const Call& call, std::int64_t sequence) {
  const Structure s = call.structure<Structure>(sequence);
  Ring<Modular> semiring(s, Modular{call.task.prime}, call.arena);
  forward(semiring, s);
  call.task.residue[sequence] = semiring.value(s.row(s.rows() - 1));
}

template <class Structure>
void answer(const Call& call, std::int64_t sequence) {
  switch (call.task.query) {
    case Query::sum:
      return sum<Structure>(call, sequence);
    case Query::best:
      return best<Structure>(call, sequence);
    case Query::kbest:
      return kbest<Structure>(call, sequence);
    case Query::sample:
      return sample<Structure>(call, sequence);
    case Query::reach:
      return reach<Structure>(call, sequence);
    case Query::count:
      return count<Structure>(call, sequence);
  }
}

void answer(const Call& call, std::int64_t sequence) {
  switch (call.problem.shape) {
    case Shape::chain:
      return answer<Chain>(call, sequence);
    case Shape::segments:
      return answer<Segments>(call, sequence);
    case Shape::tree:
      return answer<Tree>(call, sequence);
  }
}

// Groups of sequences side by side, of about equal size, so that none is left over.
template <class Lanes, class Answer>
void by_groups(const Call& call, const std::int64_t* sequences, std::int64_t count, Lanes lanes,
               Answer answer) {
  const std::int64_t* ptr = call.problem.seq_ptr;
  while (count > 0) {
    const int most = lanes(ptr[*sequences + 1] - ptr[*sequences]);
    const std::int64_t groups = (count + most - 1) / most, size = (count + groups - 1) / groups;
    call.arena.reset();
    answer(call, sequences, static_cast<int>(size));
    sequences += size, count -= size;
  }
}

void* prepare(const Problem& p, const Task& t) { return new Prepared(p, t); }
void release(void* prepared) { delete static_cast<Prepared*>(prepared); }
std::int64_t pooled_size(const Problem& p, bool steps) {
  const PooledLayout layout(p);
  return steps ? layout.size : layout.table[0];
}

void run(const Problem& p, const Task& t, const void* prepared, const std::int64_t* sequences,
         std::int64_t count, double* pooled, void* scratch) {
  Arena own;
  Arena& arena = scratch ? *static_cast<Arena*>(scratch) : own;
  const Call call{p, t, *static_cast<const Prepared*>(prepared), pooled, arena};
  const auto most = [&](std::int64_t longest) {
    return call.probabilities(kStripe, longest).table[0].sparse()
               ? kStripe
               : lanes(p.labels, p.order, longest);
  };
  if (t.query == Query::sum && LaneSum::covers(p, t)) {
    by_groups(call, sequences, count, most, sum_lanes);
  } else if (t.query == Query::best && ListedSteps::covers(p)) {
    const auto wanted = [&](std::int64_t longest) {
      const int few = few_best_lanes(call, longest);
      return few ? few : most(longest);
    };
    by_groups(call, sequences, count, wanted, best_lanes);
  } else {
    for (std::int64_t i = 0; i < count; ++i) {
      arena.reset();
      answer(call, sequences[i]);
    }
  }
  if (pooled && t.query == Query::sum && !t.log_space && !t.gradients.no_steps)
    finish_products(p, call.prepared.probabilities, pooled);
}

void tangents(const Problem& p, std::int64_t sequence, Tangents& task, void* scratch) {
  Arena& arena = *static_cast<Arena*>(scratch);
  arena.reset();
  Tangent(p, sequence, task, arena).run();
}

void* make_scratch() { return new Arena; }
void free_scratch(void* scratch) { delete static_cast<Arena*>(scratch); }
}  // namespace

Prepared::Prepared(const Problem& p, const Task& t)
    : probabilities(p, (t.query == Query::sum || t.query == Query::sample) && !t.log_space, true),
      scores(p, t.query == Query::sum || t.query == Query::sample || t.query == Query::best, false),
      listed(p, t.query == Query::best || sums_without_steps(p, t)),
      by_pairs(with_pairs(p, listed.pairs()), listed.made() && t.query == Query::sum, true),
      best(p, t.query == Query::best, listed) {}

const Kernels kernels = {
    .name = CRFKIT_NAME(CRFKIT_ARCH),
    .pooled_size = pooled_size,
    .prepare = prepare,
    .release = release,
    .run = run,
    .tangents = tangents,
    .lanes = lanes,
    .make_scratch = make_scratch,
    .free_scratch = free_scratch,
    .linear = &linear,
    .learn = &learn,
    .vectors = &vectors,
    .contraction = &contraction,
    .small_graphs = &small_graphs,
    .slices = &slices,
    .paths = &path_messages,
    .visits = &visits,
    .sampling = &sampling,
    .conditionals = &conditionals,
    .charts = &charts,
};

}  // namespace crfkit::CRFKIT_ARCH
