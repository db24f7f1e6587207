import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { openDatabaseFile } from '../database-file.ts'

/** The longest text of a note, in UTF-16 units. */
export const MAX_NOTE_LENGTH = 2000

/** One note, as the JSON API shows it. */
export interface Note {
  /** Eleven characters of base64url. */
  id: string
  text: string
  /** ISO 8601. */
  created_at: string
}

/** The notes of all users; each user sees only their own. */
export interface Notes {
  /** Newest first. */
  list(userId: string): Note[]
  /** The text must have passed `parseNoteText`. */
  add(userId: string, text: string): Note
  /** False when the user has no such note. */
  remove(userId: string, id: string): boolean
  close(): void
}

const MIGRATIONS: readonly string[] = [
  `CREATE TABLE note (
     id TEXT PRIMARY KEY,
     user_id TEXT NOT NULL,
     text TEXT NOT NULL,
     created_at INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX note_user ON note (user_id);`,
]

/** The text of a note without surrounding blanks; undefined when it is not text, empty or too long. */
export function parseNoteText(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  // A browser sends line ends as CRLF, an API client as LF.
  const text = value.replaceAll('\r\n', '\n').trim()
  return text === '' || text.length > MAX_NOTE_LENGTH ? undefined : text
}

/** Opens the notes at an SQLite path, or `:memory:`. */
export function openNotes(path: string, runtime: Pick<Runtime, 'now' | 'randomBytes'>): Notes {
  const database = openDatabaseFile(path, MIGRATIONS)
  const select = database.prepare(
    'SELECT id, text, created_at FROM note WHERE user_id = ? ORDER BY created_at DESC, rowid DESC',
  )
  const insert = database.prepare('INSERT INTO note (id, user_id, text, created_at) VALUES (?, ?, ?, ?)')
  const remove = database.prepare('DELETE FROM note WHERE id = ? AND user_id = ?')

  return {
    list: (userId) =>
      select
        .all(userId)
        .map((row) => toNote(String(row['id']), String(row['text']), Number(row['created_at']))),
    add(userId, text) {
      const id = Buffer.from(runtime.randomBytes(8)).toString('base64url')
      const now = runtime.now()
      insert.run(id, userId, text, now)
      return toNote(id, text, now)
    },
    remove: (userId, id) => Number(remove.run(id, userId).changes) > 0,
    close: () => database.close(),
  }
}

function toNote(id: string, text: string, createdAt: number): Note {
  return { id, text, created_at: new Date(createdAt * 1000).toISOString() }
}
