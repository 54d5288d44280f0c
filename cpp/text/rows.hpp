// Rows of named attributes that readers of text make: a label, and names with values.
//
// A reader queues the names of some rows; they are looked up together, so that memory answers to
// many at once.  What stands in the queue since the last mark can be dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "text/alphabet.hpp"
#include "text/letters.hpp"

namespace crfkit {

// What Python's str.format fills in: {0}, {1!r}.
struct PyFormat {
  const char* text = "";
};

// A line that a reader does not take.  `what` is to be filled with `first` and `second`; it is
// empty where the caller has to find out what is wrong.
struct Refused {
  PyFormat what{};
  std::string first{}, second{};
  std::int64_t line = 0;   // from 1, counted by the sink
  std::string text{};      // the line, without its end
  std::size_t behind = 0;  // where the next line begins
};

// Finished rows; the last sequence may go on.
struct Rows {
  std::vector<std::int32_t> label;        // [rows], -1 where it is not known
  std::vector<std::int64_t> attr_ptr{0};  // [rows + 1]
  std::vector<std::int32_t> attr;         // [nnz]
  std::vector<double> value;              // [nnz]; empty while every value is 1
  std::vector<std::int64_t> seq_ptr{0};   // [sequences + 1], in rows
  std::vector<double> weight;             // [sequences]

  bool valued = false;

  std::size_t rows() const { return label.size(); }

  void give_values() {
    if (!valued) value.assign(attr.size(), 1.0);
    valued = true;
  }
  void add(std::int32_t id, double v) {
    if (v != 1) give_values();
    if (valued) value.push_back(v);
    attr.push_back(id);
  }

  // Adds rows whose ids are renamed.
  void append(const Rows& more, const std::vector<std::int32_t>& labels,
              const std::vector<std::int32_t>& attributes) {
    const auto rows_before = static_cast<std::int64_t>(rows());
    const auto before = static_cast<std::int64_t>(attr.size());
    for (const std::int32_t id : more.label) label.push_back(id < 0 ? id : labels[id]);
    for (std::size_t i = 1; i < more.attr_ptr.size(); ++i)
      attr_ptr.push_back(before + more.attr_ptr[i]);
    if (more.valued) give_values();
    attr.reserve(attr.size() + more.attr.size());
    for (const std::int32_t id : more.attr) attr.push_back(attributes[id]);
    if (more.valued) value.insert(value.end(), more.value.begin(), more.value.end());
    if (valued) value.resize(attr.size(), 1.0);
    for (std::size_t n = 1; n < more.seq_ptr.size(); ++n)
      seq_ptr.push_back(rows_before + more.seq_ptr[n]);
    weight.insert(weight.end(), more.weight.begin(), more.weight.end());
  }

  // Cuts off and returns the finished sequences, in memory of their size; that of these rows stays
  // for those to come.
  Rows cut_finished() {
    const std::int64_t row = seq_ptr.back(), entry = attr_ptr[static_cast<std::size_t>(row)];
    if (row == 0 && seq_ptr.size() == 1) return {};  // a long sequence goes on: look at none of it
    const auto cut = [](auto& from, std::int64_t count) {
      std::remove_reference_t<decltype(from)> made(from.begin(), from.begin() + count);
      from.erase(from.begin(), from.begin() + count);
      return made;
    };
    Rows done;
    done.label = cut(label, row);
    done.attr = cut(attr, entry);
    done.attr_ptr.assign(attr_ptr.begin(), attr_ptr.begin() + row + 1);
    attr_ptr.erase(attr_ptr.begin(), attr_ptr.begin() + row);
    for (std::int64_t& begin : attr_ptr) begin -= entry;
    done.valued = valued;
    if (valued) done.value = cut(value, entry);
    valued = valued && !attr.empty();
    done.seq_ptr = std::exchange(seq_ptr, {0});
    done.weight = std::exchange(weight, {});
    return done;
  }
};

class RowSink {
 public:
  // `once`: the same name twice in a row counts once; else its values add up.  Either way it is one
  // entry, where it first stood.
  RowSink(Alphabet& labels, Alphabet& attributes, bool once)
      : labels_(labels), attributes_(attributes), once_(once), stamps_(attributes.size(), 0) {}

  std::int64_t lines = 0;  // read so far

  // ---- a row, name by name

  // Letters of names; those from a place to the end become a name.
  Letters& letters() { return letters_; }
  void name(std::size_t begin, double value) {
    const std::string_view made = letters_.from(begin);
    check_length(made, "an attribute");
    const std::uint64_t hash = hash_bytes(made);
    __builtin_prefetch(attributes_.view().first_slot(hash));
    names_.push_back({begin, made.size(), hash, value});
  }
  void name(std::string_view given, double value) {
    letters_.append(given);
    name(letters_.size() - given.size(), value);
  }
  std::int32_t label(std::string_view name) {
    check_length(name, "a label");
    return labels_.add(name);
  }
  void end_row(std::int32_t label) {
    ends_.push_back(names_.size());
    label_.push_back(label);
  }

