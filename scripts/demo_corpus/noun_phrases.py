"""Random noun phrases, times and places."""

from __future__ import annotations

from functools import cache

from .chooser import ADJECTIVE_POOLS, NOUN_POOLS, Chooser
from .lexicon import Noun
from .tree import Adjunct, Clock, Day, Group, Modifier, Named, Nominal, NounPhrase, Pronoun, Time, Word

ADJECTIVE_CODES = {
    "person": "p",
    "animal": "a",
    "thing": "t",
    "vehicle": "t",
    "furniture": "t",
    "openable": "t",
    "text": "t",
    "food": "f",
    "drink": "d",
    "clothes": "c",
    "place": "l",
    "abstract": "x",
    "substance": "",
}
SINGULAR = {
    "the": 0.34, "a": 0.26, "this": 0.08, "my": 0.05, "your": 0.04, "his": 0.05, "her": 0.05, "our": 0.04,
    "their": 0.03, "name": 0.06,
}  # fmt: skip
PLURAL = {
    "the": 0.3, "number": 0.24, "some": 0.09, "many": 0.09, "several": 0.08, "this": 0.06, "my": 0.03,
    "your": 0.02, "his": 0.03, "her": 0.03, "our": 0.02, "their": 0.02, "all": 0.04,
}  # fmt: skip
DEFINITE = {"the": 0.7, "this": 0.1, "my": 0.07, "his": 0.07, "her": 0.06}
EVENTS = (
    "exam lecture film concert party wedding journey holiday match session contest election war accident"
    " storm festival ceremony conversation experiment course adventure"
).split()
EVENT_POOL = [noun for noun in NOUN_POOLS["abstract"] if noun.en in EVENTS]
COUNTABLE = {kind: [n for n in pool if n.plural_de] for kind, pool in NOUN_POOLS.items()}
STANDS = ("on", "under", "behind", "next to", "in front of")
SHORT_MONTHS = {"February": 28, "April": 30, "June": 30, "September": 30, "November": 30}
OPEN_PLACES = ("bridge", "mountain", "farm", "field", "meadow")


@cache
def noun_pool(kinds: tuple[str, ...], countable: bool = False) -> list[Noun]:
    return [noun for kind in kinds for noun in (COUNTABLE if countable else NOUN_POOLS)[kind]]


