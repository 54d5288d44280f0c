// Online training for Python: passes over the sequences in native loops.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/unique_ptr.h>

#include <atomic>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "arrays.hpp"
#include "checked.hpp"
#include "compiled.hpp"
#include "kernels.hpp"

namespace crfkit {
namespace {

using Reals = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Written = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Threads that wait for each other: spinning for a moment, then giving way.
class Barrier {
 public:
  explicit Barrier(int threads) : threads_(threads) {}
  void wait() {
    const int turn = turn_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      turn_.store(turn + 1, std::memory_order_release);
      return;
    }
    for (int spins = 0; turn_.load(std::memory_order_acquire) == turn; ++spins)
      if (spins > 4000) std::this_thread::yield();
  }

 private:
  const int threads_;
  std::atomic<int> arrived_{0}, turn_{0};
};

struct PassTotals {
  double gap = 0.0, gain = 0.0;  // sums of gaps met; rise of the dual
  std::int64_t revised = 0, visits = 0;
};

class DualTrainer {
 public:
  static constexpr int kLanes = 4, kGroups = 2;

  DualTrainer(const Pointers& seq_ptr, const Pointers& attr_ptr, const Integers& attr,
              const std::optional<Reals>& value, const Integers& label, int labels,
              const Pointers& row_ptr, const Integers& column, const Integers& transition_cell,
              bool start, bool stop, const std::optional<Reals>& weight,
              const std::optional<Reals>& forbidden, const Reals& strengths, bool exponentiated)
      : seq_ptr_(seq_ptr),
        row_ptr_(row_ptr),
        column_(column),
        label_(label),
        weight_(weight),
        L_(labels) {
    const std::int64_t positions = static_cast<std::int64_t>(attr_ptr.size()) - 1;
    check(positions, attr_ptr, attr, value, column, transition_cell, forbidden, strengths);
    const std::int64_t N = sequences(), step = (L_ + 7) / 8 * 8;
    step_ = step;
    const Occurrences o{attr_ptr.data(), attr.data(), value ? value->data() : nullptr};
    {
      nb::gil_scoped_release release;
      compiled_ = std::make_unique<Compiled>(o, positions, label.data(), L_, attributes(),
                                             row_ptr.data(), column.data(), true);
      cells_.assign(transition_cell.data(), transition_cell.data() + transition_cell.size());
      small_.assign((3 * L_ + 4) * step, 0.0);  // transition, steps, forbidden, start, stop, ends
      for (const std::int32_t c : cells_) steps()[c / L_ * step + c % L_] = 1.0;
      node_.assign(positions * step, 0.0f);
      edge_.assign(N * L_ * step, 0.0f);
      entropy_.assign(N, 0.0);
      curvature_.assign(N, 2.0);
      for (std::int64_t p = 0; p < positions; ++p) node_[p * step + label.data()[p]] = 1.0f;
      for (std::int64_t n = 0; n < N; ++n)
        for (std::int64_t p = seq_ptr.data()[n] + 1; p < seq_ptr.data()[n + 1]; ++p)
          edge_[(n * L_ + label.data()[p - 1]) * step + label.data()[p]] += 1.0f;
      if (exponentiated) {
        theta_node_.assign(node_.size(), 0.0f);
        theta_edge_.assign(edge_.size(), 0.0f);
        rate_.assign(N, 0.5);
        for (std::size_t i = 0; i < node_.size(); ++i) theta_node_[i] = 13.0f * node_[i];
      }
    }
    dual_.live = compiled_->view();
    Live& live = dual_.live;
    live.transition = small_.data();
    live.steps = steps();
    if (forbidden) {
      double* table = steps() + L_ * step;
      double* ends = table + L_ * step;
      for (int i = 0; i < L_; ++i) std::copy_n(forbidden->data() + i * L_, L_, table + i * step);
      for (int i = 0; i < 2; ++i)
        std::copy_n(forbidden->data() + (L_ + i) * L_, L_, ends + i * step);
      live.forbidden = table;
      live.forbidden_at = ends;
    }
    double* ends = small_.data() + (3 * L_ + 2) * step;
    live.start = start ? ends : nullptr;
    live.stop = stop ? ends + step : nullptr;
    dual_.seq_ptr = seq_ptr_.data();
    dual_.label = label_.data();
    dual_.weight = weight_ ? weight_->data() : nullptr;
    dual_.node = node_.data();
    dual_.edge = edge_.data();
    dual_.entropy = entropy_.data();
    dual_.curvature = curvature_.data();
    dual_.theta_node = exponentiated ? theta_node_.data() : nullptr;
    dual_.theta_edge = exponentiated ? theta_edge_.data() : nullptr;
    dual_.rate = exponentiated ? rate_.data() : nullptr;
    dual_.l1 = strengths.data()[0];
    dual_.l2 = strengths.data()[1];
    dual_.transition_l1 = strengths.data()[2];
    dual_.transition_l2 = strengths.data()[3];
  }

