import type { AttemptBook, SeenStep } from '../core/attempts/attempt-book.ts'
import type { EventMeaning } from '../core/attempts/attempt.ts'
import { type ReportedEvent, stepsOf } from './attempt-steps.ts'
import type { RequestContext } from './endpoint.ts'

/**
 * Creates a function that returns the context of a request with its events read along: once it is answered, the steps it shows are
 * noted in `book`. `meaningOf` tells what an event says. Calls with tokens of grants that no attempt waits for cost one lookup.
 */
export function createAttemptWatch(
  book: Pick<AttemptBook, 'note'>,
  basePath: string,
  meaningOf: (event: string) => EventMeaning | undefined,
): (request: Request, context: RequestContext) => RequestContext {
  return (request, context) => {
    const { report, id: requestId, address } = context
    const events: ReportedEvent[] = []
    let of: Partial<Pick<SeenStep, 'clientId' | 'signIn'>> | undefined = {}
    let isAnswered = false
    return {
      ...context,
      report(event, fields = {}) {
        // The calls of a stream are reported for as long as it is open.
        const { shows, refusal } = (isAnswered ? undefined : meaningOf(event)) ?? {}
        if (shows ?? refusal) events.push({ name: event, fields, shows, refusal })
        report(event, fields)
      },
      attempt: (given) => void (of = given && { ...of, ...given }),
      answered(endpoint, status) {
        isAnswered = true
        const { clientId } = of ?? {}
        const userAgent = request.headers.get('user-agent') ?? undefined
        const steps = of ? stepsOf({ request, status, events, clientId }, endpoint, basePath) : []
        for (const step of steps) {
          const known = step.clientId ?? clientId
          book.note({ ...of, ...step, clientId: known, status, requestId, address, userAgent })
        }
        // A stream keeps its context for as long as it is open.
        events.length = 0
      },
    }
  }
}
