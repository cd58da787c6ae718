/**
 * Sentences of the text and their translations. The server cuts the text into sentences. The page keeps them, moves them
 * as the text is edited, and asks again only for stretches that no sentence covers. Offsets here count UTF-16 units, as
 * the browser does; offsets of the server count code points.
 */

const SPACELESS = new Set(["zh", "ja", "th", "lo", "km", "my", "bo", "dz"]);

/** Turns offsets in code points of `text` into offsets in UTF-16 units. */
function converter(text) {
  if (!/[\ud800-\udbff]/.test(text)) return (offset) => offset;
  const places = [0];
  for (const character of text) places.push(places.at(-1) + character.length);
  return (offset) => places[offset];
}

function codePoints(text) {
  return /[\ud800-\udbff]/.test(text) ? [...text].length : text.length;
}

/** Where two texts differ: [start, end) of the first was replaced; the rest moved by `shift`. */
export function difference(before, after) {
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before[start] === after[start]) start += 1;
  let tail = 0;
  while (tail < most - start && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  return { start, end: before.length - tail, shift: after.length - before.length };
}

/** Is there a letter or a line end between, so that a change on one side does not affect the other? */
const apart = (between) => /\S|\n/.test(between);

/**
 * Sentences after an edit, with their new places. Sentences that the edit touched, and neighbours whose end or beginning
 * it may have moved, become `stale`: they are shown until new ones replace them.
 */
export function keep(sentences, before, after) {
  if (before === after) return sentences;
  const { start, end, shift } = difference(before, after);
  return sentences.map((sentence) => {
    if (sentence.end <= start && (sentence.stale || apart(before.slice(sentence.end, start)))) return sentence;
    if (sentence.start >= end && (sentence.stale || apart(before.slice(end, sentence.start)))) {
      return move(sentence, shift);
    }
    const moved = (place) => (place <= start ? place : Math.max(start, place + shift));
    return Object.assign(sentence, { start: moved(sentence.start), end: moved(sentence.end), stale: true });
  });
}

function move(sentence, shift) {
  sentence.start += shift;
  sentence.end += shift;
  return sentence;
}

/** Stretches of the text that no sentence covers, without the white space around them. */
export function uncovered(text, sentences) {
  const runs = [];
  let from = 0;
  for (const { start, end } of [...sentences.filter((one) => !one.stale), { start: text.length, end: text.length }]) {
    const piece = text.slice(from, start);
    if (piece.trim()) {
      const lead = piece.length - piece.trimStart().length;
      runs.push({ start: from + lead, end: from + piece.trimEnd().length, text: piece.trim() });
    }
    from = end;
  }
  return runs;
}

/** Replaces the stale sentences of a run by fresh ones. Stale sentences that begin at or after `until` stay. */
export function replace(sentences, run, fresh, until = Infinity) {
  const gone = (one) => one.stale && one.start < until && one.end >= run.start && one.start <= run.end;
  return [...sentences.filter((one) => !gone(one)), ...fresh].sort((one, other) => one.start - other.start);
}

/** A sentence from the server's answer for a run. Its offsets are in the whole text, those of words in the sentence. */
export function received(raw, run, direction) {
  const place = converter(run.text);
  const start = run.start + place(raw.source.start);
  const end = run.start + place(raw.source.end);
  const text = run.text.slice(place(raw.source.start), place(raw.source.end));
  return { start, end, text, stale: false, prefix: null, ...direction, ...translated(raw, text, direction.to) };
}

/** The parts of an answer that change when another translation of the same sentence is chosen. */
export function translated(raw, source, language) {
  const translation = raw.target.text;
  const words = raw.target_words
    ? relative(raw.target_words, raw.target.start, translation)
    : segmented(translation, language);
  return {
    translation,
    words,
    sourceWords: raw.source_words ? relative(raw.source_words, raw.source.start, source) : [],
    weights: raw.word_attention ?? null,
    score: raw.score,
    caution: raw.caution,
  };
}

function relative(words, start, text) {
  const place = converter(text);
  const size = codePoints(text);
  const inside = (offset) => place(Math.min(size, Math.max(0, offset - start)));
  return words.map((word) => (word.start === null
    ? { text: word.text, start: null, end: null }
    : { text: word.text, start: inside(word.start), end: inside(word.end) }));
}

/** Words by the browser's own rules, for translations without words of the model. */
export function segmented(text, language) {
  const words = [];
  for (const { segment, index } of new Intl.Segmenter(language, { granularity: "word" }).segment(text)) {
    if (segment.trim()) words.push({ text: segment, start: index, end: index + segment.length });
  }
  return words;
}

/** The text between two sentences of the translation: the source's line ends, else a space if the language uses them. */
export function gap(text, before, sentence, language) {
  const between = text.slice(before ? before.end : 0, sentence.start);
  if (between.includes("\n")) return between;
  return before && !SPACELESS.has(language.split("-")[0]) ? " " : "";
}

/** The whole translation. */
export function joined(text, sentences, language) {
  return sentences.map((one, index) => gap(text, sentences[index - 1], one, language) + one.translation).join("");
}
