#include "engine/likelihood/layout.hpp"

#include "engine/threads/run_task.hpp"
#include "shared/padded.hpp"

namespace crfkit {

EvaluationLayout::EvaluationLayout(const Kernels& kernels, const Batched& batch, int order,
                                   const Rows& rows, const Rows& edge_rows,
                                   std::int64_t table_bytes, std::int64_t row_bytes)
    : kernels_(kernels),
      order_(order),
      L_(rows.width),
      step_(padded(rows.width)),
      rows_(rows),
      segments_(batch.segments) {
  if (batch.pairs.ptr) {
    pair_ptr_.assign(batch.pairs.ptr, batch.pairs.ptr + L_ + 1);
    pair_from_.assign(batch.pairs.from, batch.pairs.from + batch.pairs.count);
  }
  Factoring f(batch.occurrences, batch.rows(), rows_.ptr, rows_.attributes, L_, table_bytes);
  slots_ = std::move(f.slots);
  order_rows(batch, row_bytes);
  edges_ = batch.edge_occurrences.ptr
               ? EdgeLayout(batch.edge_occurrences, edge_rows, L_, batch.sequences, batch.seq_ptr,
                            source_, block_, rounds_)
               : EdgeLayout(rounds_);
  lay_out(batch.occurrences, f);
  gold_ = {batch.label ? label_.data() : nullptr, batch.soft, batch.allowed, source_.data()};
}

EvaluationLayout::EvaluationLayout(const Kernels& kernels, ArchiveReader from, int order,
                                   const double* soft, const std::uint8_t* allowed,
                                   const Rows& rows, const Rows& edge_rows)
    : kernels_(kernels), order_(order), L_(rows.width), step_(padded(rows.width)), rows_(rows) {
  each_part(*this, from);
  SegmentLayout::each_part(segments_, from);
  edges_ = EdgeLayout(from, edge_rows);
  gold_ = {label_.empty() ? nullptr : label_.data(), soft, allowed, source_.data()};
}

void EvaluationLayout::pack(ArchiveWriter& to) const {
  each_part(*this, to);
  SegmentLayout::each_part(segments_, to);
  EdgeLayout::each_part(edges_, to);
}

std::int64_t EvaluationLayout::ngrams() const {
  std::int64_t cells = L_, all = 0;
  for (int h = 0; h < order_; ++h) all += cells *= L_;
  return all;
}

std::int64_t EvaluationLayout::pooled_size() const {
  return (sparse() ? padded(steps()) : ngrams() / L_ * step_) +
         static_cast<std::int64_t>(2 + segments_.longest()) * step_;
}

template <class Self, class Archive>
void EvaluationLayout::each_part(Self& self, Archive& archive) {
  const auto each = [&](auto&... parts) { (archive(parts), ...); };
  each(self.slots_.attribute, self.slots_.level_ptr, self.slots_.member_ptr, self.slots_.member,
       self.slots_.container_ptr, self.slots_.container);
  each(self.pair_ptr_, self.pair_from_);
  each(self.group_, self.block_, self.sequence_, self.length_, self.weight_, self.source_,
       self.label_);
  each(self.left_.ptr, self.left_.id, self.left_.value, self.single_ptr_, self.full_ptr_,
       self.single_, self.column_, self.full_, self.single_value_, self.full_value_, self.loose_);
  each(self.loose_index_, self.partials_, self.gradients_);
  each(self.compose_tasks_, self.gather_tasks_, self.loose_tasks_, self.rounds_);
}

void EvaluationLayout::order_rows(const Batched& batch, std::int64_t row_bytes) {
  const std::int64_t row = static_cast<std::int64_t>(sizeof(double)) * step_, all = batch.rows();
  const std::int64_t most = std::max<std::int64_t>(row_bytes / row, 1);
  const std::int64_t wanted = all <= most + slots() ? 1 : (all + most - 1) / most;
  source_.reserve(all);
  std::vector<std::int32_t> found(batch.segments.longest ? batch.seq_ptr[batch.sequences] : 0);
  block_.push_back({0, 0, 0, 0});
  for (const Stretch& some : cut_sequences(batch.sequences, batch.seq_ptr, wanted)) {
    const std::int64_t first = static_cast<std::int64_t>(block_.size()) - 1, begin = score_rows();
    add_blocks(batch, some, &found);
    const std::int64_t last = static_cast<std::int64_t>(block_.size()) - 1;
    if (first < last) rounds_.push_back({{first, last}, {begin, score_rows()}, {0, 0}});
  }
  if (rounds_.empty()) rounds_.push_back({{0, 0}, {0, 0}, {0, 0}});
  if (!batch.label) return;
  for (const std::int32_t p : source_) label_.push_back(batch.label[p]);
}

void EvaluationLayout::add_blocks(const Batched& batch, Stretch some,
                                  std::vector<std::int32_t>* found) {
  std::vector<std::int64_t> seq_ptr(batch.seq_ptr + some.first, batch.seq_ptr + some.last + 1);
  for (std::int64_t& p : seq_ptr) p -= batch.seq_ptr[some.first];
  Problem p = {};
  p.sequences = some.size();
  p.seq_ptr = seq_ptr.data();
  const bool one = some.size() == batch.sequences;
  Blocks blocks = one ? make_blocks(p, pooled_size()) : make_blocks(p, pooled_size(), kRound);
  for (std::int64_t& n : blocks.order) n += some.first;
  const auto length = [&](std::int64_t n) { return batch.seq_ptr[n + 1] - batch.seq_ptr[n]; };
  const std::int64_t P = batch.seq_ptr[batch.sequences];
  for (std::int64_t b = 0; b < blocks.count(); ++b) {
    std::int64_t i = blocks.first[b], end = blocks.first[b + 1];
    while (end > i && length(blocks.order[end - 1]) == 0) --end;
    while (i < end) {
      const std::int64_t rest = end - i;
      const std::int64_t most =
          sparse() ? kStripe : kernels_.lanes(L_, order_, length(blocks.order[i]));
      const std::int64_t groups = (rest + most - 1) / most, lanes = (rest + groups - 1) / groups;
      add_group(batch, blocks.order.data() + i, lanes);
      if (batch.segments.longest)
        segments_.add_group(batch.segments, P, group_.back().first_position, &source_, found);
      i += lanes;
    }
    if (static_cast<std::int64_t>(group_.size()) > block_.back().group)
      block_.push_back({static_cast<std::int64_t>(group_.size()), score_rows(), 0, 0});
  }
}

void EvaluationLayout::add_group(const Batched& batch, const std::int64_t* sequence,
                                 std::int64_t lanes) {
  const auto length = [&](std::int64_t n) { return batch.seq_ptr[n + 1] - batch.seq_ptr[n]; };
  const std::int64_t rows = length(sequence[0]);
  group_.push_back({score_rows(), static_cast<std::int64_t>(length_.size()),
                    static_cast<std::int32_t>(lanes), static_cast<std::int32_t>(rows)});
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    sequence_.push_back(sequence[lane]);
    length_.push_back(static_cast<std::int32_t>(length(sequence[lane])));
    weight_.push_back(batch.weight ? batch.weight[sequence[lane]] : 1.0);
  }
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t lane = 0; lane < lanes && length(sequence[lane]) >= rows - r; ++lane)
      source_.push_back(static_cast<std::int32_t>(batch.seq_ptr[sequence[lane] + 1] - rows + r));
}

