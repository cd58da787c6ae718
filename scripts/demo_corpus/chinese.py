"""Chinese sentences from trees."""

from __future__ import annotations

from dataclasses import replace

from . import chinese_words as words
from .lexicon import HAVE, THERE, Verb
from .numerals import chinese_clock, chinese_number
from .tokens import Token, Tokens, say
from .tree import (
    Adjunct,
    Clause,
    Clock,
    Complement,
    Complex,
    Day,
    Group,
    Joined,
    Modifier,
    Named,
    Nominal,
    NounPhrase,
    Predicate,
    Pronoun,
    Sentence,
    Time,
    Word,
)

COMMA = [Token("，")]


def nominal(np: Nominal, negated: bool = False) -> Tokens:
    match np:
        case Named():
            return say(np.lex.zh, np.id)
        case Pronoun():
            return say(words.PRONOUNS[np.word], np.id)
        case Group():
            tokens = nominal(np.members[0])
            for index, member in enumerate(np.members[1:], 1):
                tokens += say("和", np.id) if index == len(np.members) - 1 else [Token("、")]
                tokens += nominal(member)
            return tokens
        case NounPhrase():
            return noun_phrase(np, negated)


def noun_phrase(np: NounPhrase, negated: bool) -> Tokens:
    """Relative clause, owner, determiner, adjectives, noun; "a" is dropped under negation."""
    tokens = [] if not np.relative else clause(np.relative) + say("的", -np.relative.verb_id)
    if np.owner:
        tokens += nominal(np.owner) + say("的", np.owner.id)
    if np.place:
        tokens += adjunct(np.place)[1:] + say("的", np.place.id)
    tokens += [] if negated and np.det == "a" else determiner(np)
    for m in np.modifiers:
        tokens += degree(m) + say(f"{m.lex.zh}的", m.id)
    people = np.noun.kind == "person" and np.plural and (np.det == "the" or np.det in words.OWNERS)
    return tokens + say(np.noun.zh + ("们" if people else ""), np.id)


def determiner(np: NounPhrase) -> Tokens:
    measure = np.noun.measure
    if np.det == "number":
        return say(chinese_number(np.number, True) + measure, np.det_id)
    if np.det == "the" and np.plural and np.noun.kind != "person":
        return say("那些", np.det_id)
    if np.det == "this" and np.plural:
        return say("这些", np.det_id)
    if np.det in words.COUNTED:
        return say(words.COUNTED[np.det] + ("" if measure == "-" else measure), np.det_id)
    if np.det in words.OWNERS:
        return say(words.OWNERS[np.det], np.det_id)
    if np.det in words.UNCOUNTED:
        return say(words.UNCOUNTED[np.det], np.det_id)
    return []


def degree(m: Modifier) -> Tokens:
    return say(m.degree.lex.zh, m.degree.id) if m.degree else []


def adjunct(a: Adjunct) -> Tokens:
    before, after = words.PREPOSITIONS[a.preposition]
    if isinstance(a.object, Named) and a.preposition == "in":
        after = ""
    return say(before, a.id) + nominal(a.object) + say(after, a.id)


def time(t: Time) -> Tokens:
    match t:
        case Word():
            return say(t.lex.zh, t.id)
        case Clock():
            return say(chinese_clock(t.hour, t.minute), t.id)
        case Day(day=0):
            return say(t.lex.zh, t.id)
        case Day():
            return say(f"{t.lex.zh}{chinese_number(t.day, False)}日", t.id)
        case Adjunct():
            return adjunct(t)


def times(c: Clause) -> Tokens:
    return [token for t in c.times for token in time(t)]


def clause(c: Clause, whether: Tokens | None = None) -> Tokens:
    """`whether`: 是否 of an indirect question, after the subject."""
    if c.mood == "imperative":
        return say("请", c.question_id) + say("不要" if c.negation else "", c.negation) + action(c, bare=True)
    tokens = say(c.opener.lex.zh, c.opener.id) + COMMA if c.opener else []
    purpose = c.complement if c.complement and c.complement.kind == "purpose" else None
    if purpose:
        tokens += say("为了", purpose.id) + action(purpose.clause, bare=True) + COMMA
    if c.verb == THERE:
        return tokens + existence(c)
    if c.front == "time":
        tokens += times(c)
    if c.subject and c.gap != "subject":
        tokens += nominal(c.subject)
    tokens += whether or []
    if c.front != "time":
        tokens += times(c)
    if isinstance(c.subject, NounPhrase) and c.subject.det in ("every", "all"):
        tokens += say("都", c.subject.det_id)
    if c.question in ("when", "why", "how"):
        tokens += say(words.QUESTIONS[c.question], c.question_id)
    tokens += action(c, bare=False)
    if c.mood == "question" and not c.question:
        tokens += say("吗", c.question_id)
    return tokens


def existence(c: Clause) -> Tokens:
    """There is: (time) place 有 what."""
    assert c.direct
    assert c.place
    place = adjunct(c.place)[1:] if c.front != "place" else adjunct(c.place)
    no = say("没", c.negation) if c.negation else []
    return times(c) + place + no + say("有", c.verb_id) + nominal(c.direct, bool(c.negation))