  // Visits sequences in the given order; `ramp`: begin with one at a time.
  nb::tuple pass(const Kernels& kernels, const Pointers& order, double relax, double threshold,
                 bool ramp, int threads) {
    dual_.relax = relax;
    dual_.threshold = threshold;
    return totals_of(kernels, order, ramp, threads);
  }

  // Gives every sequence the distribution of these scores: node [P, L], edge [L, L], ends [2, L].
  nb::tuple begin(const Kernels& kernels, const Reals& node, const Reals& edge,
                  const std::optional<Reals>& ends, const Pointers& order, int threads) {
    if (node.size() != label_.size() * L_ || static_cast<int>(edge.size()) != L_ * L_ ||
        (ends && static_cast<int>(ends->size()) != 2 * L_))
      refuse("scores of another shape");
    struct Given {
      Dual& dual;
      ~Given() { dual.given = dual.given_edge = dual.given_ends = nullptr; }
    } reset{dual_};
    dual_.given = node.data();
    dual_.given_edge = edge.data();
    dual_.given_ends = ends ? ends->data() : nullptr;
    dual_.threshold = 0.0;
    return totals_of(kernels, order, false, threads);
  }

  // v in the order of the layout: node, transition, start, stop.
  void read(const Written& out) const {
    check_size(out.size());
    double* v = out.data();
    compiled_->read(v);
    std::int64_t n = 0;
    for (const Compiled::Lone& lone : compiled_->lone()) {
      while (seq_ptr_.data()[n + 1] <= lone.position) ++n;
      read_alone(lone, weight_ ? weight_->data()[n] : 1.0, v);
    }
    v += node_weights();
    for (const std::int32_t cell : cells_) *v++ = small_[cell / L_ * step_ + cell % L_];
    if (dual_.live.start) v = std::copy_n(dual_.live.start, L_, v);
    if (dual_.live.stop) std::copy_n(dual_.live.stop, L_, v);
  }

  // The sum of weight * entropy.
  double entropy() const {
    double sum = 0.0;
    for (std::int64_t n = 0; n < sequences(); ++n)
      sum += (weight_ ? weight_->data()[n] : 1.0) * entropy_[n];
    return sum;
  }

  // Everything that a run consists of, and back: v as `read` gives it, and arrays by name.
  nb::dict state() {
    nb::dict parts;
    for (const auto& [name, values] : floats()) parts[name] = copy(*values);
    for (const auto& [name, values] : doubles()) parts[name] = copy(*values);
    return parts;
  }
  void restore(const Reals& v, const nb::dict& parts) {
    check_size(v.size());
    for (const auto& [name, values] : floats()) put<float>(parts, name, *values);
    for (const auto& [name, values] : doubles()) put<double>(parts, name, *values);
    compiled_->write(v.data());
    const double* rest = v.data() + node_weights();
    for (const std::int32_t cell : cells_) small_[cell / L_ * step_ + cell % L_] = *rest++;
    if (dual_.live.start) std::copy_n(rest, L_, dual_.live.start), rest += L_;
    if (dual_.live.stop) std::copy_n(rest, L_, dual_.live.stop);
  }

  std::int64_t sequences() const { return static_cast<std::int64_t>(seq_ptr_.size()) - 1; }
  std::int64_t attributes() const { return static_cast<std::int64_t>(row_ptr_.size()) - 1; }
  std::int64_t node_weights() const { return row_ptr_.data()[attributes()]; }

 private:
  nb::tuple totals_of(const Kernels& kernels, const Pointers& order, bool ramp, int threads) {
    for (std::size_t i = 0; i < order.size(); ++i)
      if (order.data()[i] < 0 || order.data()[i] >= sequences()) refuse("order: no such sequence");
    if (threads < 1) refuse("threads is " + std::to_string(threads) + ", expected 1 or more");
    PassTotals totals;
    {
      nb::gil_scoped_release release;
      totals = run(kernels, order.data(), static_cast<std::int64_t>(order.size()), ramp,
                   std::min(threads, kGroups * kLanes));
    }
    return nb::make_tuple(totals.gap, totals.gain, totals.revised, totals.visits);
  }

