import type { AuthServices } from '../provider/auth-services.ts'
import { Collection } from '../database.ts'

/** Maximum length of a note, in UTF-16 units. */
export const maxNoteLength = 2000

/** One note, as the JSON API shows it. */
export interface Note {
  /** Eleven characters of base64url. */
  id: string
  text: string
  /** ISO 8601. */
  created_at: string
}

/** Trims the text of a note; undefined if it is not a string, empty or too long. */
export function parseNoteText(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  // A browser sends line ends as CRLF, an API client as LF.
  const text = value.replaceAll('\r\n', '\n').trim()
  return text === '' || text.length > maxNoteLength ? undefined : text
}

/** The notes of all users; each user sees only their own. */
export class Notes {
  readonly #notes: Collection<{ id: string; userId: string; note: Note }>
  readonly #runtime: AuthServices['runtime']

  /** In the database of the accounts: a demo needs no other. */
  constructor({ database, runtime }: Pick<AuthServices, 'database' | 'runtime'>) {
    this.#notes = new Collection(database, 'note')
    this.#runtime = runtime
  }

  /** Returns them newest first. */
  list(userId: string): Note[] {
    return this.#notes.list(`body ->> 'userId' = ?`, userId).map(({ note }) => note)
  }

  /** The text must have passed `parseNoteText`. */
  add(userId: string, text: string): Note {
    const note = {
      id: Buffer.from(this.#runtime.randomBytes(8)).toString('base64url'),
      text,
      created_at: new Date(this.#runtime.now() * 1000).toISOString(),
    }
    this.#notes.save({ id: note.id, userId, note })
    return note
  }

  /** Returns false if the user has no such note. */
  remove(userId: string, id: string): boolean {
    return this.#notes.delete(`id = ? AND body ->> 'userId' = ?`, id, userId)
  }
}
