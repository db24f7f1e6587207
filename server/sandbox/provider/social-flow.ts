import { createHash } from 'node:crypto'
import { matchesCodeChallenge } from '@drawbridge/shared/oauth/pkce.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { AuthError } from './auth-error.ts'
import type { Database } from './database.ts'
import { createUuid } from './uuid.ts'

const FLOW_SECONDS = 300

/** A social sign-in between `/authorize` and the exchange of its code. */
export interface SocialFlow {
  state: string
  provider: string
  redirectTo: string
  expired: boolean
}

/** The social sign-ins under way. */
export interface SocialFlows {
  /** Returns the `state` to send to the social provider. */
  start(flow: { provider: string; redirectTo: string; codeChallenge: string }): string
  find(state: string): SocialFlow | undefined
  /** Binds the account to the flow and returns the code for its redirect. A flow has one code: the second call throws. */
  complete(state: string, accountId: string): string
  abandon(state: string): void
  /** The account behind a code, once. A wrong verifier throws `bad_code_verifier` and leaves the code usable. */
  redeem(code: string, codeVerifier: string): Promise<string>
}

interface FlowRow {
  state: string
  provider: string
  redirect_to: string
  code_challenge: string
  account_id: string | null
  created_at: number
}

/** Flows kept in the database; a code is kept as its hash only. */
export function createSocialFlows(database: Database, runtime: Runtime): SocialFlows {
  const isExpired = (row: FlowRow): boolean => runtime.now() >= row.created_at + FLOW_SECONDS

  return {
    start({ provider, redirectTo, codeChallenge }) {
      const state = createUuid(runtime)
      const now = runtime.now()
      database.transaction(() => {
        // Kept for some time after their end, so that a late one is told `expired` rather than `not found`.
        database.run('DELETE FROM flow WHERE created_at < ?', now - 12 * FLOW_SECONDS)
        database.run(
          'INSERT INTO flow (state, provider, redirect_to, code_challenge, created_at) VALUES (?, ?, ?, ?, ?)',
          state,
          provider,
          redirectTo,
          codeChallenge,
          now,
        )
      })
      return state
    },
    find(state) {
      const row = database.get<FlowRow>('SELECT * FROM flow WHERE state = ? AND code_hash IS NULL', state)
      if (row === undefined) return undefined
      return { state, provider: row.provider, redirectTo: row.redirect_to, expired: isExpired(row) }
    },
    complete(state, accountId) {
      const code = createUuid(runtime)
      const changed = database.run(
        'UPDATE flow SET code_hash = ?, account_id = ? WHERE state = ? AND code_hash IS NULL',
        hashCode(code),
        accountId,
        state,
      )
      if (changed === 0) throw new AuthError(400, 'bad_oauth_state', 'OAuth state is invalid')
      return code
    },
    abandon: (state) => void database.run('DELETE FROM flow WHERE state = ?', state),
    async redeem(code, codeVerifier) {
      const row = database.get<FlowRow>('SELECT * FROM flow WHERE code_hash = ?', hashCode(code))
      if (row?.account_id === undefined || row.account_id === null) throw flowNotFound()
      if (isExpired(row)) {
        throw new AuthError(422, 'flow_state_expired', 'invalid flow state, flow state has expired')
      }
      if (!(await matchesCodeChallenge(codeVerifier, row.code_challenge))) {
        const message = 'code challenge does not match previously saved code verifier'
        throw new AuthError(400, 'bad_code_verifier', message)
      }
      // Two exchanges may have waited above; the one that deletes the row wins.
      if (database.run('DELETE FROM flow WHERE state = ?', row.state) === 0) throw flowNotFound()
      return row.account_id
    },
  }
}

function flowNotFound(): AuthError {
  return new AuthError(404, 'flow_state_not_found', 'invalid flow state, no valid flow state found')
}

function hashCode(code: string): string {
  return createHash('sha256').update(code).digest('base64url')
}
