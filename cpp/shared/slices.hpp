// Graphs that are sequences of equal slices (factorial chains), swept together: a graph is a lane.
//
// A slice has a variable for each axis; consecutive slices are joined axis by axis, by tables that
// all graphs share.  A state is a label of every variable of a slice, the last axis fastest.
#pragma once

#include <cstdint>

#include "shared/factors.hpp"

namespace crfkit {

inline constexpr int kSliceLanes = 24;                  // three vectors, or six, or twelve
inline constexpr int kSliceAxes = 8, kSliceRoles = 32;  // at the most

// states = outer * width * inner
struct SliceAxis {
  std::int32_t width;
  std::int64_t outer, inner;
  const std::int32_t* group;  // [groups] whose tables join a slice to the next one
  int groups;
};

// Factors of one group that lie within slices, on the same axes.
struct SliceRole {
  std::int32_t group, cells;
  bool shared;             // one table, and every slice has such a factor
  const std::int32_t* at;  // [states] cell of the table
};

struct SliceFamily {
  std::int64_t states;
  int axes, roles;
  const SliceAxis* axis;  // in the order in which they are summed: the widest last
  const SliceRole* role;
  const std::int32_t* factor;  // [slices, roles] of all graphs; -1: none
};

// Graphs that are swept together, by falling length.
struct SliceLanes {
  int count;
  const std::int64_t* begin;   // [count] first slice
  const std::int32_t* length;  // [count] slices
  const double* weight;        // [count] of log Z in the gradient
  double* value;               // [count] log Z without the constant
  std::uint8_t* lost;          // [count] where sums of scaled numbers would not be exact
};

// Gradients of sum weight log Z by the scores of tables; nothing of graphs that are lost.
struct SliceGradient {
  const std::int64_t* pooled;  // [groups] place in `sums` of what all factors share; below 0: none
  double* sums;                // added to
  double* const* row;          // [groups] -> [M, cells] by factor; written
};

struct SliceKernels {
  // What all graphs share: doubles that it takes, and making it.
  std::int64_t (*prepared_size)(const SliceFamily&);
  void (*prepare)(const Factors&, const SliceFamily&, double* prepared);
  // Memory of one sweep, in doubles.
  std::int64_t (*memory)(const SliceFamily&, std::int64_t longest);
  // A null gradient: only log Z.
  void (*sweep)(const Factors&, const SliceFamily&, const double* prepared, const SliceLanes&,
                const SliceGradient*, double* memory);
};

namespace baseline {
extern const SliceKernels slices;
}
namespace avx2 {
extern const SliceKernels slices;
}
namespace avx512 {
extern const SliceKernels slices;
}

}  // namespace crfkit
