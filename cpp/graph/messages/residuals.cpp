// Residual messages by variables: the one that heard most since it spoke tells all of its factors.
//
// What a variable heard bounds how much its messages move (Sutton & McCallum 2007), so that no
// message is made to see whether it should be sent.  A message for itself would let each one of d
// messages into a variable raise d others; a visit makes all d of them at once (the splash of
// Gonzalez, Low & Guestrin 2009, of one variable).
#include "graph/messages/residuals.hpp"

#include "graph/messages/run.hpp"

namespace crfkit {
namespace {

class Visitor {
 public:
  Visitor(MessageRun& run, const PathKernels& kernels, Messages& m,
          std::vector<MessageStamp>& stamp, SmallPairRun* few, double* scratch)
      : p_(run.places),
        plan_(run.plan),
        kernels_(kernels),
        m_(m),
        stamp_(stamp),
        few_(few),
        scratch_(scratch) {
    if (few_) {
      moved_.resize(plan_.small_pairs->rows());
      visit_.assign(p_.variables(), -1);
      for (std::size_t i = 0; i < plan_.small_pairs->visit.size(); ++i)
        visit_[plan_.small_pairs->visit[i].variable] = static_cast<std::int32_t>(i);
    }
  }

  // Tells all factors of v; heard(u, change) where messages moved.  Returns the lowest change: -1
  // and -2 as in a stamp.
  template <class Heard>
  float visit(std::int32_t v, Heard heard) {
    if (few_) return visit_few(v, heard);
    ++m_.clock;
    kernels_.visit(m_, &v, 1, p_.partner.data(), scratch_);
    float least = 0.0f;
    const std::int64_t one[2] = {0, 1};
    for (std::int64_t p = p_.place_ptr[v]; p < p_.place_ptr[v + 1]; ++p) {
      const std::int32_t f = p_.factor[p];
      for (std::int64_t i = p_.member_ptr[f]; i < p_.member_ptr[f + 1]; ++i) {
        const std::int32_t to = p_.member[i];
        if (to == p) continue;
        if (p_.partner[p] < 0) kernels_.send(m_, &to, one, 1, scratch_);
        const float change = stamp_[to].change;
        least = std::min(least, change);
        if (change > 0.0f) heard(p_.variable[to], change);
      }
    }
    return least;
  }

 private:
  template <class Heard>
  float visit_few(std::int32_t v, Heard heard) {
    few_->change()[v] = 0.0f;
    const SmallPairMessages few = few_->view(m_, moved_.data());
    kernels_.visit_small_pairs(few, visit_[v], visit_[v] + 1, scratch_small());
    const SmallPairVisit& at = plan_.small_pairs->visit[visit_[v]];
    for (std::int32_t r = at.begin; r < at.end; ++r) {
      const MessagePlace& from = p_.places_packed[plan_.small_pairs->place[r]];
      if (moved_[r] > 0.0f) heard(from.source, moved_[r]);
    }
    return std::min(few_->change()[v], 0.0f);
  }
  double* scratch_small() {
    const std::size_t size = plan_.small_pairs->most * plan_.small_pairs->lanes;
    if (suffix_.size() < size) suffix_.resize(size);
    return suffix_.data();
  }

  const Places& p_;
  const MessagePlan& plan_;
  const PathKernels& kernels_;
  Messages& m_;
  std::vector<MessageStamp>& stamp_;
  SmallPairRun* few_;
  double* scratch_;
  std::vector<float> moved_;         // [rows]
  std::vector<std::int32_t> visit_;  // [V]
  std::vector<double> suffix_;
};

}  // namespace

void MessageRun::follow_residuals(Messages& m, std::vector<std::uint8_t>& active) {
  const std::int64_t C = places.components();
  const auto messages_of = [&](std::int32_t v) {
    return places.place_ptr[v + 1] - places.place_ptr[v];
  };
  HeardMost heard(places, options.tolerance);
  std::vector<std::int64_t> updates(C, 0), size(C, 0);
  for (std::int32_t v = 0; v < places.variables(); ++v) {
    size[places.component[v]] += messages_of(v);
    if (active[v] && messages_of(v)) heard.raise(v, 2.0 * static_cast<double>(messages_of(v)));
  }
  m.damping = damping_.empty() ? nullptr : damping_.data();
  scratches_.with([&](double* scratch) {
    Visitor visitor(*this, kernels_, m, stamp_, small_pairs_.get(), scratch);
    for (std::int32_t v; (v = heard.next()) >= 0;) {
      const std::int32_t c = places.component[v];
      if (state[c] != State::running) continue;
      if (updates[c] >= options.sweeps * size[c]) {
        state[c] = State::given_up;
        continue;
      }
      worked(1 << 8);
      updates[c] += messages_of(v);
      const float least = visitor.visit(v, [&](std::int32_t u, float change) {
        heard.raise(u, std::min(change, 1.0f));
        if (m.damping && change > options.tolerance) heard.raise(v, std::min(change, 1.0f));
      });
      if (least < 0.0f) state[c] = least == -1.0f ? State::dead : State::underflows;
    }
  });
  for (std::int64_t c = 0; c < C; ++c) {
    if (rule[c] != m.rule) continue;
    sweeps[c] = size[c] ? (updates[c] + size[c] - 1) / size[c] : 0;
    if (state[c] == State::running) state[c] = State::rests;
  }
}

}  // namespace crfkit
