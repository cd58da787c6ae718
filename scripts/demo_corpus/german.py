"""German sentences from trees."""

from __future__ import annotations

from dataclasses import replace

from . import german_forms as forms
from .lexicon import THERE
from .numerals import german_clock, german_number, german_ordinal
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
    person_of,
)

COMMA = [Token(",")]


def gender_of(np: NounPhrase) -> str:
    return "p" if np.plural else np.noun.gender


def nominal(np: Nominal, case: str) -> Tokens:
    match np:
        case Named():
            return say(np.lex.de, np.id)
        case Pronoun():
            return say(forms.PRONOUNS[np.word][forms.CASES.index(case)], np.id)
        case Group():
            tokens = nominal(np.members[0], case)
            for index, member in enumerate(np.members[1:], 1):
                tokens += say("und", np.id) if index == len(np.members) - 1 else COMMA
                tokens += nominal(member, case)
            return tokens
        case NounPhrase():
            return determiner(np, case) + after_determiner(np, case)


def determiner(np: NounPhrase, case: str) -> Tokens:
    match np.det:
        case "":
            return []
        case "number":
            return say(german_number(np.number), np.det_id)
        case "name":
            assert isinstance(np.owner, Named)
            return say(f"{np.owner.lex.de}s", np.owner.id)
        case _:
            return say(forms.determiner(np.det, gender_of(np), case), np.det_id)


def modifier(m: Modifier, det: str, gender: str, case: str) -> Tokens:
    degree = say(m.degree.lex.de, m.degree.id) if m.degree else []
    return degree + say(forms.adjective(m.lex.de, det, gender, case), m.id)


def after_determiner(np: NounPhrase, case: str) -> Tokens:
    tokens: Tokens = []
    for m in np.modifiers:
        tokens += modifier(m, np.det, gender_of(np), case)
    tokens += say(forms.noun(np.noun, np.plural, case), np.id)
    if np.owner and np.det != "name":
        owner = nominal(np.owner, "gen")
        tokens += [Token(owner[0].text, owner[0].ids | {np.owner.id}), *owner[1:]]
    if np.place:
        tokens += adjunct(np.place)
    return tokens + (relative(np, np.relative) if np.relative else [])


def relative(np: NounPhrase, c: Clause) -> Tokens:
    case = "nom" if c.gap == "subject" else c.verb.case
    word = forms.THE[gender_of(np)][case]
    if np.plural and case == "dat":
        word = "denen"
    start = say(c.verb.preposition, c.verb_id) if c.gap == "direct" and c.verb.preposition else []
    return COMMA + start + say(word, -c.verb_id) + clause(c, "last") + COMMA


def governed(preposition: str, case: str, np: Nominal, node: int) -> Tokens:
    """Preposition and object, contracted (im, zum) where German does."""
    if isinstance(np, NounPhrase) and np.det == "the" and not np.plural:
        short = forms.CONTRACTIONS.get((preposition, forms.THE[np.noun.gender][case]))
        if short:
            return say(short, node, np.det_id) + after_determiner(np, case)
    return say(preposition, node) + nominal(np, case)


def adjunct(a: Adjunct) -> Tokens:
    if a.preposition == "to":
        return governed("nach" if isinstance(a.object, Named) else "zu", "dat", a.object, a.id)
    preposition, case = forms.PREPOSITIONS[a.preposition]
    return governed(preposition, case, a.object, a.id)


def time(t: Time) -> Tokens:
    match t:
        case Word():
            return say(t.lex.de, t.id)
        case Clock():
            return say(f"um {german_clock(t.hour, t.minute)}", t.id)
        case Day(day=0):
            return say(f"{'im' if t.lex.kind == 'month' else 'am'} {t.lex.de}", t.id)
        case Day():
            return say(f"am {german_ordinal(t.day)}en {t.lex.de}", t.id)
        case Adjunct():
            return adjunct(t)


def verbs(c: Clause, person: str) -> tuple[Tokens, Tokens]:
    """The finite verb, and what closes the clause (prefix, participle, infinitive)."""
    verb, node = c.verb, c.verb_id
    was = c.tense in ("past", "pluperfect")
    closing = say(f"{verb.participle_de} werden" if c.passive else verb.prefix + verb.infinitive, node)
    if c.modal:
        return say(forms.modal(c.modal, was, person), c.modal_id), closing
    if c.tense == "future":
        return say(forms.WERDEN[person], node), closing
    if c.tense in ("perfect", "pluperfect"):
        finite = auxiliary("sein" if c.passive else verb.auxiliary, was, person)
        return say(finite, node), say(f"{verb.participle_de}{' worden' if c.passive else ''}", node)
    if c.passive:
        return say(forms.past("wurde", person) if was else forms.WERDEN[person], node), say(verb.participle_de, node)
    finite = forms.past(verb.past_de, person) if was else forms.present(verb, person)
    return say(finite, node), say(verb.prefix, node)


def auxiliary(name: str, was: bool, person: str) -> str:
    if was:
        return forms.past("war" if name == "sein" else "hatte", person)
    return (forms.SEIN if name == "sein" else forms.HABEN)[person]


