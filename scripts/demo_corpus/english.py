"""English sentences from trees."""

from __future__ import annotations

from . import english_forms as forms
from .lexicon import THERE, add_s, present_participle
from .numerals import english_clock, english_number, english_ordinal
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
OBJECTS = {"I": "me", "he": "him", "she": "her", "we": "us", "they": "them"}
TO_VERBS = ("donate", "recommend", "hand")


def modifier(m: Modifier, comparative: bool = False) -> Tokens:
    degree = say(m.degree.lex.en, m.degree.id) if m.degree else []
    return degree + say(m.lex.en_comparative if comparative else m.lex.en, m.id)


def nominal(np: Nominal, role: str = "subject") -> Tokens:
    match np:
        case Named():
            return say(np.lex.en, np.id)
        case Pronoun():
            return say(np.word if role == "subject" else OBJECTS.get(np.word, np.word), np.id)
        case Group():
            tokens = nominal(np.members[0], role)
            for index, member in enumerate(np.members[1:], 1):
                tokens += say("and", np.id) if index == len(np.members) - 1 else COMMA
                tokens += nominal(member, role)
            return tokens
        case NounPhrase():
            return noun_phrase(np)


def noun_phrase(np: NounPhrase) -> Tokens:
    body: Tokens = []
    for m in np.modifiers:
        body += modifier(m)
    body += say(np.noun.en_plural if np.plural else np.noun.en, np.id)
    tokens = determiner(np, body[0].text) + body
    if np.owner and np.det != "name":
        tokens += say("of", np.owner.id) + nominal(np.owner)
    if np.place:
        tokens += adjunct(np.place)
    if np.relative:
        pronoun = "who" if np.noun.kind == "person" and np.relative.gap == "subject" else "that"
        tokens += say(pronoun, -np.relative.verb_id) + clause(np.relative)
    return tokens


def determiner(np: NounPhrase, following: str) -> Tokens:
    match np.det:
        case "":
            return []
        case "a":
            return say(forms.article(following), np.det_id)
        case "number":
            return say(english_number(np.number), np.det_id)
        case "name":
            assert isinstance(np.owner, Named)
            return say(f"{np.owner.lex.en}'s", np.owner.id)
        case "this":
            return say("these" if np.plural else "this", np.det_id)
        case _:
            return say(np.det, np.det_id)


def adjunct(a: Adjunct) -> Tokens:
    return say(a.preposition, a.id) + nominal(a.object, "object")


def time(t: Time) -> Tokens:
    match t:
        case Word():
            return say(t.lex.en, t.id)
        case Clock():
            return say(f"at {english_clock(t.hour, t.minute)}", t.id)
        case Day(day=0):
            return say(f"{'in' if t.lex.kind == 'month' else 'on'} {t.lex.en}", t.id)
        case Day():
            return say(f"on the {english_ordinal(t.day)} of {t.lex.en}", t.id)
        case Adjunct():
            return adjunct(t)


def verbs(c: Clause, person: str, inverted: bool) -> tuple[Tokens, Tokens]:
    """The finite auxiliary (may be empty) and the rest of the verb group."""
    chain: list[tuple[str, str, int]] = []  # auxiliary, the form it asks of the next verb, node
    if c.modal == "be allowed to":
        chain.append(("be", "allowed to", c.modal_id))
    elif c.modal:
        chain.append((c.modal, "base", c.modal_id))
    if c.tense in ("perfect", "pluperfect"):
        chain.append(("have", "participle", c.verb_id))
    if c.tense == "progressive":
        chain.append(("be", "ing", c.verb_id))
    if c.passive:
        chain.append(("be", "participle", c.verb_id))
    past = c.tense in ("past", "pluperfect")
    if c.tense == "future":
        chain.insert(0, ("will", "base", c.verb_id))
    if not chain and c.verb.base != "be" and (c.negation or inverted):
        chain.append(("do", "base", c.verb_id))
    if c.modal == "want to" and (c.negation or inverted):
        chain.insert(0, ("do", "base", c.verb_id))
    if not chain:
        main = say(f"{main_finite(c, past, person)} {c.verb.particle}", c.verb_id)
        return (main, []) if c.verb.base == "be" else ([], main)
    tokens: Tokens = []
    form = ""
    for word, asks, node in chain:
        tokens += say(auxiliary(word, form, past, person), node)
        if asks == "allowed to":
            tokens += say("allowed to", node)
        form = "base" if asks == "allowed to" else asks
    verb = {"base": c.verb.base, "participle": c.verb.participle, "ing": present_participle(c.verb.base)}[form]
    tokens += say(f"{verb} {c.verb.particle}", c.verb_id)
    if chain[0][0] == "want to":
        return [], tokens
    return tokens[:1], tokens[1:]


def auxiliary(word: str, form: str, past: bool, person: str) -> str:
    if form == "":
        return "will" if word == "will" else forms.finite(word, past, person)
    nonfinite = {"be": ("be", "been"), "have": ("have", "had")}
    return nonfinite[word][form == "participle"] if word in nonfinite else word


