// A recipe of templates for Python: many sequences to ids of attributes, with alphabets that grow
// or are frozen.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "engine/checks.hpp"
#include "engine/threads/parallel.hpp"
#include "python/arrays.hpp"
#include "python/frozen.hpp"
#include "python/released.hpp"
#include "python/spans.hpp"
#include "python/strings.hpp"
#include "text/expand.hpp"
#include "text/expand_segments.hpp"

namespace crfkit {

// column, kind, pattern or letters, lower
using RawView = std::tuple<int, std::string, std::string, bool>;
// literal, view, offset, and what the offset counts from: "token" or "sequence"; in segments
// "begin", "end", "all" or "length"; "" where the literal ends the template
using RawPart = std::tuple<std::string, int, int, std::string>;
using RawTemplate = std::tuple<std::string, std::vector<RawPart>>;  // kind, parts

using ByKind = nb::typed<nb::list, Tuple<Given<std::int64_t>, Given<std::int32_t>>>;

using Values = nb::typed<nb::list, nb::any>;  // None, a string, or several, for each token

// Brings a view up to date with the tokens of its column, as far as it knows them; returns those
// that Python is to say the values of.
inline Strings update(View& view, const Alphabet& tokens) {
  view.update(tokens);
  nb::list left;
  for (std::size_t id = view.known(); id < tokens.size(); ++id)
    if (!view.knows(tokens.at(id))) left.append(str_of(tokens.at(id)));
  return left;
}

// Goes on with these values.
inline void supply(View& view, const Alphabet& tokens, const Values& values) {
  std::size_t used = 0;
  for (std::size_t id = view.known(); id < tokens.size(); ++id) {
    if (view.take(tokens.at(id))) continue;
    if (used == values.size()) refuse("a view has fewer values than it was asked for");
    nb::object entry = values[used++];
    if (!entry.is_none()) {
      if (PyUnicode_Check(entry.ptr())) {
        view.add(bytes_of(entry));
      } else {
        for (nb::handle one : entry) view.add(bytes_of(one));
      }
    }
    view.close();
  }
}

class Features {
 public:
  Features(const std::vector<RawView>& views, const std::vector<RawTemplate>& templates,
           const std::string& padding)
      : padding_(padding == "wapiti" ? Padding::wapiti : Padding::crfpp) {
    for (const auto& [column, kind, argument, lower] : views) {
      const View::Kind made = kind_of(kind);
      const bool cut = made == View::prefix || made == View::suffix;
      View view{column, made, lower, WapitiRegex(cut ? "" : argument), {}, {}, {0}, {}};
      if (cut) view.letters = std::stoul(argument);
      if (column < 0) throw nb::value_error("a view has a negative column");
      views_.push_back(std::move(view));
    }
    for (const auto& [kind, parts] : templates)
      kind == "segment" ? add_segment(parts) : add_template(kind, parts);
    expander_ = std::make_unique<Expander>(views_, templates_, padding_, namings(names_));
    segment_expander_ = std::make_unique<SegmentExpander>(views_, segments_, &names_.back());
  }

  // Only strings of these alphabets count from now on; others are dropped.
  void freeze(std::vector<std::shared_ptr<Frozen>> names) {
    frozen_ = std::move(names);
    others_.clear();
    expander_ = std::make_unique<Expander>(views_, templates_, padding_, namings(names_));
    segment_expander_ =
        std::make_unique<SegmentExpander>(views_, segments_, namings(names_).back());
  }

  Strings update(int view, const Alphabet& tokens) {
    return crfkit::update(views_.at(view), tokens);
  }
  void supply(int view, const Alphabet& tokens, const Values& values) {
    crfkit::supply(views_.at(view), tokens, values);
  }

