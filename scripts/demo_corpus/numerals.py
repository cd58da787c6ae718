"""Numbers, ordinals and clock times in words."""

from __future__ import annotations

EN_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    " seventeen eighteen nineteen"
).split()
EN_TENS = "- - twenty thirty forty fifty sixty seventy eighty ninety".split()
DE_SMALL = (
    "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn"
    " siebzehn achtzehn neunzehn"
).split()
DE_TENS = "- - zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split()
ZH_DIGITS = "零一二三四五六七八九"
EN_ORDINALS = {
    1: "first",
    2: "second",
    3: "third",
    5: "fifth",
    8: "eighth",
    9: "ninth",
    12: "twelfth",
    20: "twentieth",
    30: "thirtieth",
}
DE_ORDINALS = {1: "erst", 3: "dritt", 7: "siebt", 8: "acht"}


def english_number(n: int) -> str:
    """Words for 0 … 999,999, with "and" before the last two digits."""
    if n < 20:
        return EN_SMALL[n]
    if n < 100:
        return EN_TENS[n // 10] + (f"-{EN_SMALL[n % 10]}" if n % 10 else "")
    if n < 1000:
        rest = f" and {english_number(n % 100)}" if n % 100 else ""
        return f"{EN_SMALL[n // 100]} hundred{rest}"
    thousands = f"{english_number(n // 1000)} thousand"
    if n % 1000 == 0:
        return thousands
    return f"{thousands} {'and ' if n % 1000 < 100 else ''}{english_number(n % 1000)}"


def german_part(n: int) -> str:
    """Words for 1 … 999,999 inside a longer number: 1 is "ein"."""
    if n < 20:
        return DE_SMALL[n]
    if n < 100:
        return (f"{DE_SMALL[n % 10]}und" if n % 10 else "") + DE_TENS[n // 10]
    unit, word = (100, "hundert") if n < 1000 else (1000, "tausend")
    return german_part(n // unit) + word + (german_part(n % unit) if n % unit else "")


def german_number(n: int) -> str:
    word = german_part(n)
    return word + "s" if n % 100 == 1 else word


def chinese_number(n: int, measured: bool) -> str:
    """Numerals for 1 … 999,999; `measured` makes a lone 2 两, as before a measure word."""
    if n == 2 and measured:
        return "两"
    if n >= 10000:
        high, low = divmod(n, 10000)
        head = "两" if high == 2 else chinese_number(high, False)
        return f"{head}万" + ("" if not low else ("零" if low < 1000 else "") + chinese_below(low))
    if 10 <= n < 20:
        return "十" + (ZH_DIGITS[n % 10] if n % 10 else "")
    return chinese_below(n)


def chinese_below(n: int) -> str:
    """Numerals for 1 … 9,999 after a higher one (十 is 一十)."""
    text, zero = "", False
    for unit, word in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit, n = divmod(n, unit)
        if digit:
            name = "两" if digit == 2 and unit >= 1000 else ZH_DIGITS[digit]
            text += ("零" if zero and text else "") + name + word
            zero = False
        else:
            zero = True
    return text


def english_ordinal(n: int) -> str:
    """first … thirty-first."""
    if n in EN_ORDINALS:
        return EN_ORDINALS[n]
    if n > 20:
        return f"{EN_TENS[n // 10]}-{english_ordinal(n % 10)}"
    return EN_SMALL[n] + "th"


def german_ordinal(n: int) -> str:
    """The stem, without its adjective ending: dritt, zwanzigst."""
    return DE_ORDINALS.get(n) or german_part(n) + ("t" if n < 20 else "st")


def english_clock(hour: int, minute: int) -> str:
    if minute == 0:
        return f"{english_number(hour)} o'clock"
    if minute == 30:
        return f"half past {english_number(hour)}"
    count, word, shown = (minute, "past", hour) if minute < 30 else (60 - minute, "to", hour % 12 + 1)
    return f"{'quarter' if count == 15 else english_number(count)} {word} {english_number(shown)}"


def german_clock(hour: int, minute: int) -> str:
    if minute == 0:
        return f"{german_part(hour)} Uhr"
    following = german_number(hour % 12 + 1)
    if minute == 30:
        return f"halb {following}"
    if minute < 30:
        return f"{'Viertel' if minute == 15 else german_number(minute)} nach {german_number(hour)}"
    return f"{'Viertel' if minute == 45 else german_number(60 - minute)} vor {following}"


def chinese_clock(hour: int, minute: int) -> str:
    name = chinese_number(hour, True)
    if minute == 0:
        return f"{name}点"
    if minute == 30:
        return f"{name}点半"
    if minute < 30:
        return f"{name}点" + (
            "一刻" if minute == 15 else f"{'零' if minute < 10 else ''}{chinese_number(minute, False)}分"
        )
    left = "一刻" if minute == 45 else f"{chinese_number(60 - minute, False)}分"
    return f"差{left}{chinese_number(hour % 12 + 1, True)}点"
