import { expect, it } from 'vitest'
import type { SeenStep } from '../core/attempts/attempt-book.ts'
import { createAttemptWatch } from './attempt-watch.ts'
import type { RequestContext } from './endpoint.ts'

/** Answers a request at `endpoint` after `during`, and returns the steps that were noted for it. */
function notedAt(endpoint: string, during: (context: RequestContext) => void): SeenStep[] {
  const noted: SeenStep[] = []
  const meaningOf = (event: string): { shows: 'token' } | undefined =>
    event === 'token_issued' ? { shows: 'token' } : undefined
  const watch = createAttemptWatch({ note: (step) => void noted.push(step) }, '', meaningOf)
  const request = new Request(`https://mcp.example.com${endpoint}`, {
    method: endpoint === '/oauth/token' ? 'POST' : 'GET',
    headers: { 'user-agent': 'client/1' },
  })
  const base = { id: 'r1', address: '192.0.2.1', report: () => {} } as unknown as RequestContext
  const context = watch(request, base)
  during(context)
  context.answered?.(endpoint, 200)
  return noted
}

it('a noted step has the client and the sign-in that its request names', () => {
  const steps = notedAt('/oauth/authorize', (context) => {
    context.attempt?.({ clientId: 'c' })
    context.attempt?.({ signIn: 's' })
  })
  const request = { requestId: 'r1', address: '192.0.2.1', userAgent: 'client/1', status: 200 }
  expect(steps).toMatchObject([{ step: 'page', ok: true, clientId: 'c', signIn: 's', ...request }])
})

it('a noted step has the client that an event proves, rather than the one its request names', () => {
  const steps = notedAt('/oauth/token', (context) => {
    context.attempt?.({ clientId: 'named' })
    context.report('token_issued', { client_id: 'proven', grant_id: 'g' })
  })
  expect(steps).toMatchObject([{ step: 'token', clientId: 'proven', grantId: 'g' }])
})

it('a request that is no attempt has no noted step', () => {
  expect(notedAt('/oauth/authorize', (context) => context.attempt?.(undefined))).toEqual([])
})
