import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { ProviderError } from '../../core/session/session-provider.ts'
import type { GotrueAnswer, GotrueRequest } from './call.ts'
import { settingsFailure, unclearFailure } from './failure.ts'

// How long a failed call triggers a database check, and how long the result of one counts: `/token` has a limit.
const suspectSeconds = 60
const askedSeconds = 10

/** A refresh token that cannot exist, in a form that the API looks up in its database. */
export const askForDatabase = {
  method: 'POST',
  path: '/token?grant_type=refresh_token',
  body: { refresh_token: 'abcdefghijkl' },
} as const satisfies GotrueRequest

type Send = (request: GotrueRequest) => Promise<GotrueAnswer>

/**
 * Creates the ping of the auth API and wraps `send`, which every other call must use. Calls that need no database say nothing about
 * signing in, so after a call that failed as if the database were down, a ping checks it as well.
 */
export function createPing(
  send: Send,
  runtime: Pick<Runtime, 'now'>,
): { send: Send; ping: () => Promise<void> } {
  let suspectUntil = -Infinity
  let asked: { at: number; failure: ProviderError | undefined } | undefined

  async function watched(request: GotrueRequest): Promise<GotrueAnswer> {
    const suspect = (): void => void (suspectUntil = runtime.now() + suspectSeconds)
    try {
      const answer = await send(request)
      if (answer.kind === 'refusal' && answer.status >= 500) suspect()
      return answer
    } catch (error) {
      suspect()
      throw error
    }
  }

  async function failureOfDatabase(): Promise<ProviderError | undefined> {
    try {
      const answer = await watched(askForDatabase)
      if (answer.kind === 'refusal' && answer.status >= 500) return unclearFailure(answer)
    } catch (error) {
      if (error instanceof ProviderError) return error
      throw error
    }
    suspectUntil = -Infinity
    return undefined
  }

  return {
    send: watched,
    async ping() {
      const settings = await send({ method: 'GET', path: '/settings' })
      if (settings.kind === 'refusal' && settings.status !== 429) throw settingsFailure(settings)
      const now = runtime.now()
      if (now >= suspectUntil) return
      if (!asked || now - asked.at >= askedSeconds) asked = { at: now, failure: await failureOfDatabase() }
      if (asked.failure) throw asked.failure
    },
  }
}
