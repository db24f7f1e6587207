import type { AttemptBook, SeenStep } from '../core/attempts/attempt-book.ts'
import type { EventMeaning } from '../core/attempts/attempt.ts'
import { type ReportedEvent, type StepReader, stepReaderOf } from './attempt-steps.ts'
import type { RequestContext } from './endpoint.ts'

type Book = Pick<AttemptBook, 'note'>

/**
 * Creates a function that returns the context of a request with its events read along: once it is answered, the steps it shows are
 * noted in `book`. `meaningOf` tells what an event says. Calls with tokens of grants that no attempt waits for cost one lookup.
 */
export function createAttemptWatch(
  book: Book,
  basePath: string,
  meaningOf: (event: string) => EventMeaning | undefined,
): (request: Request, context: RequestContext) => RequestContext {
  const readers = new Map<string, StepReader | undefined>()
  const readerOf = (endpoint: string): StepReader | undefined => {
    if (!readers.has(endpoint)) readers.set(endpoint, stepReaderOf(endpoint, basePath))
    return readers.get(endpoint)
  }
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
        const read = of && readerOf(endpoint)
        if (of && read) {
          const { clientId, signIn } = of
          const userAgent = request.headers.get('user-agent') ?? undefined
          for (const step of read({ request, status, events, clientId })) {
            const known = step.clientId ?? clientId
            book.note({ ...step, clientId: known, status, requestId, address, signIn, userAgent })
          }
        }
        // A stream keeps its context for as long as it is open.
        events.length = 0
      },
    }
  }
}
