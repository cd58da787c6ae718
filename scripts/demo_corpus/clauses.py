"""Random clauses with one verb: what happens, to whom, where and when."""

from __future__ import annotations

from dataclasses import replace

from .chooser import ADJECTIVE_POOLS, NOUN_POOLS, VERB_POOLS
from .lexicon import BE, COST, HAVE, PREFIXED, THERE, Verb
from .noun_phrases import ADJECTIVE_CODES, COUNTABLE, NounPhrases, noun_pool
from .tree import Adjunct, Clause, Modifier, Named, NounPhrase, Predicate, Pronoun, Word, last_heavy

FRAMES = {
    "acc": 0.42, "dat": 0.06, "prep": 0.08, "intr": 0.13, "move": 0.07, "ditr": 0.07, "passive": 0.06,
    "adjective": 0.12, "profession": 0.02, "comparative": 0.03, "equative": 0.02, "existential": 0.04,
    "possession": 0.07, "price": 0.01, "measure": 0.01,
}  # fmt: skip
SIMPLE_FRAMES = {name: FRAMES[name] for name in ("acc", "dat", "prep", "intr", "move", "ditr")}
TENSES = {"present": 0.24, "past": 0.36, "perfect": 0.14, "future": 0.13, "modal": 0.1, "progressive": 0.04}
DESCRIBED = (
    "animal",
    "thing",
    "food",
    "drink",
    "clothes",
    "text",
    "place",
    "vehicle",
    "abstract",
    "abstract",
    "thing",
)
NAMES = {
    "acc": "transitive", "dat": "dative_object", "prep": "prepositional_object", "intr": "intransitive",
    "move": "motion", "ditr": "ditransitive",
}  # fmt: skip