class NounPhrases(Chooser):
    """`rich` in 0 … 1: how likely adjectives, owners and places are."""

    rich = 0.3

    def number(self) -> int:
        """Small numbers mostly, now and then up to 999,999."""
        size = self.random()
        if size < 0.7:
            return 2 + self.below(11)
        if size < 0.91:
            return 13 + self.below(87)
        if size < 0.965:
            return 100 + self.below(900)
        return 1000 + self.below(99_000 if self.chance(0.7) else 999_000)

    def modifiers(self, noun: Noun) -> tuple[Modifier, ...]:
        pool = ADJECTIVE_POOLS.get(ADJECTIVE_CODES[noun.kind], [])
        if not pool or not self.chance(0.25 + 0.5 * self.rich):
            return ()
        modifiers = []
        for _ in range(2 if self.chance(0.25 * self.rich) else 1):
            adjective = self.lexeme(pool)
            degree = None
            if not adjective.relational and self.chance(0.06):
                degree = Word(self.new(), self.phrase("degree"))
                if degree.lex.en == "too":
                    degree = None
            modifiers.append(Modifier(self.new(), adjective, degree))
        return tuple(modifiers)

    def noun_phrase(self, *kinds: str, definite: bool = False, plain: bool = False) -> NounPhrase:
        """One of the kinds; `plain`: no owner, no place; `definite`: singular with a definite determiner."""
        return self.with_noun(self.lexeme(noun_pool(kinds, definite)), definite, plain)

    def with_noun(self, noun: Noun, definite: bool = False, plain: bool = False) -> NounPhrase:
        plural = not definite and noun.plural_de is not None and self.chance(0.3)
        det = self.weighted(DEFINITE if definite else PLURAL if plural else SINGULAR)
        if noun.plural_de is None:
            det = self.one_of(("the", "", "", "my", "his"))
        if plain and det == "name":
            det = "the"
        owner: NounPhrase | Named | None = None
        if det == "name":
            owner = self.name()
        elif det == "the" and not plain and noun.kind != "substance" and self.chance(0.08 + 0.1 * self.rich):
            owner = self.noun_phrase("person", definite=True, plain=True)
            self.mark("genitive")
        place = None
        movable = noun.kind in ("thing", "clothes", "text", "food", "animal")
        if movable and not plain and not owner and self.chance(0.12 * self.rich):
            place = self.stand()
        number = self.number() if det == "number" else 0
        if number > 12:
            self.mark("number")
        modifiers = self.modifiers(noun)
        return NounPhrase(self.new(), noun, plural, det, self.new(), number, modifiers, owner, place)

    def stand(self) -> Adjunct:
        landmark = self.noun_phrase("furniture", "vehicle", "place", definite=True, plain=True)
        inside = [p for p in STANDS if landmark.noun.kind == "furniture" or p not in ("on", "under")]
        return Adjunct(self.new(), self.one_of(inside), landmark)

    def name(self) -> Named:
        return Named(self.new(), self.phrase(self.one_of(("male", "female"))))

    def group(self, *kinds: str, most: int = 3) -> Group:
        """a, b and c: two to `most` members."""
        self.mark("coordinated_phrases")
        members: list[NounPhrase | Named] = []
        for _ in range(2 + self.below(most - 1)):
            named = "person" in kinds and self.chance(0.2)
            members.append(self.name() if named else self.noun_phrase(*kinds, plain=True))
        return Group(self.new(), tuple(members))

    def person(self) -> Nominal:
        """A subject that can act."""
        kind = self.weighted({"noun": 0.56, "name": 0.17, "pronoun": 0.16, "group": 0.02 + 0.15 * self.rich})
        if kind == "name":
            return self.name()
        if kind == "pronoun":
            return Pronoun(self.new(), self.one_of(("I", "you", "he", "she", "we", "they")))
        if kind == "group":
            return self.group("person")
        if self.chance(0.04):
            noun = self.lexeme(NOUN_POOLS["person"])
            return NounPhrase(self.new(), noun, False, "every", self.new(), 0, self.modifiers(noun))
        return self.noun_phrase("person")

    def object(self, *kinds: str) -> Nominal:
        if self.chance(0.03 + 0.2 * self.rich):
            return self.group(*kinds, most=4 if self.rich > 0.6 else 3)
        if kinds == ("person",) and self.chance(0.38):
            if self.chance(0.5):
                return self.name()
            return Pronoun(self.new(), self.one_of(("I", "you", "he", "she", "we", "they")))
        return self.noun_phrase(*kinds)

    def location(self) -> Adjunct:
        """in a place, city or country, on open ground."""
        if self.chance(0.25):
            return Adjunct(self.new(), "in", Named(self.new(), self.phrase(self.one_of(("city", "city", "country")))))
        where = self.noun_phrase("place", definite=True, plain=True)
        return Adjunct(self.new(), "on" if where.noun.en in OPEN_PLACES else "in", where)

    def event(self) -> Adjunct:
        self.mark("event_phrase")
        preposition = self.one_of(("because of", "despite", "during", "after", "before"))
        noun = self.lexeme(EVENT_POOL)
        det = self.one_of(("the", "the", "this"))
        return Adjunct(
            self.new(),
            preposition,
            NounPhrase(self.new(), noun, False, det, self.new(), 0, self.modifiers(noun)),
        )

    def times(self, tense: str) -> tuple[Time, ...]:
        """Times that suit the tense; none for the perfect and the progressive."""
        if tense not in ("present", "past", "future"):
            return ()
        if self.chance(0.15):
            return (self.event(),)
        if tense == "present" or self.chance(0.4):
            times: tuple[Time, ...] = (Word(self.new(), self.phrase(f"time_{tense}")),)
        else:
            times = (self.day(),)
        month = isinstance(times[0], Day) and times[0].lex.kind == "month" and not times[0].day
        return (*times, self.clock()) if not month and self.chance(0.16) else times

    def day(self) -> Day:
        kind = self.weighted({"weekday": 0.45, "month": 0.25, "date": 0.3})
        if kind == "date":
            self.mark("date")
            month = self.phrase("month")
            return Day(self.new(), month, 1 + self.below(SHORT_MONTHS.get(month.en, 31)))
        return Day(self.new(), self.phrase(kind))

    def clock(self) -> Clock:
        self.mark("clock_time")
        return Clock(self.new(), 1 + self.below(12), self.one_of((0, 0, 30, 30, 15, 45, 5, 10, 20, 40, 50, 55)))
