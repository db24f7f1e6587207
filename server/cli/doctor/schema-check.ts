import { fail, type Finding, ok } from '@drawbridge/shared/terminal/finding.ts'

/** Whether the schema of a store is one that this version works with. */
export function checkSchema(found: number, newest: number): Finding {
  const name = 'store-schema'
  if (found > newest) {
    return fail(
      name,
      `The store has schema ${found}; this version knows up to ${newest}.`,
      'Start the newer Drawbridge that has written it, or use another store.',
    )
  }
  if (found === newest) return ok(name, `Schema ${found}, the newest.`)
  const next = 'the next start, or drawbridge-server migrate,'
  return ok(
    name,
    found === 0 ? `No schema yet: ${next} makes it.` : `Schema ${found}: ${next} brings it to ${newest}.`,
  )
}
