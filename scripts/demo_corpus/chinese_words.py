"""Chinese function words."""

from __future__ import annotations

PRONOUNS = {
    "I": "我",
    "you": "您",
    "he": "他",
    "she": "她",
    "we": "我们",
    "they": "他们",
    "who": "谁",
    "what": "什么",
}
OWNERS = {"my": "我的", "your": "您的", "his": "他的", "her": "她的", "our": "我们的", "their": "他们的"}
COUNTED = {"this": "这", "every": "每", "which": "哪", "several": "几", "a": "一"}
UNCOUNTED = {"some": "一些", "many": "许多", "all": "所有的", "how many": "多少"}
PREPOSITIONS = {  # before and after the object
    "in": ("在", "里"),
    "on": ("在", "上"),
    "under": ("在", "下面"),
    "behind": ("在", "后面"),
    "next to": ("在", "旁边"),
    "in front of": ("在", "前面"),
    "with": ("跟", "一起"),
    "for": ("为", ""),
    "by": ("被", ""),
    "because of": ("由于", ""),
    "despite": ("不顾", ""),
    "during": ("在", "期间"),
    "after": ("在", "之后"),
    "before": ("在", "之前"),
}
CONJUNCTIONS = {  # before and after the subordinate clause, and before the main clause
    "because": ("因为", "", "所以"),
    "although": ("虽然", "", "但是"),
    "if": ("如果", "", "那么"),
    "when": ("当", "的时候", ""),
    "while": ("在", "期间", ""),
    "before": ("在", "之前", ""),
    "after": ("在", "之后", ""),
    "until": ("直到", "为止", ""),
    "as soon as": ("一旦", "", ""),
    "so that": ("为了让", "", ""),
}
LINKS = {"and": "而且", "but": "可是", "or": "或者"}
MODALS = {"can": "能", "must": "必须", "should": "应该", "want to": "想", "be allowed to": "可以"}
QUESTIONS = {"where": "在哪里", "when": "什么时候", "why": "为什么", "how": "怎么"}
