// Learning from mistakes for Python: passes over the sequences in a native loop.
#include <memory>

#include "python/learner.hpp"
#include "shared/kernels.hpp"

namespace crfkit {
namespace {

class MistakeTrainer {
 public:
  MistakeTrainer(const Labelled& data, int remedy, bool averaged, bool by_errors, double most,
                 double slack, double gamma)
      : learner_(data, averaged || remedy == static_cast<int>(Remedy::confidence)) {
    if (remedy < 0 || remedy > 2)
      refuse("remedy: expected 0 (perceptron), 1 (passive) or 2 (confidence)");
    if (!(most > 0.0 && slack >= 0.0 && gamma > 0.0))
      refuse("most and gamma must be above 0, slack 0 or more");
    if (data.share) refuse("weights of sequences: mistakes are learned from in full");
    sequences_ = learner_.compile(data);
    learner_.show(m_);
    learner_.show(*sequences_, m_);
    m_.remedy = static_cast<Remedy>(remedy);
    m_.averaged = averaged && m_.remedy != Remedy::confidence;
    m_.by_errors = by_errors;
    m_.most = most;
    m_.slack = slack;
    m_.gamma = gamma;
  }

  // One pass, which begins with sequence number `seen`, counted from 1.  Returns the sum of the
  // losses; when it is not finite, the weights are spoilt.
  double pass(const Kernels& kernels, const Pointers& order, std::int64_t seen) {
    sequences_->check_order(order);
    m_.seen = seen;
    nb::gil_scoped_release release;
    return kernels.mistake_pass(m_, order.data(), static_cast<std::int64_t>(order.size()),
                                Scratch(kernels).get());
  }

  void read(const Written& out) const { learner_.read(out); }
  void write(const Reals& in) { learner_.write(in); }
  void read_memory(const Written& out) const { learner_.read_memory(out); }
  void write_memory(const Reals& in) { learner_.write_memory(in); }

 private:
  Learner learner_;
  std::unique_ptr<CompiledSequences> sequences_;
  Mistakes m_ = {};
};

}  // namespace

void bind_mistakes(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<MistakeTrainer>(m, "MistakeTrainer")
      .def(nb::init<const Labelled&, int, bool, bool, double, double, double>(), "data"_a,
           "remedy"_a, "averaged"_a, "by_errors"_a, "most"_a, "slack"_a, "gamma"_a)
      .def("run", &MistakeTrainer::pass, "kernels"_a, "order"_a, "seen"_a)
      .def("read", &MistakeTrainer::read, "out"_a)
      .def("write", &MistakeTrainer::write, "weights"_a)
      .def("read_memory", &MistakeTrainer::read_memory, "out"_a)
      .def("write_memory", &MistakeTrainer::write_memory, "memory"_a);
}

}  // namespace crfkit
