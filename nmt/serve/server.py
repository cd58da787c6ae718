"""The state that all routes share: models, engine, keys and limits; and the one way to have texts translated."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import TypeVar

from starlette.requests import Request

from nmt.config.verbs import ServeCommand
from nmt.errors import NmtError
from nmt.serve.addresses import address_of
from nmt.serve.catalogue import Catalogue, Served
from nmt.serve.engine import Engine
from nmt.serve.errors import refusal_of
from nmt.serve.jobs import Recipe
from nmt.serve.keys import Key, Keys
from nmt.serve.limits import Limits
from nmt.serve.refusal import Gone, Refusal
from nmt.serve.results import Results
from nmt.serve.search_wish import Search
from nmt.serve.texts import Answer, Assembly, Prepared, Sentence, prepare
from nmt.serve.ticket import Ticket
from nmt.translation.translations import Translation, joined

Result = TypeVar("Result")

FILES_AT_ONCE = 16  # files that are uploaded or translated at one time; memory holds each of them
LONG = 2000  # characters; longer texts are handled in a thread, so that other requests need not wait


@dataclass
class Server:
    """The state of the application: `request.app.state.server`."""

    catalogue: Catalogue
    engine: Engine
    settings: ServeCommand
    keys: Keys | None
    limits: Limits
    files: Results
    stopping: bool = False
    files_now: int = 0  # being uploaded or translated

    async def translate(self, request: Request, served: Served, texts: Sequence[str], search: Search) -> list[Answer]:
        """The translation of each text of an admitted request. Raises Refusal, or Gone if the client has hung up.

        `timeout_s` covers all searches of one request together, from the first one on.
        """
        growing = [Assembly(text) for text in texts]
        async for _ in self.sentences(request, served, texts, search, growing):
            pass
        return [assembly.end() for assembly in growing]

    async def sentences(
        self, request: Request, served: Served, texts: Sequence[str], search: Search, growing: Sequence[Assembly]
    ) -> AsyncIterator[tuple[int, Sentence]]:
        """Yields each sentence, in order and as soon as possible, with its text's index; adds it to `growing`."""
        prepared = await self.prepared(texts, served, search)
        recipe = Recipe(served.translator, search.settings(served.translator.settings), search.attention is not False)
        parts = [part for each in prepared for own in each.parts for part in own]
        async with self.ticket(request) as ticket:
            every = self.engine.translate(parts, recipe, ticket)
            futures = iter(every)
            try:
                for number, text in enumerate(prepared):
                    for span, own in zip(text.spans, text.parts, strict=True):
                        found: list[Translation] = [await awaited(next(futures), ticket) for _ in own]
                        source = text.text[span.start : span.end]
                        yield number, growing[number].add(span, joined(source, found, 0))
            finally:
                for future in every:
                    future.cancel()  # nobody awaits the rest; finished futures stay as they are

    async def prepared(self, texts: Sequence[str], served: Served, search: Search) -> list[Prepared]:
        """The texts, cut into sentences and encoded. Raises Refusal if a prefix does not fit them."""
        work = partial(prepare, texts, served, search.split, search.prefix)
        try:
            short = sum(map(len, texts)) + len(search.prefix or "") < LONG
            return work() if short else await asyncio.to_thread(work)
        except NmtError as error:
            raise refusal_of(error) from None

    async def call(self, request: Request, work: Callable[[Ticket], Result], pieces: int) -> Result:
        """The result of work that one worker of the engine does alone; the ticket tells the work when to give up."""
        async with self.ticket(request) as ticket:

            def unless_gone() -> Result | None:
                try:
                    return work(ticket)
                except NmtError:  # a search that was given up has found nothing
                    if ticket.gone:
                        return None
                    raise

            return await awaited(self.engine.call(unless_gone, pieces, ticket), ticket)

    def admit(self, request: Request, texts: Sequence[str], prefix: str = "") -> Key | None:
        """Checks the size of texts and prefix, charges the request and returns the client's key. Raises Refusal."""
        settings = self.settings
        if len(texts) > settings.texts:
            raise Refusal(400, f"{len(texts):,} texts are more than the {settings.texts:,} of one request; send fewer")
        characters = sum(map(len, texts)) + len(prefix)
        if characters > settings.characters:
            raise Refusal(
                400,
                f"{characters:,} characters are more than the {settings.characters:,} of one request; send less",
            )
        return self.charge(request, characters)

    def charge(self, request: Request, characters: int) -> Key | None:
        """Charges the client and returns its key. Raises Refusal for a wrong key or an exhausted limit."""
        key = self.key_of(request)
        self._count(request, characters, key)
        return key

    def _count(self, request: Request, characters: int, key: Key | None) -> None:
        wait = self.limits.charge(address_of(request, self.settings.trust_proxy), 1, characters, key)
        if wait is not None:
            seconds = max(1, int(wait + 1))
            raise Refusal(429, f"too many requests or characters; try again in {seconds} s", seconds)

    def key_of(self, request: Request) -> Key | None:
        """The request's key, or None. Raises Refusal if the key is wrong, or missing though the server requires one.

        A wrong key counts as a request of its address, so limits for addresses also limit guesses.
        """
        key = None
        secret = secret_of(request)
        if self.keys is not None and secret is not None:
            key = self.keys.of(secret)
            if key is None:
                self._count(request, 0, None)
                raise Refusal(403, "this key is unknown or was revoked; ask the operator for another")
        if self.settings.require_key and key is None:
            raise Refusal(403, "this server needs a key; send one as Authorization: Bearer KEY, or as api_key")
        return key

    @contextmanager
    def room_for_file(self) -> Iterator[None]:
        """Inside the block, the request counts as one of `FILES_AT_ONCE`. Raises Refusal(503) if they are all there."""
        if self.files_now >= FILES_AT_ONCE:
            raise Refusal(503, "too many files are sent at one time; try again later", 10)
        self.files_now += 1
        try:
            yield
        finally:
            self.files_now -= 1

    def start_time(self, request: Request) -> None:
        """Sets the request's deadline to `timeout_s` from now."""
        request.state.deadline = monotonic() + self.settings.timeout_s

    @asynccontextmanager
    async def ticket(self, request: Request) -> AsyncIterator[Ticket]:
        """A ticket that is gone as soon as the client hangs up, the request's time is over, or the block ends."""
        if not hasattr(request.state, "deadline"):
            self.start_time(request)
        ticket = Ticket(self.settings.timeout_s, request.state.deadline)
        listening = asyncio.create_task(_listen(request, ticket))
        try:
            yield ticket
        finally:
            ticket.hang_up()
            listening.cancel()


async def awaited(future: "asyncio.Future[Result | None]", ticket: Ticket) -> Result:
    """The result of the future. Raises Refusal if it is too late, and Gone if the client has hung up.

    The result is None if a worker has noticed either before the future was cancelled.
    """
    late = asyncio.get_running_loop().call_later(max(0.0, ticket.left_s), future.cancel)
    found = None
    try:
        found = await future
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise  # this task was cancelled, not the future
    finally:
        late.cancel()
    if found is not None:
        return found
    if ticket.hung_up:
        raise Gone
    raise Refusal(503, f"no answer within {ticket.timeout_s:g} s; send less text, or try again later", 5)


async def _listen(request: Request, ticket: Ticket) -> None:
    """Waits until the client hangs up, and tells the ticket. The request's body was read before."""
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            ticket.hang_up()
            return


def secret_of(request: Request) -> str | None:
    """The secret that came with a request: in its Authorization header (Bearer, DeepL-Auth-Key) or in its body."""
    kind, _, secret = request.headers.get("authorization", "").partition(" ")
    if kind.lower() in ("bearer", "deepl-auth-key") and secret.strip():
        return secret.strip()
    found = getattr(request.state, "secret", None)
    return found if isinstance(found, str) else None
