// Messages from factors to variables, as they cross from the engine into the kernels.
//
// A *place* is an axis of a factor of two or more variables; its message goes from the factor to
// the variable there.  Places are numbered variable by variable, and the rows of a variable lie
// side by side: first the product of its factors of arity 1, then the messages into it.
//
//   q_v(x) = own_v(x) prod over places p of v but the one of f of message_p(x)    what v tells f
//   message_{f -> u}(x_u) = sum (or max) over the other variables of table_f(x) prod q_v(x_v)
//
// Rows are probabilities with a maximum of 1 (sums), or logarithms with a maximum of 0.
#pragma once

#include <cstdint>

#include "shared/factors.hpp"
#include "shared/padded.hpp"

namespace crfkit {

enum class MessageRule : int {
  sums = 0,     // rows of probabilities; tables are exp(score - most)
  maxima = 1,   // rows of logarithms; tables are scores
  log_sums = 2  // the same, summed: where probabilities could underflow, and for weights
};

// What factors that share a table, or a shape of tables, have in common.
struct MessageTable {
  int arity;
  const std::int32_t* shape;  // [arity]
  std::int64_t cells;         // product of the shape
  const double* packed[2];    // pairs: matrices that lead to axis 0 and 1 (product.hpp), or null
  const double* same;         // [padded(L)] "same" tables: cells of equal labels ...
  double other;               // ... and of different ones
  bool rises;                 // whether no cell of equal labels is below `other`
  bool raw;                   // sums: cells are scores, of which exp(scale * score) is to be taken
};

struct MessageFactor {
  const double* cell;   // the last variable fastest; null: see `same`
  std::int32_t number;  // of the table
};

struct MessagePlace {
  std::int64_t row;       // where its message lies
  std::int32_t variable;  // to which it goes
  std::int32_t source;    // the other variable of a pair
  std::int32_t partner;   // the place of that one; -1: in a larger factor
  std::int32_t factor;
  std::int32_t axis;  // of the variable in the factor
};

struct MessageVariable {
  std::int64_t row;    // where its rows begin
  std::int32_t place;  // the first of its places
  std::int32_t places;
  std::int32_t width;  // labels
  std::int32_t hub;    // number of its products; -1: it has few places
};

// Products of the messages into a variable of many places, so that what it tells one factor does
// not ask for all of them: node 1 is the root, node k has the children 2 k and 2 k + 1, and leaf b
// is node leaves + b, the product of the messages to places [b kHubPart, (b + 1) kHubPart) of the
// variable.
struct MessageHub {
  double* product;  // [2 leaves, stride of a row]
  std::int32_t leaves;
  std::int32_t last, second;  // the last two clocks at which different messages moved ...
  std::int32_t place;         // ... and the place of the last of them
};
static constexpr int kHub = 16;     // places of a hub, at least
static constexpr int kHubPart = 4;  // messages of a leaf

struct MessageGraph {
  const MessageVariable* variable;  // [V]
  const MessagePlace* place;        // [E]
  const std::int64_t* member_ptr;   // [F + 1]
  const std::int32_t* member;       // places of each factor, axis by axis
};

// What became of a message.
struct MessageStamp {
  float change;  // of the last update; -1: nothing is possible any more, -2: it could underflow
  std::int32_t moved;  // clock at which it moved by more than `least`
  std::int32_t made;   // clock at which it was made
};

// The largest numbers of what lies in the scratch.
struct MessageSizes {
  std::int64_t widest = 1;   // labels of a variable
  std::int64_t degree = 0;   // places of a variable
  std::int64_t members = 2;  // variables of a factor
  std::int64_t cells = 1;    // of a table
};

// Doubles of a row.
static inline std::int64_t row_stride(std::int64_t width) {
  return width <= kPad ? width : padded(width);
}

struct Messages {
  MessageGraph graph;
  MessageSizes sizes;
  MessageRule rule;
  bool watched;  // sums: whether rows could underflow, and must be looked after
  const MessageTable* table;
  const MessageFactor* factor;  // [F]
  const double* scale;          // [F] factor of its scores; null: 1
  const double* weight;         // [F] how much of its messages counts (log_sums); null: 1
  const double* damping;        // [V] share of the old message; null: 0
  const std::uint8_t* active;   // [V] whether messages from here are wanted; null: all are
  double* row;
  MessageHub* hub;      // [hubs] null: products are not kept while messages are sent
  MessageStamp* stamp;  // [E]
  std::int32_t clock;   // of this pass; messages whose sources did not move since are kept
  float least;
};

// Pairs of few labels: rows of all variables are as wide as a small vector, and lie in the order in
// which variables are visited first.  Those of a variable lie side by side, its own first.
static constexpr int few_labels(int widest) {  // for which there are loops; 0: none
  return widest <= 2 ? 2 : widest <= 4 ? widest : widest <= 6 ? 6 : widest <= 8 ? 8 : 0;
}
static constexpr int small_pair_lanes(int labels) { return labels <= 2 ? 2 : labels <= 4 ? 4 : 8; }

// A variable tells some of its factors: it has rows [row, last), messages go from [begin, end).
struct SmallPairVisit {
  std::int32_t variable, row, begin, end, last;
};

struct SmallPairMessages {
  int labels;  // few_labels() of the widest variable
  MessageRule rule;
  bool watched;
  const SmallPairVisit* visit;
  const std::int32_t* to;      // [rows] the row to which the message from a row goes
  const std::int32_t* table;   // [rows] number of the table through which it goes
  const double* cell;          // [tables, labels of the source, lanes of the target]
  double* row;                 // [rows, lanes]
  float* change;               // [V] largest one of messages from there; -1 and -2 as in a stamp
  float* moved;                // [rows] change of the message from each row; null: not kept
  const double* damping;       // [V] share of the old message; null: 0
  const std::uint8_t* active;  // [V] whether messages from here are wanted
};

struct PathKernels {
  std::int64_t (*scratch)(const MessageSizes&);  // doubles that the others need, for each thread
  // Messages to the places of each stage, which do not depend on each other; stage by stage.
  void (*send)(const Messages&, const std::int32_t* place, const std::int64_t* stage_ptr,
               std::int64_t stages, double* scratch);
  // What each of some variables tells its factors; messages go to target[place], if not -1.
  void (*visit)(const Messages&, const std::int32_t* variable, std::int64_t count,
                const std::int32_t* target, double* scratch);
  // log of sum over x of table_f(x) prod q_v(x_v), of factors [first, last).
  void (*weigh)(const Messages&, std::int64_t first, std::int64_t last, double* out,
                double* scratch);
  // All products of a hub; and what a hub tells the factor of a place, or believes (-1), from them.
  void (*multiply)(const Messages&, std::int32_t variable);
  void (*tell)(const Messages&, std::int32_t variable, std::int32_t place, double* q);
  // Visits [first, last), one after the other; scratch has a row for each message of a visit.
  void (*visit_small_pairs)(const SmallPairMessages&, std::int64_t first, std::int64_t last,
                            double* scratch);
  void (*exponentiate)(const double* score, std::int64_t count, double scale, double shift,
                       double* out);
  std::int64_t (*packed_size)(int rows, int columns);
  // A matrix [rows, columns] for packed[1], or its transpose for packed[0].
  void (*pack)(const double* cell, int rows, int columns, bool transposed, double fill,
               double* out);
};

namespace baseline {
extern const PathKernels path_messages;
}
namespace avx2 {
extern const PathKernels path_messages;
}
namespace avx512 {
extern const PathKernels path_messages;
}

}  // namespace crfkit
