import de from './de.json' with { type: 'json' }
import en from './en.json' with { type: 'json' }
import type { TextsLike } from './text.ts'

/** A complete table of one language: the keys of the English one. `texts-document.ts` checks its `{names}` as well. */
export type Texts = TextsLike<typeof en.texts>

export const english: Texts = en.texts
export const german: Texts = de.texts
