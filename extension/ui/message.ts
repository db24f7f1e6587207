import type messages from '../public/_locales/en/messages.json'

/** Name of a text in `_locales`. */
type MessageKey = keyof typeof messages

/** Returns a text in the user's language, with its placeholders filled in order. Never markup. */
export type Translate = (key: MessageKey, ...substitutions: string[]) => string

/** A tag as written in message names, which cannot contain hyphens. */
export type MessagePart<Tag extends string> = Tag extends `${infer Start}-${infer Rest}`
  ? `${Start}_${MessagePart<Rest>}`
  : Tag

/** Returns the part of a message name for `tag`. */
export function messagePart<Tag extends string>(tag: Tag): MessagePart<Tag> {
  return tag.replaceAll('-', '_') as MessagePart<Tag>
}

/**
 * Wraps `translate` for foreign text. Limits its length, and isolates bidirectional text between U+2068 and U+2069,
 * so that it cannot break out of the sentence.
 */
export function confined(translate: Translate): Translate {
  return (key, ...substitutions) => translate(key, ...substitutions.map(confine))
}

function confine(text: string): string {
  const short = text.length > 99 ? `${text.slice(0, 98)}…` : text
  return /[^ -~]/.test(short) ? `\u2068${short}\u2069` : short
}

/** Writes the static texts of elements with `data-text`, and the names of those with `data-label`. */
export function localise(root: ParentNode, translate: Translate): void {
  const page = document.documentElement
  page.lang = translate('locale')
  page.dir = translate('direction')
  for (const element of root.querySelectorAll<HTMLElement>('[data-text],[data-label]')) {
    const { text, label } = element.dataset
    if (text) element.textContent = translate(text as MessageKey)
    if (label) element.ariaLabel = translate(label as MessageKey)
  }
}
