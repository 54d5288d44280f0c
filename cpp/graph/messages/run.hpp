// Messages until they rest: sweeps over forests or orders, or the message that should move most.
//
// Components of a graph are on their own: one that rests is not swept again, one that stalls is
// damped.  Sums run on probabilities; a component in which one could underflow is summed again in
// logarithms, so that a row without any label left is a proof that there is no labeling.
#pragma once

#include <memory>

#include "graph/messages/forests.hpp"
#include "graph/messages/hubs.hpp"
#include "graph/messages/small_pair_run.hpp"

namespace crfkit {

enum class Schedule : int { paths = 0, sequential = 1, residual = 2 };

// What depends on scopes only.
struct MessagePlan {
  Places places;
  Schedule schedule;
  std::unique_ptr<Shares> shares;
  std::unique_ptr<Covering> covering;
  std::unique_ptr<Order> order;
  std::unique_ptr<SmallPairPlan> small_pairs;  // of pairs of few labels

  MessagePlan(const Factors& f, Schedule wanted);
};

struct MessageOptions {
  bool maxima;
  std::int64_t sweeps;
  double tolerance;
  double damping;        // below 0: only where it stalls
  const double* weight;  // [F], or null
  int threads;
};

class MessageRun {
 public:
  enum class State : std::uint8_t { running, rests, dead, given_up, underflows };

  const Factors& factors;
  const MessagePlan& plan;
  const Places& places;
  MessageOptions options;
  std::vector<State> state;                 // [C]
  std::vector<MessageRule> rule;            // [C] in which its rows are
  std::vector<std::int64_t> sweeps;         // [C]
  std::unique_ptr<MessageTables> table[3];  // by rule
  TableRanges ranges;
  MessageRows rows;

  MessageRun(const Kernels& kernels, const Factors& f, const MessagePlan& p,
             const MessageOptions& given);

  // For kernels that look at the components of one rule.
  Messages view(MessageRule which, const std::uint8_t* active);  // null: all are
  const PathKernels& kernels() const { return kernels_; }
  Scratches& scratches() { return scratches_; }
  const Hubs& hubs() const { return hubs_; }

  // [V] whether a variable is of a component of a rule, in some of its states.
  std::vector<std::uint8_t> variables_of(MessageRule which, bool all) const;

 private:
  // Probabilities are safe where all that could be multiplied stays above the smallest double.
  void choose_rules();

  // Components in which a sum could underflow.
  void start_again_in_logs();

  void run(MessageRule which);

  // The products of all hubs, from their messages.
  void multiply_hubs(const Messages& m);

  // Shares side by side, or one after the other where one is most of all.
  void sweep_shares(const Messages& m, std::vector<std::uint8_t>& active);

  void sweep_until_rest(Messages m, std::int64_t share, int threads,
                        std::vector<std::uint8_t>& active);
  bool runs(std::int64_t v) const { return state[places.component[v]] == State::running; }

  void sweep(Messages& m, std::int64_t share, int threads);
  void visit(const Messages& m, std::int64_t level, const std::vector<std::int32_t>& target);

  // The variable that heard most since it spoke goes first (residuals.cpp).
  void follow_residuals(Messages& m, std::vector<std::uint8_t>& active);

  static constexpr double kSafe = 300.0;  // exp(-2 kSafe) is above the smallest double
  static constexpr int kStall = 20;       // sweeps without a smaller residual, before damping

  const PathKernels& kernels_;
  Scratches scratches_;
  bool watched_ = false;
  std::vector<double> damping_;
  std::vector<MessageStamp> stamp_;
  Hubs hubs_;
  std::unique_ptr<SmallPairRun> small_pairs_;
};

}  // namespace crfkit