  std::size_t queued() const { return ends_.size(); }  // rows
  std::int32_t& queued_label(std::size_t row) { return label_[row]; }
  // Forgets what was queued since there were so many rows.
  void drop(std::size_t queued) {
    ends_.resize(queued);
    label_.resize(queued);
    names_.resize(queued ? ends_.back() : 0);
  }

  // ---- sequences

  bool open() const { return total() > rows_.seq_ptr.back(); }

  // The weight of the sequence that goes on.
  void weigh(double weight) { weight_ = weight, weight_line_ = lines; }
  std::int64_t weight_line() const { return weight_line_; }  // 0: it has none

  // Ends the sequence, even an empty one.
  void end_sequence() {
    rows_.seq_ptr.push_back(total());
    rows_.weight.push_back(weight_);
    weight_ = 1, weight_line_ = 0;
  }

  // Looks up what is queued, if that is enough.
  void end_line() {
    if (names_.size() >= kTogether || ends_.size() >= kTogether) look_up();
  }

  // The finished sequences, which are forgotten here.
  Rows take() {
    look_up();
    return rows_.cut_finished();
  }

  // Adds all that another sink has read; its lines follow on those here, and none goes on here.
  void join(RowSink& other) {
    look_up();
    other.look_up();
    rows_.append(other.rows_, labels_.merge(other.labels_), attributes_.merge(other.attributes_));
    stamps_.resize(attributes_.size(), 0);
    weight_ = other.weight_;
    weight_line_ = other.weight_line_ ? other.weight_line_ + lines : 0;
    lines += other.lines;
  }

 private:
  struct Name {
    std::size_t begin, size;  // in letters_
    std::uint64_t hash;
    double value;
  };
  static constexpr std::size_t kTogether = 256;

  static void check_length(std::string_view name, const char* what) {
    if (name.size() > kLongestToken) [[unlikely]]
      refuse_length(name.size(), what);
  }
  [[gnu::noinline, noreturn]] static void refuse_length(std::size_t size, const char* what) {
    throw Refused{"has {0} of {1} bytes, expected 1 MiB at most; is this the right format?", what,
                  std::to_string(size)};
  }

  std::int64_t total() const { return static_cast<std::int64_t>(rows_.rows() + ends_.size()); }

  void look_up() {
    if (names_.size() >= 0xffffffffU - clock_) {
      stamps_.assign(stamps_.size(), 0);
      clock_ = 0;
    }
    const auto at = [this](std::size_t i) {
      return std::pair(std::string_view(letters_.data() + names_[i].begin, names_[i].size),
                       names_[i].hash);
    };
    ids_.resize(names_.size());
    find_many(attributes_.view(), names_.size(), at, [this](std::size_t i, std::int32_t id) {
      ids_[i] = id;
      if (id >= 0) __builtin_prefetch(&stamps_[id], 1);
    });
    std::size_t i = 0;
    for (std::size_t row = 0; row < ends_.size(); ++row) {
      const std::uint32_t before = clock_;
      for (; i < ends_[row]; ++i) {
        if (ids_[i] < 0) {
          ids_[i] = attributes_.add(at(i).first, names_[i].hash);
          stamps_.resize(attributes_.size(), 0);
        }
        put(ids_[i], names_[i].value, before);
      }
      rows_.attr_ptr.push_back(static_cast<std::int64_t>(rows_.attr.size()));
      rows_.label.push_back(label_[row]);
    }
    names_.clear();
    ends_.clear();
    label_.clear();
    letters_.clear();
  }

  // An entry, or more of one that its row has: the clock counts entries, and a stamp is the time
  // of the last one with this id.
  void put(std::int32_t id, double value, std::uint32_t before) {
    if (stamps_[id] <= before) {
      stamps_[id] = ++clock_;
      rows_.add(id, value);
    } else if (!once_) {
      rows_.give_values();
      rows_.value[rows_.attr.size() - 1 - (clock_ - stamps_[id])] += value;
    }
  }

  Alphabet &labels_, &attributes_;
  bool once_;
  Rows rows_;
  double weight_ = 1;
  std::int64_t weight_line_ = 0;
  Letters letters_;
  std::vector<Name> names_;          // queued
  std::vector<std::size_t> ends_;    // [queued rows], in names_
  std::vector<std::int32_t> label_;  // [queued rows]
  std::vector<std::int32_t> ids_;
  std::vector<std::uint32_t> stamps_;  // [attributes]
  std::uint32_t clock_ = 0;
};

}  // namespace crfkit