  // Pointers and attributes of nodes, edges, begins, ends, and segments of at most `longest`
  // positions.
  ByKind expand(const std::vector<KeptIntegers>& columns, Pointers seq_ptr, int threads,
                std::int64_t longest) {
    Tokens tokens;
    check(columns, seq_ptr);
    for (Integers ids : columns) tokens.column.push_back(ids.data());
    tokens.seq_ptr = seq_ptr.data();
    const std::int64_t N = static_cast<std::int64_t>(seq_ptr.size()) - 1;
    if (longest < 0 || (longest > 0 && tokens.seq_ptr[N] > (std::int64_t{1} << 40) / longest))
      throw nb::value_error("longest is negative, or there are too many segments");
    Expanded out;
    {
      Released release;
      if (threads <= 1 || N < 2 * threads) {
        expand_range(*expander_, *segment_expander_, tokens, 0, N, longest, out);
      } else {
        expand_in_ranges(tokens, N, threads, longest, out);
      }
    }
    nb::list pairs;
    for (Attributes& one : out)
      pairs.append(nb::make_tuple(give(std::move(one.ptr)), give(std::move(one.attr))));
    return pairs;
  }

  Alphabet& names(int naming) { return names_[naming]; }

  // What a reader of single sequences copies; views of tokens that came are in them.
  const std::vector<View>& views() const { return views_; }
  const std::vector<Template>& templates() const { return templates_; }
  Padding padding() const { return padding_; }

 private:
  static View::Kind kind_of(const std::string& name) {
    constexpr std::array<const char*, 8> names = {"same",   "test",   "match", "prefix",
                                                  "suffix", "length", "lower", "shape"};
    const auto found = std::find(names.begin(), names.end(), name);
    return static_cast<View::Kind>(found - names.begin());  // past them: python
  }

  using Alphabets = std::array<Alphabet, kNamings>;

  void add_template(const std::string& kind, const std::vector<RawPart>& parts) {
    Template made{kind == "edge"    ? kEdge
                  : kind == "begin" ? kBegin
                  : kind == "end"   ? kEnd
                                    : kNode,
                  kind == "both",
                  {}};
    for (const auto& [literal, view, offset, from] : parts) {
      check_view(view);
      made.parts.push_back({literal, view, offset, from == "sequence"});
    }
    templates_.push_back(std::move(made));
  }

  void add_segment(const std::vector<RawPart>& parts) {
    SegmentTemplate made;
    for (const auto& [literal, view, offset, from] : parts) {
      const SegmentPart::From place = from == "begin"    ? SegmentPart::begin
                                      : from == "end"    ? SegmentPart::end
                                      : from == "all"    ? SegmentPart::all
                                      : from == "length" ? SegmentPart::length
                                                         : SegmentPart::nothing;
      check_view(view);
      if (view < 0 && place > SegmentPart::length)
        throw nb::value_error("a field of a segment has no view");
      made.push_back({literal, place, view, offset});
    }
    if (made.empty() || made.back().from != SegmentPart::nothing)
      throw nb::value_error("a template of segments does not end with a literal");
    segments_.push_back(std::move(made));
  }

  void check_view(int view) const {
    if (view >= static_cast<int>(views_.size()))
      throw nb::value_error("a template names a view that is not there");
  }

  // Where strings get their ids: the frozen alphabets, or these.
  Namings namings(Alphabets& growing) const {
    Namings names;
    for (std::size_t i = 0; i < names.size(); ++i)
      names[i] = frozen_.empty() ? Names(&growing[i]) : Names(frozen_[i]->view());
    return names;
  }

  static void expand_range(Expander& expander, SegmentExpander& segments, const Tokens& tokens,
                           std::int64_t first, std::int64_t last, std::int64_t longest,
                           Expanded& out) {
    if (segments.idle() || longest == 0) {
      expander.expand(tokens, first, last, out, [](std::int64_t) {});
      return;
    }
    segments.reserve(tokens.seq_ptr[last] - tokens.seq_ptr[first], longest, out[kSegment]);
    expander.expand(tokens, first, last, out,
                    [&](std::int64_t n) { segments.expand(tokens, n, longest, out[kSegment]); });
  }

  void check(const std::vector<KeptIntegers>& columns, Pointers seq_ptr) const {
    if (seq_ptr.size() < 1 || seq_ptr.data()[0] != 0)
      throw nb::value_error("seq_ptr must begin with 0");
    for (std::size_t n = 1; n < seq_ptr.size(); ++n)
      if (seq_ptr.data()[n] < seq_ptr.data()[n - 1]) throw nb::value_error("seq_ptr falls");
    const std::int64_t P = seq_ptr.data()[seq_ptr.size() - 1];
    for (Integers ids : columns)
      if (static_cast<std::int64_t>(ids.size()) != P)
        throw nb::value_error("a column has not one token per position");
    for (const View& view : views_) {
      if (view.column >= static_cast<int>(columns.size()))
        throw nb::value_error("a view asks for a missing column");
      const std::int32_t* id = columns[view.column].data();
      const std::int32_t known = static_cast<std::int32_t>(view.known());
      bool good = true;
      for (std::int64_t p = 0; p < P; ++p) good &= id[p] >= 0 && id[p] < known;
      if (!good) throw nb::value_error("a column holds a token id that its view does not know");
    }
  }

