/** The server's routes under v1/, with errors in plain words. */

const KEY = "nmt-key";

/** The server refused, failed, or is not there (status 0). */
export class Refused extends Error {
  constructor(status, message, retryAfter = null) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter; // seconds
  }

  get mayPass() { return [0, 429, 502, 503, 504].includes(this.status); }
  get wantsKey() { return this.status === 401 || this.status === 403; }

  /** The error in words for the user. */
  get words() {
    if (this.status === 0) return "The server does not answer.";
    if (this.status === 429) return "This is more than the server allows at a time.";
    if ([502, 503, 504].includes(this.status)) return "The server is busy or being restarted.";
    if (this.status >= 500) return "Something went wrong on the server.";
    return this.message;
  }
}

export function key() {
  try { return sessionStorage.getItem(KEY); } catch { return null; }
}

export function setKey(value) {
  try { sessionStorage.setItem(KEY, value); } catch { /* no storage: after a reload, the page asks for the key again */ }
}

function headers(more) {
  const secret = key();
  return secret === null ? more : { ...more, Authorization: `Bearer ${secret}` };
}

async function refusal(response) {
  let message = `The server answered with status ${response.status}.`;
  try { message = (await response.json()).error ?? message; } catch { /* not from our server, perhaps from a proxy */ }
  const wait = Number.parseFloat(response.headers.get("Retry-After"));
  return new Refused(response.status, message, Number.isFinite(wait) ? wait : null);
}

async function send(path, body, signal) {
  const options = body === null
    ? { headers: headers({}) }
    : { method: "POST", headers: headers({ "Content-Type": "application/json" }), body: JSON.stringify(body) };
  let response;
  try {
    response = await fetch(new URL(path, document.baseURI), { ...options, signal, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "The server does not answer.");
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

async function json(path, body, signal) {
  const response = await send(path, body, signal);
  try {
    return await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "The answer broke off.");
  }
}

/** Yields the events of a server-sent stream, as they come, as [name, data]. */
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    waiting = (waiting + value).replaceAll("\r\n", "\n");
    for (let end; (end = waiting.indexOf("\n\n")) >= 0; waiting = waiting.slice(end + 2)) {
      const lines = waiting.slice(0, end).split("\n");
      const field = (name) => lines.filter((line) => line.startsWith(`${name}:`))
        .map((line) => line.slice(name.length + 1).replace(/^ /, "")).join("\n");
      if (field("data")) yield [field("event") || "message", JSON.parse(field("data"))];
    }
  }
}

export const models = (signal) => json("v1/models", null, signal);
export const translate = (body, signal) => json("v1/translate", body, signal);
export const continuations = (body, signal) => json("v1/continuations", body, signal);
export const suggest = (body) => json("suggest", body);

/** Translates a long text. `onSentence` gets each sentence as it comes; the result is the answer without sentences. */
export async function stream(body, signal, onSentence) {
  const response = await send("v1/translate", { ...body, stream: true }, signal);
  try {
    for await (const [name, data] of events(response)) {
      if (name === "sentence") onSentence(data);
      else if (name === "error") throw new Refused(data.status ?? 500, data.error);
      else if (name === "done") return data;
    }
  } catch (error) {
    if (error instanceof Refused || error.name === "AbortError") throw error;
  }
  throw new Refused(0, "The answer broke off.");
}
