import type { AttemptStepStore, StoredStep } from '../../core/attempts/attempt.ts'
import type { SqlDatabase } from './sql.ts'

// One row for all steps of a write: they keep their order, and a busy second costs one insertion.
const insertSteps = 'INSERT INTO attempt_steps (steps, expires_at) VALUES ($1, $2)'

const selectSteps = 'SELECT steps FROM attempt_steps ORDER BY number DESC LIMIT $1'

/** Creates the steps of clients that connect, in `database`. */
export function createAttemptSteps(database: SqlDatabase): AttemptStepStore {
  return {
    async addAttemptSteps(steps, expiresAt) {
      await database.write(insertSteps, [JSON.stringify(steps), expiresAt])
    },
    async listAttemptSteps(limit) {
      const rows = await database.read<{ steps: string }>(selectSteps, [limit])
      return rows.flatMap(({ steps }) => (JSON.parse(steps) as StoredStep[]).toReversed()).slice(0, limit)
    },
  }
}
