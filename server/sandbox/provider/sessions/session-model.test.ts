import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { Accounts } from '../accounts/account.ts'
import { openDatabase } from '../database.ts'
import { fakeRuntime } from '../../../../tests/support/sandbox/provider-fixture.ts'
import { Sessions, type Session } from './session.ts'
import type { RefreshTokenVersion } from './refresh-token.ts'

/** What may happen to a session; `back` names the token of that many turns ago. */
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('refresh' as const), back: fc.integer({ min: 0, max: 4 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('wait' as const), seconds: fc.integer({ min: 0, max: 15 }) }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'raise' as const }) },
)

/** The rule in a few lines, over plain numbers: which token is active, when it was last refreshed, what is barred. */
interface Model {
  active: number
  barredBelow: number
  refreshedAt: number
  now: number
}

type Outcome = 'rotates' | 'replays' | 'destroys'

function predict(model: Model, token: number): Outcome {
  if (token === model.active) return 'rotates'
  const behind = model.active - token
  const forgiven = token >= model.barredBelow && (behind === 1 || model.now - model.refreshedAt < 10)
  return forgiven ? 'replays' : 'destroys'
}

it.each<RefreshTokenVersion>([1, 2])(
  'any course of refreshes, waits and second steps follows the rule of version %i tokens',
  (refreshTokenVersion) => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const runtime = fakeRuntime()
        const database = openDatabase(':memory:')
        const { id: accountId } = new Accounts(database, runtime).create({ email: 'a@b', confirmed: true })
        const sessions = new Sessions(database, runtime, refreshTokenVersion)
        let session: Session = sessions.create(accountId, 'password')
        const tokens = [session.refreshToken]
        const model: Model = { active: 0, barredBelow: 0, refreshedAt: runtime.now(), now: runtime.now() }

        for (const next of steps) {
          if (next.do === 'wait') {
            runtime.advance(next.seconds)
            model.now += next.seconds
          } else if (next.do === 'raise') {
            session = sessions.raise(session.id)
            model.active++
            // Opaque tokens are forgiven as the parent of what the second step issued.
            if (refreshTokenVersion === 2) model.barredBelow = model.active
            tokens.push(session.refreshToken)
          } else {
            const token = Math.max(0, model.active - next.back)
            const expected = predict(model, token)
            const presented = sessions.present(tokens[token] ?? '')
            if (expected === 'destroys') {
              expect(() => sessions.rotate(presented)).toThrow('Already Used')
              if (refreshTokenVersion === 2) {
                expect(sessions.find(session.id)).toBeUndefined()
                expect(() => sessions.present(tokens.at(-1) ?? '')).toThrow('Not Found')
              } else {
                // The access token that is out goes on; no refresh token does.
                expect(sessions.find(session.id)).toBeDefined()
                const newest = sessions.present(tokens.at(-1) ?? '')
                expect(() => sessions.rotate(newest)).toThrow('Already Used')
              }
              break
            }
            const result = sessions.rotate(presented)
            expect(result.rotated).toBe(expected === 'rotates')
            if (expected === 'rotates') {
              model.active++
              tokens.push(result.session.refreshToken)
            }
            model.refreshedAt = model.now
            expect(result.session.refreshToken).toBe(tokens[model.active])
            expect(result.session.aal).toBe(session.aal)
          }
          expect(new Set(tokens).size).toBe(tokens.length)
        }
        database.close()
      }),
      { numRuns: 150 },
    )
  },
)