class Clauses(NounPhrases):
    def clause(self, frames: dict[str, float] = FRAMES, tense: str = "") -> Clause:
        """A statement; with adverbs, times and places as `rich` allows."""
        frame = self.weighted(frames)
        maker = {
            "passive": self.passive,
            "adjective": self.adjective,
            "profession": self.profession,
            "comparative": self.comparison,
            "equative": self.comparison,
            "existential": self.existential,
            "possession": self.possession,
            "price": self.price,
            "measure": self.measure,
        }.get(frame)
        if maker is None:
            return self.action(frame, tense)
        return maker(frame, tense)

    def tensed(self, verb: Verb, tense: str) -> Clause:
        """A clause of just verb, tense and modal."""
        tense = tense or self.weighted(TENSES)
        if verb.state and tense == "progressive":
            tense = "past"
        modal = ""
        if tense == "modal":
            self.mark("modal")
            tense = self.one_of(("present", "present", "past"))
            modal = self.one_of(("can", "must", "want to", "be allowed to", "should"))
            if modal == "should":
                tense = "present"
        elif tense not in ("present", "past"):
            self.mark(tense)
        return Clause(self.new(), verb, tense, modal=modal, modal_id=self.new())

    def action(self, frame: str, tense: str = "") -> Clause:
        verb = self.lexeme(VERB_POOLS[frame])
        self.mark(NAMES[frame])
        clause = self.tensed(verb, tense)
        if frame == "intr" and (verb.kinds == ("animal",) or self.chance(0.25)):
            clause = replace(clause, subject=self.noun_phrase("animal"))
        else:
            clause = replace(clause, subject=self.person())
        clause = self.with_objects(clause)
        return self.adorned(clause)

    def with_objects(self, clause: Clause) -> Clause:
        verb = clause.verb
        if verb.frame in ("acc", "dat", "prep"):
            direct = self.object(*verb.kinds)
            reflexive = isinstance(direct, Pronoun) and isinstance(clause.subject, Pronoun)
            if reflexive or (isinstance(direct, Pronoun) and verb.particle and not verb.preposition):
                direct = self.noun_phrase(*verb.kinds)
            return replace(clause, direct=direct)
        if verb.frame == "ditr":
            to = self.noun_phrase("person", plain=True) if self.chance(0.75) else self.name()
            return replace(clause, indirect=to, direct=self.noun_phrase(*verb.kinds))
        if verb.frame == "move":
            where = self.noun_phrase("place", definite=True, plain=True)
            city = Named(self.new(), self.phrase(self.one_of(("city", "country"))))
            return replace(clause, target=Adjunct(self.new(), "to", city if self.chance(0.3) else where))
        return clause

    def adorned(self, clause: Clause) -> Clause:
        """Adverb, opener, companion, place and times, in statements without a relative clause at the end."""
        rich = self.rich
        if self.chance(0.1 + 0.15 * rich):
            clause = self.with_adverb(clause)
        light = not last_heavy(clause.direct)
        if light and clause.verb.frame == "intr" and self.chance(0.1 + 0.2 * rich):
            companion = Adjunct(self.new(), self.one_of(("with", "for")), self.noun_phrase("person", plain=True))
            clause = replace(clause, companion=companion)
        if light and clause.verb.frame not in ("move", "ditr") and self.chance(0.08 + 0.25 * rich):
            clause = replace(clause, place=self.location())
        frequent = clause.adverb is not None and clause.adverb.lex.kind == "frequency"
        if not clause.modal and not frequent and self.chance(0.2 + 0.3 * rich):
            clause = replace(clause, times=self.times(clause.tense))
        return self.negated(clause) if self.chance(0.09) else clause

    def with_adverb(self, clause: Clause) -> Clause:
        frequency = clause.tense == "present" and not clause.modal and self.chance(0.5)
        if not frequency and clause.verb.state:
            return clause
        return replace(clause, adverb=Word(self.new(), self.phrase("frequency" if frequency else "manner")))

    def negated(self, clause: Clause) -> Clause:
        """Where "not" has one reading: no adverb, no quantified subject or object, only some modals."""
        direct = clause.direct
        plain = direct is None or isinstance(direct, (Named, Pronoun))
        if isinstance(direct, NounPhrase):
            plain = direct.det not in ("number", "some", "many", "several", "all")
        quantified = isinstance(clause.subject, NounPhrase) and clause.subject.det in ("every", "all")
        standard = clause.predicate.standard if clause.predicate else None
        odd_standard = isinstance(standard, NounPhrase) and standard.det == "a"
        numeric = clause.predicate is not None and clause.predicate.kind in ("money", "measure")
        other = clause.adverb or clause.modal in ("must", "be allowed to") or clause.tense == "progressive"
        if not plain or quantified or other or odd_standard or numeric:
            return clause
        self.mark("negation")
        return replace(clause, negation=self.new())

    def passive(self, frame: str, tense: str) -> Clause:
        self.mark("passive")
        verbs = [v for v in VERB_POOLS["acc"] if not v.state]
        clause = self.tensed(self.lexeme(verbs), tense or self.one_of(("past", "past", "perfect", "future")))
        agent = Adjunct(self.new(), "by", self.noun_phrase("person", plain=True))
        subject = self.noun_phrase(*clause.verb.kinds)
        clause = replace(clause, passive=True, subject=subject, companion=agent)
        return replace(clause, times=self.times(clause.tense)) if self.chance(0.3) and not clause.modal else clause

    def be(self, tense: str) -> Clause:
        return Clause(self.new(), BE, tense if tense in ("present", "past") else self.one_of(("present", "past")))

    def adjective(self, frame: str, tense: str) -> Clause:
        """The dog is (very) old."""
        self.mark("adjective_predicate")
        noun = self.lexeme(noun_pool(DESCRIBED))
        subject = self.with_noun(noun)
        if subject.det == "":
            subject = replace(subject, det="the")
        adjective = self.lexeme(ADJECTIVE_POOLS[ADJECTIVE_CODES[noun.kind]])
        degree = None
        if not adjective.relational and self.chance(0.35):
            degree = Word(self.new(), self.phrase("degree"))
            if degree.lex.en == "too":
                self.used.pop()
                degree = Word(degree.id, PREFIXED["very"])
        predicate = Predicate("adjective", Modifier(self.new(), adjective, degree))
        clause = replace(self.be(tense), subject=subject, predicate=predicate)
        return self.negated(clause) if self.chance(0.15) and not degree else clause

    def profession(self, frame: str, tense: str) -> Clause:
        """A man's name, for German professions have a gender: Adam is a good teacher."""
        self.mark("noun_predicate")
        noun = self.lexeme([n for n in NOUN_POOLS["person"] if n.gender == "m"])
        what = NounPhrase(self.new(), noun, False, "a", self.new(), 0, self.modifiers(noun))
        subject = Named(self.new(), self.phrase("male"))
        return replace(self.be(tense), subject=subject, predicate=Predicate("noun", standard=what))

    def comparison(self, frame: str, tense: str) -> Clause:
        """The dog is older than (as old as) the cat."""
        self.mark(frame)
        kind = self.one_of(("person", "animal", "thing", "vehicle", "furniture", "clothes", "place", "abstract"))
        pool = [a for a in ADJECTIVE_POOLS[ADJECTIVE_CODES[kind]] if not a.relational]
        subject = self.noun_phrase(kind, definite=True)
        standard = self.noun_phrase(kind, definite=True)
        adjective = Modifier(self.new(), self.lexeme(pool))
        predicate = Predicate(frame, adjective, standard, self.new())
        return replace(self.be(tense), subject=subject, predicate=predicate)

    def existential(self, frame: str, tense: str) -> Clause:
        """There is a cat in the garden."""
        self.mark("existential")
        kinds = ("animal", "person", "thing", "furniture", "vehicle", "text", "clothes")
        np = self.noun_phrase(*kinds, plain=True)
        if np.det in ("the", "this", "my", "your", "his", "her", "our", "their", "name", "all"):
            np = replace(np, det="some" if np.plural else "a", owner=None)
        clause = Clause(self.new(), THERE, tense if tense in ("present", "past") else self.one_of(("present", "past")))
        return replace(clause, direct=np, place=self.location())

    def possession(self, frame: str, tense: str) -> Clause:
        self.mark("possession")
        clause = Clause(self.new(), HAVE, tense if tense in ("present", "past") else self.one_of(("present", "past")))
        direct = self.object("animal", "animal", "thing", "vehicle", "furniture", "text", "clothes", "abstract")
        clause = replace(clause, subject=self.person(), direct=direct)
        return self.negated(clause) if self.chance(0.15) else clause

    def price(self, frame: str, tense: str) -> Clause:
        self.mark("price")
        subject = self.noun_phrase("thing", "vehicle", "furniture", "clothes", definite=True)
        predicate = Predicate("money", count_id=self.new(), count=self.number())
        return Clause(self.new(), COST, "present", subject=subject, predicate=predicate)

    def measure(self, frame: str, tense: str) -> Clause:
        """The bridge is forty metres long."""
        self.mark("measure")
        names = (
            "bridge",
            "tunnel",
            "river",
            "tower",
            "lighthouse",
            "ship",
            "rope",
            "ladder",
            "cable",
            "wall",
        )
        nouns = [n for kind in ("place", "thing", "vehicle") for n in COUNTABLE[kind] if n.en in names]
        long = next(a for a in ADJECTIVE_POOLS["t"] if a.en == "long")
        self.used.append(long)
        subject = self.with_noun(self.lexeme(nouns), definite=True)
        predicate = Predicate("measure", Modifier(self.new(), long), count_id=self.new(), count=self.number())
        return replace(self.be(tense), subject=subject, predicate=predicate)
