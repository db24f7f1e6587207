import { createHash, randomUUID } from 'node:crypto'
import { matchesCodeChallenge } from '@drawbridge/shared/oauth/pkce.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { AuthError } from '../auth-error.ts'
import type { Database } from '../database.ts'

const FLOW_SECONDS = 300

/** A social sign-in between `/authorize` and the exchange of its code. */
export interface SocialFlow {
  state: string
  provider: string
  redirectTo: string
  expired: boolean
}

interface FlowRow {
  state: string
  provider: string
  redirect_to: string
  code_challenge: string
  account_id: string | null
  created_at: number
}

/** The social sign-ins under way. Of a code only its hash is stored. */
export class SocialFlows {
  readonly #database: Database
  readonly #runtime: Pick<Runtime, 'now'>

  constructor(database: Database, runtime: Pick<Runtime, 'now'>) {
    this.#database = database
    this.#runtime = runtime
  }

  /** Returns the `state` to send to the social provider. */
  start(flow: { provider: string; redirectTo: string; codeChallenge: string }): string {
    const state = randomUUID()
    const now = this.#runtime.now()
    this.#database.transaction(() => {
      // Kept for some time after their end, so that a late one is told `expired` rather than `not found`.
      this.#database.run('DELETE FROM flow WHERE created_at < ?', now - 12 * FLOW_SECONDS)
      this.#database.run(
        'INSERT INTO flow (state, provider, redirect_to, code_challenge, created_at) VALUES (?, ?, ?, ?, ?)',
        state,
        flow.provider,
        flow.redirectTo,
        flow.codeChallenge,
        now,
      )
    })
    return state
  }

  find(state: string): SocialFlow | undefined {
    const sql = 'SELECT * FROM flow WHERE state = ? AND code_hash IS NULL'
    const row = this.#database.get<FlowRow>(sql, state)
    if (row === undefined) return undefined
    return { state, provider: row.provider, redirectTo: row.redirect_to, expired: this.#isExpired(row) }
  }

  /** Binds the account to the flow and returns the code for its redirect. A flow has one code: the second call throws. */
  complete(state: string, accountId: string): string {
    const code = randomUUID()
    const sql = 'UPDATE flow SET code_hash = ?, account_id = ? WHERE state = ? AND code_hash IS NULL'
    const changed = this.#database.run(sql, hashCode(code), accountId, state)
    if (changed === 0) throw new AuthError(400, 'bad_oauth_state', 'OAuth state is invalid')
    return code
  }

  abandon(state: string): void {
    this.#database.run('DELETE FROM flow WHERE state = ?', state)
  }

  /** The account behind a code, once. A wrong verifier throws `bad_code_verifier` and leaves the code usable. */
  async redeem(code: string, codeVerifier: string): Promise<string> {
    const row = this.#database.get<FlowRow>('SELECT * FROM flow WHERE code_hash = ?', hashCode(code))
    if (row?.account_id === undefined || row.account_id === null) throw flowNotFound()
    if (this.#isExpired(row)) {
      throw new AuthError(422, 'flow_state_expired', 'invalid flow state, flow state has expired')
    }
    if (!(await matchesCodeChallenge(codeVerifier, row.code_challenge))) {
      const message = 'code challenge does not match previously saved code verifier'
      throw new AuthError(400, 'bad_code_verifier', message)
    }
    // Two exchanges may have waited above; the one that deletes the row wins.
    if (this.#database.run('DELETE FROM flow WHERE state = ?', row.state) === 0) throw flowNotFound()
    return row.account_id
  }

  #isExpired(row: FlowRow): boolean {
    return this.#runtime.now() >= row.created_at + FLOW_SECONDS
  }
}

function flowNotFound(): AuthError {
  return new AuthError(404, 'flow_state_not_found', 'invalid flow state, no valid flow state found')
}

function hashCode(code: string): string {
  return createHash('sha256').update(code).digest('base64url')
}
