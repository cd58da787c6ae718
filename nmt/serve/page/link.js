/** A link that carries the text after the #, in the part that browsers do not send to servers. */

const FIELDS = ["from", "to", "model", "compare", "text"];

/** The address of this page with the fields that have a value. */
export function link(fields) {
  const kept = new URLSearchParams(FIELDS.filter((name) => fields[name]).map((name) => [name, fields[name]]));
  const address = new URL(location.href);
  address.hash = kept.toString();
  return address.href;
}

/** The fields of this page's address; null where it carries none. */
export function linked() {
  const fields = new URLSearchParams(location.hash.slice(1));
  const found = FIELDS.filter((name) => fields.has(name)).map((name) => [name, fields.get(name)]);
  return found.length ? Object.fromEntries(found) : null;
}
