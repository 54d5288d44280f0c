// Trees and alignments in tensors, for crfkit.torch.trees.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/trees/batch.hpp"
#include "python/released.hpp"
#include "python/tensors.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace crfkit {
namespace {

// scores [B, rows, columns], of trees with labels in a last axis, of an alignment with 3 kinds.
struct KeptTrees : TreeBatch {
  KeptTrees(int of, const Tensor& scores, const Tensor& heights, const Tensor& widths) {
    if (of < 0 || of > static_cast<int>(TreeShape::alignment)) refuse("there is no such shape");
    shape = static_cast<TreeShape>(of);
    const Sizes sizes = shape_of(scores);
    const bool square = kinds() == 1, more = sizes.size() == 4;
    if (!(more || (square && sizes.size() == 3)) || (square ? sizes[1] != sizes[2] : sizes[3] != 3))
      refuse("scores has shape " + shown(sizes));
    sentences = sizes[0], rows = sizes[1], columns = sizes[2];
    labels = square && more ? sizes[3] : 1;
    score = rows_of("scores", scores, sizes, sizes.size()).data;
    wide = scores.dtype() == nb::dtype<double>();
    height_ = copied<std::int64_t>("lengths", heights, {sentences}, "int64");
    width_ = copied<std::int64_t>("lengths", widths, {sentences}, "int64");
    for (std::int64_t b = 0; b < sentences; ++b)
      if (height_[b] < 0 || height_[b] > rows || width_[b] < 0 || width_[b] > columns ||
          (square && height_[b] != width_[b]) || (labels == 0 && height_[b] > 0))
        refuse("lengths do not fit: sentence " + text(b) + " has " + text(height_[b]) + " x " +
               text(width_[b]) + ", but scores have " + text(rows) + " x " + text(columns));
    height = height_.data(), width = width_.data();
  }

 private:
  std::vector<std::int64_t> height_, width_;
};

void sum(const Kernels& kernels, int shape, const Tensor& scores, const Tensor& height,
         const Tensor& width, const Tensor& value, const std::optional<Tensor>& marginals,
         int threads) {
  check_threads(threads);
  const KeptTrees batch(shape, scores, height, width);
  double* to = filled<double>("value", value, {batch.sentences}, "float64");
  void* gradient = nullptr;
  if (marginals) {
    gradient = const_cast<void*>(
        filled_rows("marginals", *marginals, shape_of(scores), scores.ndim()).data);
    if (marginals->dtype() != scores.dtype()) refuse("marginals and scores differ in type");
  }
  Released release;
  sum_trees(kernels, batch, to, gradient, threads);
}

void find(const Kernels& kernels, int shape, int query, const Tensor& scores, const Tensor& height,
          const Tensor& width, std::uint64_t seed, const Tensor& chosen, const Tensor& score,
          int threads) {
  check_threads(threads);
  if (query < 0 || query > static_cast<int>(TreeQuery::sample)) refuse("there is no such query");
  const auto wanted = static_cast<TreeQuery>(query);
  const KeptTrees batch(shape, scores, height, width);
  if (score.ndim() != 2) refuse("score has no axis of structures");
  const auto count = static_cast<std::int64_t>(score.shape(1));
  if (count < 1 || (wanted == TreeQuery::best && count > 1))
    refuse("score has room for the wrong number");
  std::int64_t* to = filled<std::int64_t>(
      "chosen", chosen, {batch.sentences, count, batch.rows, batch.columns}, "int64");
  double* scored = filled<double>("score", score, {batch.sentences, count}, "float64");
  Released release;
  find_trees(kernels, batch, wanted, count, seed, to, scored, threads);
}

}  // namespace

void bind_trees(nb::module_& m) {
  m.def("sum_trees", &sum, "kernels"_a, "shape"_a, "scores"_a, "height"_a, "width"_a, "value"_a,
        "marginals"_a.none(), "threads"_a);
  m.def("find_trees", &find, "kernels"_a, "shape"_a, "query"_a, "scores"_a, "height"_a, "width"_a,
        "seed"_a, "chosen"_a, "score"_a, "threads"_a);
}

}  // namespace crfkit
