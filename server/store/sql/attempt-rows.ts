import type { AttemptStepStore, StepRecord } from '../../core/attempts/attempt.ts'
import type { SqlDatabase } from './sql.ts'

/** Maximum steps in a row, and rows read at once: both bound the memory used. */
const rowSize = 100
const rowsAtOnce = 100

// One row for many steps: they keep their order, and a busy second costs few insertions.
const insertSteps = 'INSERT INTO attempt_steps (steps, expires_at) VALUES ($1, $2)'

const selectSteps = `SELECT number, steps FROM attempt_steps WHERE number < $1 ORDER BY number DESC LIMIT ${rowsAtOnce}`

/** Creates the steps of clients that connect, in `database`. */
export function createAttemptSteps(database: SqlDatabase): AttemptStepStore {
  return {
    async addAttemptSteps(steps, expiresAt) {
      for (let from = 0; from < steps.length; from += rowSize) {
        const row = JSON.stringify(steps.slice(from, from + rowSize))
        await database.write(insertSteps, [row, expiresAt])
      }
    },
    async listAttemptSteps(limit) {
      const listed: StepRecord[] = []
      let before = Number.MAX_SAFE_INTEGER
      while (listed.length < limit) {
        const rows = await database.read<{ number: number; steps: string }>(selectSteps, [before])
        for (const { steps } of rows) listed.push(...(JSON.parse(steps) as StepRecord[]).toReversed())
        if (rows.length < rowsAtOnce) break
        before = rows.at(-1)?.number ?? 0
      }
      return listed.slice(0, limit)
    },
  }
}
