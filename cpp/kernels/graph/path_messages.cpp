// Compiled once per instruction set: messages along paths, trees and orders of variables.
#include "shared/path_messages.hpp"

#include "kernels/graph/messages_to_variable.hpp"
#include "kernels/graph/small_pair_visits.hpp"

namespace crfkit::CRFKIT_ARCH {
namespace {

template <class Use>
void with_rule(const Messages& m, const Rooms& rooms, double* scratch, double* weighed, Use use) {
  switch (m.rule) {
    case MessageRule::sums: {
      MessagesToVariable<Sums> messages(m, rooms, scratch, weighed);
      return use(messages);
    }
    case MessageRule::maxima: {
      MessagesToVariable<Maxima> messages(m, rooms, scratch, weighed);
      return use(messages);
    }
    default: {
      MessagesToVariable<LogSums> messages(m, rooms, scratch, weighed);
      return use(messages);
    }
  }
}

Rooms rooms_of(const MessageSizes& s) {
  return {padded(s.widest), s.degree, s.members + s.members / padded(s.widest) + 1,
          padded(s.cells)};
}

std::int64_t scratch_size(const MessageSizes& sizes) { return rooms_of(sizes).size(); }

void send(const Messages& m, const std::int32_t* place, const std::int64_t* stage_ptr,
          std::int64_t stages, double* scratch) {
  with_rule(m, rooms_of(m.sizes), scratch, nullptr, [&](auto& messages) {
    for (std::int64_t s = 0; s < stages; ++s) {
      for (std::int64_t i = stage_ptr[s]; i < stage_ptr[s + 1]; ++i) {
        if (i + 2 * kAhead < stage_ptr[stages])
          messages.look_ahead(place[i + 2 * kAhead], place[i + kAhead]);
        messages.send(place[i]);
      }
      messages.flush();
    }
  });
}

void visit(const Messages& m, const std::int32_t* variable, std::int64_t count,
           const std::int32_t* target, double* scratch) {
  with_rule(m, rooms_of(m.sizes), scratch, nullptr, [&](auto& messages) {
    for (std::int64_t i = 0; i < count; ++i) messages.visit(variable[i], target);
    messages.flush();
  });
}

void weigh(const Messages& m, std::int64_t first, std::int64_t last, double* out, double* scratch) {
  with_rule(m, rooms_of(m.sizes), scratch, out, [&](auto& messages) {
    for (std::int64_t f = first; f < last; ++f) {
      const std::int32_t place = m.graph.member[m.graph.member_ptr[f]];
      if (!m.active || m.active[m.graph.place[place].variable]) messages.make(place);
    }
    messages.flush();
  });
}

void multiply(const Messages& m, std::int32_t variable) {
  if (m.rule == MessageRule::sums) return MessagesToFactor<Sums>(m).multiply_all(variable);
  MessagesToFactor<Maxima>(m).multiply_all(variable);
}

void tell(const Messages& m, std::int32_t variable, std::int32_t place, double* q) {
  if (m.rule == MessageRule::sums) return MessagesToFactor<Sums>(m).tell(variable, place, q);
  MessagesToFactor<Maxima>(m).tell(variable, place, q);
}

template <class Op, bool Watched>
void visit_small_pairs_with(const SmallPairMessages& m, std::int64_t first, std::int64_t last,
                            double* scratch) {
  switch (m.labels) {
    case 2:
      return SmallPairVisits<Op, 2, Watched>(m, scratch).run(first, last);
    case 3:
      return SmallPairVisits<Op, 3, Watched>(m, scratch).run(first, last);
    case 4:
      return SmallPairVisits<Op, 4, Watched>(m, scratch).run(first, last);
    case 6:
      return SmallPairVisits<Op, 6, Watched>(m, scratch).run(first, last);
    default:
      return SmallPairVisits<Op, 8, Watched>(m, scratch).run(first, last);
  }
}

void visit_small_pairs(const SmallPairMessages& m, std::int64_t first, std::int64_t last,
                       double* scratch) {
  if (m.rule == MessageRule::maxima) {
    visit_small_pairs_with<Maxima, false>(m, first, last, scratch);
  } else if (m.watched) {
    visit_small_pairs_with<Sums, true>(m, first, last, scratch);
  } else {
    visit_small_pairs_with<Sums, false>(m, first, last, scratch);
  }
}

void exponentiate(const double* score, std::int64_t count, double scale, double shift,
                  double* out) {
  for (std::int64_t i = 0; i < count; i += W) {
    const int left = count - i < W ? static_cast<int>(count - i) : W;
    store_part(out + i, left, exp((load_part(score + i, left, shift) - shift) * scale));
  }
}

std::int64_t packed_cells(int rows, int columns) {
  return static_cast<std::int64_t>(packed_size(rows, columns));
}

void pack_table(const double* cell, int rows, int columns, bool transposed, double fill,
                double* out) {
  const auto same = [](Vec v) { return v; };
  if (transposed) {
    pack(cell, 1, columns, columns, rows, fill, out, same);
  } else {
    pack(cell, columns, 1, rows, columns, fill, out, same);
  }
}

}  // namespace

const PathKernels path_messages = {
    .scratch = scratch_size,
    .send = send,
    .visit = visit,
    .weigh = weigh,
    .multiply = multiply,
    .tell = tell,
    .visit_small_pairs = visit_small_pairs,
    .exponentiate = exponentiate,
    .packed_size = packed_cells,
    .pack = pack_table,
};

}  // namespace crfkit::CRFKIT_ARCH
