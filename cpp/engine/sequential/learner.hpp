// The tables behind a method that learns sequence by sequence, and their way in and out.
#pragma once

#include <memory>
#include <vector>

#include "engine/sequential/compiled.hpp"
#include "engine/sequential/labeled.hpp"
#include "shared/learned.hpp"

namespace crfkit {

class Learner;

// Labeled sequences, and the places of their weights in the tables of a learner.
struct CompiledSequences {
  const Learner* learner;
  Labeled data;
  Entries entries, edges;

  // Raises unless every sequence of an order exists and has a position.
  void check_order(Pointers order) const;
};

// Sequences are given with each call, so that they need not be in memory all at once.
class Learner {
 public:
  // Of the data only the layout is taken.
  Learner(const Labeled& data, bool remembers);
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;

  // May be called while another thread visits sequences.
  std::unique_ptr<CompiledSequences> compile(const Labeled& data) const;

  // The tables as the kernels see them.
  void show(Learned& l);
  // The sequences that are visited next.
  void show(const CompiledSequences& sequences, Learned& l) const;

  // Tables of the form of the weights of attributes, and of edge attributes where there are some.
  struct Held {
    std::unique_ptr<Compiled> node, edge;
    explicit operator bool() const { return node != nullptr; }

    void read(const Labeled& data, double* weights) const;
    void write(const Labeled& data, const double* weights);
  };
  Held make_tables() const;
  // Such tables in the places of the weights.
  static Live beside(Live weight, Compiled& tables);

  void read(Written out) const { copy_out(weight_, small_, out); }
  void write(Reals in) { copy_in(weight_, small_, in); }
  void read_memory(Written out) const { copy_out(memory(), small_memory_, out); }
  void write_memory(Reals in);

  const Labeled& data() const { return data_; }

 private:
  static void show(Compiled& weight, Compiled* memory, LearnedRows& rows);
  const Held& memory() const;
  void copy_out(const Held& rows, const std::vector<double>& small, Written out) const;
  void copy_in(Held& rows, std::vector<double>& small, Reals in) const;

  Labeled data_;
  Held weight_, memory_;
  std::vector<double> small_, small_memory_, exists_;
};

}  // namespace crfkit