  using FloatParts = std::vector<std::pair<const char*, std::vector<float>*>>;
  using DoubleParts = std::vector<std::pair<const char*, std::vector<double>*>>;
  FloatParts floats() {
    return {{"node", &node_},
            {"edge", &edge_},
            {"theta_node", &theta_node_},
            {"theta_edge", &theta_edge_}};
  }
  DoubleParts doubles() {
    return {{"entropy", &entropy_}, {"curvature", &curvature_}, {"rate", &rate_}};
  }
  template <class T>
  static nb::object copy(const std::vector<T>& values) {
    return give(std::vector<T>(values));
  }
  template <class T>
  static void put(const nb::dict& parts, const char* name, std::vector<T>& values) {
    if (!parts.contains(name)) refuse(std::string("the state lacks ") + name);
    const auto given =
        nb::cast<nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>>(parts[name]);
    if (given.size() != values.size())
      refuse(std::string(name) + " of the state has another size: it belongs to other data");
    std::copy_n(given.data(), values.size(), values.data());
  }
  void read_alone(const Compiled::Lone& lone, double c, double* v) const {
    const std::int64_t p = lone.position;
    for (std::int64_t k = row_ptr_.data()[lone.attribute]; k < row_ptr_.data()[lone.attribute + 1];
         ++k) {
      const std::int32_t y = column_.data()[k];
      v[k] = c * ((y == label_.data()[p] ? 1.0 : 0.0) - node_[p * step_ + y]);
    }
  }

  double* steps() { return small_.data() + L_ * step_; }
  void check_size(std::size_t size) const {
    const std::size_t expected =
        node_weights() + cells_.size() + (dual_.live.start ? L_ : 0) + (dual_.live.stop ? L_ : 0);
    if (size != expected) refuse("expected " + std::to_string(expected) + " weights");
  }
  void check(std::int64_t positions, const Pointers& attr_ptr, const Integers& attr,
             const std::optional<Reals>& value, const Integers& column,
             const Integers& transition_cell, const std::optional<Reals>& forbidden,
             const Reals& strengths) const {
    check_pointers(seq_ptr_, "seq_ptr", positions);
    check_pointers(attr_ptr, "attr_ptr", static_cast<std::int64_t>(attr.size()));
    if (value && value->size() != attr.size()) refuse("value and attr differ in length");
    if (static_cast<std::int64_t>(label_.size()) != positions) refuse("label: one per position");
    if (L_ < 1 || L_ >= 1 << 12) refuse("labels out of range");
    for (std::size_t p = 0; p < label_.size(); ++p)
      if (label_.data()[p] < 0 || label_.data()[p] >= L_)
        refuse("label[" + std::to_string(p) + "] is out of range");
    check_pointers(row_ptr_, "row_ptr", static_cast<std::int64_t>(column.size()));
    for (std::size_t k = 0; k < column.size(); ++k)
      if (column.data()[k] < 0 || column.data()[k] >= L_) refuse("a column is out of range");
    for (std::size_t k = 0; k < transition_cell.size(); ++k)
      if (transition_cell.data()[k] < 0 || transition_cell.data()[k] >= L_ * L_)
        refuse("a transition is out of range");
    if (weight_ && static_cast<std::int64_t>(weight_->size()) != sequences())
      refuse("weight: one per sequence");
    if (forbidden && static_cast<int>(forbidden->size()) != (L_ + 2) * L_)
      refuse("forbidden: (L + 2) * L entries");
    if (strengths.size() != 4 || !(strengths.data()[1] > 0.0) || !(strengths.data()[3] > 0.0))
      refuse("strengths: l1, l2 > 0, transition l1, transition l2 > 0");
  }

  struct Group {
    void* scratch;
    std::int64_t sequence[kLanes];
    Visit visit[kLanes];
    int count = 0;
  };