void EvaluationLayout::lay_out(const Occurrences& o, const Factoring& f) {
  order_loose(f);
  std::vector<std::int32_t> place(rows_.attributes, -1);
  for (std::size_t i = 0; i < loose_.size(); ++i) place[loose_[i]] = static_cast<std::int32_t>(i);
  bool full = false;
  for (const Reading reading : f.reading) full |= reading == Reading::full;
  single_ptr_.push_back(0);
  if (full) full_ptr_.push_back(0);
  Lists loose;
  reserve(f, o.value != nullptr, &loose);
  for (const std::int32_t p : source_) {
    for (std::int64_t i = o.ptr[p]; i < o.ptr[p + 1]; ++i) {
      const std::int32_t a = o.attr[i];
      const double* value = o.value ? o.value + i : nullptr;
      if (f.absorbed[i] ||
          static_cast<std::uint32_t>(a) >= static_cast<std::uint64_t>(rows_.attributes))
        continue;
      if (f.slot[a] >= 0) {
        left_.add(f.slot[a], value);
      } else if (place[a] >= 0) {
        loose.add(place[a], value);
        add_loose(a, f.reading[a], value);
      }
    }
    left_.close();
    loose.close();
    single_ptr_.push_back(static_cast<std::int64_t>(single_.size()));
    if (full) full_ptr_.push_back(static_cast<std::int64_t>(full_.size()));
  }
  single_.resize(single_.size() + kAhead, 0);
  full_.resize(full_.size() + kAhead, 0);
  loose_index_ = Index(loose, static_cast<std::int64_t>(loose_.size()));
  index_slots();
  left_.id.resize(left_.id.size() + kAhead, 0);
  if (rounds() > 1) split_rounds();
  cut_tasks();
}