  // Ranges of sequences with alphabets of their own, merged in order: ids as if one thread had seen
  // everything.
  void expand_in_ranges(const Tokens& tokens, std::int64_t N, int threads, std::int64_t longest,
                        Expanded& out) {
    struct Range {
      Alphabets names;
      std::int64_t first, last;
      Expanded out;
    };
    std::vector<Range> ranges(threads);
    const std::int64_t P = tokens.seq_ptr[N];
    std::int64_t n = 0;
    for (int t = 0; t < threads; ++t) {
      ranges[t].first = n;
      while (n < N && (t + 1 == threads || tokens.seq_ptr[n] * threads < P * (t + 1))) ++n;
      ranges[t].last = n;
    }
    while (!frozen_.empty() && others_.size() + 1 < static_cast<std::size_t>(threads))
      others_.push_back(std::make_unique<Expander>(views_, templates_, padding_, namings(names_)));
    parallel_for(threads, threads, [&](std::int64_t t) {
      Range& range = ranges[t];
      if (t == 0) {  // the first range knows what came before it, and needs no merging
        expand_range(*expander_, *segment_expander_, tokens, range.first, range.last, longest,
                     range.out);
        return;
      }
      const Namings names = namings(range.names);
      SegmentExpander local_segments(views_, segments_, names.back());
      if (!frozen_.empty()) {
        expand_range(*others_[t - 1], local_segments, tokens, range.first, range.last, longest,
                     range.out);
        return;
      }
      Expander local(views_, templates_, padding_, names);
      expand_range(local, local_segments, tokens, range.first, range.last, longest, range.out);
    });
    using Renaming = std::array<std::vector<std::int32_t>, kNamings>;
    std::vector<Renaming> id(threads);
    if (frozen_.empty()) {
      for (int t = 1; t < threads; ++t)
        for (int i = 0; i < kNamings; ++i) id[t][i] = names_[i].merge(ranges[t].names[i]);
    }
    std::vector<std::array<std::size_t, kKinds>> at(threads + 1);
    for (int kind = 0; kind < kKinds; ++kind) {
      at[0][kind] = out[kind].attr.size();
      for (int t = 0; t < threads; ++t) {
        at[t + 1][kind] = at[t][kind] + ranges[t].out[kind].attr.size();
        append_ptr(ranges[t].out[kind].ptr, at[t][kind], out[kind].ptr);
      }
      out[kind].attr.resize(at[threads][kind]);
    }
    parallel_for(threads, threads, [&](std::int64_t t) {
      for (int kind = 0; kind < kKinds; ++kind)
        rename(ranges[t].out[kind].attr, id[t][naming_of(kind)],
               out[kind].attr.data() + at[t][kind]);
    });
  }

  static void append_ptr(const std::vector<std::int64_t>& from, std::size_t shift,
                         std::vector<std::int64_t>& into) {
    for (std::size_t i = 1; i < from.size(); ++i)
      into.push_back(from[i] + static_cast<std::int64_t>(shift));
  }
  static void rename(const std::vector<std::int32_t>& from, const std::vector<std::int32_t>& id,
                     std::int32_t* out) {
    for (std::size_t i = 0; i < from.size(); ++i) out[i] = id.empty() ? from[i] : id[from[i]];
  }

  Padding padding_;
  std::vector<View> views_;
  std::vector<Template> templates_;
  std::vector<SegmentTemplate> segments_;
  Alphabets names_;
  std::unique_ptr<Expander> expander_;
  std::vector<std::unique_ptr<Expander>> others_;  // of further threads, where names are frozen
  std::unique_ptr<SegmentExpander> segment_expander_;
  std::vector<std::shared_ptr<Frozen>> frozen_;  // none, or one for each alphabet
};

}  // namespace crfkit
