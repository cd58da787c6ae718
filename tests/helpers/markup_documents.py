"""Documents of HTML and XML for hypothesis: whole ones, and what no author would write."""

from hypothesis import strategies as st

WORDS = st.sampled_from(["Hello", "world.", "big", "dog,", "(x)", "Ü", "中文。", "&amp;", "&lt;b&gt;", "l’été", "1"])
PIECES = st.sampled_from(
    "<b> </b> <i> </i> <p> </p> <br> <img> <a-href='1'> </a> <code> </code> ls Hello world. big-dog <!--c--> &amp;"
    " &lt; &nbsp; < <x </ <b \" ' > &#x <pre> </pre> <script> </script> <title> </title> <i-translate=no> é 中文 。 ("
    " ). <! <? ]]> <![CDATA[ <x/> <ul> <li> </ul>".replace("-", " ").split(" ")
)


@st.composite
def elements(draw: st.DrawFn, depth: int = 2) -> str:
    """Text with well-nested inline elements; between words and tags one space or none."""
    result = ""
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["text", "b", "i", "a", "img", "x"]))
        if kind in ("b", "i", "a") and depth:
            own = draw(elements(depth=depth - 1))
            part = f"<{kind}>{own}</{kind}>"
        else:
            words = " ".join(draw(st.lists(WORDS, min_size=1, max_size=3)))
            part = {"img": "<img src='1'>", "x": "<x></x>"}.get(kind, words)
        result += part + draw(st.sampled_from(["", " "]))
    return result.strip()


PARAGRAPHS = st.lists(elements(), min_size=1, max_size=3)
WELL_NESTED = PARAGRAPHS.map(lambda parts: "".join(f"<p>{part}</p>\n" for part in parts))
DOCUMENTS = (
    WELL_NESTED
    | st.lists(PIECES | st.sampled_from([" ", "\n", "  "]), max_size=25).map("".join)
    | st.text(alphabet="<>/b i\"'=a!-&;\n", max_size=40)
)