def clause(c: Clause, order: str = "second") -> Tokens:
    """`order`: the place of the finite verb: "second", "first", or "last" (subordinate clauses)."""
    if c.mood == "imperative":
        return imperative(c)
    finite, closing = verbs(c, "one" if c.verb == THERE else person_of(c.subject))
    subject = say("es", c.verb_id) if c.verb == THERE else nominal(c.subject, "nom") if c.subject else []
    subject = [] if c.gap == "subject" else subject
    tail = complement(c.complement) if c.complement else []
    if order == "last":
        return subject + middle(c) + last(c, finite, closing) + tail
    front, c = fronted(c)
    if front or order == "first" or (c.mood == "question" and c.question != "subject"):
        return front + finite + subject + middle(c) + closing + tail
    return subject + finite + middle(c) + closing + tail


def last(c: Clause, finite: Tokens, closing: Tokens) -> Tokens:
    simple = not c.passive and not c.modal and c.tense in ("present", "past", "progressive")
    if simple and closing:
        return say(closing[0].text + finite[0].text, c.verb_id)
    return closing + finite


def fronted(c: Clause) -> tuple[Tokens, Clause]:
    """The words before the finite verb in place of the subject, and the clause without them."""
    if c.question in ("where", "when", "why", "how"):
        return say(forms.QUESTIONS[c.question], c.question_id), c
    if c.question == "direct" and c.direct:
        return direct_object(c, c.direct), replace(c, direct=None)
    if c.opener:
        return say(c.opener.lex.de, c.opener.id), c
    if c.front == "time":
        return [token for t in c.times for token in time(t)], replace(c, times=())
    if c.front == "place" and c.place:
        return adjunct(c.place), replace(c, place=None)
    return [], c


def direct_object(c: Clause, np: Nominal) -> Tokens:
    if c.verb.preposition:
        return governed(c.verb.preposition, c.verb.case, np, c.verb_id)
    return nominal(np, c.verb.case)


def with_kein(np: Nominal | None, c: Clause) -> Nominal | None:
    """Under negation "a" is kein, and so is nothing before a mass noun."""
    if c.negation and isinstance(np, NounPhrase) and np.det in ("a", "") and not c.verb.preposition:
        return replace(np, det="no", det_id=c.negation)
    return np


def middle(c: Clause) -> Tokens:
    """The part between finite verb and closing: pronouns, times, adverb, objects, nicht, places."""
    direct = with_kein(c.direct, c)
    standard = with_kein(c.predicate.standard, c) if c.predicate else None
    kein = direct is not c.direct or (c.predicate is not None and standard is not c.predicate.standard)
    nicht = say("nicht", c.negation) if c.negation and not kein else []
    objects = direct_object(c, direct) if direct and c.gap != "direct" else []
    tokens: Tokens = []
    if isinstance(direct, Pronoun) and not c.verb.preposition:
        tokens, objects = objects, []
    tokens += [token for t in c.times for token in time(t)]
    tokens += say("gerade", c.verb_id) if c.tense == "progressive" else []
    tokens += say(c.adverb.lex.de, c.adverb.id) if c.adverb else []
    tokens += nominal(c.indirect, "dat") if c.indirect else []
    tokens += nicht + objects if c.verb.preposition else objects + nicht
    for part in (c.companion, c.place, c.target):
        tokens += adjunct(part) if part else []
    return tokens + (predicate(c.predicate, standard) if c.predicate else [])


def predicate(p: Predicate, standard: Nominal | None) -> Tokens:
    if p.kind == "noun":
        assert standard
        return nominal(standard, "nom")
    if p.kind == "money":
        return say(f"{german_number(p.count)} Euro", p.count_id)
    assert p.modifier
    degree = say(p.modifier.degree.lex.de, p.modifier.degree.id) if p.modifier.degree else []
    word = degree + say(p.modifier.lex.de, p.modifier.id)
    if p.kind == "measure":
        return say(f"{german_number(p.count)} Meter", p.count_id) + word
    if p.kind == "adjective":
        return word
    assert standard
    if p.kind == "comparative":
        return say(p.modifier.lex.de_comparative, p.modifier.id) + say("als", p.count_id) + nominal(standard, "nom")
    return say("so", p.count_id) + word + say("wie", p.count_id) + nominal(standard, "nom")


def complement(c: Complement) -> Tokens:
    if c.kind in ("infinitive", "purpose"):
        um = say("um", c.id) if c.kind == "purpose" else []
        zu = say(forms.zu_infinitive(c.clause.verb), c.clause.verb_id)
        return COMMA + um + middle(c.clause) + zu + COMMA
    return COMMA + say(forms.QUESTIONS[c.kind], c.id) + clause(c.clause, "last") + COMMA


def imperative(c: Clause) -> Tokens:
    start = say("bitte", c.question_id) + say(f"{c.verb.infinitive} Sie", c.verb_id)
    return start + middle(c) + say(c.verb.prefix, c.verb_id)


def subordinate(s: Complex) -> Tokens:
    word = forms.CONJUNCTIONS.get(s.conjunction)
    if word is None:  # "when": als for one event in the past
        word = "als" if s.subordinate.tense == "past" else "wenn"
    return say(word, s.id) + clause(s.subordinate, "last")


def sentence(s: Sentence) -> Tokens:
    match s:
        case Clause():
            return clause(s)
        case Complex():
            if s.first:
                return subordinate(s) + COMMA + clause(s.main, "first")
            return clause(s.main) + COMMA + subordinate(s) + COMMA
        case Joined():
            tokens = sentence(s.parts[0])
            for part in s.parts[1:]:
                tokens += COMMA + say(forms.CONJUNCTIONS[s.conjunction], s.id) + sentence(part)
            return tokens
