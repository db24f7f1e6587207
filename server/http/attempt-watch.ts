import type { AttemptBook } from '../core/attempts/attempt-book.ts'
import { type AnsweredRequest, stepsOf } from './attempt-steps.ts'
import type { RequestContext } from './endpoint.ts'
import { splitUrl } from './middleware/guards.ts'

/**
 * Returns `context` with its events read along: once it is answered, the steps it shows are noted in `book`. Calls with tokens of
 * grants that no attempt waits for cost one lookup.
 */
export function watchAttempt(
  request: Request,
  context: RequestContext,
  book: Pick<AttemptBook, 'note' | 'isWaiting'>,
  basePath: string,
): RequestContext {
  const events: [event: string, fields: Readonly<Record<string, unknown>>][] = []
  let of: { clientId?: string | undefined; signIn?: string | undefined } | undefined = {}
  let isAnswered = false
  return {
    ...context,
    report(event, fields = {}) {
      // The calls of a stream are reported for as long as it is open.
      if (!isAnswered) events.push([event, fields])
      context.report(event, fields)
    },
    attempt: (given) => void (of = given && { ...of, ...given }),
    answered(endpoint, status) {
      isAnswered = true
      if (of && !isOldGrant(events, book)) {
        const { method, headers, url } = request
        const { path } = splitUrl(url)
        const hasToken = headers.has('authorization')
        const { clientId, signIn } = of
        const seen: AnsweredRequest = { endpoint, method, path, hasToken, status, events, clientId }
        const common = { status, requestId: context.id, address: context.address, signIn }
        for (const step of stepsOf(seen, basePath)) {
          const userAgent = headers.get('user-agent') ?? undefined
          book.note({ ...common, ...step, clientId: step.clientId ?? clientId, userAgent })
        }
      }
      events.length = 0
    },
  }
}

function isOldGrant(
  events: readonly (readonly [event: string, fields: Readonly<Record<string, unknown>>])[],
  book: Pick<AttemptBook, 'isWaiting'>,
): boolean {
  const grantId = events.find(([event]) => event === 'mcp_request')?.[1]['grant_id']
  return typeof grantId === 'string' && !book.isWaiting(grantId)
}