void EvaluationLayout::reserve(const Factoring& f, bool values, Lists* loose) {
  std::int64_t left = -f.gone(), single = 0, full = 0, others = 0;
  for (const std::int32_t a : slots_.attribute) left += f.count(a);
  for (const std::int32_t a : loose_) {
    const std::int64_t n = f.count(a);
    others += n;
    f.reading[a] == Reading::full ? full += n : single += n * (rows_.ptr[a + 1] - rows_.ptr[a]);
  }
  left_.reserve(score_rows(), left + kAhead, values);
  loose->reserve(score_rows(), others, values);
  single_ptr_.reserve(score_rows() + 1);
  single_.reserve(single + kAhead);
  column_.reserve(single);
  full_.reserve(full + kAhead);
  if (!values) return;
  single_value_.reserve(single);
  full_value_.reserve(full);
}

void EvaluationLayout::add_loose(std::int32_t a, Reading reading, const double* value) {
  if (reading == Reading::full) {
    full_.push_back(rows_.ptr[a]);
    if (value) full_value_.push_back(*value);
    return;
  }
  for (std::int64_t k = rows_.ptr[a]; k < rows_.ptr[a + 1]; ++k) {
    single_.push_back(static_cast<std::int32_t>(k));
    column_.push_back(rows_.column[k]);
    if (value) single_value_.push_back(*value);
  }
}

void EvaluationLayout::order_loose(const Factoring& f) {
  const std::int64_t blocks = static_cast<std::int64_t>(block_.size()) - 1;
  std::vector<std::int32_t> block_of(score_rows());  // of positions of the batch
  for (std::int64_t b = 0; b < blocks; ++b)
    for (std::int64_t p = first_row(b); p < first_row(b + 1); ++p)
      block_of[source_[p]] = static_cast<std::int32_t>(b);
  const auto home_of = [&](std::int32_t a) {
    const std::int32_t *at = f.positions(a), *end = at + f.count(a);
    const std::int32_t first = at == end ? -1 : block_of[*at];
    return std::all_of(at, end, [&](std::int32_t p) { return block_of[p] == first; }) ? first : -1;
  };
  std::vector<std::int64_t> next(blocks + 1, 0);
  const auto is_loose = [&](std::int64_t a) {
    return f.reading[a] != Reading::table && rows_.ptr[a] < rows_.ptr[a + 1];
  };
  std::int64_t others = 0;
  std::vector<std::int32_t> home(rows_.attributes, -1);
  for (std::int32_t a = 0; a < rows_.attributes; ++a)
    if (is_loose(a)) ++((home[a] = home_of(a)) < 0 ? others : next[home[a] + 1]);
  std::partial_sum(next.begin(), next.end(), next.begin());
  for (std::int64_t b = 0; b <= blocks; ++b) block_[b].loose = next[b];
  loose_.resize(next[blocks] + others);
  for (std::int64_t a = 0; a < rows_.attributes; ++a)
    if (is_loose(a)) loose_[next[home[a] < 0 ? blocks : home[a]]++] = static_cast<std::int32_t>(a);
}

