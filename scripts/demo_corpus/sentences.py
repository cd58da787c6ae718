"""Random whole sentences: questions, commands, relative and subordinate clauses, coordination."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .chooser import VERB_POOLS
from .clauses import SIMPLE_FRAMES, Clauses
from .lexicon import Verb
from .tree import Clause, Complement, Complex, Joined, NounPhrase, Pronoun, Sentence, Word, last_heavy

KINDS = {  # sentence makers with their share, by the length that is wanted
    "short": {
        "statement": 0.5, "yes_no_question": 0.13, "wh_question": 0.09, "who_question": 0.05,
        "what_question": 0.05, "which_question": 0.06, "imperative": 0.12,
    },
    "middle": {
        "statement": 0.36, "that_clause": 0.09, "whether_clause": 0.04, "indirect_question": 0.04,
        "infinitive_clause": 0.08, "purpose_clause": 0.06, "complex": 0.15, "joined": 0.07,
        "yes_no_question": 0.03, "wh_question": 0.02, "which_question": 0.02, "imperative": 0.02,
        "who_question": 0.02,
    },
    "long": {
        "complex": 0.4, "joined": 0.34, "that_clause": 0.09, "statement": 0.06, "purpose_clause": 0.06,
        "indirect_question": 0.02, "whether_clause": 0.03,
    },
}  # fmt: skip
CONJUNCTIONS = {
    "because": 0.18, "although": 0.13, "if": 0.12, "when": 0.13, "while": 0.09, "before": 0.09, "after": 0.08,
    "until": 0.06, "as soon as": 0.07, "so that": 0.05,
}  # fmt: skip
QUANTIFIERS = ("every", "all", "name")
COMMON_TENSES = ("present", "past", "past", "perfect")


class Sentences(Clauses):
    length = "middle"

    def sentence(self, length: str) -> tuple[Sentence, str]:
        """A tree and its end mark."""
        self.begin()
        self.length = length
        self.rich = {"short": 0.05, "middle": 0.35, "long": 0.8}[length] * (0.5 + self.random())
        kind = self.weighted(KINDS[length])
        self.mark(kind)
        maker: Callable[[], Sentence] = getattr(self, kind)
        return maker(), "?" if "question" in kind and kind != "indirect_question" else (
            "." if kind != "imperative" else "!"
        )

    def full_clause(self, tense: str = "") -> Clause:
        """A statement that may hold relative clauses."""
        clause = self.clause(tense=tense)
        if self.length == "short":
            return clause
        if isinstance(clause.subject, NounPhrase) and self.chance(0.12 + 0.12 * self.rich):
            clause = replace(clause, subject=self.with_relative(clause.subject))
        ended = clause.indirect or clause.place or clause.companion or clause.target or clause.times or clause.adverb
        if isinstance(clause.direct, NounPhrase) and not ended and self.chance(0.25 + 0.2 * self.rich):
            clause = replace(clause, direct=self.with_relative(clause.direct))
        return clause

    def statement(self) -> Clause:
        clause = self.full_clause()
        if clause.times and self.chance(0.45):
            self.mark("fronted_time")
            return replace(clause, front="time")
        if clause.place and not clause.times and self.chance(0.3):
            self.mark("fronted_place")
            return replace(clause, front="place")
        if self.chance(0.2):
            self.mark("sentence_adverb")
            return replace(clause, opener=Word(self.new(), self.phrase("sentence")))
        return clause

    def with_relative(self, np: NounPhrase) -> NounPhrase:
        """The phrase with a relative clause, if a verb fits and nothing else follows the noun."""
        if np.owner or np.place or np.det in QUANTIFIERS:
            return np
        kind = np.noun.kind
        pool = [v for frame in ("acc", "dat", "prep") for v in VERB_POOLS[frame] if kind in v.kinds and "…" not in v.zh]
        if kind == "person" and self.chance(0.6):
            relative = self.subject_relative()
            self.mark("relative_subject")
        elif pool:
            relative = self.object_relative(self.lexeme(pool))
            self.mark("relative_object")
        else:
            return np
        if relative.gap == "subject":
            relative = replace(relative, subject=replace(np, relative=None))
        return replace(np, relative=relative)

    def subject_relative(self) -> Clause:
        frame = self.weighted(SIMPLE_FRAMES)
        verbs = [v for v in VERB_POOLS[frame] if frame != "intr" or "animal" not in v.kinds]
        clause = self.tensed(self.lexeme(verbs), self.one_of(COMMON_TENSES))
        clause = self.with_objects(clause)
        if clause.tense == "past" and not last_heavy(clause.direct) and self.chance(0.25):
            clause = replace(clause, times=self.times("past"))
        return replace(clause, gap="subject")

    def object_relative(self, verb: Verb) -> Clause:
        clause = replace(self.tensed(verb, self.one_of(COMMON_TENSES)), subject=self.person(), gap="direct")
        if clause.tense == "past" and self.chance(0.3):
            clause = replace(clause, times=self.times("past"))
        return clause

    def asked(self, frames: dict[str, float] = SIMPLE_FRAMES) -> Clause:
        """A clause that can become a question."""
        while True:
            clause = self.clause(frames)
            quantified = isinstance(clause.subject, NounPhrase) and clause.subject.det in ("every", "all")
            if clause.modal not in ("must", "be allowed to") and not clause.negation and not quantified:
                return clause

    def yes_no_question(self) -> Clause:
        clause = self.asked({**SIMPLE_FRAMES, "adjective": 0.08, "passive": 0.05, "existential": 0.04})
        return replace(clause, mood="question", question_id=self.new())

    def wh_question(self) -> Clause:
        word = self.one_of(("where", "when", "why", "how"))
        self.mark(f"{word}_question")
        frames = {name: w for name, w in SIMPLE_FRAMES.items() if word != "where" or name not in ("move", "ditr")}
        clause = replace(self.asked(frames), mood="question", question=word, question_id=self.new())
        if word == "when":
            clause = replace(clause, times=())
        if word in ("where", "how"):
            clause = replace(clause, place=None, adverb=None)
        return clause

    def who_question(self) -> Clause:
        clause = replace(self.asked(), subject=Pronoun(self.new(), "who"))
        if clause.verb.kinds == ("animal",) and clause.verb.frame == "intr":
            return self.who_question()
        return replace(clause, mood="question", question="subject", question_id=self.new())

    def what_question(self) -> Clause:
        """What is asked for; no person, and no preposition (German would say worauf)."""
        clause = self.asked({"acc": 1.0})
        while clause.verb.kinds == ("person",):
            clause = self.asked({"acc": 1.0})
        direct = Pronoun(self.new(), "what")
        return replace(clause, direct=direct, mood="question", question="direct", question_id=self.new())

    def which_question(self) -> Clause:
        """Which book (how many books) did she read?"""
        clause = self.asked({"acc": 1.0})
        noun = self.noun_phrase(*clause.verb.kinds, plain=True)
        many = noun.plural
        self.mark("how_many_question" if many else "which_question")
        direct = replace(noun, det="how many" if many else "which", number=0, owner=None)
        if noun.noun.plural_de is None:
            return self.which_question()
        return replace(clause, direct=direct, mood="question", question="direct", question_id=self.new())

    def imperative(self) -> Clause:
        frame = self.weighted({"acc": 0.6, "dat": 0.1, "prep": 0.1, "ditr": 0.12, "move": 0.08})
        verb = self.lexeme([v for v in VERB_POOLS[frame] if not v.state])
        clause = self.with_objects(Clause(self.new(), verb, "present", mood="imperative", question_id=self.new()))
        if isinstance(clause.direct, Pronoun):
            clause = replace(clause, direct=self.noun_phrase("person"))
        definite = isinstance(clause.direct, NounPhrase) and clause.direct.det in (
            "the",
            "this",
            "my",
            "his",
            "her",
        )
        if definite and self.chance(0.25):
            self.mark("negated_imperative")
            return replace(clause, negation=self.new())
        if self.chance(0.3):
            clause = replace(clause, adverb=Word(self.new(), self.phrase("manner")))
        return clause

    def reporting(self, frame: str) -> Clause:
        """Somebody says, tries …: a clause that waits for its complement."""
        verb = self.lexeme(VERB_POOLS[frame])
        clause = Clause(self.new(), verb, self.one_of(("present", "past")), subject=self.person())
        if isinstance(clause.subject, NounPhrase) and self.chance(0.3 * self.rich):
            clause = replace(clause, subject=self.with_relative(clause.subject))
        return clause

    def that_clause(self) -> Clause:
        return replace(self.reporting("that"), complement=Complement(self.new(), "that", self.full_clause()))

    def whether_clause(self) -> Clause:
        return replace(self.reporting("whether"), complement=Complement(self.new(), "whether", self.full_clause()))

    def indirect_question(self) -> Clause:
        asked = self.wh_question()
        embedded = replace(asked, mood="statement", question="")
        inner = replace(embedded, question=asked.question, mood="embedded")
        return replace(self.reporting("whether"), complement=Complement(asked.question_id, asked.question, inner))

    def infinitive(self) -> Clause:
        """A clause without subject and tense."""
        frame = self.weighted({"acc": 0.55, "dat": 0.1, "move": 0.1, "ditr": 0.12, "prep": 0.13})
        verb = self.lexeme([v for v in VERB_POOLS[frame] if not v.state])
        clause = self.with_objects(Clause(self.new(), verb, "present"))
        if isinstance(clause.direct, Pronoun):
            clause = replace(clause, direct=self.noun_phrase("person"))
        if self.rich > 0.4 and not clause.target and self.chance(0.3):
            clause = replace(clause, place=self.location())
        return clause

    def infinitive_clause(self) -> Clause:
        clause = self.reporting("inf")
        if clause.tense == "present" and self.chance(0.3):
            clause = replace(clause, tense="future")
        return replace(clause, complement=Complement(self.new(), "infinitive", self.infinitive()))

    def purpose_clause(self) -> Clause:
        clause = self.action(self.weighted(SIMPLE_FRAMES), self.one_of(("past", "present", "future", "perfect")))
        return replace(clause, complement=Complement(self.new(), "purpose", self.infinitive()))

    def complex(self) -> Complex:
        conjunction = self.weighted(CONJUNCTIONS)
        self.mark(f"{conjunction.replace(' ', '_')}_clause")
        tense = self.one_of(("past", "past", "present"))
        if conjunction in ("because", "although"):
            main, sub = self.full_clause(), self.full_clause()
        elif conjunction == "if":
            main, sub = self.full_clause(self.one_of(("future", "present"))), self.full_clause("present")
        elif conjunction == "after":
            sub = self.event_clause("pluperfect")
            main = self.full_clause("past")
        elif conjunction == "so that":
            main = self.full_clause(tense)
            sub = self.action(self.weighted(SIMPLE_FRAMES), tense)
            sub = replace(sub, modal="can", modal_id=self.new(), adverb=None, times=())
        else:
            main, sub = self.full_clause(tense), self.event_clause(tense)
        first = conjunction not in ("until", "so that") and self.chance(0.5)
        return Complex(self.new(), conjunction, main, sub, first)

    def event_clause(self, tense: str) -> Clause:
        """Something that happens at a time: no state, no negation."""
        while True:
            clause = self.action(self.weighted(SIMPLE_FRAMES), tense)
            if not clause.negation:
                return replace(clause, times=())

    def joined(self) -> Joined:
        """Two main clauses, three in a long sentence; in a long one the last may be complex."""
        parts: list[Clause | Complex] = [self.full_clause()]
        if self.length == "long" and self.chance(0.4):
            parts.append(self.complex())
        else:
            parts += [self.full_clause() for _ in range(2 if self.length == "long" and self.chance(0.4) else 1)]
        return Joined(self.new(), self.one_of(("and", "and", "but", "or")), tuple(parts))
