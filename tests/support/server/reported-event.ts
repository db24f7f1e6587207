import type { ReportedEvent } from '../../../server/http/attempt-steps.ts'
import { logEvents } from '../../../server/observability/log-event.ts'

/** An event as the record of attempts gets it. Throws for a name that the table of events does not have. */
export function reportedEvent(name: string, fields: ReportedEvent['fields'] = {}): ReportedEvent {
  const row = logEvents[name]
  if (!row) throw new Error(`There is no event ${name}.`)
  return { ...row, name, fields }
}
