#include "engine/sequential/margin_trainer.hpp"

#include <vector>

#include "engine/handles.hpp"

namespace crfkit {

MarginTrainer::MarginTrainer(const Labeled& data, double inverse, double small_inverse)
    : learner_(data, true), sequences_(learner_.compile(data)) {
  if (!(inverse > 0.0 && small_inverse > 0.0)) refuse("inverse strengths must be above 0");
  learner_.show(m_);
  learner_.show(*sequences_, m_);
  const Labeled& own = sequences_->data;
  m_.factor = data_or_null(own.share);
  m_.inverse = inverse;
  m_.small_inverse = small_inverse;
  held_.resize(own.sequences());
  sets_.resize(own.sequences());
  m_.sets = sets_.data();
  for (std::int64_t n = 0; n < own.sequences(); ++n) {
    if (!length(n)) continue;
    sets_[n].count = 1;
    give_room(n, 4);
    const std::int32_t* gold = own.label.data() + own.seq_ptr.data()[n];
    std::copy_n(gold, length(n), sets_[n].path);
    sets_[n].share[0] = 1.0;
  }
}

bool MarginTrainer::run(const Kernels& kernels, Pointers order, std::int64_t seen, bool learns,
                        Written gaps) {
  sequences_->check_order(order);
  if (gaps.size() != order.size()) refuse("gaps: expected one for each visit");
  m_.seen = seen;
  m_.learns = learns;
  const Handle scratch = make_scratch(kernels);
  const auto count = static_cast<std::int64_t>(order.size());
  for (std::int64_t done = 0;;) {
    const std::int64_t more = kernels.learn->margin_visits(m_, order.data() + done, count - done,
                                                           gaps.data() + done, scratch.get());
    done += more;
    if (done == count) return true;
    const std::int64_t n = order.data()[done];
    if (!learns || sets_[n].count < sets_[n].room) return false;
    make_room(n);
  }
}

double MarginTrainer::cost() const {
  double total = 0.0;
  for (const WorkingSet& set : sets_)
    for (std::int32_t k = 0; k < set.count; ++k) total += set.share[k] * set.cost[k];
  return total;
}

MarginTrainer::State MarginTrainer::state() const {
  State s;
  for (std::size_t n = 0; n < sets_.size(); ++n) {
    const WorkingSet& set = sets_[n];
    s.count.push_back(set.count);
    s.room.push_back(set.room);
    s.path.insert(s.path.end(), set.path, set.path + set.count * length(n));
    s.share.insert(s.share.end(), set.share, set.share + set.count);
    s.cost.insert(s.cost.end(), set.cost, set.cost + set.count);
    for (std::int32_t k = 0; k < set.count; ++k) {
      const double* row = set.gram + static_cast<std::int64_t>(k) * set.room;
      s.gram.insert(s.gram.end(), row, row + set.count);
    }
  }
  return s;
}

void MarginTrainer::restore(Reals w, Reals memory, Integers count, Integers room, Integers path,
                            Reals share, Reals cost, Reals gram) {
  const char* other = "the state has another size: it belongs to other data";
  if (count.size() != sets_.size() || room.size() != sets_.size()) refuse(other);
  std::int64_t paths = 0, shares = 0, grams = 0;
  for (std::size_t n = 0; n < sets_.size(); ++n) {
    const std::int64_t k = count[n];
    if (k < 0 || k > room[n] || room[n] > 1 << 20 || (k == 0) != (length(n) == 0)) refuse(other);
    paths += k * length(n);
    shares += k;
    grams += k * k;
  }
  const auto fits = [](std::size_t size, std::int64_t wanted) {
    return static_cast<std::int64_t>(size) == wanted;
  };
  if (!fits(path.size(), paths) || !fits(share.size(), shares) || !fits(cost.size(), shares) ||
      !fits(gram.size(), grams))
    refuse(other);
  for (const std::int32_t y : path)
    if (y < 0 || y >= sequences_->data.labels) refuse("the state has labels that do not exist");
  learner_.write(w);
  learner_.write_memory(memory);
  const std::int32_t* paths_from = path.data();
  const double *share_from = share.data(), *cost_from = cost.data(), *gram_from = gram.data();
  for (std::size_t n = 0; n < sets_.size(); ++n) {
    WorkingSet& set = sets_[n];
    set.count = 0;
    if (!length(n)) continue;
    give_room(n, room[n]);
    set.count = count[n];
    paths_from = taken(paths_from, set.count * length(n), set.path);
    share_from = taken(share_from, set.count, set.share);
    cost_from = taken(cost_from, set.count, set.cost);
    for (std::int32_t k = 0; k < set.count; ++k)
      gram_from = taken(gram_from, set.count, set.gram + static_cast<std::int64_t>(k) * set.room);
  }
}

std::int64_t MarginTrainer::length(std::size_t n) const {
  const std::int64_t* ptr = sequences_->data.seq_ptr.data();
  return ptr[n + 1] - ptr[n];
}

template <class T>
const T* MarginTrainer::taken(const T* from, std::int64_t n, T* to) {
  std::copy_n(from, n, to);
  return from + n;
}

void MarginTrainer::make_room(std::size_t n) {
  WorkingSet& set = sets_[n];
  const std::int64_t T = length(n);
  std::vector<std::int32_t> kept = {0};
  for (std::int32_t k = 1; k < set.count; ++k)
    if (set.share[k] > 0.0) kept.push_back(k);
  for (std::size_t i = 1; i < kept.size(); ++i) {
    const std::int32_t k = kept[i];
    std::copy_n(set.path + k * T, T, set.path + i * T);
    set.share[i] = set.share[k];
    set.cost[i] = set.cost[k];
  }
  for (std::size_t i = 0; i < kept.size(); ++i)
    for (std::size_t j = 0; j < kept.size(); ++j)
      set.gram[i * set.room + j] = set.gram[kept[i] * set.room + kept[j]];
  set.count = static_cast<std::int32_t>(kept.size());
  if (2 * set.count > set.room) give_room(n, 2 * set.room);
}

void MarginTrainer::give_room(std::size_t n, std::int32_t room) {
  WorkingSet& set = sets_[n];
  const std::size_t T = length(n), r = room;
  Held held = {std::vector<std::int32_t>(r * T), std::vector<double>(r), std::vector<double>(r),
               std::vector<double>(r * r)};
  if (set.room) {
    std::copy_n(set.path, set.count * T, held.path.data());
    std::copy_n(set.share, set.count, held.share.data());
    std::copy_n(set.cost, set.count, held.cost.data());
    for (std::int32_t k = 0; k < set.count; ++k)
      std::copy_n(set.gram + static_cast<std::int64_t>(k) * set.room, set.count,
                  held.gram.data() + k * r);
  }
  held_[n] = std::move(held);
  Held& own = held_[n];
  set.room = room;
  set.path = own.path.data();
  set.share = own.share.data();
  set.cost = own.cost.data();
  set.gram = own.gram.data();
}

}  // namespace crfkit
