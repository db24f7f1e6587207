import type messages from '../public/_locales/en/messages.json'

/** Name of a text in `_locales`. */
export type MessageKey = keyof typeof messages

/** A text in the person's language, with its placeholders filled in order. Never markup. */
export type Translate = (key: MessageKey, ...substitutions: string[]) => string

/** How a tag of ours is written in the name of a message, where a hyphen may not be. */
export type MessagePart<Tag extends string> = Tag extends `${infer Start}-${infer Rest}`
  ? `${Start}_${MessagePart<Rest>}`
  : Tag

/** The part of a message's name that stands for `tag`. */
export function messagePart<Tag extends string>(tag: Tag): MessagePart<Tag> {
  return tag.replaceAll('-', '_') as MessagePart<Tag>
}

/**
 * The same texts for what comes from strangers. A sentence stays one, whatever they have put into it: not too long, and what
 * turns the direction of writing around does so between U+2068 and U+2069 only.
 */
export function confined(translate: Translate): Translate {
  return (key, ...substitutions) => translate(key, ...substitutions.map(confine))
}

function confine(text: string): string {
  const short = text.length > 99 ? `${text.slice(0, 98)}…` : text
  return /[^ -~]/.test(short) ? `\u2068${short}\u2069` : short
}
