import { createHash, randomUUID } from 'node:crypto'
import { matchesCodeChallenge } from '@drawbridge/shared/oauth/pkce.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { AuthError } from '../auth-error.ts'
import type { Database } from '../database.ts'

const flowSeconds = 300

/** A social sign-in between `/authorize` and the exchange of its code. */
export interface SocialFlow {
  state: string
  provider: string
  redirectTo: string
  codeChallenge: string
  accountId: string | null
  createdAt: number
}

const select = `SELECT state, provider, redirect_to AS redirectTo, code_challenge AS codeChallenge,
  account_id AS accountId, created_at AS createdAt FROM flow`

/** Pending social sign-ins. Only the hash of a code is stored. */
export class SocialFlows {
  readonly #database: Database
  readonly #runtime: Pick<Runtime, 'now'>

  constructor(database: Database, runtime: Pick<Runtime, 'now'>) {
    this.#database = database
    this.#runtime = runtime
  }

  /** Returns the `state` to send to the social provider. */
  start({
    provider,
    redirectTo,
    codeChallenge,
  }: Omit<SocialFlow, 'state' | 'accountId' | 'createdAt'>): string {
    const state = randomUUID()
    const now = this.#runtime.now()
    // Kept for some time after they end, so that a late one gets `expired` rather than `not found`.
    this.#database.run('DELETE FROM flow WHERE created_at < ?', now - 12 * flowSeconds)
    this.#database.run(
      'INSERT INTO flow (state, provider, redirect_to, code_challenge, created_at) VALUES (?, ?, ?, ?, ?)',
      state,
      provider,
      redirectTo,
      codeChallenge,
      now,
    )
    return state
  }

  find(state: string): SocialFlow | undefined {
    return this.#database.get(`${select} WHERE state = ? AND code_hash IS NULL`, state)
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

  /** Returns the account behind a code, once. A wrong verifier throws `bad_code_verifier` and leaves the code usable. */
  async redeem(code: string, codeVerifier: string): Promise<string> {
    const flow = this.#database.get<SocialFlow>(`${select} WHERE code_hash = ?`, hashCode(code))
    if (!flow?.accountId) throw flowNotFound()
    this.refuseExpired(flow)
    if (!(await matchesCodeChallenge(codeVerifier, flow.codeChallenge))) {
      const message = 'code challenge does not match previously saved code verifier'
      throw new AuthError(400, 'bad_code_verifier', message)
    }
    // Two exchanges may have waited above; the one that deletes the row wins.
    if (this.#database.run('DELETE FROM flow WHERE state = ?', flow.state) === 0) throw flowNotFound()
    return flow.accountId
  }

  /** Throws `flow_state_expired` for a flow of more than five minutes. */
  refuseExpired({ createdAt }: SocialFlow): void {
    if (this.#runtime.now() < createdAt + flowSeconds) return
    throw new AuthError(422, 'flow_state_expired', 'invalid flow state, flow state has expired')
  }
}

function flowNotFound(): AuthError {
  return new AuthError(404, 'flow_state_not_found', 'invalid flow state, no valid flow state found')
}

function hashCode(code: string): string {
  return createHash('sha256').update(code).digest('base64url')
}