def main_finite(c: Clause, past: bool, person: str) -> str:
    if c.verb.base == "be":
        return forms.finite("be", past, person)
    if past:
        return c.verb.past
    if c.verb.base == "have":
        return forms.HAVE[person]
    return add_s(c.verb.base) if person == "one" else c.verb.base


def clause(c: Clause) -> Tokens:
    if c.mood == "imperative":
        return imperative(c)
    direct = nominal(c.direct, "object") if c.direct and c.gap != "direct" else []
    asked = c.mood == "question" and isinstance(c.subject, Pronoun) and c.subject.word in ("who", "what")
    asked = asked or (c.mood == "question" and c.question == "subject")
    inverted = c.mood == "question" and not asked
    start: Tokens = []
    if c.mood == "question" and c.question in ("where", "when", "why", "how"):
        start = say(c.question, c.question_id)
    elif c.question == "direct":
        start, direct = direct, []
    subject = subject_of(c)
    person = person_of(c.direct) if c.verb == THERE else person_of(c.subject)
    aux, rest = verbs(c, person, inverted)
    head = aux + subject if inverted else subject + aux
    negation = say("not", c.negation) if c.negation else []
    early = say(c.adverb.lex.en, c.adverb.id) if c.adverb and c.adverb.lex.kind == "frequency" else []
    tokens = opening(c) + start + head + negation + early + rest
    return tokens + objects(c, direct) + ending(c)


def objects(c: Clause, direct: Tokens) -> Tokens:
    """give him a book, but donate a book to him."""
    indirect = nominal(c.indirect, "object") if c.indirect else []
    if c.indirect and c.verb.base in TO_VERBS:
        return direct + say("to", -c.verb_id) + indirect
    return indirect + direct


def subject_of(c: Clause) -> Tokens:
    if c.verb == THERE:
        return say("there", c.verb_id)
    if c.gap == "subject" or c.subject is None:
        return []
    return nominal(c.subject)


def opening(c: Clause) -> Tokens:
    tokens = say(c.opener.lex.en, c.opener.id) + COMMA if c.opener else []
    if c.front == "time":
        tokens += all_times(c) + COMMA
    if c.front == "place" and c.place:
        tokens += adjunct(c.place) + COMMA
    return tokens


def all_times(c: Clause) -> Tokens:
    return [token for t in c.times for token in time(t)]


def ending(c: Clause) -> Tokens:
    """All that follows the object."""
    tokens = predicate(c.predicate) if c.predicate else []
    if c.adverb and c.adverb.lex.kind == "manner":
        tokens += say(c.adverb.lex.en, c.adverb.id)
    for part in (c.companion, c.target, None if c.front == "place" else c.place):
        tokens += adjunct(part) if part else []
    if c.front != "time":
        tokens += all_times(c)
    return tokens + (complement(c.complement) if c.complement else [])


def predicate(p: Predicate) -> Tokens:
    if p.kind == "noun":
        assert p.standard
        return nominal(p.standard)
    if p.kind == "money":
        return say(english_number(p.count), p.count_id) + say("euros", p.count_id)
    assert p.modifier
    if p.kind == "measure":
        number = say(f"{english_number(p.count)} {'metre' if p.count == 1 else 'metres'}", p.count_id)
        return number + modifier(p.modifier)
    if p.kind == "adjective":
        return modifier(p.modifier)
    assert p.standard
    if p.kind == "comparative":
        return modifier(p.modifier, True) + say("than", p.count_id) + nominal(p.standard, "object")
    return say("as", p.count_id) + modifier(p.modifier) + say("as", p.count_id) + nominal(p.standard, "object")


def complement(c: Complement) -> Tokens:
    if c.kind == "infinitive":
        return say("to", c.clause.verb_id) + infinitive(c.clause)
    if c.kind == "purpose":
        return say("in order to", c.id) + infinitive(c.clause)
    return say(c.kind, c.id) + clause(c.clause)


def infinitive(c: Clause) -> Tokens:
    tokens = say(f"{c.verb.base} {c.verb.particle}", c.verb_id)
    return tokens + objects(c, nominal(c.direct, "object") if c.direct else []) + ending(c)


def imperative(c: Clause) -> Tokens:
    return say("please", c.question_id) + say("do not" if c.negation else "", c.negation) + infinitive(c)


def sentence(s: Sentence) -> Tokens:
    match s:
        case Clause():
            return clause(s)
        case Complex():
            sub = say(s.conjunction, s.id) + clause(s.subordinate)
            return sub + COMMA + clause(s.main) if s.first else clause(s.main) + sub
        case Joined():
            tokens = sentence(s.parts[0])
            for part in s.parts[1:]:
                tokens += COMMA + say(s.conjunction, s.id) + sentence(part)
            return tokens