def action(c: Clause, bare: bool) -> Tokens:
    """All from the adverb on. `bare`: an infinitive, without tense and negation."""
    tokens: Tokens = []
    if c.adverb and c.adverb.lex.kind == "frequency":
        tokens += say(c.adverb.lex.zh, c.adverb.id)
    completed = not bare and not c.modal and c.tense in ("past", "perfect") and not c.verb.state
    completed = completed and (not c.gap or (c.gap == "subject" and c.direct is not None))
    tokens += [] if bare else auxiliaries(c)
    tokens += say(words.QUESTIONS["where"], c.question_id) if c.question == "where" else []
    tokens += adjunct(c.place) if c.place else []
    if c.adverb and c.adverb.lex.kind == "manner":
        tokens += say(c.adverb.lex.zh, c.adverb.id)
    if c.companion:
        tokens += adjunct(c.companion)
    if c.predicate:
        return tokens + predicate(c, c.predicate)
    tokens += verb_phrase(c, completed and not c.negation)
    return tokens + (complement(c.complement) if c.complement else [])


def auxiliaries(c: Clause) -> Tokens:
    """Negation, tense and modal before the verb."""
    finished = c.tense in ("past", "perfect") and not c.verb.state and not c.modal
    tokens: Tokens = []
    if c.negation and (c.verb == HAVE or (finished and c.tense == "past")):
        tokens += say("没", c.negation)
    elif c.negation and c.verb.zh[-1] in "见到" and not c.modal and c.tense == "present":
        tokens += say("没", c.negation)  # seeing and finding are results: 没看见
    elif c.negation and c.tense == "perfect":
        tokens += say("还没", c.negation)
    elif c.negation and not c.predicate:
        tokens += say("不", c.negation)
    if c.tense == "perfect" and not c.negation and not c.gap:
        tokens += say("已经", c.verb_id)
    if c.tense == "progressive":
        tokens += say("正在", c.verb_id)
    if c.tense == "future":
        tokens += say("会", c.verb_id)
    if c.modal:
        tokens += say(words.MODALS[c.modal], c.modal_id)
    return tokens


def verb_phrase(c: Clause, completed: bool) -> Tokens:
    """Verb, 了 and objects; 把 where the verb has a complement and the object is definite."""
    verb, node = c.verb, c.verb_id
    done = "了" if completed else ""
    if c.target:
        return say(verb.zh, node) + nominal(c.target.object) + say(done, node)
    if c.direct is None or c.gap == "direct":
        return around(verb, node, done, nominal(c.indirect) if c.indirect else [])
    direct = nominal(c.direct, bool(c.negation))
    if c.indirect:
        if definite(c.direct) and "…" not in verb.zh:
            return say("把", node) + direct + say(verb.zh + done, node) + nominal(c.indirect)
        return around(verb, node, done, nominal(c.indirect)) + direct
    if verb.complement and definite(c.direct):
        return say("把", node) + direct + say(verb.zh + verb.complement + done, node)
    return around(verb, node, done, direct)


def around(verb: Verb, node: int, done: str, object_: Tokens) -> Tokens:
    """The verb with its object: inside it where the verb is split by … (跟…玩), after it otherwise."""
    before, split, after = verb.zh.partition("…")
    if split:
        return say(before, node) + object_ + say(after + done, node)
    complement = verb.complement[:1] if object_ else verb.complement
    return say(verb.zh + complement + done, node) + object_


def definite(np: Nominal) -> bool:
    if isinstance(np, Group):
        return all(definite(member) for member in np.members)
    if isinstance(np, NounPhrase):
        return np.det in ("the", "this", "all", "name") or np.det in words.OWNERS
    return not (isinstance(np, Pronoun) and np.word in ("who", "what"))


def predicate(c: Clause, p: Predicate) -> Tokens:
    no = say("不", c.negation) if c.negation else []
    if p.kind == "noun":
        assert p.standard
        return no + say("是", c.verb_id) + nominal(p.standard, bool(c.negation))
    if p.kind == "money":
        return say("花费", c.verb_id) + say(f"{chinese_number(p.count, True)}欧元", p.count_id)
    assert p.modifier
    word = say(p.modifier.lex.zh, p.modifier.id)
    if p.kind == "measure":
        return say("有", c.verb_id) + say(f"{chinese_number(p.count, True)}米", p.count_id) + word
    if p.kind == "adjective":
        if p.modifier.lex.relational:
            return no + say("是", c.verb_id) + degree(p.modifier) + word + say("的", c.verb_id)
        return no + (degree(p.modifier) or ([] if no else say("很", c.verb_id))) + word
    assert p.standard
    if p.kind == "comparative":
        return no + say("比", p.count_id) + nominal(p.standard) + word
    return no + say("跟", p.count_id) + nominal(p.standard) + say("一样", p.count_id) + word


def complement(c: Complement) -> Tokens:
    if c.kind == "infinitive":
        return action(c.clause, bare=True)
    if c.kind == "purpose":
        return []
    if c.kind == "whether":
        return clause(c.clause, say("是否", c.id))
    return clause(c.clause)


def complex_sentence(s: Complex) -> Tokens:
    before, after, main = words.CONJUNCTIONS[s.conjunction]
    timeless = s.conjunction in ("when", "while", "before", "after") and not s.subordinate.negation
    inner = replace(s.subordinate, tense="present") if timeless else s.subordinate
    sub = say(before, s.id) + clause(inner) + say(after, s.id)
    if s.conjunction in ("until", "so that") and not s.first:
        return clause(s.main) + COMMA + sub
    return sub + COMMA + say(main, s.id) + clause(s.main)


def sentence(s: Sentence) -> Tokens:
    match s:
        case Clause():
            return clause(s)
        case Complex():
            return complex_sentence(s)
        case Joined():
            tokens = sentence(s.parts[0])
            for part in s.parts[1:]:
                tokens += COMMA + say(words.LINKS[s.conjunction], s.id) + sentence(part)
            return tokens
