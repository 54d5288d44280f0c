#include "text/expand.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "text/alphabet.hpp"
#include "text/names.hpp"

namespace crfkit {

Expander::Expander(const std::vector<View>& views, const std::vector<Template>& templates,
                   Padding padding, const Namings& names)
    : views_(views),
      templates_(templates),
      padding_(padding),
      names_(names),
      costs_(views, templates, names),
      codes_(views.size()) {
  for (const Template& t : templates) {
    Memo memo;
    for (const Part& part : t.parts)
      if (part.view >= 0) memo.fields.push_back(&part);
    if (memo.fields.size() > 1) memo.chain.resize(memo.fields.size() - 1);
    for (const Part* field : memo.fields)
      memo.near &= !field->absolute && -kPads <= field->offset && field->offset <= kPads;
    memo.bits = memo.fields.empty() ? 0 : 64 / static_cast<int>(memo.fields.size());
    if (memo.bits < 31) memo.most = (std::uint32_t{1} << memo.bits) - 1;
    node_.push_back(t.kind == kNode && !t.both);
    memo.ask = !t.both && std::holds_alternative<AlphabetView>(names[naming_of(t.kind)]);
    memos_.push_back(std::move(memo));
  }
}

std::size_t Expander::room() const {
  std::size_t bytes = sizeof(Made) * made_.capacity() + text_.room();
  for (const Memo& memo : memos_) {
    bytes += 4 * memo.direct.capacity() + memo.packed.room();
    for (const KeyMap& one : memo.chain) bytes += one.room();
  }
  for (const std::vector<std::int32_t>& codes : codes_) bytes += 4 * codes.capacity();
  return bytes + 8 * keys_.capacity() + 4 * known_.capacity();
}

void Expander::encode(std::size_t v, const std::int32_t* token) {
  const View& view = views_[v];
  std::vector<std::int32_t>& codes = codes_[v];
  codes.resize(static_cast<std::size_t>(length_) + 2 * kPads);
  for (int d = 1; d <= kPads; ++d) {
    codes[kPads - d] = d - 1;
    codes[kPads + static_cast<std::size_t>(length_) + d - 1] = kPads + d - 1;
  }
  for (std::int64_t t = 0; t < length_; ++t) {
    const std::int64_t from = view.ptr[token[t]];
    codes[kPads + t] = view.ptr[token[t] + 1] == from + 1 ? 2 * kPads + view.list[from] : -1;
  }
}

void Expander::expand_some(const Tokens& tokens, std::int64_t first, std::int64_t last,
                           const std::vector<Attributes*>& used, Expanded& out) {
  const std::size_t count = static_cast<std::size_t>(last - first), all = templates_.size();
  keys_.resize(all * count);
  known_.resize(all * count);
  for (std::size_t i = 0; i < all; ++i) prepare(i, first, count, &keys_[i * count]);
  for (std::size_t i = 0; i < all; ++i) remember(i, &keys_[i * count], count, &known_[i * count]);
  std::vector<std::int32_t>& node = out[kNode].attr;
  for (std::size_t t = 0; t < count; ++t) {
    const bool inner = first > 0 || t > 0;
    const std::int32_t* known = known_.data() + t;
    for (std::size_t i = 0; i < all; ++i, known += count) {
      const std::int32_t made = *known;
      if (made == KeyMap::kUnset) {
        apply(i, keys_[i * count + t], tokens, first + static_cast<std::int64_t>(t), out);
      } else if (!node_[i]) {
        emit(i, made, inner, out);
      } else if (made != kUnknown) {
        node.push_back(made);
      }
    }
    for (Attributes* one : used) one->close();
  }
  for (Attributes* one : used) settle(*one, count, static_cast<int>(one - out.data()));
  for (std::vector<Asked>& asked : asked_) asked.clear();
  text_.clear();
}

void Expander::prepare(std::size_t i, std::int64_t first, std::size_t count,
                       std::uint64_t* keys) const {
  const Memo& memo = memos_[i];
  if (!memo.near || memo.fields.empty()) {
    std::fill_n(keys, count, kSlow);
    return;
  }
  const auto code_of = [&](std::size_t f) {
    const Part& field = *memo.fields[f];
    return codes_[field.view].data() + kPads + first + field.offset;
  };
  const std::int32_t* code = code_of(0);
  for (std::size_t t = 0; t < count; ++t)
    keys[t] = fits(code[t], memo.most) ? static_cast<std::uint64_t>(code[t]) : kSlow;
  const int shift = memo.bits & 63;
  for (std::size_t f = 1; f < memo.fields.size(); ++f) {
    code = code_of(f);
    for (std::size_t t = 0; t < count; ++t)
      keys[t] = fits(code[t], memo.most) & (keys[t] != kSlow)
                    ? keys[t] << shift | static_cast<std::uint64_t>(code[t])
                    : kSlow;
  }
  if (memo.fields.size() > 1)
    for (std::size_t t = 0; t < count; ++t) memo.packed.prefetch(keys[t]);
}

void Expander::remember(std::size_t i, const std::uint64_t* keys, std::size_t count,
                        std::int32_t* known) const {
  const Memo& memo = memos_[i];
  if (memo.fields.size() > 1) return memo.packed.find(keys, count, known);
  const std::int32_t* direct = memo.direct.data();
  const std::size_t size = memo.direct.size();
  for (std::size_t t = 0; t < count; ++t)
    known[t] = keys[t] < size ? direct[keys[t]] : KeyMap::kUnset;
}

void Expander::apply(std::size_t i, std::uint64_t key, const Tokens& tokens, std::int64_t t,
                     Expanded& out) {
  Memo& memo = memos_[i];
  if (templates_[i].kind == kEdge && t == 0) return;
  if (memo.fields.empty()) {
    if (memo.plain == KeyMap::kUnset) memo.plain = make(i, nullptr);
    return emit(i, memo.plain, t > 0, out);
  }
  if (key == kSlow) {
    chosen_.assign(memo.fields.size(), 0);
    choices_ = 0;
    return choose(i, 0, tokens, t, out);
  }
  std::int32_t& made = memo.fields.size() == 1 ? direct(memo, key) : memo.packed[key];
  if (made == KeyMap::kUnset)
    made = memo.ask && text_.size() < kMostAsked ? ask(i, key, t) : make_near(i, t);
  emit(i, made, t > 0, out);
}

std::int32_t& Expander::direct(Memo& memo, std::uint64_t code) {
  if (code >= memo.direct.size()) memo.direct.resize(code + code / 2 + 64, KeyMap::kUnset);
  return memo.direct[code];
}

std::int32_t Expander::ask(std::size_t i, std::uint64_t key, std::int64_t t) {
  near_codes(i, t);
  const std::size_t begin = text_.size();
  append_text(i, chosen_.data());
  const std::string_view name = text_.from(begin);
  const int naming = naming_of(templates_[i].kind);
  const AlphabetView& names = std::get<AlphabetView>(names_[naming]);
  std::vector<Asked>& asked = asked_[naming];
  asked.push_back({i, key, begin, name.size(), names.hash(name)});
  return kAsked - static_cast<std::int32_t>(asked.size() - 1);
}

void Expander::settle(Attributes& of, std::size_t positions, int kind) {
  const std::vector<Asked>& asked = asked_[naming_of(kind)];
  if (asked.empty()) return;
  look_up_asked(naming_of(kind));
  const std::size_t first = of.ptr.size() - 1 - positions;
  std::int64_t from = of.ptr[first], into = from;
  std::int32_t* attr = of.attr.data();
  for (std::size_t p = first + 1; p < of.ptr.size(); ++p) {
    for (const std::int64_t end = of.ptr[p]; from < end; ++from) {
      const std::int32_t made = attr[from], id = made <= kAsked ? found_[kAsked - made] : made;
      attr[into] = id;
      into += id >= 0;
    }
    of.ptr[p] = into;
  }
  of.attr.resize(static_cast<std::size_t>(into));
}

void Expander::look_up_asked(int naming) {
  const std::vector<Asked>& asked = asked_[naming];
  found_.resize(asked.size());
  find_many(
      std::get<AlphabetView>(names_[naming]), asked.size(),
      [&](std::size_t a) {
        return std::pair(std::string_view(text_.data() + asked[a].begin, asked[a].size),
                         asked[a].hash);
      },
      [&](std::size_t a, std::int32_t id) { found_[a] = id < 0 ? kUnknown : id; });
  for (std::size_t a = 0; a < asked.size(); ++a) {
    Memo& memo = memos_[asked[a].tmpl];
    (memo.fields.size() == 1 ? direct(memo, asked[a].key) : memo.packed[asked[a].key]) = found_[a];
  }
}

std::int32_t Expander::make_near(std::size_t i, std::int64_t t) {
  near_codes(i, t);
  return make(i, chosen_.data());
}

void Expander::near_codes(std::size_t i, std::int64_t t) {
  const std::vector<const Part*>& fields = memos_[i].fields;
  chosen_.resize(fields.size());
  for (std::size_t f = 0; f < fields.size(); ++f)
    chosen_[f] = codes_[fields[f]->view][kPads + t + fields[f]->offset];
}

void Expander::choose(std::size_t i, std::size_t f, const Tokens& tokens, std::int64_t t,
                      Expanded& out) {
  Memo& memo = memos_[i];
  if (f == memo.fields.size()) return emit(i, look_up(i), t > 0, out);
  const Part& field = *memo.fields[f];
  const View& view = views_[field.view];
  const std::int64_t at = field.place(t, length_);
  if (at < 0 || at >= length_) {
    const std::int64_t distance = at < 0 ? -at : at - length_ + 1;
    chosen_[f] =
        static_cast<std::int32_t>((distance < kPads ? distance : kPads) - 1 + (at < 0 ? 0 : kPads));
    return choose(i, f + 1, tokens, t, out);
  }
  const std::int32_t token = tokens.column[view.column][begin_ + at];
  for (std::int64_t k = view.ptr[token]; k < view.ptr[token + 1]; ++k) {
    count_choice(choices_, templates_[i].parts.front().literal);
    chosen_[f] = 2 * kPads + view.list[k];
    choose(i, f + 1, tokens, t, out);
  }
}

std::int32_t Expander::look_up(std::size_t i) {
  Memo& memo = memos_[i];
  if (memo.fields.size() == 1) {
    std::int32_t& made = direct(memo, static_cast<std::uint64_t>(chosen_[0]));
    if (made == KeyMap::kUnset) made = make(i, chosen_.data());
    return made;
  }
  std::uint64_t state = static_cast<std::uint64_t>(chosen_[0]);
  for (std::size_t f = 1; f < memo.fields.size(); ++f) {
    std::int32_t& next = memo.chain[f - 1][state << 32 | static_cast<std::uint32_t>(chosen_[f])];
    if (next == KeyMap::kUnset)
      next = f + 1 == memo.fields.size() ? make(i, chosen_.data()) : memo.states++;
    state = static_cast<std::uint64_t>(next);
  }
  return static_cast<std::int32_t>(state);
}

void Expander::emit(std::size_t i, std::int32_t made, bool inner, Expanded& out) const {
  if (templates_[i].both) {
    if (made_[made].node >= 0) out[kNode].attr.push_back(made_[made].node);
    if (inner && made_[made].edge >= 0) out[kEdge].attr.push_back(made_[made].edge);
  } else if (made != kUnknown && (inner || templates_[i].kind != kEdge)) {
    out[templates_[i].kind].attr.push_back(made);
  }
}

std::int32_t Expander::make(std::size_t t, const std::int32_t* codes) {
  const std::size_t begin = text_.size();
  append_text(t, codes);
  const std::string_view name = text_.from(begin);
  const Template& made = templates_[t];
  if (costs_.kept(made)) check_name(name);
  const std::int32_t id = id_of(names_[naming_of(made.kind)], name);
  const std::int32_t edge = made.both ? id_of(names_[kEdge], name) : -1;
  text_.cut(begin);
  if (!made.both) return id < 0 ? kUnknown : id;
  made_.push_back({id, edge});
  return static_cast<std::int32_t>(made_.size() - 1);
}

void Expander::append_text(std::size_t t, const std::int32_t* codes) {
  for (const Part& part : templates_[t].parts) {
    text_.append(part.literal);
    if (part.view >= 0) append_value(*codes++, views_[part.view]);
  }
}

void Expander::append_value(std::int32_t code, const View& view) {
  if (code >= 2 * kPads) {
    text_.append(view.values.at(code - 2 * kPads));
    return;
  }
  text_.append(padding_of(view, padding_, code < kPads, code % kPads + 1));
}

}  // namespace crfkit
