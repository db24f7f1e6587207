import { fail, type Outcome, ok } from '@drawbridge/shared/terminal/check.ts'

/** Checks that this version works with the schema of a store. */
export function checkSchema(found: number, newest: number): Outcome {
  if (found > newest) {
    return fail(
      `The store has schema ${found}; this version knows up to ${newest}.`,
      'Start the newer Drawbridge that has written it, or use another store.',
    )
  }
  if (found === newest) return ok(`Schema ${found}, the newest.`)
  const next = 'the next start, or drawbridge-server migrate,'
  return ok(
    found === 0 ? `No schema yet: ${next} makes it.` : `Schema ${found}: ${next} brings it to ${newest}.`,
  )
}