  PassTotals run(const Kernels& kernels, const std::int64_t* order, std::int64_t count, bool ramp,
                 int threads) {
    const int lanes = dual_.theta_node ? 1 : kLanes;
    const int groups = kGroups * kLanes / lanes;
    std::vector<Group> group(groups);
    for (Group& g : group) g.scratch = kernels.make_scratch();
    PassTotals totals;
    Barrier barrier(threads);
    std::atomic<bool> failed{false};
    std::exception_ptr failure;
    std::int64_t done = 0;
    bool again = false;

    const auto fill = [&] {  // the next sequences, dealt out by falling length
      std::int64_t size = groups * lanes;
      if (ramp) size = done < 32 ? 1 : done < 96 ? 2 : done < 256 ? 4 : size;
      size = std::min(size, count - done);
      std::int64_t chosen[kGroups * kLanes];
      std::int64_t filled = 0;
      for (std::int64_t i = 0; i < size; ++i)
        if (length(order[done + i]) > 0) chosen[filled++] = order[done + i];
      done += size;
      std::stable_sort(chosen, chosen + filled,
                       [&](std::int64_t a, std::int64_t b) { return length(a) > length(b); });
      for (Group& g : group) g.count = 0;
      for (std::int64_t i = 0; i < filled; ++i) {
        Group& g = group[lanes == 1 ? i : i % groups];
        g.sequence[g.count++] = chosen[i];
      }
    };
    const auto each_visit = [&](auto f) {
      for (Group& g : group)
        for (int i = 0; i < g.count; ++i) f(g.visit[i]);
    };
    const auto sum_up = [&] {
      each_visit([&](Visit& v) {
        const double c = dual_.weight ? dual_.weight[v.sequence] : 1.0;
        totals.gap += c * v.gap;
        totals.gain += c * (v.entropy - v.before) - 0.5 * v.change;
        ++totals.visits;
      });
    };
    const auto loop = [&](int me) {
      for (;;) {
        if (me == 0) fill();
        barrier.wait();
        bool any = false;
        for (const Group& g : group) any |= g.count > 0;
        if (!any && done >= count) return;
        try {
          for (int g = me; g < groups; g += threads)
            if (group[g].count)
              kernels.dual_answer(dual_, group[g].sequence, group[g].count, group[g].visit,
                                  group[g].scratch);
        } catch (...) {
          if (!failed.exchange(true)) failure = std::current_exception();
        }
        barrier.wait();
        if (failed) return;
        apply(kernels, group, me, threads);
        barrier.wait();
        if (me == 0) {
          again = false;
          each_visit([&](Visit& v) {
            kernels.dual_settle(dual_, v);
            again |= v.revise != 0.0;
          });
          sum_up();
          if (again) {
            each_visit([&](Visit& v) {
              if (v.revise == 0.0) return;
              ++totals.revised;
              const double entropy = v.entropy, c = dual_.weight ? dual_.weight[v.sequence] : 1.0;
              kernels.dual_revise(dual_, v);
              totals.gain += c * (v.entropy - entropy) - 0.5 * v.alone;
            });
          }
        }
        barrier.wait();
        if (again) {
          apply(kernels, group, me, threads, true);
          barrier.wait();
          if (me == 0)
            each_visit([&](Visit& v) {
              if (v.revise == 0.0) return;
              for (int k = 0; k < dual_.live.shards; ++k) totals.gain -= 0.5 * v.quadratic[k];
            });
        }
      }
    };
    std::vector<std::thread> others;
    for (int t = 1; t < threads; ++t) others.emplace_back(loop, t);
    loop(0);
    for (std::thread& other : others) other.join();
    for (Group& g : group) kernels.free_scratch(g.scratch);
    if (failure) std::rethrow_exception(failure);
    return totals;
  }

  void apply(const Kernels& kernels, std::vector<Group>& group, int me, int threads,
             bool revised = false) {
    for (int shard = me; shard < dual_.live.shards; shard += threads)
      for (Group& g : group)
        for (int i = 0; i < g.count; ++i)
          if (!revised || g.visit[i].revise != 0.0) kernels.dual_apply(dual_, g.visit[i], shard);
  }
  std::int64_t length(std::int64_t n) const { return seq_ptr_.data()[n + 1] - seq_ptr_.data()[n]; }

  Pointers seq_ptr_, row_ptr_;
  Integers column_, label_;
  std::optional<Reals> weight_;
  int L_;
  std::int64_t step_;
  std::unique_ptr<Compiled> compiled_;
  std::vector<float> node_, edge_, theta_node_, theta_edge_;
  std::vector<double> entropy_, curvature_, rate_;
  std::vector<std::int32_t> cells_;
  std::vector<double> small_;
  Dual dual_ = {};
};

}  // namespace

void bind_online(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<DualTrainer>(m, "DualTrainer")
      .def(nb::init<const Pointers&, const Pointers&, const Integers&, const std::optional<Reals>&,
                    const Integers&, int, const Pointers&, const Integers&, const Integers&, bool,
                    bool, const std::optional<Reals>&, const std::optional<Reals>&, const Reals&,
                    bool>(),
           "seq_ptr"_a, "attr_ptr"_a, "attr"_a, "value"_a.none(), "label"_a, "labels"_a,
           "row_ptr"_a, "column"_a, "transition_cell"_a, "start"_a, "stop"_a, "weight"_a.none(),
           "forbidden"_a.none(), "strengths"_a, "exponentiated"_a)
      .def("run", &DualTrainer::pass, "kernels"_a, "order"_a, "relax"_a, "threshold"_a, "ramp"_a,
           "threads"_a)
      .def("begin", &DualTrainer::begin, "kernels"_a, "node"_a, "edge"_a, "ends"_a.none(),
           "order"_a, "threads"_a)
      .def("read", &DualTrainer::read, "out"_a)
      .def("entropy", &DualTrainer::entropy)
      .def("state", &DualTrainer::state)
      .def("restore", &DualTrainer::restore, "v"_a, "parts"_a);
}

}  // namespace crfkit
