import type { AttemptStepStore, StoredStep } from '../../core/attempts/attempt.ts'
import type { SqlDatabase } from './sql.ts'

const insertStep = 'INSERT INTO attempt_step (attempt, record, expires_at) VALUES ($1, $2, $3)'

const selectSteps = 'SELECT attempt, record FROM attempt_step ORDER BY number DESC LIMIT $1'

/** Creates the steps of clients that connect, in `database`. */
export function createAttemptSteps(database: SqlDatabase): AttemptStepStore {
  return {
    async addAttemptSteps(steps, expiresAt) {
      await Promise.all(
        steps.map(({ attempt, record }) => database.write(insertStep, [attempt, record, expiresAt])),
      )
    },
    listAttemptSteps: (limit) => database.read<StoredStep>(selectSteps, [limit]),
  }
}
