import type { AuthServices } from '../provider/auth-services.ts'

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

const schema = `CREATE TABLE IF NOT EXISTS note (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL,
    text TEXT NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT`

/** Trims the text of a note; undefined if it is not a string, empty or too long. */
export function parseNoteText(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  // A browser sends line ends as CRLF, an API client as LF.
  const text = value.replaceAll('\r\n', '\n').trim()
  return text === '' || text.length > maxNoteLength ? undefined : text
}

/** The notes of all users; each user sees only their own. */
export class Notes {
  readonly #database: AuthServices['database']
  readonly #runtime: AuthServices['runtime']

  /** In the database of the accounts: a demo needs no other. */
  constructor({ database, runtime }: Pick<AuthServices, 'database' | 'runtime'>) {
    this.#database = database
    this.#runtime = runtime
    database.run(schema)
  }

  /** Returns them newest first. */
  list(userId: string): Note[] {
    const sql =
      'SELECT id, text, created_at AS createdAt FROM note WHERE user_id = ? ORDER BY created_at DESC, rowid DESC'
    return this.#database
      .all<{ id: string; text: string; createdAt: number }>(sql, userId)
      .map(({ id, text, createdAt }) => toNote(id, text, createdAt))
  }

  /** The text must have passed `parseNoteText`. */
  add(userId: string, text: string): Note {
    const id = Buffer.from(this.#runtime.randomBytes(8)).toString('base64url')
    const now = this.#runtime.now()
    const sql = 'INSERT INTO note (id, user_id, text, created_at) VALUES (?, ?, ?, ?)'
    this.#database.run(sql, id, userId, text, now)
    return toNote(id, text, now)
  }

  /** Returns false if the user has no such note. */
  remove(userId: string, id: string): boolean {
    return this.#database.run('DELETE FROM note WHERE id = ? AND user_id = ?', id, userId) > 0
  }
}

function toNote(id: string, text: string, createdAt: number): Note {
  return { id, text, created_at: new Date(createdAt * 1000).toISOString() }
}