void EvaluationLayout::index_slots() {
  const std::int64_t blocks = static_cast<std::int64_t>(block_.size()) - 1;
  const bool values = !left_.value.empty();
  std::vector<std::int32_t> count(slots(), 0), partial(slots(), -1);
  std::vector<std::int32_t> slot_of;  // [partial sums]
  Lists summed, rest;                 // by position
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::int64_t first = left_.ptr[first_row(b)], last = left_.ptr[first_row(b + 1)];
    worked(4 * (last - first));
    for (std::int64_t i = first; i < last; ++i) ++count[left_.id[i]];
    for (std::int64_t i = first; i < last; ++i) {
      const std::int32_t s = left_.id[i];
      if (count[s] < kSeveral || partial[s] >= 0) continue;
      partial[s] = static_cast<std::int32_t>(slot_of.size());
      slot_of.push_back(s);
    }
    for (std::int64_t p = first_row(b); p < first_row(b + 1); ++p) {
      for (std::int64_t i = left_.ptr[p]; i < left_.ptr[p + 1]; ++i) {
        const std::int32_t s = left_.id[i];
        const double* value = values ? &left_.value[i] : nullptr;
        partial[s] >= 0 ? summed.add(partial[s], value) : rest.add(s, value);
      }
      summed.close();
      rest.close();
    }
    for (std::int64_t i = first; i < last; ++i) count[left_.id[i]] = 0, partial[left_.id[i]] = -1;
    block_[b + 1].partial = static_cast<std::int64_t>(slot_of.size());
  }
  for (Round& round : rounds_)
    round.partial = {block_[round.block.first].partial, block_[round.block.last].partial};
  partials_ = Index(summed, static_cast<std::int64_t>(slot_of.size()));
  const double one = 1.0;
  for (const std::int32_t s : slot_of) rest.add(s, values ? &one : nullptr), rest.close();
  gradients_ = Index(rest, slots());
}

void EvaluationLayout::split_rounds() {
  const std::int64_t P = score_rows();
  split(partials_, P, partials_.size(), nullptr, rounds_, kTask);
  split(gradients_, P, 0, &Round::slots, rounds_, kTask);
  split(loose_index_, P, block_.back().loose, &Round::loose, rounds_, kTask);
  for (Round& round : rounds_)
    for (std::int32_t& a : round.loose.thing) a = loose_[a];
}

void EvaluationLayout::cut_tasks() {
  const Slots& f = slots_;
  compose_tasks_.resize(f.levels());
  gather_tasks_.resize(f.levels());
  for (std::int64_t level = 0; level < f.levels(); ++level) {
    const Stretch all{f.level_ptr[level], f.level_ptr[level + 1]};
    compose_tasks_[level] =
        cut(all, kTask, [&](std::int64_t s) { return 3 + f.member_ptr[s + 1] - f.member_ptr[s]; });
    gather_tasks_[level] = cut(all, kTask, [&](std::int64_t s) {
      return 3 + gradients_.count(s) + f.container_ptr[s + 1] - f.container_ptr[s];
    });
  }
  loose_tasks_ = cut({block_.back().loose, static_cast<std::int64_t>(loose_.size())}, kTask,
                     [&](std::int64_t i) { return 2 + loose_index_.count(i); });
}

}  // namespace crfkit
